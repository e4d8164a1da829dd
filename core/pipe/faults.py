"""How errors travel over the pipe, and those of the pipe itself."""

import msgspec

from core.contracts.control import ErrorInfo
from core.contracts.errors import CallTimeout, HearthError, ProtocolError, RemoteFault
from core.contracts.notices import Notice
from core.pipe.frames import Data


class Fault(msgspec.Struct, frozen=True, array_like=True):
    """Why a call failed."""

    code: str
    """Of the error (`core.contracts.errors`)."""
    said: Notice
    remote: bool = False
    """It is a `RemoteFault`: a peer that sends any code it likes does not choose which error is raised here."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Fault).decode


def encode_error(error: HearthError) -> bytes:
    """An error as it travels."""
    if isinstance(error, RemoteFault):
        return _encode(Fault(error.fault, error.notice, remote=True))
    return _encode(Fault(error.code, error.notice))


def decode_error(body: Data) -> HearthError:
    """The error that has travelled."""
    fault = _decode(body)
    return RemoteFault(fault.code, fault.said) if fault.remote else ErrorInfo(fault.code, fault.said).error()


def late(seconds: float) -> CallTimeout:
    """Why a call failed that nobody answered for so long."""
    return CallTimeout(f"There was no answer within {seconds:.1f} s.")


def unknown(error: Exception) -> ProtocolError:
    """What `UNREADABLE` means for the pipe."""
    return ProtocolError(f"The pipe carried something unknown: {error}.")
