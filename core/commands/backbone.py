"""`hearth backbone`: a peer on a small server that keeps a run together and does not compute."""

import argparse
import functools
import re
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from core.community.broker import EmbeddedBroker
from core.community.mosquitto import Mosquitto
from core.contracts.errors import SettingsError
from core.contracts.notices import notice
from core.contracts.telemetry import Admits, Rights, is_broker
from core.control.start import allow_files, run_worker
from core.store.data_folder import data_folder
from core.worker.metrics import Metrics
from core.worker.network_options import parse_options
from core.worker.places import BackboneOptions, BrokerPlace

SOCKET = re.compile(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}")
Made = Callable[[Mapping[str, Rights], Admits], BrokerPlace]
CONNECTIONS = 1 << 20
"""Files that this process has open if the system lets it: each peer at the broker is one."""
MOSQUITTO = "mosquitto"
"""The folder of its files, in the data folder."""


def backbone(options: argparse.Namespace) -> int:
    """Serve until it is asked to end."""
    network = parse_options(options.listen, options.bootstrap, "backbone")
    folder = data_folder(options.data_dir)
    for address in filter(None, (options.broker_listen, options.metrics)):
        if not SOCKET.fullmatch(address):
            raise SettingsError(notice("backbone.bad_address", address=address))
    metrics = functools.partial(Metrics, address=options.metrics) if options.metrics else None
    board = options.board.absolute() if options.board else None
    allow_files(CONNECTIONS)
    asked = BackboneOptions(_broker(options, folder), metrics, board)
    return run_worker(folder, options.run, network._replace(backbone=asked))


def _certificate(certificate: Path, key: Path) -> tuple[str, str]:
    """The two files, absolute.

    Raises:
        SettingsError: they cannot be used.
    """
    files = str(certificate.absolute()), str(key.absolute())
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(*files)
    except OSError as error:  # also of ssl
        why = error.strerror or str(error)
        raise SettingsError(notice("backbone.bad_certificate", file=files[0], key=files[1], why=why)) from error
    return files


def _broker(options: argparse.Namespace, folder: Path) -> Made | None:
    """The broker that is wanted.

    Raises:
        SettingsError: what was given is no address, or does not go together.
    """
    address, files = options.broker, [options.certificate, options.key]
    if address is None:
        if options.mosquitto or options.broker_listen or any(files):
            raise SettingsError(notice("backbone.no_broker"))
        return None
    if not is_broker(address):
        raise SettingsError(notice("backbone.bad_broker", broker=address))
    is_tls = address.startswith("mqtts:")
    if [is_tls, is_tls] != [file is not None for file in files]:
        raise SettingsError(notice("backbone.certificate"))
    listen = options.broker_listen or f"0.0.0.0:{urlsplit(address).port}"
    tls = _certificate(*files) if is_tls else None
    if options.mosquitto:
        return functools.partial(Mosquitto, listen, frozenset({address}), folder / MOSQUITTO, tls)
    return functools.partial(EmbeddedBroker, listen, frozenset({address}), tls)
