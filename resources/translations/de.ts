<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
  <context>
    <name>window</name>
    <message>
      <source>Saved as {path}.</source>
      <translation>Gespeichert als {path}.</translation>
    </message>
    <message>
      <source>{file} could not be written: {reason}.</source>
      <translation>{file} konnte nicht geschrieben werden: {reason}.</translation>
    </message>
    <message>
      <source>The worker has stopped and has not come back by itself so far. Open Hearth to see why.</source>
      <translation>Der Worker wurde beendet und startet bisher nicht von selbst neu. Öffne Hearth, um zu sehen, warum.</translation>
    </message>
    <message>
      <source>Nothing runs until you have agreed to it.</source>
      <translation>Nichts läuft, bevor du zugestimmt hast.</translation>
    </message>
    <message>
      <source>Quit Hearth on the other PC and start it again there. It cannot be started from here.</source>
      <translation>Beende Hearth auf dem anderen PC und starte es dort neu. Von hier aus lässt es sich nicht starten.</translation>
    </message>
    <message numerus="yes">
      <source>Restarted. %Ln step(s) since the last checkpoint is (are) done again.</source>
      <translation>
        <numerusform>Neu gestartet. %Ln Schritt seit dem letzten Checkpoint wird wiederholt.</numerusform>
        <numerusform>Neu gestartet. %Ln Schritte seit dem letzten Checkpoint werden wiederholt.</numerusform>
      </translation>
    </message>
    <message>
      <source>Press Enter again if you agree.</source>
      <translation>Drück erneut Enter, wenn du zustimmst.</translation>
    </message>
    <message>
      <source>Nothing runs and nothing is sent until you agree.</source>
      <translation>Nichts läuft und nichts wird gesendet, bevor du zustimmst.</translation>
    </message>
    <message>
      <source>You have agreed. You can quit at any time.</source>
      <translation>Du hast zugestimmt. Du kannst Hearth jederzeit beenden.</translation>
    </message>
    <message>
      <source>Step {at} of {all}: {title}</source>
      <translation>Schritt {at} von {all}: {title}</translation>
    </message>
    <message>
      <source>Not now</source>
      <translation>Jetzt nicht</translation>
    </message>
    <message>
      <source>Back</source>
      <translation>Zurück</translation>
    </message>
    <message>
      <source>Next</source>
      <translation>Weiter</translation>
    </message>
    <message>
      <source>I agree</source>
      <translation>Ich stimme zu</translation>
    </message>
    <message>
      <source>Open Hearth</source>
      <translation>Hearth öffnen</translation>
    </message>
    <message>
      <source>The worker is starting.</source>
      <translation>Der Worker startet.</translation>
    </message>
    <message>
      <source>A few seconds of computing, even while you are here. They decide how many experts this PC hosts.</source>
      <translation>Ein paar Sekunden Rechenzeit, auch während du da bist. Davon hängt ab, wie viele Experten dieser PC beherbergt.</translation>
    </message>
    <message>
      <source>Speed test</source>
      <translation>Geschwindigkeitstest</translation>
    </message>
    <message>
      <source>Progress of the speed test</source>
      <translation>Fortschritt des Geschwindigkeitstests</translation>
    </message>
    <message>
      <source>Start the test</source>
      <translation>Test starten</translation>
    </message>
    <message>
      <source>Try again</source>
      <translation>Erneut versuchen</translation>
    </message>
    <message>
      <source>Compute is starting.</source>
      <translation>Der Rechenprozess startet.</translation>
    </message>
    <message>
      <source>One expert</source>
      <translation>Ein Experte</translation>
    </message>
    <message>
      <source>Fastest with</source>
      <translation>Am schnellsten mit</translation>
    </message>
    <message>
      <source>Memory of an expert</source>
      <translation>Arbeitsspeicher je Experte</translation>
    </message>
    <message>
      <source>Measured.</source>
      <translation>Gemessen.</translation>
    </message>
    <message>
      <source>It is measured as soon as this PC may compute. {reason} {until}</source>
      <translation>Gemessen wird, sobald dieser PC rechnen darf. {reason} {until}</translation>
    </message>
    <message>
      <source>It takes longer than usual. You can continue: it is measured as soon as this PC may compute.</source>
      <translation>Es dauert länger als üblich. Du kannst weitermachen: Gemessen wird, sobald dieser PC rechnen darf.</translation>
    </message>
    <message>
      <source>Measure again</source>
      <translation>Erneut messen</translation>
    </message>
    <message>
      <source>samples/s</source>
      <translation>Beispiele/s</translation>
    </message>
    <message numerus="yes">
      <source>thread(s)</source>
      <translation>
        <numerusform>Thread</numerusform>
        <numerusform>Threads</numerusform>
      </translation>
    </message>
    <message>
      <source>Measuring, for {seconds} s so far.</source>
      <translation>Die Messung läuft seit {seconds} s.</translation>
    </message>
    <message>
      <source>Compute is starting, for {seconds} s so far.</source>
      <translation>Der Rechenprozess startet seit {seconds} s.</translation>
    </message>
    <message numerus="yes">
      <source>%Ln core(s)</source>
      <translation>
        <numerusform>%Ln Kern</numerusform>
        <numerusform>%Ln Kerne</numerusform>
      </translation>
    </message>
    <message>
      <source>Paste it here. Once Hearth is set up, you see what that run is, and decide whether to join it.</source>
      <translation>Füge ihn hier ein. Ist Hearth eingerichtet, siehst du, was der Lauf ist, und entscheidest, ob du beitrittst.</translation>
    </message>
    <message>
      <source>Hearth asks how long ago the last input was, not what it was, and which programs run, to give way to them. That stays on this PC.</source>
      <translation>Hearth fragt, wie lange die letzte Eingabe her ist, nicht was sie war, und welche Programme laufen, um ihnen Platz zu machen. Das bleibt auf diesem PC.</translation>
    </message>
    <message>
      <source>CPU: {here} of the time while you are here, {away} while away</source>
      <translation>CPU: {here} der Zeit, während du da bist, {away}, während du weg bist</translation>
    </message>
    <message>
      <source>Memory: {here} while you are here, {away} while away.</source>
      <translation>Arbeitsspeicher: {here}, während du da bist, {away}, während du weg bist.</translation>
    </message>
    <message>
      <source>About {watts} W for the CPU while you are away.</source>
      <translation>Etwa {watts} W für die CPU, während du weg bist.</translation>
    </message>
    <message>
      <source>Matrix arithmetic for a neural network. It stops as soon as you are back, unless you choose otherwise in the next step.</source>
      <translation>Matrizenrechnung für ein neuronales Netz. Sie hält an, sobald du zurück bist, sofern du es im nächsten Schritt nicht anders wählst.</translation>
    </message>
    <message numerus="yes">
      <source>In the run that Hearth suggests, up to %Ln expert(s) in about {memory} of memory.</source>
      <translation>
        <numerusform>Im vorgeschlagenen Lauf höchstens %Ln Experte in etwa {memory} Arbeitsspeicher.</numerusform>
        <numerusform>Im vorgeschlagenen Lauf höchstens %Ln Experten in etwa {memory} Arbeitsspeicher.</numerusform>
      </translation>
    </message>
    <message>
      <source>About {watts} W for the CPU while it computes, estimated from its number of cores; more with a GPU. You set the limit.</source>
      <translation>Etwa {watts} W für die CPU, solange sie rechnet, geschätzt nach der Zahl ihrer Kerne; mit GPU mehr. Die Grenze setzt du.</translation>
    </message>
    <message>
      <source>Numbers that result from the computation, to peers of the same run. None on metered networks.</source>
      <translation>Zahlen, die beim Rechnen entstehen, an Peers desselben Laufs. Nichts über getaktete Netzwerke.</translation>
    </message>
    <message>
      <source>To peers outside your local network: until your upload is measured, {rate}/s or {size} an hour at most. Downloads take at most twice as much. You can change both.</source>
      <translation>An Peers außerhalb deines lokalen Netzwerks: bis dein Upload gemessen ist, höchstens {rate} pro Sekunde oder {size} pro Stunde. Downloads nehmen höchstens das Doppelte. Beides kannst du ändern.</translation>
    </message>
    <message>
      <source>Peers you work with see your internet address and your key. No name is asked for.</source>
      <translation>Peers, mit denen du zusammenarbeitest, sehen deine Internetadresse und deinen Schlüssel. Nach einem Namen wird nicht gefragt.</translation>
    </message>
    <message numerus="yes">
      <source>on %Ln thread(s)</source>
      <translation>
        <numerusform>mit %Ln Thread</numerusform>
        <numerusform>mit %Ln Threads</numerusform>
      </translation>
    </message>
    <message>
      <source>on half of the cores</source>
      <translation>mit der Hälfte der Kerne</translation>
    </message>
    <message>
      <source>GPU: also while you are here.</source>
      <translation>GPU: auch während du da bist.</translation>
    </message>
    <message>
      <source>GPU: only while you are away.</source>
      <translation>GPU: nur während du weg bist.</translation>
    </message>
    <message>
      <source>Welcome</source>
      <translation>Willkommen</translation>
    </message>
    <message>
      <source>One network, many PCs</source>
      <translation>Ein Netz, viele PCs</translation>
    </message>
    <message>
      <source>Together, volunteers train one neural network that is too large for any single PC.</source>
      <translation>Freiwillige trainieren gemeinsam ein neuronales Netz, das für jeden einzelnen ihrer PCs zu groß ist.</translation>
    </message>
    <message>
      <source>Your consent</source>
      <translation>Deine Zustimmung</translation>
    </message>
    <message>
      <source>Share this PC while you are away?</source>
      <translation>Diesen PC teilen, während du weg bist?</translation>
    </message>
    <message>
      <source>This is what you agree to. You can withdraw your consent at any time.</source>
      <translation>Das alles umfasst deine Zustimmung. Du kannst sie jederzeit widerrufen.</translation>
    </message>
    <message>
      <source>What your PC does</source>
      <translation>Was dein PC tut</translation>
    </message>
    <message>
      <source>What leaves your PC</source>
      <translation>Was deinen PC verlässt</translation>
    </message>
    <message>
      <source>Settings, logs and what is trained are stored on this PC, in {folder}.</source>
      <translation>Einstellungen, Protokolle und das Trainierte werden auf diesem PC gespeichert, in {folder}.</translation>
    </message>
    <message>
      <source>Read your files or keystrokes</source>
      <translation>Deine Dateien oder Eingaben lesen</translation>
    </message>
    <message>
      <source>Run code from others</source>
      <translation>Fremden Code ausführen</translation>
    </message>
    <message>
      <source>Peers exchange numbers and short messages. The program is the one you installed.</source>
      <translation>Peers tauschen Zahlen und kurze Nachrichten aus. Das Programm ist das, das du installiert hast.</translation>
    </message>
    <message>
      <source>What you share</source>
      <translation>Was du teilst</translation>
    </message>
    <message>
      <source>What will you share?</source>
      <translation>Was möchtest du teilen?</translation>
    </message>
    <message>
      <source>You can change all of this at any time, and much more, in Settings.</source>
      <translation>All das und viel mehr kannst du jederzeit in den Einstellungen ändern.</translation>
    </message>
    <message>
      <source>Link to a run</source>
      <translation>Link zu einem Lauf</translation>
    </message>
    <message>
      <source>Ready</source>
      <translation>Fertig</translation>
    </message>
    <message>
      <source>Keep your key, and you are ready</source>
      <translation>Bewahre deinen Schlüssel auf, dann kann es losgehen</translation>
    </message>
    <message>
      <source>Closing the window leaves Hearth running, in the tray if your desktop has one. Ctrl+Q quits it.</source>
      <translation>Schließt du das Fenster, läuft Hearth weiter, im Infobereich, wenn deine Oberfläche einen hat. Strg+Q beendet es.</translation>
    </message>
    <message>
      <source>How it works</source>
      <translation>So funktioniert es</translation>
    </message>
    <message>
      <source>Three more steps, about two minutes. Enter continues, Alt+Left goes back.</source>
      <translation>Noch drei Schritte, etwa zwei Minuten. Enter geht weiter, Alt+Links geht zurück.</translation>
    </message>
    <message>
      <source>What Hearth never does</source>
      <translation>Was Hearth nie tut</translation>
    </message>
    <message>
      <source>Computes, while you are away</source>
      <translation>Rechnet, während du weg bist</translation>
    </message>
    <message>
      <source>Hosts experts</source>
      <translation>Beherbergt Experten</translation>
    </message>
    <message>
      <source>Uses power</source>
      <translation>Verbraucht Strom</translation>
    </message>
    <message>
      <source>Tensors, encrypted on the way</source>
      <translation>Tensoren, unterwegs verschlüsselt</translation>
    </message>
    <message>
      <source>At most a quarter of your upload</source>
      <translation>Höchstens ein Viertel deines Uploads</translation>
    </message>
    <message>
      <source>Your address and public key</source>
      <translation>Deine Adresse und dein öffentlicher Schlüssel</translation>
    </message>
    <message>
      <source>Recovery words</source>
      <translation>Wiederherstellungswörter</translation>
    </message>
    <message>
      <source>When this PC starts</source>
      <translation>Wenn dieser PC startet</translation>
    </message>
    <message>
      <source>no hotter than {heat}</source>
      <translation>nicht heißer als {heat}</translation>
    </message>
    <message>
      <source>Each PC hosts a few experts</source>
      <translation>Jeder PC beherbergt ein paar Experten</translation>
    </message>
    <message>
      <source>Small networks that make up the large one.</source>
      <translation>Kleine Netze, aus denen das große besteht.</translation>
    </message>
    <message>
      <source>You come first</source>
      <translation>Du hast Vorrang</translation>
    </message>
    <message>
      <source>The moment you need this PC, Hearth gives it back.</source>
      <translation>Sobald du diesen PC brauchst, gibt Hearth ihn zurück.</translation>
    </message>
    <message>
      <source>What you train is yours to try</source>
      <translation>Was du trainierst, darfst du ausprobieren</translation>
    </message>
    <message>
      <source>Ask the model at any time, and see who answered.</source>
      <translation>Frage das Modell jederzeit und sieh, wer geantwortet hat.</translation>
    </message>
    <message>
      <source>Were you sent a link?</source>
      <translation>Hast du einen Link bekommen?</translation>
    </message>
    <message>
      <source>A network whose experts are shared out among this PC and others.</source>
      <translation>Ein Netz, dessen Experten auf diesen PC und andere verteilt sind.</translation>
    </message>
    <message>
      <source>This PC</source>
      <translation>Dieser PC</translation>
    </message>
    <message>
      <source>{size} of text</source>
      <translation>{size} Text</translation>
    </message>
    <message>
      <source>{rate} tokens</source>
      <translation>{rate} Tokens</translation>
    </message>
    <message>
      <source>{rate} samples</source>
      <translation>{rate} Beispiele</translation>
    </message>
    <message>
      <source>bn</source>
      <translation>Mrd</translation>
    </message>
    <message numerus="yes">
      <source>This PC has shared %Ln hour(s) of compute time.</source>
      <translation>
        <numerusform>Dieser PC hat %Ln Stunde Rechenzeit geteilt.</numerusform>
        <numerusform>Dieser PC hat %Ln Stunden Rechenzeit geteilt.</numerusform>
      </translation>
    </message>
    <message>
      <source>This PC has trained {count} samples.</source>
      <translation>Dieser PC hat {count} Beispiele trainiert.</translation>
    </message>
    <message>
      <source>This PC has trained {count} tokens.</source>
      <translation>Dieser PC hat {count} Token trainiert.</translation>
    </message>
    <message>
      <source>Quit Hearth and start it again to use it.</source>
      <translation>Beende Hearth und starte es neu, um sie zu benutzen.</translation>
    </message>
    <message>
      <source>Hearth {version} is available. You can install it in Settings, under Updates.</source>
      <translation>Hearth {version} ist da. Installieren kannst du es in den Einstellungen unter „Updates“.</translation>
    </message>
    <message>
      <source>{time} today, for others {amount}</source>
      <translation>heute {time}, für andere {amount}</translation>
    </message>
    <message>
      <source>Hearth {version} has been installed.</source>
      <translation>Hearth {version} wurde installiert.</translation>
    </message>
    <message>
      <source>Appears as soon as the worker has sent its history.</source>
      <translation>Erscheint, sobald der Worker seinen Verlauf gesendet hat.</translation>
    </message>
    <message>
      <source>Nothing in this time.</source>
      <translation>Nichts in diesem Zeitraum.</translation>
    </message>
    <message>
      <source>{week} in 7 days
{ever} in total</source>
      <translation>{week} in 7 Tagen
{ever} insgesamt</translation>
    </message>
    <message>
      <source>{ever} in total
{pending} pending</source>
      <translation>{ever} insgesamt
{pending} offen</translation>
    </message>
    <message>
      <source>about {amount}</source>
      <translation>etwa {amount}</translation>
    </message>
    <message>
      <source>Verified credit</source>
      <translation>Bestätigte Gutschrift</translation>
    </message>
    <message>
      <source>History</source>
      <translation>Verlauf</translation>
    </message>
    <message>
      <source>Figure</source>
      <translation>Kennzahl</translation>
    </message>
    <message>
      <source>Breakdown</source>
      <translation>Aufteilung</translation>
    </message>
    <message>
      <source>When this PC helps</source>
      <translation>Wann dieser PC hilft</translation>
    </message>
    <message>
      <source>last 7 days</source>
      <translation>letzte 7 Tage</translation>
    </message>
    <message>
      <source>By device and run</source>
      <translation>Nach Gerät und Lauf</translation>
    </message>
    <message>
      <source>{name}, about</source>
      <translation>{name}, etwa</translation>
    </message>
    <message>
      <source>today</source>
      <translation>heute</translation>
    </message>
    <message>
      <source>Computed for other peers, and confirmed by their signatures and audits.</source>
      <translation>Für andere Peers berechnet und von ihnen geprüft und unterschrieben.</translation>
    </message>
    <message>
      <source>{amount} today</source>
      <translation>{amount} heute</translation>
    </message>
    <message>
      <source>since {day}</source>
      <translation>seit {day}</translation>
    </message>
    <message>
      <source>Certificate</source>
      <translation>Urkunde</translation>
    </message>
    <message>
      <source>has computed for the neural networks of volunteers:</source>
      <translation>hat für die neuronalen Netze von Freiwilligen gerechnet:</translation>
    </message>
    <message numerus="yes">
      <source>verified by those it computed for, on %Ln day(s),</source>
      <translation>
        <numerusform>bestätigt von denen, für die er gerechnet hat, an %Ln Tag,</numerusform>
        <numerusform>bestätigt von denen, für die er gerechnet hat, an %Ln Tagen,</numerusform>
      </translation>
    </message>
    <message>
      <source>Their signatures are in this picture. Anybody can check them:</source>
      <translation>Deren Unterschriften stecken in diesem Bild. Jeder kann sie prüfen:</translation>
    </message>
    <message>
      <source>Made on {day}.</source>
      <translation>Ausgestellt am {day}.</translation>
    </message>
    <message>
      <source>A volunteer's PC</source>
      <translation>Der PC einer Freiwilligen oder eines Freiwilligen</translation>
    </message>
    <message>
      <source>No work from this period counts here yet. It must be verified by somebody this PC trusts: itself, an organiser or a peer that the run names.</source>
      <translation>Noch zählt hier keine Arbeit aus dieser Zeit. Bestätigen muss sie jemand, dem dieser PC vertraut: er selbst, ein Veranstalter oder ein Peer, den der Lauf nennt.</translation>
    </message>
    <message>
      <source>Today</source>
      <translation>Heute</translation>
    </message>
    <message>
      <source>7 days</source>
      <translation>7 Tage</translation>
    </message>
    <message>
      <source>All time</source>
      <translation>Insgesamt</translation>
    </message>
    <message>
      <source>All badges are earned: {amount}.</source>
      <translation>Alle Abzeichen sind verdient: {amount}.</translation>
    </message>
    <message>
      <source>{amount}: not reached yet</source>
      <translation>{amount}: noch nicht erreicht</translation>
    </message>
    <message>
      <source>Leaderboard</source>
      <translation>Rangliste</translation>
    </message>
    <message>
      <source>Time of the leaderboard</source>
      <translation>Zeitraum der Rangliste</translation>
    </message>
    <message numerus="yes">
      <source>%Ln more peer(s): {amount}.</source>
      <translation>
        <numerusform>%Ln weiterer Peer: {amount}.</numerusform>
        <numerusform>%Ln weitere Peers: {amount}.</numerusform>
      </translation>
    </message>
    <message>
      <source>Others see this PC here once you have chosen a name in Settings.</source>
      <translation>Andere sehen diesen PC hier, sobald du in den Einstellungen einen Namen gewählt hast.</translation>
    </message>
    <message>
      <source>Badges</source>
      <translation>Abzeichen</translation>
    </message>
    <message>
      <source>Days with verified work</source>
      <translation>Tage mit bestätigter Arbeit</translation>
    </message>
    <message>
      <source>Verified operations</source>
      <translation>Bestätigte Rechenschritte</translation>
    </message>
    <message>
      <source>{amount} of {next}</source>
      <translation>{amount} von {next}</translation>
    </message>
    <message>
      <source>{amount}: reached on {day}</source>
      <translation>{amount}: erreicht am {day}</translation>
    </message>
    <message>
      <source>Nothing yet. Bars appear within a minute after this PC starts to compute.</source>
      <translation>Noch nichts. Balken erscheinen binnen einer Minute, nachdem dieser PC zu rechnen beginnt.</translation>
    </message>
    <message>
      <source>Pictures (*.png)</source>
      <translation>Bilder (*.png)</translation>
    </message>
    <message>
      <source>Samples and tokens trained</source>
      <translation>Beispiele und Token</translation>
    </message>
    <message>
      <source>This PC has shared its idle time with a neural network of volunteers.</source>
      <translation>Dieser PC hat seine freie Zeit mit einem neuronalen Netz von Freiwilligen geteilt.</translation>
    </message>
    <message>
      <source>Contribution</source>
      <translation>Beitrag</translation>
    </message>
    <message>
      <source>Time</source>
      <translation>Zeitraum</translation>
    </message>
    <message>
      <source>Export</source>
      <translation>Exportieren</translation>
    </message>
    <message>
      <source>{amount} in {time}</source>
      <translation>{time}: {amount}</translation>
    </message>
    <message>
      <source>Nothing is known yet.</source>
      <translation>Noch ist nichts bekannt.</translation>
    </message>
    <message>
      <source>Since {day}.</source>
      <translation>Seit {day}.</translation>
    </message>
    <message>
      <source>Save the history</source>
      <translation>Verlauf speichern</translation>
    </message>
    <message>
      <source>Tables (*.csv)</source>
      <translation>Tabellen (*.csv)</translation>
    </message>
    <message>
      <source>Save the share card</source>
      <translation>Karte zum Teilen speichern</translation>
    </message>
    <message>
      <source>Save the card of the year</source>
      <translation>Die Jahreskarte speichern</translation>
    </message>
    <message>
      <source>Copied the share card.</source>
      <translation>Karte zum Teilen kopiert.</translation>
    </message>
    <message>
      <source>Save the certificate</source>
      <translation>Urkunde speichern</translation>
    </message>
    <message>
      <source>This PC has shared its idle time with a neural network of volunteers since {day}.</source>
      <translation>Dieser PC teilt seine freie Zeit seit {day} mit einem neuronalen Netz von Freiwilligen.</translation>
    </message>
    <message>
      <source>Compute time</source>
      <translation>Rechenzeit</translation>
    </message>
    <message>
      <source>Samples trained</source>
      <translation>Trainierte Beispiele</translation>
    </message>
    <message>
      <source>Calls for others</source>
      <translation>Aufrufe für andere</translation>
    </message>
    <message>
      <source>Energy</source>
      <translation>Energie</translation>
    </message>
    <message>
      <source>Kinds</source>
      <translation>Arten</translation>
    </message>
    <message>
      <source>History as a table (CSV)</source>
      <translation>Verlauf als Tabelle (CSV)</translation>
    </message>
    <message>
      <source>Share card (PNG)</source>
      <translation>Karte zum Teilen (PNG)</translation>
    </message>
    <message>
      <source>Copy the share card</source>
      <translation>Karte zum Teilen kopieren</translation>
    </message>
    <message>
      <source>The year {year} (PNG)</source>
      <translation>Das Jahr {year} (PNG)</translation>
    </message>
    <message>
      <source>Certificate (PNG)</source>
      <translation>Urkunde (PNG)</translation>
    </message>
    <message>
      <source>All else</source>
      <translation>Alles andere</translation>
    </message>
    <message>
      <source>24 hours</source>
      <translation>24 Stunden</translation>
    </message>
    <message>
      <source>30 days</source>
      <translation>30 Tage</translation>
    </message>
    <message>
      <source>1 year</source>
      <translation>1 Jahr</translation>
    </message>
    <message>
      <source>All</source>
      <translation>Alle</translation>
    </message>
    <message>
      <source>Devices</source>
      <translation>Geräte</translation>
    </message>
    <message>
      <source>Runs</source>
      <translation>Läufe</translation>
    </message>
    <message>
      <source>{count} tokens</source>
      <translation>{count} Token</translation>
    </message>
    <message>
      <source>paused</source>
      <translation>pausiert</translation>
    </message>
    <message>
      <source>in use</source>
      <translation>in Benutzung</translation>
    </message>
    <message>
      <source>off</source>
      <translation>aus</translation>
    </message>
    <message>
      <source>on battery</source>
      <translation>auf Akku</translation>
    </message>
    <message>
      <source>by schedule</source>
      <translation>nach Zeitplan</translation>
    </message>
    <message>
      <source>trouble</source>
      <translation>Störung</translation>
    </message>
    <message>
      <source>tokens</source>
      <translation>Token</translation>
    </message>
    <message>
      <source>k tokens</source>
      <translation>k Token</translation>
    </message>
    <message>
      <source>M tokens</source>
      <translation>M Token</translation>
    </message>
    <message>
      <source>Tokens trained</source>
      <translation>Trainierte Token</translation>
    </message>
    <message>
      <source>Calls to experts here</source>
      <translation>Expertenaufrufe hier</translation>
    </message>
    <message>
      <source>In the common trunk</source>
      <translation>Im gemeinsamen Rumpf</translation>
    </message>
    <message>
      <source>Combined for the trunk</source>
      <translation>Für den Rumpf zusammengeführt</translation>
    </message>
    <message>
      <source>Traffic with peers</source>
      <translation>Datenverkehr mit Peers</translation>
    </message>
    <message>
      <source>Times your PC was given back</source>
      <translation>Rückgaben deines PCs</translation>
    </message>
    <message numerus="yes">
      <source>%Ln sample(s)</source>
      <translation>
        <numerusform>%Ln Beispiel</numerusform>
        <numerusform>%Ln Beispiele</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln call(s)</source>
      <translation>
        <numerusform>%Ln Aufruf</numerusform>
        <numerusform>%Ln Aufrufe</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln time(s)</source>
      <translation>
        <numerusform>%Ln Mal</numerusform>
        <numerusform>%Ln Mal</numerusform>
      </translation>
    </message>
    <message>
      <source>{day} {start} to {end}</source>
      <translation>{day} {start} bis {end}</translation>
    </message>
    <message>
      <source>week from {day}</source>
      <translation>Woche ab {day}</translation>
    </message>
    <message>
      <source>Sent</source>
      <translation>Gesendet</translation>
    </message>
    <message>
      <source>Received</source>
      <translation>Empfangen</translation>
    </message>
    <message>
      <source>Now</source>
      <translation>Jetzt</translation>
    </message>
    <message>
      <source>This week</source>
      <translation>Diese Woche</translation>
    </message>
    <message>
      <source>now</source>
      <translation>jetzt</translation>
    </message>
    <message>
      <source>stopped</source>
      <translation>angehalten</translation>
    </message>
    <message>
      <source>{start} to {end}</source>
      <translation>{start} bis {end}</translation>
    </message>
    <message>
      <source>{all} in the last seven days; the most was on {day}, {amount}.</source>
      <translation>{all} in den letzten sieben Tagen; am meisten am {day}, {amount}.</translation>
    </message>
    <message>
      <source>When this PC helps, hour by hour</source>
      <translation>Wann dieser PC hilft, Stunde für Stunde</translation>
    </message>
    <message>
      <source>still to come</source>
      <translation>kommt noch</translation>
    </message>
    <message>
      <source>Nothing in the last seven days.</source>
      <translation>Nichts in den letzten sieben Tagen.</translation>
    </message>
    <message>
      <source>What this PC gave to a neural network of volunteers in {year}</source>
      <translation>Was dieser PC {year} für ein neuronales Netz von Freiwilligen geleistet hat</translation>
    </message>
    <message>
      <source>Compute time, January to December {year}.</source>
      <translation>Rechenzeit, Januar bis Dezember {year}.</translation>
    </message>
    <message>
      <source>of computing</source>
      <translation>gerechnet</translation>
    </message>
    <message>
      <source>calls for others</source>
      <translation>Aufrufe für andere</translation>
    </message>
    <message>
      <source>combined for others</source>
      <translation>für andere zusammengeführt</translation>
    </message>
    <message>
      <source>samples trained here</source>
      <translation>hier trainierte Beispiele</translation>
    </message>
    <message>
      <source>trained here</source>
      <translation>hier trainiert</translation>
    </message>
    <message>
      <source>of electricity</source>
      <translation>Strom verbraucht</translation>
    </message>
    <message>
      <source>Expert</source>
      <translation>Experte</translation>
    </message>
    <message>
      <source>Updates</source>
      <translation>Updates</translation>
    </message>
    <message>
      <source>Samples</source>
      <translation>Beispiele</translation>
    </message>
    <message>
      <source>Calls</source>
      <translation>Aufrufe</translation>
    </message>
    <message>
      <source>Calls/min</source>
      <translation>Aufrufe/min</translation>
    </message>
    <message>
      <source>Peers host all experts now. This PC takes some over from a peer that hosts more than its share.</source>
      <translation>Gerade beherbergen Peers alle Experten. Dieser PC übernimmt welche von einem Peer, der mehr als seinen Anteil hat.</translation>
    </message>
    <message>
      <source>Hosted on this PC</source>
      <translation>Auf diesem PC beherbergt</translation>
    </message>
    <message>
      <source>Experts hosted on this PC</source>
      <translation>Auf diesem PC beherbergte Experten</translation>
    </message>
    <message>
      <source>Appears as soon as the worker answers.</source>
      <translation>Erscheint, sobald der Worker antwortet.</translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s)</source>
      <translation>
        <numerusform>%Ln Experte</numerusform>
        <numerusform>%Ln Experten</numerusform>
      </translation>
    </message>
    <message>
      <source>Loss and load</source>
      <translation>Verlust und Auslastung</translation>
    </message>
    <message>
      <source>Loss</source>
      <translation>Verlust</translation>
    </message>
    <message>
      <source>Not measured yet. The first point follows soon.</source>
      <translation>Noch nicht gemessen. Der erste Punkt folgt bald.</translation>
    </message>
    <message>
      <source>Calls per second</source>
      <translation>Aufrufe pro Sekunde</translation>
    </message>
    <message>
      <source>Recorded from now on, while this window is open.</source>
      <translation>Wird ab jetzt aufgezeichnet, solange dieses Fenster offen ist.</translation>
    </message>
    <message>
      <source>Experts</source>
      <translation>Experten</translation>
    </message>
    <message>
      <source>Who hosts which part of the model, and what it does.</source>
      <translation>Wer welchen Teil des Modells beherbergt und was er tut.</translation>
    </message>
    <message>
      <source>No expert is hosted on this PC now. It takes some on when it may compute.</source>
      <translation>Gerade ist kein Experte auf diesem PC. Er übernimmt welche, sobald er rechnen darf.</translation>
    </message>
    <message>
      <source>No expert is hosted on this PC yet. It takes some on as soon as it knows what peers host.</source>
      <translation>Noch ist kein Experte auf diesem PC. Er übernimmt welche, sobald er weiß, was Peers beherbergen.</translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s) have no host yet. This PC takes some of them on in the next seconds.</source>
      <translation>
        <numerusform>%Ln Experte wird noch nirgends beherbergt. Dieser PC übernimmt ihn in den nächsten Sekunden.</numerusform>
        <numerusform>%Ln Experten werden noch nirgends beherbergt. Dieser PC übernimmt in den nächsten Sekunden welche davon.</numerusform>
      </translation>
    </message>
    <message>
      <source>{rate} calls per second</source>
      <translation>{rate} Aufrufe pro Sekunde</translation>
    </message>
    <message>
      <source>Loss on unseen samples</source>
      <translation>Verlust bei unbekannten Beispielen</translation>
    </message>
    <message>
      <source>Calls to experts here per second</source>
      <translation>Aufrufe von Experten hier pro Sekunde</translation>
    </message>
    <message>
      <source>No expert is hosted yet. They appear as soon as a PC of this run computes.</source>
      <translation>Noch wird kein Experte beherbergt. Sie erscheinen, sobald ein PC dieses Laufs rechnet.</translation>
    </message>
    <message>
      <source>The model of this run has no experts: every PC that trains holds all of it.</source>
      <translation>Das Modell dieses Laufs hat keine Experten: Jeder PC, der trainiert, hat es ganz.</translation>
    </message>
    <message>
      <source>Brighter cells took more updates.</source>
      <translation>Hellere Zellen bekamen mehr Updates.</translation>
    </message>
    <message>
      <source>Brighter cells answered more calls in the last minute.</source>
      <translation>Hellere Zellen haben in der letzten Minute mehr Aufrufe beantwortet.</translation>
    </message>
    <message>
      <source>Brighter cells answered more calls.</source>
      <translation>Hellere Zellen beantworteten mehr Aufrufe.</translation>
    </message>
    <message>
      <source>Darker cells took more updates.</source>
      <translation>Dunklere Zellen bekamen mehr Updates.</translation>
    </message>
    <message>
      <source>Darker cells answered more calls in the last minute.</source>
      <translation>Dunklere Zellen haben in der letzten Minute mehr Aufrufe beantwortet.</translation>
    </message>
    <message>
      <source>Darker cells answered more calls.</source>
      <translation>Dunklere Zellen beantworteten mehr Aufrufe.</translation>
    </message>
    <message>
      <source>The grid of the run</source>
      <translation>Das Gitter des Laufs</translation>
    </message>
    <message>
      <source>Colour by</source>
      <translation>Farbe nach</translation>
    </message>
    <message>
      <source>Smaller cells</source>
      <translation>Kleinere Zellen</translation>
    </message>
    <message>
      <source>Larger cells</source>
      <translation>Größere Zellen</translation>
    </message>
    <message numerus="yes">
      <source>{hosted} of %Ln cell(s) have an expert.</source>
      <translation>
        <numerusform>{hosted} von %Ln Zelle hat einen Experten.</numerusform>
        <numerusform>{hosted} von %Ln Zellen haben einen Experten.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln of them is (are) here.</source>
      <translation>
        <numerusform>%Ln davon ist hier.</numerusform>
        <numerusform>%Ln davon sind hier.</numerusform>
      </translation>
    </message>
    <message>
      <source>Of peers' experts, only calls from this PC count.</source>
      <translation>Bei Experten von Peers zählen nur Aufrufe von diesem PC.</translation>
    </message>
    <message>
      <source>Only what this PC knows of is shown.</source>
      <translation>Nur was dieser PC kennt, ist zu sehen.</translation>
    </message>
    <message numerus="yes">
      <source>The first {first} of %Ln layer(s) are shown.</source>
      <translation>
        <numerusform>Nur {first} von %Ln Schicht ist zu sehen.</numerusform>
        <numerusform>Die ersten {first} von %Ln Schichten sind zu sehen.</numerusform>
      </translation>
    </message>
    <message>
      <source>Layer {layer}</source>
      <translation>Schicht {layer}</translation>
    </message>
    <message>
      <source>hosted here</source>
      <translation>hier beherbergt</translation>
    </message>
    <message numerus="yes">
      <source>hosted by %Ln other peer(s)</source>
      <translation>
        <numerusform>von %Ln anderen Peer beherbergt</numerusform>
        <numerusform>von %Ln anderen Peers beherbergt</numerusform>
      </translation>
    </message>
    <message>
      <source>hosted by another peer</source>
      <translation>von einem anderen Peer beherbergt</translation>
    </message>
    <message>
      <source>version not known yet</source>
      <translation>Version noch nicht bekannt</translation>
    </message>
    <message numerus="yes">
      <source>%Ln update(s)</source>
      <translation>
        <numerusform>%Ln Update</numerusform>
        <numerusform>%Ln Updates</numerusform>
      </translation>
    </message>
    <message>
      <source>its host {share} busy</source>
      <translation>Host zu {share} ausgelastet</translation>
    </message>
    <message numerus="yes">
      <source>%Ln call(s) from this PC</source>
      <translation>
        <numerusform>%Ln Aufruf von diesem PC</numerusform>
        <numerusform>%Ln Aufrufe von diesem PC</numerusform>
      </translation>
    </message>
    <message>
      <source>{calls} ({rate} a minute)</source>
      <translation>{calls} ({rate} pro Minute)</translation>
    </message>
    <message>
      <source>no expert is hosted in this cell</source>
      <translation>in dieser Zelle wird kein Experte beherbergt</translation>
    </message>
    <message>
      <source>Hosted by peers</source>
      <translation>Von Peers beherbergt</translation>
    </message>
    <message>
      <source>Hosted by nobody</source>
      <translation>Nirgends beherbergt</translation>
    </message>
    <message>
      <source>Called or updated in the last {seconds} s</source>
      <translation>In den letzten {seconds} s aufgerufen oder aktualisiert</translation>
    </message>
    <message>
      <source>Help</source>
      <translation>Hilfe</translation>
    </message>
    <message>
      <source>This page is in English only.</source>
      <translation>Diese Seite gibt es nur auf Englisch.</translation>
    </message>
    <message>
      <source>How Hearth works and what you can do with it.</source>
      <translation>Wie Hearth funktioniert und was du damit tun kannst.</translation>
    </message>
    <message>
      <source>Contents</source>
      <translation>Inhalt</translation>
    </message>
    <message>
      <source>App</source>
      <translation>App</translation>
    </message>
    <message>
      <source>Screensaver</source>
      <translation>Bildschirmschoner</translation>
    </message>
    <message>
      <source>Worker</source>
      <translation>Worker</translation>
    </message>
    <message>
      <source>Compute</source>
      <translation>Rechenprozess</translation>
    </message>
    <message>
      <source>The whole model</source>
      <translation>Das ganze Modell</translation>
    </message>
    <message>
      <source>{share} for Hearth</source>
      <translation>{share} für Hearth</translation>
    </message>
    <message>
      <source>Use the GPU…</source>
      <translation>GPU verwenden …</translation>
    </message>
    <message>
      <source>{pace} trained per second</source>
      <translation>{pace} pro Sekunde trainiert</translation>
    </message>
    <message>
      <source>Use {device}</source>
      <translation>{device} verwenden</translation>
    </message>
    <message>
      <source>{used} of {all}</source>
      <translation>{used} von {all}</translation>
    </message>
    <message numerus="yes">
      <source>%Ln thread(s)</source>
      <translation>
        <numerusform>%Ln Thread</numerusform>
        <numerusform>%Ln Threads</numerusform>
      </translation>
    </message>
    <message>
      <source>Not measured yet. The first point follows soon after training starts.</source>
      <translation>Noch nicht gemessen. Der erste Punkt folgt bald nach Beginn des Trainings.</translation>
    </message>
    <message>
      <source>Continues as soon as the worker answers.</source>
      <translation>Geht weiter, sobald der Worker antwortet.</translation>
    </message>
    <message>
      <source>Continues as soon as the worker answers; Try again looks for it now.</source>
      <translation>Geht weiter, sobald der Worker antwortet; „Erneut versuchen“ sucht ihn jetzt.</translation>
    </message>
    <message>
      <source>The model being trained</source>
      <translation>Das Modell im Training</translation>
    </message>
    <message>
      <source>Try it</source>
      <translation>Ausprobieren</translation>
    </message>
    <message>
      <source>Accuracy</source>
      <translation>Genauigkeit</translation>
    </message>
    <message>
      <source>correct on unseen samples</source>
      <translation>bei unbekannten Beispielen richtig</translation>
    </message>
    <message>
      <source>loss on them, lower is better</source>
      <translation>Verlust dabei, weniger ist besser</translation>
    </message>
    <message>
      <source>Home</source>
      <translation>Übersicht</translation>
    </message>
    <message>
      <source>Ready in a few seconds.</source>
      <translation>Fertig in ein paar Sekunden.</translation>
    </message>
    <message>
      <source>from {time}</source>
      <translation>von {time}</translation>
    </message>
    <message>
      <source>Showing figures from {time}.</source>
      <translation>Angezeigt werden Werte von {time}.</translation>
    </message>
    <message>
      <source>Network</source>
      <translation>Netzwerk</translation>
    </message>
    <message>
      <source>Details</source>
      <translation>Einzelheiten</translation>
    </message>
    <message>
      <source>Reachable from outside</source>
      <translation>Von außen erreichbar</translation>
    </message>
    <message>
      <source>Peers connected</source>
      <translation>Verbundene Peers</translation>
    </message>
    <message>
      <source>Sent today</source>
      <translation>Heute gesendet</translation>
    </message>
    <message>
      <source>Received today</source>
      <translation>Heute empfangen</translation>
    </message>
    <message>
      <source>None: you are alone</source>
      <translation>Keine: du bist allein</translation>
    </message>
    <message>
      <source>Alone</source>
      <translation>Allein</translation>
    </message>
    <message>
      <source>Run</source>
      <translation>Lauf</translation>
    </message>
    <message>
      <source>Step</source>
      <translation>Schritt</translation>
    </message>
    <message>
      <source>Trained per second</source>
      <translation>Pro Sekunde trainiert</translation>
    </message>
    <message>
      <source>Share of time</source>
      <translation>Zeitanteil</translation>
    </message>
    <message>
      <source>waits</source>
      <translation>wartet</translation>
    </message>
    <message>
      <source>goal reached</source>
      <translation>am Ziel</translation>
    </message>
    <message>
      <source>Why am I running?</source>
      <translation>Warum rechnet Hearth?</translation>
    </message>
    <message>
      <source>Why am I not running?</source>
      <translation>Warum rechnet Hearth nicht?</translation>
    </message>
    <message>
      <source>Start now</source>
      <translation>Jetzt starten</translation>
    </message>
    <message>
      <source>Resume</source>
      <translation>Fortsetzen</translation>
    </message>
    <message>
      <source>Change rule</source>
      <translation>Regel ändern</translation>
    </message>
    <message>
      <source>Choose a run</source>
      <translation>Lauf wählen</translation>
    </message>
    <message>
      <source>Quit now</source>
      <translation>Sofort beenden</translation>
    </message>
    <message>
      <source>Show the log</source>
      <translation>Protokoll zeigen</translation>
    </message>
    <message>
      <source>Nothing shared in these 7 days. The first bar appears within a minute of computing.</source>
      <translation>In diesen 7 Tagen nichts geteilt. Der erste Balken erscheint binnen einer Minute Rechenzeit.</translation>
    </message>
    <message>
      <source>Compute time by day</source>
      <translation>Rechenzeit nach Tagen</translation>
    </message>
    <message>
      <source>Asks again in {seconds} s.</source>
      <translation>Fragt in {seconds} s erneut.</translation>
    </message>
    <message>
      <source>shared, {time} of it on the GPU</source>
      <translation>geteilt, davon {time} auf der GPU</translation>
    </message>
    <message>
      <source>shared since midnight</source>
      <translation>seit Mitternacht geteilt</translation>
    </message>
    <message>
      <source>Energy, about</source>
      <translation>Energie, etwa</translation>
    </message>
    <message>
      <source>Samples + tokens</source>
      <translation>Beispiele + Token</translation>
    </message>
    <message>
      <source>Tokens</source>
      <translation>Token</translation>
    </message>
    <message>
      <source>Warnings</source>
      <translation>Warnungen</translation>
    </message>
    <message>
      <source>Errors</source>
      <translation>Fehler</translation>
    </message>
    <message>
      <source>Log</source>
      <translation>Protokoll</translation>
    </message>
    <message>
      <source>What the worker, its compute process and this app have done.</source>
      <translation>Was der Worker, sein Rechenprozess und diese App getan haben.</translation>
    </message>
    <message>
      <source>Level</source>
      <translation>Stufe</translation>
    </message>
    <message>
      <source>Part</source>
      <translation>Teil</translation>
    </message>
    <message>
      <source>All parts</source>
      <translation>Alle Teile</translation>
    </message>
    <message>
      <source>Filter by text</source>
      <translation>Nach Text filtern</translation>
    </message>
    <message>
      <source>Save a report</source>
      <translation>Bericht speichern</translation>
    </message>
    <message>
      <source>Follow</source>
      <translation>Folgen</translation>
    </message>
    <message numerus="yes">
      <source>Copied %Ln line(s).</source>
      <translation>
        <numerusform>%Ln Zeile kopiert.</numerusform>
        <numerusform>%Ln Zeilen kopiert.</numerusform>
      </translation>
    </message>
    <message>
      <source>Log lines</source>
      <translation>Zeilen des Protokolls</translation>
    </message>
    <message>
      <source>Copy</source>
      <translation>Kopieren</translation>
    </message>
    <message>
      <source>Open folder</source>
      <translation>Ordner öffnen</translation>
    </message>
    <message>
      <source>Archives (*.zip)</source>
      <translation>Archive (*.zip)</translation>
    </message>
    <message>
      <source>The log, your settings and the last state as one file to send, without keys and addresses.</source>
      <translation>Das Protokoll, deine Einstellungen und der letzte Zustand als eine Datei zum Verschicken, ohne Schlüssel und Adressen.</translation>
    </message>
    <message>
      <source>This desktop cannot open folders. The log files are in {path}</source>
      <translation>Diese Oberfläche kann keine Ordner öffnen. Die Protokolle liegen in {path}</translation>
    </message>
    <message>
      <source>No line matches this filter.</source>
      <translation>Keine Zeile passt zu diesem Filter.</translation>
    </message>
    <message>
      <source>No line yet.</source>
      <translation>Noch keine Zeile.</translation>
    </message>
    <message>
      <source>{uid}: {name}, weight {weight}, {time}</source>
      <translation>{uid}: {name}, Gewicht {weight}, {time}</translation>
    </message>
    <message>
      <source>Row {row}, column {column}: hosted by nobody</source>
      <translation>Zeile {row}, Spalte {column}: nirgends beherbergt</translation>
    </message>
    <message>
      <source>{uid}: did not answer, left out</source>
      <translation>{uid}: hat nicht geantwortet, ausgelassen</translation>
    </message>
    <message numerus="yes">
      <source>%Ln expert(s) answered. Chosen cell: {cell}</source>
      <translation>
        <numerusform>%Ln Experte hat geantwortet. Gewählte Zelle: {cell}</numerusform>
        <numerusform>%Ln Experten haben geantwortet. Gewählte Zelle: {cell}</numerusform>
      </translation>
    </message>
    <message>
      <source>{uid}: hosted here, not asked</source>
      <translation>{uid}: hier beherbergt, nicht gefragt</translation>
    </message>
    <message>
      <source>Row {row}, column {column}: not hosted here</source>
      <translation>Zeile {row}, Spalte {column}: nicht hier beherbergt</translation>
    </message>
    <message>
      <source>Row {row}, column {column}: hosted by peers, not asked</source>
      <translation>Zeile {row}, Spalte {column}: von Peers beherbergt, nicht gefragt</translation>
    </message>
    <message>
      <source>No answer</source>
      <translation>Keine Antwort</translation>
    </message>
    <message>
      <source>left out</source>
      <translation>entfällt</translation>
    </message>
    <message>
      <source>Y</source>
      <translation>D</translation>
    </message>
    <message numerus="yes">
      <source>{silent} of %Ln expert(s) did not answer; the others took over their weight.</source>
      <translation>
        <numerusform>{silent} von %Ln Experten hat nicht geantwortet; die anderen übernahmen sein Gewicht.</numerusform>
        <numerusform>{silent} von %Ln Experten haben nicht geantwortet; die anderen übernahmen ihr Gewicht.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{missing} of %Ln expert(s) are not on this PC; none of them took part.</source>
      <translation>
        <numerusform>{missing} von %Ln Experten ist nicht auf diesem PC; keiner davon war beteiligt.</numerusform>
        <numerusform>{missing} von %Ln Experten sind nicht auf diesem PC; keiner davon war beteiligt.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>Hollow cells: experts that did not answer, %Ln so far.</source>
      <translation>
        <numerusform>Leere Zellen: Experten, die nicht geantwortet haben, bisher %Ln.</numerusform>
        <numerusform>Leere Zellen: Experten, die nicht geantwortet haben, bisher %Ln.</numerusform>
      </translation>
    </message>
    <message>
      <source>Nothing yet.</source>
      <translation>Noch nichts.</translation>
    </message>
    <message numerus="yes">
      <source>and %Ln more</source>
      <translation>
        <numerusform>und %Ln weiterer</numerusform>
        <numerusform>und %Ln weitere</numerusform>
      </translation>
    </message>
    <message>
      <source>Another peer</source>
      <translation>Ein anderer Peer</translation>
    </message>
    <message>
      <source>Hosted here</source>
      <translation>Hier beherbergt</translation>
    </message>
    <message>
      <source>The {best} best of {cells} in each layer</source>
      <translation>Die {best} besten von {cells} in jeder Schicht</translation>
    </message>
    <message>
      <source>Model</source>
      <translation>Modell</translation>
    </message>
    <message>
      <source>You</source>
      <translation>Du</translation>
    </message>
    <message>
      <source>Draw a digit</source>
      <translation>Zeichne eine Ziffer</translation>
    </message>
    <message>
      <source>Draw with the mouse or a pen. Arrow keys move, Space lowers and lifts the pen.</source>
      <translation>Zeichne mit der Maus oder einem Stift. Pfeiltasten bewegen, die Leertaste senkt und hebt den Stift.</translation>
    </message>
    <message>
      <source>The compute process is starting; the model answers when it is ready.</source>
      <translation>Der Rechenprozess startet; das Modell antwortet, wenn er bereit ist.</translation>
    </message>
    <message>
      <source>The model has not answered for 15 s.</source>
      <translation>Das Modell hat seit 15 s nicht geantwortet.</translation>
    </message>
    <message>
      <source>{share} sure</source>
      <translation>{share} sicher</translation>
    </message>
    <message>
      <source>In {time}. Step {step}.</source>
      <translation>In {time}. Schritt {step}.</translation>
    </message>
    <message>
      <source>Experts that answered</source>
      <translation>Experten, die geantwortet haben</translation>
    </message>
    <message>
      <source>They light up when you draw.</source>
      <translation>Sie leuchten auf, wenn du zeichnest.</translation>
    </message>
    <message>
      <source>Undo</source>
      <translation>Rückgängig</translation>
    </message>
    <message>
      <source>Clear</source>
      <translation>Leeren</translation>
    </message>
    <message>
      <source>What the model sees</source>
      <translation>Was das Modell sieht</translation>
    </message>
    <message>
      <source>Looks like</source>
      <translation>Sieht aus wie eine</translation>
    </message>
    <message>
      <source>What the model reads</source>
      <translation>Was das Modell liest</translation>
    </message>
    <message>
      <source>Draw a digit; the model reads it while you draw.</source>
      <translation>Zeichne eine Ziffer; das Modell liest sie, während du zeichnest.</translation>
    </message>
    <message>
      <source>{answered} of {asked} answered</source>
      <translation>{answered} von {asked} haben geantwortet</translation>
    </message>
    <message>
      <source>In {time}. Step {step}; {right} correct on unseen digits.</source>
      <translation>In {time}. Schritt {step}; {right} der unbekannten Ziffern richtig.</translation>
    </message>
    <message>
      <source>8 by 8 pixels, 64 numbers</source>
      <translation>8 mal 8 Pixel, 64 Zahlen</translation>
    </message>
    <message>
      <source>Mouse, pen, or arrow keys and Space</source>
      <translation>Maus, Stift oder Pfeiltasten und Leertaste</translation>
    </message>
    <message>
      <source>{inked} of 64 cells hold ink.</source>
      <translation>{inked} von 64 Zellen enthalten Tinte.</translation>
    </message>
    <message>
      <source>Not trained yet</source>
      <translation>Noch nicht trainiert</translation>
    </message>
    <message>
      <source>It would be a guess</source>
      <translation>Es wäre geraten</translation>
    </message>
    <message>
      <source>The model is reading</source>
      <translation>Das Modell liest</translation>
    </message>
    <message>
      <source>end of the text</source>
      <translation>Ende des Textes</translation>
    </message>
    <message>
      <source>space</source>
      <translation>Leerzeichen</translation>
    </message>
    <message>
      <source>new line</source>
      <translation>neue Zeile</translation>
    </message>
    <message>
      <source>tab</source>
      <translation>Tabulator</translation>
    </message>
    <message>
      <source>“{sign}”</source>
      <translation>„{sign}“</translation>
    </message>
    <message>
      <source>byte {value}</source>
      <translation>Byte {value}</translation>
    </message>
    <message>
      <source>Also likely: {others}.</source>
      <translation>Auch wahrscheinlich: {others}.</translation>
    </message>
    <message>
      <source>The newest {most} texts stay in the data folder of this PC. Turned off, nothing more is kept; what is listed stays until you delete it.</source>
      <translation>Die neuesten {most} Texte bleiben im Datenordner dieses PCs. Ausgeschaltet wird nichts mehr aufbewahrt; was aufgeführt ist, bleibt, bis du es löschst.</translation>
    </message>
    <message>
      <source>Nothing is kept yet. What you try with a model appears here.</source>
      <translation>Noch ist nichts aufbewahrt. Was du mit einem Modell ausprobierst, erscheint hier.</translation>
    </message>
    <message>
      <source>Nothing is kept. Turn it on to find here what you try from then on.</source>
      <translation>Nichts wird aufbewahrt. Schalte es ein, um hier zu finden, was du von da an ausprobierst.</translation>
    </message>
    <message>
      <source>This PC has not joined the run “{run}”, so its model cannot be shown.</source>
      <translation>Dieser PC nimmt am Lauf „{run}“ nicht teil, daher kann sein Modell nicht gezeigt werden.</translation>
    </message>
    <message>
      <source>What you tried</source>
      <translation>Was du ausprobiert hast</translation>
    </message>
    <message>
      <source>Close</source>
      <translation>Schließen</translation>
    </message>
    <message>
      <source>Keep what I try</source>
      <translation>Aufbewahren, was ich ausprobiere</translation>
    </message>
    <message>
      <source>Delete all</source>
      <translation>Alles löschen</translation>
    </message>
    <message>
      <source>Cancel</source>
      <translation>Abbrechen</translation>
    </message>
    <message>
      <source>Delete all that is listed, for good?</source>
      <translation>Alles, was aufgeführt ist, endgültig löschen?</translation>
    </message>
    <message>
      <source>Open</source>
      <translation>Öffnen</translation>
    </message>
    <message>
      <source>Delete</source>
      <translation>Löschen</translation>
    </message>
    <message>
      <source>Copied</source>
      <translation>Kopiert</translation>
    </message>
    <message>
      <source>Open: {name}</source>
      <translation>Öffnen: {name}</translation>
    </message>
    <message>
      <source>Copy: {name}</source>
      <translation>Kopieren: {name}</translation>
    </message>
    <message>
      <source>Delete: {name}</source>
      <translation>Löschen: {name}</translation>
    </message>
    <message>
      <source>Without a prompt</source>
      <translation>Ohne Eingabe</translation>
    </message>
    <message numerus="yes">
      <source>%Ln turn(s)</source>
      <translation>
        <numerusform>%Ln Beitrag</numerusform>
        <numerusform>%Ln Beiträge</numerusform>
      </translation>
    </message>
    <message>
      <source>Model to try</source>
      <translation>Modell zum Ausprobieren</translation>
    </message>
    <message>
      <source>The model is still in training: its answers can be wrong.</source>
      <translation>Das Modell wird noch trainiert: Seine Antworten können falsch sein.</translation>
    </message>
    <message>
      <source>The model is still in training: it continues what you type, byte by byte.</source>
      <translation>Das Modell wird noch trainiert: Es setzt fort, was du schreibst, Byte für Byte.</translation>
    </message>
    <message>
      <source>The model is still in training: it continues what you type, token by token.</source>
      <translation>Das Modell wird noch trainiert: Es setzt fort, was du schreibst, Token für Token.</translation>
    </message>
    <message>
      <source>The model is still in training: what it says can be wrong.</source>
      <translation>Das Modell wird noch trainiert: Was es sagt, kann falsch sein.</translation>
    </message>
    <message>
      <source>The model learns to tell pictures of its own apart. It cannot be tried yet.</source>
      <translation>Das Modell lernt, eigene Bilder zu unterscheiden. Ausprobieren kann man es noch nicht.</translation>
    </message>
    <message>
      <source>Try the model</source>
      <translation>Modell ausprobieren</translation>
    </message>
    <message>
      <source>What the model adds appears here.</source>
      <translation>Hier erscheint, was das Modell hinzufügt.</translation>
    </message>
    <message>
      <source>Continuation</source>
      <translation>Fortsetzung</translation>
    </message>
    <message>
      <source>Not trained yet: what it adds is no better than chance.</source>
      <translation>Noch nicht trainiert: Was es hinzufügt, ist nicht besser als Zufall.</translation>
    </message>
    <message>
      <source>Underlined: the model was less sure. Dotted: below 80%, solid: below 40%.</source>
      <translation>Unterstrichen: Das Modell war weniger sicher. Gepunktet: unter 80 %, durchgezogen: unter 40 %.</translation>
    </message>
    <message>
      <source>The prompt is longer than {most} characters. Shorten it; the model sees only its end.</source>
      <translation>Die Eingabe ist länger als {most} Zeichen. Kürze sie; das Modell sieht nur ihr Ende.</translation>
    </message>
    <message>
      <source>New conversation</source>
      <translation>Neues Gespräch</translation>
    </message>
    <message>
      <source>Stop</source>
      <translation>Stopp</translation>
    </message>
    <message>
      <source>Send</source>
      <translation>Senden</translation>
    </message>
    <message>
      <source>Continue</source>
      <translation>Fortsetzen</translation>
    </message>
    <message>
      <source>What to do with the model</source>
      <translation>Was du mit dem Modell machst</translation>
    </message>
    <message>
      <source>New</source>
      <translation>Neu</translation>
    </message>
    <message>
      <source>They light up while the text grows.</source>
      <translation>Sie leuchten auf, während der Text weitergeht.</translation>
    </message>
    <message>
      <source>Your message</source>
      <translation>Deine Nachricht</translation>
    </message>
    <message>
      <source>Your prompt</source>
      <translation>Deine Eingabe</translation>
    </message>
    <message>
      <source>{count}, ended</source>
      <translation>{count}, beendet</translation>
    </message>
    <message>
      <source>{count}, ended by the model</source>
      <translation>{count}, vom Modell beendet</translation>
    </message>
    <message>
      <source>{count}, stopped</source>
      <translation>{count}, angehalten</translation>
    </message>
    <message>
      <source>{count}, {rate} per second</source>
      <translation>{count}, {rate} pro Sekunde</translation>
    </message>
    <message>
      <source>{answered} of {answers} answered</source>
      <translation>{answered} von {answers} antworteten</translation>
    </message>
    <message>
      <source>Talk</source>
      <translation>Reden</translation>
    </message>
    <message>
      <source>The model answers. Enter sends, Shift+Enter begins a new line, Escape stops.</source>
      <translation>Das Modell antwortet. Enter sendet, Umschalt+Enter beginnt eine neue Zeile, Escape stoppt.</translation>
    </message>
    <message>
      <source>The model continues where it ends. Ctrl+Enter continues, Escape stops.</source>
      <translation>Das Modell setzt dort fort, wo sie endet. Strg+Enter setzt fort, Escape hält an.</translation>
    </message>
    <message>
      <source>Conversation</source>
      <translation>Gespräch</translation>
    </message>
    <message>
      <source>What you and the model say appears here.</source>
      <translation>Was du und das Modell sagen, erscheint hier.</translation>
    </message>
    <message>
      <source>step {step}</source>
      <translation>Schritt {step}</translation>
    </message>
    <message>
      <source>{bits} bits per byte on unseen text</source>
      <translation>{bits} Bit pro Byte bei unbekanntem Text</translation>
    </message>
    <message>
      <source>The compute process is starting; the text begins when it is ready.</source>
      <translation>Der Rechenprozess startet; der Text beginnt, wenn er bereit ist.</translation>
    </message>
    <message numerus="yes">
      <source>The text ends after %Ln byte(s).</source>
      <translation>
        <numerusform>Der Text endet nach %Ln Byte.</numerusform>
        <numerusform>Der Text endet nach %Ln Bytes.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>The text ends after %Ln token(s).</source>
      <translation>
        <numerusform>Der Text endet nach %Ln Token.</numerusform>
        <numerusform>Der Text endet nach %Ln Token.</numerusform>
      </translation>
    </message>
    <message>
      <source>Temperature</source>
      <translation>Temperatur</translation>
    </message>
    <message>
      <source>Top-p</source>
      <translation>Top-p</translation>
    </message>
    <message>
      <source>More</source>
      <translation>Mehr</translation>
    </message>
    <message>
      <source>Stop text</source>
      <translation>Stopptext</translation>
    </message>
    <message>
      <source>Seed</source>
      <translation>Seed</translation>
    </message>
    <message>
      <source>None</source>
      <comment>no text</comment>
      <translation>Keiner</translation>
    </message>
    <message>
      <source>Another each time</source>
      <translation>Jedes Mal ein anderer</translation>
    </message>
    <message>
      <source>The text ends before this one. Write \n for a new line.</source>
      <translation>Der Text endet vor diesem. Schreibe \n für eine neue Zeile.</translation>
    </message>
    <message>
      <source>The same seed and prompt give the same text again, as long as the model stays the same.</source>
      <translation>Gleicher Seed und gleiche Eingabe ergeben wieder denselben Text, solange das Modell dasselbe bleibt.</translation>
    </message>
    <message>
      <source>Length</source>
      <translation>Länge</translation>
    </message>
    <message>
      <source>Less</source>
      <translation>Weniger</translation>
    </message>
    <message>
      <source>bytes</source>
      <translation>Bytes</translation>
    </message>
    <message>
      <source>Length in bytes</source>
      <translation>Länge in Bytes</translation>
    </message>
    <message>
      <source>{count} of {wanted} bytes</source>
      <translation>{count} von {wanted} Bytes</translation>
    </message>
    <message>
      <source>Byte {place}</source>
      <translation>Byte {place}</translation>
    </message>
    <message>
      <source>Who answered, byte by byte</source>
      <translation>Wer geantwortet hat, Byte für Byte</translation>
    </message>
    <message>
      <source>A column for every byte, a cell for every expert that was asked; strong colours mean much weight.</source>
      <translation>Eine Spalte für jedes Byte, eine Zelle für jeden gefragten Experten; kräftige Farben bedeuten viel Gewicht.</translation>
    </message>
    <message>
      <source>The newest byte is at the right; cells of a stronger colour had more weight.</source>
      <translation>Das neueste Byte ist rechts; Zellen mit kräftigerer Farbe hatten mehr Gewicht.</translation>
    </message>
    <message>
      <source>Next byte, as the model weighed it</source>
      <translation>Nächstes Byte, wie das Modell es abwog</translation>
    </message>
    <message>
      <source>What the model adds. The arrow keys choose a byte, to see who answered and how sure the model was.</source>
      <translation>Was das Modell hinzufügt. Die Pfeiltasten wählen ein Byte und zeigen, wer geantwortet hat und wie sicher das Modell war.</translation>
    </message>
    <message>
      <source>0 always takes the likeliest byte; the higher, the more surprising the text</source>
      <translation>0 nimmt immer das wahrscheinlichste Byte; je höher, desto überraschender der Text</translation>
    </message>
    <message>
      <source>It is drawn from the likeliest bytes that together have this share; 100% draws from all.</source>
      <translation>Gezogen wird aus den wahrscheinlichsten Bytes, die zusammen diesen Anteil haben; 100 % zieht aus allen.</translation>
    </message>
    <message>
      <source>Length in tokens</source>
      <translation>Länge in Token</translation>
    </message>
    <message>
      <source>{count} of {wanted} tokens</source>
      <translation>{count} von {wanted} Token</translation>
    </message>
    <message>
      <source>Token {place}</source>
      <translation>Token {place}</translation>
    </message>
    <message>
      <source>Who answered, token by token</source>
      <translation>Wer geantwortet hat, Token für Token</translation>
    </message>
    <message>
      <source>A column for every token, a cell for every expert that was asked; strong colours mean much weight.</source>
      <translation>Eine Spalte für jedes Token, eine Zelle für jeden gefragten Experten; kräftige Farben bedeuten viel Gewicht.</translation>
    </message>
    <message>
      <source>The newest token is at the right; cells of a stronger colour had more weight.</source>
      <translation>Das neueste Token ist rechts; Zellen mit kräftigerer Farbe hatten mehr Gewicht.</translation>
    </message>
    <message>
      <source>Next token, as the model weighed it</source>
      <translation>Nächstes Token, wie das Modell es abwog</translation>
    </message>
    <message>
      <source>What the model adds. The arrow keys choose a token, to see who answered and how sure the model was.</source>
      <translation>Was das Modell hinzufügt. Die Pfeiltasten wählen ein Token und zeigen, wer geantwortet hat und wie sicher das Modell war.</translation>
    </message>
    <message>
      <source>0 always takes the likeliest token; the higher, the more surprising the text</source>
      <translation>0 nimmt immer das wahrscheinlichste Token; je höher, desto überraschender der Text</translation>
    </message>
    <message>
      <source>It is drawn from the likeliest tokens that together have this share; 100% draws from all.</source>
      <translation>Gezogen wird aus den wahrscheinlichsten Token, die zusammen diesen Anteil haben; 100 % zieht aus allen.</translation>
    </message>
    <message>
      <source>No other PC is connected. This PC trains all the same, and what it learns is not lost: it counts as soon as others are here.</source>
      <translation>Kein anderer PC ist verbunden. Dieser PC trainiert trotzdem, und was er lernt, ist nicht verloren: Es zählt, sobald andere da sind.</translation>
    </message>
    <message>
      <source>“Work with other peers” is off in Settings, or the worker was started by hand without a network. It trains for itself and calls nobody.</source>
      <translation>„Mit anderen Peers arbeiten“ ist in den Einstellungen aus, oder der Worker wurde von Hand ohne Netzwerk gestartet. Er trainiert für sich und verbindet sich mit niemandem.</translation>
    </message>
    <message>
      <source>Connected. The two PCs now find out what they can do for each other.</source>
      <translation>Verbunden. Beide PCs klären nun, was sie füreinander tun können.</translation>
    </message>
    <message>
      <source>You are alone in this run</source>
      <translation>Du bist allein in diesem Lauf</translation>
    </message>
    <message>
      <source>Address of a peer, or a link to a run</source>
      <translation>Adresse eines Peers oder Link zu einem Lauf</translation>
    </message>
    <message>
      <source>Address or link from somebody you know</source>
      <translation>Adresse oder Link von jemandem, den du kennst</translation>
    </message>
    <message>
      <source>Add</source>
      <translation>Hinzufügen</translation>
    </message>
    <message>
      <source>Runs nearby</source>
      <translation>Läufe in der Nähe</translation>
    </message>
    <message>
      <source>Invite somebody</source>
      <translation>Jemanden einladen</translation>
    </message>
    <message>
      <source>Open this setting</source>
      <translation>Diese Einstellung öffnen</translation>
    </message>
    <message>
      <source>Add this peer or run</source>
      <translation>Diesen Peer oder Lauf hinzufügen</translation>
    </message>
    <message>
      <source>Add a peer</source>
      <translation>Peer hinzufügen</translation>
    </message>
    <message>
      <source>You are no longer alone</source>
      <translation>Du bist nicht mehr allein</translation>
    </message>
    <message>
      <source>For others to reach this PC, its firewall has to let UDP port {port} through.</source>
      <translation>Damit andere diesen PC erreichen, muss seine Firewall den UDP-Port {port} durchlassen.</translation>
    </message>
    <message>
      <source>Calling this peer ...</source>
      <translation>Die Verbindung zu diesem Peer wird aufgebaut ...</translation>
    </message>
    <message>
      <source>Nothing has gone to other peers or come from them in this time.</source>
      <translation>In dieser Zeit ging nichts an andere Peers und kam nichts von ihnen.</translation>
    </message>
    <message>
      <source>1 hour</source>
      <translation>1 Stunde</translation>
    </message>
    <message>
      <source>{way} in {time}: {amount}</source>
      <translation>{way} in {time}: {amount}</translation>
    </message>
    <message>
      <source>Bandwidth</source>
      <translation>Bandbreite</translation>
    </message>
    <message>
      <source>Direction</source>
      <translation>Richtung</translation>
    </message>
    <message>
      <source>Change the limits</source>
      <translation>Grenzen ändern</translation>
    </message>
    <message>
      <source>Upload: {limit}</source>
      <translation>Upload: {limit}</translation>
    </message>
    <message>
      <source>Download: {limit}</source>
      <translation>Download: {limit}</translation>
    </message>
    <message>
      <source>There is no connection to test while Hearth trains alone.</source>
      <translation>Solange Hearth allein trainiert, gibt es keine Verbindung zu prüfen.</translation>
    </message>
    <message>
      <source>Checks port, other peers, outside address, NAT, clock and disk.</source>
      <translation>Prüft Port, andere Peers, Außenadresse, NAT, Uhr und Festplatte.</translation>
    </message>
    <message>
      <source>good</source>
      <translation>gut</translation>
    </message>
    <message>
      <source>needs attention</source>
      <translation>bitte ansehen</translation>
    </message>
    <message>
      <source>not known yet</source>
      <translation>noch nicht bekannt</translation>
    </message>
    <message>
      <source>Everything is as it should be.</source>
      <translation>Alles ist in Ordnung.</translation>
    </message>
    <message>
      <source>Connection test</source>
      <translation>Prüfung der Verbindung</translation>
    </message>
    <message>
      <source>Check now</source>
      <translation>Jetzt prüfen</translation>
    </message>
    <message>
      <source>Checking.</source>
      <translation>Wird geprüft.</translation>
    </message>
    <message numerus="yes">
      <source>%Ln of {all} need(s) attention.</source>
      <translation>
        <numerusform>%Ln von {all} solltest du dir ansehen.</numerusform>
        <numerusform>%Ln von {all} solltest du dir ansehen.</numerusform>
      </translation>
    </message>
    <message>
      <source>Checked at {time}.</source>
      <translation>Geprüft um {time}.</translation>
    </message>
    <message>
      <source>What happened</source>
      <translation>Was geschehen ist</translation>
    </message>
    <message>
      <source>Who this PC works with, and how they reach each other.</source>
      <translation>Mit wem dieser PC arbeitet und wie sie einander erreichen.</translation>
    </message>
    <message>
      <source>What leaves this PC</source>
      <translation>Was diesen PC verlässt</translation>
    </message>
    <message>
      <source>Appears as soon as the worker has sent its peers.</source>
      <translation>Erscheint, sobald der Worker seine Peers gesendet hat.</translation>
    </message>
    <message>
      <source>No peer is connected yet.</source>
      <translation>Noch ist kein Peer verbunden.</translation>
    </message>
    <message>
      <source>No peer matches this filter.</source>
      <translation>Kein Peer passt zu diesem Filter.</translation>
    </message>
    <message>
      <source>Reachable</source>
      <translation>Erreichbar</translation>
    </message>
    <message>
      <source>Punchable</source>
      <translation>Nach Absprache</translation>
    </message>
    <message>
      <source>Relayed</source>
      <translation>Über Relais</translation>
    </message>
    <message>
      <source>Dial-out only</source>
      <translation>Nur ausgehend</translation>
    </message>
    <message>
      <source>Unknown</source>
      <translation>Unbekannt</translation>
    </message>
    <message>
      <source>Connected</source>
      <translation>Verbunden</translation>
    </message>
    <message>
      <source>Direct</source>
      <translation>Direkt</translation>
    </message>
    <message>
      <source>Connected longest</source>
      <translation>Am längsten verbunden</translation>
    </message>
    <message>
      <source>Relayed via {peer}</source>
      <translation>Über Relais {peer}</translation>
    </message>
    <message>
      <source>Peer</source>
      <translation>Peer</translation>
    </message>
    <message>
      <source>Path</source>
      <translation>Weg</translation>
    </message>
    <message>
      <source>Round trip</source>
      <translation>Antwortzeit</translation>
    </message>
    <message>
      <source>In</source>
      <translation>Empfangen</translation>
    </message>
    <message>
      <source>Out</source>
      <translation>Gesendet</translation>
    </message>
    <message>
      <source>Faults</source>
      <translation>Fehler</translation>
    </message>
    <message>
      <source>Connected peers</source>
      <translation>Verbundene Peers</translation>
    </message>
    <message>
      <source>Filter peers</source>
      <translation>Peers filtern</translation>
    </message>
    <message numerus="yes">
      <source>peer(s)</source>
      <translation>
        <numerusform>Peer</numerusform>
        <numerusform>Peers</numerusform>
      </translation>
    </message>
    <message>
      <source>of {all}</source>
      <translation>von {all}</translation>
    </message>
    <message>
      <source>none</source>
      <translation>keine</translation>
    </message>
    <message>
      <source>At 10 a peer is banned for a time.</source>
      <translation>Bei 10 wird ein Peer eine Zeit lang gesperrt.</translation>
    </message>
    <message>
      <source>under 1 min</source>
      <translation>unter 1 min</translation>
    </message>
    <message>
      <source>It calls nobody, and nobody calls it.</source>
      <translation>Er verbindet sich mit niemandem, und niemand mit ihm.</translation>
    </message>
    <message>
      <source>Not known yet</source>
      <translation>Noch nicht bekannt</translation>
    </message>
    <message>
      <source>Yes, direct</source>
      <translation>Ja, direkt</translation>
    </message>
    <message>
      <source>Other peers can call this PC by themselves.</source>
      <translation>Andere Peers können sich von sich aus mit diesem PC verbinden.</translation>
    </message>
    <message>
      <source>Nothing to do.</source>
      <translation>Nichts zu tun.</translation>
    </message>
    <message>
      <source>Yes, by arrangement</source>
      <translation>Ja, nach Absprache</translation>
    </message>
    <message>
      <source>Your router hides this PC, but peers that a third one introduces get through.</source>
      <translation>Dein Router verbirgt diesen PC, aber Peers, die ein dritter bekannt macht, kommen durch.</translation>
    </message>
    <message>
      <source>Through a relay</source>
      <translation>Über ein Relais</translation>
    </message>
    <message>
      <source>Your router keeps others out, so another peer passes the encrypted traffic on. That is slower.</source>
      <translation>Dein Router hält andere fern, deshalb reicht ein anderer Peer den verschlüsselten Datenverkehr weiter. Das ist langsamer.</translation>
    </message>
    <message>
      <source>Forward a UDP port to this PC in your router, and start Hearth with that port, to be called directly.</source>
      <translation>Leite in deinem Router einen UDP-Port an diesen PC weiter und starte Hearth mit diesem Port, um direkt erreichbar zu sein.</translation>
    </message>
    <message>
      <source>No, it calls out only</source>
      <translation>Nein, nur ausgehend</translation>
    </message>
    <message>
      <source>Nobody can call this PC. It calls others and works over these connections.</source>
      <translation>Niemand kann diesen PC von außen erreichen. Er verbindet sich selbst mit anderen und arbeitet über diese Verbindungen.</translation>
    </message>
    <message>
      <source>Let Hearth through your firewall, or forward a UDP port to this PC in your router.</source>
      <translation>Lass Hearth durch deine Firewall oder leite in deinem Router einen UDP-Port an diesen PC weiter.</translation>
    </message>
    <message>
      <source>No peer has reported yet whether this PC is reachable.</source>
      <translation>Noch hat kein Peer gemeldet, ob dieser PC erreichbar ist.</translation>
    </message>
    <message>
      <source>It is measured as soon as a backbone peer is connected.</source>
      <translation>Gemessen wird, sobald ein Backbone-Peer verbunden ist.</translation>
    </message>
    <message>
      <source>Reachable from outside: {word}</source>
      <translation>Von außen erreichbar: {word}</translation>
    </message>
    <message>
      <source>Peer ID</source>
      <translation>Peer-ID</translation>
    </message>
    <message>
      <source>Address</source>
      <translation>Adresse</translation>
    </message>
    <message>
      <source>Determined by: {step}.</source>
      <translation>Ermittelt durch: {step}.</translation>
    </message>
    <message>
      <source>This run's trainers agree on one trunk by {way}. Hearth works alone on this PC and takes no part.</source>
      <translation>Die Trainer dieses Laufs einigen sich per {way} auf einen Rumpf. Hearth arbeitet auf diesem PC allein und macht dabei nicht mit.</translation>
    </message>
    <message>
      <source>This run's trainers agree on one trunk by {way}. They have not done so since Hearth's start.</source>
      <translation>Die Trainer dieses Laufs einigen sich per {way} auf einen Rumpf. Seit dem Start von Hearth haben sie es noch nicht getan.</translation>
    </message>
    <message>
      <source>The last agreement on one trunk by {way} was {ago} ago. No other trainer is connected now.</source>
      <translation>Die letzte Einigung auf einen Rumpf per {way} war vor {ago}. Jetzt ist kein anderer Trainer verbunden.</translation>
    </message>
    <message numerus="yes">
      <source>This PC helps %Ln trainer(s) to agree on one trunk by {way}.</source>
      <translation>
        <numerusform>Dieser PC hilft %Ln Trainer, sich per {way} auf den Rumpf zu einigen.</numerusform>
        <numerusform>Dieser PC hilft %Ln Trainern, sich per {way} auf einen Rumpf zu einigen.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>%Ln trainer(s) agree(s) on one trunk by {way}, last {ago} ago.</source>
      <translation>
        <numerusform>%Ln Trainer hat sich per {way} allein auf den Rumpf geeinigt, zuletzt vor {ago}.</numerusform>
        <numerusform>%Ln Trainer einigen sich per {way} auf einen Rumpf, zuletzt vor {ago}.</numerusform>
      </translation>
    </message>
    <message>
      <source>The trunk that all continue from has been here for {ago}. Next, trainers agree on it by {way}.</source>
      <translation>Der Rumpf, von dem alle ausgehen, ist seit {ago} da. Als Nächstes einigen sich die Trainer per {way} darauf.</translation>
    </message>
    <message>
      <source>{share} of it</source>
      <translation>{share} davon</translation>
    </message>
    <message>
      <source>Took part in the last agreement: {givers}. Combined by: {reducers}.</source>
      <translation>An der letzten Einigung beteiligt: {givers}. Zusammengeführt von: {reducers}.</translation>
    </message>
    <message>
      <source>not counted</source>
      <translation>nicht gezählt</translation>
    </message>
    <message>
      <source>took part</source>
      <translation>war dabei</translation>
    </message>
    <message>
      <source>in {share} of it</source>
      <translation>in {share} davon</translation>
    </message>
    <message numerus="yes">
      <source>%Ln other(s)</source>
      <translation>
        <numerusform>%Ln weiterer</numerusform>
        <numerusform>%Ln weitere</numerusform>
      </translation>
    </message>
    <message>
      <source>One trunk</source>
      <translation>Ein gemeinsamer Rumpf</translation>
    </message>
    <message>
      <source>Who takes part, and who combines how much</source>
      <translation>Wer mitmacht, und wer wie viel zusammenführt</translation>
    </message>
    <message>
      <source>To the next agreement</source>
      <translation>Bis zur nächsten Einigung</translation>
    </message>
    <message>
      <source>Trainers</source>
      <translation>Trainer</translation>
    </message>
    <message>
      <source>Combined by</source>
      <translation>Zusammengeführt von</translation>
    </message>
    <message>
      <source>Sent for the trunk</source>
      <translation>Gesendet für den Rumpf</translation>
    </message>
    <message>
      <source>Received for the trunk</source>
      <translation>Empfangen für den Rumpf</translation>
    </message>
    <message>
      <source>Samples or bytes counted</source>
      <translation>Beispiele oder Bytes gezählt</translation>
    </message>
    <message>
      <source>Combined for others</source>
      <translation>Für andere zusammengeführt</translation>
    </message>
    <message>
      <source>{done} of {all} samples</source>
      <translation>{done} von {all} Beispielen</translation>
    </message>
    <message>
      <source>{done} of {all} steps</source>
      <translation>{done} von {all} Schritten</translation>
    </message>
    <message>
      <source>The owner of this key: {key}. Compare it with what the organiser has published.</source>
      <translation>Wem dieser Schlüssel gehört: {key}. Vergleiche ihn mit dem, den der Veranstalter veröffentlicht hat.</translation>
    </message>
    <message numerus="yes">
      <source>a model of %Ln number(s)</source>
      <translation>
        <numerusform>ein Modell mit %Ln Zahl</numerusform>
        <numerusform>ein Modell mit %Ln Zahlen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>{what}: {size} in %Ln expert(s) and a trunk.</source>
      <translation>
        <numerusform>{what}: {size} in %Ln Experten und einem Rumpf.</numerusform>
        <numerusform>{what}: {size} in %Ln Experten und einem Rumpf.</numerusform>
      </translation>
    </message>
    <message>
      <source>not stated</source>
      <translation>nicht angegeben</translation>
    </message>
    <message>
      <source>While it trains, about {memory} of memory, and up to {traffic} sent and as much received in an hour.</source>
      <translation>Beim Trainieren etwa {memory} Arbeitsspeicher, und bis zu {traffic} pro Stunde gesendet und ebenso viel empfangen.</translation>
    </message>
    <message>
      <source>Memory, disk space, traffic and hours stay within your limits in Settings.</source>
      <translation>Arbeitsspeicher, Speicherplatz, Datenverkehr und Zeiten bleiben innerhalb deiner Grenzen in den Einstellungen.</translation>
    </message>
    <message>
      <source>To the peers of the run: tensors of the training, encrypted, and this PC's address and public key. Your files do not; a name only if you have set one in Settings. If you try the model, peers whose experts answer can tell much of what you asked.</source>
      <translation>An die Peers des Laufs: Tensoren des Trainings, verschlüsselt, und die Adresse und der öffentliche Schlüssel dieses PCs. Deine Dateien nicht; ein Name nur, wenn du in den Einstellungen einen gesetzt hast. Wenn du das Modell ausprobierst, können Peers, deren Experten antworten, viel von deiner Frage erkennen.</translation>
    </message>
    <message>
      <source>Not signed</source>
      <translation>Nicht unterschrieben</translation>
    </message>
    <message>
      <source>It comes with Hearth, like the program itself.</source>
      <translation>Er gehört zu Hearth, wie das Programm selbst.</translation>
    </message>
    <message>
      <source>Nobody has signed it.</source>
      <translation>Niemand hat ihn unterschrieben.</translation>
    </message>
    <message>
      <source>To continue text</source>
      <translation>Text fortsetzen</translation>
    </message>
    <message>
      <source>To say what a picture shows</source>
      <translation>Sagen, was ein Bild zeigt</translation>
    </message>
    <message numerus="yes">
      <source>{what}: a model of %Ln number(s), whole on each PC.</source>
      <translation>
        <numerusform>{what}: ein Modell mit %Ln Zahl, ganz auf jedem PC.</numerusform>
        <numerusform>{what}: ein Modell mit %Ln Zahlen, ganz auf jedem PC.</numerusform>
      </translation>
    </message>
    <message>
      <source>Data that comes with Hearth.</source>
      <translation>Daten, die zu Hearth gehören.</translation>
    </message>
    <message>
      <source>no minimum stated</source>
      <translation>kein Minimum angegeben</translation>
    </message>
    <message>
      <source>Signed by {key}</source>
      <translation>Unterschrieben von {key}</translation>
    </message>
    <message>
      <source>Comes with Hearth</source>
      <translation>Gehört zu Hearth</translation>
    </message>
    <message numerus="yes">
      <source>{size} from the organiser, in %Ln part(s) that are checked by their hashes.</source>
      <translation>
        <numerusform>{size} vom Veranstalter, in %Ln Teil, der anhand seines Hashwerts geprüft wird.</numerusform>
        <numerusform>{size} vom Veranstalter, in %Ln Teilen, die anhand ihrer Hashwerte geprüft werden.</numerusform>
      </translation>
    </message>
    <message>
      <source>Licence of the data: {data}; of the model: {model}.</source>
      <translation>Lizenz der Daten: {data}; des Modells: {model}.</translation>
    </message>
    <message>
      <source>a PC with {size} of memory</source>
      <translation>ein PC mit {size} Arbeitsspeicher</translation>
    </message>
    <message>
      <source>{size} free on the disk</source>
      <translation>{size} frei auf der Festplatte</translation>
    </message>
    <message>
      <source>Hearth {version} or newer</source>
      <translation>Hearth {version} oder neuer</translation>
    </message>
    <message>
      <source>Web servers that have the data see the address, too: {hosts}.</source>
      <translation>Auch Webserver, die die Daten haben, sehen die Adresse: {hosts}.</translation>
    </message>
    <message>
      <source>Brokers of the run see it as well, and pass on how your training goes and your credit: {names}.</source>
      <translation>Auch die Broker des Laufs sehen sie, und sie geben weiter, wie dein Training läuft und was dir gutgeschrieben wurde: {names}.</translation>
    </message>
    <message>
      <source>{size} from the organiser, by a list that is checked by its hash.</source>
      <translation>{size} vom Veranstalter, nach einer Liste, die anhand ihres Hashwerts geprüft wird.</translation>
    </message>
    <message>
      <source>Up to {size} of data are fetched.</source>
      <translation>Bis zu {size} an Daten werden geholt.</translation>
    </message>
    <message>
      <source>Data from the organiser; a list that is fetched after joining says how much.</source>
      <translation>Daten vom Veranstalter; wie viele, sagt eine Liste, die nach dem Beitritt geholt wird.</translation>
    </message>
    <message>
      <source>Only people whom you invite can take part in the run “{run}”. The link that you make here lets one PC in. Ask the person for the address of their PC: it is on their page Network.</source>
      <translation>Am Lauf „{run}“ können nur Leute teilnehmen, die du einlädst. Der Link, den du hier erzeugst, lässt einen PC herein. Frage die Person nach der Adresse ihres PCs: Sie steht dort auf der Seite Netzwerk.</translation>
    </message>
    <message>
      <source>Every Hearth has this run, so no link is needed. Send the address of this PC; on the other PC, add it on the page Network.</source>
      <translation>Jedes Hearth hat diesen Lauf, deshalb ist kein Link nötig. Schicke die Adresse dieses PCs; füge sie auf dem anderen PC auf der Seite Netzwerk hinzu.</translation>
    </message>
    <message>
      <source>The run “{run}” is by invitation only. Only its organiser can invite, on the PC with the key {key}. The link below shows others what the run is. To take part, they must send the organiser the address on their page Network.</source>
      <translation>Am Lauf „{run}“ nimmt nur teil, wer eingeladen ist. Einladen kann nur der Veranstalter, auf dem PC mit dem Schlüssel {key}. Der Link unten zeigt anderen, was der Lauf ist. Um mitzumachen, müssen sie dem Veranstalter die Adresse schicken, die auf ihrer Seite Netzwerk steht.</translation>
    </message>
    <message>
      <source>Whoever has this link can join the run “{run}”: they paste it under Add a run, or open it. It leads to this PC and the peers that the run names; one of them must be on.</source>
      <translation>Wer diesen Link hat, kann dem Lauf „{run}“ beitreten: ihn unter „Lauf hinzufügen“ einfügen oder öffnen. Er führt zu diesem PC und den Peers, die der Lauf nennt; einer davon muss eingeschaltet sein.</translation>
    </message>
    <message numerus="yes">
      <source>This link lets {name} in for %Ln day(s), and nobody else. Send it to them: they paste it under Add a run, or open it. To let them in for longer, make another one.</source>
      <translation>
        <numerusform>Dieser Link lässt {name} für %Ln Tag herein und sonst niemanden. Schicke ihn: Er wird unter „Lauf hinzufügen“ eingefügt oder geöffnet. Soll der Zugang länger gelten, erzeuge einen neuen.</numerusform>
        <numerusform>Dieser Link lässt {name} für %Ln Tage herein und sonst niemanden. Schicke ihn: Er wird unter „Lauf hinzufügen“ eingefügt oder geöffnet. Soll der Zugang länger gelten, erzeuge einen neuen.</numerusform>
      </translation>
    </message>
    <message>
      <source>Invite others</source>
      <translation>Andere einladen</translation>
    </message>
    <message>
      <source>The link as QR code</source>
      <translation>Der Link als QR-Code</translation>
    </message>
    <message>
      <source>Copy the link</source>
      <translation>Link kopieren</translation>
    </message>
    <message>
      <source>Address of their PC</source>
      <translation>Adresse ihres PCs</translation>
    </message>
    <message>
      <source>Their name</source>
      <translation>Name der Person</translation>
    </message>
    <message>
      <source>Valid for</source>
      <translation>Gültig für</translation>
    </message>
    <message>
      <source>days</source>
      <translation>Tage</translation>
    </message>
    <message>
      <source>Make the link</source>
      <translation>Link erzeugen</translation>
    </message>
    <message>
      <source>Asking the worker for the link.</source>
      <translation>Der Worker wird nach dem Link gefragt.</translation>
    </message>
    <message>
      <source>There is no link to this run.</source>
      <translation>Zu diesem Lauf gibt es keinen Link.</translation>
    </message>
    <message>
      <source>Copy the address</source>
      <translation>Adresse kopieren</translation>
    </message>
    <message>
      <source>Fill in the address of their PC and their name.</source>
      <translation>Gib die Adresse des PCs und den Namen der Person an.</translation>
    </message>
    <message>
      <source>Paste the link that somebody gave you, or open the file of a manifest. You see what the run is before you join it.</source>
      <translation>Füge den Link ein, den dir jemand gegeben hat, oder öffne die Datei eines Manifests. Du siehst, was der Lauf ist, bevor du beitrittst.</translation>
    </message>
    <message>
      <source>Nobody has signed this run: nobody can say who made it, or whether it was changed on the way. Join it only if you trust whoever gave it to you.</source>
      <translation>Niemand hat diesen Lauf unterschrieben: Niemand kann sagen, wer ihn gemacht hat oder ob er unterwegs geändert wurde. Tritt nur bei, wenn du dem vertraust, von dem du ihn hast.</translation>
    </message>
    <message>
      <source>Careful: this is not the run “{title}” that this PC has joined ({run}). It only has the same title, and the organiser of that one has not signed it.</source>
      <translation>Vorsicht: Das ist nicht der Lauf „{title}“, dem dieser PC beigetreten ist ({run}). Er hat nur denselben Titel, und der Veranstalter von jenem hat ihn nicht unterschrieben.</translation>
    </message>
    <message>
      <source>None has been found. Runs show up here as soon as another PC of this network trains them.</source>
      <translation>Keiner gefunden. Läufe erscheinen hier, sobald ein anderer PC in diesem Netzwerk sie trainiert.</translation>
    </message>
    <message>
      <source>“Find peers on this network” is off in Settings, so nobody looks for runs here.</source>
      <translation>„Peers in diesem Netzwerk finden“ ist in den Einstellungen aus, deshalb wird hier nach keinen Läufen gesucht.</translation>
    </message>
    <message>
      <source>“Work with other peers” is off in Settings, so nobody looks for runs here.</source>
      <translation>„Mit anderen Peers arbeiten“ ist in den Einstellungen aus, deshalb wird hier nach keinen Läufen gesucht.</translation>
    </message>
    <message>
      <source>This PC has joined this run already. Joining it again takes over what its organiser has changed, if this is newer.</source>
      <translation>Dieser PC ist diesem Lauf schon beigetreten. Ein neuer Beitritt übernimmt, was der Veranstalter geändert hat, wenn das hier neuer ist.</translation>
    </message>
    <message>
      <source>Add a run</source>
      <translation>Lauf hinzufügen</translation>
    </message>
    <message>
      <source>Look at this run</source>
      <translation>Lauf ansehen</translation>
    </message>
    <message>
      <source>Paste</source>
      <translation>Einfügen</translation>
    </message>
    <message>
      <source>Open a file…</source>
      <translation>Datei öffnen…</translation>
    </message>
    <message>
      <source>Weight</source>
      <translation>Gewicht</translation>
    </message>
    <message>
      <source>Join this run</source>
      <translation>Diesem Lauf beitreten</translation>
    </message>
    <message numerus="yes">
      <source>%Ln PC(s) here say(s) to train it; signed by {key}</source>
      <translation>
        <numerusform>%Ln PC hier gibt an, ihn zu trainieren; unterschrieben von {key}</numerusform>
        <numerusform>%Ln PCs hier geben an, ihn zu trainieren; unterschrieben von {key}</numerusform>
      </translation>
    </message>
    <message>
      <source>The organiser's manifest</source>
      <translation>Das Manifest des Veranstalters</translation>
    </message>
    <message>
      <source>Manifests (*.toml *.json)</source>
      <translation>Manifeste (*.toml *.json)</translation>
    </message>
    <message>
      <source>Asking the peers in the link what this run is. That does not join it.</source>
      <translation>Die Peers des Links werden gefragt, was dieser Lauf ist. Das ist noch kein Beitritt.</translation>
    </message>
    <message>
      <source>Reading what this run is. That does not join it.</source>
      <translation>Es wird gelesen, was dieser Lauf ist. Das ist noch kein Beitritt.</translation>
    </message>
    <message>
      <source>{seconds} s; gives up after {most} s.</source>
      <translation>{seconds} s; gibt nach {most} s auf.</translation>
    </message>
    <message>
      <source>Join “{run}”?</source>
      <translation>„{run}“ beitreten?</translation>
    </message>
    <message>
      <source>Joining. The run begins beside the others.</source>
      <translation>Der Beitritt läuft. Der Lauf beginnt neben den anderen.</translation>
    </message>
    <message>
      <source>Joined “{run}” with weight {weight}.</source>
      <translation>„{run}“ mit Gewicht {weight} beigetreten.</translation>
    </message>
    <message>
      <source>{share} of the time that this PC computes</source>
      <translation>{share} der Zeit, in der dieser PC rechnet</translation>
    </message>
    <message>
      <source>Paste a link</source>
      <translation>Einen Link einfügen</translation>
    </message>
    <message>
      <source>Runs in your local network</source>
      <translation>Läufe in deinem lokalen Netzwerk</translation>
    </message>
    <message>
      <source>Runs that come with Hearth</source>
      <translation>Läufe, die zu Hearth gehören</translation>
    </message>
    <message>
      <source>Another link has arrived. Open it again when you have decided on this run.</source>
      <translation>Ein anderer Link ist eingetroffen. Öffne ihn erneut, wenn du über diesen Lauf entschieden hast.</translation>
    </message>
    <message>
      <source>Waiting for the worker to look at the run.</source>
      <translation>Warten auf den Worker, der den Lauf ansieht.</translation>
    </message>
    <message>
      <source>Before you join</source>
      <translation>Bevor du beitrittst</translation>
    </message>
    <message>
      <source>Who signs it</source>
      <translation>Wer ihn unterschreibt</translation>
    </message>
    <message>
      <source>What it learns</source>
      <translation>Was er lernt</translation>
    </message>
    <message>
      <source>On which data</source>
      <translation>Mit welchen Daten</translation>
    </message>
    <message>
      <source>Who may take part</source>
      <translation>Wer mitmachen darf</translation>
    </message>
    <message>
      <source>What it needs</source>
      <translation>Was er braucht</translation>
    </message>
    <message>
      <source>What it cannot do</source>
      <translation>Was er nicht kann</translation>
    </message>
    <message>
      <source>Run code here: a manifest is numbers and names that are checked.</source>
      <translation>Hier Code ausführen: Ein Manifest besteht aus Zahlen und Namen, die geprüft werden.</translation>
    </message>
    <message>
      <source>Look</source>
      <translation>Ansehen</translation>
    </message>
    <message>
      <source>Look at {run}</source>
      <translation>{run} ansehen</translation>
    </message>
    <message>
      <source>Appears as soon as the worker has sent it.</source>
      <translation>Erscheint, sobald der Worker es gesendet hat.</translation>
    </message>
    <message>
      <source>This is the only run of this PC. Add another one first, then leave this one.</source>
      <translation>Das ist der einzige Lauf dieses PCs. Füge zuerst einen anderen hinzu, dann verlass diesen.</translation>
    </message>
    <message>
      <source>Trains by itself as soon as that is ready.</source>
      <translation>Trainiert von selbst, sobald der so weit ist.</translation>
    </message>
    <message>
      <source>Continues by itself once that is over.</source>
      <translation>Geht von selbst weiter, sobald das nicht mehr so ist.</translation>
    </message>
    <message>
      <source>Continues when its organiser sets a higher goal. Until then the other runs get its time.</source>
      <translation>Geht weiter, wenn der Veranstalter ein höheres Ziel setzt. Bis dahin bekommen die anderen Läufe seine Zeit.</translation>
    </message>
    <message>
      <source>{pace} per second, step {step}.</source>
      <translation>{pace} pro Sekunde, Schritt {step}.</translation>
    </message>
    <message>
      <source>Ends by itself, in 10 s at the latest.</source>
      <translation>Endet von selbst, spätestens in 10 s.</translation>
    </message>
    <message>
      <source>Preparing</source>
      <translation>Bereitet sich vor</translation>
    </message>
    <message>
      <source>Its compute process has not started to train yet.</source>
      <translation>Sein Rechenprozess trainiert noch nicht.</translation>
    </message>
    <message>
      <source>Leave “{run}”? What was trained stays here; the other runs get its time.</source>
      <translation>„{run}“ verlassen? Was trainiert wurde, bleibt hier; die anderen Läufe bekommen seine Zeit.</translation>
    </message>
    <message>
      <source>Continues when it has room: allow more disk space in Settings, or leave another run.</source>
      <translation>Geht weiter, wenn Platz da ist: Erlaube in den Einstellungen mehr Speicherplatz oder verlass einen anderen Lauf.</translation>
    </message>
    <message>
      <source>Waits</source>
      <translation>Wartet</translation>
    </message>
    <message>
      <source>Goal reached</source>
      <translation>Ziel erreicht</translation>
    </message>
    <message>
      <source>Training</source>
      <translation>Trainiert</translation>
    </message>
    <message>
      <source>Stopping</source>
      <translation>Hört auf</translation>
    </message>
    <message>
      <source>It saves its work.</source>
      <translation>Er speichert seine Arbeit.</translation>
    </message>
    <message>
      <source>Asking</source>
      <translation>Wird gefragt</translation>
    </message>
    <message>
      <source>Weight of {run}</source>
      <translation>Gewicht von {run}</translation>
    </message>
    <message>
      <source>Show its figures</source>
      <translation>Zahlen zeigen</translation>
    </message>
    <message>
      <source>Invite</source>
      <translation>Einladen</translation>
    </message>
    <message>
      <source>Leave</source>
      <translation>Verlassen</translation>
    </message>
    <message>
      <source>Stay</source>
      <translation>Bleiben</translation>
    </message>
    <message>
      <source>Leave this run</source>
      <translation>Diesen Lauf verlassen</translation>
    </message>
    <message numerus="yes">
      <source>sample(s)</source>
      <translation>
        <numerusform>Beispiel</numerusform>
        <numerusform>Beispiele</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>call(s)</source>
      <translation>
        <numerusform>Aufruf</numerusform>
        <numerusform>Aufrufe</numerusform>
      </translation>
    </message>
    <message>
      <source>Saving what was trained. The run is left as soon as that is done.</source>
      <translation>Was trainiert wurde, wird gespeichert. Danach ist der Lauf verlassen.</translation>
    </message>
    <message>
      <source>Computed today</source>
      <translation>Heute gerechnet</translation>
    </message>
    <message>
      <source>Computed in total</source>
      <translation>Insgesamt gerechnet</translation>
    </message>
    <message>
      <source>Trained here</source>
      <translation>Hier trainiert</translation>
    </message>
    <message>
      <source>Answered for others</source>
      <translation>Für andere beantwortet</translation>
    </message>
    <message>
      <source>Organiser</source>
      <translation>Veranstalter</translation>
    </message>
    <message>
      <source>Learns</source>
      <translation>Lernt</translation>
    </message>
    <message>
      <source>Data</source>
      <translation>Daten</translation>
    </message>
    <message>
      <source>Access</source>
      <translation>Zugang</translation>
    </message>
    <message>
      <source>Show the figures of {run}</source>
      <translation>Zahlen von {run} zeigen</translation>
    </message>
    <message>
      <source>Invite to {run}</source>
      <translation>Zu {run} einladen</translation>
    </message>
    <message>
      <source>Leave {run}</source>
      <translation>{run} verlassen</translation>
    </message>
    <message>
      <source>All of the time, as there is no other run.</source>
      <translation>Die ganze Zeit, da es keinen anderen Lauf gibt.</translation>
    </message>
    <message>
      <source>Picture of the run</source>
      <translation>Bild des Laufs</translation>
    </message>
    <message>
      <source>Appears as soon as the worker has sent its runs.</source>
      <translation>Erscheint, sobald der Worker seine Läufe gesendet hat.</translation>
    </message>
    <message>
      <source>A link or the file of a manifest can also be dropped onto this window.</source>
      <translation>Ein Link oder die Datei eines Manifests lässt sich auch auf dieses Fenster ziehen.</translation>
    </message>
    <message>
      <source>What this PC trains, for whom, and how the runs share its time.</source>
      <translation>Was dieser PC trainiert, für wen, und wie die Läufe sich seine Zeit teilen.</translation>
    </message>
    <message>
      <source>Left “{run}”. What was trained stays in the data folder.</source>
      <translation>„{run}“ verlassen. Was trainiert wurde, bleibt im Datenordner.</translation>
    </message>
    <message>
      <source>old figures</source>
      <translation>alte Zahlen</translation>
    </message>
    <message>
      <source>The worker saves and ends, Hearth no longer starts when you log in, and asks again before it does anything. What was trained stays on this PC.</source>
      <translation>Der Worker speichert und endet, Hearth startet nicht mehr bei der Anmeldung und fragt erneut, bevor es etwas tut. Was trainiert wurde, bleibt auf diesem PC.</translation>
    </message>
    <message>
      <source>The worker saves and ends, and this window closes. If you only close the window, Hearth keeps running.</source>
      <translation>Der Worker speichert und endet, und dieses Fenster schließt sich. Schließt du nur das Fenster, läuft Hearth weiter.</translation>
    </message>
    <message>
      <source>You agreed on {date}, in the window.</source>
      <translation>Du hast am {date} im Fenster zugestimmt.</translation>
    </message>
    <message>
      <source>Withdraw consent</source>
      <translation>Zustimmung widerrufen</translation>
    </message>
    <message>
      <source>Quit Hearth</source>
      <translation>Hearth beenden</translation>
    </message>
    <message>
      <source>Consent and quitting</source>
      <translation>Zustimmung und Beenden</translation>
    </message>
    <message>
      <source>Withdraw and quit</source>
      <translation>Widerrufen und beenden</translation>
    </message>
    <message>
      <source>Keep it</source>
      <translation>Beibehalten</translation>
    </message>
    <message>
      <source>Quit</source>
      <translation>Beenden</translation>
    </message>
    <message>
      <source>Withdraw your consent and quit Hearth now?</source>
      <translation>Deine Zustimmung widerrufen und Hearth jetzt beenden?</translation>
    </message>
    <message>
      <source>You agreed on {date}, by starting a worker on the command line.</source>
      <translation>Du hast am {date} zugestimmt, indem du auf der Kommandozeile einen Worker gestartet hast.</translation>
    </message>
    <message>
      <source>To another folder, such as one on a larger disk. The worker ends and starts again there.</source>
      <translation>In einen anderen Ordner, etwa auf einem größeren Laufwerk. Der Worker endet und startet dort neu.</translation>
    </message>
    <message>
      <source>Key, ledger, settings and runs in one file. It contains this PC's secret key: whoever has the file can impersonate this PC. Keep it to yourself.</source>
      <translation>Schlüssel, Verlauf, Einstellungen und Läufe in einer Datei. Sie enthält den geheimen Schlüssel dieses PCs: Wer die Datei hat, kann sich als dieser PC ausgeben. Behalte sie für dich.</translation>
    </message>
    <message>
      <source>Brings back what a backup holds. Everything that is here now is deleted.</source>
      <translation>Bringt zurück, was eine Sicherung enthält. Alles, was jetzt hier ist, wird gelöscht.</translation>
    </message>
    <message>
      <source>Key, ledger, settings, runs, checkpoints, the start at login and the links. Without a backup or the recovery words, this PC's key and its credit are lost for good. The program stays.</source>
      <translation>Schlüssel, Verlauf, Einstellungen, Läufe, Checkpoints, den Start beim Anmelden und die Links. Ohne Sicherung oder Wiederherstellungswörter sind der Schlüssel dieses PCs und seine Gutschriften endgültig verloren. Das Programm bleibt.</translation>
    </message>
    <message>
      <source>Backups (*.zip)</source>
      <translation>Datensicherungen (*.zip)</translation>
    </message>
    <message>
      <source>Checkpoints of runs</source>
      <translation>Checkpoints der Läufe</translation>
    </message>
    <message>
      <source>Copies kept for other peers</source>
      <translation>Kopien für andere Peers</translation>
    </message>
    <message>
      <source>Data of runs</source>
      <translation>Daten der Läufe</translation>
    </message>
    <message>
      <source>Data of your own runs</source>
      <translation>Daten deiner eigenen Läufe</translation>
    </message>
    <message>
      <source>GPU packs</source>
      <translation>GPU-Pakete</translation>
    </message>
    <message>
      <source>Ledger and history</source>
      <translation>Verlauf</translation>
    </message>
    <message>
      <source>Key, settings and the rest</source>
      <translation>Schlüssel, Einstellungen und der Rest</translation>
    </message>
    <message>
      <source>Delete all data here and restore the backup?</source>
      <translation>Alle Daten, die hier sind, löschen und die Sicherung einspielen?</translation>
    </message>
    <message>
      <source>Delete everything now and quit Hearth?</source>
      <translation>Jetzt alles löschen und Hearth beenden?</translation>
    </message>
    <message>
      <source>Move…</source>
      <translation>Verschieben…</translation>
    </message>
    <message>
      <source>Back up…</source>
      <translation>Sichern…</translation>
    </message>
    <message>
      <source>With checkpoints</source>
      <translation>Mit Checkpoints</translation>
    </message>
    <message>
      <source>Restore…</source>
      <translation>Einspielen…</translation>
    </message>
    <message>
      <source>Delete everything…</source>
      <translation>Alles löschen…</translation>
    </message>
    <message>
      <source>Move</source>
      <translation>Verschieben</translation>
    </message>
    <message>
      <source>Save a backup</source>
      <translation>Sicherung speichern</translation>
    </message>
    <message>
      <source>Restore a backup</source>
      <translation>Sicherung einspielen</translation>
    </message>
    <message>
      <source>Restore</source>
      <translation>Einspielen</translation>
    </message>
    <message>
      <source>Delete and quit</source>
      <translation>Löschen und beenden</translation>
    </message>
    <message>
      <source>Move all data to another folder</source>
      <translation>Alle Daten in einen anderen Ordner verschieben</translation>
    </message>
    <message>
      <source>Back up the data</source>
      <translation>Eine Sicherung der Daten speichern</translation>
    </message>
    <message>
      <source>Back up</source>
      <translation>Sichern</translation>
    </message>
    <message>
      <source>Delete everything</source>
      <translation>Alles löschen</translation>
    </message>
    <message>
      <source>An empty folder for Hearth's data</source>
      <translation>Ein leerer Ordner für die Daten von Hearth</translation>
    </message>
    <message>
      <source>That did not work. Try again.</source>
      <translation>Das ist nicht gelungen. Versuch es erneut.</translation>
    </message>
    <message>
      <source>In total</source>
      <translation>Insgesamt</translation>
    </message>
    <message>
      <source>{done} of {total}</source>
      <translation>{done} von {total}</translation>
    </message>
    <message numerus="yes">
      <source>{done} of {total}, %Ln second(s) left</source>
      <translation>
        <numerusform>{done} von {total}, noch %Ln Sekunde</numerusform>
        <numerusform>{done} von {total}, noch %Ln Sekunden</numerusform>
      </translation>
    </message>
    <message>
      <source>Look now</source>
      <translation>Jetzt suchen</translation>
    </message>
    <message>
      <source>Install</source>
      <translation>Installieren</translation>
    </message>
    <message>
      <source>Asking the release feed…</source>
      <translation>Die Versionsliste wird abgefragt …</translation>
    </message>
    <message>
      <source>An NVIDIA GPU needs a pack of some gigabytes. It is fetched once, by your click, and tried before compute uses it. If it does not work, the CPU computes as before.</source>
      <translation>Eine NVIDIA-GPU braucht ein Paket von einigen Gigabyte. Es wird einmal geladen, wenn du es willst, und geprüft, bevor damit gerechnet wird. Funktioniert es nicht, rechnet die CPU wie bisher.</translation>
    </message>
    <message>
      <source>Fetching the pack. Then it is tried, for three minutes at most.</source>
      <translation>Das Paket wird geladen. Danach wird es geprüft, höchstens drei Minuten lang.</translation>
    </message>
    <message>
      <source>Look for a pack now</source>
      <translation>Jetzt nach einem Paket suchen</translation>
    </message>
    <message>
      <source>Install the pack</source>
      <translation>Das Paket installieren</translation>
    </message>
    <message>
      <source>GPU pack</source>
      <translation>GPU-Paket</translation>
    </message>
    <message>
      <source>Compute on the GPU</source>
      <translation>Auf der GPU rechnen</translation>
    </message>
    <message>
      <source>Remove</source>
      <translation>Entfernen</translation>
    </message>
    <message>
      <source>For {cards}: {size} to fetch, {unpacked} on the disk.</source>
      <translation>Für {cards}: {size} zu laden, {unpacked} auf der Festplatte.</translation>
    </message>
    <message>
      <source>Removing the pack…</source>
      <translation>Das Paket wird entfernt …</translation>
    </message>
    <message>
      <source>Stop fetching the pack</source>
      <translation>Das Laden des Pakets anhalten</translation>
    </message>
    <message>
      <source>Remove the pack</source>
      <translation>Das Paket entfernen</translation>
    </message>
    <message>
      <source>Compute uses the pack with torch {version}.</source>
      <translation>Gerechnet wird mit dem Paket mit torch {version}.</translation>
    </message>
    <message>
      <source>This is the newest pack.</source>
      <translation>Das ist das neueste Paket.</translation>
    </message>
    <message>
      <source>Compute did not start with the pack, so the CPU computes.</source>
      <translation>Mit dem Paket startete der Rechenprozess nicht; deshalb rechnet die CPU.</translation>
    </message>
    <message>
      <source>Peers know this PC by a key. If its disk fails, “hearth identity import” and these 24 words bring the key and its credit back. Write them down: whoever has them can impersonate this PC.</source>
      <translation>Peers kennen diesen PC an einem Schlüssel. Geht die Festplatte kaputt, bringen „hearth identity import“ und diese 24 Wörter ihn und seine Gutschriften zurück. Schreib sie auf: Wer sie hat, kann sich als dieser PC ausgeben.</translation>
    </message>
    <message>
      <source>Show the recovery words</source>
      <translation>Wiederherstellungswörter zeigen</translation>
    </message>
    <message>
      <source>Copy the recovery words</source>
      <translation>Wiederherstellungswörter kopieren</translation>
    </message>
    <message>
      <source>Hide the words</source>
      <translation>Wörter verbergen</translation>
    </message>
    <message>
      <source>The key could not be read. Try again.</source>
      <translation>Der Schlüssel konnte nicht gelesen werden. Versuch es erneut.</translation>
    </message>
    <message>
      <source>{label}, as text</source>
      <translation>{label}, als Text</translation>
    </message>
    <message>
      <source>Choose at least one hour. Until then nothing changes.</source>
      <translation>Wähle mindestens eine Stunde. Bis dahin ändert sich nichts.</translation>
    </message>
    <message>
      <source>Every hour</source>
      <translation>Jede Stunde</translation>
    </message>
    <message>
      <source>From a manifest's file…</source>
      <translation>Aus der Datei eines Manifests …</translation>
    </message>
    <message>
      <source>File {name}</source>
      <translation>Datei {name}</translation>
    </message>
    <message>
      <source>At most</source>
      <translation>Höchstens</translation>
    </message>
    <message>
      <source>{label}: every hour</source>
      <translation>{label}: jede Stunde</translation>
    </message>
    <message>
      <source>Clear {label}</source>
      <translation>{label}: leeren</translation>
    </message>
    <message>
      <source>Start Hearth when I log in</source>
      <translation>Hearth starten, wenn ich mich anmelde</translation>
    </message>
    <message>
      <source>It starts without opening its window, in the tray if your desktop has one. Your system stores this; you can change it there too.</source>
      <translation>Hearth startet, ohne sein Fenster zu öffnen, im Infobereich, wenn deine Oberfläche einen hat. Dein System merkt sich das; dort lässt es sich auch ändern.</translation>
    </message>
    <message>
      <source>Open links to runs with Hearth</source>
      <translation>Links zu Läufen mit Hearth öffnen</translation>
    </message>
    <message>
      <source>A click on a link that begins with hearth:// shows what that run is, and asks whether to join it. Your system stores this.</source>
      <translation>Ein Klick auf einen Link, der mit hearth:// beginnt, zeigt, was der Lauf ist, und fragt, ob du beitreten willst. Dein System merkt sich das.</translation>
    </message>
    <message>
      <source>Pending restart: the worker reads it when it starts.</source>
      <translation>Neustart steht aus: Der Worker liest es beim Start.</translation>
    </message>
    <message>
      <source>Restart the worker</source>
      <translation>Worker neu starten</translation>
    </message>
    <message>
      <source>Restart the worker for {label}</source>
      <translation>Worker neu starten für {label}</translation>
    </message>
    <message>
      <source>Pending restart: the window reads it when it starts. The worker keeps running meanwhile.</source>
      <translation>Neustart steht aus: Das Fenster liest es beim Start. Der Worker läuft währenddessen weiter.</translation>
    </message>
    <message>
      <source>Restart the window</source>
      <translation>Fenster neu starten</translation>
    </message>
    <message>
      <source>Restart the window for {label}</source>
      <translation>Fenster neu starten für {label}</translation>
    </message>
    <message>
      <source>Reset {label}</source>
      <translation>{label} zurücksetzen</translation>
    </message>
    <message>
      <source>Reset</source>
      <translation>Zurücksetzen</translation>
    </message>
    <message numerus="yes">
      <source>This PC has %Ln core(s).</source>
      <translation>
        <numerusform>Dieser PC hat %Ln Kern.</numerusform>
        <numerusform>Dieser PC hat %Ln Kerne.</numerusform>
      </translation>
    </message>
    <message>
      <source>Reset all of these</source>
      <translation>Alle zurücksetzen</translation>
    </message>
    <message>
      <source>Changed from the standard value</source>
      <translation>Weicht vom Standardwert ab</translation>
    </message>
    <message>
      <source>Reset all of {title}</source>
      <translation>Alles zurücksetzen: {title}</translation>
    </message>
    <message>
      <source>Settings can be changed as soon as the worker answers.</source>
      <translation>Einstellungen lassen sich ändern, sobald der Worker antwortet.</translation>
    </message>
    <message>
      <source>What leaves this PC, and which program runs here</source>
      <translation>Was diesen PC verlässt und welches Programm hier läuft</translation>
    </message>
    <message>
      <source>Changes apply at once, or after a restart where a setting says so.</source>
      <translation>Änderungen gelten sofort oder, wo es dabeisteht, nach einem Neustart.</translation>
    </message>
    <message>
      <source>Settings</source>
      <translation>Einstellungen</translation>
    </message>
    <message>
      <source>Identity</source>
      <translation>Identität</translation>
    </message>
    <message>
      <source>No setting matches “{words}”. Try another word.</source>
      <translation>Keine Einstellung passt zu „{words}“. Versuche ein anderes Wort.</translation>
    </message>
    <message numerus="yes">
      <source>{label} and %Ln more</source>
      <translation>
        <numerusform>{label} und %Ln weitere</numerusform>
        <numerusform>{label} und %Ln weitere</numerusform>
      </translation>
    </message>
    <message>
      <source>Now: {limit}</source>
      <translation>Jetzt: {limit}</translation>
    </message>
    <message>
      <source>Back to Why</source>
      <translation>Zurück zu „Warum“</translation>
    </message>
    <message>
      <source>Search settings</source>
      <translation>Einstellungen suchen</translation>
    </message>
    <message>
      <source>Search settings by label, explanation and similar words</source>
      <translation>Einstellungen nach Beschriftung, Erklärung und ähnlichen Wörtern durchsuchen</translation>
    </message>
    <message>
      <source>Section</source>
      <translation>Abschnitt</translation>
    </message>
    <message>
      <source>Sections</source>
      <translation>Abschnitte</translation>
    </message>
    <message>
      <source>Back to “Why am I running, or not?”</source>
      <translation>Zurück zu „Warum rechnet Hearth, oder nicht?“</translation>
    </message>
    <message>
      <source>Undo: {what}</source>
      <translation>Rückgängig: {what}</translation>
    </message>
    <message>
      <source>Undoes: {what}</source>
      <translation>Macht rückgängig: {what}</translation>
    </message>
    <message>
      <source>network model task project training data text digits manifest</source>
      <translation>netz modell aufgabe projekt training daten text ziffern manifest</translation>
    </message>
    <message>
      <source>preset mode cpu processor gpu memory quiet loud fan noise performance power share</source>
      <translation>voreinstellung modus cpu prozessor gpu speicher leise laut lüfter geräusch leistung strom anteil</translation>
    </message>
    <message>
      <source>idle away absent background mouse keyboard screen lock</source>
      <translation>leerlauf weg abwesend hintergrund maus tastatur bildschirmsperre</translation>
    </message>
    <message>
      <source>idle timeout minutes delay wait</source>
      <translation>leerlauf zeitlimit minuten verzögerung warten</translation>
    </message>
    <message>
      <source>idle wayland x11 detect unknown</source>
      <translation>leerlauf wayland x11 erkennen unbekannt</translation>
    </message>
    <message>
      <source>graphics card video cuda games stutter</source>
      <translation>grafikkarte video cuda spiele ruckeln</translation>
    </message>
    <message>
      <source>laptop notebook unplugged mains power supply</source>
      <translation>laptop notebook akku netzteil steckdose strom</translation>
    </message>
    <message>
      <source>laptop notebook charge level power</source>
      <translation>laptop notebook akku ladestand strom</translation>
    </message>
    <message>
      <source>sleep suspend standby hibernate power</source>
      <translation>schlafen energiesparen standby ruhezustand strom</translation>
    </message>
    <message>
      <source>cpu processor load usage give way slow other programs</source>
      <translation>cpu prozessor last auslastung langsam andere programme</translation>
    </message>
    <message>
      <source>gaming games fullscreen film movie video presentation</source>
      <translation>spiele gaming vollbild film video präsentation</translation>
    </message>
    <message>
      <source>apps applications software exclude block list</source>
      <translation>apps anwendungen software ausschließen ausnahme liste</translation>
    </message>
    <message>
      <source>apps applications software exclude block list graphics card</source>
      <translation>apps anwendungen software ausschließen ausnahme liste grafikkarte</translation>
    </message>
    <message>
      <source>cpu processor load usage percent limit throttle slow</source>
      <translation>cpu prozessor last auslastung prozent grenze drosseln langsam</translation>
    </message>
    <message>
      <source>cpu processor load usage percent limit throttle</source>
      <translation>cpu prozessor last auslastung prozent grenze drosseln</translation>
    </message>
    <message>
      <source>cpu processor cores multithreading</source>
      <translation>cpu prozessor kerne multithreading</translation>
    </message>
    <message>
      <source>graphics card vram video memory</source>
      <translation>grafikkarte vram grafikspeicher</translation>
    </message>
    <message>
      <source>ram limit</source>
      <translation>ram hauptspeicher grenze</translation>
    </message>
    <message>
      <source>ram reserve limit</source>
      <translation>ram hauptspeicher reserve grenze</translation>
    </message>
    <message>
      <source>ram release unload</source>
      <translation>ram hauptspeicher freigeben entladen</translation>
    </message>
    <message>
      <source>ram hosting limit</source>
      <translation>ram hauptspeicher beherbergen grenze</translation>
    </message>
    <message>
      <source>storage ssd hard drive space quota limit</source>
      <translation>speicherplatz ssd festplatte kontingent grenze</translation>
    </message>
    <message>
      <source>storage ssd hard drive space reserve limit</source>
      <translation>speicherplatz ssd festplatte reserve grenze</translation>
    </message>
    <message>
      <source>offline alone internet network connect swarm</source>
      <translation>offline allein internet netzwerk verbinden schwarm</translation>
    </message>
    <message>
      <source>local network wifi discovery find mdns</source>
      <translation>lokales netzwerk wlan heimnetz finden mdns</translation>
    </message>
    <message>
      <source>router nat forward traffic server</source>
      <translation>router nat weiterleiten datenverkehr server</translation>
    </message>
    <message>
      <source>mobile data phone hotspot tethering cost</source>
      <translation>mobile daten handy hotspot tethering kosten</translation>
    </message>
    <message>
      <source>bandwidth speed limit network internet traffic</source>
      <translation>bandbreite geschwindigkeit grenze netzwerk internet hochladen herunterladen</translation>
    </message>
    <message>
      <source>bandwidth data cap volume limit upload download internet</source>
      <translation>bandbreite datenvolumen kontingent grenze upload download internet</translation>
    </message>
    <message>
      <source>nickname user leaderboard credit</source>
      <translation>spitzname benutzer rangliste gutschrift</translation>
    </message>
    <message>
      <source>group club leaderboard credit</source>
      <translation>gruppe verein rangliste gutschrift</translation>
    </message>
    <message>
      <source>schedule timetable calendar hours days week night time clock</source>
      <translation>zeitplan kalender stunden tage woche nacht uhrzeit</translation>
    </message>
    <message>
      <source>schedule timetable calendar hours days week night time clock bandwidth</source>
      <translation>zeitplan kalender stunden tage woche nacht uhrzeit bandbreite</translation>
    </message>
    <message>
      <source>cpu processor heat temperature hot cool fan noise degrees</source>
      <translation>cpu prozessor hitze wärme temperatur heiß kühl lüfter geräusch grad</translation>
    </message>
    <message>
      <source>heat temperature hot cool fan noise degrees graphics card</source>
      <translation>hitze wärme temperatur heiß kühl lüfter geräusch grad grafikkarte</translation>
    </message>
    <message>
      <source>cpu processor power watts heat electricity limit</source>
      <translation>cpu prozessor strom leistung watt hitze grenze</translation>
    </message>
    <message>
      <source>power watts heat electricity limit graphics card</source>
      <translation>strom leistung watt hitze grenze grafikkarte</translation>
    </message>
    <message>
      <source>power electricity cost limit budget</source>
      <translation>strom energie kosten grenze budget</translation>
    </message>
    <message>
      <source>power electricity cost money bill tariff</source>
      <translation>strom energie kosten geld rechnung tarif</translation>
    </message>
    <message>
      <source>carbon emissions climate green power</source>
      <translation>kohlendioxid emissionen klima ökostrom</translation>
    </message>
    <message>
      <source>cpu processor power watts tdp measure</source>
      <translation>cpu prozessor strom leistung watt tdp messen</translation>
    </message>
    <message>
      <source>dark mode light mode night colour color appearance design</source>
      <translation>dunkelmodus dunkel hell modus nacht farbe aussehen design</translation>
    </message>
    <message>
      <source>german english deutsch englisch translation locale</source>
      <translation>deutsch englisch german english sprache übersetzung</translation>
    </message>
    <message>
      <source>idle screen display animation</source>
      <translation>bildschirmschoner leerlauf anzeige animation</translation>
    </message>
    <message>
      <source>idle screen display off burn-in</source>
      <translation>bildschirmschoner leerlauf anzeige aus schwarz einbrennen</translation>
    </message>
    <message>
      <source>animation effects accessibility</source>
      <translation>animation effekte barrierefreiheit</translation>
    </message>
    <message>
      <source>notification alert message warning popup error</source>
      <translation>benachrichtigung hinweis meldung warnung fehler</translation>
    </message>
    <message>
      <source>notification alert message popup badge</source>
      <translation>benachrichtigung hinweis meldung abzeichen</translation>
    </message>
    <message>
      <source>upgrade new version download release automatic</source>
      <translation>Upgrade neue Version herunterladen automatisch</translation>
    </message>
    <message>
      <source>notification alert message popup version</source>
      <translation>benachrichtigung hinweis meldung aktualisierung version</translation>
    </message>
    <message>
      <source>socket remote ssh cli</source>
      <translation>socket fernsteuerung ssh kommandozeile</translation>
    </message>
    <message>
      <source>autostart auto start startup boot launch</source>
      <translation>autostart automatisch starten systemstart hochfahren</translation>
    </message>
    <message>
      <source>url browser hearth:// protocol handler</source>
      <translation>url browser hearth:// protokoll adresse</translation>
    </message>
    <message>
      <source>key private key backup recovery words seed phrase password account</source>
      <translation>schlüssel sicherung wiederherstellung wörter passwort konto</translation>
    </message>
    <message>
      <source>upgrade new version download release patch</source>
      <translation>Update Upgrade neue Version herunterladen</translation>
    </message>
    <message>
      <source>graphics card nvidia cuda video card faster download</source>
      <translation>grafikkarte gpu nvidia cuda schneller herunterladen</translation>
    </message>
    <message>
      <source>folder directory disk storage backup export import migrate reset uninstall remove erase wipe</source>
      <translation>Ordner Verzeichnis Festplatte Speicherplatz Backup exportieren importieren umziehen zurücksetzen deinstallieren entfernen</translation>
    </message>
    <message>
      <source>quit exit close stop end uninstall revoke withdraw privacy agreement terms opt out</source>
      <translation>beenden schließen aufhören stoppen deinstallieren widerrufen einwilligung datenschutz</translation>
    </message>
    <message>
      <source>Nothing is installed without your click. Hearth restarts then; if the new version does not start, the one that runs now comes back.</source>
      <translation>Ohne deinen Klick wird nichts installiert. Hearth startet dann neu; startet die neue Version nicht, kommt die jetzige zurück.</translation>
    </message>
    <message>
      <source>Fetching the update. Hearth restarts then.</source>
      <translation>Das Update wird geladen. Danach startet Hearth neu.</translation>
    </message>
    <message>
      <source>Look for updates now</source>
      <translation>Jetzt nach Updates suchen</translation>
    </message>
    <message>
      <source>Install the update</source>
      <translation>Das Update installieren</translation>
    </message>
    <message>
      <source>This is Hearth {version}.</source>
      <translation>Dies ist Hearth {version}.</translation>
    </message>
    <message>
      <source>Hearth {version} is available, {size} to fetch.</source>
      <translation>Hearth {version} ist da, {size} sind zu laden.</translation>
    </message>
    <message>
      <source>This is the newest version.</source>
      <translation>Dies ist die neueste Version.</translation>
    </message>
    <message>
      <source>Hearth {version} was installed here and did not start.</source>
      <translation>Hearth {version} war hier schon installiert und startete nicht.</translation>
    </message>
    <message>
      <source>{day}, {start} to {end}: {state}</source>
      <translation>{day}, {start} bis {end}: {state}</translation>
    </message>
    <message>
      <source>on</source>
      <translation>an</translation>
    </message>
    <message>
      <source>Arrow keys move, Space turns an hour on or off. Shift and arrows paint; Shift and Space paint a day.</source>
      <translation>Pfeiltasten bewegen, die Leertaste schaltet eine Stunde an oder aus. Umschalt und Pfeile malen; Umschalt und Leertaste malen einen Tag.</translation>
    </message>
    <message numerus="yes">
      <source>on for %Ln min</source>
      <translation>
        <numerusform>%Ln min lang an</numerusform>
        <numerusform>%Ln min lang an</numerusform>
      </translation>
    </message>
    <message>
      <source>Appears as soon as the worker has sent its figures.</source>
      <translation>Erscheint, sobald der Worker seine Zahlen gesendet hat.</translation>
    </message>
    <message>
      <source>Nothing has left this PC yet.</source>
      <translation>Noch hat nichts diesen PC verlassen.</translation>
    </message>
    <message>
      <source>Reading the program's files.</source>
      <translation>Die Dateien des Programms werden gelesen.</translation>
    </message>
    <message>
      <source>In your local network this PC also announces its id, its port, and its runs with their organisers' keys. “Find peers on this network” turns that off. Nothing is sent to the makers of Hearth.</source>
      <translation>Im lokalen Netzwerk gibt dieser PC außerdem seine ID, seinen Port und seine Läufe mit den Schlüsseln ihrer Veranstalter bekannt. „Peers in diesem Netzwerk finden“ schaltet das aus. An die Macher von Hearth wird nichts gesendet.</translation>
    </message>
    <message>
      <source>From a newer version of the worker</source>
      <translation>Von einer neueren Version des Workers</translation>
    </message>
    <message>
      <source>peers of the run</source>
      <translation>Peers des Laufs</translation>
    </message>
    <message>
      <source>Tensors: what experts are given, what they answer, gradients</source>
      <translation>Tensoren: was Experten bekommen, was sie antworten, Gradienten</translation>
    </message>
    <message>
      <source>peers that train with you</source>
      <translation>Peers, die mit dir trainieren</translation>
    </message>
    <message>
      <source>Weights and optimizer state of experts</source>
      <translation>Gewichte und Optimiererzustand von Experten</translation>
    </message>
    <message>
      <source>peers that keep copies or take over</source>
      <translation>Peers, die Kopien halten oder übernehmen</translation>
    </message>
    <message>
      <source>Pieces of the run's data</source>
      <translation>Teile der Daten des Laufs</translation>
    </message>
    <message>
      <source>trainers of the run</source>
      <translation>Trainer des Laufs</translation>
    </message>
    <message>
      <source>Files of a GPU pack, if you keep them for others</source>
      <translation>Dateien eines GPU-Pakets, wenn du sie für andere aufbewahrst</translation>
    </message>
    <message>
      <source>peers of your runs that ask</source>
      <translation>Peers deiner Läufe, die fragen</translation>
    </message>
    <message>
      <source>Which experts are here, their versions and load, your address and key, signed</source>
      <translation>Welche Experten hier sind, ihre Versionen und Auslastung, deine Adresse und dein Schlüssel, unterschrieben</translation>
    </message>
    <message>
      <source>peers that keep the directory</source>
      <translation>Peers, die das Verzeichnis führen</translation>
    </message>
    <message>
      <source>Whose experts did how much for whom, signed; your name and team, if you have set them</source>
      <translation>Wessen Experten wie viel für wen berechnet haben, unterschrieben; dein Name und dein Team, falls du sie angegeben hast</translation>
    </message>
    <message>
      <source>any peer of the run that asks</source>
      <translation>jeder Peer des Laufs, der fragt</translation>
    </message>
    <message>
      <source>Whether you are there, how training goes, your credit, signed; your name and team, if you have set them</source>
      <translation>Ob du da bist, wie das Training läuft, deine Gutschriften, unterschrieben; dein Name und Team, wenn du sie angegeben hast</translation>
    </message>
    <message>
      <source>the brokers and boards that the run names</source>
      <translation>die Broker und Ehrentafeln, die der Lauf nennt</translation>
    </message>
    <message>
      <source>What the trunk has learned, compressed</source>
      <translation>Was der Rumpf gelernt hat, komprimiert</translation>
    </message>
    <message>
      <source>Tokens or work that let a key in, and which tokens were revoked</source>
      <translation>Token oder Arbeit, durch die ein Schlüssel zugelassen wird, und welche Token widerrufen sind</translation>
    </message>
    <message>
      <source>What the run is, signed by its organiser</source>
      <translation>Was der Lauf ist, vom Veranstalter unterschrieben</translation>
    </message>
    <message>
      <source>Bytes without content, to measure how fast your line sends</source>
      <translation>Bytes ohne Inhalt, um zu messen, wie schnell deine Leitung sendet</translation>
    </message>
    <message>
      <source>Names and versions of experts</source>
      <translation>Namen und Versionen von Experten</translation>
    </message>
    <message>
      <source>Addresses, and knocks that open a way through routers</source>
      <translation>Adressen, und Klopfzeichen, die einen Weg durch Router öffnen</translation>
    </message>
    <message>
      <source>peers that help others to meet</source>
      <translation>Peers, durch die andere sich finden</translation>
    </message>
    <message>
      <source>Encrypted traffic of two others, which this PC cannot read</source>
      <translation>Verschlüsselter Datenverkehr zweier anderer, den dieser PC nicht lesen kann</translation>
    </message>
    <message>
      <source>those two peers</source>
      <translation>diese beiden Peers</translation>
    </message>
    <message>
      <source>Packet headers, acknowledgements, what is under way</source>
      <translation>Paketköpfe, Bestätigungen, was unterwegs ist</translation>
    </message>
    <message>
      <source>all of these</source>
      <translation>alle diese</translation>
    </message>
    <message>
      <source>Numbers and messages, no code</source>
      <translation>Zahlen und Nachrichten, kein Code</translation>
    </message>
    <message>
      <source>Peers exchange numbers and short typed messages, whose sizes are checked before anything is read. What others send is never run, and nothing is ever unpickled. The one exception is a GPU pack: each of its files must have the hash that Hearth's makers have signed.</source>
      <translation>Peers tauschen Zahlen und kurze, typisierte Nachrichten aus, deren Größe geprüft ist, bevor etwas gelesen wird. Was andere senden, wird nie ausgeführt, und nie wird etwas mit pickle gelesen. Die einzige Ausnahme ist ein GPU-Paket: Jede seiner Dateien muss den Hash haben, den die Macher von Hearth unterschrieben haben.</translation>
    </message>
    <message>
      <source>Encrypted from peer to peer</source>
      <translation>Verschlüsselt von Peer zu Peer</translation>
    </message>
    <message>
      <source>Each connection proves both keys (QUIC, TLS 1.3). Whoever passes your traffic on cannot read it.</source>
      <translation>Jede Verbindung weist beide Schlüssel nach (QUIC, TLS 1.3). Wer deinen Datenverkehr weiterreicht, kann ihn nicht lesen.</translation>
    </message>
    <message>
      <source>No name, no account</source>
      <translation>Kein Name, kein Konto</translation>
    </message>
    <message>
      <source>Others see this PC's public key and internet address. Your files, your keystrokes and your screen are not read. Hearth checks which programs run, to give way to them; that stays here.</source>
      <translation>Andere sehen den öffentlichen Schlüssel und die Internetadresse dieses PCs. Deine Dateien, deine Tastendrücke und dein Bildschirm werden nicht gelesen. Hearth sieht nach, welche Programme laufen, um ihnen Platz zu machen; das bleibt hier.</translation>
    </message>
    <message>
      <source>{what}. To: {whom}.</source>
      <translation>{what}. An: {whom}.</translation>
    </message>
    <message>
      <source>What leaves this PC, and to whom</source>
      <translation>Was diesen PC verlässt und an wen</translation>
    </message>
    <message>
      <source>Sent in total</source>
      <translation>Gesamt gesendet</translation>
    </message>
    <message>
      <source>Received in total</source>
      <translation>Gesamt empfangen</translation>
    </message>
    <message>
      <source>This program</source>
      <translation>Dieses Programm</translation>
    </message>
    <message>
      <source>Build: {hash}</source>
      <translation>Stand: {hash}</translation>
    </message>
    <message>
      <source>The build is a hash over all files of the program: two PCs with the same files show the same one. Hearth is free software (Apache 2.0): you can check all of this in its source.</source>
      <translation>Der Stand ist ein Hash über alle Dateien des Programms: Zwei PCs mit denselben Dateien zeigen denselben. Hearth ist freie Software (Apache 2.0): In den Quellen kannst du all das nachprüfen.</translation>
    </message>
    <message>
      <source>Libraries and their licences</source>
      <translation>Bibliotheken und ihre Lizenzen</translation>
    </message>
    <message>
      <source>No library says what it is; their licences are in the program's folder.</source>
      <translation>Keine Bibliothek nennt sich selbst; die Lizenzen liegen im Ordner des Programms.</translation>
    </message>
    <message>
      <source>Trust</source>
      <translation>Vertrauen</translation>
    </message>
    <message>
      <source>What leaves this PC, by its own count, and which program runs here.</source>
      <translation>Was diesen PC verlässt, nach seiner eigenen Zählung, und welches Programm hier läuft.</translation>
    </message>
    <message>
      <source>The program's files could not be read: {reason}.</source>
      <translation>Die Dateien des Programms waren nicht zu lesen: {reason}.</translation>
    </message>
    <message>
      <source>What, and to whom</source>
      <translation>Was und an wen</translation>
    </message>
    <message>
      <source>{kind}, sent: {size}</source>
      <translation>{kind}, gesendet: {size}</translation>
    </message>
    <message>
      <source>{kind}, received: {size}</source>
      <translation>{kind}, empfangen: {size}</translation>
    </message>
    <message>
      <source>Counted since {day}, headers included.</source>
      <translation>Gezählt seit dem {day}, einschließlich Paketköpfen.</translation>
    </message>
    <message>
      <source>Library</source>
      <translation>Bibliothek</translation>
    </message>
    <message>
      <source>Version</source>
      <translation>Version</translation>
    </message>
    <message>
      <source>Licence</source>
      <translation>Lizenz</translation>
    </message>
    <message>
      <source>What you can rely on</source>
      <translation>Worauf du dich verlassen kannst</translation>
    </message>
    <message>
      <source>Build</source>
      <translation>Stand</translation>
    </message>
    <message>
      <source>Hearth is not running</source>
      <translation>Hearth läuft nicht</translation>
    </message>
    <message>
      <source>answered a call</source>
      <translation>hat geantwortet</translation>
    </message>
    <message>
      <source>calls</source>
      <translation>Aufrufe</translation>
    </message>
    <message>
      <source>changed by gradients</source>
      <translation>durch Gradienten geändert</translation>
    </message>
    <message>
      <source>gradients back</source>
      <translation>Gradienten zurück</translation>
    </message>
    <message>
      <source>Touch it and it is yours within {time} (p95, last {count} times).</source>
      <translation>Berühre ihn, und er gehört binnen {time} wieder dir (p95, die letzten {count} Male).</translation>
    </message>
    <message>
      <source>bytes of text seen by the model in {steps} steps</source>
      <translation>Bytes Text hat das Modell in {steps} Schritten gesehen</translation>
    </message>
    <message>
      <source>tokens seen by the model in {steps} steps</source>
      <translation>Tokens hat das Modell in {steps} Schritten gesehen</translation>
    </message>
    <message>
      <source>samples seen by the model in {steps} steps</source>
      <translation>Beispiele hat das Modell in {steps} Schritten gesehen</translation>
    </message>
    <message>
      <source>experts in {shown} of {layers} layers, {here} of them here</source>
      <translation>Experten in {shown} von {layers} Schichten, {here} davon hier</translation>
    </message>
    <message>
      <source>hosted on this PC</source>
      <translation>auf diesem PC beherbergt</translation>
    </message>
    <message>
      <source>experts, {here} of them here</source>
      <translation>Experten, {here} davon hier</translation>
    </message>
    <message>
      <source>experts known, {here} of them here</source>
      <translation>bekannte Experten, {here} davon hier</translation>
    </message>
    <message>
      <source>peer connected</source>
      <translation>verbundener Peer</translation>
    </message>
    <message>
      <source>peers connected</source>
      <translation>verbundene Peers</translation>
    </message>
    <message>
      <source>calls to experts here per second</source>
      <translation>Aufrufe von Experten hier pro Sekunde</translation>
    </message>
    <message>
      <source>training loss</source>
      <translation>Trainingsverlust</translation>
    </message>
    <message>
      <source>Nothing runs yet, and nothing is sent. Open Hearth: it says what it does, and asks you first.</source>
      <translation>Noch läuft nichts, und nichts wird gesendet. Öffne Hearth: Es sagt, was es tut, und fragt dich zuerst.</translation>
    </message>
    <message>
      <source>Nothing moves here, as no worker runs. Start Hearth, and you see the experts at work.</source>
      <translation>Hier bewegt sich nichts, weil kein Worker läuft. Starte Hearth, und du siehst die Experten bei der Arbeit.</translation>
    </message>
    <message>
      <source>Pause</source>
      <translation>Pause</translation>
    </message>
    <message>
      <source>Pause for a time</source>
      <translation>Eine Zeit lang pausieren</translation>
    </message>
    <message>
      <source>{name}: {all} in total; the most was {best}, {most}; the last is {newest}, {last}.</source>
      <translation>{name}: insgesamt {all}; am meisten: {best}, {most}; zuletzt: {newest}, {last}.</translation>
    </message>
    <message>
      <source>When</source>
      <translation>Wann</translation>
    </message>
    <message>
      <source>{name}: {now} at {last}; {start} at {first}, the first one measured.</source>
      <translation>{name}: {now} bei {last}; {start} bei {first}, der ersten Messung.</translation>
    </message>
    <message>
      <source>Experts of layer {layer}</source>
      <translation>Experten der Schicht {layer}</translation>
    </message>
    <message>
      <source>Arrow keys read out each one.</source>
      <translation>Die Pfeiltasten lesen jede vor.</translation>
    </message>
    <message>
      <source>Own and others' calls, last {seconds} s</source>
      <translation>Eigene und fremde Aufrufe, letzte {seconds} s</translation>
    </message>
    <message>
      <source>No expert here has been called yet.</source>
      <translation>Noch wurde kein Experte hier aufgerufen.</translation>
    </message>
    <message>
      <source>Now {now} calls per second; the most in the last minute was {most}.</source>
      <translation>Jetzt {now} Aufrufe pro Sekunde; der Höchstwert der letzten Minute war {most}.</translation>
    </message>
    <message>
      <source>Samples trained, last {seconds} s</source>
      <translation>Trainierte Beispiele, letzte {seconds} s</translation>
    </message>
    <message>
      <source>No sample has been trained yet.</source>
      <translation>Noch wurde kein Beispiel trainiert.</translation>
    </message>
    <message>
      <source>Now {now} samples per second; the most in the last minute was {most}.</source>
      <translation>Jetzt {now} Beispiele pro Sekunde; der Höchstwert der letzten Minute war {most}.</translation>
    </message>
    <message>
      <source>{rate} per second</source>
      <translation>{rate} pro Sekunde</translation>
    </message>
    <message>
      <source>Arrow keys read out each value, Enter shows a table.</source>
      <translation>Die Pfeiltasten lesen jeden Wert vor, Enter zeigt eine Tabelle.</translation>
    </message>
    <message>
      <source>Show as a table</source>
      <translation>Als Tabelle zeigen</translation>
    </message>
    <message>
      <source>Gives your PC back in {p95} ms</source>
      <translation>Gibt deinen PC in {p95} ms zurück</translation>
    </message>
    <message numerus="yes">
      <source>It took no longer in 19 of 20 cases. Measured the last %Ln time(s).</source>
      <translation>
        <numerusform>In 19 von 20 Fällen dauerte es nicht länger. Gemessen beim letzten Mal.</numerusform>
        <numerusform>In 19 von 20 Fällen dauerte es nicht länger. Gemessen bei den letzten %Ln Malen.</numerusform>
      </translation>
    </message>
    <message>
      <source>Connecting to the worker</source>
      <translation>Verbindet sich mit dem Worker</translation>
    </message>
    <message>
      <source>The worker is starting</source>
      <translation>Der Worker startet</translation>
    </message>
    <message>
      <source>Worker connected</source>
      <translation>Worker verbunden</translation>
    </message>
    <message>
      <source>Dismiss</source>
      <translation>Schließen</translation>
    </message>
    <message numerus="yes">
      <source>%Ln hosted here</source>
      <translation>
        <numerusform>%Ln hier beherbergt</numerusform>
        <numerusform>%Ln hier beherbergt</numerusform>
      </translation>
    </message>
    <message>
      <source>{error} The page asks again in {seconds} s.</source>
      <translation>{error} Die Seite fragt in {seconds} s erneut.</translation>
    </message>
    <message>
      <source>The figures are from {time}.</source>
      <translation>Die Zahlen sind von {time}.</translation>
    </message>
    <message>
      <source>until {time}</source>
      <translation>bis {time}</translation>
    </message>
    <message>
      <source>Resume the GPU</source>
      <translation>GPU fortsetzen</translation>
    </message>
    <message>
      <source>Pause the GPU only</source>
      <translation>Nur die GPU pausieren</translation>
    </message>
    <message>
      <source>For 15 minutes</source>
      <translation>Für 15 Minuten</translation>
    </message>
    <message>
      <source>For 1 hour</source>
      <translation>Für 1 Stunde</translation>
    </message>
    <message>
      <source>Until tomorrow</source>
      <translation>Bis morgen</translation>
    </message>
    <message>
      <source>Until I resume</source>
      <translation>Bis ich fortsetze</translation>
    </message>
    <message>
      <source>More ways to pause</source>
      <translation>Mehr Möglichkeiten zu pausieren</translation>
    </message>
    <message>
      <source>for 1 hour</source>
      <translation>für 1 Stunde</translation>
    </message>
    <message>
      <source>Open the setting of “{rule}”</source>
      <translation>Einstellung zu „{rule}“ öffnen</translation>
    </message>
    <message>
      <source>Lift for 1 hour</source>
      <translation>Für 1 Stunde aufheben</translation>
    </message>
    <message>
      <source>End now</source>
      <translation>Jetzt beenden</translation>
    </message>
    <message>
      <source>Lift “{rule}” for 1 hour</source>
      <translation>„{rule}“ für 1 Stunde aufheben</translation>
    </message>
    <message>
      <source>End it: {rule}</source>
      <translation>Beenden: {rule}</translation>
    </message>
    <message>
      <source>Open its setting</source>
      <translation>Einstellung dazu öffnen</translation>
    </message>
    <message>
      <source>Run shown</source>
      <translation>Angezeigter Lauf</translation>
    </message>
    <message>
      <source>Run:</source>
      <translation>Lauf:</translation>
    </message>
    <message>
      <source>Run: {title} ({run})</source>
      <translation>Lauf: {title} ({run})</translation>
    </message>
    <message>
      <source>State: {state}. {reason}</source>
      <translation>Zustand: {state}. {reason}</translation>
    </message>
    <message>
      <source>Hearth keeps running in the tray. Its icon opens the window again; choose Quit to stop it.</source>
      <translation>Hearth läuft im Infobereich weiter. Sein Symbol öffnet das Fenster wieder; „Beenden“ beendet es.</translation>
    </message>
    <message>
      <source>This desktop shows no tray, so the window is minimised instead. Ctrl+Q ends Hearth.</source>
      <translation>Diese Oberfläche zeigt keinen Infobereich, deshalb wird das Fenster minimiert. Strg+Q beendet Hearth.</translation>
    </message>
    <message>
      <source>This desktop shows no tray. Hearth keeps running when its window is closed; start it again to open the window.</source>
      <translation>Diese Oberfläche zeigt keinen Infobereich. Hearth läuft weiter, wenn sein Fenster geschlossen ist; starte es erneut, um das Fenster zu öffnen.</translation>
    </message>
    <message>
      <source>The worker sent no rules.</source>
      <translation>Der Worker hat keine Regeln gesendet.</translation>
    </message>
    <message numerus="yes">
      <source>{some} of %Ln rule(s) stop something.</source>
      <translation>
        <numerusform>{some} von %Ln Regel hält etwas an.</numerusform>
        <numerusform>{some} von %Ln Regeln halten etwas an.</numerusform>
      </translation>
    </message>
    <message>
      <source>How fast this PC came back to you, each time</source>
      <translation>Wie schnell du diesen PC zurückbekamst, jedes Mal</translation>
    </message>
    <message>
      <source>Why am I running, or not?</source>
      <translation>Warum rechnet Hearth, oder nicht?</translation>
    </message>
    <message>
      <source>The rules; arrow keys scroll</source>
      <translation>Die Regeln; Pfeiltasten blättern</translation>
    </message>
    <message>
      <source>The rules are shown as soon as the worker answers.</source>
      <translation>Die Regeln sind zu sehen, sobald der Worker antwortet.</translation>
    </message>
    <message>
      <source>The worker has not answered yet.</source>
      <translation>Der Worker hat noch nicht geantwortet.</translation>
    </message>
    <message numerus="yes">
      <source>1 of %Ln rule(s) stops something.</source>
      <translation>
        <numerusform>1 von %Ln Regel hält etwas an.</numerusform>
        <numerusform>1 von %Ln Regeln hält etwas an.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>No rule stops anything; %Ln of {all} is (are) lifted.</source>
      <translation>
        <numerusform>Keine Regel hält etwas an; %Ln von {all} ist aufgehoben.</numerusform>
        <numerusform>Keine Regel hält etwas an; %Ln von {all} sind aufgehoben.</numerusform>
      </translation>
    </message>
    <message>
      <source>They are read from top to bottom.</source>
      <translation>Sie werden von oben nach unten gelesen.</translation>
    </message>
    <message>
      <source>target {ms} ms</source>
      <translation>Ziel {ms} ms</translation>
    </message>
    <message>
      <source>How fast this PC comes back to you</source>
      <translation>Wie schnell du diesen PC zurückbekommst</translation>
    </message>
    <message numerus="yes">
      <source>No rule stops anything; %Ln of {all} is (are) not known.</source>
      <translation>
        <numerusform>Keine Regel hält etwas an; %Ln von {all} ist nicht bekannt.</numerusform>
        <numerusform>Keine Regel hält etwas an; %Ln von {all} sind nicht bekannt.</numerusform>
      </translation>
    </message>
    <message>
      <source>All {all} rules agree.</source>
      <translation>Alle {all} Regeln stimmen zu.</translation>
    </message>
    <message>
      <source>Below is what it said last.</source>
      <translation>Darunter steht, was er zuletzt gesagt hat.</translation>
    </message>
    <message>
      <source>Hearth is quitting; the worker saves its work.</source>
      <translation>Hearth wird beendet; der Worker speichert seine Arbeit.</translation>
    </message>
    <message>
      <source>{figure}%</source>
      <translation>{figure} %</translation>
    </message>
    <message>
      <source>Contributing</source>
      <translation>Hilft mit</translation>
    </message>
    <message>
      <source>Waiting for idle</source>
      <translation>Wartet auf Leerlauf</translation>
    </message>
    <message>
      <source>Giving your PC back</source>
      <translation>Gibt den PC frei</translation>
    </message>
    <message>
      <source>Paused</source>
      <translation>Pausiert</translation>
    </message>
    <message>
      <source>Limited</source>
      <translation>Eingeschränkt</translation>
    </message>
    <message>
      <source>Quitting</source>
      <translation>Beendet sich</translation>
    </message>
    <message>
      <source>Needs attention</source>
      <translation>Braucht deine Hilfe</translation>
    </message>
  </context>
  <context>
    <name>settings</name>
    <message>
      <source>Run and start</source>
      <translation>Lauf und Start</translation>
    </message>
    <message>
      <source>Run</source>
      <translation>Lauf</translation>
    </message>
    <message>
      <source>The network that this PC helps to train: one that comes with Hearth, or one of an organiser's manifest (a .toml or .json file).</source>
      <translation>Das Netz, das dieser PC trainieren hilft: eines, das zu Hearth gehört, oder eines aus dem Manifest eines Veranstalters (.toml oder .json).</translation>
    </message>
    <message>
      <source>Profile</source>
      <translation>Profil</translation>
    </message>
    <message>
      <source>How much this PC shares</source>
      <translation>Wie viel dieser PC teilt</translation>
    </message>
    <message>
      <source>Quiet is barely noticeable; Full uses everything you allow. A profile sets CPU time, threads, memory, temperatures, the GPU while you are here and how busy other programs may be. Changing one makes it Custom.</source>
      <translation>„Leise“ ist kaum zu merken; „Voll“ nutzt alles, was du erlaubst. Ein Profil setzt CPU-Zeit, Threads, Arbeitsspeicher, Temperaturen, die GPU, während du da bist, und wie beschäftigt andere Programme sein dürfen. Änderst du eines davon, wird es „Eigenes“.</translation>
    </message>
    <message>
      <source>Quiet</source>
      <translation>Leise</translation>
    </message>
    <message>
      <source>Balanced</source>
      <translation>Normal</translation>
    </message>
    <message>
      <source>Full</source>
      <translation>Voll</translation>
    </message>
    <message>
      <source>Custom</source>
      <translation>Eigenes</translation>
    </message>
    <message>
      <source>Idle and power</source>
      <translation>Abwesenheit und Strom</translation>
    </message>
    <message>
      <source>Compute only while I am away</source>
      <translation>Nur rechnen, während ich weg bin</translation>
    </message>
    <message>
      <source>Training stops when you use the mouse or keyboard and starts again once you have been away for a while.</source>
      <translation>Das Training hält an, wenn du Maus oder Tastatur benutzt, und beginnt wieder, wenn du eine Weile weg warst.</translation>
    </message>
    <message>
      <source>Away after</source>
      <translation>Abwesend nach</translation>
    </message>
    <message>
      <source>Idle time before starting.</source>
      <translation>Leerlaufzeit bis zum Start.</translation>
    </message>
    <message>
      <source>If idle time cannot be measured</source>
      <translation>Wenn sich deine Abwesenheit nicht messen lässt</translation>
    </message>
    <message>
      <source>Some desktops do not report how long you have been away. “Compute anyway” treats that as being away.</source>
      <translation>Manche Oberflächen sagen nicht, wie lange du weg bist. „Trotzdem rechnen“ zählt das als Abwesenheit.</translation>
    </message>
    <message>
      <source>Do not compute</source>
      <translation>Nicht rechnen</translation>
    </message>
    <message>
      <source>Compute anyway</source>
      <translation>Trotzdem rechnen</translation>
    </message>
    <message>
      <source>Use the GPU while I am here</source>
      <translation>GPU benutzen, während ich da bin</translation>
    </message>
    <message>
      <source>If this is off, the GPU computes only while you are away, and the screen stays smooth.</source>
      <translation>Ist das aus, rechnet die GPU nur, während du weg bist, und der Bildschirm bleibt flüssig.</translation>
    </message>
    <message>
      <source>Compute on battery</source>
      <translation>Im Akkubetrieb rechnen</translation>
    </message>
    <message>
      <source>Otherwise it stops until you plug this PC in.</source>
      <translation>Sonst hält Hearth an, bis du diesen PC an den Strom anschließt.</translation>
    </message>
    <message>
      <source>On battery, keep this charge</source>
      <translation>Im Akkubetrieb diese Ladung übrig lassen</translation>
    </message>
    <message>
      <source>If it computes on battery, it stops below this charge.</source>
      <translation>Rechnet Hearth im Akkubetrieb, hält es unter dieser Ladung an.</translation>
    </message>
    <message>
      <source>Keep this PC awake</source>
      <translation>Diesen PC wach halten</translation>
    </message>
    <message>
      <source>Otherwise it goes to sleep as it always does, also while it computes.</source>
      <translation>Sonst geht er wie immer in den Ruhezustand, auch während er rechnet.</translation>
    </message>
    <message>
      <source>Programs and games</source>
      <translation>Programme und Spiele</translation>
    </message>
    <message>
      <source>Stop when other programs are busy</source>
      <translation>Anhalten, wenn andere Programme viel rechnen</translation>
    </message>
    <message>
      <source>It stops when other programs use more of the CPU than this for some seconds, and resumes when they have been quiet for 20 s. The GPU gives way to them too.</source>
      <translation>Hearth hält an, wenn andere Programme einige Sekunden lang mehr von der CPU brauchen. Es macht weiter, wenn sie 20 s lang ruhig waren. Die GPU macht ihnen ebenso Platz.</translation>
    </message>
    <message>
      <source>Never</source>
      <translation>Nie</translation>
    </message>
    <message>
      <source>A game or full screen stops</source>
      <translation>Spiel oder Vollbild hält an</translation>
    </message>
    <message>
      <source>What gives way while something fills your screen.</source>
      <translation>Was Platz macht, während etwas deinen Bildschirm füllt.</translation>
    </message>
    <message>
      <source>All</source>
      <translation>Alles</translation>
    </message>
    <message>
      <source>The GPU</source>
      <translation>Die GPU</translation>
    </message>
    <message>
      <source>Nothing</source>
      <translation>Nichts</translation>
    </message>
    <message>
      <source>What counts</source>
      <translation>Was zählt</translation>
    </message>
    <message>
      <source>Films and presentations fill the screen as well; games are recognised by GameMode or Direct3D.</source>
      <translation>Auch Filme und Präsentationen füllen den Bildschirm; Spiele erkennt man an GameMode oder Direct3D.</translation>
    </message>
    <message>
      <source>Anything full screen</source>
      <translation>Alles im Vollbild</translation>
    </message>
    <message>
      <source>Known games</source>
      <translation>Bekannte Spiele</translation>
    </message>
    <message>
      <source>Programs that stop all</source>
      <translation>Programme, die alles anhalten</translation>
    </message>
    <message>
      <source>While one of them runs, this PC does not compute.</source>
      <translation>Solange eines davon läuft, rechnet dieser PC nicht.</translation>
    </message>
    <message>
      <source>Such as blender, premiere</source>
      <translation>Etwa blender, premiere</translation>
    </message>
    <message>
      <source>Programs that stop the GPU</source>
      <translation>Programme, die die GPU anhalten</translation>
    </message>
    <message>
      <source>While one of them runs, the GPU is theirs.</source>
      <translation>Solange eines davon läuft, gehört die GPU ihm.</translation>
    </message>
    <message>
      <source>Such as obs, resolve</source>
      <translation>Etwa obs, resolve</translation>
    </message>
    <message>
      <source>Devices</source>
      <translation>Geräte</translation>
    </message>
    <message>
      <source>CPU time while I am here</source>
      <translation>CPU-Zeit, während ich da bin</translation>
    </message>
    <message>
      <source>Part of the time that training computes; it rests in between.</source>
      <translation>Der Teil der Zeit, in dem das Training rechnet; dazwischen ruht es.</translation>
    </message>
    <message>
      <source>CPU time while I am away</source>
      <translation>CPU-Zeit, während ich weg bin</translation>
    </message>
    <message>
      <source>The same, while nobody uses this PC.</source>
      <translation>Dasselbe, während niemand diesen PC benutzt.</translation>
    </message>
    <message>
      <source>CPU threads</source>
      <translation>CPU-Threads</translation>
    </message>
    <message>
      <source>How many threads training may use; automatic is half of the cores. Small experts use only one, which is faster.</source>
      <translation>Wie viele Threads das Training benutzen darf; automatisch ist die Hälfte der Kerne. Kleine Experten benutzen nur einen, das ist schneller.</translation>
    </message>
    <message>
      <source>Automatic</source>
      <translation>Automatisch</translation>
    </message>
    <message>
      <source>GPUs not to use</source>
      <translation>Diese GPUs nicht benutzen</translation>
    </message>
    <message>
      <source>IDs of GPUs.</source>
      <translation>IDs von GPUs.</translation>
    </message>
    <message>
      <source>GPU memory</source>
      <translation>GPU-Speicher</translation>
    </message>
    <message>
      <source>How much of a GPU's memory may be used.</source>
      <translation>Wie viel vom Speicher einer GPU benutzt werden darf.</translation>
    </message>
    <message>
      <source>Memory while I am here</source>
      <translation>Arbeitsspeicher, während ich da bin</translation>
    </message>
    <message>
      <source>Of this PC's memory, for all of Hearth.</source>
      <translation>Anteil am Arbeitsspeicher dieses PCs, für alles von Hearth.</translation>
    </message>
    <message>
      <source>Memory while I am away</source>
      <translation>Arbeitsspeicher, während ich weg bin</translation>
    </message>
    <message>
      <source>Always keep free memory</source>
      <translation>Immer so viel Arbeitsspeicher frei lassen</translation>
    </message>
    <message>
      <source>It stops when less is left for other programs.</source>
      <translation>Hearth hält an, wenn für andere Programme weniger übrig ist.</translation>
    </message>
    <message>
      <source>Free the memory after</source>
      <translation>Arbeitsspeicher freigeben nach</translation>
    </message>
    <message>
      <source>How long the stopped compute process keeps its memory, so that it can continue at once.</source>
      <translation>Wie lange der angehaltene Rechenprozess seinen Arbeitsspeicher behält, damit es sofort weitergehen kann.</translation>
    </message>
    <message>
      <source>Memory for experts</source>
      <translation>Arbeitsspeicher für Experten</translation>
    </message>
    <message>
      <source>How much memory the experts hosted for others may take; automatic is a quarter of what is free at the start.</source>
      <translation>Wie viel Arbeitsspeicher die für andere beherbergten Experten nehmen dürfen; automatisch ist ein Viertel dessen, was beim Start frei ist.</translation>
    </message>
    <message>
      <source>Disk space for Hearth</source>
      <translation>Speicherplatz für Hearth</translation>
    </message>
    <message>
      <source>Checkpoints, copies for others, history and log together; a GPU pack is not counted. Fewer experts are trained here where more would not fit.</source>
      <translation>Checkpoints, Kopien für andere, Verlauf und Protokoll zusammen; ein GPU-Paket zählt nicht mit. Wo mehr nicht hineinpassen, werden hier weniger Experten trainiert.</translation>
    </message>
    <message>
      <source>Always keep free disk space</source>
      <translation>Immer so viel Speicherplatz frei lassen</translation>
    </message>
    <message>
      <source>It stops when less is left where its data are.</source>
      <translation>Hearth hält an, wenn dort, wo seine Daten liegen, weniger übrig ist.</translation>
    </message>
    <message>
      <source>Network</source>
      <translation>Netzwerk</translation>
    </message>
    <message>
      <source>Work with other peers</source>
      <translation>Mit anderen Peers arbeiten</translation>
    </message>
    <message>
      <source>This PC joins the other volunteers of its run by itself. If this is off, it trains alone and calls nobody.</source>
      <translation>Dieser PC verbindet sich von selbst mit den anderen Freiwilligen seines Laufs. Ist das aus, trainiert er allein und verbindet sich mit niemandem.</translation>
    </message>
    <message>
      <source>Find peers on this network</source>
      <translation>Peers in diesem Netzwerk finden</translation>
    </message>
    <message>
      <source>PCs in the same local network that train the same run find each other without any address.</source>
      <translation>PCs im selben lokalen Netzwerk, die denselben Lauf trainieren, finden einander ohne jede Adresse.</translation>
    </message>
    <message>
      <source>Pass on what others cannot send directly</source>
      <translation>Weiterreichen, was andere nicht direkt senden können</translation>
    </message>
    <message>
      <source>As a backbone peer this PC relays between peers whose routers keep them apart. It cannot read what it passes on, and passes on 4 MB/s at most.</source>
      <translation>Als Backbone-Peer vermittelt dieser PC zwischen Peers, deren Router sie voneinander trennen. Er kann nicht lesen, was er weiterreicht, und reicht höchstens 4 MB/s weiter.</translation>
    </message>
    <message>
      <source>Use metered networks</source>
      <translation>Getaktete Netzwerke benutzen</translation>
    </message>
    <message>
      <source>Otherwise no peer is called on networks where data may cost money.</source>
      <translation>Sonst verbindet sich Hearth nicht mit Peers, wo jedes Byte Geld kosten kann.</translation>
    </message>
    <message>
      <source>Upload at most</source>
      <translation>Upload höchstens</translation>
    </message>
    <message>
      <source>To all peers together. Automatic is a quarter of your line's upload, as measured with peers. It does not count your local network.</source>
      <translation>An alle Peers zusammen. Automatisch ist ein Viertel deines Uploads, gemessen mit Peers. Dein lokales Netzwerk zählt nicht mit.</translation>
    </message>
    <message>
      <source>No limit</source>
      <translation>Keine Grenze</translation>
    </message>
    <message>
      <source>Download at most</source>
      <translation>Download höchstens</translation>
    </message>
    <message>
      <source>From all peers together. Automatic is twice the automatic limit for uploads.</source>
      <translation>Von allen Peers zusammen. Automatisch ist das Doppelte der automatischen Upload-Grenze.</translation>
    </message>
    <message>
      <source>Monthly traffic</source>
      <translation>Datenverkehr im Monat</translation>
    </message>
    <message>
      <source>Both ways, in a calendar month; then the network waits for the next one.</source>
      <translation>In beide Richtungen, in einem Kalendermonat; dann wartet das Netzwerk auf den nächsten.</translation>
    </message>
    <message>
      <source>Name on boards</source>
      <translation>Name auf Ehrentafeln</translation>
    </message>
    <message>
      <source>Shown with this PC's credit. Without a name the credit is counted, but not shown.</source>
      <translation>Steht bei der Gutschrift dieses PCs. Ohne Namen wird sie gezählt, aber nicht gezeigt.</translation>
    </message>
    <message>
      <source>None</source>
      <translation>Keiner</translation>
    </message>
    <message>
      <source>Team</source>
      <translation>Team</translation>
    </message>
    <message>
      <source>Shown beside the name. Members of one team get no credit for helping each other.</source>
      <translation>Steht neben dem Namen. Mitglieder eines Teams bekommen keine Gutschriften dafür, dass sie einander helfen.</translation>
    </message>
    <message>
      <source>Schedule</source>
      <translation>Zeitplan</translation>
    </message>
    <message>
      <source>Compute at</source>
      <translation>Rechnen zu diesen Zeiten</translation>
    </message>
    <message>
      <source>Paint the hours with the mouse, or with arrow keys and Space. The text is exact to the minute, such as mo-fr 18:30-08:00.</source>
      <translation>Male die Stunden mit der Maus oder mit Pfeiltasten und Leertaste. Der Text gilt auf die Minute genau, etwa mo-fr 18:30-08:00.</translation>
    </message>
    <message>
      <source>Always</source>
      <translation>Immer</translation>
    </message>
    <message>
      <source>Use the network at</source>
      <translation>Netzwerk benutzen zu diesen Zeiten</translation>
    </message>
    <message>
      <source>The hours in which this PC may send to peers and receive from them.</source>
      <translation>Die Stunden, in denen dieser PC an Peers senden und von ihnen empfangen darf.</translation>
    </message>
    <message>
      <source>Energy</source>
      <translation>Energie</translation>
    </message>
    <message>
      <source>CPU no hotter than</source>
      <translation>CPU nicht heißer als</translation>
    </message>
    <message>
      <source>Training rests more as this temperature comes near.</source>
      <translation>Das Training ruht mehr, je näher diese Temperatur kommt.</translation>
    </message>
    <message>
      <source>No target</source>
      <translation>Kein Ziel</translation>
    </message>
    <message>
      <source>GPU no hotter than</source>
      <translation>GPU nicht heißer als</translation>
    </message>
    <message>
      <source>The same, for GPUs.</source>
      <translation>Dasselbe für GPUs.</translation>
    </message>
    <message>
      <source>CPU power</source>
      <translation>Leistung der CPU</translation>
    </message>
    <message>
      <source>Training rests as long as it takes to stay below.</source>
      <translation>Das Training ruht so lange, wie es braucht, um darunter zu bleiben.</translation>
    </message>
    <message>
      <source>GPU power</source>
      <translation>Leistung der GPU</translation>
    </message>
    <message>
      <source>Monthly energy</source>
      <translation>Energie im Monat</translation>
    </message>
    <message>
      <source>What training may use in a calendar month.</source>
      <translation>Was das Training in einem Kalendermonat verbrauchen darf.</translation>
    </message>
    <message>
      <source>Price of electricity</source>
      <translation>Strompreis</translation>
    </message>
    <message>
      <source>For a kWh, in your currency; the costs are shown with it.</source>
      <translation>Je kWh, in deiner Währung; daraus ergeben sich die Kosten, die gezeigt werden.</translation>
    </message>
    <message>
      <source>Not set</source>
      <translation>Nicht festgelegt</translation>
    </message>
    <message>
      <source>CO₂ of electricity</source>
      <translation>CO₂ des Stroms</translation>
    </message>
    <message>
      <source>Grams per kWh; your electricity provider publishes it.</source>
      <translation>Gramm je kWh; dein Anbieter nennt den Wert.</translation>
    </message>
    <message>
      <source>CPU at full load</source>
      <translation>CPU unter Volllast</translation>
    </message>
    <message>
      <source>Used where nothing measures the power; automatic goes by the number of cores.</source>
      <translation>Gilt, wo nichts die Leistung misst; automatisch geht nach der Zahl der Kerne.</translation>
    </message>
    <message>
      <source>Appearance</source>
      <translation>Aussehen</translation>
    </message>
    <message>
      <source>Theme</source>
      <translation>Farbschema</translation>
    </message>
    <message>
      <source>System follows your desktop's light or dark setting.</source>
      <translation>„System“ folgt der hellen oder dunklen Einstellung deiner Oberfläche.</translation>
    </message>
    <message>
      <source>System</source>
      <translation>System</translation>
    </message>
    <message>
      <source>Light</source>
      <translation>Hell</translation>
    </message>
    <message>
      <source>Dark</source>
      <translation>Dunkel</translation>
    </message>
    <message>
      <source>Language</source>
      <translation>Sprache</translation>
    </message>
    <message>
      <source>System follows your desktop's language.</source>
      <translation>„System“ folgt der Sprache deiner Oberfläche.</translation>
    </message>
    <message>
      <source>English</source>
      <translation>English</translation>
    </message>
    <message>
      <source>Deutsch</source>
      <translation>Deutsch</translation>
    </message>
    <message>
      <source>Show the screensaver after</source>
      <translation>Bildschirmschoner zeigen nach</translation>
    </message>
    <message>
      <source>After this much idle time, all screens show the experts at work until you use the PC again. Not on battery, and not over a full screen.</source>
      <translation>Nach so viel Leerlaufzeit zeigen alle Bildschirme die Experten bei der Arbeit, bis du den PC wieder benutzt. Nicht im Akkubetrieb, und nicht über einem Vollbild.</translation>
    </message>
    <message>
      <source>The screensaver goes black after</source>
      <translation>Bildschirmschoner wird schwarz nach</translation>
    </message>
    <message>
      <source>Counted from when it began. Your system turns the screens off as it always does.</source>
      <translation>Gezählt ab seinem Beginn. Dein System schaltet die Bildschirme aus wie immer.</translation>
    </message>
    <message>
      <source>Less motion</source>
      <translation>Weniger Bewegung</translation>
    </message>
    <message>
      <source>Screensaver and window show what happens without lights that move. Your system's own setting holds as well.</source>
      <translation>Bildschirmschoner und Fenster zeigen, was geschieht, ohne bewegte Lichter. Die Einstellung deines Systems gilt ebenfalls.</translation>
    </message>
    <message>
      <source>Look for updates</source>
      <translation>Nach Updates suchen</translation>
    </message>
    <message>
      <source>Once a day, if Hearth was not installed by your system's package manager, which sees to that. Nothing is installed without your click.</source>
      <translation>Einmal am Tag, sofern nicht die Paketverwaltung deines Systems Hearth installiert hat; dann sorgt sie dafür. Ohne deinen Klick wird nichts installiert.</translation>
    </message>
    <message>
      <source>Notifications</source>
      <translation>Benachrichtigungen</translation>
    </message>
    <message>
      <source>When something needs attention</source>
      <translation>Wenn etwas deine Aufmerksamkeit braucht</translation>
    </message>
    <message>
      <source>Notify once if it persists and Hearth isn't in view.</source>
      <translation>Einmal melden, wenn es anhält und Hearth nicht zu sehen ist.</translation>
    </message>
    <message>
      <source>Milestones</source>
      <translation>Meilensteine</translation>
    </message>
    <message>
      <source>The first hour, ten hours, a million samples, and the like.</source>
      <translation>Die erste Stunde, zehn Stunden, eine Million Beispiele und dergleichen.</translation>
    </message>
    <message>
      <source>Updates</source>
      <translation>Updates</translation>
    </message>
    <message>
      <source>When there is a newer version, and when one was installed and Hearth must be started again to use it.</source>
      <translation>Wenn es eine neuere Version gibt, und wenn eine installiert wurde und Hearth dafür neu starten muss.</translation>
    </message>
    <message>
      <source>Advanced</source>
      <translation>Erweitert</translation>
    </message>
    <message>
      <source>Control port</source>
      <translation>Steuerport</translation>
    </message>
    <message>
      <source>Loopback port that this window and the command line use to reach the worker; 0 picks a free one.</source>
      <translation>Loopback-Port, über den dieses Fenster und die Kommandozeile den Worker erreichen; 0 wählt einen freien.</translation>
    </message>
    <message>
      <source>Any free one</source>
      <translation>Ein freier</translation>
    </message>
    <message>
      <source>Applies after a restart.</source>
      <translation>Gilt nach einem Neustart.</translation>
    </message>
    <message>
      <source>Applies after a restart of the window.</source>
      <translation>Gilt nach einem Neustart des Fensters.</translation>
    </message>
  </context>
  <context>
    <name>worker</name>
    <message>
      <source>access.ahead</source>
      <translation>Das Token gilt erst ab {at:clock}: Die Uhr des Veranstalters oder die dieses PCs geht falsch.</translation>
    </message>
    <message>
      <source>access.begins</source>
      <translation>Beginnt, sobald dieser PC ein gültiges Token hat.</translation>
    </message>
    <message>
      <source>access.ends_soon</source>
      <translation>{run}: Das Token dieses PCs läuft am {at:date} ab. Bitte den Veranstalter um einen neuen Link und tritt darüber bei; das Training läuft derweil weiter.</translation>
    </message>
    <message>
      <source>access.expired</source>
      <translation>Das Token ist am {at:date} abgelaufen. Bitte den Veranstalter um einen neuen Link.</translation>
    </message>
    <message>
      <source>access.fails</source>
      <translation>Der Austausch der Token mit anderen Peers ist {times:count}-mal hintereinander fehlgeschlagen: {error}.</translation>
    </message>
    <message>
      <source>access.file_damaged</source>
      <translation>{path} ist nicht zu gebrauchen: {why}. Verschiebe die Datei, oder hol eine Kopie zurück.</translation>
    </message>
    <message>
      <source>access.forged</source>
      <translation>Es wurde verändert oder mit einem anderen Schlüssel unterschrieben als dem des Veranstalters {organiser}.</translation>
    </message>
    <message>
      <source>access.list_full</source>
      <translation>Die Liste der widerrufenen Token ist voll ({most:count}). Einträge verlassen sie nach einem Jahr.</translation>
    </message>
    <message>
      <source>access.name_of_several</source>
      <translation>Unter dem Namen {name} hast du mehreren Peers Token gegeben. Nenne den Peer: „hearth access list“ zeigt sie.</translation>
    </message>
    <message>
      <source>access.no_run</source>
      <translation>In diesem Datenordner gibt es keinen unterschriebenen Lauf {run}. Gib seine ID oder seinen Namen an, oder den Pfad seines unterschriebenen Manifests.</translation>
    </message>
    <message>
      <source>access.no_token</source>
      <translation>{run}: Die anderen Peers lassen diesen PC nicht herein, denn er hat kein Token. Schick dem Veranstalter, was „hearth address“ ausgibt, und tritt über den Link bei, den du bekommst.</translation>
    </message>
    <message>
      <source>access.nobody</source>
      <translation>{name} hast du kein Token gegeben. „hearth access list“ zeigt, wem du eines gegeben hast.</translation>
    </message>
    <message>
      <source>access.not_organiser</source>
      <translation>Der Schlüssel dieses Datenordners hat den Lauf {run} nicht unterschrieben; sein Veranstalter ist {organiser}. Wähle dessen Ordner mit --data-dir.</translation>
    </message>
    <message>
      <source>access.other_peer</source>
      <translation>Das Token gilt für den Peer {holder:peer}, nicht für {peer:peer}.</translation>
    </message>
    <message>
      <source>access.other_run</source>
      <translation>Es gilt für den Lauf {found}, nicht für {run}.</translation>
    </message>
    <message>
      <source>access.peer_without</source>
      <translation>Peer {peer:peer} nimmt nicht am Lauf {run} teil, oder einer der beiden PCs hat kein gültiges Token.</translation>
    </message>
    <message>
      <source>access.runs_of_name</source>
      <translation>Mehrere Läufe hier heißen {run}. Gib die ID eines davon an, oder den Pfad seines unterschriebenen Manifests.</translation>
    </message>
    <message>
      <source>access.token_useless</source>
      <translation>{run}: Die anderen Peers lassen diesen PC nicht herein. {why}</translation>
    </message>
    <message>
      <source>access.unreadable</source>
      <translation>Es ist abgeschnitten oder beschädigt oder für eine andere Version von Hearth gemacht ({why}).</translation>
    </message>
    <message>
      <source>access.was_revoked</source>
      <translation>{run}: Der Veranstalter hat das Token dieses PCs widerrufen, und die anderen Peers lassen ihn nicht mehr herein.</translation>
    </message>
    <message>
      <source>announcing.fails</source>
      <translation>{times:count}-mal hintereinander konnte anderen Peers nicht mitgeteilt werden, was dieser PC beherbergt ({error}). Das Training läuft weiter; bitte melde es.</translation>
    </message>
    <message>
      <source>app.does_not_answer</source>
      <translation>Hearth ist für diesen Datenordner schon offen, antwortet aber nicht. Beende es oder warte einen Moment.</translation>
    </message>
    <message>
      <source>app.leaving</source>
      <translation>Die App beendet sich.</translation>
    </message>
    <message>
      <source>backbone.bad_address</source>
      <translation>{address} ist keine Adresse mit Port, wie 0.0.0.0:1883.</translation>
    </message>
    <message>
      <source>backbone.bad_broker</source>
      <translation>{broker} ist keine Adresse eines Brokers; schreibe mqtt://NAME:PORT, oder mqtts://NAME:PORT mit TLS.</translation>
    </message>
    <message>
      <source>backbone.bad_certificate</source>
      <translation>Das Zertifikat {file} mit dem Schlüssel {key} kann nicht verwendet werden: {why}.</translation>
    </message>
    <message>
      <source>backbone.certificate</source>
      <translation>Ein Broker mit mqtts braucht --certificate und --key; einer mit mqtt nimmt beides nicht.</translation>
    </message>
    <message>
      <source>backbone.no_broker</source>
      <translation>--broker-listen, --mosquitto, --certificate und --key gelten für einen Broker: Nenne seine Adresse mit --broker.</translation>
    </message>
    <message>
      <source>backup.exists</source>
      <translation>{file} gibt es schon. Wähle einen anderen Namen, oder ersetze die Datei mit --force.</translation>
    </message>
    <message>
      <source>backup.not_written</source>
      <translation>Die Sicherung {file} konnte nicht geschrieben werden: {why}.</translation>
    </message>
    <message>
      <source>battery.gone</source>
      <translation>Eben lief dieser PC noch auf Akku.</translation>
    </message>
    <message>
      <source>battery.mains</source>
      <translation>Am Stromnetz</translation>
    </message>
    <message>
      <source>battery.mains_charge</source>
      <translation>Am Stromnetz, {charge:percent} geladen</translation>
    </message>
    <message>
      <source>battery.on</source>
      <translation>Auf Akku</translation>
    </message>
    <message>
      <source>battery.on_charge</source>
      <translation>Auf Akku, noch {charge:percent}</translation>
    </message>
    <message>
      <source>battery.reason</source>
      <translation>Dieser PC läuft auf Akku.</translation>
    </message>
    <message>
      <source>battery.reason_charge</source>
      <translation>Dieser PC läuft auf Akku, noch {charge:percent}.</translation>
    </message>
    <message>
      <source>battery.title</source>
      <translation>Strom</translation>
    </message>
    <message>
      <source>battery.until</source>
      <translation>Geht weiter, wenn du ihn an den Strom anschließt.</translation>
    </message>
    <message>
      <source>battery.wants</source>
      <translation>Hält im Akkubetrieb an</translation>
    </message>
    <message>
      <source>battery.wants_below</source>
      <translation>Hält im Akkubetrieb unter {limit:percent} an</translation>
    </message>
    <message>
      <source>board.fails</source>
      <translation>{times:count}-mal hintereinander konnte die Ehrentafel nicht zusammengerechnet werden ({error}). Keine Gutschrift geht verloren; bitte melde es.</translation>
    </message>
    <message>
      <source>bus.bad_address</source>
      <translation>Die Adresse des {bus}-Busses ist nicht zu gebrauchen.</translation>
    </message>
    <message>
      <source>bus.gone</source>
      <translation>Der {bus}-Bus ist weg.</translation>
    </message>
    <message>
      <source>bus.missing</source>
      <translation>Es gibt keinen {bus}-Bus.</translation>
    </message>
    <message>
      <source>bus.none</source>
      <translation>Diese Sitzung hat keinen D-Bus.</translation>
    </message>
    <message>
      <source>bus.nonsense</source>
      <translation>Der {bus}-Bus sandte Unsinn ({why}).</translation>
    </message>
    <message>
      <source>bus.not_offered</source>
      <translation>{service} bietet das hier nicht.</translation>
    </message>
    <message>
      <source>bus.not_running</source>
      <translation>{service} läuft nicht.</translation>
    </message>
    <message>
      <source>bus.odd_answer</source>
      <translation>{service} antwortet auf {method} anders als erwartet.</translation>
    </message>
    <message>
      <source>bus.odd_type</source>
      <translation>{service} meldet {property} mit einem unerwarteten Typ.</translation>
    </message>
    <message>
      <source>bus.refuses</source>
      <translation>{service} lehnt ab: {why}</translation>
    </message>
    <message>
      <source>bus.silent</source>
      <translation>Der {bus}-Bus antwortet nicht.</translation>
    </message>
    <message>
      <source>bus.too_long</source>
      <translation>Der {bus}-Bus sandte eine Nachricht von mehr als {most} MiB.</translation>
    </message>
    <message>
      <source>bus.unreachable</source>
      <translation>Der {bus}-Bus antwortet nicht ({why}).</translation>
    </message>
    <message>
      <source>call.too_large</source>
      <translation>{method}: Ein Aufruf von {size:size} überschreitet die Grenze. Teile ihn.</translation>
    </message>
    <message>
      <source>call.upload_limit</source>
      <translation>{size:size} würden mit deiner Grenze fürs Hochladen {seconds:duration} brauchen. Siehe Einstellungen.</translation>
    </message>
    <message>
      <source>celsius.none</source>
      <translation>Dieser PC gibt nicht an, wie heiß seine CPU ist.</translation>
    </message>
    <message>
      <source>celsius.sensor_silent</source>
      <translation>Der Sensor {sensor} meldet keine Temperatur.</translation>
    </message>
    <message>
      <source>checkpoint.broken</source>
      <translation>Der Checkpoint bei Schritt {step} wurde nicht gespeichert: {why:phrase}. Beende Hearth und starte es neu; es macht beim älteren Checkpoint weiter.</translation>
    </message>
    <message>
      <source>checkpoint.disk_full</source>
      <translation>Der Checkpoint bei Schritt {step} wurde nicht gespeichert: Für {folder} ist kein Platz mehr. Schaffe auf dieser Festplatte Platz. Der ältere Checkpoint bleibt.</translation>
    </message>
    <message>
      <source>checkpoint.disk_hangs</source>
      <translation>Kein Checkpoint wurde gespeichert: Die Festplatte hat ihren freien Speicherplatz nicht binnen {within:whole} s gemeldet. Hearth versucht es erneut; prüfe diese Festplatte. Der ältere Checkpoint bleibt.</translation>
    </message>
    <message>
      <source>checkpoint.file_unusable</source>
      <translation>{file} ist nicht verwendbar: {why:phrase}.</translation>
    </message>
    <message>
      <source>checkpoint.impossible_count</source>
      <translation>Der Checkpoint enthält in {name} eine unmögliche Anzahl.</translation>
    </message>
    <message>
      <source>checkpoint.large_header</source>
      <translation>der Dateikopf ist zu groß</translation>
    </message>
    <message>
      <source>checkpoint.missing</source>
      <translation>die Datei fehlt</translation>
    </message>
    <message>
      <source>checkpoint.mixed_versions</source>
      <translation>die Version ist nicht die ihrer Tensoren</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.more_damaged</source>
      <translation>
        <numerusform>{n} weitere Datei der Checkpoints ist beschädigt.</numerusform>
        <numerusform>{n} weitere Dateien der Checkpoints sind beschädigt.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.negative</source>
      <translation>Der Checkpoint enthält in {name} eine negative Zahl.</translation>
    </message>
    <message>
      <source>checkpoint.no_disk_space</source>
      <translation>Auf dieser Festplatte ist kein Platz dafür. Schaffe dort Platz.</translation>
    </message>
    <message>
      <source>checkpoint.no_expert</source>
      <translation>Der Lauf {run} hat keinen Experten {uid}.</translation>
    </message>
    <message>
      <source>checkpoint.no_room</source>
      <translation>Der Checkpoint bei Schritt {step} wurde nicht gespeichert: Er passt nicht in den Speicherplatz, den du Hearth erlaubst. Erlaube mehr in den Einstellungen. Der ältere Checkpoint bleibt.</translation>
    </message>
    <message>
      <source>checkpoint.none_good</source>
      <translation>kein Zustand, den andere PCs gaben, ist brauchbar</translation>
    </message>
    <message>
      <source>checkpoint.none_left</source>
      <translation>Es gibt keinen Checkpoint mehr: Das Training beginnt von vorn.</translation>
    </message>
    <message>
      <source>checkpoint.not_allowed</source>
      <translation>Der Checkpoint bei Schritt {step} wurde nicht gespeichert: {folder} ist nicht beschreibbar ({why}). Gib Hearth dort Schreibrechte. Der ältere Checkpoint bleibt.</translation>
    </message>
    <message>
      <source>checkpoint.not_at_peer</source>
      <translation>Dieser Peer hat die Datei {file} nicht. Frage einen anderen.</translation>
    </message>
    <message>
      <source>checkpoint.not_finite</source>
      <translation>{name} enthält NaN oder Unendlich.</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.not_here</source>
      <translation>
        <numerusform>Von {n} der {all} Teile ist kein Stand auf diesem PC: Er beginnt von vorn.</numerusform>
        <numerusform>Von {n} der {all} Teile ist kein Stand auf diesem PC: Sie beginnen von vorn.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.not_ours</source>
      <translation>es ist kein Checkpoint von Hearth ({why})</translation>
    </message>
    <message>
      <source>checkpoint.not_related</source>
      <translation>Training kann nicht von dem, was hier ist, zu ihm geführt haben</translation>
    </message>
    <message>
      <source>checkpoint.not_set_aside</source>
      <translation>{damage} {file} konnte nicht umbenannt werden ({why}).</translation>
    </message>
    <message>
      <source>checkpoint.not_written</source>
      <translation>Der Checkpoint bei Schritt {step} wurde nicht gespeichert: Schreiben nach {folder} ist fehlgeschlagen ({why}). Prüfe diese Festplatte. Der ältere Checkpoint bleibt.</translation>
    </message>
    <message>
      <source>checkpoint.of_another_part</source>
      <translation>sie gehört zu {part} des Laufs {run}</translation>
    </message>
    <message>
      <source>checkpoint.of_another_run</source>
      <translation>sie gehört zum Lauf {run}</translation>
    </message>
    <message>
      <source>checkpoint.other_shape</source>
      <translation>Der Checkpoint gehört zu einem anderen Modell: {name} ist {found}, nicht {due}.</translation>
    </message>
    <message>
      <source>checkpoint.other_tensors</source>
      <translation>Der Checkpoint gehört zu einem anderen Modell: {names} fehlt oder ist zu viel.</translation>
    </message>
    <message>
      <source>checkpoint.other_version</source>
      <translation>sie ist Version {version:digits} von {part}</translation>
    </message>
    <message>
      <source>checkpoint.part_does_not_fit</source>
      <translation>Der gespeicherte Stand von {part} passt nicht: {why:phrase}.</translation>
    </message>
    <message>
      <source>checkpoint.part_unusable</source>
      <translation>Der gespeicherte Stand von {part} ist nicht verwendbar: {why:phrase}.</translation>
    </message>
    <message numerus="yes">
      <source>checkpoint.parts_lost</source>
      <translation>
        <numerusform>Kein Checkpoint enthält {n} der Teile unbeschädigt: Er beginnt von vorn.</numerusform>
        <numerusform>Kein Checkpoint enthält {n} der Teile unbeschädigt: Sie beginnen von vorn.</numerusform>
      </translation>
    </message>
    <message>
      <source>checkpoint.quota_full</source>
      <translation>Im Speicherplatz, den Hearth nutzen darf, ist kein Platz dafür. Siehe Einstellungen.</translation>
    </message>
    <message>
      <source>checkpoint.replaced</source>
      <translation>Was fehlt, kam aus dem Checkpoint davor oder aus neueren Kopien.</translation>
    </message>
    <message>
      <source>checkpoint.set_aside</source>
      <translation>{damage} Die Datei wurde als {file} aufgehoben.</translation>
    </message>
    <message>
      <source>checkpoint.too_large</source>
      <translation>die Datei ist zu groß</translation>
    </message>
    <message>
      <source>checkpoint.too_short</source>
      <translation>die Datei ist zu kurz</translation>
    </message>
    <message>
      <source>checkpoint.unusual_moments</source>
      <translation>{name} des Optimierers entsteht nicht durch Training</translation>
    </message>
    <message>
      <source>checkpoint.unusual_weights</source>
      <translation>ihre Gewichte haben die Norm {found}, üblich ist {usual}</translation>
    </message>
    <message>
      <source>checkpoint.worse</source>
      <translation>andere Zustände sind besser bei den Daten dieses PCs</translation>
    </message>
    <message>
      <source>checkpoint.wrong_hash</source>
      <translation>der Inhalt passt nicht zur Prüfsumme</translation>
    </message>
    <message>
      <source>checkpoint.wrong_size</source>
      <translation>die Datei hat {found} Bytes statt {due}</translation>
    </message>
    <message>
      <source>choice.keeps_running</source>
      <translation>Läuft bis {end:clock} weiter, auch während du diesen PC benutzt, oder bis du „Pause“ drückst.</translation>
    </message>
    <message>
      <source>choice.none</source>
      <translation>Nicht pausiert</translation>
    </message>
    <message>
      <source>choice.paused</source>
      <translation>Pausiert</translation>
    </message>
    <message>
      <source>choice.paused_until</source>
      <translation>Pausiert bis {end:clock}</translation>
    </message>
    <message>
      <source>choice.quitting</source>
      <translation>Wird beendet</translation>
    </message>
    <message>
      <source>choice.resume</source>
      <translation>Geht weiter, wenn du „Fortsetzen“ drückst.</translation>
    </message>
    <message>
      <source>choice.resume_at</source>
      <translation>Geht um {end:clock} weiter oder wenn du „Fortsetzen“ drückst.</translation>
    </message>
    <message>
      <source>choice.saved</source>
      <translation>Endet, wenn der Checkpoint gespeichert ist.</translation>
    </message>
    <message>
      <source>choice.saves</source>
      <translation>Hearth beendet sich und speichert seine Arbeit.</translation>
    </message>
    <message>
      <source>choice.start_now</source>
      <translation>Jetzt starten, bis {end:clock}</translation>
    </message>
    <message>
      <source>choice.then</source>
      <translation>Nach der Pause muss es weiter warten.</translation>
    </message>
    <message>
      <source>choice.title</source>
      <translation>Deine Wahl</translation>
    </message>
    <message>
      <source>choice.wants</source>
      <translation>Deine Wahl hat Vorrang vor den anderen Regeln</translation>
    </message>
    <message>
      <source>choice.you_paused</source>
      <translation>Du hast Hearth pausiert.</translation>
    </message>
    <message>
      <source>choice.you_paused_until</source>
      <translation>Du hast Hearth bis {end:clock} pausiert.</translation>
    </message>
    <message>
      <source>choice.you_started</source>
      <translation>Du wolltest, dass Hearth jetzt läuft.</translation>
    </message>
    <message>
      <source>compute.configured_twice</source>
      <translation>Der Worker hat diesen Prozess zweimal eingerichtet.</translation>
    </message>
    <message>
      <source>compute.deaf</source>
      <translation>Der Rechenprozess nimmt keine Nachrichten mehr an.</translation>
    </message>
    <message>
      <source>compute.did_not_stop</source>
      <translation>Der Rechenprozess hielt in {within:whole} s nicht an und wurde beendet.</translation>
    </message>
    <message>
      <source>compute.ended_unexpectedly</source>
      <translation>Der Rechenprozess endete unerwartet (Code {exit:digits}).</translation>
    </message>
    <message>
      <source>compute.free_at</source>
      <translation>Sein Arbeitsspeicher ist in {at:countdown} frei.</translation>
    </message>
    <message>
      <source>compute.freeing</source>
      <translation>Sein Arbeitsspeicher wird freigegeben.</translation>
    </message>
    <message>
      <source>compute.has_ended</source>
      <translation>Der Rechenprozess ist beendet.</translation>
    </message>
    <message>
      <source>compute.hosting_too_late</source>
      <translation>Der Rechenprozess hat binnen {within:whole} s keine Experten übernommen oder gespeichert.</translation>
    </message>
    <message>
      <source>compute.killed</source>
      <translation>Der Rechenprozess wurde gewaltsam beendet (Signal {signal}, {name}).</translation>
    </message>
    <message>
      <source>compute.loading</source>
      <translation>Das Netz wird geladen.</translation>
    </message>
    <message>
      <source>compute.measuring</source>
      <translation>Es wird gemessen, wie schnell dieser PC ist.</translation>
    </message>
    <message>
      <source>compute.no_memory</source>
      <translation>Zum Trainieren reicht der Arbeitsspeicher dieses PCs nicht, oder der, den Hearth benutzen darf. Was trainiert wurde, ist gespeichert. Schließe andere Programme, wähle einen kleineren Lauf oder erlaube mehr in den Einstellungen.</translation>
    </message>
    <message>
      <source>compute.no_sign</source>
      <translation>Der Rechenprozess gab {within:whole} s lang kein Lebenszeichen und wurde beendet.</translation>
    </message>
    <message>
      <source>compute.not_ready</source>
      <translation>Der Rechenprozess war nach {within:whole} s nicht bereit.</translation>
    </message>
    <message>
      <source>compute.not_started</source>
      <translation>Der Rechenprozess ließ sich nicht starten: {why}.</translation>
    </message>
    <message>
      <source>compute.program_error</source>
      <translation>Der Rechenprozess stieß auf einen Fehler im Programm ({kind}: {why}).</translation>
    </message>
    <message>
      <source>compute.ready_soon</source>
      <translation>Fertig in ein paar Sekunden.</translation>
    </message>
    <message>
      <source>compute.restarting</source>
      <translation>Es wird neu gestartet.</translation>
    </message>
    <message>
      <source>compute.retry</source>
      <translation>Nächster Versuch in {at:countdown}.</translation>
    </message>
    <message>
      <source>compute.stopped</source>
      <translation>Angehalten; keine Arbeit ist verloren.</translation>
    </message>
    <message>
      <source>compute.stopping</source>
      <translation>Der Rechenprozess hält an.</translation>
    </message>
    <message>
      <source>compute.stops_soon</source>
      <translation>Gleich vorbei. Keine Arbeit geht verloren.</translation>
    </message>
    <message>
      <source>compute.unsaved</source>
      <translation>Der Rechenprozess endete, bevor alles Trainierte gespeichert war; er macht beim letzten Checkpoint weiter.</translation>
    </message>
    <message>
      <source>compute.unsaved_slow_disk</source>
      <translation>Der Rechenprozess endete, bevor alles Trainierte gespeichert war; er macht beim letzten Checkpoint weiter. Ist die Festplatte langsam oder voll?</translation>
    </message>
    <message>
      <source>control.no_method</source>
      <translation>Der Worker kennt {method} nicht. Er ist von einer anderen Version: Starte ihn neu.</translation>
    </message>
    <message>
      <source>control.not_written</source>
      <translation>{file} lässt sich nicht schreiben: {why}. Schaffe dort etwas Platz und mach den Ordner beschreibbar, oder wähle mit --data-dir einen anderen.</translation>
    </message>
    <message>
      <source>control.other_version</source>
      <translation>Dieser Worker spricht Version {worker:digits} des Steuerprotokolls, du sprichst {client:digits}. Beende Hearth überall und starte es neu.</translation>
    </message>
    <message>
      <source>control.port_in_use</source>
      <translation>Der Steuerport {port:digits} ist nicht zu gebrauchen: {why}. Schließe das Programm, das ihn hat, oder setze „control_port“ in {file} auf 0.</translation>
    </message>
    <message>
      <source>control.wrong_token</source>
      <translation>Das Token ist falsch: Es gehört zu einem anderen Worker. Starte Hearth neu.</translation>
    </message>
    <message>
      <source>copies.fails</source>
      <translation>{times:count}-mal hintereinander konnten keine Kopien von Checkpoints mit anderen Peers ausgetauscht werden ({error}). Nichts auf diesem PC geht verloren; bitte melde es.</translation>
    </message>
    <message>
      <source>cpu_busy.gone</source>
      <translation>Eben waren andere Programme noch beschäftigt.</translation>
    </message>
    <message>
      <source>cpu_busy.live</source>
      <translation>{share:percent} der CPU</translation>
    </message>
    <message>
      <source>cpu_busy.reason</source>
      <translation>Andere Programme brauchen {share:percent} der CPU.</translation>
    </message>
    <message>
      <source>cpu_busy.title</source>
      <translation>Andere Programme</translation>
    </message>
    <message>
      <source>cpu_busy.until</source>
      <translation>Geht weiter, wenn sie 20 s lang ruhig waren.</translation>
    </message>
    <message>
      <source>cpu_busy.wants</source>
      <translation>Hält über {limit:percent} an</translation>
    </message>
    <message>
      <source>cpu_busy.wants_none</source>
      <translation>Hält für sie nie an</translation>
    </message>
    <message>
      <source>credit.audited_too_much</source>
      <translation>Sie nennt mehr geprüfte Arbeit als Arbeit.</translation>
    </message>
    <message>
      <source>credit.fails</source>
      <translation>{times:count}-mal hintereinander konnten keine Gutschriften für andere Peers unterschrieben werden ({error}). Was sie geleistet haben, ist gezählt und wird unterschrieben, sobald das geht; bitte melde es.</translation>
    </message>
    <message>
      <source>credit.file_unreadable</source>
      <translation>{path} kann nicht gelesen werden: {why}.</translation>
    </message>
    <message>
      <source>credit.foreign</source>
      <translation>Diese Gutschrift gehört zu einem anderen Lauf oder zu anderen Peers als denen, die sie zeigen.</translation>
    </message>
    <message>
      <source>credit.forged_bundle</source>
      <translation>Der Peer {peer:peer} hat nicht unterschrieben, was er zeigen soll, oder es wurde danach geändert.</translation>
    </message>
    <message>
      <source>credit.forged_sheet</source>
      <translation>Diese Gutschrift hat der genannte Trainer {peer:peer} nicht unterschrieben, oder sie wurde danach geändert.</translation>
    </message>
    <message>
      <source>credit.forged_totals</source>
      <translation>Die Ehrentafel {board} hat diese Summen nicht unterschrieben, oder sie wurden danach geändert.</translation>
    </message>
    <message>
      <source>credit.none</source>
      <translation>Für diesen PC hat noch niemand etwas unterschrieben. Das dauert eine Minute, nachdem andere mit seinen Experten trainiert haben.</translation>
    </message>
    <message>
      <source>credit.not_of_peer</source>
      <translation>Die Datei nennt den Peer {peer:peer}, enthält aber Gutschriften eines anderen.</translation>
    </message>
    <message>
      <source>credit.not_written</source>
      <translation>{path} kann nicht geschrieben werden: {why}.</translation>
    </message>
    <message>
      <source>credit.twice</source>
      <translation>Der Peer {peer:peer} zeigt zwei Blätter desselben Trainers für eine Woche.</translation>
    </message>
    <message>
      <source>credit.unreadable</source>
      <translation>Dies enthält keine Gutschrift, die dieses Hearth versteht. Sie ist vielleicht beschädigt oder aus einer neueren Version.</translation>
    </message>
    <message>
      <source>credit.untimely</source>
      <translation>Diese Gutschrift gilt für eine Woche, die lange vorbei ist oder noch kommt. Prüfe die Uhr dieses PCs und die des Peers.</translation>
    </message>
    <message>
      <source>data.bad_idx</source>
      <translation>{path} ist keine von MNISTs Dateien, ist beschädigt, oder passt nicht zu ihren Klassen.</translation>
    </message>
    <message>
      <source>data.bad_line</source>
      <translation>Zeile {line:digits} von {path} ist kein JSON-Objekt mit einem "{column}": {why}.</translation>
    </message>
    <message>
      <source>data.bad_list</source>
      <translation>Die Liste der Teile des Laufs ist ungültig: {why}. Frage den Veranstalter.</translation>
    </message>
    <message>
      <source>data.bad_parquet</source>
      <translation>{path} ist keine Parquet-Datei oder beschädigt: {why}</translation>
    </message>
    <message>
      <source>data.bad_picture</source>
      <translation>{path} ist kein lesbares Bild: {why}. Repariere oder entferne es.</translation>
    </message>
    <message>
      <source>data.changed</source>
      <translation>Eine Datei wurde geändert, während sie gelesen wurde. Versuch es erneut.</translation>
    </message>
    <message>
      <source>data.classes</source>
      <translation>Es gibt {n} Klassen, jede ein Ordner mit Bildern; es müssen 2 bis {most} sein.</translation>
    </message>
    <message>
      <source>data.column_twice</source>
      <translation>{path} hat mehrere Spalten namens {column}. Benenne alle bis auf eine um.</translation>
    </message>
    <message>
      <source>data.coming</source>
      <translation>Die Daten des Laufs {run} sind noch nicht hier. Sie werden von Peers geholt, die sie haben; das Training beginnt mit dem ersten Teil.</translation>
    </message>
    <message>
      <source>data.elsewhere</source>
      <translation>{folder} führt nur zu einem anderen PC. Dessen Daten werden dort verwaltet.</translation>
    </message>
    <message>
      <source>data.fails</source>
      <translation>{times:count}-mal hintereinander konnten die Daten des Laufs nicht geholt oder weitergegeben werden ({error}). Bitte melde es.</translation>
    </message>
    <message>
      <source>data.flat_pictures</source>
      <translation>Die Bilder von {place} ({count}) gehören zu keiner Klasse. Lege die jeder Klasse in einen eigenen Ordner darin, etwa Katzen und Hunde: Die Namen der Ordner werden die Klassen.</translation>
    </message>
    <message>
      <source>data.foreign_token</source>
      <translation>Die Daten enthalten das Token {token}, und das Modell kennt {vocabulary}.</translation>
    </message>
    <message>
      <source>data.group_too_large</source>
      <translation>{path} hat eine Zeilengruppe mit {size:size} Text. Hearth liest Gruppen bis {most:size}: Schreibe die Datei neu mit weniger Zeilen je Gruppe (row_group_size in pyarrow und pandas).</translation>
    </message>
    <message>
      <source>data.half_token</source>
      <translation>Ein Teil der Daten endet mitten in einem Token.</translation>
    </message>
    <message>
      <source>data.in_use</source>
      <translation>Hearth benutzt {folder} noch. Beende es und versuch es dann erneut.</translation>
    </message>
    <message>
      <source>data.line_too_long</source>
      <translation>Zeile {line:digits} von {path} ist länger als {most:size}. Mache mehrere Dokumente daraus.</translation>
    </message>
    <message>
      <source>data.no_column</source>
      <translation>{path} hat keine Spalte mit Texten namens {column}; es gibt {known}. Nenne eine andere mit --column.</translation>
    </message>
    <message>
      <source>data.no_digits</source>
      <translation>Die Daten des Laufs „digits“ fehlen: Installiere das Paket scikit-learn neu.</translation>
    </message>
    <message>
      <source>data.no_files</source>
      <translation>In {place} ist nichts, womit trainiert werden kann. Texte sind Dateien, die auf {endings} enden; Bilder liegen in einem Ordner je Klasse.</translation>
    </message>
    <message>
      <source>data.no_labels</source>
      <translation>Neben {path} ist keine Datei mit Klassen, deren Name labels-idx1-ubyte enthält.</translation>
    </message>
    <message>
      <source>data.no_pictures</source>
      <translation>In {place} sind keine Bilder für die Vorlage {template}: Ordner mit Bildern, einer für jede Klasse, oder MNISTs Dateien.</translation>
    </message>
    <message>
      <source>data.no_place</source>
      <translation>Es gibt keinen Ordner und keine Datei {place}.</translation>
    </message>
    <message>
      <source>data.no_pyarrow</source>
      <translation>{path} ist eine Parquet-Datei. Um sie zu lesen, brauchst du pyarrow, das nicht installiert ist: pip install "hearth[parquet]"</translation>
    </message>
    <message>
      <source>data.no_room</source>
      <translation>Die Teile brauchen {size:size} in {folder}, frei sind {free:size}. Schaffe Platz, oder nenne mit --data-dir einen anderen Datenordner.</translation>
    </message>
    <message>
      <source>data.no_text_files</source>
      <translation>In {place} sind keine Texte für die Vorlage {template}: Dateien, die auf {endings} enden.</translation>
    </message>
    <message>
      <source>data.no_texts</source>
      <translation>{path} hat keine Spalte mit Texten.</translation>
    </message>
    <message>
      <source>data.none</source>
      <translation>In {folder} sind keine Daten.</translation>
    </message>
    <message>
      <source>data.none_yet</source>
      <translation>Noch ist kein Teil der Daten des Laufs hier. Das Training beginnt, sobald der erste geholt ist.</translation>
    </message>
    <message>
      <source>data.not_utf8</source>
      <translation>{path} ist kein Text in UTF-8: Byte {place} gehört zu keinem Zeichen. Speichere die Datei als UTF-8, oder entferne sie.</translation>
    </message>
    <message>
      <source>data.not_written</source>
      <translation>{path} ist nicht beschreibbar: {why}.</translation>
    </message>
    <message>
      <source>data.one_class</source>
      <translation>Alle Bilder von {place} liegen in einem Ordner, {name}, sind also von einer Klasse: Es gibt nichts zu unterscheiden. Für jede Klasse muss es einen Ordner geben, mindestens zwei. Sind die Klassen Ordner in {name}, dann nenne diesen.</translation>
    </message>
    <message>
      <source>data.one_document</source>
      <translation>Es gibt nur ein Dokument, und eines muss zurückgehalten werden. Gib mindestens zwei Dateien an, oder eine von mehr als 256 KB mit Leerzeilen.</translation>
    </message>
    <message>
      <source>data.part_gone</source>
      <translation>Der Teil {part} vom Text des Laufs fehlt oder wurde geändert. Starte Hearth neu.</translation>
    </message>
    <message numerus="yes">
      <source>data.parts_missing</source>
      <translation>
        <numerusform>{n} von {all} Teilen vom Text des Laufs {run} fehlt hier: Python {python} bringt einen anderen Text mit. Er wird von Peers geholt, die ihn haben, sobald einer verbunden ist (hearth worker --bootstrap); Python 3.11 hat alle.</numerusform>
        <numerusform>{n} von {all} Teilen vom Text des Laufs {run} fehlen hier: Python {python} bringt einen anderen Text mit. Sie werden von Peers geholt, die sie haben, sobald einer verbunden ist (hearth worker --bootstrap); Python 3.11 hat alle.</numerusform>
      </translation>
    </message>
    <message>
      <source>data.text_too_short</source>
      <translation>Der Lauf {run} hat keine Sequenz oder einen Text, der dafür zu kurz ist.</translation>
    </message>
    <message>
      <source>data.too_few_pictures</source>
      <translation>Der Lauf {run} hat keine zurückgehaltenen Bilder, oder zu wenige zum Trainieren.</translation>
    </message>
    <message>
      <source>data.too_large</source>
      <translation>Der Text hat {size:size}; ein Lauf nimmt höchstens {most:size}. Nimm einen Teil davon.</translation>
    </message>
    <message>
      <source>data.too_many_files</source>
      <translation>Es sind mehr als {most} Dateien. Schreibe mehrere Texte in eine .jsonl-Datei, jeden in eine Zeile.</translation>
    </message>
    <message>
      <source>data.too_much_at_once</source>
      <translation>Wo Teile der Daten ausgeteilt werden, hält jeder PC alle: höchstens {most:size}.</translation>
    </message>
    <message>
      <source>data.unreadable</source>
      <translation>{path} kann nicht gelesen werden: {why}.</translation>
    </message>
    <message>
      <source>data.which_column</source>
      <translation>Es ist nicht klar, welche Spalte von {path} die Texte enthält; es gibt {known}. Nenne eine mit --column.</translation>
    </message>
    <message>
      <source>data_folder.gone</source>
      <translation>Der Datenordner {folder} ist weg. Lege ihn zurück und versuch es erneut, oder beende Hearth und starte es neu.</translation>
    </message>
    <message>
      <source>desktop.none</source>
      <translation>Es gibt keine Sitzung mit Oberfläche.</translation>
    </message>
    <message>
      <source>desktop.outside</source>
      <translation>Hearth läuft außerhalb einer Sitzung mit Oberfläche.</translation>
    </message>
    <message>
      <source>device.computes_wrongly</source>
      <translation>{name} rechnet falsch.</translation>
    </message>
    <message>
      <source>device.cpu_is_faster</source>
      <translation>Die CPU ist für diesen Lauf schneller.</translation>
    </message>
    <message>
      <source>device.full_in_a_sum</source>
      <translation>Der Speicher von {name} war mitten in einer Summe voll.</translation>
    </message>
    <message>
      <source>device.not_found</source>
      <translation>PyTorch findet die GPU {id} nicht. Ist ihr Treiber zu alt?</translation>
    </message>
    <message>
      <source>device.not_known_yet</source>
      <translation>Ob sie sich benutzen lässt, ist bekannt, sobald der Rechenprozess läuft.</translation>
    </message>
    <message>
      <source>device.off</source>
      <translation>Du hast sie in den Einstellungen ausgeschaltet.</translation>
    </message>
    <message>
      <source>device.other_gpu</source>
      <translation>Eine andere GPU rechnet.</translation>
    </message>
    <message>
      <source>device.torch_has_none</source>
      <translation>Das installierte PyTorch rechnet nur auf der CPU.</translation>
    </message>
    <message>
      <source>device.unusable</source>
      <translation>Die GPU {id} ist nicht nutzbar: {why}.</translation>
    </message>
    <message>
      <source>directory.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich nicht lesen, wer welche Experten des Laufs beherbergt ({error}). Was bekannt ist, wird weiter benutzt; bitte melde es.</translation>
    </message>
    <message>
      <source>disk.gone</source>
      <translation>Eben war zu wenig Speicherplatz frei.</translation>
    </message>
    <message numerus="yes">
      <source>disk.limits_experts</source>
      <translation>
        <numerusform>Nur {n} Experte wird hier trainiert: Die Stände von mehr passen nicht in die {most:size} Speicherplatz, die du Hearth erlaubst. Nichts geht verloren; erlaube in den Einstellungen mehr.</numerusform>
        <numerusform>Nur {n} Experten werden hier trainiert: Die Stände von mehr passen nicht in die {most:size} Speicherplatz, die du Hearth erlaubst. Nichts geht verloren; erlaube in den Einstellungen mehr.</numerusform>
      </translation>
    </message>
    <message>
      <source>disk.reason</source>
      <translation>Nur {free:size} Speicherplatz sind frei.</translation>
    </message>
    <message>
      <source>disk.run_waits</source>
      <translation>Er wartet auf Speicherplatz: Seine Stände brauchen {needed:size} neben den Dateien, die da sind, und du erlaubst {most:size} für alle zusammen.</translation>
    </message>
    <message>
      <source>disk.title</source>
      <translation>Freier Speicherplatz</translation>
    </message>
    <message>
      <source>disk.unreadable</source>
      <translation>Der freie Speicherplatz in {folder} ist nicht lesbar: {why}.</translation>
    </message>
    <message>
      <source>doctor.broker</source>
      <translation>Broker</translation>
    </message>
    <message>
      <source>doctor.broker_remedy</source>
      <translation>Mitteilungen des Veranstalters und die Rangliste kommen, sobald einer antwortet. Dieser PC versucht es alle paar Sekunden; zum Trainieren braucht er keinen.</translation>
    </message>
    <message>
      <source>doctor.brokers</source>
      <translation>mit {connected:count} von {all:count} verbunden</translation>
    </message>
    <message>
      <source>doctor.brokers_none</source>
      <translation>die Läufe hier nennen keinen</translation>
    </message>
    <message>
      <source>doctor.brokers_none_remedy</source>
      <translation>Zum Trainieren braucht es keinen. Ohne einen gibt es keine Mitteilungen des Veranstalters und keine Rangliste; Veranstalter nennen sie im Manifest (brokers).</translation>
    </message>
    <message>
      <source>doctor.clock</source>
      <translation>Uhr</translation>
    </message>
    <message>
      <source>doctor.clock_off</source>
      <translation>{seconds:signed} s gegenüber anderen Peers</translation>
    </message>
    <message>
      <source>doctor.clock_remedy</source>
      <translation>Stelle die Uhr dieses PCs, am besten nach der Netzwerkzeit: Andere Peers lehnen Einträge mit falscher Zeit ab.</translation>
    </message>
    <message>
      <source>doctor.connected</source>
      <translation>{connected} verbunden, {known} dem DHT bekannt</translation>
    </message>
    <message>
      <source>doctor.disk</source>
      <translation>Festplatte</translation>
    </message>
    <message>
      <source>doctor.disk_remedy</source>
      <translation>Schaffe etwas Platz: Auf einer vollen Festplatte lassen sich keine Checkpoints speichern.</translation>
    </message>
    <message>
      <source>doctor.free_at</source>
      <translation>{free:size} frei in {folder}</translation>
    </message>
    <message>
      <source>doctor.listening</source>
      <translation>lauscht auf {address}</translation>
    </message>
    <message>
      <source>doctor.nat</source>
      <translation>NAT</translation>
    </message>
    <message>
      <source>doctor.nat_remedy</source>
      <translation>Dieser Router gibt jeder Verbindung einen anderen Port: Peers erreichen diesen PC nur über ein Relais.</translation>
    </message>
    <message>
      <source>doctor.no_address</source>
      <translation>lauscht auf keiner Adresse</translation>
    </message>
    <message>
      <source>doctor.outside</source>
      <translation>Außenadresse</translation>
    </message>
    <message>
      <source>doctor.peers</source>
      <translation>andere Peers</translation>
    </message>
    <message>
      <source>doctor.peers_remedy</source>
      <translation>Füge einen Peer hinzu: Setze die Adresse eines anderen PCs auf der Seite Netzwerk ein, oder nutze „hearth peers --add“.</translation>
    </message>
    <message>
      <source>doctor.port</source>
      <translation>Port</translation>
    </message>
    <message>
      <source>doctor.port_remedy</source>
      <translation>Starte den Worker mit --listen 0.0.0.0:PORT und einem Port, den kein anderes Programm benutzt.</translation>
    </message>
    <message>
      <source>doctor.reach_remedy</source>
      <translation>Andere Peers können diesen PC nicht von sich aus erreichen. Es geht trotzdem; ein Backbone-Peer, der vermittelt, macht es schneller.</translation>
    </message>
    <message>
      <source>doctor.reachability</source>
      <translation>Erreichbarkeit</translation>
    </message>
    <message>
      <source>doctor.reached</source>
      <translation>{kind} ({step})</translation>
    </message>
    <message>
      <source>doctor.unmeasured</source>
      <translation>Noch hat es niemand gemessen; ein verbundener Backbone-Peer wird es tun.</translation>
    </message>
    <message>
      <source>energy.live</source>
      <translation>{used:kwh} in diesem Monat</translation>
    </message>
    <message>
      <source>energy.reason</source>
      <translation>Die {most:count} kWh, die du im Monat erlaubst, sind verbraucht.</translation>
    </message>
    <message>
      <source>energy.title</source>
      <translation>Energie</translation>
    </message>
    <message>
      <source>energy.wants</source>
      <translation>Höchstens {most:count} kWh im Monat</translation>
    </message>
    <message numerus="yes">
      <source>event.adopted</source>
      <translation>
        <numerusform>Dieser PC hat {n} Experten von {peer:peer} übernommen.</numerusform>
        <numerusform>Dieser PC hat {n} Experten von {peer:peer} übernommen.</numerusform>
      </translation>
    </message>
    <message>
      <source>event.first_use</source>
      <translation>{peer:peer} hat als erster anderer PC einen Experten dieses PCs benutzt.</translation>
    </message>
    <message>
      <source>event.helped</source>
      <translation>{peer:peer} hat diesem PC zum ersten Mal beim Training geholfen.</translation>
    </message>
    <message numerus="yes">
      <source>event.passed</source>
      <translation>
        <numerusform>{peer:peer} hat {n} Experten von {other:peer} übernommen.</numerusform>
        <numerusform>{peer:peer} hat {n} Experten von {other:peer} übernommen.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>event.taken</source>
      <translation>
        <numerusform>{peer:peer} hat {n} Experten von diesem PC übernommen.</numerusform>
        <numerusform>{peer:peer} hat {n} Experten von diesem PC übernommen.</numerusform>
      </translation>
    </message>
    <message>
      <source>exchange.fails</source>
      <translation>{times:count}-mal hintereinander konnten Daten und Rumpf des Laufs nicht gepflegt werden ({error}). Bitte melde es.</translation>
    </message>
    <message>
      <source>export.dense_beside_experts</source>
      <translation>llama.cpp liest kein Modell, das Schichten mit Experten und Schichten ohne sie hat. Schreibe es als hf.</translation>
    </message>
    <message>
      <source>export.failed</source>
      <translation>Das Modell konnte nicht geschrieben werden: Der Prozess dafür endete mit {status}. Sieh nach, was „hearth log“ sagt.</translation>
    </message>
    <message>
      <source>export.no_such_form</source>
      <translation>Ein Modell der Art {kind} lässt sich nicht als {form} schreiben: ein decoder wird als hf oder gguf geschrieben, jedes andere als safetensors. Lass --format weg, dann ist es richtig.</translation>
    </message>
    <message>
      <source>export.no_tokenizer</source>
      <translation>Dieser {kind} liest Bytes: Nur ein Modell aus Token lässt sich für andere Programme schreiben.</translation>
    </message>
    <message>
      <source>export.no_trunk</source>
      <translation>Von {run} gibt es noch nichts zu exportieren: Hier wurde noch kein Rumpf gespeichert, und kein Peer hat einen gesendet. Warte auf den ersten Checkpoint.</translation>
    </message>
    <message>
      <source>export.not_alike</source>
      <translation>Was geschrieben wurde, ist nicht das Modell: Seine Bewertungen weichen um bis zu {difference} ab. Es wurde gelöscht.</translation>
    </message>
    <message>
      <source>export.not_written</source>
      <translation>{folder} kann nicht geschrieben werden: {why}.</translation>
    </message>
    <message>
      <source>export.odd_tensors</source>
      <translation>Was geschrieben wurde, ist nicht das Modell: {count} seiner Teile fehlen oder passen nicht, etwa {first}. Es wurde gelöscht.</translation>
    </message>
    <message>
      <source>export.taken</source>
      <translation>In {folder} liegen Dateien, die nicht zu einem exportierten Modell gehören. Nenne mit --out einen anderen Ordner.</translation>
    </message>
    <message>
      <source>export.too_few_experts</source>
      <translation>Eine Schicht hat nur {experts} trainierte Experten, und jedes Token fragt {k}. Lass weiter trainieren, oder hole mehr von ihnen.</translation>
    </message>
    <message>
      <source>export.worse</source>
      <translation>Was geschrieben wurde, ist um {difference} Nat je Token schlechter als das Modell. Es wurde gelöscht; schreibe es mit genaueren Zahlen.</translation>
    </message>
    <message>
      <source>file.cannot_be_locked</source>
      <translation>{file} lässt sich nicht sperren: {reason}.</translation>
    </message>
    <message>
      <source>file.kept</source>
      <translation>Sie wurde als {name} aufgehoben.</translation>
    </message>
    <message>
      <source>file.left</source>
      <translation>Sie wurde gelassen, wie sie war.</translation>
    </message>
    <message>
      <source>file.loss_choice</source>
      <translation>Deine Wahl gilt, aber nur, bis Hearth endet.</translation>
    </message>
    <message>
      <source>file.loss_curve</source>
      <translation>Die Kurve beginnt neu.</translation>
    </message>
    <message>
      <source>file.loss_events</source>
      <translation>Was vorher geschah, wird nicht mehr aufgeführt.</translation>
    </message>
    <message>
      <source>file.loss_line</source>
      <translation>Wie schnell deine Leitung sendet, wird neu gemessen.</translation>
    </message>
    <message>
      <source>file.loss_ports</source>
      <translation>Andere Peers suchen diesen PC an seinem neuen Port.</translation>
    </message>
    <message>
      <source>file.loss_runs</source>
      <translation>Dieser PC trainiert den Lauf aus den Einstellungen.</translation>
    </message>
    <message>
      <source>file.loss_runs_unsaved</source>
      <translation>Die Teilnahme an den Läufen gilt, aber nur bis Hearth endet.</translation>
    </message>
    <message>
      <source>file.loss_tried</source>
      <translation>Was du vorher mit Modellen ausprobiert hast, wird nicht mehr aufgeführt.</translation>
    </message>
    <message>
      <source>file.loss_wishes</source>
      <translation>Nichts ist pausiert.</translation>
    </message>
    <message>
      <source>file.not_written</source>
      <translation>{path} ließ sich nicht schreiben: {why}. Die alte Datei bleibt.</translation>
    </message>
    <message>
      <source>file.unreadable</source>
      <translation>{name} war nicht lesbar ({why}). {kept} {loss}</translation>
    </message>
    <message>
      <source>folder.gone</source>
      <translation>Der Datenordner {folder} ist weg.</translation>
    </message>
    <message>
      <source>folder.is_a_file</source>
      <translation>{folder} ist eine Datei. Wähle mit --data-dir einen Ordner.</translation>
    </message>
    <message>
      <source>folder.lock_not_written</source>
      <translation>{file} lässt sich nicht schreiben: {why}. Wähle mit --data-dir einen anderen Ordner.</translation>
    </message>
    <message>
      <source>folder.moved_away</source>
      <translation>Die Daten von {first} wurden nach {folder} verschoben; dieser Ordner ist nicht da. Schließe die Festplatte an und starte Hearth dann erneut.</translation>
    </message>
    <message>
      <source>folder.newer</source>
      <translation>Der Datenordner {folder} gehört zu einem neueren Hearth. Installiere dieses wieder oder wähle mit --data-dir einen anderen Ordner.</translation>
    </message>
    <message>
      <source>folder.not_made</source>
      <translation>{folder} lässt sich nicht anlegen: {why}.</translation>
    </message>
    <message>
      <source>folder.not_moved</source>
      <translation>{old} lässt sich nicht nach {new} verschieben: {why}.</translation>
    </message>
    <message>
      <source>folder.not_utf8</source>
      <translation>Der Name des Datenordners {folder} ist nicht UTF-8. Wähle mit --data-dir einen anderen.</translation>
    </message>
    <message>
      <source>folder.not_writable</source>
      <translation>Der Datenordner {folder} lässt sich nicht schreiben: {why}. Mach ihn beschreibbar oder wähle mit --data-dir einen anderen.</translation>
    </message>
    <message>
      <source>free.live</source>
      <translation>{free:size} frei</translation>
    </message>
    <message>
      <source>free.until</source>
      <translation>Geht weiter, wenn {limit:size} frei sind.</translation>
    </message>
    <message>
      <source>free.wants</source>
      <translation>Lässt {limit:size} frei</translation>
    </message>
    <message>
      <source>free.wants_none</source>
      <translation>Lässt nichts frei</translation>
    </message>
    <message>
      <source>front.desktop_silent</source>
      <translation>Was den Bildschirm füllt, lässt sich nicht messen: Die Oberfläche meldet es nicht.</translation>
    </message>
    <message>
      <source>front.unknown</source>
      <translation>Was den Bildschirm füllt, ist unbekannt: {why}.</translation>
    </message>
    <message>
      <source>front.wayland_hidden</source>
      <translation>Diese Wayland-Oberfläche meldet nicht, was den Bildschirm füllt.</translation>
    </message>
    <message>
      <source>front.window_manager_silent</source>
      <translation>Was den Bildschirm füllt, lässt sich nicht messen: Die Fensterverwaltung meldet es nicht.</translation>
    </message>
    <message>
      <source>game.fullscreen</source>
      <translation>Ein Vollbild</translation>
    </message>
    <message>
      <source>game.fullscreen_of</source>
      <translation>Ein Vollbild ({program})</translation>
    </message>
    <message>
      <source>game.game</source>
      <translation>Ein Spiel</translation>
    </message>
    <message>
      <source>game.game_of</source>
      <translation>Ein Spiel ({program})</translation>
    </message>
    <message>
      <source>game.gone</source>
      <translation>Eben war noch ein Spiel oder Vollbild im Vordergrund.</translation>
    </message>
    <message>
      <source>game.none</source>
      <translation>Keine</translation>
    </message>
    <message>
      <source>game.presentation</source>
      <translation>Eine Präsentation</translation>
    </message>
    <message>
      <source>game.presentation_of</source>
      <translation>Eine Präsentation ({program})</translation>
    </message>
    <message>
      <source>game.reason</source>
      <translation>{what} ist im Vordergrund.</translation>
    </message>
    <message>
      <source>game.title</source>
      <translation>Spiele und Vollbild</translation>
    </message>
    <message>
      <source>game.until</source>
      <translation>Geht weiter, wenn es nicht mehr auf dem Bildschirm ist.</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_all</source>
      <translation>Spiele und Vollbilder halten alles an</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_gpu</source>
      <translation>Spiele und Vollbilder halten die GPU an</translation>
    </message>
    <message>
      <source>game.wants_fullscreen_nothing</source>
      <translation>Spiele und Vollbilder halten nichts an</translation>
    </message>
    <message>
      <source>game.wants_game_all</source>
      <translation>Spiele halten alles an</translation>
    </message>
    <message>
      <source>game.wants_game_gpu</source>
      <translation>Spiele halten die GPU an</translation>
    </message>
    <message>
      <source>game.wants_game_nothing</source>
      <translation>Spiele halten nichts an</translation>
    </message>
    <message>
      <source>gathering.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich weder melden noch lesen, wie weit die Trainer mit ihrem gemeinsamen Stapel sind ({error}). Bis das geht, kommt kein gemeinsamer Schritt; bitte melde es.</translation>
    </message>
    <message>
      <source>gpu.all_off</source>
      <translation>Du hast alle GPUs ausgeschaltet.</translation>
    </message>
    <message>
      <source>gpu.broke</source>
      <translation>Die GPU ist ausgefallen: {why}.</translation>
    </message>
    <message>
      <source>gpu.cpu_instead</source>
      <translation>{why} Stattdessen rechnet die CPU bis {until:clock}.</translation>
    </message>
    <message>
      <source>gpu.failed</source>
      <translation>Die GPU ist ausgefallen.</translation>
    </message>
    <message>
      <source>gpu.found</source>
      <translation>{names}</translation>
    </message>
    <message>
      <source>gpu.none</source>
      <translation>Keine gefunden</translation>
    </message>
    <message>
      <source>gpu.one_failed</source>
      <translation>{name} (ausgefallen)</translation>
    </message>
    <message>
      <source>gpu.one_off</source>
      <translation>{name} (aus)</translation>
    </message>
    <message>
      <source>gpu.title</source>
      <translation>GPUs</translation>
    </message>
    <message numerus="yes">
      <source>gpu.too_small</source>
      <translation>
        <numerusform>Der Speicher von {gpu}, den Hearth benutzen darf, hat Platz für {held} von {n} Experten. Die anderen rechnet die CPU. Die Einstellungen erlauben mehr.</numerusform>
        <numerusform>Der Speicher von {gpu}, den Hearth benutzen darf, hat Platz für {held} von {n} Experten. Die anderen rechnet die CPU. Die Einstellungen erlauben mehr.</numerusform>
      </translation>
    </message>
    <message>
      <source>gpu.until_on</source>
      <translation>Geht weiter, wenn du in den Einstellungen eine einschaltest.</translation>
    </message>
    <message>
      <source>gpu.until_retry</source>
      <translation>Hearth versucht es um {at:clock} erneut.</translation>
    </message>
    <message>
      <source>gpu.wants</source>
      <translation>Benutzt die, die du nicht ausgeschaltet hast</translation>
    </message>
    <message>
      <source>gpu.wants_cpu</source>
      <translation>Hearth rechnet nur auf der CPU</translation>
    </message>
    <message>
      <source>gpu.wants_none</source>
      <translation>Es ist keine zu benutzen</translation>
    </message>
    <message>
      <source>gpu_busy.gone</source>
      <translation>Eben benutzten andere Programme die GPU.</translation>
    </message>
    <message>
      <source>gpu_busy.live</source>
      <translation>{shares:percent} davon</translation>
    </message>
    <message>
      <source>gpu_busy.reason</source>
      <translation>Andere Programme benutzen die GPU.</translation>
    </message>
    <message>
      <source>gpu_busy.title</source>
      <translation>Andere Programme auf der GPU</translation>
    </message>
    <message>
      <source>gpu_busy.until</source>
      <translation>Die GPU rechnet wieder, wenn sie 20 s lang ruhig waren.</translation>
    </message>
    <message>
      <source>gpu_choice.reason</source>
      <translation>Du hast die GPU pausiert.</translation>
    </message>
    <message>
      <source>gpu_choice.title</source>
      <translation>Deine Wahl für die GPU</translation>
    </message>
    <message>
      <source>gpu_choice.until</source>
      <translation>Die GPU rechnet wieder, wenn du „Fortsetzen“ drückst.</translation>
    </message>
    <message>
      <source>gpu_choice.wants</source>
      <translation>„GPU pausieren“ hat Vorrang vor ihren anderen Regeln</translation>
    </message>
    <message>
      <source>gpu_programs.gone</source>
      <translation>Eben lief noch ein Programm, das die GPU für sich hat.</translation>
    </message>
    <message>
      <source>gpu_programs.reason</source>
      <translation>{program} läuft und hat die GPU für sich.</translation>
    </message>
    <message>
      <source>gpu_programs.title</source>
      <translation>Programme mit der GPU</translation>
    </message>
    <message>
      <source>gpu_programs.wants</source>
      <translation>Die GPU hält an für {names}</translation>
    </message>
    <message>
      <source>gpu_user.away</source>
      <translation>Du bist weg</translation>
    </message>
    <message>
      <source>gpu_user.here</source>
      <translation>Du bist da</translation>
    </message>
    <message>
      <source>gpu_user.reason</source>
      <translation>Die GPU gehört dir, während du da bist.</translation>
    </message>
    <message>
      <source>gpu_user.title</source>
      <translation>GPU, während du da bist</translation>
    </message>
    <message>
      <source>gpu_user.unknown_away</source>
      <translation>Unbekannt, gilt als weg</translation>
    </message>
    <message>
      <source>gpu_user.unknown_here</source>
      <translation>Unbekannt, gilt als da</translation>
    </message>
    <message>
      <source>gpu_user.until</source>
      <translation>Die GPU rechnet wieder, wenn du {threshold:duration} weg warst.</translation>
    </message>
    <message>
      <source>gpu_user.wants</source>
      <translation>Nur während du weg bist</translation>
    </message>
    <message>
      <source>gpu_user.wants_none</source>
      <translation>Rechnet auch, während du da bist</translation>
    </message>
    <message>
      <source>gpus.no_apple_chip</source>
      <translation>Dieser Mac hat keinen Apple-Chip.</translation>
    </message>
    <message>
      <source>gpus.nvidia_broken</source>
      <translation>NVIDIAs Treiber ist defekt: {why}.</translation>
    </message>
    <message>
      <source>gpus.nvidia_fails</source>
      <translation>NVIDIAs Treiber arbeitet nicht: {why}.</translation>
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
      <translation>Geht weiter, wenn es abgekühlt ist.</translation>
    </message>
    <message>
      <source>heat.wants_both</source>
      <translation>Bleibt unter {celsius:temperature} und {watts:whole} W</translation>
    </message>
    <message>
      <source>heat.wants_celsius</source>
      <translation>Bleibt unter {celsius:temperature}</translation>
    </message>
    <message>
      <source>heat.wants_none</source>
      <translation>Kein Ziel</translation>
    </message>
    <message>
      <source>heat.wants_watts</source>
      <translation>Bleibt unter {watts:whole} W</translation>
    </message>
    <message>
      <source>heat_cpu.pc_gone</source>
      <translation>Eben nannte das System diesen PC zu heiß.</translation>
    </message>
    <message>
      <source>heat_cpu.pc_hot</source>
      <translation>Das System sagt, dass dieser PC zu heiß ist.</translation>
    </message>
    <message>
      <source>heat_cpu.reason</source>
      <translation>Die CPU ist zu heiß oder braucht zu viel Leistung.</translation>
    </message>
    <message>
      <source>heat_cpu.reason_now</source>
      <translation>Die CPU ist zu heiß oder braucht zu viel Leistung: {now}.</translation>
    </message>
    <message>
      <source>heat_cpu.system_fine</source>
      <translation>Nicht zu heiß, sagt das System</translation>
    </message>
    <message>
      <source>heat_cpu.system_hot</source>
      <translation>Zu heiß, sagt das System</translation>
    </message>
    <message>
      <source>heat_cpu.title</source>
      <translation>Temperatur der CPU</translation>
    </message>
    <message>
      <source>heat_cpu.wants_system</source>
      <translation>Hält an, wenn das System sie zu heiß nennt</translation>
    </message>
    <message>
      <source>heat_gpu.no_source</source>
      <translation>Keine GPU nennt ihre Temperatur</translation>
    </message>
    <message>
      <source>heat_gpu.reason</source>
      <translation>Die GPU ist zu heiß oder braucht zu viel Leistung.</translation>
    </message>
    <message>
      <source>heat_gpu.reason_now</source>
      <translation>Die GPU ist zu heiß oder braucht zu viel Leistung: {now}.</translation>
    </message>
    <message>
      <source>heat_gpu.title</source>
      <translation>Temperatur der GPU</translation>
    </message>
    <message>
      <source>history.end_before_start</source>
      <translation>Das Ende eines Verlaufs muss nach seinem Anfang liegen.</translation>
    </message>
    <message>
      <source>history.too_many</source>
      <translation>Das sind mehr als {most:count} Werte auf einmal. Frage nach einer kürzeren Zeit oder nach längeren Schritten.</translation>
    </message>
    <message>
      <source>hosting.fails</source>
      <translation>{times:count}-mal hintereinander konnte nicht auf den neuesten Stand gebracht werden, was dieser PC beherbergt ({error}). Das Training läuft weiter; bitte melde es.</translation>
    </message>
    <message>
      <source>hot.macos_not_told</source>
      <translation>macOS meldet nicht, ob dieser Mac zu heiß ist.</translation>
    </message>
    <message>
      <source>hot.macos_unknown</source>
      <translation>macOS weiß nicht, ob dieser Mac zu heiß ist.</translation>
    </message>
    <message>
      <source>hours.any</source>
      <translation>Jederzeit</translation>
    </message>
    <message>
      <source>hours.never</source>
      <translation>Startet, wenn du in den Einstellungen andere Zeiten wählst.</translation>
    </message>
    <message>
      <source>hours.off</source>
      <translation>Aus</translation>
    </message>
    <message>
      <source>hours.off_until</source>
      <translation>Aus bis {at:clock}</translation>
    </message>
    <message>
      <source>hours.on</source>
      <translation>An</translation>
    </message>
    <message>
      <source>hours.on_until</source>
      <translation>An bis {at:clock}</translation>
    </message>
    <message>
      <source>hours.outside</source>
      <translation>Jetzt ist keine der Zeiten, die du für das Rechnen gewählt hast.</translation>
    </message>
    <message>
      <source>hours.starts_at</source>
      <translation>Startet um {at:clock}.</translation>
    </message>
    <message>
      <source>hours.title</source>
      <translation>Zeitplan</translation>
    </message>
    <message>
      <source>identity.bad_key_file</source>
      <translation>Die Schlüsseldatei {path} ist nicht zu gebrauchen: {reason}. Sie wurde gelassen, wie sie war. Stelle die Identität dieses PCs mit „hearth identity import“ und ihren Wiederherstellungswörtern wieder her. Oder schiebe die Datei beiseite, um als neuer Peer zu beginnen.</translation>
    </message>
    <message>
      <source>identity.just_made</source>
      <translation>{path} hat gerade ein anderes Programm angelegt. Versuch es erneut.</translation>
    </message>
    <message>
      <source>identity.key_not_written</source>
      <translation>Die Schlüsseldatei {path} lässt sich nicht schreiben: {why}. Mach den Ordner beschreibbar oder wähle mit --data-dir einen anderen.</translation>
    </message>
    <message>
      <source>identity.no_key</source>
      <translation>In {folder} ist noch kein Schlüssel. Der erste Start von Hearths Worker erzeugt ihn, „hearth identity export“ ebenfalls. „hearth identity import“ stellt einen aus seinen Wiederherstellungswörtern wieder her.</translation>
    </message>
    <message>
      <source>identity.no_peer_name</source>
      <translation>{text} nennt keinen Peer: Sein Schlüssel hat 64 hexadezimale Ziffern. Kopiere ihn auf dem anderen PC erneut, von der Seite Netzwerk oder mit „hearth address“.</translation>
    </message>
    <message>
      <source>identity.no_word</source>
      <translation>Wort {place}, {word}, ist kein Wiederherstellungswort. Prüfe, wie es geschrieben ist.</translation>
    </message>
    <message>
      <source>identity.not_64_digits</source>
      <translation>sie enthält keine 64 hexadezimalen Ziffern</translation>
    </message>
    <message>
      <source>identity.not_replaced</source>
      <translation>{path} ließ sich nicht ersetzen: {why}. Der alte Schlüssel bleibt.</translation>
    </message>
    <message>
      <source>identity.word_count</source>
      <translation>Es sind {needed} Wiederherstellungswörter, nicht {found}. Gib alle ein, der Reihe nach.</translation>
    </message>
    <message>
      <source>identity.words_do_not_fit</source>
      <translation>Die Wiederherstellungswörter passen nicht zusammen: Eines ist falsch geschrieben oder am falschen Platz. Prüfe sie.</translation>
    </message>
    <message>
      <source>identity.wrong_length</source>
      <translation>Ein geheimer Schlüssel hat 32 Bytes, nicht {length}.</translation>
    </message>
    <message>
      <source>idle.logind_future</source>
      <translation>logind sagt, dass die Sitzung in der Zukunft ruhen wird.</translation>
    </message>
    <message>
      <source>idle.logind_not_told</source>
      <translation>Diese Oberfläche meldet logind nicht, ob sie ruht.</translation>
    </message>
    <message>
      <source>idle.macos_not_told</source>
      <translation>macOS meldet nicht, wann dieser Mac zuletzt benutzt wurde.</translation>
    </message>
    <message>
      <source>idle.no_xscreensaver</source>
      <translation>Der X-Server hat keine XScreenSaver-Erweiterung.</translation>
    </message>
    <message>
      <source>idle.wayland_not_told</source>
      <translation>Diese Wayland-Oberfläche meldet keine Leerlaufzeit.</translation>
    </message>
    <message>
      <source>idle.windows_not_told</source>
      <translation>Windows meldet nicht, wann dieser PC zuletzt benutzt wurde.</translation>
    </message>
    <message>
      <source>lan.fails</source>
      <translation>{times:count}-mal hintereinander konnte nicht nach anderen Peers im lokalen Netzwerk gesucht werden ({error}). Peers im Internet werden wie immer erreicht; bitte melde es.</translation>
    </message>
    <message>
      <source>lan.not_announced</source>
      <translation>Dieser PC ließ sich im lokalen Netzwerk nicht ankündigen: {why}. Hearth versucht es später erneut.</translation>
    </message>
    <message>
      <source>lan.not_looked</source>
      <translation>Hearth kann im lokalen Netzwerk nicht nach Peers suchen: {why}. Prüfe das Netzwerk, oder schalte dies in den Einstellungen aus.</translation>
    </message>
    <message>
      <source>ledger.closed</source>
      <translation>Hearth beendet sich und hat den Verlauf deiner Beiträge geschlossen.</translation>
    </message>
    <message>
      <source>ledger.damaged</source>
      <translation>Der Verlauf deiner Beiträge war nicht zu gebrauchen ({why}); er ist als {kept} aufgehoben. Ein neuer beginnt, und Datenverkehr und Strom dieses Monats werden von null gezählt.</translation>
    </message>
    <message>
      <source>ledger.newer</source>
      <translation>sie ist von einem neueren Hearth (Version {version:digits})</translation>
    </message>
    <message>
      <source>ledger.not_written</source>
      <translation>Was dieser PC beiträgt, lässt sich nicht nach {path} schreiben ({why}); es wird solange im Arbeitsspeicher gezählt. Schaffe dort etwas Platz.</translation>
    </message>
    <message>
      <source>ledger.unreadable</source>
      <translation>Der Verlauf deiner Beiträge ist nicht lesbar: {why}.</translation>
    </message>
    <message>
      <source>line.chosen</source>
      <translation>Höchstens {rate:traffic}/s, wie du es gewählt hast.</translation>
    </message>
    <message>
      <source>line.measured</source>
      <translation>Höchstens {rate:traffic}/s an Peers außerhalb deines lokalen Netzwerks: ein Viertel der gemessenen {measured:traffic}/s.</translation>
    </message>
    <message>
      <source>line.quota</source>
      <translation>Höchstens {rate:traffic}/s: Vom Datenverkehr dieses Monats ist wenig übrig.</translation>
    </message>
    <message>
      <source>line.twice</source>
      <translation>Höchstens {rate:traffic}/s von Peers außerhalb deines lokalen Netzwerks: das Doppelte der automatischen Upload-Grenze.</translation>
    </message>
    <message>
      <source>line.unlimited</source>
      <translation>Keine Grenze, wie du es gewählt hast.</translation>
    </message>
    <message>
      <source>line.unmeasured</source>
      <translation>Höchstens {rate:traffic}/s an Peers außerhalb deines lokalen Netzwerks, bis dein Upload gemessen ist.</translation>
    </message>
    <message>
      <source>links.not_changed</source>
      <translation>Was Links zu Läufen öffnet, ließ sich nicht ändern: {reason}. Ändere es in den Einstellungen des Systems.</translation>
    </message>
    <message>
      <source>list.more</source>
      <translation>{names} und {more:count} weitere</translation>
    </message>
    <message>
      <source>locked.windows_not_told</source>
      <translation>Windows meldet nicht, ob die Sitzung gesperrt ist.</translation>
    </message>
    <message>
      <source>locked.windows_too_little</source>
      <translation>Windows meldet zu wenig über die Sitzung.</translation>
    </message>
    <message>
      <source>locked.windows_unknown</source>
      <translation>Windows weiß nicht, ob die Sitzung gesperrt ist.</translation>
    </message>
    <message>
      <source>login.not_changed</source>
      <translation>Was bei der Anmeldung startet, ließ sich nicht ändern: {reason}. Ändere es in den Einstellungen des Systems.</translation>
    </message>
    <message>
      <source>manifest.access_unsigned</source>
      <translation>nur ein unterschriebener Lauf kann Token vergeben. Unterschreibe zuerst das Manifest (hearth run sign)</translation>
    </message>
    <message>
      <source>manifest.allowed_above</source>
      <translation>eine Zahl über {least} bis {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_bootstrap</source>
      <translation>Peers, wie „hearth address“ sie ausgibt: PEER@ADRESSE</translation>
    </message>
    <message>
      <source>manifest.allowed_brokers</source>
      <translation>Adressen von Brokern: mqtt://NAME:PORT, oder mqtts://NAME:PORT mit TLS</translation>
    </message>
    <message>
      <source>manifest.allowed_list</source>
      <translation>eine Liste von höchstens {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_moment</source>
      <translation>ein Tag in UTC wie "2030-01-31" oder mit Uhrzeit: "2030-01-31 18:00"</translation>
    </message>
    <message>
      <source>manifest.allowed_more</source>
      <translation>eine Zahl über {least}</translation>
    </message>
    <message>
      <source>manifest.allowed_name</source>
      <translation>ein Name aus höchstens 32 Kleinbuchstaben, Ziffern, - und _, der mit einem Buchstaben beginnt</translation>
    </message>
    <message>
      <source>manifest.allowed_needs</source>
      <translation>eine Version von Hearth wie 0.2.0</translation>
    </message>
    <message>
      <source>manifest.allowed_number</source>
      <translation>eine Zahl von {least} bis {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_or_null</source>
      <translation>{what}, oder weggelassen</translation>
    </message>
    <message>
      <source>manifest.allowed_pattern</source>
      <translation>ein Text, der zu {pattern} passt</translation>
    </message>
    <message>
      <source>manifest.allowed_picture</source>
      <translation>ein PNG oder JPEG bis {most} KB in Base64</translation>
    </message>
    <message>
      <source>manifest.allowed_servers</source>
      <translation>eine Liste von höchstens 64 Peers, jeder mit seinem Schlüssel aus 64 hexadezimalen Ziffern</translation>
    </message>
    <message>
      <source>manifest.allowed_sha256</source>
      <translation>ein SHA-256 aus 64 hexadezimalen Ziffern</translation>
    </message>
    <message>
      <source>manifest.allowed_store</source>
      <translation>eine Adresse, die mit redis:// oder postgresql:// beginnt, aus höchstens 256 Zeichen</translation>
    </message>
    <message>
      <source>manifest.allowed_switch</source>
      <translation>true oder false</translation>
    </message>
    <message>
      <source>manifest.allowed_table</source>
      <translation>eine Tabelle aus {known}</translation>
    </message>
    <message>
      <source>manifest.allowed_text</source>
      <translation>ein Text von {least} bis {most} Zeichen in einer Zeile</translation>
    </message>
    <message>
      <source>manifest.allowed_whole</source>
      <translation>eine ganze Zahl von {least} bis {most}</translation>
    </message>
    <message>
      <source>manifest.allowed_words</source>
      <translation>eines von: {known}</translation>
    </message>
    <message>
      <source>manifest.at</source>
      <translation>Zeile {line}, Spalte {column}: {what}</translation>
    </message>
    <message>
      <source>manifest.batch_too_large</source>
      <translation>ein Stapel an einer Schicht nähme {size:size}; erlaubt sind höchstens {most:size}. Verringere batch, sequence oder width.</translation>
    </message>
    <message>
      <source>manifest.cut_off</source>
      <translation>hier endet die Datei zu früh: Sie wurde abgeschnitten oder ist nicht fertig. Kopiere sie erneut ganz.</translation>
    </message>
    <message>
      <source>manifest.end_beyond</source>
      <translation>das Token {end}, das einen Text beendet, liegt außerhalb des Vokabulars von {vocabulary}.</translation>
    </message>
    <message>
      <source>manifest.ends_early</source>
      <translation>Der Lauf endet ({end}), bevor er begonnen hat ({start}).</translation>
    </message>
    <message>
      <source>manifest.exists</source>
      <translation>Es gibt schon eine Datei {path}. Nenne mit --out eine andere.</translation>
    </message>
    <message>
      <source>manifest.expert_too_large</source>
      <translation>ein Experte nähme {size:size}; erlaubt sind höchstens {most:size}. Verringere width oder hidden.</translation>
    </message>
    <message>
      <source>manifest.experts_missing</source>
      <translation>ein {kind} braucht `layers`, ein `grid`, eine Art von `expert` und `k` ab 1.</translation>
    </message>
    <message>
      <source>manifest.fails</source>
      <translation>Die Suche nach Änderungen dieses Laufs ist {times:count}-mal hintereinander fehlgeschlagen: {error}.</translation>
    </message>
    <message>
      <source>manifest.field_elsewhere</source>
      <translation>`{field}` gehört in `{table}`: `{meant}` ist gemeint.</translation>
    </message>
    <message>
      <source>manifest.field_meant</source>
      <translation>`{field}` gibt es nicht: `{meant}` ist gemeint.</translation>
    </message>
    <message>
      <source>manifest.field_missing</source>
      <translation>`{field}` fehlt: {allowed}.</translation>
    </message>
    <message>
      <source>manifest.field_unknown</source>
      <translation>`{field}` gibt es nicht, nur {known}.</translation>
    </message>
    <message>
      <source>manifest.field_value</source>
      <translation>`{field}` ist {value}; erlaubt ist {allowed}.</translation>
    </message>
    <message>
      <source>manifest.forged</source>
      <translation>Die Unterschrift ist nicht die des Veranstalters {organiser}: Es wurde verändert, oder jemand anders hat es unterschrieben.</translation>
    </message>
    <message>
      <source>manifest.grid_too_large</source>
      <translation>sein Gitter hat {cells} Zellen je Schicht; erlaubt sind höchstens {most}. Mach das Gitter kleiner.</translation>
    </message>
    <message>
      <source>manifest.in_flight_too_large</source>
      <translation>die Stapel unterwegs nähmen in allen Schichten {size:size}; erlaubt sind höchstens {most:size}. Verringere in_flight, batch, sequence oder width.</translation>
    </message>
    <message>
      <source>manifest.invalid</source>
      <translation>Das Manifest {source} ist nicht zu gebrauchen: {why:phrase}. Dies ist Hearth {version}.</translation>
    </message>
    <message>
      <source>manifest.k_too_large</source>
      <translation>es verlangt {k} Experten eines Gitters mit {cells} Zellen.</translation>
    </message>
    <message>
      <source>manifest.kv_heads</source>
      <translation>{heads} Köpfe der Aufmerksamkeit können sich {kv_heads} für Schlüssel und Werte nicht teilen: `kv_heads` muss `heads` teilen.</translation>
    </message>
    <message>
      <source>manifest.layers_too_many</source>
      <translation>es hat {experts} Experten in allen Schichten; erlaubt sind höchstens {most}. Mach das Gitter kleiner, oder nimm weniger Schichten.</translation>
    </message>
    <message>
      <source>manifest.mixed_too_large</source>
      <translation>Server von `vc_asgd` mischen höchstens {most} Parameter, und sein Rumpf hat {numbers}. Verringere width oder layers, oder wähl eine andere Strategie.</translation>
    </message>
    <message>
      <source>manifest.no_attention</source>
      <translation>ein {kind} braucht `sequence` und ein `heads`, dessen Doppeltes `width` teilt.</translation>
    </message>
    <message>
      <source>manifest.no_data_set</source>
      <translation>dieses Hearth kennt keine Daten namens {name}, nur {known}.</translation>
    </message>
    <message>
      <source>manifest.no_expert_kind</source>
      <translation>dieses Hearth kennt keine Art von Experten namens {name}, nur {known}.</translation>
    </message>
    <message>
      <source>manifest.no_file</source>
      <translation>Das Manifest {path} ist keine Datei.</translation>
    </message>
    <message>
      <source>manifest.no_layers</source>
      <translation>ein {kind} braucht eine Schicht: `layers` mit Experten oder `dense` ohne.</translation>
    </message>
    <message>
      <source>manifest.no_model_kind</source>
      <translation>dieses Hearth kennt keine Art von Modellen namens {name}, nur {known}.</translation>
    </message>
    <message>
      <source>manifest.no_newer</source>
      <translation>dieses Manifest hat Revision {revision}, und {have} gilt. Erhöhe `revision`.</translation>
    </message>
    <message>
      <source>manifest.no_pictures</source>
      <translation>es beschreibt Bilder, aber seine Daten sind keine. Lass [pictures] weg.</translation>
    </message>
    <message>
      <source>manifest.no_run</source>
      <translation>Es gibt keinen Lauf namens {run}. Bekannte Läufe: {known}; oder gib den Pfad eines Manifests an (.toml, .json).</translation>
    </message>
    <message>
      <source>manifest.no_such_day</source>
      <translation>Den Tag {text} gibt es nicht.</translation>
    </message>
    <message>
      <source>manifest.no_table</source>
      <translation>Es muss eine Tabelle von Feldern sein.</translation>
    </message>
    <message>
      <source>manifest.no_task</source>
      <translation>dieses Hearth kennt keine Aufgabe namens {name}, nur {known}.</translation>
    </message>
    <message>
      <source>manifest.no_tokens</source>
      <translation>seine Daten sind keine Token. Lass `tokenizer` weg, und in `model` `vocabulary`.</translation>
    </message>
    <message>
      <source>manifest.not_finite</source>
      <translation>{number} ist keine Zahl, die ein Manifest haben darf.</translation>
    </message>
    <message>
      <source>manifest.not_replaced</source>
      <translation>Das Manifest {path} bleibt, wie es ist: {why} Um einen anderen Lauf zu beginnen, lege diese Datei anderswohin oder nenne eine andere (--out).</translation>
    </message>
    <message>
      <source>manifest.not_signed</source>
      <translation>Es ist kein vollständiges unterschriebenes Manifest: {why}.</translation>
    </message>
    <message>
      <source>manifest.not_utf8</source>
      <translation>Das ist kein UTF-8. Speichere die Datei als UTF-8.</translation>
    </message>
    <message>
      <source>manifest.organiser_unsigned</source>
      <translation>`organiser` setzt „hearth run sign“. Nimm es heraus.</translation>
    </message>
    <message>
      <source>manifest.other_expert</source>
      <translation>die Experten eines {kind} sind von der Art „{wanted}“, nicht „{expert}“.</translation>
    </message>
    <message>
      <source>manifest.other_name</source>
      <translation>Das Manifest {run}.json nennt sich {name}.</translation>
    </message>
    <message>
      <source>manifest.other_organiser</source>
      <translation>es ist nicht vom Veranstalter von {run} unterschrieben, {organiser}.</translation>
    </message>
    <message>
      <source>manifest.other_run</source>
      <translation>es ist vom Lauf {found}, nicht von {run}: Name, Daten, Modell, Shards, Seed und Veranstalter eines Laufs bleiben.</translation>
    </message>
    <message>
      <source>manifest.other_sequence</source>
      <translation>seine Daten kommen in Beispielen von {inputs}, nicht von {sequence}.</translation>
    </message>
    <message>
      <source>manifest.picture_kind</source>
      <translation>Das Bild ist kein PNG oder JPEG: Dort muss eine solche Datei in Base64 stehen.</translation>
    </message>
    <message>
      <source>manifest.pictures_missing</source>
      <translation>seine Daten sind Bilder, und es sagt nicht, welche: [pictures] braucht width, height, channels und classes.</translation>
    </message>
    <message>
      <source>manifest.syntax</source>
      <translation>{what}.</translation>
    </message>
    <message>
      <source>manifest.tokens_missing</source>
      <translation>Daten aus Token brauchen einen `tokenizer` und in `model` ein `vocabulary`.</translation>
    </message>
    <message>
      <source>manifest.too_large</source>
      <translation>Das Manifest {path} ist größer als {most} MB.</translation>
    </message>
    <message>
      <source>manifest.too_little_memory</source>
      <translation>{held} Experten dieses Laufs brauchen {needed:size} Arbeitsspeicher, und dieser PC hat {memory:size}. Teile sie mit anderen Peers (--bootstrap), oder nimm einen kleineren Lauf.</translation>
    </message>
    <message>
      <source>manifest.too_new</source>
      <translation>es braucht Hearth {needs} oder neuer, und dies ist {have}. Aktualisiere Hearth, um bei diesem Lauf mitzumachen.</translation>
    </message>
    <message>
      <source>manifest.trunk_local</source>
      <translation>an der Strategie {strategy} seines `trunk` ist nichts einzustellen; nimm `{field}` heraus.</translation>
    </message>
    <message>
      <source>manifest.trunk_missing</source>
      <translation>die Strategie {strategy} seines `trunk` braucht `{field}`: {allowed}.</translation>
    </message>
    <message>
      <source>manifest.trunk_no_strategy</source>
      <translation>sein `trunk` muss ein Objekt mit einer `strategy` sein, einer von: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_strategy</source>
      <translation>für seinen `trunk` gibt es keine Strategie {strategy}, nur: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_too_large</source>
      <translation>der Rumpf nähme {size:size}; erlaubt sind höchstens {most:size}. Verringere width, das Gitter oder layers.</translation>
    </message>
    <message>
      <source>manifest.trunk_unknown</source>
      <translation>die Strategie {strategy} seines `trunk` kennt kein `{field}`, nur: {known}.</translation>
    </message>
    <message>
      <source>manifest.trunk_value</source>
      <translation>`{field}` seines `trunk` ist {value}; erlaubt ist {allowed}.</translation>
    </message>
    <message>
      <source>manifest.two_lists</source>
      <translation>es hat sowohl shards als auch eine shard_list. Lass eines davon weg.</translation>
    </message>
    <message>
      <source>manifest.unreadable</source>
      <translation>Das Manifest {path} ist nicht lesbar: {why}.</translation>
    </message>
    <message>
      <source>manifest.unusable</source>
      <translation>Das Manifest {source} ist nicht zu gebrauchen: {trouble}</translation>
    </message>
    <message>
      <source>manifest.without_experts</source>
      <translation>ein {kind} hat keine Experten: `layers` ist 0, `grid` leer, und `expert` und `k` fehlen.</translation>
    </message>
    <message>
      <source>memory.bound_cgroup</source>
      <translation>der Kernel beendet den Rechenprozess über {most:size} (eine Kontrollgruppe)</translation>
    </message>
    <message>
      <source>memory.bound_job</source>
      <translation>Windows gibt dem Rechenprozess nicht mehr als {most:size} (ein Job)</translation>
    </message>
    <message>
      <source>memory.bound_none</source>
      <translation>Nur Hearth selbst hält es ein</translation>
    </message>
    <message>
      <source>memory.bound_rlimit</source>
      <translation>der Kernel erlaubt dem Rechenprozess höchstens {most:size} (RLIMIT_DATA)</translation>
    </message>
    <message>
      <source>memory.bound_systemd</source>
      <translation>systemd beendet den Rechenprozess über {most:size} (eine Kontrollgruppe)</translation>
    </message>
    <message>
      <source>memory.ended_by_system</source>
      <translation>Das System hat den Rechenprozess beendet, weil er weit mehr Arbeitsspeicher nahm als die {most:size}, die er benutzen darf. Er macht beim letzten Checkpoint weiter, mit weniger Experten. Die Einstellungen erlauben mehr.</translation>
    </message>
    <message>
      <source>memory.gone</source>
      <translation>Eben war zu wenig Arbeitsspeicher frei.</translation>
    </message>
    <message>
      <source>memory.over_cap</source>
      <translation>Der Rechenprozess nahm {taken:size} Arbeitsspeicher. Von den {cap:size}, die Hearth insgesamt benutzen darf, bleiben ihm {left:size}. Er wurde beendet, nichts ist verloren, und er kommt mit weniger Experten zurück. Die Einstellungen erlauben mehr.</translation>
    </message>
    <message>
      <source>memory.reason</source>
      <translation>Nur {free:size} Arbeitsspeicher sind frei.</translation>
    </message>
    <message>
      <source>memory.title</source>
      <translation>Freier Arbeitsspeicher</translation>
    </message>
    <message>
      <source>metered.gone</source>
      <translation>Eben war das Netzwerk noch getaktet.</translation>
    </message>
    <message>
      <source>metered.network_manager_unknown</source>
      <translation>NetworkManager weiß nicht, ob dieses Netzwerk Geld kostet.</translation>
    </message>
    <message>
      <source>metered.no</source>
      <translation>Nicht getaktet</translation>
    </message>
    <message>
      <source>metered.pending</source>
      <translation>Noch ist nicht bekannt, ob dieses Netzwerk getaktet ist.</translation>
    </message>
    <message>
      <source>metered.reason</source>
      <translation>Dieses Netzwerk ist getaktet.</translation>
    </message>
    <message>
      <source>metered.title</source>
      <translation>Netzwerk</translation>
    </message>
    <message>
      <source>metered.until</source>
      <translation>Geht weiter, wenn dieser PC in einem anderen Netzwerk ist.</translation>
    </message>
    <message>
      <source>metered.wants</source>
      <translation>Hält in getakteten Netzwerken an</translation>
    </message>
    <message>
      <source>metered.wants_none</source>
      <translation>Auch getaktete Netzwerke werden benutzt</translation>
    </message>
    <message>
      <source>metered.windows_not_told</source>
      <translation>Windows meldet nicht, was das Netzwerk kostet.</translation>
    </message>
    <message>
      <source>metered.windows_unknown</source>
      <translation>Windows weiß nicht, was das Netzwerk kostet.</translation>
    </message>
    <message>
      <source>metered.yes</source>
      <translation>Getaktet</translation>
    </message>
    <message>
      <source>month.until</source>
      <translation>Geht nächsten Monat weiter, am {end:date}.</translation>
    </message>
    <message>
      <source>move.disk_full</source>
      <translation>Die Festplatte von {folder} ist voll. Es wurde nichts verschoben.</translation>
    </message>
    <message>
      <source>move.failed</source>
      <translation>Die Daten konnten nicht nach {folder} verschoben werden: {why}. Alle sind, wo sie waren.</translation>
    </message>
    <message>
      <source>move.inside</source>
      <translation>{folder} und der Datenordner liegen ineinander. Wähle einen anderen Ordner.</translation>
    </message>
    <message>
      <source>move.no_folder</source>
      <translation>{folder} ist eine Datei. Wähle einen Ordner.</translation>
    </message>
    <message>
      <source>move.no_room</source>
      <translation>Die Daten brauchen {needed:size}, bei {folder} sind aber nur {free:size} frei. Es wurde nichts verschoben.</translation>
    </message>
    <message>
      <source>move.not_empty</source>
      <translation>{folder} ist nicht leer. Wähle einen leeren Ordner oder einen Namen, den es noch nicht gibt.</translation>
    </message>
    <message>
      <source>move.same</source>
      <translation>Die Daten liegen bereits in {folder}.</translation>
    </message>
    <message>
      <source>nat.cone</source>
      <translation>Cone</translation>
    </message>
    <message>
      <source>nat.none</source>
      <translation>keines</translation>
    </message>
    <message>
      <source>nat.symmetric</source>
      <translation>symmetrisch</translation>
    </message>
    <message>
      <source>network.address_unusable</source>
      <translation>Die Netzwerkadresse {addresses} ist nicht zu gebrauchen: {why:phrase}. Wähle eine Adresse dieses PCs: 0.0.0.0 steht für alle.</translation>
    </message>
    <message>
      <source>network.alone</source>
      <translation>Dieser Worker ist allein: So steht es in den Einstellungen, oder er wurde ohne --join, --listen, --bootstrap oder --role gestartet.</translation>
    </message>
    <message>
      <source>network.bad_bootstrap</source>
      <translation>--bootstrap: {why}</translation>
    </message>
    <message>
      <source>network.bad_listen</source>
      <translation>--listen: {why} 0.0.0.0 ist jede Adresse dieses PCs, Port 0 ein freier.</translation>
    </message>
    <message>
      <source>network.clock_wrong</source>
      <translation>Die Uhr dieses PCs und die anderer Peers gehen {seconds:duration} auseinander. Stelle sie, am besten nach der Netzwerkzeit.</translation>
    </message>
    <message>
      <source>network.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich die Verbindung dieses PCs zum Netzwerk nicht pflegen ({error}). Hearth versucht es immer seltener erneut; bitte melde es.</translation>
    </message>
    <message>
      <source>network.no_address</source>
      <translation>{text} ist keine Netzwerkadresse: Gib eine in Ziffern mit einem Port an, etwa 203.0.113.7:4401.</translation>
    </message>
    <message>
      <source>network.no_expert</source>
      <translation>Schicht {layer} hat keinen aktiven Experten. Warte, bis ein PC erreichbar ist, der einen hat.</translation>
    </message>
    <message>
      <source>network.no_role</source>
      <translation>Es gibt keine Rolle {names}. Rollen: {roles}.</translation>
    </message>
    <message>
      <source>network.not_running</source>
      <translation>Das Netzwerk dieses PCs ist aus. Starte zuerst den Worker.</translation>
    </message>
    <message>
      <source>network.port_in_use</source>
      <translation>{address} wird von einem anderen Programm benutzt. Wähle einen anderen Port, oder 0 für einen freien.</translation>
    </message>
    <message>
      <source>network.works_alone</source>
      <translation>{why} Bis dahin arbeitet dieser PC allein.</translation>
    </message>
    <message>
      <source>network_hours.outside</source>
      <translation>Jetzt ist keine der Zeiten, die du für das Netzwerk gewählt hast.</translation>
    </message>
    <message>
      <source>network_hours.title</source>
      <translation>Zeitplan des Netzwerks</translation>
    </message>
    <message>
      <source>own_disk.live</source>
      <translation>{used:size} belegt</translation>
    </message>
    <message>
      <source>own_disk.reason</source>
      <translation>Die Dateien von Hearth brauchen die ganzen {most:size} Speicherplatz, die du erlaubst.</translation>
    </message>
    <message>
      <source>own_disk.title</source>
      <translation>Speicherplatz von Hearth</translation>
    </message>
    <message>
      <source>own_disk.until</source>
      <translation>Geht weiter, wenn du in den Einstellungen mehr erlaubst.</translation>
    </message>
    <message>
      <source>own_disk.wants</source>
      <translation>Höchstens {most:size}</translation>
    </message>
    <message>
      <source>own_memory.live</source>
      <translation>{used:size} belegt</translation>
    </message>
    <message>
      <source>own_memory.live_bounded</source>
      <translation>{used:size} belegt; {bound:phrase}</translation>
    </message>
    <message>
      <source>own_memory.title</source>
      <translation>Arbeitsspeicher von Hearth</translation>
    </message>
    <message>
      <source>own_memory.wants_away</source>
      <translation>Höchstens {most:size}, während du weg bist</translation>
    </message>
    <message>
      <source>own_memory.wants_here</source>
      <translation>Höchstens {most:size}, während du da bist</translation>
    </message>
    <message>
      <source>pack.failed</source>
      <translation>Das GPU-Paket funktioniert auf diesem PC nicht: {why}</translation>
    </message>
    <message>
      <source>pack.hangs</source>
      <translation>Es antwortete nicht innerhalb von {within:whole} s.</translation>
    </message>
    <message>
      <source>pack.no_card</source>
      <translation>Auf diesem PC wurde keine NVIDIA-GPU gefunden; für andere gibt es kein Paket.</translation>
    </message>
    <message>
      <source>pack.no_feed</source>
      <translation>Dieses Hearth hat keine Versionsliste mit GPU-Paketen. Aus den Quellen gestartet, verwendet es das torch, das du selbst installierst.</translation>
    </message>
    <message>
      <source>pack.no_peer</source>
      <translation>Kein Peer hat diese Datei eines GPU-Pakets gegeben.</translation>
    </message>
    <message>
      <source>pack.no_room</source>
      <translation>Das GPU-Paket braucht beim Installieren {needed:size}, frei sind aber nur {free:size}. Es wurde nichts installiert.</translation>
    </message>
    <message>
      <source>pack.not_used</source>
      <translation>Python lud {file} statt des Pakets.</translation>
    </message>
    <message>
      <source>pack.not_written</source>
      <translation>GPU-Pakete können nicht nach {folder} geschrieben werden: {why}.</translation>
    </message>
    <message>
      <source>pack.under_way</source>
      <translation>Gerade wird schon ein GPU-Paket installiert oder entfernt.</translation>
    </message>
    <message>
      <source>peer.banned</source>
      <translation>Peer {peer:peer} ist gesperrt.</translation>
    </message>
    <message>
      <source>peer.banned_for</source>
      <translation>Peer {peer:peer} ist noch {left:duration} gesperrt.</translation>
    </message>
    <message>
      <source>peer.itself</source>
      <translation>Ein Peer kann sich nicht über das Netzwerk mit sich selbst verbinden.</translation>
    </message>
    <message>
      <source>peer.next_try</source>
      <translation>Peer {peer:peer} war nicht zu erreichen; der nächste Versuch ist in {wait:duration}.</translation>
    </message>
    <message>
      <source>peer.no_address</source>
      <translation>Peer {peer:peer} hat hier keine Adresse; nenne ihn als PEER@ADRESSE:PORT, wie „hearth address“ sie dort ausgibt.</translation>
    </message>
    <message>
      <source>peer.no_answer</source>
      <translation>Peer {peer:peer} hat {method} nicht binnen {within:duration} beantwortet.</translation>
    </message>
    <message>
      <source>peer.no_room</source>
      <translation>Alle Verbindungen dieses PCs sind belegt.</translation>
    </message>
    <message>
      <source>peer.unreachable</source>
      <translation>Peer {peer:peer} war unter keiner bekannten Adresse zu erreichen.</translation>
    </message>
    <message>
      <source>power.kernel_none</source>
      <translation>Der Kernel meldet keine Stromquellen.</translation>
    </message>
    <message>
      <source>power.kernel_unknown</source>
      <translation>Der Kernel sagt nicht, ob der Akku benutzt wird.</translation>
    </message>
    <message>
      <source>power.kernel_unreadable</source>
      <translation>Die Stromquellen des Kernels sind nicht lesbar.</translation>
    </message>
    <message>
      <source>power.macos_not_told</source>
      <translation>macOS meldet nicht, woher der Strom kommt.</translation>
    </message>
    <message>
      <source>power.macos_unknown</source>
      <translation>macOS weiß nicht, woher der Strom kommt.</translation>
    </message>
    <message>
      <source>power.upower_odd</source>
      <translation>UPower sagt, dass der Akku eine unmögliche Ladung hat.</translation>
    </message>
    <message>
      <source>power.windows_not_told</source>
      <translation>Windows meldet nicht, woher der Strom kommt.</translation>
    </message>
    <message>
      <source>power.windows_unknown</source>
      <translation>Windows weiß nicht, woher der Strom kommt.</translation>
    </message>
    <message>
      <source>programs.gone</source>
      <translation>Eben lief noch ein Programm, das diesen PC für sich hat.</translation>
    </message>
    <message>
      <source>programs.none_chosen</source>
      <translation>Keine gewählt</translation>
    </message>
    <message>
      <source>programs.none_runs</source>
      <translation>Keines davon läuft</translation>
    </message>
    <message>
      <source>programs.reason</source>
      <translation>{program} läuft und hat diesen PC für sich.</translation>
    </message>
    <message>
      <source>programs.runs</source>
      <translation>{program} läuft</translation>
    </message>
    <message>
      <source>programs.title</source>
      <translation>Bevorzugte Programme</translation>
    </message>
    <message>
      <source>programs.until</source>
      <translation>Geht weiter, wenn {program} beendet ist.</translation>
    </message>
    <message>
      <source>programs.until_known</source>
      <translation>Geht weiter, wenn bekannt ist, dass es beendet ist.</translation>
    </message>
    <message>
      <source>programs.wants</source>
      <translation>Hält an für {names}</translation>
    </message>
    <message>
      <source>programs.wants_none</source>
      <translation>Hält an für Programme, die du wählst</translation>
    </message>
    <message numerus="yes">
      <source>promise.kept</source>
      <translation>
        <numerusform>Zuletzt hielt der Rechenprozess {last:whole} ms nach dem Anlass an (einmal gemessen; Ziel: {target:count} ms).</numerusform>
        <numerusform>Zuletzt hielt der Rechenprozess {last:whole} ms nach dem Anlass an ({n}-mal gemessen; Ziel: {target:count} ms).</numerusform>
      </translation>
    </message>
    <message>
      <source>promise.kept_p95</source>
      <translation>Zuletzt hielt der Rechenprozess {last:whole} ms nach dem Anlass an (p95 {p95:whole} ms, {count}-mal gemessen; Ziel: {target:count} ms).</translation>
    </message>
    <message>
      <source>promise.none</source>
      <translation>Noch wurde kein Anhalten gemessen. Ziel: {target:count} ms von deiner Rückkehr bis zur letzten Berechnung.</translation>
    </message>
    <message>
      <source>purge.left</source>
      <translation>Etwas konnte nicht gelöscht werden: {folders}. Lösche es von Hand.</translation>
    </message>
    <message>
      <source>question.empty_picture</source>
      <translation>Das Bild ist leer. Zeichne eine Ziffer, dunkel auf hellem Grund.</translation>
    </message>
    <message>
      <source>question.ended</source>
      <translation>{why} Versuch es gleich erneut.</translation>
    </message>
    <message>
      <source>question.failed</source>
      <translation>Das Modell konnte darauf nicht antworten ({kind}: {why}). Versuch etwas anderes.</translation>
    </message>
    <message>
      <source>question.no_expert</source>
      <translation>Kein Experte hat geantwortet. Versuch es gleich erneut. Falls es so bleibt: Andere PCs beantworten denen mehr Fragen, die für den Lauf arbeiten.</translation>
    </message>
    <message>
      <source>question.odd_pixels</source>
      <translation>{pixels} Pixel ergeben nicht {width} x {height}.</translation>
    </message>
    <message>
      <source>question.prompt_too_long</source>
      <translation>Der Text hat {tokens} Token, und das Modell sieht höchstens {most} auf einmal. Kürze ihn.</translation>
    </message>
    <message>
      <source>question.quitting</source>
      <translation>Hearth beendet sich und beantwortet keine Fragen mehr.</translation>
    </message>
    <message>
      <source>question.run_answers_nothing</source>
      <translation>Der Lauf {run} ({title}) lernt, eigene Bilder zu unterscheiden; ausprobieren kann man ihn noch nicht. Der Lauf digits liest Bilder: hearth run join digits.</translation>
    </message>
    <message>
      <source>question.run_continues_text</source>
      <translation>Der Lauf {run} ({title}) setzt Text fort: hearth generate 'The for statement'. Der Lauf digits liest Bilder: hearth run join digits.</translation>
    </message>
    <message>
      <source>question.run_reads_pictures</source>
      <translation>Der Lauf {run} ({title}) liest Bilder: hearth predict FILE.png. Der Lauf text setzt Text fort: hearth run join text.</translation>
    </message>
    <message>
      <source>question.stopped</source>
      <translation>Der Text wurde angehalten.</translation>
    </message>
    <message>
      <source>question.too_late</source>
      <translation>Das Modell hat in {within:whole} s nicht geantwortet. Versuch es erneut.</translation>
    </message>
    <message>
      <source>question.too_many</source>
      <translation>Zu viele Fragen warten auf eine Antwort. Versuch es gleich erneut.</translation>
    </message>
    <message>
      <source>quota.live</source>
      <translation>{used:traffic} in diesem Monat</translation>
    </message>
    <message>
      <source>quota.reason</source>
      <translation>Die {most:traffic} Datenverkehr, die du im Monat erlaubst, sind verbraucht.</translation>
    </message>
    <message>
      <source>quota.title</source>
      <translation>Datenverkehr</translation>
    </message>
    <message>
      <source>quota.wants</source>
      <translation>Höchstens {most:traffic} im Monat</translation>
    </message>
    <message>
      <source>reach.by_acquaintance</source>
      <translation>ein Backbone-Peer, mit dem dieser PC Kontakt hat, hat ihn erreicht; ein fremder Peer noch nicht</translation>
    </message>
    <message>
      <source>reach.by_nobody</source>
      <translation>niemand kann diesen PC erreichen, und kein verbundener Peer vermittelt</translation>
    </message>
    <message>
      <source>reach.by_punching</source>
      <translation>traf Peer {peer:peer} durch Hole Punching</translation>
    </message>
    <message>
      <source>reach.by_relay</source>
      <translation>Peer {peer:peer} vermittelt</translation>
    </message>
    <message>
      <source>reach.by_router</source>
      <translation>der Router zeigt allen dieselbe Adresse</translation>
    </message>
    <message>
      <source>reach.by_stranger</source>
      <translation>ein Backbone-Peer, dem dieser PC nicht geschrieben hatte, hat ihn erreicht</translation>
    </message>
    <message>
      <source>reach.dial_out_only</source>
      <translation>nur ausgehend</translation>
    </message>
    <message>
      <source>reach.no_answer</source>
      <translation>kein Backbone-Peer hat geantwortet</translation>
    </message>
    <message>
      <source>reach.not_measured</source>
      <translation>noch nicht gemessen</translation>
    </message>
    <message>
      <source>reach.punchable</source>
      <translation>nach Absprache erreichbar</translation>
    </message>
    <message>
      <source>reach.reachable</source>
      <translation>erreichbar</translation>
    </message>
    <message>
      <source>reach.relayed</source>
      <translation>über Relais</translation>
    </message>
    <message>
      <source>reach.unknown</source>
      <translation>unbekannt</translation>
    </message>
    <message>
      <source>reducing.fails</source>
      <translation>{times:count}-mal hintereinander konnte keiner Runde anderer Trainer geholfen werden ({error}). Die Trainer mitteln solange allein; bitte melde es.</translation>
    </message>
    <message>
      <source>restore.damaged</source>
      <translation>{file} lässt sich nicht einspielen: {why}. Es wurde nichts geändert.</translation>
    </message>
    <message>
      <source>restore.disk_full</source>
      <translation>Zum Einspielen von {file} reicht der Speicherplatz nicht. Es wurde nichts geändert.</translation>
    </message>
    <message>
      <source>restore.newer</source>
      <translation>Die Sicherung stammt von einem neueren Hearth. Installiere zuerst dieses.</translation>
    </message>
    <message>
      <source>restore.no_room</source>
      <translation>Die Sicherung braucht {needed:size}, frei sind aber nur {free:size}. Es wurde nichts geändert.</translation>
    </message>
    <message>
      <source>restore.not_empty</source>
      <translation>{folder} enthält bereits Daten. Um sie alle zu löschen und die Sicherung einzuspielen, gib --force an.</translation>
    </message>
    <message>
      <source>restore.unreadable</source>
      <translation>{file} lässt sich nicht einspielen: {why}. Es wurde nichts geändert.</translation>
    </message>
    <message>
      <source>role.backbone</source>
      <translation>Backbone-Peer</translation>
    </message>
    <message>
      <source>role.computes</source>
      <translation>Rechnet</translation>
    </message>
    <message>
      <source>role.keeps</source>
      <translation>Dieser PC ist ein Backbone-Peer: Er hält das Netzwerk zusammen und rechnet nicht.</translation>
    </message>
    <message>
      <source>role.title</source>
      <translation>Rolle</translation>
    </message>
    <message>
      <source>role.until</source>
      <translation>Läuft, bis du Hearth beendest.</translation>
    </message>
    <message>
      <source>role.wants</source>
      <translation>Backbone-Peers rechnen nicht</translation>
    </message>
    <message>
      <source>rule.again</source>
      <translation>Geht in {at:countdown} weiter, wenn es so bleibt.</translation>
    </message>
    <message>
      <source>rule.lifted</source>
      <translation>Aufgehoben bis {end:clock}</translation>
    </message>
    <message>
      <source>rule.no_limit</source>
      <translation>Keine Grenze</translation>
    </message>
    <message>
      <source>rule.none_holds</source>
      <translation>Geht weiter, sobald nichts davon mehr gilt.</translation>
    </message>
    <message>
      <source>rule.unknown</source>
      <translation>Unbekannt</translation>
    </message>
    <message>
      <source>run.access_invites</source>
      <translation>Nur mit Einladung. Dieser PC hat den Schlüssel des Veranstalters: Er kann andere einladen.</translation>
    </message>
    <message>
      <source>run.access_none</source>
      <translation>Nur mit Einladung. Dieser PC hat keine gültige Einladung: Bitte den Veranstalter um einen Link, der ein Token enthält.</translation>
    </message>
    <message>
      <source>run.access_open</source>
      <translation>Alle dürfen mitmachen.</translation>
    </message>
    <message>
      <source>run.access_until</source>
      <translation>Nur mit Einladung. Dieser PC ist bis {at:date} eingeladen.</translation>
    </message>
    <message>
      <source>run.bad_licence</source>
      <translation>Eine Lizenz hat höchstens {most} Zeichen.</translation>
    </message>
    <message>
      <source>run.bad_link</source>
      <translation>Dieser Link führt zu keinem Lauf: {why}</translation>
    </message>
    <message>
      <source>run.bad_name</source>
      <translation>{name} ist kein Name für einen Lauf: er beginnt mit einem Kleinbuchstaben und hat höchstens 32 Kleinbuchstaben, Ziffern, - und _.</translation>
    </message>
    <message>
      <source>run.bad_title</source>
      <translation>Ein Titel hat 1 bis 80 Zeichen.</translation>
    </message>
    <message>
      <source>run.bad_volunteers</source>
      <translation>{text} ist keine Zahl von Freiwilligen: 1 bis {most}.</translation>
    </message>
    <message>
      <source>run.begins</source>
      <translation>Beginnt von selbst; ein anderer PC muss als Host mitmachen.</translation>
    </message>
    <message>
      <source>run.begins_then</source>
      <translation>Das Training beginnt dann von selbst.</translation>
    </message>
    <message>
      <source>run.built_in_name</source>
      <translation>{name} ist ein Lauf, der mit Hearth kommt. Wähle einen anderen Namen.</translation>
    </message>
    <message>
      <source>run.changed</source>
      <translation>Der Veranstalter hat diesen Lauf geändert: Dieser PC benutzt jetzt Revision {revision} seines Manifests. Geändert: {fields}.</translation>
    </message>
    <message>
      <source>run.choose_another</source>
      <translation>{why} Wähle in den Einstellungen einen Lauf; bis dahin trainiert dieser PC „{title}“.</translation>
    </message>
    <message>
      <source>run.from</source>
      <translation>Trainiert wird ab {start} (UTC).</translation>
    </message>
    <message>
      <source>run.from_to</source>
      <translation>Trainiert wird von {start} bis {end} (UTC).</translation>
    </message>
    <message>
      <source>run.goes_on</source>
      <translation>Geht von selbst weiter, sobald einer antwortet oder ein anderer PC diese Experten übernimmt.</translation>
    </message>
    <message>
      <source>run.join_another</source>
      <translation>Wähle einen anderen Lauf, oder tritt einem bei, um weiter zu trainieren; oder verlass diesen. Bis dahin beantwortet dieser PC Fragen an sein Modell.</translation>
    </message>
    <message>
      <source>run.joined_already</source>
      <translation>Dieser PC nimmt am Lauf {run} schon teil.</translation>
    </message>
    <message>
      <source>run.lifted</source>
      <translation>Du hast die Regel „{rule}“ aufgehoben.</translation>
    </message>
    <message>
      <source>run.link_alone</source>
      <translation>Dieser PC arbeitet allein, und ein Link führt zu anderen Peers: Starte seinen Worker mit --join oder --listen, oder erlaube andere Peers in den Einstellungen.</translation>
    </message>
    <message>
      <source>run.link_long</source>
      <translation>Er ist länger als {most} Zeichen.</translation>
    </message>
    <message>
      <source>run.link_no_link</source>
      <translation>Er muss mit {head} beginnen und darf nur Buchstaben, Ziffern und . _ ~ : / @ , % - enthalten. Kopiere den ganzen Link.</translation>
    </message>
    <message>
      <source>run.link_nobody</source>
      <translation>Kein Peer des Links gab das Manifest von {run}: {why:sentences} Bitte den Veranstalter um einen neuen Link.</translation>
    </message>
    <message>
      <source>run.link_not_there</source>
      <translation>Peer {peer:peer} nimmt an diesem Lauf nicht oder nicht mehr teil.</translation>
    </message>
    <message>
      <source>run.link_organiser</source>
      <translation>Auf die Lauf-ID muss der Schlüssel des Veranstalters folgen, 64 hexadezimale Ziffern. Vielleicht wurde er abgeschnitten: Kopiere den ganzen Link.</translation>
    </message>
    <message>
      <source>run.link_peers</source>
      <translation>Auf den Schlüssel des Veranstalters müssen 1 bis 4 Peers folgen, wie „hearth address“ sie ausgibt. Vielleicht wurde er abgeschnitten: Kopiere den ganzen Link.</translation>
    </message>
    <message>
      <source>run.link_run_id</source>
      <translation>Der erste Teil muss die ID eines Laufs sein, wie digits-2ac90b73. Vielleicht wurde er abgeschnitten: Kopiere den ganzen Link.</translation>
    </message>
    <message>
      <source>run.link_to_start</source>
      <translation>Mit einem Link startet kein Worker: Er muss zuerst unter Peers sein. Starte ihn mit hearth worker --join, dann hearth run join LINK, und hearth run leave für das, was er nicht trainieren soll.</translation>
    </message>
    <message>
      <source>run.link_token</source>
      <translation>Was auf token: folgt, ist abgeschnitten oder verändert. Kopiere den ganzen Link.</translation>
    </message>
    <message>
      <source>run.link_unsigned</source>
      <translation>Niemand hat den Lauf {run} unterschrieben, und ein Link führt nur zu unterschriebenen. Unterschreibe sein Manifest (hearth run sign) und mache bei dem mit, was herauskommt.</translation>
    </message>
    <message>
      <source>run.link_without_peers</source>
      <translation>Niemand könnte bei {run} durch einen Link mitmachen: Dieser PC ist nicht zu erreichen, und das Manifest nennt keinen Peer in `bootstrap`.</translation>
    </message>
    <message>
      <source>run.name_of_several</source>
      <translation>Mehrere Läufe heißen {run}. Gib die ID eines davon an: {known}.</translation>
    </message>
    <message>
      <source>run.needs_disk</source>
      <translation>Der Lauf {run} braucht {needed:size} freien Speicherplatz, und frei sind {has:size}.</translation>
    </message>
    <message>
      <source>run.needs_memory</source>
      <translation>Der Lauf {run} braucht einen PC mit {needed:size} Arbeitsspeicher, und dieser hat {has:size}.</translation>
    </message>
    <message>
      <source>run.none_here</source>
      <translation>Kein Experte dieses Laufs ist hier.</translation>
    </message>
    <message>
      <source>run.not_joined</source>
      <translation>Dieser PC nimmt an keinem Lauf namens {run} teil, nur an: {known}.</translation>
    </message>
    <message>
      <source>run.not_yet</source>
      <translation>Der Lauf beginnt am {at} (UTC), wie sein Veranstalter es geplant hat.</translation>
    </message>
    <message>
      <source>run.only_one</source>
      <translation>{run} ist der einzige Lauf dieses PCs. Nimm erst an einem anderen teil.</translation>
    </message>
    <message>
      <source>run.organiser_says</source>
      <translation>Der Veranstalter schrieb am {time:date}: {text}</translation>
    </message>
    <message>
      <source>run.other_manifest</source>
      <translation>Im Ordner des Laufs {run} liegt das Manifest eines anderen, {found}. An ihm wird erst wieder gearbeitet, wenn er mit seinem eigenen Manifest erneut aufgenommen wird.</translation>
    </message>
    <message>
      <source>run.over</source>
      <translation>Der Lauf endete am {at} (UTC), wie sein Veranstalter es geplant hat.</translation>
    </message>
    <message>
      <source>run.reached</source>
      <translation>Der Lauf hat sein Ziel erreicht: Das Modell ist so genau, wie der Veranstalter es will, und es bleibt nichts zu trainieren.</translation>
    </message>
    <message>
      <source>run.says</source>
      <translation>{run}: {what}</translation>
    </message>
    <message>
      <source>run.stuck</source>
      <translation>Für manche Experten dieses Laufs hat seit einer Weile kein Host geantwortet: Vielleicht ist er eingefroren, im Ruhezustand oder vom Netzwerk getrennt.</translation>
    </message>
    <message>
      <source>run.successor</source>
      <translation>Der Veranstalter hat diesen Lauf geändert. Dieser PC benutzt Revision {revision} seines Manifests ab dem nächsten Start seines Rechenprozesses, binnen einer Stunde. Was sich ändert: {fields}.</translation>
    </message>
    <message>
      <source>run.successor_unusable</source>
      <translation>Der Veranstalter hat diesen Lauf geändert, und dieses Hearth kann das neue Manifest nicht verwenden: {why}</translation>
    </message>
    <message>
      <source>run.through_peers</source>
      <translation>Dieser PC trainiert mit den Experten anderer Peers.</translation>
    </message>
    <message>
      <source>run.to</source>
      <translation>Trainiert wird bis {end} (UTC).</translation>
    </message>
    <message>
      <source>run.too_many</source>
      <translation>Mehr Läufe gehen gerade nicht. Es können höchstens {most} sein, und keiner kommt hinzu, während Hearth startet oder beendet wird.</translation>
    </message>
    <message numerus="yes">
      <source>run.training</source>
      <translation>
        <numerusform>Dieser PC trainiert {n} Experten.</numerusform>
        <numerusform>Dieser PC trainiert {n} Experten.</numerusform>
      </translation>
    </message>
    <message>
      <source>run.training_whole</source>
      <translation>Dieser PC trainiert ein ganzes Modell.</translation>
    </message>
    <message>
      <source>run.unreachable</source>
      <translation>Noch ist kein Experte dieses Laufs erreichbar. Das Training beginnt, sobald ein Peer gefunden ist, der welche beherbergt.</translation>
    </message>
    <message>
      <source>run.until_blind</source>
      <translation>Läuft, bis du „Pause“ drückst, denn deine Rückkehr lässt sich nicht bemerken.</translation>
    </message>
    <message>
      <source>run.until_blind_at</source>
      <translation>Läuft bis {at:clock} oder bis du „Pause“ drückst, denn deine Rückkehr lässt sich nicht bemerken.</translation>
    </message>
    <message>
      <source>run.until_input</source>
      <translation>Hält an, sobald du Maus oder Tastatur benutzt.</translation>
    </message>
    <message>
      <source>run.until_input_at</source>
      <translation>Hält an, sobald du Maus oder Tastatur benutzt, sonst um {at:clock}.</translation>
    </message>
    <message>
      <source>run.until_lift</source>
      <translation>Läuft, bis diese Regel um {end:clock} wieder gilt, oder bis du „Pause“ drückst.</translation>
    </message>
    <message>
      <source>run.until_pause</source>
      <translation>Läuft, bis du „Pause“ drückst.</translation>
    </message>
    <message>
      <source>run.until_pause_at</source>
      <translation>Läuft bis {at:clock} oder bis du „Pause“ drückst.</translation>
    </message>
    <message>
      <source>run.waits</source>
      <translation>Dieser PC wartet auf seinen Anteil an Experten; er bekommt ihn binnen einer Minute.</translation>
    </message>
    <message>
      <source>run.without_peers</source>
      <translation>Es geht vorerst ohne andere Peers.</translation>
    </message>
    <message>
      <source>schedule.no_day</source>
      <translation>„{text}“ ist kein Tag. Tage sind mo, tu, we, th, fr, sa, su. Schreib sie wie mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_part</source>
      <translation>„{text}“ ist kein Teil eines Zeitplans. Schreib ihn wie mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_span</source>
      <translation>„{text}“ ist keine Zeitspanne. Der ganze Tag ist 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_such_span</source>
      <translation>„{text}“ ist keine Zeitspanne wie 18:00-08:00. Schreib sie wie mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.no_time</source>
      <translation>„{text}“ nennt keine Zeit. Schreib sie wie mo-fr 18:00-08:00; sa,su 0:00-24:00.</translation>
    </message>
    <message>
      <source>schedule.too_long</source>
      <translation>Ein Zeitplan hat höchstens {most} Zeichen.</translation>
    </message>
    <message>
      <source>screensaver.no_such_windows</source>
      <translation>In Fenster anderer Programme wird nur unter X11 und Windows gezeichnet. Lass die Option weg.</translation>
    </message>
    <message>
      <source>screensaver.no_window</source>
      <translation>Es gibt kein Fenster {window}, in das gezeichnet werden könnte. Vielleicht wurde es inzwischen geschlossen.</translation>
    </message>
    <message>
      <source>screensaver.no_x11</source>
      <translation>In Fenster anderer Programme wird nur unter X11 gezeichnet: {reason}.</translation>
    </message>
    <message>
      <source>screensaver.shown_already</source>
      <translation>Der Bildschirmschoner ist schon zu sehen.</translation>
    </message>
    <message>
      <source>settings.had_impossible</source>
      <translation>Die Einstellungsdatei hatte unmögliche Werte für {names}: Dafür gelten die Standardwerte.</translation>
    </message>
    <message>
      <source>settings.had_impossible_kept</source>
      <translation>Die Einstellungsdatei hatte unmögliche Werte für {names}: Dafür gelten die Standardwerte. Die alte Datei wurde als {name} aufgehoben.</translation>
    </message>
    <message>
      <source>settings.impossible</source>
      <translation>Eine Einstellung kann diesen Wert nicht haben: {why}.</translation>
    </message>
    <message>
      <source>settings.no_name</source>
      <translation>Es gibt keine Einstellung namens {names}.</translation>
    </message>
    <message>
      <source>settings.no_version</source>
      <translation>Davon gibt es keine Version {version}.</translation>
    </message>
    <message>
      <source>settings.of_newer</source>
      <translation>Die Einstellungsdatei ist von einem neueren Hearth. Was dieses hier versteht, gilt; eine Änderung schreibt sie neu.</translation>
    </message>
    <message>
      <source>settings.of_newer_kept</source>
      <translation>Die Einstellungsdatei ist von einem neueren Hearth. Was dieses hier versteht, gilt; die Datei ist auch als {name} aufgehoben.</translation>
    </message>
    <message>
      <source>settings.unreadable</source>
      <translation>Die Einstellungsdatei war nicht lesbar ({why}). {kept} Es gelten die Standardwerte.</translation>
    </message>
    <message>
      <source>signal.celsius</source>
      <translation>Die Temperatur der CPU</translation>
    </message>
    <message>
      <source>signal.cpu_others</source>
      <translation>Was andere Programme von der CPU brauchen</translation>
    </message>
    <message>
      <source>signal.desktop</source>
      <translation>Ob jemand an einem Bildschirm sein kann</translation>
    </message>
    <message>
      <source>signal.disk_free</source>
      <translation>Der freie Speicherplatz</translation>
    </message>
    <message>
      <source>signal.failed</source>
      <translation>{what} – nicht messbar: {cause}.</translation>
    </message>
    <message>
      <source>signal.front</source>
      <translation>Was den Bildschirm füllt</translation>
    </message>
    <message>
      <source>signal.gpus</source>
      <translation>Die Auslastung der GPUs</translation>
    </message>
    <message>
      <source>signal.hot</source>
      <translation>Was das System selbst über Hitze sagt</translation>
    </message>
    <message>
      <source>signal.idle_s</source>
      <translation>Die Leerlaufzeit</translation>
    </message>
    <message>
      <source>signal.impossible</source>
      <translation>{source} meldet etwas Unmögliches: {value}.</translation>
    </message>
    <message>
      <source>signal.locked</source>
      <translation>Die Sperre der Sitzung</translation>
    </message>
    <message>
      <source>signal.memory_free</source>
      <translation>Der freie Arbeitsspeicher</translation>
    </message>
    <message>
      <source>signal.metered</source>
      <translation>Der Preis des Netzwerks</translation>
    </message>
    <message>
      <source>signal.nowhere</source>
      <translation>{what} – auf diesem System nicht messbar.</translation>
    </message>
    <message>
      <source>signal.pending</source>
      <translation>Es wurde noch nicht gemessen.</translation>
    </message>
    <message>
      <source>signal.power</source>
      <translation>Die Stromquelle</translation>
    </message>
    <message>
      <source>signal.programs</source>
      <translation>Die Liste der laufenden Programme</translation>
    </message>
    <message>
      <source>signal.quiet</source>
      <translation>{source} antwortet nicht.</translation>
    </message>
    <message>
      <source>signal.silent</source>
      <translation>{what} – nicht messbar: Nichts antwortet.</translation>
    </message>
    <message>
      <source>signal.watts</source>
      <translation>Die Leistung der CPU</translation>
    </message>
    <message>
      <source>source.closed</source>
      <translation>Die Verbindung ist geschlossen.</translation>
    </message>
    <message>
      <source>source.no_function</source>
      <translation>Dieses System hat keine Funktion {name}.</translation>
    </message>
    <message>
      <source>telemetry.broker_fails</source>
      <translation>Der Broker kann unter {address} nicht lauschen: {why}</translation>
    </message>
    <message>
      <source>telemetry.broker_port_in_use</source>
      <translation>Ein anderes Programm benutzt {address}. Beende es oder wähle mit --broker-listen eine andere Adresse.</translation>
    </message>
    <message>
      <source>telemetry.fails</source>
      <translation>{times:count}-mal hintereinander konnte den Ehrentafeln nicht mitgeteilt werden, was dieser PC tut ({error}). Das Training läuft weiter; bitte melde es.</translation>
    </message>
    <message>
      <source>telemetry.foreign</source>
      <translation>Diese Nachricht gehört zu einem anderen Lauf, Peer, Broker oder Zeitpunkt.</translation>
    </message>
    <message>
      <source>telemetry.forged</source>
      <translation>Der Peer {peer:peer} hat diese Nachricht nicht unterschrieben, oder sie wurde danach geändert.</translation>
    </message>
    <message>
      <source>telemetry.mosquitto_ends</source>
      <translation>Mosquitto läuft nicht unter {address}: {why}. Andere PCs erreichen diesen Broker nicht; Hearth startet ihn immer wieder. Wenn ein anderes Programm den Port hat, beende es: Das Paket von Mosquitto startet ein eigenes (systemctl disable --now mosquitto).</translation>
    </message>
    <message>
      <source>telemetry.mosquitto_files</source>
      <translation>Die Dateien von Mosquitto in {folder} können nicht geschrieben werden: {why}. Der Broker lässt niemand Neuen ein und noch die, die nicht mehr teilnehmen dürfen, oder startet nicht. Hearth versucht es immer wieder.</translation>
    </message>
    <message>
      <source>telemetry.names_none</source>
      <translation>Der Lauf {run} nennt keinen Broker, über den eine Mitteilung gesendet werden könnte: Trage einen unter `brokers` in sein Manifest ein und unterschreibe es neu.</translation>
    </message>
    <message>
      <source>telemetry.no_broker</source>
      <translation>Kein Broker dieses Laufs antwortet ({brokers}): Mitteilungen des Veranstalters und die Rangliste fehlen. Das Training läuft weiter.</translation>
    </message>
    <message>
      <source>telemetry.no_metrics</source>
      <translation>Die Zahlen für Prometheus können unter {address} nicht angeboten werden: {why}</translation>
    </message>
    <message>
      <source>telemetry.no_mosquitto</source>
      <translation>Mosquitto ist hier nicht installiert. Installiere es (Debian und Ubuntu: apt install mosquitto), oder lass --mosquitto weg. Unter Windows wird es nicht unterstützt.</translation>
    </message>
    <message>
      <source>telemetry.not_organiser</source>
      <translation>Nur der Veranstalter von {run} kann allen etwas mitteilen: Dazu gehört der Schlüssel, der das Manifest unterschrieben hat.</translation>
    </message>
    <message>
      <source>telling.fails</source>
      <translation>{times:count}-mal hintereinander konnte anderen Peers nicht mitgeteilt werden, was sich an den Experten auf diesem PC geändert hat ({error}). Das Training läuft weiter; bitte melde es.</translation>
    </message>
    <message>
      <source>tokens.damaged</source>
      <translation>Der Tokenizer ist beschädigt: {why}.</translation>
    </message>
    <message>
      <source>tokens.no_end</source>
      <translation>Der Tokenizer hat kein Token {end}, das einen Text beendet.</translation>
    </message>
    <message>
      <source>tokens.other_end</source>
      <translation>Der Tokenizer beendet einen Text mit dem Token {end}, das Manifest mit einem anderen.</translation>
    </message>
    <message>
      <source>tokens.too_large</source>
      <translation>Die Datei des Tokenizers ist größer als {most:size}.</translation>
    </message>
    <message>
      <source>tokens.too_many</source>
      <translation>Der Tokenizer hat {tokens} Token, und das Modell hat Platz für {vocabulary}.</translation>
    </message>
    <message>
      <source>tokens.unknown_kind</source>
      <translation>Der Tokenizer ist von keiner Art, die Hearth kennt: ein BPE über Bytes, das Wörter wie Qwen2 oder GPT-2 trennt.</translation>
    </message>
    <message>
      <source>traffic.access</source>
      <translation>Zulassung von Peers</translation>
    </message>
    <message>
      <source>traffic.blob</source>
      <translation>Kopien und Daten</translation>
    </message>
    <message>
      <source>traffic.credit</source>
      <translation>Unterschriften für Gutschriften</translation>
    </message>
    <message>
      <source>traffic.data</source>
      <translation>Daten des Laufs</translation>
    </message>
    <message>
      <source>traffic.dht</source>
      <translation>Verzeichnis der Experten</translation>
    </message>
    <message>
      <source>traffic.expert</source>
      <translation>Expertenaufrufe</translation>
    </message>
    <message>
      <source>traffic.file</source>
      <translation>Kopien von Checkpoints</translation>
    </message>
    <message>
      <source>traffic.host</source>
      <translation>Verteilen von Experten</translation>
    </message>
    <message>
      <source>traffic.line</source>
      <translation>Messung deines Uploads</translation>
    </message>
    <message>
      <source>traffic.net</source>
      <translation>Verbindungsaufbau</translation>
    </message>
    <message>
      <source>traffic.other</source>
      <translation>Paketköpfe und Übriges</translation>
    </message>
    <message>
      <source>traffic.pack</source>
      <translation>Dateien von GPU-Paketen</translation>
    </message>
    <message>
      <source>traffic.reach</source>
      <translation>Verbindungsaufbau</translation>
    </message>
    <message>
      <source>traffic.relay</source>
      <translation>Für andere weitergereicht</translation>
    </message>
    <message>
      <source>traffic.run</source>
      <translation>Manifeste</translation>
    </message>
    <message>
      <source>traffic.telemetry</source>
      <translation>Telemetrie</translation>
    </message>
    <message>
      <source>traffic.trunk</source>
      <translation>Abgleich des Rumpfs</translation>
    </message>
    <message>
      <source>trunk.ends_again</source>
      <translation>Versucht es alle paar Sekunden erneut; geht weiter, sobald mehr als die Hälfte der Trainer zu derselben Runde kommt.</translation>
    </message>
    <message>
      <source>trunk.ends_round</source>
      <translation>Geht weiter, wenn sie gekommen sind, oder ohne die, die nicht binnen einer halben Minute kommen.</translation>
    </message>
    <message>
      <source>trunk.ends_server</source>
      <translation>Geht weiter, sobald einer antwortet; sie werden alle paar Sekunden erneut gefragt.</translation>
    </message>
    <message>
      <source>trunk.ends_trunk</source>
      <translation>Geht weiter, sobald sie ihn gesendet haben; wenn es keiner kann, mit dem, was hier ist.</translation>
    </message>
    <message>
      <source>trunk.ends_work</source>
      <translation>Fragt alle paar Sekunden erneut; geht weiter, sobald welche frei ist.</translation>
    </message>
    <message>
      <source>trunk.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich der Rumpf, auf den sich die Trainer einigen, nicht pflegen ({error}). Das Training läuft mit dem Rumpf weiter, der hier ist; bitte melde es.</translation>
    </message>
    <message>
      <source>trunk.goes_on</source>
      <translation>Wartet auf niemanden</translation>
    </message>
    <message>
      <source>trunk.title</source>
      <translation>Andere Trainer</translation>
    </message>
    <message>
      <source>trunk.too_few</source>
      <translation>Zu wenige von {n:count} Trainern kamen zur Runde des Schritts {step:count}.</translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_again</source>
      <translation>
        <numerusform>Wartet auf den gemeinsamen Schritt: {n:count} Versuch ist fehlgeschlagen. {why:phrase}</numerusform>
        <numerusform>Wartet auf den gemeinsamen Schritt: {n:count} Versuche sind fehlgeschlagen. {why:phrase}</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_line</source>
      <translation>
        <numerusform>Holt den Rumpf der anderen in einer Minute erneut: Die Leitung hier ist langsam für diesen Lauf</numerusform>
        <numerusform>Holt den Rumpf der anderen in {n:count} Minuten erneut: Die Leitung hier ist langsam für diesen Lauf</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>trunk.waits_round</source>
      <translation>
        <numerusform>Wartet auf einen anderen Trainer im gemeinsamen Schritt</numerusform>
        <numerusform>Wartet auf {n:count} andere Trainer im gemeinsamen Schritt</numerusform>
      </translation>
    </message>
    <message>
      <source>trunk.waits_server</source>
      <translation>Wartet auf einen Parameterserver</translation>
    </message>
    <message>
      <source>trunk.waits_trunk</source>
      <translation>Wartet auf den Rumpf, auf den sich die anderen einigen</translation>
    </message>
    <message>
      <source>trunk.waits_work</source>
      <translation>Wartet auf Arbeit: Alles ist bei anderen Trainern</translation>
    </message>
    <message>
      <source>trunk.wants</source>
      <translation>Alle Trainer dieses Laufs einigen sich auf einen Rumpf</translation>
    </message>
    <message>
      <source>trunk_server.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich nicht klären, welcher PC der Parameterserver ist ({error}). Das Training läuft weiter, so gut es geht; bitte melde es.</translation>
    </message>
    <message>
      <source>update.by_hand</source>
      <translation>Dieses Hearth wurde nicht über sein Startprogramm gestartet und kann sich nicht selbst aktualisieren. Starte das Programm „hearth“ seines Ordners, oder installiere die neue Version von Hand.</translation>
    </message>
    <message>
      <source>update.damaged</source>
      <translation>Die Liste der Versionen ist beschädigt: {why}. Es wurde nichts installiert.</translation>
    </message>
    <message>
      <source>update.disk_full</source>
      <translation>Das Laufwerk ist voll. Es wurde nichts installiert; was schon geladen ist, bleibt für den nächsten Versuch.</translation>
    </message>
    <message>
      <source>update.does_not_run</source>
      <translation>Die neue Version läuft auf diesem PC nicht: {why}. Es wurde nichts geändert.</translation>
    </message>
    <message>
      <source>update.expired</source>
      <translation>Die Liste der Versionen ist abgelaufen: Niemand hat sie erneuert. Es wurde nichts installiert. Versuch es später.</translation>
    </message>
    <message>
      <source>update.managed</source>
      <translation>Dein System hat dieses Hearth installiert und aktualisiert es auch: Verwende die Paketverwaltung.</translation>
    </message>
    <message>
      <source>update.no_feed</source>
      <translation>Zu dieser Installation gehört keine Quelle für neue Versionen; sie kann nicht nach Updates suchen.</translation>
    </message>
    <message>
      <source>update.no_platform</source>
      <translation>Für dieses System ({platform}) gibt es keine neue Version.</translation>
    </message>
    <message>
      <source>update.no_room</source>
      <translation>Das Update braucht entpackt {needed:size}, frei sind aber nur {free:size}. Es wurde nichts installiert.</translation>
    </message>
    <message>
      <source>update.not_fetched</source>
      <translation>Kein Server lieferte {file}: {why}. Was schon geladen ist, bleibt für den nächsten Versuch.</translation>
    </message>
    <message>
      <source>update.not_written</source>
      <translation>Das Update kann nicht nach {folder} geschrieben werden: {why}.</translation>
    </message>
    <message>
      <source>update.older</source>
      <translation>Angeboten wird {offered}; das ist nicht neuer als {installed}. Hearth kehrt nie zu einer älteren Version zurück.</translation>
    </message>
    <message>
      <source>update.replayed</source>
      <translation>Die Liste der Versionen ist älter als die, die dieser PC schon kennt. Vielleicht spielt jemand eine alte ein. Es wurde nichts installiert.</translation>
    </message>
    <message>
      <source>update.sources</source>
      <translation>Dieses Hearth läuft aus seinen Quellen. Aktualisiere sie, zum Beispiel mit „git pull“.</translation>
    </message>
    <message>
      <source>update.taken_back</source>
      <translation>Hearth {version} startete nicht innerhalb einer Minute. Die vorige Version läuft wieder, mit deinen Daten, wie sie waren.</translation>
    </message>
    <message>
      <source>update.under_way</source>
      <translation>Ein Update läuft bereits.</translation>
    </message>
    <message>
      <source>update.unreachable</source>
      <translation>Die Liste der Versionen ist nicht erreichbar: {why}.</translation>
    </message>
    <message>
      <source>update.unsigned</source>
      <translation>Die Liste der Versionen ist nicht von denen unterschrieben, denen dieses Hearth vertraut. Es wurde nichts installiert.</translation>
    </message>
    <message>
      <source>upkeep.fails</source>
      <translation>{times:count}-mal hintereinander ließ sich das Verzeichnis aller Peers (DHT) hier nicht pflegen ({error}). Was bekannt ist, wird weiter benutzt; bitte melde es.</translation>
    </message>
    <message>
      <source>user.always</source>
      <translation>Läuft auch, während du da bist</translation>
    </message>
    <message>
      <source>user.anyway</source>
      <translation>Rechnet trotzdem, wo es unbekannt ist</translation>
    </message>
    <message>
      <source>user.as_away</source>
      <translation>Läuft, als wärst du weg</translation>
    </message>
    <message>
      <source>user.away_for</source>
      <translation>Du bist seit {idle:duration} weg.</translation>
    </message>
    <message>
      <source>user.back</source>
      <translation>Du bist zurück.</translation>
    </message>
    <message>
      <source>user.chose_anyway</source>
      <translation>Du wolltest trotzdem rechnen.</translation>
    </message>
    <message>
      <source>user.idle</source>
      <translation>{idle:duration} seit der letzten Eingabe</translation>
    </message>
    <message>
      <source>user.idle_locked</source>
      <translation>{idle:duration} seit der letzten Eingabe, gesperrt</translation>
    </message>
    <message>
      <source>user.known</source>
      <translation>Startet, sobald es einige Sekunden bekannt ist.</translation>
    </message>
    <message>
      <source>user.known_soon</source>
      <translation>Gleich bekannt.</translation>
    </message>
    <message>
      <source>user.lost</source>
      <translation>Eben ließ sich nicht messen, wie lange du weg bist.</translation>
    </message>
    <message>
      <source>user.measuring</source>
      <translation>Es wird gemessen, wie lange du weg bist.</translation>
    </message>
    <message>
      <source>user.nobody</source>
      <translation>Es gibt keine Oberfläche, an der du sein könntest</translation>
    </message>
    <message>
      <source>user.remedy</source>
      <translation>Rechnet, wenn du in den Einstellungen „Trotzdem rechnen“ wählst oder „Jetzt starten“ drückst.</translation>
    </message>
    <message>
      <source>user.title</source>
      <translation>Du bist weg</translation>
    </message>
    <message>
      <source>user.unmeasured</source>
      <translation>Es lässt sich nicht messen, wie lange du weg bist.</translation>
    </message>
    <message>
      <source>user.until</source>
      <translation>Startet in {start:countdown}, wenn du wegbleibst.</translation>
    </message>
    <message>
      <source>user.used</source>
      <translation>Du hast diesen PC vor {idle:duration} benutzt.</translation>
    </message>
    <message>
      <source>user.wants</source>
      <translation>Braucht {threshold:duration}</translation>
    </message>
    <message>
      <source>verdict.cpu</source>
      <translation>CPU</translation>
    </message>
    <message>
      <source>verdict.fine</source>
      <translation>in Ordnung</translation>
    </message>
    <message>
      <source>verdict.gpu</source>
      <translation>GPU</translation>
    </message>
    <message>
      <source>verdict.lifted</source>
      <translation>aufgehoben</translation>
    </message>
    <message>
      <source>verdict.network</source>
      <translation>Netzwerk</translation>
    </message>
    <message>
      <source>verdict.stops</source>
      <translation>hält an: {what}</translation>
    </message>
    <message>
      <source>verdict.training</source>
      <translation>Training</translation>
    </message>
    <message>
      <source>verdict.unknown</source>
      <translation>nicht bekannt</translation>
    </message>
    <message>
      <source>watts.forbidden</source>
      <translation>Nur der Administrator darf lesen, wie viel Leistung die CPU braucht.</translation>
    </message>
    <message>
      <source>watts.none</source>
      <translation>Die CPU dieses PCs sagt nicht, wie viel Leistung sie braucht.</translation>
    </message>
    <message>
      <source>wayland.gone</source>
      <translation>Der Wayland-Compositor ist weg.</translation>
    </message>
    <message>
      <source>wayland.none</source>
      <translation>Diese Sitzung ist nicht Wayland.</translation>
    </message>
    <message>
      <source>wayland.nonsense</source>
      <translation>Der Wayland-Compositor sandte Unsinn ({why}).</translation>
    </message>
    <message>
      <source>wayland.not_found</source>
      <translation>Der Wayland-Compositor ist nicht zu finden: XDG_RUNTIME_DIR ist nicht gesetzt.</translation>
    </message>
    <message>
      <source>wayland.silent</source>
      <translation>Der Wayland-Compositor antwortet nicht.</translation>
    </message>
    <message>
      <source>wayland.unreachable</source>
      <translation>Der Wayland-Compositor antwortet nicht ({why}).</translation>
    </message>
    <message>
      <source>worker.address_unreadable</source>
      <translation>Die Adresse des Workers ist nicht lesbar: {reason}.</translation>
    </message>
    <message>
      <source>worker.already_serves</source>
      <translation>Ein Worker von Hearth bedient {folder} schon. Mit „hearth status“ siehst du ihn; mit --data-dir wählst du einen anderen Ordner.</translation>
    </message>
    <message>
      <source>worker.answers_too_late</source>
      <translation>Der Worker hat in {seconds:whole} s nicht geantwortet. Versuch es erneut.</translation>
    </message>
    <message>
      <source>worker.cannot_run</source>
      <translation>Der Worker kann nicht laufen (Exit-Code {status:digits}).</translation>
    </message>
    <message>
      <source>worker.does_not_answer_here</source>
      <translation>Kein Worker antwortet für diesen Datenordner.</translation>
    </message>
    <message>
      <source>worker.ended</source>
      <translation>Der Worker ist beendet.</translation>
    </message>
    <message>
      <source>worker.ended.another_runs</source>
      <translation>für diesen Datenordner läuft ein anderer, der nicht geantwortet hat</translation>
    </message>
    <message>
      <source>worker.ended.killed</source>
      <translation>er wurde gewaltsam beendet (Signal {signal:digits})</translation>
    </message>
    <message>
      <source>worker.ended.unexpectedly</source>
      <translation>er hielt unerwartet an</translation>
    </message>
    <message>
      <source>worker.ended.with_code</source>
      <translation>er endete mit dem Exit-Code {status:digits}</translation>
    </message>
    <message>
      <source>worker.ended.with_fault</source>
      <translation>er endete mit dem Exit-Code {status:digits} ({fault:phrase})</translation>
    </message>
    <message>
      <source>worker.ended_connection</source>
      <translation>Der Worker hat die Verbindung beendet.</translation>
    </message>
    <message>
      <source>worker.hangs</source>
      <translation>Der Worker hat seit {seconds:whole} s nicht geantwortet.</translation>
    </message>
    <message>
      <source>worker.is_another_program</source>
      <translation>Ein anderes Programm antwortet an der Stelle des Workers.</translation>
    </message>
    <message>
      <source>worker.leaving</source>
      <translation>Wird beendet: Der Worker speichert seine Arbeit.</translation>
    </message>
    <message>
      <source>worker.line_too_long</source>
      <translation>Der Worker sandte eine Zeile über der Grenze von {most:count} Bytes.</translation>
    </message>
    <message>
      <source>worker.lost</source>
      <translation>{reason} Hearth versucht, ihn wieder zu erreichen.</translation>
    </message>
    <message>
      <source>worker.neither_reply_nor_event</source>
      <translation>Der Worker sandte eine Zeile, die weder Antwort noch Ereignis ist.</translation>
    </message>
    <message>
      <source>worker.no_hello</source>
      <translation>Der Worker hat sich in {seconds:whole} s nicht gemeldet.</translation>
    </message>
    <message>
      <source>worker.not_connected</source>
      <translation>Der Worker ist nicht verbunden. Versuch es erneut, wenn er es ist.</translation>
    </message>
    <message>
      <source>worker.not_running</source>
      <translation>Für {folder} läuft kein Worker von Hearth. Starte die App mit „hearth“ oder den Worker allein mit „hearth worker“. Hast du einen Datenordner genannt, gib dasselbe --data-dir an.</translation>
    </message>
    <message>
      <source>worker.not_started</source>
      <translation>Der Worker ließ sich nicht starten: {reason} ({file}).</translation>
    </message>
    <message>
      <source>worker.other_version</source>
      <translation>Der Worker hat die Version {worker}, die App {app}: Beende Hearth und starte es neu.</translation>
    </message>
    <message>
      <source>worker.restarting</source>
      <translation>Der Worker speichert seine Arbeit und startet neu.</translation>
    </message>
    <message>
      <source>worker.sent_unknown</source>
      <translation>Der Worker sandte etwas Unbekanntes ({reason}).</translation>
    </message>
    <message>
      <source>worker.silent</source>
      <translation>Der Worker antwortet nicht. Wenn das so bleibt, beende ihn und starte Hearth neu.</translation>
    </message>
    <message>
      <source>worker.silent_elsewhere</source>
      <translation>Der Worker des anderen PCs antwortet nicht: Prüfe die Weiterleitung und kopiere seine worker.json neu. Neuer Versuch in {seconds:count} s.</translation>
    </message>
    <message>
      <source>worker.starting</source>
      <translation>Der Worker startet.</translation>
    </message>
    <message>
      <source>worker.starts_slowly</source>
      <translation>Der Worker braucht lange zum Starten.</translation>
    </message>
    <message>
      <source>worker.stopped</source>
      <translation>Worker angehalten: {reason:phrase}. Neustart in {seconds:count} s.</translation>
    </message>
    <message>
      <source>x11.none</source>
      <translation>Diese Sitzung ist nicht X11.</translation>
    </message>
  </context>
  <context>
    <name>runs</name>
    <message>
      <source>Digits without experts</source>
      <translation>Ziffern ohne Experten</translation>
    </message>
    <message>
      <source>Handwritten digits</source>
      <translation>Handschriftliche Ziffern</translation>
    </message>
    <message>
      <source>Short stories</source>
      <translation>Kurze Geschichten</translation>
    </message>
    <message>
      <source>The Python manual</source>
      <translation>Das Python-Handbuch</translation>
    </message>
  </context>
</TS>
