<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
  <context>
    <name>window</name>
    <message numerus="yes">
      <source>thread(s)</source>
      <translation>
        <numerusform>thread</numerusform>
        <numerusform>threads</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln core(s)</source>
      <translation>
        <numerusform>%Ln core</numerusform>
        <numerusform>%Ln cores</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>on %Ln thread(s)</source>
      <translation>
        <numerusform>on %Ln thread</numerusform>
        <numerusform>on %Ln threads</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>This PC has lent %Ln hour(s) of computing.</source>
      <translation>
        <numerusform>This PC has lent %Ln hour of computing.</numerusform>
        <numerusform>This PC has lent %Ln hours of computing.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln sample(s)</source>
      <translation>
        <numerusform>%Ln sample</numerusform>
        <numerusform>%Ln samples</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln call(s)</source>
      <translation>
        <numerusform>%Ln call</numerusform>
        <numerusform>%Ln calls</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln time(s)</source>
      <translation>
        <numerusform>%Ln time</numerusform>
        <numerusform>%Ln times</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s)</source>
      <translation>
        <numerusform>%Ln expert</numerusform>
        <numerusform>%Ln experts</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s), {here} of them here (outlined).</source>
      <translation>
        <numerusform>%Ln expert, {here} of them here (outlined).</numerusform>
        <numerusform>%Ln experts, {here} of them here (outlined).</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>The first {first} of %Ln layer(s) are shown.</source>
      <translation>
        <numerusform>The first {first} of %Ln layer is shown.</numerusform>
        <numerusform>The first {first} of %Ln layers are shown.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>hosted by %Ln other peer(s)</source>
      <translation>
        <numerusform>hosted by %Ln other peer</numerusform>
        <numerusform>hosted by %Ln other peers</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln update(s)</source>
      <translation>
        <numerusform>%Ln update</numerusform>
        <numerusform>%Ln updates</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln thread(s)</source>
      <translation>
        <numerusform>%Ln thread</numerusform>
        <numerusform>%Ln threads</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>Copied %Ln line(s).</source>
      <translation>
        <numerusform>Copied %Ln line.</numerusform>
        <numerusform>Copied %Ln lines.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s) answered. Chosen cell: {cell}</source>
      <translation>
        <numerusform>%Ln expert answered. Chosen cell: {cell}</numerusform>
        <numerusform>%Ln experts answered. Chosen cell: {cell}</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{silent} of %Ln expert(s) did not answer; the others took over their weight.</source>
      <translation>
        <numerusform>{silent} of %Ln expert did not answer; the others took over its weight.</numerusform>
        <numerusform>{silent} of %Ln experts did not answer; the others took over their weight.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{missing} of %Ln expert(s) are not on this PC; none of them took part.</source>
      <translation>
        <numerusform>{missing} of %Ln expert is not on this PC; it took no part.</numerusform>
        <numerusform>{missing} of %Ln experts are not on this PC; none of them took part.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>Hollow cells: experts that did not answer, %Ln so far.</source>
      <translation>
        <numerusform>Hollow cells: experts that did not answer, %Ln so far.</numerusform>
        <numerusform>Hollow cells: experts that did not answer, %Ln so far.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>and %Ln more</source>
      <translation>
        <numerusform>and %Ln more</numerusform>
        <numerusform>and %Ln more</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>The text ends after %Ln byte(s).</source>
      <translation>
        <numerusform>The text ends after %Ln byte.</numerusform>
        <numerusform>The text ends after %Ln bytes.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln of {all} need(s) a look.</source>
      <translation>
        <numerusform>%Ln of {all} needs a look.</numerusform>
        <numerusform>%Ln of {all} need a look.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>peer(s)</source>
      <translation>
        <numerusform>peer</numerusform>
        <numerusform>peers</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>This PC has %Ln core(s).</source>
      <translation>
        <numerusform>This PC has %Ln core.</numerusform>
        <numerusform>This PC has %Ln cores.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{hosted} of %Ln cell(s) have an expert.</source>
      <translation>
        <numerusform>{hosted} of %Ln cell has an expert.</numerusform>
        <numerusform>{hosted} of %Ln cells have an expert.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln of them is (are) here.</source>
      <translation>
        <numerusform>%Ln of them is here.</numerusform>
        <numerusform>%Ln of them are here.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>Measured in the last %Ln time(s)</source>
      <translation>
        <numerusform>Measured the last time</numerusform>
        <numerusform>Measured in the last %Ln times</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln hosted here</source>
      <translation>
        <numerusform>%Ln hosted here</numerusform>
        <numerusform>%Ln hosted here</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{some} of %Ln rule(s) stop something.</source>
      <translation>
        <numerusform>{some} of %Ln rule stop something.</numerusform>
        <numerusform>{some} of %Ln rules stop something.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>1 of %Ln rule(s) stops something.</source>
      <translation>
        <numerusform>1 of %Ln rule stops something.</numerusform>
        <numerusform>1 of %Ln rules stops something.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>No rule stops anything; %Ln of {all} is (are) not known.</source>
      <translation>
        <numerusform>No rule stops anything; %Ln of {all} is not known.</numerusform>
        <numerusform>No rule stops anything; %Ln of {all} are not known.</numerusform>
      </translation>
    </message>
  </context>
  <context>
    <name>worker</name>
    <message>
      <source>control.other_version</source>
      <translation>This worker speaks version {worker:digits} of the control protocol and you speak {client:digits}. Quit Hearth everywhere and start it again.</translation>
    </message>
    <message>
      <source>control.wrong_token</source>
      <translation>The token is wrong: it belongs to another worker. Start Hearth again.</translation>
    </message>
    <message>
      <source>list.more</source>
      <translation>{names} and {more:count} more</translation>
    </message>
  </context>
</TS>
