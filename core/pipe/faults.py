"""How errors travel over the pipe, and those of the pipe itself."""

import msgspec

from core.contracts.errors import ERRORS_BY_CODE, CallTimeout, HearthError, ProtocolError, RemoteFault
from core.contracts.notices import Notice
from core.pipe.frames import Data

UNKNOWN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for something that is not in the contract."""


class Fault(msgspec.Struct, frozen=True, array_like=True):
    """Why a call failed."""

    code: str
    """Of the error (`core.contracts.errors`)."""
    said: Notice


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Fault).decode


def encode_error(error: HearthError) -> bytes:
    """An error as it travels."""
    return _encode(Fault(error.fault if isinstance(error, RemoteFault) else error.code, error.notice))


def decode_error(body: Data) -> HearthError:
    """The error that has travelled."""
    fault = _decode(body)
    kind = ERRORS_BY_CODE.get(fault.code, RemoteFault)
    return RemoteFault(fault.code, fault.said) if kind is RemoteFault else kind(fault.said)


def late(seconds: float) -> CallTimeout:
    """Why a call failed that nobody answered for so long."""
    return CallTimeout(f"There was no answer within {seconds:.1f} s.")


def unknown(error: Exception) -> ProtocolError:
    """What `UNKNOWN` means for the pipe."""
    return ProtocolError(f"The pipe carried something unknown: {error}.")
