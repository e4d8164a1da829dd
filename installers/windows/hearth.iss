; The installer for Windows, for Inno Setup 6.3 or newer: for one user, without an administrator. package.py beside it
; calls the compiler with these four:
;   Version  of Hearth, as the sources have it
;   Bundle   the folder that installers.bundle.build made
;   Icon     the icon that was painted for it
;   Name     of the installer, without .exe

[Setup]
AppId={{7C0E8A52-3B0B-4E5B-9E0A-5C8C1D1E7B64}
AppName=Hearth
AppVersion={#Version}
AppPublisher=Hearth
VersionInfoVersion={#Version}
DefaultDirName={autopf}\Hearth
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
MinVersion=10.0.17763
LicenseFile=..\..\LICENSE
SetupIconFile={#Icon}
UninstallDisplayIcon={app}\hearthw.exe
OutputBaseFilename={#Name}
Compression=lzma2/max
SolidCompression=yes
WizardStyle=modern
ChangesAssociations=yes
CloseApplications=yes
RestartApplications=no

[Languages]
Name: "english"; MessagesFile: "compiler:Default.isl"; InfoAfterFile: "firewall.en.txt"
Name: "german"; MessagesFile: "compiler:Languages\German.isl"; InfoAfterFile: "firewall.de.txt"

[CustomMessages]
english.Login=Start Hearth in the tray when I log in
german.Login=Hearth bei der Anmeldung im Infobereich starten
english.Saver=Use Hearth as my screensaver
german.Saver=Hearth als Bildschirmschoner verwenden
english.Keep=Keep Hearth's data (its key, credit and what it trained)? A later installation continues with them. No deletes them for good.
german.Keep=Die Daten von Hearth behalten (Schlüssel, Gutschriften und was es trainiert hat)? Eine spätere Installation macht damit weiter. Nein löscht sie endgültig.
english.NotDeleted=Not all of the data could be deleted. They are in the folder Hearth in %1.
german.NotDeleted=Nicht alle Daten konnten gelöscht werden. Sie liegen im Ordner Hearth in %1.

[Tasks]
Name: "login"; Description: "{cm:Login}"
Name: "saver"; Description: "{cm:Saver}"; Flags: unchecked

[InstallDelete]
; Of the version before: what is not there any more must not be loaded.
Type: filesandordirs; Name: "{app}\_internal"

[Files]
Source: "{#Bundle}\*"; DestDir: "{app}"; Flags: ignoreversion recursesubdirs createallsubdirs
; Windows takes a screensaver's name from its file, and calls it with /s, /p or /c (core/cli.py).
Source: "{#Bundle}\hearthw.exe"; DestDir: "{app}"; DestName: "Hearth.scr"; Flags: ignoreversion

[Icons]
Name: "{autoprograms}\Hearth"; Filename: "{app}\hearthw.exe"

[Registry]
; As core/system/start_at_login.py and link_handler.py write them, so that Settings shows and changes the same.
Root: HKCU; Subkey: "Software\Microsoft\Windows\CurrentVersion\Run"; ValueType: string; ValueName: "Hearth"; ValueData: """{app}\hearthw.exe"" --in-tray"; Tasks: login
Root: HKCU; Subkey: "Software\Microsoft\Windows\CurrentVersion\Run"; ValueType: none; ValueName: "Hearth"; Flags: dontcreatekey uninsdeletevalue
Root: HKCU; Subkey: "Software\Classes\hearth"; ValueType: string; ValueName: ""; ValueData: "URL:Hearth"; Flags: uninsdeletekey
Root: HKCU; Subkey: "Software\Classes\hearth"; ValueType: string; ValueName: "URL Protocol"; ValueData: ""
Root: HKCU; Subkey: "Software\Classes\hearth\shell\open\command"; ValueType: string; ValueName: ""; ValueData: """{app}\hearthw.exe"" open ""%1"""
Root: HKCU; Subkey: "Control Panel\Desktop"; ValueType: string; ValueName: "SCRNSAVE.EXE"; ValueData: "{code:SaverPath}"; Tasks: saver

[Run]
Filename: "{app}\hearthw.exe"; Description: "{cm:LaunchProgram,Hearth}"; Flags: nowait postinstall skipifsilent

[Code]
// Windows starts no screensaver whose path has spaces in it, as that of a user may.
function SaverPath(Param: String): String;
begin
  Result := GetShortName(ExpandConstant('{app}\Hearth.scr'));
end;

function Hearth(Words: String): Boolean;
var
  Code: Integer;
begin
  Result := Exec(ExpandConstant('{app}\hearth.exe'), Words, '', SW_HIDE, ewWaitUntilTerminated, Code) and (Code = 0);
end;

// A program that runs cannot be opened for writing.
procedure WaitUntilEnded(Name: String);
var
  Looks: Integer;
  Opened: TFileStream;
begin
  for Looks := 1 to 150 do
  begin
    try
      Opened := TFileStream.Create(ExpandConstant('{app}\') + Name, fmOpenReadWrite or fmShareExclusive);
      Opened.Free;
      Exit;
    except
      Sleep(200);
    end;
  end;
end;

procedure QuitHearth;
begin
  if FileExists(ExpandConstant('{app}\hearth.exe')) then
  begin
    Hearth('quit');
    WaitUntilEnded('hearth.exe');
    WaitUntilEnded('hearthw.exe');
  end;
end;

function PrepareToInstall(var NeedsRestart: Boolean): String;
begin
  QuitHearth;
  Result := '';
end;

procedure CurUninstallStepChanged(CurUninstallStep: TUninstallStep);
var
  Saver: String;
begin
  if CurUninstallStep <> usUninstall then
    Exit;
  QuitHearth;
  if SuppressibleMsgBox(CustomMessage('Keep'), mbConfirmation, MB_YESNO, IDYES) = IDNO then
    if not Hearth('data purge --yes') then
      SuppressibleMsgBox(FmtMessage(CustomMessage('NotDeleted'), [ExpandConstant('{localappdata}')]), mbError, MB_OK, IDOK);
  if RegQueryStringValue(HKCU, 'Control Panel\Desktop', 'SCRNSAVE.EXE', Saver) then
    if CompareText(Saver, SaverPath('')) = 0 then
      RegDeleteValue(HKCU, 'Control Panel\Desktop', 'SCRNSAVE.EXE');
end;
