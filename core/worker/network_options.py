"""What the command line says about the network."""

from collections.abc import Sequence

from core.contracts.errors import IdentityError, SettingsError
from core.contracts.net import ANYWHERE, PeerAddress
from core.contracts.notices import notice
from core.net.addresses import check_socket, parse_address
from core.worker.places import NetworkOptions

ROLES = frozenset({"host", "train", "backbone"})


def parse_options(listen: str | None, bootstrap: Sequence[str], roles: str | None) -> NetworkOptions:
    """The command line's words.

    Raises:
        SettingsError: an unknown role, no address, or no peer's name.
    """
    chosen = frozenset(roles.split(",")) if roles else NetworkOptions().roles
    if chosen - ROLES:
        raise SettingsError(notice("network.no_role", names=sorted(chosen - ROLES), roles=sorted(ROLES)))
    try:
        if listen:
            check_socket(listen)
    except SettingsError as error:
        raise SettingsError(notice("network.bad_listen", why=error.notice)) from None
    return NetworkOptions((listen,) if listen else ANYWHERE, tuple(map(_bootstrap, bootstrap)), chosen)


def _bootstrap(text: str) -> PeerAddress:
    try:
        address = parse_address(text)
        for socket in address.addresses:
            check_socket(socket)
    except (IdentityError, SettingsError) as error:
        raise SettingsError(notice("network.bad_bootstrap", why=error.notice)) from None
    return address
