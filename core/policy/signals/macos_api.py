"""macOS' functions that its signals come from, and its Core Foundation values read. Not yet run on macOS."""

import contextlib
import ctypes
from collections.abc import Iterator

from core.policy.signals.foreign import Signature, Table

U8, I32, U32, I64, U64 = ctypes.c_uint8, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64
REF, OUT, TEXT = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p
UTF8, FLOAT64 = 0x08000100, 6
"""kCFStringEncodingUTF8, kCFNumberFloat64Type."""
NAME_BYTES = 1024


class Rect(ctypes.Structure):
    """CGRect."""

    _fields_ = [(name, ctypes.c_double) for name in ("x", "y", "width", "height")]


SIGNATURES: dict[str, Signature] = {
    "CoreFoundation.CFStringCreateWithCString": (REF, REF, TEXT, U32),
    "CoreFoundation.CFStringGetCString": (U8, REF, OUT, I64, U32),
    "CoreFoundation.CFGetTypeID": (U64, REF),
    "CoreFoundation.CFStringGetTypeID": (U64,),
    "CoreFoundation.CFNumberGetTypeID": (U64,),
    "CoreFoundation.CFBooleanGetTypeID": (U64,),
    "CoreFoundation.CFDictionaryGetTypeID": (U64,),
    "CoreFoundation.CFArrayGetTypeID": (U64,),
    "CoreFoundation.CFNumberGetValue": (U8, REF, I64, OUT),
    "CoreFoundation.CFBooleanGetValue": (U8, REF),
    "CoreFoundation.CFDictionaryGetValue": (REF, REF, REF),
    "CoreFoundation.CFArrayGetCount": (I64, REF),
    "CoreFoundation.CFArrayGetValueAtIndex": (REF, REF, I64),
    "CoreFoundation.CFRelease": (None, REF),
    "IOKit.IOServiceMatching": (REF, TEXT),
    "IOKit.IOServiceGetMatchingService": (U32, U32, REF),
    "IOKit.IORegistryEntryCreateCFProperty": (REF, U32, REF, REF, U32),
    "IOKit.IOObjectRelease": (I32, U32),
    "IOKit.IOPSCopyPowerSourcesInfo": (REF,),
    "IOKit.IOPSCopyPowerSourcesList": (REF, REF),
    "IOKit.IOPSGetPowerSourceDescription": (REF, REF, REF),
    "IOKit.IOPSGetProvidingPowerSourceType": (REF, REF),
    "CoreGraphics.CGEventSourceSecondsSinceLastEventType": (ctypes.c_double, I32, U32),
    "CoreGraphics.CGSessionCopyCurrentDictionary": (REF,),
    "CoreGraphics.CGWindowListCopyWindowInfo": (REF, U32, U32),
    "CoreGraphics.CGGetActiveDisplayList": (I32, U32, OUT, OUT),
    "CoreGraphics.CGDisplayBounds": (Rect, U32),
    "System.notify_register_check": (U32, TEXT, OUT),
    "System.notify_get_state": (U32, I32, OUT),
    "System.notify_cancel": (U32, I32),
}


def system() -> Table:
    """The functions of this macOS."""
    frameworks = "/System/Library/Frameworks"

    def load(name: str) -> ctypes.CDLL:
        path = "/usr/lib/libSystem.B.dylib" if name == "System" else f"{frameworks}/{name}.framework/{name}"
        return ctypes.CDLL(path)

    return Table(SIGNATURES, load)


class Core:
    """Values of Core Foundation. A value of another type than expected is None: to ask it would end the process."""

    def __init__(self, find: Table) -> None:
        self._find = find
        self._keys: dict[str, int] = {}
        """Strings made once for each name that is looked up, and kept."""

    def _is(self, ref: int | None, kind: str) -> bool:
        call = self._find
        return bool(ref) and (call("CoreFoundation.CFGetTypeID")(ref) == call(f"CoreFoundation.CF{kind}GetTypeID")())

    def key(self, name: str) -> int:
        """A string of Core Foundation; not to be released."""
        if name not in self._keys:
            self._keys[name] = self._find("CoreFoundation.CFStringCreateWithCString")(None, name.encode(), UTF8)
        return self._keys[name]

    @contextlib.contextmanager
    def owned(self, ref: int | None) -> Iterator[int | None]:
        """What a function called Create or Copy returned: released afterwards."""
        try:
            yield ref
        finally:
            if ref:
                self._find("CoreFoundation.CFRelease")(ref)

    def get(self, dictionary: int | None, name: str) -> int | None:
        """The value of a key; it lives as long as the dictionary."""
        if not self._is(dictionary, "Dictionary"):
            return None
        value: int | None = self._find("CoreFoundation.CFDictionaryGetValue")(dictionary, self.key(name))
        return value

    def items(self, array: int | None) -> Iterator[int]:
        """The values of an array."""
        if self._is(array, "Array"):
            for index in range(self._find("CoreFoundation.CFArrayGetCount")(array)):
                yield self._find("CoreFoundation.CFArrayGetValueAtIndex")(array, index)

    def number(self, ref: int | None) -> float | None:
        value = ctypes.c_double()
        if not self._is(ref, "Number"):
            return None
        if not self._find("CoreFoundation.CFNumberGetValue")(ref, FLOAT64, ctypes.byref(value)) and not value.value:
            return None  # false also where it was rounded
        return value.value

    def flag(self, ref: int | None) -> bool | None:
        if self._is(ref, "Boolean"):
            return bool(self._find("CoreFoundation.CFBooleanGetValue")(ref))
        number = self.number(ref)
        return None if number is None else bool(number)

    def text(self, ref: int | None) -> str:
        buffer = ctypes.create_string_buffer(NAME_BYTES)
        if not self._is(ref, "String"):
            return ""
        ok = self._find("CoreFoundation.CFStringGetCString")(ref, buffer, NAME_BYTES, UTF8)
        return buffer.value.decode("utf8", "replace") if ok else ""
