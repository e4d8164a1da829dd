<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
  <context>
    <name>window</name>
    <message numerus="yes">
      <source>Restarted. %Ln step(s) since the last checkpoint is (are) done again.</source>
      <translation>
        <numerusform>Restarted. %Ln step since the last checkpoint is done again.</numerusform>
        <numerusform>Restarted. %Ln steps since the last checkpoint are done again.</numerusform>
      </translation>
    </message>
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
      <source>In the run that Hearth suggests, up to %Ln expert(s) in about {memory} of memory.</source>
      <translation>
        <numerusform>In the run that Hearth suggests, up to %Ln expert in about {memory} of memory.</numerusform>
        <numerusform>In the run that Hearth suggests, up to %Ln experts in about {memory} of memory.</numerusform>
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
      <source>This PC has shared %Ln hour(s) of compute time.</source>
      <translation>
        <numerusform>This PC has shared %Ln hour of compute time.</numerusform>
        <numerusform>This PC has shared %Ln hours of compute time.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>verified by those it computed for, on %Ln day(s),</source>
      <translation>
        <numerusform>verified by those it computed for, on %Ln day,</numerusform>
        <numerusform>verified by those it computed for, on %Ln days,</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln more peer(s): {amount}.</source>
      <translation>
        <numerusform>%Ln more peer: {amount}.</numerusform>
        <numerusform>%Ln more peers: {amount}.</numerusform>
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
      <source>%Ln expert(s) have no host yet. This PC takes some of them on in the next seconds.</source>
      <translation>
        <numerusform>%Ln expert has no host yet. This PC takes it on in the next seconds.</numerusform>
        <numerusform>%Ln experts have no host yet. This PC takes some of them on in the next seconds.</numerusform>
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
      <source>%Ln call(s) from this PC</source>
      <translation>
        <numerusform>%Ln call from this PC</numerusform>
        <numerusform>%Ln calls from this PC</numerusform>
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
      <source>%Ln turn(s)</source>
      <translation>
        <numerusform>%Ln turn</numerusform>
        <numerusform>%Ln turns</numerusform>
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
      <source>The text ends after %Ln token(s).</source>
      <translation>
        <numerusform>The text ends after %Ln token.</numerusform>
        <numerusform>The text ends after %Ln tokens.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln of {all} need(s) attention.</source>
      <translation>
        <numerusform>%Ln of {all} needs attention.</numerusform>
        <numerusform>%Ln of {all} need attention.</numerusform>
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
      <source>This PC helps %Ln trainer(s) to agree on one trunk by {way}.</source>
      <translation>
        <numerusform>This PC helps %Ln trainer to agree on the trunk by {way}.</numerusform>
        <numerusform>This PC helps %Ln trainers to agree on one trunk by {way}.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln trainer(s) agree(s) on one trunk by {way}, last {ago} ago.</source>
      <translation>
        <numerusform>%Ln trainer agreed on the trunk alone by {way}, last {ago} ago.</numerusform>
        <numerusform>%Ln trainers agree on one trunk by {way}, last {ago} ago.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln other(s)</source>
      <translation>
        <numerusform>%Ln other</numerusform>
        <numerusform>%Ln others</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>a model of %Ln number(s)</source>
      <translation>
        <numerusform>a model of %Ln number</numerusform>
        <numerusform>a model of %Ln numbers</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{what}: {size} in %Ln expert(s) and a trunk.</source>
      <translation>
        <numerusform>{what}: {size} in %Ln expert and a trunk.</numerusform>
        <numerusform>{what}: {size} in %Ln experts and a trunk.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{what}: a model of %Ln number(s), whole on each PC.</source>
      <translation>
        <numerusform>{what}: a model of %Ln number, whole on each PC.</numerusform>
        <numerusform>{what}: a model of %Ln numbers, whole on each PC.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{size} from the organiser, in %Ln part(s) that are checked by their hashes.</source>
      <translation>
        <numerusform>{size} from the organiser, in %Ln part that is checked by its hash.</numerusform>
        <numerusform>{size} from the organiser, in %Ln parts that are checked by their hashes.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>This link lets {name} in for %Ln day(s), and nobody else. Send it to them: they paste it under Add a run, or open it. To let them in for longer, make another one.</source>
      <translation>
        <numerusform>This link lets {name} in for %Ln day, and nobody else. Send it to them: they paste it under Add a run, or open it. To let them in for longer, make another one.</numerusform>
        <numerusform>This link lets {name} in for %Ln days, and nobody else. Send it to them: they paste it under Add a run, or open it. To let them in for longer, make another one.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln PC(s) here say(s) to train it; signed by {key}</source>
      <translation>
        <numerusform>%Ln PC here says that it trains it; signed by {key}</numerusform>
        <numerusform>%Ln PCs here say that they train it; signed by {key}</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>sample(s)</source>
      <translation>
        <numerusform>sample</numerusform>
        <numerusform>samples</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>call(s)</source>
      <translation>
        <numerusform>call</numerusform>
        <numerusform>calls</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{done} of {total}, %Ln second(s) left</source>
      <translation>
        <numerusform>{done} of {total}, %Ln second left</numerusform>
        <numerusform>{done} of {total}, %Ln seconds left</numerusform>
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
      <source>{label} and %Ln more</source>
      <translation>
        <numerusform>{label} and %Ln more</numerusform>
        <numerusform>{label} and %Ln more</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>on for %Ln min</source>
      <translation>
        <numerusform>on for %Ln min</numerusform>
        <numerusform>on for %Ln min</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>It took no longer in 19 of 20 cases. Measured the last %Ln time(s).</source>
      <translation>
        <numerusform>It took no longer in 19 of 20 cases. Measured the last time.</numerusform>
        <numerusform>It took no longer in 19 of 20 cases. Measured the last %Ln times.</numerusform>
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
      <source>No rule stops anything; %Ln of {all} is (are) lifted.</source>
      <translation>
        <numerusform>No rule stops anything; %Ln of {all} is lifted.</numerusform>
        <numerusform>No rule stops anything; %Ln of {all} are lifted.</numerusform>
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
      <source>access.ahead</source>
      <translation>The token holds only from {at:clock} on: the organiser's clock or that of this PC is wrong.</translation>
    </message>
    <message>
      <source>access.begins</source>
      <translation>Begins as soon as this PC has a valid token.</translation>
    </message>
    <message>
      <source>access.ends_soon</source>
      <translation>{run}: this PC's token expires on {at:date}. Ask the organiser for a new link and join by it; training continues meanwhile.</translation>
    </message>
    <message>
      <source>access.expired</source>
      <translation>The token expired on {at:date}. Ask the organiser for a new link.</translation>
    </message>
    <message>
      <source>access.fails</source>
      <translation>The exchange of tokens with other peers failed {times:count} times in a row: {error}.</translation>
    </message>
    <message>
      <source>access.file_damaged</source>
      <translation>{path} cannot be used: {why}. Move it away, or put a copy back.</translation>
    </message>
    <message>
      <source>access.forged</source>
      <translation>It was changed, or signed by another key than that of the organiser {organiser}.</translation>
    </message>
    <message>
      <source>access.list_full</source>
      <translation>The list of revoked tokens is full ({most:count}). Entries leave it after a year.</translation>
    </message>
    <message>
      <source>access.name_of_several</source>
      <translation>You have given tokens to several peers by the name {name}. Name the peer: “hearth access list” shows them.</translation>
    </message>
    <message>
      <source>access.no_run</source>
      <translation>There is no signed run {run} in this data folder. Give its id or name, or the path of its signed manifest.</translation>
    </message>
    <message>
      <source>access.no_token</source>
      <translation>{run}: the other peers do not let this PC in, as it has no token. Send the organiser what “hearth address” prints, and join by the link that you are given.</translation>
    </message>
    <message>
      <source>access.nobody</source>
      <translation>You have given no token to {name}. “hearth access list” shows to whom you have.</translation>
    </message>
    <message>
      <source>access.not_organiser</source>
      <translation>The key of this data folder did not sign the run {run}; its organiser is {organiser}. Choose the organiser's folder with --data-dir.</translation>
    </message>
    <message>
      <source>access.other_peer</source>
      <translation>The token is for the peer {holder:peer}, not for {peer:peer}.</translation>
    </message>
    <message>
      <source>access.other_run</source>
      <translation>It is for the run {found}, not for {run}.</translation>
    </message>
    <message>
      <source>access.peer_without</source>
      <translation>Peer {peer:peer} does not take part in the run {run}, or one of the two PCs has no token that holds.</translation>
    </message>
    <message>
      <source>access.runs_of_name</source>
      <translation>Several runs here are called {run}. Give the run id of one, or the path of its signed manifest.</translation>
    </message>
    <message>
      <source>access.token_useless</source>
      <translation>{run}: the other peers do not let this PC in. {why}</translation>
    </message>
    <message>
      <source>access.unreadable</source>
      <translation>It is cut off or damaged, or made for another version of Hearth ({why}).</translation>
    </message>
    <message>
      <source>access.was_revoked</source>
      <translation>{run}: the organiser has revoked this PC's token, and the other peers no longer let it in.</translation>
    </message>
    <message>
      <source>announcing.fails</source>
      <translation>Other peers could not be told {times:count} times in a row what this PC hosts ({error}). Training continues; please report it.</translation>
    </message>
    <message>
      <source>app.does_not_answer</source>
      <translation>Hearth is open already for this data folder, but does not answer. Quit it, or wait a moment.</translation>
    </message>
    <message>
      <source>app.leaving</source>
      <translation>The app is quitting.</translation>
    </message>
    <message>
      <source>backbone.bad_address</source>
      <translation>{address} is not an address and port such as 0.0.0.0:1883.</translation>
    </message>
    <message>
      <source>backbone.bad_broker</source>
      <translation>{broker} is not the address of a broker; write mqtt://NAME:PORT, or mqtts://NAME:PORT with TLS.</translation>
    </message>
    <message>
      <source>backbone.bad_certificate</source>
      <translation>The certificate {file} with the key {key} cannot be used: {why}.</translation>
    </message>
    <message>
      <source>backbone.certificate</source>
      <translation>A broker with mqtts needs --certificate and --key; one with mqtt takes neither.</translation>
    </message>
    <message>
      <source>backbone.no_broker</source>
      <translation>--broker-listen, --mosquitto, --certificate and --key are for a broker: name its address by --broker.</translation>
    </message>
    <message>
      <source>backup.exists</source>
      <translation>{file} is there already. Choose another name, or add --force to replace it.</translation>
    </message>
    <message>
      <source>backup.not_written</source>
      <translation>The backup {file} could not be written: {why}.</translation>
    </message>
    <message>
      <source>battery.gone</source>
      <translation>This PC was on battery a moment ago.</translation>
    </message>
    <message>
      <source>battery.mains</source>
      <translation>On mains</translation>
    </message>
    <message>
      <source>battery.mains_charge</source>
      <translation>On mains, {charge:percent} charged</translation>
    </message>
    <message>
      <source>battery.on</source>
      <translation>On battery</translation>
    </message>
    <message>
      <source>battery.on_charge</source>
      <translation>On battery, {charge:percent} left</translation>
    </message>
    <message>
      <source>battery.reason</source>
      <translation>This PC is on battery.</translation>
    </message>
    <message>
      <source>battery.reason_charge</source>
      <translation>This PC is on battery, {charge:percent} left.</translation>
    </message>
    <message>
      <source>battery.title</source>
      <translation>Power</translation>
    </message>
    <message>
      <source>battery.until</source>
      <translation>Runs again when you plug it in.</translation>
    </message>
    <message>
      <source>battery.wants</source>
      <translation>Stops on battery</translation>
    </message>
    <message>
      <source>battery.wants_below</source>
      <translation>Stops on battery below {limit:percent}</translation>
    </message>
    <message>
      <source>board.fails</source>
      <translation>The board could not be summed up {times:count} times in a row ({error}). No credit is lost; please report it.</translation>
    </message>
    <message>
      <source>bus.bad_address</source>
      <translation>The address of the {bus} bus is not usable.</translation>
    </message>
    <message>
      <source>bus.gone</source>
      <translation>The {bus} bus is gone.</translation>
    </message>
    <message>
      <source>bus.missing</source>
      <translation>There is no {bus} bus.</translation>
    </message>
    <message>
      <source>bus.none</source>
      <translation>This session has no D-Bus.</translation>
    </message>
    <message>
      <source>bus.nonsense</source>
      <translation>The {bus} bus sent nonsense ({why}).</translation>
    </message>
    <message>
      <source>bus.not_offered</source>
      <translation>{service} does not offer this here.</translation>
    </message>
    <message>
      <source>bus.not_running</source>
      <translation>{service} is not running.</translation>
    </message>
    <message>
      <source>bus.odd_answer</source>
      <translation>{service} answers {method} in an unexpected way.</translation>
    </message>
    <message>
      <source>bus.odd_type</source>
      <translation>{service} reports {property} with an unexpected type.</translation>
    </message>
    <message>
      <source>bus.refuses</source>
      <translation>{service} refuses: {why}</translation>
    </message>
    <message>
      <source>bus.silent</source>
      <translation>The {bus} bus does not answer.</translation>
    </message>
    <message>
      <source>bus.too_long</source>
      <translation>The {bus} bus sent a message of more than {most} MiB.</translation>
    </message>
    <message>
      <source>bus.unreachable</source>
      <translation>The {bus} bus does not answer ({why}).</translation>
    </message>
    <message>
      <source>call.too_large</source>
      <translation>{method}: a call of {size:size} is over the limit. Split it.</translation>
    </message>
    <message>
      <source>call.upload_limit</source>
      <translation>{size:size} would take {seconds:duration} at your upload limit. See Settings.</translation>
    </message>
    <message>
      <source>celsius.none</source>
      <translation>This PC does not report how hot its CPU is.</translation>
    </message>
    <message>
      <source>celsius.sensor_silent</source>
      <translation>The sensor {sensor} reports no temperature.</translation>
    </message>
    <message>
      <source>checkpoint.broken</source>
      <translation>The checkpoint at step {step} was not saved: {why:phrase}. Quit Hearth and start it again; it resumes from the older checkpoint.</translation>
    </message>
    <message>
      <source>checkpoint.disk_full</source>
      <translation>The checkpoint at step {step} was not saved: there is no space left for {folder}. Free some space on that disk. The older checkpoint stays.</translation>
    </message>
    <message>
      <source>checkpoint.disk_hangs</source>
      <translation>No checkpoint was saved: the disk did not report its free space within {within:whole} s. Hearth tries again; check that disk. The older checkpoint stays.</translation>
    </message>
    <message>
      <source>checkpoint.file_unusable</source>
      <translation>{file} cannot be used: {why:phrase}.</translation>
    </message>
    <message>
      <source>checkpoint.impossible_count</source>
      <translation>The checkpoint holds an impossible count in {name}.</translation>
    </message>
    <message>
      <source>checkpoint.large_header</source>
      <translation>its header is too large</translation>
    </message>
    <message>
      <source>checkpoint.missing</source>
      <translation>it is not there</translation>
    </message>
    <message>
      <source>checkpoint.mixed_versions</source>
      <translation>its version is not that of its tensors</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.more_damaged</source>
      <translation>
        <numerusform>{n} more file of the checkpoints is damaged.</numerusform>
        <numerusform>{n} more files of the checkpoints are damaged.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.negative</source>
      <translation>The checkpoint holds a negative number in {name}.</translation>
    </message>
    <message>
      <source>checkpoint.no_disk_space</source>
      <translation>There is no room for it on this disk. Free some space there.</translation>
    </message>
    <message>
      <source>checkpoint.no_expert</source>
      <translation>The run {run} has no expert {uid}.</translation>
    </message>
    <message>
      <source>checkpoint.no_room</source>
      <translation>The checkpoint at step {step} was not saved: it does not fit into the disk space that you allow Hearth. Allow more in Settings. The older checkpoint stays.</translation>
    </message>
    <message>
      <source>checkpoint.none_good</source>
      <translation>no state that other PCs gave is of any use</translation>
    </message>
    <message>
      <source>checkpoint.none_left</source>
      <translation>No checkpoint is left: training starts from the beginning.</translation>
    </message>
    <message>
      <source>checkpoint.not_allowed</source>
      <translation>The checkpoint at step {step} was not saved: {folder} cannot be written ({why}). Give Hearth the right to write there. The older checkpoint stays.</translation>
    </message>
    <message>
      <source>checkpoint.not_at_peer</source>
      <translation>This peer does not have the file {file}. Ask another one.</translation>
    </message>
    <message>
      <source>checkpoint.not_finite</source>
      <translation>{name} holds NaN or infinity.</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.not_here</source>
      <translation>
        <numerusform>No state of {n} of the {all} parts is on this PC: it starts from the beginning.</numerusform>
        <numerusform>No state of {n} of the {all} parts is on this PC: these start from the beginning.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.not_ours</source>
      <translation>it is not a checkpoint of Hearth ({why})</translation>
    </message>
    <message>
      <source>checkpoint.not_related</source>
      <translation>training cannot have led from what is here to it</translation>
    </message>
    <message>
      <source>checkpoint.not_set_aside</source>
      <translation>{damage} {file} could not be renamed ({why}).</translation>
    </message>
    <message>
      <source>checkpoint.not_written</source>
      <translation>The checkpoint at step {step} was not saved: writing to {folder} failed ({why}). Check that disk. The older checkpoint stays.</translation>
    </message>
    <message>
      <source>checkpoint.of_another_part</source>
      <translation>it belongs to {part} of the run {run}</translation>
    </message>
    <message>
      <source>checkpoint.of_another_run</source>
      <translation>it belongs to the run {run}</translation>
    </message>
    <message>
      <source>checkpoint.other_shape</source>
      <translation>The checkpoint is of another model: {name} is {found}, not {due}.</translation>
    </message>
    <message>
      <source>checkpoint.other_tensors</source>
      <translation>The checkpoint is of another model: {names} missing or surplus.</translation>
    </message>
    <message>
      <source>checkpoint.other_version</source>
      <translation>it is version {version:digits} of {part}</translation>
    </message>
    <message>
      <source>checkpoint.part_does_not_fit</source>
      <translation>The saved state of {part} does not fit: {why:phrase}.</translation>
    </message>
    <message>
      <source>checkpoint.part_unusable</source>
      <translation>The saved state of {part} cannot be used: {why:phrase}.</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.parts_lost</source>
      <translation>
        <numerusform>No checkpoint holds {n} of the parts undamaged: it starts from the beginning.</numerusform>
        <numerusform>No checkpoint holds {n} of the parts undamaged: these start from the beginning.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.quota_full</source>
      <translation>There is no room for it in the disk space that Hearth may use. See Settings.</translation>
    </message>
    <message>
      <source>checkpoint.replaced</source>
      <translation>What is missing was taken from the checkpoint before it, or from newer copies.</translation>
    </message>
    <message>
      <source>checkpoint.set_aside</source>
      <translation>{damage} It was kept as {file}.</translation>
    </message>
    <message>
      <source>checkpoint.too_large</source>
      <translation>it is too large</translation>
    </message>
    <message>
      <source>checkpoint.too_short</source>
      <translation>it is too short</translation>
    </message>
    <message>
      <source>checkpoint.unusual_moments</source>
      <translation>the optimizer's {name} is none that training leads to</translation>
    </message>
    <message>
      <source>checkpoint.unusual_weights</source>
      <translation>its weights have the norm {found}, where {usual} is usual</translation>
    </message>
    <message>
      <source>checkpoint.worse</source>
      <translation>other states do better on this PC's own data</translation>
    </message>
    <message>
      <source>checkpoint.wrong_hash</source>
      <translation>its content does not match its checksum</translation>
    </message>
    <message>
      <source>checkpoint.wrong_size</source>
      <translation>it has {found} bytes instead of {due}</translation>
    </message>
    <message>
      <source>choice.keeps_running</source>
      <translation>Keeps running until {end:clock}, even while you use this PC, or until you press Pause.</translation>
    </message>
    <message>
      <source>choice.none</source>
      <translation>Not paused</translation>
    </message>
    <message>
      <source>choice.paused</source>
      <translation>Paused</translation>
    </message>
    <message>
      <source>choice.paused_until</source>
      <translation>Paused until {end:clock}</translation>
    </message>
    <message>
      <source>choice.quitting</source>
      <translation>Quitting</translation>
    </message>
    <message>
      <source>choice.resume</source>
      <translation>Runs again when you press Resume.</translation>
    </message>
    <message>
      <source>choice.resume_at</source>
      <translation>Runs again at {end:clock}, or when you press Resume.</translation>
    </message>
    <message>
      <source>choice.saved</source>
      <translation>Ends when the checkpoint is saved.</translation>
    </message>
    <message>
      <source>choice.saves</source>
      <translation>Hearth is quitting and saves its work.</translation>
    </message>
    <message>
      <source>choice.start_now</source>
      <translation>Start now, until {end:clock}</translation>
    </message>
    <message>
      <source>choice.then</source>
      <translation>After the pause, it still has to wait.</translation>
    </message>
    <message>
      <source>choice.title</source>
      <translation>Your choice</translation>
    </message>
    <message>
      <source>choice.wants</source>
      <translation>Your choice overrides the other rules</translation>
    </message>
    <message>
      <source>choice.you_paused</source>
      <translation>You paused Hearth.</translation>
    </message>
    <message>
      <source>choice.you_paused_until</source>
      <translation>You paused Hearth until {end:clock}.</translation>
    </message>
    <message>
      <source>choice.you_started</source>
      <translation>You asked Hearth to run now.</translation>
    </message>
    <message>
      <source>compute.configured_twice</source>
      <translation>The worker configured this process twice.</translation>
    </message>
    <message>
      <source>compute.deaf</source>
      <translation>Compute no longer takes messages.</translation>
    </message>
    <message>
      <source>compute.did_not_stop</source>
      <translation>Compute did not stop within {within:whole} s and was ended.</translation>
    </message>
    <message>
      <source>compute.ended_unexpectedly</source>
      <translation>Compute ended unexpectedly (exit code {exit:digits}).</translation>
    </message>
    <message>
      <source>compute.free_at</source>
      <translation>Its memory is free in {at:countdown}.</translation>
    </message>
    <message>
      <source>compute.freeing</source>
      <translation>Its memory is being freed.</translation>
    </message>
    <message>
      <source>compute.has_ended</source>
      <translation>Compute has ended.</translation>
    </message>
    <message>
      <source>compute.hosting_too_late</source>
      <translation>Compute did not take on or save experts within {within:whole} s.</translation>
    </message>
    <message>
      <source>compute.killed</source>
      <translation>Compute was killed (signal {signal}, {name}).</translation>
    </message>
    <message>
      <source>compute.loading</source>
      <translation>The network is being loaded.</translation>
    </message>
    <message>
      <source>compute.measuring</source>
      <translation>Measuring how fast this PC is.</translation>
    </message>
    <message>
      <source>compute.no_memory</source>
      <translation>There is not enough memory to train, of this PC or of what Hearth may use. What was trained is saved. Close other programs, choose a smaller run, or allow more in Settings.</translation>
    </message>
    <message>
      <source>compute.no_sign</source>
      <translation>Compute gave no sign of life for {within:whole} s and was ended.</translation>
    </message>
    <message>
      <source>compute.not_ready</source>
      <translation>Compute was not ready after {within:whole} s.</translation>
    </message>
    <message>
      <source>compute.not_started</source>
      <translation>Compute could not be started: {why}.</translation>
    </message>
    <message>
      <source>compute.program_error</source>
      <translation>Compute ran into an error in the program ({kind}: {why}).</translation>
    </message>
    <message>
      <source>compute.ready_soon</source>
      <translation>Ready in a few seconds.</translation>
    </message>
    <message>
      <source>compute.restarting</source>
      <translation>It is being started again.</translation>
    </message>
    <message>
      <source>compute.retry</source>
      <translation>Tries again in {at:countdown}.</translation>
    </message>
    <message>
      <source>compute.stopped</source>
      <translation>Compute has stopped; no work is lost.</translation>
    </message>
    <message>
      <source>compute.stopping</source>
      <translation>Compute is stopping.</translation>
    </message>
    <message>
      <source>compute.stops_soon</source>
      <translation>Ends in a moment. No work is lost.</translation>
    </message>
    <message>
      <source>compute.unsaved</source>
      <translation>Compute ended before all that it trained was saved; it runs again from its last checkpoint.</translation>
    </message>
    <message>
      <source>compute.unsaved_slow_disk</source>
      <translation>Compute ended before all that it trained was saved; it runs again from its last checkpoint. Is the disk slow, or full?</translation>
    </message>
    <message>
      <source>control.no_method</source>
      <translation>The worker has no method {method}. It is of another version: restart it.</translation>
    </message>
    <message>
      <source>control.not_written</source>
      <translation>{file} cannot be written: {why}. Free some space on that disk and make the folder writable, or choose another with --data-dir.</translation>
    </message>
    <message>
      <source>control.other_version</source>
      <translation>This worker speaks version {worker:digits} of the control protocol and you speak {client:digits}. Quit Hearth everywhere and start it again.</translation>
    </message>
    <message>
      <source>control.port_in_use</source>
      <translation>The control port {port:digits} cannot be used: {why}. Close the program that has it, or set "control_port" to 0 in {file}.</translation>
    </message>
    <message>
      <source>control.wrong_token</source>
      <translation>The token is wrong: it belongs to another worker. Start Hearth again.</translation>
    </message>
    <message>
      <source>copies.fails</source>
      <translation>Copies of checkpoints could not be exchanged with other peers {times:count} times in a row ({error}). Nothing that is on this PC is lost; please report it.</translation>
    </message>
    <message>
      <source>cpu_busy.gone</source>
      <translation>Other programs were busy a moment ago.</translation>
    </message>
    <message>
      <source>cpu_busy.live</source>
      <translation>{share:percent} of the CPU</translation>
    </message>
    <message>
      <source>cpu_busy.reason</source>
      <translation>Other programs use {share:percent} of the CPU.</translation>
    </message>
    <message>
      <source>cpu_busy.title</source>
      <translation>Other programs</translation>
    </message>
    <message>
      <source>cpu_busy.until</source>
      <translation>Runs again when they have been quiet for 20 s.</translation>
    </message>
    <message>
      <source>cpu_busy.wants</source>
      <translation>Stops above {limit:percent}</translation>
    </message>
    <message>
      <source>cpu_busy.wants_none</source>
      <translation>Never stops for them</translation>
    </message>
    <message>
      <source>credit.audited_too_much</source>
      <translation>It names more audited work than work.</translation>
    </message>
    <message>
      <source>credit.fails</source>
      <translation>Credit could not be signed for other peers {times:count} times in a row ({error}). What they did is counted, and signed for once that works; please report it.</translation>
    </message>
    <message>
      <source>credit.file_unreadable</source>
      <translation>{path} cannot be read: {why}.</translation>
    </message>
    <message>
      <source>credit.foreign</source>
      <translation>This credit belongs to another run, or to other peers than those who show it.</translation>
    </message>
    <message>
      <source>credit.forged_bundle</source>
      <translation>The peer {peer:peer} has not signed what it is said to show, or it was changed since.</translation>
    </message>
    <message>
      <source>credit.forged_sheet</source>
      <translation>This credit was not signed by the trainer {peer:peer} that it names, or was changed since.</translation>
    </message>
    <message>
      <source>credit.forged_totals</source>
      <translation>The board {board} has not signed these sums, or they were changed since.</translation>
    </message>
    <message>
      <source>credit.none</source>
      <translation>Nobody has signed anything for this PC yet. That takes a minute after other peers have trained with its experts.</translation>
    </message>
    <message>
      <source>credit.not_of_peer</source>
      <translation>The file names the peer {peer:peer}, but holds credit of another one.</translation>
    </message>
    <message>
      <source>credit.not_written</source>
      <translation>{path} cannot be written: {why}.</translation>
    </message>
    <message>
      <source>credit.twice</source>
      <translation>The peer {peer:peer} shows two sheets of one trainer for one week.</translation>
    </message>
    <message>
      <source>credit.unreadable</source>
      <translation>This holds no credit that this Hearth understands. It may be damaged, or from a newer version.</translation>
    </message>
    <message>
      <source>credit.untimely</source>
      <translation>This credit is for a week that is long past, or still to come. Check the clock of this PC and of the peer.</translation>
    </message>
    <message>
      <source>data.bad_idx</source>
      <translation>{path} is not one of MNIST's files, is damaged, or does not fit its labels.</translation>
    </message>
    <message>
      <source>data.bad_line</source>
      <translation>Line {line:digits} of {path} is not a JSON object with a "{column}": {why}.</translation>
    </message>
    <message>
      <source>data.bad_list</source>
      <translation>The list of the run's shards is not valid: {why}. Ask the organiser.</translation>
    </message>
    <message>
      <source>data.bad_parquet</source>
      <translation>{path} is not a Parquet file, or is damaged: {why}</translation>
    </message>
    <message>
      <source>data.bad_picture</source>
      <translation>{path} is not a picture that can be read: {why}. Repair it, or remove it.</translation>
    </message>
    <message>
      <source>data.changed</source>
      <translation>A file was changed while it was being read. Try again.</translation>
    </message>
    <message>
      <source>data.classes</source>
      <translation>There are {n} classes, each a folder with pictures; there must be 2 to {most}.</translation>
    </message>
    <message>
      <source>data.column_twice</source>
      <translation>{path} has several columns named {column}. Rename all but one of them.</translation>
    </message>
    <message>
      <source>data.coming</source>
      <translation>The data of the run {run} are not here yet. They are fetched from peers that have them; training begins with the first part.</translation>
    </message>
    <message>
      <source>data.elsewhere</source>
      <translation>{folder} only leads to another PC. Its data are managed there.</translation>
    </message>
    <message>
      <source>data.fails</source>
      <translation>The run's data could not be fetched or passed on {times:count} times in a row ({error}). Please report it.</translation>
    </message>
    <message>
      <source>data.flat_pictures</source>
      <translation>The pictures of {place} ({count}) are in no class. Put those of each class into a folder of its own within it, such as cats and dogs: the folders' names become the classes.</translation>
    </message>
    <message>
      <source>data.foreign_token</source>
      <translation>The data hold the token {token}, and the model knows {vocabulary}.</translation>
    </message>
    <message>
      <source>data.group_too_large</source>
      <translation>{path} has a group of rows with {size:size} of text. Hearth reads groups of up to {most:size}: write the file again with fewer rows in a group (row_group_size in pyarrow and pandas).</translation>
    </message>
    <message>
      <source>data.half_token</source>
      <translation>A part of the data ends within a token.</translation>
    </message>
    <message>
      <source>data.in_use</source>
      <translation>Hearth still uses {folder}. Quit it, then try again.</translation>
    </message>
    <message>
      <source>data.line_too_long</source>
      <translation>Line {line:digits} of {path} is longer than {most:size}. Make several documents of it.</translation>
    </message>
    <message>
      <source>data.no_column</source>
      <translation>{path} has no column of texts named {column}; it has {known}. Name another one with --column.</translation>
    </message>
    <message>
      <source>data.no_digits</source>
      <translation>The data of the run 'digits' is missing: install the package scikit-learn again.</translation>
    </message>
    <message>
      <source>data.no_files</source>
      <translation>There is nothing to train on in {place}. Texts are files that end with {endings}; pictures lie in a folder for each class.</translation>
    </message>
    <message>
      <source>data.no_labels</source>
      <translation>Beside {path} there is no file of labels, whose name has labels-idx1-ubyte in it.</translation>
    </message>
    <message>
      <source>data.no_pictures</source>
      <translation>There are no pictures in {place} for the template {template}: folders of pictures, one for each class, or MNIST's files.</translation>
    </message>
    <message>
      <source>data.no_place</source>
      <translation>There is no folder or file {place}.</translation>
    </message>
    <message>
      <source>data.no_pyarrow</source>
      <translation>{path} is a Parquet file. To read it you need pyarrow, which is not installed: pip install "hearth[parquet]"</translation>
    </message>
    <message>
      <source>data.no_room</source>
      <translation>The shards need {size:size} in {folder}, and {free:size} are free. Make room, or name another data folder with --data-dir.</translation>
    </message>
    <message>
      <source>data.no_text_files</source>
      <translation>There are no texts in {place} for the template {template}: files that end with {endings}.</translation>
    </message>
    <message>
      <source>data.no_texts</source>
      <translation>{path} has no column of texts.</translation>
    </message>
    <message>
      <source>data.none</source>
      <translation>There are no data in {folder}.</translation>
    </message>
    <message>
      <source>data.none_yet</source>
      <translation>No part of the run's data is here yet. Training begins when the first has been fetched.</translation>
    </message>
    <message>
      <source>data.not_utf8</source>
      <translation>{path} is not text in UTF-8: byte {place} belongs to no character. Save it as UTF-8, or remove it.</translation>
    </message>
    <message>
      <source>data.not_written</source>
      <translation>{path} cannot be written: {why}.</translation>
    </message>
    <message>
      <source>data.one_class</source>
      <translation>All pictures of {place} are in one folder, {name}, and so of one class: there is nothing to tell apart. There must be a folder for each class, two at least. If the classes are folders in {name}, name that one.</translation>
    </message>
    <message>
      <source>data.one_document</source>
      <translation>There is only one document, and one must be held out. Give at least two files, or one longer than 256 KB with empty lines in it.</translation>
    </message>
    <message>
      <source>data.part_gone</source>
      <translation>The part {part} of the run's text has gone or was changed. Restart Hearth.</translation>
    </message>
    <message numerus="yes">
      <source>data.parts_missing</source>
      <translation>
        <numerusform>{n} of {all} parts of the text of the run {run} is missing here: Python {python} comes with another text. It is fetched from peers that have it as soon as one is connected (hearth worker --bootstrap); Python 3.11 has them all.</numerusform>
        <numerusform>{n} of {all} parts of the text of the run {run} are missing here: Python {python} comes with another text. They are fetched from peers that have them as soon as one is connected (hearth worker --bootstrap); Python 3.11 has them all.</numerusform>
      </translation>
    </message>
    <message>
      <source>data.text_too_short</source>
      <translation>The run {run} has no sequence, or a text that is too short for it.</translation>
    </message>
    <message>
      <source>data.too_few_pictures</source>
      <translation>The run {run} has no pictures held out, or too few to train on.</translation>
    </message>
    <message>
      <source>data.too_large</source>
      <translation>The text has {size:size}; a run takes at most {most:size}. Take a part of it.</translation>
    </message>
    <message>
      <source>data.too_many_files</source>
      <translation>There are more than {most} files. Put several texts into one .jsonl file, a line each.</translation>
    </message>
    <message>
      <source>data.too_much_at_once</source>
      <translation>Where parts of the data are dealt out, each PC holds all of them: at most {most:size}.</translation>
    </message>
    <message>
      <source>data.unreadable</source>
      <translation>{path} cannot be read: {why}.</translation>
    </message>
    <message>
      <source>data.which_column</source>
      <translation>It is not clear which column of {path} holds the texts; there are {known}. Name one with --column.</translation>
    </message>
    <message>
      <source>data_folder.gone</source>
      <translation>The data folder {folder} is gone. Put it back and try again, or restart Hearth.</translation>
    </message>
    <message>
      <source>desktop.none</source>
      <translation>There is no desktop session.</translation>
    </message>
    <message>
      <source>desktop.outside</source>
      <translation>Hearth runs outside of a desktop session.</translation>
    </message>
    <message>
      <source>device.computes_wrongly</source>
      <translation>{name} computes wrongly.</translation>
    </message>
    <message>
      <source>device.cpu_is_faster</source>
      <translation>The CPU is faster for this run.</translation>
    </message>
    <message>
      <source>device.full_in_a_sum</source>
      <translation>The memory of {name} was full in the middle of a sum.</translation>
    </message>
    <message>
      <source>device.not_found</source>
      <translation>PyTorch does not find the GPU {id}. Is its driver too old?</translation>
    </message>
    <message>
      <source>device.not_known_yet</source>
      <translation>Whether it can be used is known once compute has started.</translation>
    </message>
    <message>
      <source>device.off</source>
      <translation>You switched it off in Settings.</translation>
    </message>
    <message>
      <source>device.other_gpu</source>
      <translation>Another GPU computes.</translation>
    </message>
    <message>
      <source>device.torch_has_none</source>
      <translation>The installed PyTorch computes on the CPU only.</translation>
    </message>
    <message>
      <source>device.unusable</source>
      <translation>The GPU {id} cannot be used: {why}.</translation>
    </message>
    <message>
      <source>directory.fails</source>
      <translation>Who hosts which experts of the run could not be read {times:count} times in a row ({error}). What is known stays in use; please report it.</translation>
    </message>
    <message>
      <source>disk.gone</source>
      <translation>There was too little free disk space a moment ago.</translation>
    </message>
    <message numerus="yes">
      <source>disk.limits_experts</source>
      <translation>
        <numerusform>Only {n} expert is trained here: the states of more do not fit into the {most:size} of disk space that you allow Hearth. Nothing is lost; allow more in Settings.</numerusform>
        <numerusform>Only {n} experts are trained here: the states of more do not fit into the {most:size} of disk space that you allow Hearth. Nothing is lost; allow more in Settings.</numerusform>
      </translation>
    </message>
    <message>
      <source>disk.reason</source>
      <translation>Only {free:size} of disk space is free.</translation>
    </message>
    <message>
      <source>disk.run_waits</source>
      <translation>It waits for disk space: its states need {needed:size} beside the files that are there, and you allow {most:size} for all of them.</translation>
    </message>
    <message>
      <source>disk.title</source>
      <translation>Free disk space</translation>
    </message>
    <message>
      <source>disk.unreadable</source>
      <translation>The free space at {folder} cannot be read: {why}.</translation>
    </message>
    <message>
      <source>doctor.broker</source>
      <translation>Brokers</translation>
    </message>
    <message>
      <source>doctor.broker_remedy</source>
      <translation>The organiser's notices and the leaderboard come as soon as one answers. This PC tries each again every few seconds; training needs none of them.</translation>
    </message>
    <message>
      <source>doctor.brokers</source>
      <translation>connected to {connected:count} of {all:count}</translation>
    </message>
    <message>
      <source>doctor.brokers_none</source>
      <translation>none is named by the runs here</translation>
    </message>
    <message>
      <source>doctor.brokers_none_remedy</source>
      <translation>Training needs none. Without one there are no organiser's notices and no leaderboard; organisers name them in the manifest (brokers).</translation>
    </message>
    <message>
      <source>doctor.clock</source>
      <translation>clock</translation>
    </message>
    <message>
      <source>doctor.clock_off</source>
      <translation>{seconds:signed} s against other peers</translation>
    </message>
    <message>
      <source>doctor.clock_remedy</source>
      <translation>Set this PC's clock, best by network time: other peers refuse records from a wrong time.</translation>
    </message>
    <message>
      <source>doctor.connected</source>
      <translation>{connected} connected, {known} known to the DHT</translation>
    </message>
    <message>
      <source>doctor.disk</source>
      <translation>disk</translation>
    </message>
    <message>
      <source>doctor.disk_remedy</source>
      <translation>Free some space: checkpoints cannot be saved on a full disk.</translation>
    </message>
    <message>
      <source>doctor.free_at</source>
      <translation>{free:size} free at {folder}</translation>
    </message>
    <message>
      <source>doctor.listening</source>
      <translation>listening at {address}</translation>
    </message>
    <message>
      <source>doctor.nat</source>
      <translation>NAT</translation>
    </message>
    <message>
      <source>doctor.nat_remedy</source>
      <translation>This router gives every connection another port: peers reach this PC through a relay only.</translation>
    </message>
    <message>
      <source>doctor.no_address</source>
      <translation>listening at no address</translation>
    </message>
    <message>
      <source>doctor.outside</source>
      <translation>outside address</translation>
    </message>
    <message>
      <source>doctor.peers</source>
      <translation>other peers</translation>
    </message>
    <message>
      <source>doctor.peers_remedy</source>
      <translation>Add a peer: paste the address of another PC on the page Network, or use “hearth peers --add”.</translation>
    </message>
    <message>
      <source>doctor.port</source>
      <translation>port</translation>
    </message>
    <message>
      <source>doctor.port_remedy</source>
      <translation>Start the worker with --listen 0.0.0.0:PORT and a port that no other program uses.</translation>
    </message>
    <message>
      <source>doctor.reach_remedy</source>
      <translation>Other peers cannot dial this PC. It works anyway; a backbone peer that relays makes it faster.</translation>
    </message>
    <message>
      <source>doctor.reachability</source>
      <translation>reachability</translation>
    </message>
    <message>
      <source>doctor.reached</source>
      <translation>{kind} ({step})</translation>
    </message>
    <message>
      <source>doctor.unmeasured</source>
      <translation>Nobody has measured it yet; a connected backbone peer will.</translation>
    </message>
    <message>
      <source>energy.live</source>
      <translation>{used:kwh} this month</translation>
    </message>
    <message>
      <source>energy.reason</source>
      <translation>The {most:count} kWh that you allow a month are used.</translation>
    </message>
    <message>
      <source>energy.title</source>
      <translation>Energy</translation>
    </message>
    <message>
      <source>energy.wants</source>
      <translation>At most {most:count} kWh a month</translation>
    </message>
    <message numerus="yes">
      <source>event.adopted</source>
      <translation>
        <numerusform>This PC took over {n} expert from {peer:peer}.</numerusform>
        <numerusform>This PC took over {n} experts from {peer:peer}.</numerusform>
      </translation>
    </message>
    <message>
      <source>event.first_use</source>
      <translation>{peer:peer} used an expert of this PC, the first other PC to do so.</translation>
    </message>
    <message>
      <source>event.helped</source>
      <translation>{peer:peer} helped this PC to train for the first time.</translation>
    </message>
    <message numerus="yes">
      <source>event.passed</source>
      <translation>
        <numerusform>{peer:peer} took over {n} expert from {other:peer}.</numerusform>
        <numerusform>{peer:peer} took over {n} experts from {other:peer}.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>event.taken</source>
      <translation>
        <numerusform>{peer:peer} took over {n} expert from this PC.</numerusform>
        <numerusform>{peer:peer} took over {n} experts from this PC.</numerusform>
      </translation>
    </message>
    <message>
      <source>exchange.fails</source>
      <translation>The run's data and trunk could not be kept up to date {times:count} times in a row ({error}). Please report it.</translation>
    </message>
    <message>
      <source>export.dense_beside_experts</source>
      <translation>llama.cpp reads no model that has layers with experts and layers without. Write it as hf.</translation>
    </message>
    <message>
      <source>export.failed</source>
      <translation>The model could not be written: the process for it ended with {status}. See what “hearth log” says.</translation>
    </message>
    <message>
      <source>export.no_such_form</source>
      <translation>A model of the kind {kind} cannot be written as {form}: a decoder is written as hf or gguf, any other one as safetensors. Leave out --format to get the right one.</translation>
    </message>
    <message>
      <source>export.no_tokenizer</source>
      <translation>This {kind} reads bytes: only a model of tokens can be written for other programs.</translation>
    </message>
    <message>
      <source>export.no_trunk</source>
      <translation>There is nothing to export of {run} yet: no trunk was saved here, and no peer has sent one. Wait for the first checkpoint.</translation>
    </message>
    <message>
      <source>export.not_alike</source>
      <translation>What was written is not the model: its scores differ by up to {difference}. It was removed.</translation>
    </message>
    <message>
      <source>export.not_written</source>
      <translation>{folder} cannot be written: {why}.</translation>
    </message>
    <message>
      <source>export.odd_tensors</source>
      <translation>What was written is not the model: {count} of its parts are missing or odd, such as {first}. It was removed.</translation>
    </message>
    <message>
      <source>export.taken</source>
      <translation>{folder} holds files that are not those of an exported model. Name another folder with --out.</translation>
    </message>
    <message>
      <source>export.too_few_experts</source>
      <translation>A layer has only {experts} trained experts, and each token asks {k}. Let it train on, or fetch more of them.</translation>
    </message>
    <message>
      <source>export.worse</source>
      <translation>What was written is worse than the model by {difference} nats a token. It was removed; write it with more exact numbers.</translation>
    </message>
    <message>
      <source>file.cannot_be_locked</source>
      <translation>{file} cannot be locked: {reason}.</translation>
    </message>
    <message>
      <source>file.kept</source>
      <translation>It was kept as {name}.</translation>
    </message>
    <message>
      <source>file.left</source>
      <translation>It was left as it is.</translation>
    </message>
    <message>
      <source>file.loss_choice</source>
      <translation>Your choice holds, but only until Hearth ends.</translation>
    </message>
    <message>
      <source>file.loss_curve</source>
      <translation>The curve starts again from zero.</translation>
    </message>
    <message>
      <source>file.loss_events</source>
      <translation>What happened before is not listed any more.</translation>
    </message>
    <message>
      <source>file.loss_line</source>
      <translation>The speed of your line is measured again.</translation>
    </message>
    <message>
      <source>file.loss_ports</source>
      <translation>Other peers look for this PC at its new port.</translation>
    </message>
    <message>
      <source>file.loss_runs</source>
      <translation>This PC trains the run that Settings name.</translation>
    </message>
    <message>
      <source>file.loss_runs_unsaved</source>
      <translation>The runs that were joined hold, but only until Hearth ends.</translation>
    </message>
    <message>
      <source>file.loss_tried</source>
      <translation>What you tried with models before is not listed any more.</translation>
    </message>
    <message>
      <source>file.loss_wishes</source>
      <translation>Nothing is paused.</translation>
    </message>
    <message>
      <source>file.not_written</source>
      <translation>{path} could not be written: {why}. The old file stays.</translation>
    </message>
    <message>
      <source>file.unreadable</source>
      <translation>{name} could not be read ({why}). {kept} {loss}</translation>
    </message>
    <message>
      <source>folder.gone</source>
      <translation>The data folder {folder} is gone.</translation>
    </message>
    <message>
      <source>folder.is_a_file</source>
      <translation>{folder} is a file. Choose a folder with --data-dir.</translation>
    </message>
    <message>
      <source>folder.lock_not_written</source>
      <translation>{file} cannot be written: {why}. Choose another folder with --data-dir.</translation>
    </message>
    <message>
      <source>folder.moved_away</source>
      <translation>The data of {first} were moved to {folder}, which is not there. Connect its disk, then start Hearth again.</translation>
    </message>
    <message>
      <source>folder.newer</source>
      <translation>The data folder {folder} belongs to a newer Hearth. Install that one again, or choose another folder with --data-dir.</translation>
    </message>
    <message>
      <source>folder.not_made</source>
      <translation>{folder} cannot be made: {why}.</translation>
    </message>
    <message>
      <source>folder.not_moved</source>
      <translation>{old} cannot be moved to {new}: {why}.</translation>
    </message>
    <message>
      <source>folder.not_utf8</source>
      <translation>The name of the data folder {folder} is not UTF-8. Choose another with --data-dir.</translation>
    </message>
    <message>
      <source>folder.not_writable</source>
      <translation>The data folder {folder} cannot be written: {why}. Make it writable, or choose another with --data-dir.</translation>
    </message>
    <message>
      <source>free.live</source>
      <translation>{free:size} free</translation>
    </message>
    <message>
      <source>free.until</source>
      <translation>Runs again when {limit:size} are free.</translation>
    </message>
    <message>
      <source>free.wants</source>
      <translation>Keeps {limit:size} free</translation>
    </message>
    <message>
      <source>free.wants_none</source>
      <translation>Keeps none</translation>
    </message>
    <message>
      <source>front.desktop_silent</source>
      <translation>What fills the screen cannot be measured: the desktop does not report it.</translation>
    </message>
    <message>
      <source>front.unknown</source>
      <translation>What fills the screen is unknown: {why}.</translation>
    </message>
    <message>
      <source>front.wayland_hidden</source>
      <translation>This Wayland desktop does not report what fills the screen.</translation>
    </message>
    <message>
      <source>front.window_manager_silent</source>
      <translation>What fills the screen cannot be measured: the window manager does not report it.</translation>
    </message>
    <message>
      <source>game.fullscreen</source>
      <translation>A full screen</translation>
    </message>
    <message>
      <source>game.fullscreen_of</source>
      <translation>A full screen ({program})</translation>
    </message>
    <message>
      <source>game.game</source>
      <translation>A game</translation>
    </message>
    <message>
      <source>game.game_of</source>
      <translation>A game ({program})</translation>
    </message>
    <message>
      <source>game.gone</source>
      <translation>A game or full screen was in front a moment ago.</translation>
    </message>
    <message>
      <source>game.none</source>
      <translation>None</translation>
    </message>
    <message>
      <source>game.presentation</source>
      <translation>A presentation</translation>
    </message>
    <message>
      <source>game.presentation_of</source>
      <translation>A presentation ({program})</translation>
    </message>
    <message>
      <source>game.reason</source>
      <translation>{what} is in front.</translation>
    </message>
    <message>
      <source>game.title</source>
      <translation>Games and full screen</translation>
    </message>
    <message>
      <source>game.until</source>
      <translation>Runs again when it has left the screen.</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_all</source>
      <translation>Games and full screens stop everything</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_gpu</source>
      <translation>Games and full screens stop the GPU</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_nothing</source>
      <translation>Games and full screens stop nothing</translation>
    </message>
    <message>
      <source>game.wants_game_all</source>
      <translation>Games stop everything</translation>
    </message>
    <message>
      <source>game.wants_game_gpu</source>
      <translation>Games stop the GPU</translation>
    </message>
    <message>
      <source>game.wants_game_nothing</source>
      <translation>Games stop nothing</translation>
    </message>
    <message>
      <source>gathering.fails</source>
      <translation>Trainers could not report or read {times:count} times in a row how far they are with their common batch ({error}). No common step is taken until that works; please report it.</translation>
    </message>
    <message>
      <source>gpu.all_off</source>
      <translation>You switched all GPUs off.</translation>
    </message>
    <message>
      <source>gpu.broke</source>
      <translation>The GPU failed: {why}.</translation>
    </message>
    <message>
      <source>gpu.cpu_instead</source>
      <translation>{why} The CPU computes instead until {until:clock}.</translation>
    </message>
    <message>
      <source>gpu.failed</source>
      <translation>The GPU failed.</translation>
    </message>
    <message>
      <source>gpu.found</source>
      <translation>{names}</translation>
    </message>
    <message>
      <source>gpu.none</source>
      <translation>None found</translation>
    </message>
    <message>
      <source>gpu.one_failed</source>
      <translation>{name} (failed)</translation>
    </message>
    <message>
      <source>gpu.one_off</source>
      <translation>{name} (off)</translation>
    </message>
    <message>
      <source>gpu.title</source>
      <translation>GPUs</translation>
    </message>
    <message numerus="yes">
      <source>gpu.too_small</source>
      <translation>
        <numerusform>The memory of {gpu} that Hearth may use has room for {held} of {n} expert. The CPU computes the others. Settings allow more.</numerusform>
        <numerusform>The memory of {gpu} that Hearth may use has room for {held} of {n} experts. The CPU computes the others. Settings allow more.</numerusform>
      </translation>
    </message>
    <message>
      <source>gpu.until_on</source>
      <translation>Runs again when you switch one on in Settings.</translation>
    </message>
    <message>
      <source>gpu.until_retry</source>
      <translation>Hearth tries it again at {at:clock}.</translation>
    </message>
    <message>
      <source>gpu.wants</source>
      <translation>Uses those that you have not switched off</translation>
    </message>
    <message>
      <source>gpu.wants_cpu</source>
      <translation>Hearth computes on the CPU only</translation>
    </message>
    <message>
      <source>gpu.wants_none</source>
      <translation>There is none to use</translation>
    </message>
    <message>
      <source>gpu_busy.gone</source>
      <translation>Other programs used the GPU a moment ago.</translation>
    </message>
    <message>
      <source>gpu_busy.live</source>
      <translation>{shares:percent} of it</translation>
    </message>
    <message>
      <source>gpu_busy.reason</source>
      <translation>Other programs use the GPU.</translation>
    </message>
    <message>
      <source>gpu_busy.title</source>
      <translation>Other programs on the GPU</translation>
    </message>
    <message>
      <source>gpu_busy.until</source>
      <translation>The GPU runs again when they have been quiet for 20 s.</translation>
    </message>
    <message>
      <source>gpu_choice.reason</source>
      <translation>You paused the GPU.</translation>
    </message>
    <message>
      <source>gpu_choice.title</source>
      <translation>Your choice for the GPU</translation>
    </message>
    <message>
      <source>gpu_choice.until</source>
      <translation>The GPU runs again when you press Resume.</translation>
    </message>
    <message>
      <source>gpu_choice.wants</source>
      <translation>Pause GPU overrides the GPU's other rules</translation>
    </message>
    <message>
      <source>gpu_programs.gone</source>
      <translation>A program that has the GPU to itself ran a moment ago.</translation>
    </message>
    <message>
      <source>gpu_programs.reason</source>
      <translation>{program} is running and has the GPU to itself.</translation>
    </message>
    <message>
      <source>gpu_programs.title</source>
      <translation>Programs with the GPU</translation>
    </message>
    <message>
      <source>gpu_programs.wants</source>
      <translation>The GPU stops for {names}</translation>
    </message>
    <message>
      <source>gpu_user.away</source>
      <translation>You are away</translation>
    </message>
    <message>
      <source>gpu_user.here</source>
      <translation>You are here</translation>
    </message>
    <message>
      <source>gpu_user.reason</source>
      <translation>The GPU is yours while you are here.</translation>
    </message>
    <message>
      <source>gpu_user.title</source>
      <translation>GPU while you are here</translation>
    </message>
    <message>
      <source>gpu_user.unknown_away</source>
      <translation>Unknown, taken as away</translation>
    </message>
    <message>
      <source>gpu_user.unknown_here</source>
      <translation>Unknown, taken as here</translation>
    </message>
    <message>
      <source>gpu_user.until</source>
      <translation>The GPU runs again when you have been away for {threshold:duration}.</translation>
    </message>
    <message>
      <source>gpu_user.wants</source>
      <translation>Only while you are away</translation>
    </message>
    <message>
      <source>gpu_user.wants_none</source>
      <translation>Computes also while you are here</translation>
    </message>
    <message>
      <source>gpus.no_apple_chip</source>
      <translation>This Mac has no Apple chip.</translation>
    </message>
    <message>
      <source>gpus.nvidia_broken</source>
      <translation>NVIDIA's driver is broken: {why}.</translation>
    </message>
    <message>
      <source>gpus.nvidia_fails</source>
      <translation>NVIDIA's driver does not work: {why}.</translation>
    </message>
    <message>
      <source>heat.live_both</source>
      <translation>{celsius:temperature}, {watts:whole} W</translation>
    </message>
    <message>
      <source>heat.live_celsius</source>
      <translation>{celsius:temperature}</translation>
    </message>
    <message>
      <source>heat.live_watts</source>
      <translation>{watts:whole} W</translation>
    </message>
    <message>
      <source>heat.until</source>
      <translation>Runs again when it has cooled down.</translation>
    </message>
    <message>
      <source>heat.wants_both</source>
      <translation>Stays below {celsius:temperature} and {watts:whole} W</translation>
    </message>
    <message>
      <source>heat.wants_celsius</source>
      <translation>Stays below {celsius:temperature}</translation>
    </message>
    <message>
      <source>heat.wants_none</source>
      <translation>No target</translation>
    </message>
    <message>
      <source>heat.wants_watts</source>
      <translation>Stays below {watts:whole} W</translation>
    </message>
    <message>
      <source>heat_cpu.pc_gone</source>
      <translation>The system called this PC too hot a moment ago.</translation>
    </message>
    <message>
      <source>heat_cpu.pc_hot</source>
      <translation>The system says that this PC is too hot.</translation>
    </message>
    <message>
      <source>heat_cpu.reason</source>
      <translation>The CPU is too hot or takes too much power.</translation>
    </message>
    <message>
      <source>heat_cpu.reason_now</source>
      <translation>The CPU is too hot or takes too much power: {now}.</translation>
    </message>
    <message>
      <source>heat_cpu.system_fine</source>
      <translation>Not too hot, according to the system</translation>
    </message>
    <message>
      <source>heat_cpu.system_hot</source>
      <translation>Too hot, according to the system</translation>
    </message>
    <message>
      <source>heat_cpu.title</source>
      <translation>CPU temperature</translation>
    </message>
    <message>
      <source>heat_cpu.wants_system</source>
      <translation>Stops when the system calls it too hot</translation>
    </message>
    <message>
      <source>heat_gpu.no_source</source>
      <translation>No GPU reports its temperature</translation>
    </message>
    <message>
      <source>heat_gpu.reason</source>
      <translation>The GPU is too hot or takes too much power.</translation>
    </message>
    <message>
      <source>heat_gpu.reason_now</source>
      <translation>The GPU is too hot or takes too much power: {now}.</translation>
    </message>
    <message>
      <source>heat_gpu.title</source>
      <translation>GPU temperature</translation>
    </message>
    <message>
      <source>history.end_before_start</source>
      <translation>The end of a history must come after its start.</translation>
    </message>
    <message>
      <source>history.too_many</source>
      <translation>These are more than {most:count} figures at once. Ask for a shorter time, or for longer steps.</translation>
    </message>
    <message>
      <source>hosting.fails</source>
      <translation>What this PC hosts could not be brought up to date {times:count} times in a row ({error}). Training continues; please report it.</translation>
    </message>
    <message>
      <source>hot.macos_not_told</source>
      <translation>macOS does not report whether this Mac is too hot.</translation>
    </message>
    <message>
      <source>hot.macos_unknown</source>
      <translation>macOS does not know whether this Mac is too hot.</translation>
    </message>
    <message>
      <source>hours.any</source>
      <translation>Any time</translation>
    </message>
    <message>
      <source>hours.never</source>
      <translation>Starts when you choose other times in Settings.</translation>
    </message>
    <message>
      <source>hours.off</source>
      <translation>Off</translation>
    </message>
    <message>
      <source>hours.off_until</source>
      <translation>Off until {at:clock}</translation>
    </message>
    <message>
      <source>hours.on</source>
      <translation>On</translation>
    </message>
    <message>
      <source>hours.on_until</source>
      <translation>On until {at:clock}</translation>
    </message>
    <message>
      <source>hours.outside</source>
      <translation>This isn't one of the times that you chose for computing.</translation>
    </message>
    <message>
      <source>hours.starts_at</source>
      <translation>Starts at {at:clock}.</translation>
    </message>
    <message>
      <source>hours.title</source>
      <translation>Schedule</translation>
    </message>
    <message>
      <source>identity.bad_key_file</source>
      <translation>The key file {path} cannot be used: {reason}. It was left as it is. Restore this PC's identity with “hearth identity import” and its recovery words. Or move the file away to start as a new peer.</translation>
    </message>
    <message>
      <source>identity.just_made</source>
      <translation>{path} was just created by another program. Try again.</translation>
    </message>
    <message>
      <source>identity.key_not_written</source>
      <translation>The key file {path} cannot be written: {why}. Make the folder writable, or choose another with --data-dir.</translation>
    </message>
    <message>
      <source>identity.no_key</source>
      <translation>There is no key in {folder} yet. The first start of Hearth's worker makes it, and so does “hearth identity export”. “hearth identity import” restores one from its recovery words.</translation>
    </message>
    <message>
      <source>identity.no_peer_name</source>
      <translation>{text} does not name a peer: its key has 64 hexadecimal digits. Copy it again on the other PC, from the page Network or with “hearth address”.</translation>
    </message>
    <message>
      <source>identity.no_word</source>
      <translation>Word {place}, {word}, is not a recovery word. Check how it is spelt.</translation>
    </message>
    <message>
      <source>identity.not_64_digits</source>
      <translation>it does not hold 64 hexadecimal digits</translation>
    </message>
    <message>
      <source>identity.not_replaced</source>
      <translation>{path} could not be replaced: {why}. The old key stays.</translation>
    </message>
    <message>
      <source>identity.word_count</source>
      <translation>There are {needed} recovery words, not {found}. Type them all, in order.</translation>
    </message>
    <message>
      <source>identity.words_do_not_fit</source>
      <translation>The recovery words do not fit together: one is misspelt or out of place. Check them.</translation>
    </message>
    <message>
      <source>identity.wrong_length</source>
      <translation>A secret key has 32 bytes, not {length}.</translation>
    </message>
    <message>
      <source>idle.logind_future</source>
      <translation>logind says that the session will become idle in the future.</translation>
    </message>
    <message>
      <source>idle.logind_not_told</source>
      <translation>This desktop does not report to logind whether it is idle.</translation>
    </message>
    <message>
      <source>idle.macos_not_told</source>
      <translation>macOS does not report when this Mac was last used.</translation>
    </message>
    <message>
      <source>idle.no_xscreensaver</source>
      <translation>The X server has no XScreenSaver extension.</translation>
    </message>
    <message>
      <source>idle.wayland_not_told</source>
      <translation>This Wayland desktop does not report idle time.</translation>
    </message>
    <message>
      <source>idle.windows_not_told</source>
      <translation>Windows does not report when this PC was last used.</translation>
    </message>
    <message>
      <source>lan.fails</source>
      <translation>Looking for other peers in the local network failed {times:count} times in a row ({error}). Peers on the Internet are reached as ever; please report it.</translation>
    </message>
    <message>
      <source>lan.not_announced</source>
      <translation>This PC could not be announced in the local network: {why}. Hearth tries again later.</translation>
    </message>
    <message>
      <source>lan.not_looked</source>
      <translation>Hearth cannot look for peers in the local network: {why}. Check the network, or turn this off in Settings.</translation>
    </message>
    <message>
      <source>ledger.closed</source>
      <translation>Hearth is quitting, and has closed the history of your contributions.</translation>
    </message>
    <message>
      <source>ledger.damaged</source>
      <translation>The history of your contributions could not be used ({why}); it is kept as {kept}. A new one begins, and this month's traffic and electricity are counted from zero.</translation>
    </message>
    <message>
      <source>ledger.newer</source>
      <translation>it is from a newer Hearth (version {version:digits})</translation>
    </message>
    <message>
      <source>ledger.not_written</source>
      <translation>What this PC contributes cannot be written to {path} ({why}); it is counted in memory meanwhile. Free some space on that disk.</translation>
    </message>
    <message>
      <source>ledger.unreadable</source>
      <translation>The history of your contributions cannot be read: {why}.</translation>
    </message>
    <message>
      <source>line.chosen</source>
      <translation>At most {rate:traffic}/s, as you chose.</translation>
    </message>
    <message>
      <source>line.measured</source>
      <translation>At most {rate:traffic}/s to peers outside your local network: a quarter of the {measured:traffic}/s measured.</translation>
    </message>
    <message>
      <source>line.quota</source>
      <translation>At most {rate:traffic}/s: little of this month's traffic is left.</translation>
    </message>
    <message>
      <source>line.twice</source>
      <translation>At most {rate:traffic}/s from peers outside your local network: twice the automatic upload limit.</translation>
    </message>
    <message>
      <source>line.unlimited</source>
      <translation>No limit, as you chose.</translation>
    </message>
    <message>
      <source>line.unmeasured</source>
      <translation>At most {rate:traffic}/s to peers outside your local network, until your upload is measured.</translation>
    </message>
    <message>
      <source>links.not_changed</source>
      <translation>What opens links to runs could not be changed: {reason}. Change it in the system's own settings.</translation>
    </message>
    <message>
      <source>list.more</source>
      <translation>{names} and {more:count} more</translation>
    </message>
    <message>
      <source>locked.windows_not_told</source>
      <translation>Windows does not report whether the session is locked.</translation>
    </message>
    <message>
      <source>locked.windows_too_little</source>
      <translation>Windows reports too little about the session.</translation>
    </message>
    <message>
      <source>locked.windows_unknown</source>
      <translation>Windows does not know whether the session is locked.</translation>
    </message>
    <message>
      <source>login.not_changed</source>
      <translation>What starts at login could not be changed: {reason}. Change it in the system's own settings.</translation>
    </message>
    <message>
      <source>manifest.access_unsigned</source>
      <translation>only a signed run can give tokens. Sign the manifest first (hearth run sign)</translation>
    </message>
    <message>
      <source>manifest.allowed_above</source>
      <translation>a number above {least}, up to {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_bootstrap</source>
      <translation>peers as “hearth address” prints them: PEER@ADDRESS</translation>
    </message>
    <message>
      <source>manifest.allowed_brokers</source>
      <translation>addresses of brokers: mqtt://NAME:PORT, or mqtts://NAME:PORT with TLS</translation>
    </message>
    <message>
      <source>manifest.allowed_list</source>
      <translation>a list of at most {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_moment</source>
      <translation>a day in UTC such as "2030-01-31", or with a time: "2030-01-31 18:00"</translation>
    </message>
    <message>
      <source>manifest.allowed_more</source>
      <translation>a number above {least}</translation>
    </message>
    <message>
      <source>manifest.allowed_name</source>
      <translation>a name of at most 32 lower-case letters, digits, - and _ that begins with a letter</translation>
    </message>
    <message>
      <source>manifest.allowed_needs</source>
      <translation>a version of Hearth such as 0.2.0</translation>
    </message>
    <message>
      <source>manifest.allowed_number</source>
      <translation>a number from {least} to {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_or_null</source>
      <translation>{what}, or left out</translation>
    </message>
    <message>
      <source>manifest.allowed_pattern</source>
      <translation>a text that fits {pattern}</translation>
    </message>
    <message>
      <source>manifest.allowed_picture</source>
      <translation>a PNG or JPEG of up to {most} KB, as base64</translation>
    </message>
    <message>
      <source>manifest.allowed_servers</source>
      <translation>a list of at most 64 peers, each by its key of 64 hexadecimal digits</translation>
    </message>
    <message>
      <source>manifest.allowed_sha256</source>
      <translation>a SHA-256 of 64 hexadecimal digits</translation>
    </message>
    <message>
      <source>manifest.allowed_store</source>
      <translation>an address that begins with redis:// or postgresql://, of at most 256 characters</translation>
    </message>
    <message>
      <source>manifest.allowed_switch</source>
      <translation>true or false</translation>
    </message>
    <message>
      <source>manifest.allowed_table</source>
      <translation>a table of {known}</translation>
    </message>
    <message>
      <source>manifest.allowed_text</source>
      <translation>a text of {least} to {most} characters in one line</translation>
    </message>
    <message>
      <source>manifest.allowed_whole</source>
      <translation>a whole number from {least} to {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_words</source>
      <translation>one of: {known}</translation>
    </message>
    <message>
      <source>manifest.at</source>
      <translation>line {line}, column {column}: {what}</translation>
    </message>
    <message>
      <source>manifest.batch_too_large</source>
      <translation>a batch at a layer would take {size:size}; at most {most:size} is allowed. Lower batch, sequence or width.</translation>
    </message>
    <message>
      <source>manifest.cut_off</source>
      <translation>here the file ends too soon: it was cut off, or is not finished. Copy the whole of it again.</translation>
    </message>
    <message>
      <source>manifest.end_beyond</source>
      <translation>the token {end}, which ends a text, is beyond the vocabulary of {vocabulary}.</translation>
    </message>
    <message>
      <source>manifest.ends_early</source>
      <translation>The run ends ({end}) before it has begun ({start}).</translation>
    </message>
    <message>
      <source>manifest.exists</source>
      <translation>There is a file {path} already. Name another one with --out.</translation>
    </message>
    <message>
      <source>manifest.expert_too_large</source>
      <translation>an expert would take {size:size}; at most {most:size} is allowed. Lower width or hidden.</translation>
    </message>
    <message>
      <source>manifest.experts_missing</source>
      <translation>a {kind} needs `layers`, a `grid`, a kind of `expert`, and `k` from 1.</translation>
    </message>
    <message>
      <source>manifest.fails</source>
      <translation>Looking for changes of this run failed {times:count} times in a row: {error}.</translation>
    </message>
    <message>
      <source>manifest.field_elsewhere</source>
      <translation>`{field}` belongs into `{table}`: write `{meant}`.</translation>
    </message>
    <message>
      <source>manifest.field_meant</source>
      <translation>there is no `{field}`: write `{meant}`.</translation>
    </message>
    <message>
      <source>manifest.field_missing</source>
      <translation>`{field}` is missing: {allowed}.</translation>
    </message>
    <message>
      <source>manifest.field_unknown</source>
      <translation>there is no `{field}`, only {known}.</translation>
    </message>
    <message>
      <source>manifest.field_value</source>
      <translation>`{field}` is {value}; it must be {allowed}.</translation>
    </message>
    <message>
      <source>manifest.forged</source>
      <translation>its signature is not that of its organiser {organiser}: it was changed, or somebody else signed it.</translation>
    </message>
    <message>
      <source>manifest.grid_too_large</source>
      <translation>its grid has {cells} cells a layer; at most {most} are allowed. Make the grid smaller.</translation>
    </message>
    <message>
      <source>manifest.in_flight_too_large</source>
      <translation>the batches in flight would take {size:size} in all layers; at most {most:size} is allowed. Lower in_flight, batch, sequence or width.</translation>
    </message>
    <message>
      <source>manifest.invalid</source>
      <translation>The manifest {source} cannot be used: {why:phrase}. This is Hearth {version}.</translation>
    </message>
    <message>
      <source>manifest.k_too_large</source>
      <translation>it asks for {k} experts of a grid with {cells} cells.</translation>
    </message>
    <message>
      <source>manifest.kv_heads</source>
      <translation>{heads} heads of attention cannot share {kv_heads} of keys and values: `kv_heads` must divide `heads`.</translation>
    </message>
    <message>
      <source>manifest.layers_too_many</source>
      <translation>it has {experts} experts in all layers; at most {most} are allowed. Make the grid smaller, or have fewer layers.</translation>
    </message>
    <message>
      <source>manifest.mixed_too_large</source>
      <translation>servers of `vc_asgd` mix at most {most} parameters, and its trunk has {numbers}. Lower width or layers, or choose another strategy.</translation>
    </message>
    <message>
      <source>manifest.no_attention</source>
      <translation>a {kind} needs `sequence`, and `heads` whose double divides `width`.</translation>
    </message>
    <message>
      <source>manifest.no_data_set</source>
      <translation>this Hearth has no data set named {name}, only {known}.</translation>
    </message>
    <message>
      <source>manifest.no_expert_kind</source>
      <translation>this Hearth has no kind of expert named {name}, only {known}.</translation>
    </message>
    <message>
      <source>manifest.no_file</source>
      <translation>The manifest {path} is not a file.</translation>
    </message>
    <message>
      <source>manifest.no_layers</source>
      <translation>a {kind} needs a layer: `layers` with experts, or `dense` ones.</translation>
    </message>
    <message>
      <source>manifest.no_model_kind</source>
      <translation>this Hearth has no kind of model named {name}, only {known}.</translation>
    </message>
    <message>
      <source>manifest.no_newer</source>
      <translation>this manifest has revision {revision}, and {have} holds. Raise `revision`.</translation>
    </message>
    <message>
      <source>manifest.no_pictures</source>
      <translation>it describes pictures, but its data are none. Leave [pictures] out.</translation>
    </message>
    <message>
      <source>manifest.no_run</source>
      <translation>There is no run named {run}. Known runs: {known}; or give a manifest's path (.toml, .json).</translation>
    </message>
    <message>
      <source>manifest.no_such_day</source>
      <translation>There is no day {text}.</translation>
    </message>
    <message>
      <source>manifest.no_table</source>
      <translation>it must be a table of fields.</translation>
    </message>
    <message>
      <source>manifest.no_task</source>
      <translation>this Hearth has no task named {name}, only {known}.</translation>
    </message>
    <message>
      <source>manifest.no_tokens</source>
      <translation>its data are no tokens. Leave out `tokenizer`, and `vocabulary` in `model`.</translation>
    </message>
    <message>
      <source>manifest.not_finite</source>
      <translation>{number} is not a number that a manifest may have.</translation>
    </message>
    <message>
      <source>manifest.not_replaced</source>
      <translation>The manifest {path} stays as it is: {why} To begin another run, move that file away or name another one (--out).</translation>
    </message>
    <message>
      <source>manifest.not_signed</source>
      <translation>it is not a whole signed manifest: {why}.</translation>
    </message>
    <message>
      <source>manifest.not_utf8</source>
      <translation>this is not UTF-8. Save the file as UTF-8.</translation>
    </message>
    <message>
      <source>manifest.organiser_unsigned</source>
      <translation>`organiser` is set by “hearth run sign”. Take it out.</translation>
    </message>
    <message>
      <source>manifest.other_expert</source>
      <translation>the experts of a {kind} are of the kind '{wanted}', not '{expert}'.</translation>
    </message>
    <message>
      <source>manifest.other_name</source>
      <translation>The manifest {run}.json calls itself {name}.</translation>
    </message>
    <message>
      <source>manifest.other_organiser</source>
      <translation>it is not signed by the organiser of {run}, {organiser}.</translation>
    </message>
    <message>
      <source>manifest.other_run</source>
      <translation>it is of the run {found}, not of {run}: name, data, model, shards, seed and organiser of a run stay.</translation>
    </message>
    <message>
      <source>manifest.other_sequence</source>
      <translation>its data come in samples of {inputs}, not of {sequence}.</translation>
    </message>
    <message>
      <source>manifest.picture_kind</source>
      <translation>The picture is not a PNG or JPEG: put the base64 of such a file there.</translation>
    </message>
    <message>
      <source>manifest.pictures_missing</source>
      <translation>its data are pictures, but it does not say which: [pictures] needs width, height, channels and classes.</translation>
    </message>
    <message>
      <source>manifest.syntax</source>
      <translation>{what}.</translation>
    </message>
    <message>
      <source>manifest.tokens_missing</source>
      <translation>data that are tokens need a `tokenizer`, and in `model` a `vocabulary`.</translation>
    </message>
    <message>
      <source>manifest.too_large</source>
      <translation>The manifest {path} is larger than {most} MB.</translation>
    </message>
    <message>
      <source>manifest.too_little_memory</source>
      <translation>{held} experts of this run take {needed:size} of memory, and this PC has {memory:size}. Share them with other peers (--bootstrap), or take a smaller run.</translation>
    </message>
    <message>
      <source>manifest.too_new</source>
      <translation>it needs Hearth {needs} or newer, and this is {have}. Update Hearth to join this run.</translation>
    </message>
    <message>
      <source>manifest.trunk_local</source>
      <translation>the strategy {strategy} of its `trunk` has nothing to be set; take `{field}` out.</translation>
    </message>
    <message>
      <source>manifest.trunk_missing</source>
      <translation>the strategy {strategy} of its `trunk` needs `{field}`: {allowed}.</translation>
    </message>
    <message>
      <source>manifest.trunk_no_strategy</source>
      <translation>its `trunk` must be an object with a `strategy`, one of: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_strategy</source>
      <translation>there is no strategy {strategy} for its `trunk`, only: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_too_large</source>
      <translation>the trunk would take {size:size}; at most {most:size} is allowed. Lower width, the grid or layers.</translation>
    </message>
    <message>
      <source>manifest.trunk_unknown</source>
      <translation>the strategy {strategy} of its `trunk` has no `{field}`, only: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_value</source>
      <translation>`{field}` of its `trunk` is {value}; it must be {allowed}.</translation>
    </message>
    <message>
      <source>manifest.two_lists</source>
      <translation>it has both shards and a shard_list. Leave one of them out.</translation>
    </message>
    <message>
      <source>manifest.unreadable</source>
      <translation>The manifest {path} cannot be read: {why}.</translation>
    </message>
    <message>
      <source>manifest.unusable</source>
      <translation>The manifest {source} cannot be used: {trouble}</translation>
    </message>
    <message>
      <source>manifest.without_experts</source>
      <translation>a {kind} has no experts: its `layers` are 0, its `grid` is empty, and `expert` and `k` are left out.</translation>
    </message>
    <message>
      <source>memory.bound_cgroup</source>
      <translation>the kernel ends compute beyond {most:size} (a control group)</translation>
    </message>
    <message>
      <source>memory.bound_job</source>
      <translation>Windows allows compute no more than {most:size} (a job)</translation>
    </message>
    <message>
      <source>memory.bound_none</source>
      <translation>Hearth alone keeps to it</translation>
    </message>
    <message>
      <source>memory.bound_rlimit</source>
      <translation>the kernel allows compute no more than {most:size} (RLIMIT_DATA)</translation>
    </message>
    <message>
      <source>memory.bound_systemd</source>
      <translation>systemd ends compute beyond {most:size} (a control group)</translation>
    </message>
    <message>
      <source>memory.ended_by_system</source>
      <translation>The system ended compute, as it took far more memory than the {most:size} that it may use. It resumes from its last checkpoint, with fewer experts. Settings allow more.</translation>
    </message>
    <message>
      <source>memory.gone</source>
      <translation>There was too little free memory a moment ago.</translation>
    </message>
    <message>
      <source>memory.over_cap</source>
      <translation>Compute took {taken:size} of memory. Of the {cap:size} that Hearth may use in all, {left:size} are left to it. It was ended, nothing is lost, and it comes back with fewer experts. Settings allow more.</translation>
    </message>
    <message>
      <source>memory.reason</source>
      <translation>Only {free:size} of memory is free.</translation>
    </message>
    <message>
      <source>memory.title</source>
      <translation>Free memory</translation>
    </message>
    <message>
      <source>metered.gone</source>
      <translation>The network was metered a moment ago.</translation>
    </message>
    <message>
      <source>metered.network_manager_unknown</source>
      <translation>NetworkManager does not know whether this network costs money.</translation>
    </message>
    <message>
      <source>metered.no</source>
      <translation>Not metered</translation>
    </message>
    <message>
      <source>metered.pending</source>
      <translation>It is not known yet whether this network is metered.</translation>
    </message>
    <message>
      <source>metered.reason</source>
      <translation>This network is metered.</translation>
    </message>
    <message>
      <source>metered.title</source>
      <translation>Network</translation>
    </message>
    <message>
      <source>metered.until</source>
      <translation>Runs again when this PC is on another network.</translation>
    </message>
    <message>
      <source>metered.wants</source>
      <translation>Stops on metered networks</translation>
    </message>
    <message>
      <source>metered.wants_none</source>
      <translation>Metered networks are used too</translation>
    </message>
    <message>
      <source>metered.windows_not_told</source>
      <translation>Windows does not report what the network costs.</translation>
    </message>
    <message>
      <source>metered.windows_unknown</source>
      <translation>Windows does not know what the network costs.</translation>
    </message>
    <message>
      <source>metered.yes</source>
      <translation>Metered</translation>
    </message>
    <message>
      <source>month.until</source>
      <translation>Runs again next month, on {end:date}.</translation>
    </message>
    <message>
      <source>move.disk_full</source>
      <translation>The disk of {folder} is full. Nothing was moved.</translation>
    </message>
    <message>
      <source>move.failed</source>
      <translation>The data could not be moved to {folder}: {why}. They are where they were.</translation>
    </message>
    <message>
      <source>move.inside</source>
      <translation>{folder} and the data folder are one inside the other. Choose another folder.</translation>
    </message>
    <message>
      <source>move.no_folder</source>
      <translation>{folder} is a file. Choose a folder.</translation>
    </message>
    <message>
      <source>move.no_room</source>
      <translation>The data take {needed:size}, but only {free:size} are free at {folder}. Nothing was moved.</translation>
    </message>
    <message>
      <source>move.not_empty</source>
      <translation>{folder} is not empty. Choose an empty folder, or a name that does not exist yet.</translation>
    </message>
    <message>
      <source>move.same</source>
      <translation>The data are in {folder} already.</translation>
    </message>
    <message>
      <source>nat.cone</source>
      <translation>cone</translation>
    </message>
    <message>
      <source>nat.none</source>
      <translation>none</translation>
    </message>
    <message>
      <source>nat.symmetric</source>
      <translation>symmetric</translation>
    </message>
    <message>
      <source>network.address_unusable</source>
      <translation>The network address {addresses} cannot be used: {why:phrase}. Choose an address of this PC: 0.0.0.0 is all of them.</translation>
    </message>
    <message>
      <source>network.alone</source>
      <translation>This worker is alone: the settings say so, or it was started without --join, --listen, --bootstrap or --role.</translation>
    </message>
    <message>
      <source>network.bad_bootstrap</source>
      <translation>--bootstrap: {why}</translation>
    </message>
    <message>
      <source>network.bad_listen</source>
      <translation>--listen: {why} 0.0.0.0 is every address of this PC, port 0 a free one.</translation>
    </message>
    <message>
      <source>network.clock_wrong</source>
      <translation>The clock of this PC and those of other peers are {seconds:duration} apart. Set it, best by network time.</translation>
    </message>
    <message>
      <source>network.fails</source>
      <translation>This PC's connection to the network could not be maintained {times:count} times in a row ({error}). Hearth tries again, ever more rarely; please report it.</translation>
    </message>
    <message>
      <source>network.no_address</source>
      <translation>{text} is not a network address: give a numeric one and a port, such as 203.0.113.7:4401.</translation>
    </message>
    <message>
      <source>network.no_expert</source>
      <translation>Layer {layer} has no active expert. Wait until a host of one is reachable.</translation>
    </message>
    <message>
      <source>network.no_role</source>
      <translation>There is no role {names}. Roles: {roles}.</translation>
    </message>
    <message>
      <source>network.not_running</source>
      <translation>The network of this PC is off. Start the worker first.</translation>
    </message>
    <message>
      <source>network.port_in_use</source>
      <translation>{address} is in use by another program. Choose another port, or 0 for a free one.</translation>
    </message>
    <message>
      <source>network.works_alone</source>
      <translation>{why} Until then this PC works alone.</translation>
    </message>
    <message>
      <source>network_hours.outside</source>
      <translation>This isn't one of the times that you chose for the network.</translation>
    </message>
    <message>
      <source>network_hours.title</source>
      <translation>Network schedule</translation>
    </message>
    <message>
      <source>own_disk.live</source>
      <translation>{used:size} used</translation>
    </message>
    <message>
      <source>own_disk.reason</source>
      <translation>Hearth's files need all of the {most:size} of disk space that you allow.</translation>
    </message>
    <message>
      <source>own_disk.title</source>
      <translation>Disk space of Hearth</translation>
    </message>
    <message>
      <source>own_disk.until</source>
      <translation>Runs again when you allow more in Settings.</translation>
    </message>
    <message>
      <source>own_disk.wants</source>
      <translation>At most {most:size}</translation>
    </message>
    <message>
      <source>own_memory.live</source>
      <translation>{used:size} used</translation>
    </message>
    <message>
      <source>own_memory.live_bounded</source>
      <translation>{used:size} used; {bound:phrase}</translation>
    </message>
    <message>
      <source>own_memory.title</source>
      <translation>Memory of Hearth</translation>
    </message>
    <message>
      <source>own_memory.wants_away</source>
      <translation>At most {most:size} while you are away</translation>
    </message>
    <message>
      <source>own_memory.wants_here</source>
      <translation>At most {most:size} while you are here</translation>
    </message>
    <message>
      <source>pack.failed</source>
      <translation>The GPU pack does not work on this PC: {why}</translation>
    </message>
    <message>
      <source>pack.hangs</source>
      <translation>It did not answer within {within:whole} s.</translation>
    </message>
    <message>
      <source>pack.no_card</source>
      <translation>No NVIDIA GPU was found on this PC. There is no pack for others.</translation>
    </message>
    <message>
      <source>pack.no_feed</source>
      <translation>This Hearth has no release feed with GPU packs. Run from its sources, it uses the torch that you install yourself.</translation>
    </message>
    <message>
      <source>pack.no_peer</source>
      <translation>No peer gave this file of a GPU pack.</translation>
    </message>
    <message>
      <source>pack.no_room</source>
      <translation>Installing the GPU pack takes {needed:size}, but only {free:size} are free. Nothing was installed.</translation>
    </message>
    <message>
      <source>pack.not_used</source>
      <translation>Python loaded {file} instead of the pack.</translation>
    </message>
    <message>
      <source>pack.not_written</source>
      <translation>GPU packs cannot be written to {folder}: {why}.</translation>
    </message>
    <message>
      <source>pack.under_way</source>
      <translation>A GPU pack is being installed or removed already.</translation>
    </message>
    <message>
      <source>peer.banned</source>
      <translation>Peer {peer:peer} is banned.</translation>
    </message>
    <message>
      <source>peer.banned_for</source>
      <translation>Peer {peer:peer} is banned for another {left:duration}.</translation>
    </message>
    <message>
      <source>peer.itself</source>
      <translation>A peer cannot call itself over the network.</translation>
    </message>
    <message>
      <source>peer.next_try</source>
      <translation>Peer {peer:peer} could not be reached; the next try is in {wait:duration}.</translation>
    </message>
    <message>
      <source>peer.no_address</source>
      <translation>Peer {peer:peer} has no address here; name it as PEER@ADDRESS:PORT, as “hearth address” prints it there.</translation>
    </message>
    <message>
      <source>peer.no_answer</source>
      <translation>Peer {peer:peer} did not answer {method} within {within:duration}.</translation>
    </message>
    <message>
      <source>peer.no_room</source>
      <translation>All connections of this PC are in use.</translation>
    </message>
    <message>
      <source>peer.unreachable</source>
      <translation>Peer {peer:peer} could not be reached at any known address.</translation>
    </message>
    <message>
      <source>power.kernel_none</source>
      <translation>The kernel reports no power supplies.</translation>
    </message>
    <message>
      <source>power.kernel_unknown</source>
      <translation>The kernel does not say whether the battery is being used.</translation>
    </message>
    <message>
      <source>power.kernel_unreadable</source>
      <translation>The kernel's power supplies cannot be read.</translation>
    </message>
    <message>
      <source>power.macos_not_told</source>
      <translation>macOS does not report where the electricity comes from.</translation>
    </message>
    <message>
      <source>power.macos_unknown</source>
      <translation>macOS does not know where the electricity comes from.</translation>
    </message>
    <message>
      <source>power.upower_odd</source>
      <translation>UPower says that the battery has an impossible charge.</translation>
    </message>
    <message>
      <source>power.windows_not_told</source>
      <translation>Windows does not report where the electricity comes from.</translation>
    </message>
    <message>
      <source>power.windows_unknown</source>
      <translation>Windows does not know where the electricity comes from.</translation>
    </message>
    <message>
      <source>programs.gone</source>
      <translation>A program that has this PC to itself ran a moment ago.</translation>
    </message>
    <message>
      <source>programs.none_chosen</source>
      <translation>None chosen</translation>
    </message>
    <message>
      <source>programs.none_runs</source>
      <translation>None of them is running</translation>
    </message>
    <message>
      <source>programs.reason</source>
      <translation>{program} is running and has this PC to itself.</translation>
    </message>
    <message>
      <source>programs.runs</source>
      <translation>{program} is running</translation>
    </message>
    <message>
      <source>programs.title</source>
      <translation>Exclusive programs</translation>
    </message>
    <message>
      <source>programs.until</source>
      <translation>Runs again when {program} has ended.</translation>
    </message>
    <message>
      <source>programs.until_known</source>
      <translation>Runs again when it is known to have ended.</translation>
    </message>
    <message>
      <source>programs.wants</source>
      <translation>Stops for {names}</translation>
    </message>
    <message>
      <source>programs.wants_none</source>
      <translation>Stops for programs that you choose</translation>
    </message>
    <message numerus="yes">
      <source>promise.kept</source>
      <translation>
        <numerusform>The last time, compute stopped {last:whole} ms after it had to (measured once; target: {target:count} ms).</numerusform>
        <numerusform>The last time, compute stopped {last:whole} ms after it had to (measured {n} times; target: {target:count} ms).</numerusform>
      </translation>
    </message>
    <message>
      <source>promise.kept_p95</source>
      <translation>The last time, compute stopped {last:whole} ms after it had to (p95 {p95:whole} ms, measured {count} times; target: {target:count} ms).</translation>
    </message>
    <message>
      <source>promise.none</source>
      <translation>No stop has been measured yet. Target: {target:count} ms from your return to the last computation.</translation>
    </message>
    <message>
      <source>purge.left</source>
      <translation>Something could not be deleted: {folders}. Delete it by hand.</translation>
    </message>
    <message>
      <source>question.empty_picture</source>
      <translation>The picture is empty. Draw one digit, dark on a light ground.</translation>
    </message>
    <message>
      <source>question.ended</source>
      <translation>{why} Try again in a moment.</translation>
    </message>
    <message>
      <source>question.failed</source>
      <translation>The model could not answer this ({kind}: {why}). Try something else.</translation>
    </message>
    <message>
      <source>question.no_expert</source>
      <translation>No expert answered. Try again in a moment. If this persists: other PCs answer more questions for those that work for the run.</translation>
    </message>
    <message>
      <source>question.odd_pixels</source>
      <translation>{pixels} pixels do not make {width} x {height}.</translation>
    </message>
    <message>
      <source>question.prompt_too_long</source>
      <translation>The text has {tokens} tokens, and the model sees at most {most} at once. Shorten it.</translation>
    </message>
    <message>
      <source>question.quitting</source>
      <translation>Hearth is quitting and answers no more questions.</translation>
    </message>
    <message>
      <source>question.run_answers_nothing</source>
      <translation>The run {run} ({title}) learns to tell pictures of its own apart; it cannot be tried yet. The run digits reads pictures: hearth run join digits.</translation>
    </message>
    <message>
      <source>question.run_continues_text</source>
      <translation>The run {run} ({title}) continues text: hearth generate 'The for statement'. The run digits reads pictures: hearth run join digits.</translation>
    </message>
    <message>
      <source>question.run_reads_pictures</source>
      <translation>The run {run} ({title}) reads pictures: hearth predict FILE.png. The run text continues text: hearth run join text.</translation>
    </message>
    <message>
      <source>question.stopped</source>
      <translation>The text was stopped.</translation>
    </message>
    <message>
      <source>question.too_late</source>
      <translation>The model did not answer within {within:whole} s. Try again.</translation>
    </message>
    <message>
      <source>question.too_many</source>
      <translation>Too many questions are waiting for an answer. Try again in a moment.</translation>
    </message>
    <message>
      <source>quota.live</source>
      <translation>{used:traffic} this month</translation>
    </message>
    <message>
      <source>quota.reason</source>
      <translation>The {most:traffic} of traffic that you allow a month are used.</translation>
    </message>
    <message>
      <source>quota.title</source>
      <translation>Traffic</translation>
    </message>
    <message>
      <source>quota.wants</source>
      <translation>At most {most:traffic} a month</translation>
    </message>
    <message>
      <source>reach.by_acquaintance</source>
      <translation>a backbone peer that this PC is in contact with has dialled it; no stranger has dialled it yet</translation>
    </message>
    <message>
      <source>reach.by_nobody</source>
      <translation>nobody can dial this PC and no connected peer relays</translation>
    </message>
    <message>
      <source>reach.by_punching</source>
      <translation>met peer {peer:peer} by hole punching</translation>
    </message>
    <message>
      <source>reach.by_relay</source>
      <translation>peer {peer:peer} relays</translation>
    </message>
    <message>
      <source>reach.by_router</source>
      <translation>the router shows everybody the same address</translation>
    </message>
    <message>
      <source>reach.by_stranger</source>
      <translation>a backbone peer that this PC had not written to dialled it</translation>
    </message>
    <message>
      <source>reach.dial_out_only</source>
      <translation>dial-out only</translation>
    </message>
    <message>
      <source>reach.no_answer</source>
      <translation>no backbone peer answered</translation>
    </message>
    <message>
      <source>reach.not_measured</source>
      <translation>not measured yet</translation>
    </message>
    <message>
      <source>reach.punchable</source>
      <translation>punchable</translation>
    </message>
    <message>
      <source>reach.reachable</source>
      <translation>reachable</translation>
    </message>
    <message>
      <source>reach.relayed</source>
      <translation>relayed</translation>
    </message>
    <message>
      <source>reach.unknown</source>
      <translation>unknown</translation>
    </message>
    <message>
      <source>reducing.fails</source>
      <translation>Helping another trainer's round failed {times:count} times in a row ({error}). The trainers average by themselves meanwhile; please report it.</translation>
    </message>
    <message>
      <source>restore.damaged</source>
      <translation>{file} cannot be restored: {why}. Nothing has changed.</translation>
    </message>
    <message>
      <source>restore.disk_full</source>
      <translation>There is not enough disk space to restore {file}. Nothing has changed.</translation>
    </message>
    <message>
      <source>restore.newer</source>
      <translation>The backup is from a newer Hearth. Install that one first.</translation>
    </message>
    <message>
      <source>restore.no_room</source>
      <translation>The backup takes {needed:size}, but only {free:size} are free. Nothing has changed.</translation>
    </message>
    <message>
      <source>restore.not_empty</source>
      <translation>{folder} holds data already. To delete all of them and restore the backup, add --force.</translation>
    </message>
    <message>
      <source>restore.unreadable</source>
      <translation>{file} cannot be restored: {why}. Nothing has changed.</translation>
    </message>
    <message>
      <source>role.backbone</source>
      <translation>Backbone peer</translation>
    </message>
    <message>
      <source>role.computes</source>
      <translation>Computes</translation>
    </message>
    <message>
      <source>role.keeps</source>
      <translation>This PC is a backbone peer: it keeps the network together and does not compute.</translation>
    </message>
    <message>
      <source>role.title</source>
      <translation>Role</translation>
    </message>
    <message>
      <source>role.until</source>
      <translation>Runs until you quit.</translation>
    </message>
    <message>
      <source>role.wants</source>
      <translation>Backbone peers do not compute</translation>
    </message>
    <message>
      <source>rule.again</source>
      <translation>Runs again in {at:countdown} if it stays so.</translation>
    </message>
    <message>
      <source>rule.lifted</source>
      <translation>Lifted until {end:clock}</translation>
    </message>
    <message>
      <source>rule.no_limit</source>
      <translation>No limit</translation>
    </message>
    <message>
      <source>rule.none_holds</source>
      <translation>Runs again when none of this applies.</translation>
    </message>
    <message>
      <source>rule.unknown</source>
      <translation>Unknown</translation>
    </message>
    <message>
      <source>run.access_invites</source>
      <translation>By invitation only. This PC has the organiser's key: it can invite others.</translation>
    </message>
    <message>
      <source>run.access_none</source>
      <translation>By invitation only. This PC has no valid invitation: ask the organiser for a link with a token in it.</translation>
    </message>
    <message>
      <source>run.access_open</source>
      <translation>Everybody may join.</translation>
    </message>
    <message>
      <source>run.access_until</source>
      <translation>By invitation only. This PC is invited until {at:date}.</translation>
    </message>
    <message>
      <source>run.bad_licence</source>
      <translation>A licence has at most {most} characters.</translation>
    </message>
    <message>
      <source>run.bad_link</source>
      <translation>This link leads to no run: {why}</translation>
    </message>
    <message>
      <source>run.bad_name</source>
      <translation>{name} cannot be the name of a run: it begins with a small letter, and has at most 32 small letters, digits, - and _.</translation>
    </message>
    <message>
      <source>run.bad_title</source>
      <translation>A title has 1 to 80 characters.</translation>
    </message>
    <message>
      <source>run.bad_volunteers</source>
      <translation>{text} is not a number of volunteers: 1 to {most}.</translation>
    </message>
    <message>
      <source>run.begins</source>
      <translation>Begins by itself; another PC must take part as a host.</translation>
    </message>
    <message>
      <source>run.begins_then</source>
      <translation>Training begins by itself then.</translation>
    </message>
    <message>
      <source>run.built_in_name</source>
      <translation>{name} is a run that comes with Hearth. Choose another name.</translation>
    </message>
    <message>
      <source>run.changed</source>
      <translation>The organiser has changed this run: this PC now uses revision {revision} of its manifest. What has changed: {fields}.</translation>
    </message>
    <message>
      <source>run.choose_another</source>
      <translation>{why} Choose a run in Settings; until then this PC trains “{title}”.</translation>
    </message>
    <message>
      <source>run.from</source>
      <translation>It is trained from {start} (UTC) on.</translation>
    </message>
    <message>
      <source>run.from_to</source>
      <translation>It is trained from {start} to {end} (UTC).</translation>
    </message>
    <message>
      <source>run.goes_on</source>
      <translation>Resumes by itself as soon as one answers or another PC takes these experts over.</translation>
    </message>
    <message>
      <source>run.join_another</source>
      <translation>Choose another run, or join one, to continue training; or leave this one. Until then this PC answers questions to its model.</translation>
    </message>
    <message>
      <source>run.joined_already</source>
      <translation>This PC has joined the run {run} already.</translation>
    </message>
    <message>
      <source>run.lifted</source>
      <translation>You lifted the rule “{rule}”.</translation>
    </message>
    <message>
      <source>run.link_alone</source>
      <translation>This PC works alone, and a link leads to other peers: start its worker with --join or --listen, or allow other peers in Settings.</translation>
    </message>
    <message>
      <source>run.link_long</source>
      <translation>it is longer than {most} characters.</translation>
    </message>
    <message>
      <source>run.link_no_link</source>
      <translation>it must begin with {head} and hold only letters, digits and . _ ~ : / @ , % -. Copy the whole link.</translation>
    </message>
    <message>
      <source>run.link_nobody</source>
      <translation>No peer of the link gave the manifest of {run}: {why:sentences} Ask the organiser for a new link.</translation>
    </message>
    <message>
      <source>run.link_not_there</source>
      <translation>Peer {peer:peer} does not take part in this run, or no longer does.</translation>
    </message>
    <message>
      <source>run.link_organiser</source>
      <translation>after the run's id must come the organiser's key, 64 hexadecimal digits. It may have been cut off: copy the whole link.</translation>
    </message>
    <message>
      <source>run.link_peers</source>
      <translation>after the organiser's key must come 1 to 4 peers as “hearth address” prints them. It may have been cut off: copy the whole link.</translation>
    </message>
    <message>
      <source>run.link_run_id</source>
      <translation>the first part must be the id of a run, such as digits-2ac90b73. It may have been cut off: copy the whole link.</translation>
    </message>
    <message>
      <source>run.link_to_start</source>
      <translation>A worker does not start with a link: it must be among peers first. Start it with hearth worker --join, then hearth run join LINK, and hearth run leave for those it is not to train.</translation>
    </message>
    <message>
      <source>run.link_token</source>
      <translation>what follows token: is cut off or was changed. Copy the whole link.</translation>
    </message>
    <message>
      <source>run.link_unsigned</source>
      <translation>Nobody has signed the run {run}, and a link leads only to signed ones. Sign its manifest (hearth run sign) and join what comes out.</translation>
    </message>
    <message>
      <source>run.link_without_peers</source>
      <translation>Nobody could join {run} by a link: this PC cannot be dialled, and its manifest names no peer in `bootstrap`.</translation>
    </message>
    <message>
      <source>run.name_of_several</source>
      <translation>Several runs are called {run}. Give the run id of one: {known}.</translation>
    </message>
    <message>
      <source>run.needs_disk</source>
      <translation>The run {run} needs {needed:size} free on the disk, and {has:size} is free.</translation>
    </message>
    <message>
      <source>run.needs_memory</source>
      <translation>The run {run} needs a PC with {needed:size} of memory, and this one has {has:size}.</translation>
    </message>
    <message>
      <source>run.none_here</source>
      <translation>No expert of this run is here.</translation>
    </message>
    <message>
      <source>run.not_joined</source>
      <translation>This PC has not joined a run called {run}. It has joined: {known}.</translation>
    </message>
    <message>
      <source>run.not_yet</source>
      <translation>The run begins on {at} (UTC), as its organiser has planned.</translation>
    </message>
    <message>
      <source>run.only_one</source>
      <translation>{run} is the only run of this PC. Join another one first.</translation>
    </message>
    <message>
      <source>run.organiser_says</source>
      <translation>The organiser wrote on {time:date}: {text}</translation>
    </message>
    <message>
      <source>run.other_manifest</source>
      <translation>The folder of the run {run} holds the manifest of another one, {found}. It is not worked on until it is joined again with its own manifest.</translation>
    </message>
    <message>
      <source>run.over</source>
      <translation>The run ended on {at} (UTC), as its organiser has planned.</translation>
    </message>
    <message>
      <source>run.reached</source>
      <translation>The run has reached its goal: the model is as accurate as its organiser wants, and nothing is left to train.</translation>
    </message>
    <message>
      <source>run.says</source>
      <translation>{run}: {what}</translation>
    </message>
    <message>
      <source>run.stuck</source>
      <translation>No host of some of this run's experts has answered for a while: it may be frozen, asleep or cut off.</translation>
    </message>
    <message>
      <source>run.successor</source>
      <translation>The organiser has changed this run. This PC uses revision {revision} of its manifest from the next start of its compute process, within an hour. What changes: {fields}.</translation>
    </message>
    <message>
      <source>run.successor_unusable</source>
      <translation>The organiser has changed this run, and this Hearth cannot use the new manifest: {why}</translation>
    </message>
    <message>
      <source>run.through_peers</source>
      <translation>This PC trains through the experts of other peers.</translation>
    </message>
    <message>
      <source>run.to</source>
      <translation>It is trained until {end} (UTC).</translation>
    </message>
    <message>
      <source>run.too_many</source>
      <translation>No more runs can be joined now. There can be at most {most}, and none can be added while Hearth starts or quits.</translation>
    </message>
    <message numerus="yes">
      <source>run.training</source>
      <translation>
        <numerusform>This PC is training {n} expert.</numerusform>
        <numerusform>This PC is training {n} experts.</numerusform>
      </translation>
    </message>
    <message>
      <source>run.training_whole</source>
      <translation>This PC is training a whole model.</translation>
    </message>
    <message>
      <source>run.unreachable</source>
      <translation>No expert of this run can be reached yet. Training begins as soon as a peer that hosts some is found.</translation>
    </message>
    <message>
      <source>run.until_blind</source>
      <translation>Runs until you press Pause, since your return cannot be noticed.</translation>
    </message>
    <message>
      <source>run.until_blind_at</source>
      <translation>Runs until {at:clock}, or until you press Pause, since your return cannot be noticed.</translation>
    </message>
    <message>
      <source>run.until_input</source>
      <translation>Stops as soon as you use the mouse or keyboard.</translation>
    </message>
    <message>
      <source>run.until_input_at</source>
      <translation>Stops as soon as you use the mouse or keyboard, otherwise at {at:clock}.</translation>
    </message>
    <message>
      <source>run.until_lift</source>
      <translation>Runs until {end:clock}, when that rule holds again, or until you press Pause.</translation>
    </message>
    <message>
      <source>run.until_pause</source>
      <translation>Runs until you press Pause.</translation>
    </message>
    <message>
      <source>run.until_pause_at</source>
      <translation>Runs until {at:clock}, or until you press Pause.</translation>
    </message>
    <message>
      <source>run.waits</source>
      <translation>This PC waits for its share of the experts, which it gets within a minute.</translation>
    </message>
    <message>
      <source>run.without_peers</source>
      <translation>It works without other peers for now.</translation>
    </message>
    <message>
      <source>schedule.no_day</source>
      <translation>“{text}” isn't a day. Days are mo, tu, we, th, fr, sa, su. Write it like mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_part</source>
      <translation>“{text}” isn't part of a schedule. Write it like mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_span</source>
      <translation>“{text}” is not a span of time. All day is 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_such_span</source>
      <translation>“{text}” isn't a span of time such as 18:00-08:00. Write it like mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_time</source>
      <translation>“{text}” names no time. Write it like mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.too_long</source>
      <translation>A schedule has at most {most} characters.</translation>
    </message>
    <message>
      <source>screensaver.no_such_windows</source>
      <translation>Windows of other programs are drawn into on X11 and Windows only. Leave the option away.</translation>
    </message>
    <message>
      <source>screensaver.no_window</source>
      <translation>There is no window {window} to draw into. It may have been closed meanwhile.</translation>
    </message>
    <message>
      <source>screensaver.no_x11</source>
      <translation>Windows of other programs are drawn into on X11 only: {reason}.</translation>
    </message>
    <message>
      <source>screensaver.shown_already</source>
      <translation>The screensaver is shown already.</translation>
    </message>
    <message>
      <source>settings.had_impossible</source>
      <translation>The settings file had impossible values for {names}: the defaults are in use for them.</translation>
    </message>
    <message>
      <source>settings.had_impossible_kept</source>
      <translation>The settings file had impossible values for {names}: the defaults are in use for them. The old file was kept as {name}.</translation>
    </message>
    <message>
      <source>settings.impossible</source>
      <translation>A setting cannot have this value: {why}.</translation>
    </message>
    <message>
      <source>settings.no_name</source>
      <translation>There is no setting named {names}.</translation>
    </message>
    <message>
      <source>settings.no_version</source>
      <translation>There is no version {version} of it.</translation>
    </message>
    <message>
      <source>settings.of_newer</source>
      <translation>The settings file is from a newer Hearth. What this one understands is in use; a change rewrites it.</translation>
    </message>
    <message>
      <source>settings.of_newer_kept</source>
      <translation>The settings file is from a newer Hearth. What this one understands is in use; the file is also kept as {name}.</translation>
    </message>
    <message>
      <source>settings.unreadable</source>
      <translation>The settings file could not be read ({why}). {kept} The defaults are in use.</translation>
    </message>
    <message>
      <source>signal.celsius</source>
      <translation>The CPU's temperature</translation>
    </message>
    <message>
      <source>signal.cpu_others</source>
      <translation>Other programs' use of the CPU</translation>
    </message>
    <message>
      <source>signal.desktop</source>
      <translation>Whether somebody can be at a screen</translation>
    </message>
    <message>
      <source>signal.disk_free</source>
      <translation>Free disk space</translation>
    </message>
    <message>
      <source>signal.failed</source>
      <translation>{what} cannot be measured: {cause}.</translation>
    </message>
    <message>
      <source>signal.front</source>
      <translation>What fills the screen</translation>
    </message>
    <message>
      <source>signal.gpus</source>
      <translation>The use of GPUs</translation>
    </message>
    <message>
      <source>signal.hot</source>
      <translation>What the system itself says of heat</translation>
    </message>
    <message>
      <source>signal.idle_s</source>
      <translation>Idle time</translation>
    </message>
    <message>
      <source>signal.impossible</source>
      <translation>{source} says something impossible: {value}.</translation>
    </message>
    <message>
      <source>signal.locked</source>
      <translation>The lock of the session</translation>
    </message>
    <message>
      <source>signal.memory_free</source>
      <translation>Free memory</translation>
    </message>
    <message>
      <source>signal.metered</source>
      <translation>The price of the network</translation>
    </message>
    <message>
      <source>signal.nowhere</source>
      <translation>{what} cannot be measured on this system.</translation>
    </message>
    <message>
      <source>signal.pending</source>
      <translation>It has not been measured yet.</translation>
    </message>
    <message>
      <source>signal.power</source>
      <translation>The power source</translation>
    </message>
    <message>
      <source>signal.programs</source>
      <translation>The list of running programs</translation>
    </message>
    <message>
      <source>signal.quiet</source>
      <translation>{source} does not answer.</translation>
    </message>
    <message>
      <source>signal.silent</source>
      <translation>{what} cannot be measured: nothing answers.</translation>
    </message>
    <message>
      <source>signal.watts</source>
      <translation>The CPU's power</translation>
    </message>
    <message>
      <source>source.closed</source>
      <translation>The connection is closed.</translation>
    </message>
    <message>
      <source>source.no_function</source>
      <translation>This system has no function {name}.</translation>
    </message>
    <message>
      <source>telemetry.broker_fails</source>
      <translation>The broker cannot listen at {address}: {why}</translation>
    </message>
    <message>
      <source>telemetry.broker_port_in_use</source>
      <translation>Another program uses {address}. End it, or choose another address with --broker-listen.</translation>
    </message>
    <message>
      <source>telemetry.fails</source>
      <translation>What this PC does could not be sent to the boards {times:count} times in a row ({error}). Training continues; please report it.</translation>
    </message>
    <message>
      <source>telemetry.foreign</source>
      <translation>This message belongs to another run, peer, broker or time.</translation>
    </message>
    <message>
      <source>telemetry.forged</source>
      <translation>The peer {peer:peer} has not signed this message, or it was changed afterwards.</translation>
    </message>
    <message>
      <source>telemetry.mosquitto_ends</source>
      <translation>Mosquitto does not stay at {address}: {why}. Peers cannot connect to this broker; Hearth starts it again and again. If another program has the port, end that program: the package of Mosquitto starts one of its own (systemctl disable --now mosquitto).</translation>
    </message>
    <message>
      <source>telemetry.mosquitto_files</source>
      <translation>Mosquitto's files in {folder} cannot be written: {why}. The broker lets in nobody new and still lets in those who may no longer take part, or does not start. Hearth tries again and again.</translation>
    </message>
    <message>
      <source>telemetry.names_none</source>
      <translation>The run {run} names no broker through which a notice could be sent: add one to `brokers` in its manifest and sign it again.</translation>
    </message>
    <message>
      <source>telemetry.no_broker</source>
      <translation>No broker of this run answers ({brokers}): the organiser's notices and the leaderboard are missing. Training continues.</translation>
    </message>
    <message>
      <source>telemetry.no_metrics</source>
      <translation>The figures for Prometheus cannot be served at {address}: {why}</translation>
    </message>
    <message>
      <source>telemetry.no_mosquitto</source>
      <translation>Mosquitto is not installed here. Install it (Debian and Ubuntu: apt install mosquitto), or leave --mosquitto out. It is not supported on Windows.</translation>
    </message>
    <message>
      <source>telemetry.not_organiser</source>
      <translation>Only the organiser of {run} can send a notice to all: that takes the key that signed the manifest.</translation>
    </message>
    <message>
      <source>telling.fails</source>
      <translation>Other peers could not be told {times:count} times in a row what changed among the experts on this PC ({error}). Training continues; please report it.</translation>
    </message>
    <message>
      <source>tokens.damaged</source>
      <translation>The tokenizer is damaged: {why}.</translation>
    </message>
    <message>
      <source>tokens.no_end</source>
      <translation>The tokenizer has no token {end} that ends a text.</translation>
    </message>
    <message>
      <source>tokens.other_end</source>
      <translation>The tokenizer ends a text by the token {end}, the manifest by another one.</translation>
    </message>
    <message>
      <source>tokens.too_large</source>
      <translation>The tokenizer's file is larger than {most:size}.</translation>
    </message>
    <message>
      <source>tokens.too_many</source>
      <translation>The tokenizer has {tokens} tokens, and the model has room for {vocabulary}.</translation>
    </message>
    <message>
      <source>tokens.unknown_kind</source>
      <translation>The tokenizer is of no kind that Hearth knows: a byte-level BPE that cuts words as Qwen2 or GPT-2 does.</translation>
    </message>
    <message>
      <source>traffic.access</source>
      <translation>Letting peers in</translation>
    </message>
    <message>
      <source>traffic.blob</source>
      <translation>Copies and data</translation>
    </message>
    <message>
      <source>traffic.credit</source>
      <translation>Signatures of credit</translation>
    </message>
    <message>
      <source>traffic.data</source>
      <translation>The run's data</translation>
    </message>
    <message>
      <source>traffic.dht</source>
      <translation>Directory of experts</translation>
    </message>
    <message>
      <source>traffic.expert</source>
      <translation>Expert calls</translation>
    </message>
    <message>
      <source>traffic.file</source>
      <translation>Copies of checkpoints</translation>
    </message>
    <message>
      <source>traffic.host</source>
      <translation>Sharing out experts</translation>
    </message>
    <message>
      <source>traffic.line</source>
      <translation>Measuring your upload</translation>
    </message>
    <message>
      <source>traffic.net</source>
      <translation>Connection setup</translation>
    </message>
    <message>
      <source>traffic.other</source>
      <translation>Headers and the rest</translation>
    </message>
    <message>
      <source>traffic.pack</source>
      <translation>Files of GPU packs</translation>
    </message>
    <message>
      <source>traffic.reach</source>
      <translation>Connection setup</translation>
    </message>
    <message>
      <source>traffic.relay</source>
      <translation>Passed on for others</translation>
    </message>
    <message>
      <source>traffic.run</source>
      <translation>Manifests</translation>
    </message>
    <message>
      <source>traffic.telemetry</source>
      <translation>Telemetry</translation>
    </message>
    <message>
      <source>traffic.trunk</source>
      <translation>Agreeing on the trunk</translation>
    </message>
    <message>
      <source>trunk.ends_again</source>
      <translation>Tries again every few seconds; continues as soon as more than half of the trainers come to the same round.</translation>
    </message>
    <message>
      <source>trunk.ends_round</source>
      <translation>Continues when they have come, or without those that do not come within half a minute.</translation>
    </message>
    <message>
      <source>trunk.ends_server</source>
      <translation>Continues as soon as one answers; they are asked again every few seconds.</translation>
    </message>
    <message>
      <source>trunk.ends_trunk</source>
      <translation>Continues as soon as they have sent it; if none can, with what is here.</translation>
    </message>
    <message>
      <source>trunk.ends_work</source>
      <translation>Asks again every few seconds; continues as soon as some is free.</translation>
    </message>
    <message>
      <source>trunk.fails</source>
      <translation>The trunk that trainers agree on could not be kept up to date {times:count} times in a row ({error}). Training continues with the trunk that is here; please report it.</translation>
    </message>
    <message>
      <source>trunk.goes_on</source>
      <translation>Not waiting for anyone</translation>
    </message>
    <message>
      <source>trunk.title</source>
      <translation>Other trainers</translation>
    </message>
    <message>
      <source>trunk.too_few</source>
      <translation>Too few of {n:count} trainers came to the round of step {step:count}.</translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_again</source>
      <translation>
        <numerusform>Waits for the common step: {n:count} try has failed. {why:phrase}</numerusform>
        <numerusform>Waits for the common step: {n:count} tries have failed. {why:phrase}</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_line</source>
      <translation>
        <numerusform>Fetches the others' trunk again in a minute: the line here is slow for this run</numerusform>
        <numerusform>Fetches the others' trunk again in {n:count} minutes: the line here is slow for this run</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_round</source>
      <translation>
        <numerusform>Waits for one other trainer in the common step</numerusform>
        <numerusform>Waits for {n:count} other trainers in the common step</numerusform>
      </translation>
    </message>
    <message>
      <source>trunk.waits_server</source>
      <translation>Waits for a parameter server</translation>
    </message>
    <message>
      <source>trunk.waits_trunk</source>
      <translation>Waits for the trunk that the others agree on</translation>
    </message>
    <message>
      <source>trunk.waits_work</source>
      <translation>Waits for work: all of it is with other trainers</translation>
    </message>
    <message>
      <source>trunk.wants</source>
      <translation>All trainers of this run agree on one trunk</translation>
    </message>
    <message>
      <source>trunk_server.fails</source>
      <translation>It could not be settled {times:count} times in a row which PC is the parameter server ({error}). Training continues as well as it can; please report it.</translation>
    </message>
    <message>
      <source>update.by_hand</source>
      <translation>This Hearth was not started by its launcher, so it cannot update itself. Start the program “hearth” of its folder, or install the new version by hand.</translation>
    </message>
    <message>
      <source>update.damaged</source>
      <translation>The release feed is damaged: {why}. Nothing was installed.</translation>
    </message>
    <message>
      <source>update.disk_full</source>
      <translation>The disk is full. Nothing was installed; what was fetched is kept for the next try.</translation>
    </message>
    <message>
      <source>update.does_not_run</source>
      <translation>The new version does not run on this PC: {why}. Nothing has changed.</translation>
    </message>
    <message>
      <source>update.expired</source>
      <translation>The release feed has expired: nobody has renewed it. Nothing was installed. Try again later.</translation>
    </message>
    <message>
      <source>update.managed</source>
      <translation>Your system installed this Hearth, and updates it: use its package manager.</translation>
    </message>
    <message>
      <source>update.no_feed</source>
      <translation>This installation has no release feed, so it cannot look for updates.</translation>
    </message>
    <message>
      <source>update.no_platform</source>
      <translation>The release feed has nothing for this system ({platform}).</translation>
    </message>
    <message>
      <source>update.no_room</source>
      <translation>The update takes {needed:size} when unpacked, but only {free:size} are free. Nothing was installed.</translation>
    </message>
    <message>
      <source>update.not_fetched</source>
      <translation>No server gave {file}: {why}. What was fetched is kept for the next try.</translation>
    </message>
    <message>
      <source>update.not_written</source>
      <translation>The update cannot be written to {folder}: {why}.</translation>
    </message>
    <message>
      <source>update.older</source>
      <translation>The release feed offers {offered}, which is not newer than {installed}. Hearth never goes back to an older version.</translation>
    </message>
    <message>
      <source>update.replayed</source>
      <translation>The release feed is older than what this PC has seen already. Somebody may be replaying it. Nothing was installed.</translation>
    </message>
    <message>
      <source>update.sources</source>
      <translation>This Hearth runs from its sources. Update those, for example with “git pull”.</translation>
    </message>
    <message>
      <source>update.taken_back</source>
      <translation>Hearth {version} did not start within a minute. The former version runs again, with your data as they were.</translation>
    </message>
    <message>
      <source>update.under_way</source>
      <translation>Another update is under way.</translation>
    </message>
    <message>
      <source>update.unreachable</source>
      <translation>The release feed cannot be reached: {why}.</translation>
    </message>
    <message>
      <source>update.unsigned</source>
      <translation>The release feed is not signed by those whom this Hearth trusts. Nothing was installed.</translation>
    </message>
    <message>
      <source>upkeep.fails</source>
      <translation>The directory of all peers (DHT) could not be maintained here {times:count} times in a row ({error}). What is known stays in use; please report it.</translation>
    </message>
    <message>
      <source>user.always</source>
      <translation>Runs also while you are here</translation>
    </message>
    <message>
      <source>user.anyway</source>
      <translation>Computes anyway where it is unknown</translation>
    </message>
    <message>
      <source>user.as_away</source>
      <translation>Runs as if you were away</translation>
    </message>
    <message>
      <source>user.away_for</source>
      <translation>You have been away for {idle:duration}.</translation>
    </message>
    <message>
      <source>user.back</source>
      <translation>You are back.</translation>
    </message>
    <message>
      <source>user.chose_anyway</source>
      <translation>You chose to compute anyway.</translation>
    </message>
    <message>
      <source>user.idle</source>
      <translation>{idle:duration} since the last input</translation>
    </message>
    <message>
      <source>user.idle_locked</source>
      <translation>{idle:duration} since the last input, locked</translation>
    </message>
    <message>
      <source>user.known</source>
      <translation>Starts as soon as it is known for some seconds.</translation>
    </message>
    <message>
      <source>user.known_soon</source>
      <translation>Known in a moment.</translation>
    </message>
    <message>
      <source>user.lost</source>
      <translation>A moment ago Hearth could not tell how long you have been away.</translation>
    </message>
    <message>
      <source>user.measuring</source>
      <translation>Measuring how long you have been away.</translation>
    </message>
    <message>
      <source>user.nobody</source>
      <translation>There is no desktop where you could be</translation>
    </message>
    <message>
      <source>user.remedy</source>
      <translation>Computes when you choose “Compute anyway” in Settings, or press Start now.</translation>
    </message>
    <message>
      <source>user.title</source>
      <translation>You are away</translation>
    </message>
    <message>
      <source>user.unmeasured</source>
      <translation>Hearth cannot tell how long you have been away.</translation>
    </message>
    <message>
      <source>user.until</source>
      <translation>Starts in {start:countdown} if you stay away.</translation>
    </message>
    <message>
      <source>user.used</source>
      <translation>You used this PC {idle:duration} ago.</translation>
    </message>
    <message>
      <source>user.wants</source>
      <translation>Needs {threshold:duration}</translation>
    </message>
    <message>
      <source>verdict.cpu</source>
      <translation>the CPU</translation>
    </message>
    <message>
      <source>verdict.fine</source>
      <translation>fine</translation>
    </message>
    <message>
      <source>verdict.gpu</source>
      <translation>the GPU</translation>
    </message>
    <message>
      <source>verdict.lifted</source>
      <translation>lifted</translation>
    </message>
    <message>
      <source>verdict.network</source>
      <translation>the network</translation>
    </message>
    <message>
      <source>verdict.stops</source>
      <translation>stops {what}</translation>
    </message>
    <message>
      <source>verdict.training</source>
      <translation>training</translation>
    </message>
    <message>
      <source>verdict.unknown</source>
      <translation>not known</translation>
    </message>
    <message>
      <source>watts.forbidden</source>
      <translation>Only the administrator may read how much power the CPU takes.</translation>
    </message>
    <message>
      <source>watts.none</source>
      <translation>This PC's CPU does not report how much power it draws.</translation>
    </message>
    <message>
      <source>wayland.gone</source>
      <translation>The Wayland compositor is gone.</translation>
    </message>
    <message>
      <source>wayland.none</source>
      <translation>This session is not Wayland.</translation>
    </message>
    <message>
      <source>wayland.nonsense</source>
      <translation>The Wayland compositor sent nonsense ({why}).</translation>
    </message>
    <message>
      <source>wayland.not_found</source>
      <translation>The Wayland compositor cannot be found: XDG_RUNTIME_DIR is not set.</translation>
    </message>
    <message>
      <source>wayland.silent</source>
      <translation>The Wayland compositor does not answer.</translation>
    </message>
    <message>
      <source>wayland.unreachable</source>
      <translation>The Wayland compositor does not answer ({why}).</translation>
    </message>
    <message>
      <source>worker.address_unreadable</source>
      <translation>The worker's address cannot be read: {reason}.</translation>
    </message>
    <message>
      <source>worker.already_serves</source>
      <translation>A Hearth worker already serves {folder}. Use “hearth status” to see it, or --data-dir for another folder.</translation>
    </message>
    <message>
      <source>worker.answers_too_late</source>
      <translation>The worker did not answer in {seconds:whole} s. Try again.</translation>
    </message>
    <message>
      <source>worker.cannot_run</source>
      <translation>The worker cannot run (exit code {status:digits}).</translation>
    </message>
    <message>
      <source>worker.does_not_answer_here</source>
      <translation>No worker answers for this data folder.</translation>
    </message>
    <message>
      <source>worker.ended</source>
      <translation>The worker has ended.</translation>
    </message>
    <message>
      <source>worker.ended.another_runs</source>
      <translation>another one runs for this data folder and did not answer</translation>
    </message>
    <message>
      <source>worker.ended.killed</source>
      <translation>it was killed (signal {signal:digits})</translation>
    </message>
    <message>
      <source>worker.ended.unexpectedly</source>
      <translation>it stopped unexpectedly</translation>
    </message>
    <message>
      <source>worker.ended.with_code</source>
      <translation>it ended with exit code {status:digits}</translation>
    </message>
    <message>
      <source>worker.ended.with_fault</source>
      <translation>it ended with exit code {status:digits} ({fault:phrase})</translation>
    </message>
    <message>
      <source>worker.ended_connection</source>
      <translation>The worker ended the connection.</translation>
    </message>
    <message>
      <source>worker.hangs</source>
      <translation>The worker has not answered for {seconds:whole} s.</translation>
    </message>
    <message>
      <source>worker.is_another_program</source>
      <translation>Another program answers at the place of the worker.</translation>
    </message>
    <message>
      <source>worker.leaving</source>
      <translation>Quitting: the worker saves its work.</translation>
    </message>
    <message>
      <source>worker.line_too_long</source>
      <translation>The worker sent a line over the limit of {most:count} bytes.</translation>
    </message>
    <message>
      <source>worker.lost</source>
      <translation>{reason} Trying to reach it again.</translation>
    </message>
    <message>
      <source>worker.neither_reply_nor_event</source>
      <translation>The worker sent a line that is neither a reply nor an event.</translation>
    </message>
    <message>
      <source>worker.no_hello</source>
      <translation>The worker did not say hello in {seconds:whole} s.</translation>
    </message>
    <message>
      <source>worker.not_connected</source>
      <translation>The worker is not connected. Try again when it is.</translation>
    </message>
    <message>
      <source>worker.not_running</source>
      <translation>No Hearth worker is running for {folder}. Start the app with “hearth”, or the worker alone with “hearth worker”. If you named a data folder, add the same --data-dir.</translation>
    </message>
    <message>
      <source>worker.not_started</source>
      <translation>The worker could not be started: {reason} ({file}).</translation>
    </message>
    <message>
      <source>worker.other_version</source>
      <translation>The worker is version {worker}, the app {app}: quit and start Hearth again.</translation>
    </message>
    <message>
      <source>worker.restarting</source>
      <translation>The worker saves its work and restarts.</translation>
    </message>
    <message>
      <source>worker.sent_unknown</source>
      <translation>The worker sent something unknown ({reason}).</translation>
    </message>
    <message>
      <source>worker.silent</source>
      <translation>The worker does not answer. If that lasts, end it and start Hearth again.</translation>
    </message>
    <message>
      <source>worker.silent_elsewhere</source>
      <translation>The worker of the other PC does not answer: check the forwarding, and copy its worker.json again. Trying again in {seconds:count} s.</translation>
    </message>
    <message>
      <source>worker.starting</source>
      <translation>The worker is starting.</translation>
    </message>
    <message>
      <source>worker.starts_slowly</source>
      <translation>The worker takes long to start.</translation>
    </message>
    <message>
      <source>worker.stopped</source>
      <translation>Worker stopped: {reason:phrase}. Restarting in {seconds:count} s.</translation>
    </message>
    <message>
      <source>x11.none</source>
      <translation>This session is not X11.</translation>
    </message>
  </context>
</TS>
