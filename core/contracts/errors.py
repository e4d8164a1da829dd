"""The one exception root. Every message says what happened and what to do about it."""

from core.contracts.notices import Notice, plain


class HearthError(Exception):
    """Something the user can be told: a notice, or a technical text that has no translation.

    `code` travels over the control socket, `exit_code` is the command line's.
    """

    code = "error"
    exit_code = 1

    @property
    def notice(self) -> Notice:
        said = self.args[0] if self.args else ""
        return said if isinstance(said, Notice) else plain(str(said))


class SettingsError(HearthError):
    """A setting has no such name, or a value that is out of its range."""

    code = "settings"
    exit_code = 2


class ManifestError(HearthError):
    """A run's manifest is unknown, unreadable or holds impossible values."""

    code = "manifest"
    exit_code = 2


class NotRunning(HearthError):
    """No worker serves this data folder."""

    code = "not_running"
    exit_code = 3


class NoAnswer(NotRunning):
    """The worker that serves this data folder hangs."""


class AlreadyRunning(HearthError):
    """Another instance owns this data folder."""

    code = "already_running"
    exit_code = 4


class DataFolderError(HearthError):
    """The data folder cannot be created, read or written."""

    code = "data_folder"
    exit_code = 5


class PortInUse(HearthError):
    """The control port of the settings, or the port for peers, belongs to another program."""

    code = "port_in_use"
    exit_code = 6


class ProtocolError(HearthError):
    """The other side of a socket or pipe sent something that is not in the contract."""

    code = "protocol"
    exit_code = 7


class PictureError(HearthError):
    """A picture could not be read, or holds nothing to recognise."""

    code = "picture"
    exit_code = 8


class ComputeError(HearthError):
    """The compute process could not answer."""

    code = "compute"
    exit_code = 9


class CheckpointError(HearthError):
    """A checkpoint is damaged or could not be written."""

    code = "checkpoint"
    exit_code = 10


class IdentityError(HearthError):
    """The key of the data folder cannot be used, or a peer's name or recovery words are not valid."""

    code = "identity"
    exit_code = 11


class NetworkError(HearthError):
    """The network could not do what was asked."""

    code = "network"
    exit_code = 12


class PeerUnreachable(NetworkError):
    """There is no connection to the peer and none could be made, or it broke during the call."""

    code = "unreachable"
    exit_code = 13


class CallTimeout(NetworkError):
    """The peer did not answer within the deadline."""

    code = "timeout"
    exit_code = 14


class CallRefused(NetworkError):
    """The peer, or this PC itself, declined the call: too busy, over a limit, unknown method or wrong types."""

    code = "refused"
    exit_code = 15


class RemoteFault(NetworkError):
    """The peer tried and failed; `fault` is the code of its error."""

    code = "remote"
    exit_code = 16

    def __init__(self, fault: str, message: str | Notice = "") -> None:
        super().__init__(message or fault)
        self.fault = fault


class RecordError(NetworkError):
    """A record of the DHT is malformed, forged, too large or of another time; `verdict` says which."""

    code = "record"
    exit_code = 17

    def __init__(self, verdict: int, message: str | Notice) -> None:
        super().__init__(message)
        self.verdict = verdict


class DataError(HearthError):
    """A part of a run's data is missing here, or is not what its hash says."""

    code = "data"
    exit_code = 18


class QuestionError(HearthError):
    """The run's model is not one that answers such a question, or the question itself cannot be answered."""

    code = "question"
    exit_code = 19


class RunError(HearthError):
    """This PC has not joined such a run, or it cannot be left."""

    code = "run"
    exit_code = 21


class DeviceError(HearthError):
    """A graphics processor cannot be used, or not any more."""

    code = "device"
    exit_code = 20


def _with_subclasses(error: type[HearthError]) -> list[type[HearthError]]:
    return [error, *(leaf for child in error.__subclasses__() for leaf in _with_subclasses(child))]


ERRORS_BY_CODE: dict[str, type[HearthError]] = {error.code: error for error in _with_subclasses(HearthError)}
