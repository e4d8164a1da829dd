"""The one exception root. Every message says what happened and what to do about it."""

import msgspec

from core.contracts.notices import Notice, plain

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not what they should be."""


class HearthError(Exception):
    """Something the user can be told: a notice, or a technical text that has no translation.

    `code` travels over the control socket, `exit_code` is the command line's.
    """

    code, exit_code = "error", 1

    def __init_subclass__(cls, code: str = "", exit_code: int = 0) -> None:
        """A kind of error; one that names no codes has those of its base."""
        cls.code, cls.exit_code = code or cls.code, exit_code or cls.exit_code

    @property
    def notice(self) -> Notice:
        said = self.args[0] if self.args else ""
        return said if isinstance(said, Notice) else plain(str(said))


class SettingsError(HearthError, code="settings", exit_code=2):
    """A setting has no such name, or a value that is out of its range."""


class ManifestError(HearthError, code="manifest", exit_code=2):
    """A run's manifest is unknown, unreadable or holds impossible values."""


class NotRunning(HearthError, code="not_running", exit_code=3):
    """No worker serves this data folder."""


class NoAnswer(NotRunning):
    """The worker that serves this data folder hangs."""


class AlreadyRunning(HearthError, code="already_running", exit_code=4):
    """Another instance owns this data folder."""


class DataFolderError(HearthError, code="data_folder", exit_code=5):
    """The data folder cannot be created, read or written."""


class PortInUse(HearthError, code="port_in_use", exit_code=6):
    """The control port of the settings, or the port for peers, belongs to another program."""


class ProtocolError(HearthError, code="protocol", exit_code=7):
    """The other side of a socket or pipe sent something that is not in the contract."""


class PictureError(HearthError, code="picture", exit_code=8):
    """A picture could not be read, or holds nothing to recognise."""


class ComputeError(HearthError, code="compute", exit_code=9):
    """The compute process could not answer."""


class CheckpointError(HearthError, code="checkpoint", exit_code=10):
    """A checkpoint is damaged or could not be written."""


class IdentityError(HearthError, code="identity", exit_code=11):
    """The key of the data folder cannot be used, or a peer's name or recovery words are not valid."""


class NetworkError(HearthError, code="network", exit_code=12):
    """The network could not do what was asked."""


class PeerUnreachable(NetworkError, code="unreachable", exit_code=13):
    """There is no connection to the peer and none could be made, or it broke during the call."""


class CallTimeout(NetworkError, code="timeout", exit_code=14):
    """The peer did not answer within the deadline."""


class CallRefused(NetworkError, code="refused", exit_code=15):
    """The peer, or this PC itself, declined the call: too busy, over a limit, unknown method or wrong types."""


class NotServed(CallRefused, code="not_served", exit_code=15):
    """The peer knows no such call: it takes no part in the run that the call is of, or its version is another one."""


class RemoteFault(NetworkError, code="remote", exit_code=16):
    """The peer tried and failed; `fault` is the code of its error."""

    def __init__(self, fault: str, message: str | Notice = "") -> None:
        super().__init__(message or fault)
        self.fault = fault


class AllowanceSpent(NetworkError, code="spent"):
    """A peer has asked the model as much as its work for the run allows for now."""


class RecordError(NetworkError, code="record", exit_code=17):
    """A record of the DHT is malformed, forged, too large or of another time; `verdict` says which."""

    def __init__(self, verdict: int, message: str | Notice) -> None:
        super().__init__(message)
        self.verdict = verdict


class RoundVoid(NetworkError, code="round_void"):
    """A round has no result here: for all, or this peer is behind. What was to be averaged is as it was."""

    spoilt_by: frozenset[bytes] = frozenset()
    """Members that did not go on, as far as this peer has seen that itself."""


class DataError(HearthError, code="data", exit_code=18):
    """A part of a run's data is missing here, or is not what its hash says."""


class QuestionError(HearthError, code="question", exit_code=19):
    """The run's model is not one that answers such a question, or the question itself cannot be answered."""


class RunError(HearthError, code="run", exit_code=21):
    """This PC has not joined such a run, or it cannot be left."""


class DeviceError(HearthError, code="device", exit_code=20):
    """A graphics processor cannot be used, or not any more."""


class CreditError(HearthError, code="credit", exit_code=22):
    """What is said of credit is not true, not signed, or not of this time."""


class AccessError(HearthError, code="access", exit_code=23):
    """A token or a list of the revoked is not the organiser's, of another run, peer or time, or lets nobody in."""


class UpdateError(HearthError, code="update", exit_code=24):
    """There is no other version to be had, or none that may be installed; what runs is as it was."""


def _with_subclasses(error: type[HearthError]) -> list[type[HearthError]]:
    return [error, *(leaf for child in error.__subclasses__() for leaf in _with_subclasses(child))]


ERRORS_BY_CODE: dict[str, type[HearthError]] = {error.code: error for error in _with_subclasses(HearthError)}
