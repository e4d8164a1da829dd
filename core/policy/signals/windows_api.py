"""Windows' functions that its signals come from, with their structures. Not yet run on Windows.

The widths of types are those of 64-bit Windows, spelled out, as `ctypes.wintypes` has this system's own `long`.
"""

import ctypes

from core.policy.signals.foreign import Signature

WORD, DWORD, LONG, BYTE, SHORT = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint8, ctypes.c_int16
LONGLONG, POINTER, OUT = ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p


class LastInput(ctypes.Structure):
    """LASTINPUTINFO."""

    _fields_ = [("cbSize", DWORD), ("dwTime", DWORD)]


class Pad(ctypes.Structure):
    """XINPUT_STATE with its XINPUT_GAMEPAD."""

    _fields_ = [
        ("dwPacketNumber", DWORD),
        ("wButtons", WORD),
        ("bLeftTrigger", BYTE),
        ("bRightTrigger", BYTE),
        ("sThumbLX", SHORT),
        ("sThumbLY", SHORT),
        ("sThumbRX", SHORT),
        ("sThumbRY", SHORT),
    ]


class PowerStatus(ctypes.Structure):
    """SYSTEM_POWER_STATUS."""

    _fields_ = [
        ("ACLineStatus", BYTE),
        ("BatteryFlag", BYTE),
        ("BatteryLifePercent", BYTE),
        ("SystemStatusFlag", BYTE),
        ("BatteryLifeTime", DWORD),
        ("BatteryFullLifeTime", DWORD),
    ]


class Rect(ctypes.Structure):
    """RECT."""

    _fields_ = [("left", LONG), ("top", LONG), ("right", LONG), ("bottom", LONG)]


class Monitor(ctypes.Structure):
    """MONITORINFO."""

    _fields_ = [("cbSize", DWORD), ("rcMonitor", Rect), ("rcWork", Rect), ("dwFlags", DWORD)]


class SessionLevel1(ctypes.Structure):
    """WTSINFOEX_LEVEL1_W."""

    _fields_ = [
        ("SessionId", DWORD),
        ("SessionState", LONG),
        ("SessionFlags", LONG),
        ("WinStationName", WORD * 33),
        ("UserName", WORD * 21),
        ("DomainName", WORD * 18),
        ("Times", LONGLONG * 5),
        ("Bytes", DWORD * 6),
    ]


class Session(ctypes.Structure):
    """WTSINFOEXW."""

    _fields_ = [("Level", DWORD), ("Data", SessionLevel1)]


class Guid(ctypes.Structure):
    """GUID."""

    _fields_ = [("Data1", DWORD), ("Data2", WORD), ("Data3", WORD), ("Data4", BYTE * 8)]


SIGNATURES: dict[str, Signature] = {
    "user32.GetLastInputInfo": (LONG, OUT),
    "kernel32.GetTickCount": (DWORD,),
    "xinput1_4.XInputGetState": (DWORD, DWORD, OUT),
    "xinput9_1_0.XInputGetState": (DWORD, DWORD, OUT),
    "shell32.SHQueryUserNotificationState": (LONG, OUT),
    "user32.GetForegroundWindow": (POINTER,),
    "user32.GetShellWindow": (POINTER,),
    "user32.GetDesktopWindow": (POINTER,),
    "user32.GetClassNameW": (LONG, POINTER, OUT, LONG),
    "user32.GetWindowLongW": (LONG, POINTER, LONG),
    "user32.GetWindowRect": (LONG, POINTER, OUT),
    "user32.MonitorFromWindow": (POINTER, POINTER, DWORD),
    "user32.GetMonitorInfoW": (LONG, POINTER, OUT),
    "user32.GetWindowThreadProcessId": (DWORD, POINTER, OUT),
    "kernel32.OpenProcess": (POINTER, DWORD, LONG, DWORD),
    "kernel32.QueryFullProcessImageNameW": (LONG, POINTER, DWORD, OUT, OUT),
    "kernel32.CloseHandle": (LONG, POINTER),
    "wtsapi32.WTSQuerySessionInformationW": (LONG, POINTER, DWORD, LONG, OUT, OUT),
    "wtsapi32.WTSFreeMemory": (None, POINTER),
    "user32.OpenInputDesktop": (POINTER, DWORD, LONG, DWORD),
    "user32.CloseDesktop": (LONG, POINTER),
    "kernel32.GetSystemPowerStatus": (LONG, OUT),
    "ole32.CoInitializeEx": (LONG, POINTER, DWORD),
    "ole32.CoCreateInstance": (LONG, POINTER, POINTER, DWORD, POINTER, OUT),
    "ole32.CoUninitialize": (None,),
}
