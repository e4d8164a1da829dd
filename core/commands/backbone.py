"""`hearth backbone`: a peer on a small server that keeps a run together and does not compute."""

import argparse
import re
from urllib.parse import urlsplit

from core.contracts.errors import SettingsError
from core.contracts.manifest import is_broker
from core.contracts.notices import notice
from core.control.start import run_worker
from core.store.data_folder import data_folder
from core.worker.network_options import parse_options
from core.worker.places import BackboneOptions

SOCKET = re.compile(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}")


def backbone(options: argparse.Namespace) -> int:
    """Serve until it is asked to end."""
    network = parse_options(options.listen, options.bootstrap, "backbone")
    return run_worker(data_folder(options.data_dir), options.run, network._replace(backbone=_asked(options)))


def _asked(options: argparse.Namespace) -> BackboneOptions:
    """What it does beside being a peer.

    Raises:
        SettingsError: what was given is no address, or does not go together.
    """
    broker, tls = options.broker, (options.certificate, options.key)
    if broker is None and (options.mosquitto or options.broker_listen or any(tls)):
        raise SettingsError(notice("backbone.no_broker"))
    if broker is not None and not is_broker(broker):
        raise SettingsError(notice("backbone.bad_broker", broker=broker))
    for address in filter(None, (options.broker_listen, options.metrics)):
        if not SOCKET.fullmatch(address):
            raise SettingsError(notice("backbone.bad_address", address=address))
    is_tls = broker is not None and broker.startswith("mqtts:")
    if is_tls != all(tls) or is_tls != any(tls):
        raise SettingsError(notice("backbone.certificate"))
    listen = options.broker_listen or (f"0.0.0.0:{urlsplit(broker).port}" if broker else "")
    files = (str(tls[0].absolute()), str(tls[1].absolute())) if is_tls else None
    board = options.board.absolute() if options.board else None
    return BackboneOptions(broker, listen, options.mosquitto, files, options.metrics, board)
