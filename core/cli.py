"""The command line. Imports are inside the commands: `hearth pause` must not wait for what it does not need."""

import argparse
import contextlib
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from core.errors import DataFolderError, HearthError, PictureError, QuestionError
from core.settings_file import data_folder, data_path

if TYPE_CHECKING:
    from rich.console import RenderableType

    from core.control.client import ControlClient
    from core.control.messages import Status

CONSENT = (
    "By starting this worker you agree that this PC computes for its run and, if it joins peers, sends them tensors "
    "and its address. This is noted in the data folder. The app asks before it starts anything."
)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
PICTURE_BYTES = 20 << 20
"""A larger file is no picture of a digit."""
PICTURE_PIXELS = 50_000_000


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0][:2].lower() in ("/s", "/p", "/c"):  # Windows calls its screensavers like this
        arguments = ["screensaver", *arguments]
    if arguments[:1] == ["compute"]:  # not for people: the worker starts it
        from core.compute.process import main as compute

        return compute()
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options) or 0)
    except HearthError as error:
        print(f"hearth: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `hearth log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hearth",
        description="Lends this PC to the training of a large neural network. Without a command: the app.",
        epilog="Exit codes: 0 done, 1 error, 2 wrong use or settings, 3 no worker runs, 4 already running, "
        "5 data folder, 6 port in use, 7 protocol, 8 picture, 9 compute, 10 checkpoint, 11 identity, 12 network, "
        "13 peer unreachable, 14 peer too late, 15 peer refused, 16 peer failed, 17 record, 18 data, 19 question.",
    )
    parser.set_defaults(command=_app)
    common = _Parser(add_help=False)
    common.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="folder of all of Hearth's data")
    parser.add_argument("--data-dir", type=Path, default=None, help="folder of all of Hearth's data")
    parser.add_argument("--in-tray", action="store_true", help="start the app without opening its window")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and end")

    def add(name: str, command: Any, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, parents=[common])
        sub.set_defaults(command=command)
        return sub

    worker = add("worker", _worker, "Run the worker alone, without the app.")
    worker.add_argument("--run", help="name of the run to train, or path of its manifest (.json)")
    worker.add_argument("--listen", metavar="ADDR", help="join peers; address and port for them, such as 0.0.0.0:4401")
    worker.add_argument(
        "--bootstrap", metavar="PEER[@ADDR]", action="append", default=[], help="join the network of this peer"
    )
    worker.add_argument("--role", metavar="ROLES", help="join peers as host,train,backbone or some of these")
    worker.add_argument("--join", action="store_true", help="join peers as the app does, unless the settings say no")
    status = add("status", _status, "Show what the worker does and why.")
    status.add_argument("--json", action="store_true", help="all figures as one JSON document")
    why = add("why", _why, "Show why this PC is or is not computing: every rule with its live value.")
    why.add_argument("--json", action="store_true", help="the same as one JSON document")
    devices = add("devices", _devices, "Show the processor and graphics processors: on or off, use, heat, power.")
    devices.add_argument("--json", action="store_true", help="the same as one JSON document")
    stats = add("stats", _stats, "Show what this PC contributed: today, in 7 days, ever; by run and by device.")
    stats.add_argument("--json", action="store_true", help="the same as one JSON document")
    benchmark = add("benchmark", _benchmark, "Show how fast this PC is, as measured at the first start.")
    benchmark.add_argument("--again", action="store_true", help="measure anew, as soon as this PC may compute")
    benchmark.add_argument("--json", action="store_true", help="the same as one JSON document")
    pause = add("pause", _pause, "Stop computing at once.")
    how = pause.add_mutually_exclusive_group()
    how.add_argument("--for", dest="seconds", type=_pause_duration, metavar="TIME", help="such as 30s, 15m, 1h or 2d")
    how.add_argument("--gpu", action="store_true", help="only the graphics processors, until you resume")
    start = add("start", _start, "Compute now, although you are here, it is not the time or other programs are busy.")
    start.add_argument(
        "--for", dest="seconds", type=_start_duration, default=3600.0, metavar="TIME", help="such as 30m or 2h (1h)"
    )
    add("resume", _resume, "Go on after a pause.")
    add("quit", _quit, "Save and end the worker and the app.")
    predict = add("predict", _predict, "Ask the model which digit a PNG shows.")
    predict.add_argument("file", type=Path, metavar="FILE.png")
    predict.add_argument("--json", action="store_true", help="the whole answer as one JSON document")
    generate = add("generate", _generate, "Let the model go on with a text.")
    generate.add_argument("prompt", metavar="TEXT", help="how the text begins")
    generate.add_argument("--length", type=int, default=200, help="bytes to add (200)")
    generate.add_argument("--temperature", type=float, default=0.7, help="0 always takes the likeliest byte (0.7)")
    generate.add_argument("--seed", type=int, help="the same one gives the same text while the model stays as it is")
    generate.add_argument("--json", action="store_true", help="a JSON document a byte, with the experts that answered")
    peers = add("peers", _peers, "Show this peer, how it is reached, and those it is connected to.")
    peers.add_argument("--json", action="store_true", help="all figures as one JSON document")
    add("address", _address, "Print what another PC needs to reach this one (--bootstrap).")
    add("doctor", _doctor, "Check what a peer needs: port, outside address, NAT, other peers, clock, disk.")
    dht = add("dht", _dht, "Look into the distributed hash table.")
    dht.add_argument("what", choices=["get", "stats"])
    dht.add_argument("key", nargs="?", help="for get: such as digits.0.1.3, or the prefix digits.0.1.")
    identity = add("identity", _identity, "Back up or restore the key that names this PC.")
    identity.add_argument("what", choices=["show", "export", "import"])
    about = "Show the experts at work on all screens, or in another program's window."
    screensaver = commands.add_parser("screensaver", help=about, add_help=False, prefix_chars="\0")
    screensaver.add_argument("words", nargs="*")  # desktops call theirs in ways of their own: it reads them itself
    screensaver.set_defaults(command=_screensaver)
    log = add("log", _log, "Show the worker's log.")
    log.add_argument("-n", dest="lines", type=int, default=50, help="how many lines (50)")
    log.add_argument("-f", "--follow", action="store_true", help="go on as lines are written; end with Ctrl+C")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """What begins with a minus is taken for an option, so that the one before it has no value."""
        super().error(message.replace("expected one argument", "a value must follow, and must not begin with a minus"))


class _Version(argparse.Action):
    """Looks the version up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"hearth {version('hearth')}")
        parser.exit()


def _pause_duration(text: str) -> float:
    from core.control.messages import PAUSE_S

    return _duration(text, PAUSE_S)


def _start_duration(text: str) -> float:
    from core.control.messages import START_NOW_S

    return _duration(text, START_NOW_S)


def _duration(text: str, longest: float) -> float:
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= longest:
        most = f"of at most {longest / 86_400:.0f}d"
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 30s, 15m or 1h, {most}")
    return seconds


def _app(options: argparse.Namespace) -> int:
    if sys.platform == "linux" and not _has_display():
        print("There is no display: the worker runs in this terminal. Ctrl+C saves and ends it.", file=sys.stderr)
        options.run = options.listen = options.role = None
        options.bootstrap, options.join = [], True
        return _worker(options)
    _run("app", options, ["--in-tray"] if options.in_tray else [])
    return 0


def _screensaver(options: argparse.Namespace) -> int:
    if sys.platform == "linux" and not _has_display():
        print("hearth: There is no display that a screensaver could be shown on.", file=sys.stderr)
        return 1
    _run("app.screensaver", options, options.words)
    return 0


def _run(package: str, options: argparse.Namespace, words: list[str]) -> None:
    """The app is a program of its own that knows the core; the core does not know the app. It ends this process."""
    import runpy

    folder = [] if options.data_dir is None else ["--data-dir", str(options.data_dir)]
    sys.argv = ["hearth", *folder, *words]
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def _has_display() -> bool:
    """Whether a window can be shown; a DISPLAY left over from another session cannot (Qt would abort)."""
    if os.environ.get("WAYLAND_DISPLAY"):
        return True
    if not os.environ.get("DISPLAY"):
        return False
    from Xlib import display, error

    try:
        display.Display().close()
    except (error.DisplayError, error.XauthError, OSError) as failure:
        print(f"The display {os.environ['DISPLAY']} cannot be used: {failure}", file=sys.stderr)
        return False
    return True


def _worker(options: argparse.Namespace) -> int:
    from core.control.start import run_worker

    network = None
    if options.listen or options.bootstrap or options.role:
        from core.worker.network import parse_options

        network = parse_options(options.listen, options.bootstrap, options.role)
    folder = data_folder(options.data_dir)
    _consent(folder)
    return run_worker(folder, options.run, network, options.join)


def _consent(folder: Path) -> None:
    """Who starts a worker here by hand agrees to what it does, and is told so once."""
    from core import consent

    if consent.read(folder) is None:
        print(CONSENT, file=sys.stderr)
        with contextlib.suppress(DataFolderError):  # the worker itself tells that the disk is full
            consent.give(folder, "command line")


def _client(options: argparse.Namespace) -> "ControlClient":
    from core.control.client import ControlClient

    return ControlClient(data_path(options.data_dir))


def _status(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.messages import Status

    with _client(options) as client:
        status = client.call("status", {}, Status)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(status)).decode())
    else:
        print(describe(status))


def _devices(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.devices import describe
    from core.control.messages import Status

    with _client(options) as client:
        status = client.call("status", {}, Status)
    answer = {"devices": status.devices, "energy": status.energy}
    print(msgspec.json.format(msgspec.json.encode(answer)).decode() if options.json else describe(status))


def _stats(options: argparse.Namespace) -> None:
    """Works also while no worker runs."""
    import msgspec

    from core.control.stats import table, totals

    answer = totals(data_path(options.data_dir))
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
    else:
        _print(table(answer))


def _benchmark(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.benchmark import ask, describe

    with _client(options) as client:
        answer, note = ask(client, options.again)
    print(msgspec.json.format(msgspec.json.encode(answer)).decode() if options.json else describe(answer, note))
    if options.json and note:
        print(note, file=sys.stderr)


def _why(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.messages import Status
    from core.control.why import panel, why

    with _client(options) as client:
        answer = why(client.call("status", {}, Status))
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
        return
    _print(panel(answer))


def _print(shown: "RenderableType") -> None:
    from rich.console import Console

    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(shown)


def describe(status: "Status") -> str:
    """A status in words."""
    unit, unseen = (
        ("samples", "unseen samples") if status.asks == "picture" else ("bytes", "the next byte of unseen text")
    )
    accuracy = "not measured yet" if status.accuracy is None else f"{status.accuracy:.1%} on {unseen}"
    loss = "-" if status.loss is None else f"{status.loss:.3f}"
    if status.loss is not None and status.asks == "text":
        loss += f" ({status.loss / math.log(2):.2f} bits a byte)"
    memory = ", ".join(f"{process.name} {process.memory_mb:.0f} MB" for process in status.processes)
    rows = {
        "State": f"{status.state}: {status.reason} {status.until}",
        "Run": f"{status.run} ({status.run_title}), step {status.step:,}, {status.samples:,} {unit}",
        "Speed": f"{status.samples_per_s:,.0f} {unit}/s, {status.calls_per_s:,.0f} expert calls/s on {status.device}",
        "Model": f"accuracy {accuracy}, training loss {loss}",
        "Experts": f"{len(status.experts)} here, {sum(expert.updates for expert in status.experts):,} updates",
        "Memory": memory,
    }
    if status.energy is not None:
        from core.control.devices import energy_line

        rows["Energy"] = energy_line(status.energy)
    lines = [f"{name:8} {text}" for name, text in rows.items()]
    return "\n".join([*lines, *(f"Attention: {text}" for text in status.attention)])


def _pause(options: argparse.Namespace) -> None:
    if options.gpu:
        return _pause_gpu(options)
    with _client(options) as client:
        client.call("pause", {"seconds": options.seconds}, dict)
    if options.seconds is None:
        print("Paused until you resume.")
        return
    from core.policy.words import clock, duration

    now = time.time()
    print(f"Paused for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")


def _pause_gpu(options: argparse.Namespace) -> None:
    from core.control.messages import Status
    from core.control.why import gpu_is_paused

    with _client(options) as client:
        client.call("pause_gpu", {}, dict)
        paused = gpu_is_paused(client.call("status", {}, Status).why)
    print("The GPU is paused until you resume." if paused else "No GPU is used; it would be paused until you resume.")


def _start(options: argparse.Namespace) -> None:
    from core.control.messages import Status
    from core.policy.words import clock, duration

    with _client(options) as client:
        client.call("start_now", {"seconds": options.seconds}, dict)
        status = client.call("status", {}, Status)
    now = time.time()
    print(f"Started for {duration(options.seconds)}, until {clock(now + options.seconds, now)}.")
    if not (status.cpu or status.gpu):
        print(f"It does not compute yet: {status.reason} {status.until}")


def _resume(options: argparse.Namespace) -> None:
    from core.control.messages import Status
    from core.control.why import gpu_is_paused

    with _client(options) as client:
        before = client.call("status", {}, Status)
        client.call("resume", {}, dict)
        now = client.call("status", {}, Status)
    done = "Resumed." if before.state == "paused" or gpu_is_paused(before.why) else "It was not paused."
    print(f"{done} Now {now.state}: {now.reason} {now.until}".rstrip())


def _quit(options: argparse.Namespace) -> None:
    """Returns when the worker has gone, so that scripts can rely on it."""
    import filelock

    from core.control.messages import LOCK_FILE

    with _client(options) as client:
        client.call("quit", {}, dict)
    print("Saving and ending.", flush=True)
    try:
        with filelock.FileLock(data_path(options.data_dir) / LOCK_FILE, timeout=30.0):
            return
    except (filelock.Timeout, OSError):  # OSError: the folder is read-only by now
        print("The worker is still busy; it ends by itself.")


def _predict(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.messages import Prediction

    with _client(options) as client:
        answer = client.call("predict", read_picture(options.file), Prediction, 40.0)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
        return
    digit = max(range(len(answer.probabilities)), key=lambda index: answer.probabilities[index])
    accuracy = "" if answer.accuracy is None else f", {answer.accuracy:.1%} right on unseen digits"
    print(f"Looks like a {digit}, {answer.probabilities[digit]:.1%} sure (step {answer.step:,}{accuracy}).")


def _generate(options: argparse.Namespace) -> None:
    """The text goes to stdout as it comes, what is to be said about it to stderr."""
    import msgspec

    from core.control.messages import Continued, GenerateParams

    begun = False

    def show(piece: dict[str, Any]) -> None:
        nonlocal begun
        prompt, begun = "" if begun else options.prompt, True
        if options.json:
            print(msgspec.json.encode(piece).decode(), flush=True)
        else:
            print(prompt + piece["text"], end="", flush=True)

    limits = {"length": options.length, "temperature": options.temperature, "seed": options.seed}
    try:
        params = msgspec.convert({"prompt": options.prompt, **limits}, GenerateParams)
    except msgspec.ValidationError as error:
        raise QuestionError(f"The model cannot be asked that: {error}.") from error
    with _client(options) as client:
        done = client.call("generate", params, Continued, 40.0, show)
    print("" if options.json else "\n", end="", flush=True)
    unseen = "" if done.bits is None else f", {done.bits:.2f} bits a byte on unseen text"
    about = f"{done.bytes} bytes in {done.seconds:.1f} s, step {done.step:,}{unseen}, --seed {done.seed}"
    print(msgspec.json.encode(done).decode() if options.json else about, file=None if options.json else sys.stderr)


def read_picture(path: Path) -> dict[str, Any]:
    """The parameters of a prediction request for a PNG file: grey, ink 255, at most 256 pixels a side.

    Raises:
        PictureError: missing, too large, or no PNG.
    """
    from PIL import Image, ImageChops, UnidentifiedImageError

    from core.control.messages import PICTURE_SIDE

    Image.MAX_IMAGE_PIXELS = None  # the limit below is told in a sentence, and holds before anything is unpacked
    try:
        if path.stat().st_size > PICTURE_BYTES:
            raise PictureError(f"{path} is larger than {PICTURE_BYTES >> 20} MB: no picture of a digit.")
        with Image.open(path, formats=["PNG"]) as image:
            if image.width * image.height > PICTURE_PIXELS:
                raise PictureError(f"{path} has {image.width} x {image.height} pixels: too many for a digit.")
            paper = Image.new("RGBA", image.size, "white")
            paper.alpha_composite(image.convert("RGBA"))
    except FileNotFoundError:
        raise PictureError(f"There is no file {path}.") from None
    except (UnidentifiedImageError, SyntaxError, ValueError):
        raise PictureError(f"{path} is no PNG picture that can be read.") from None
    except OSError as error:
        raise PictureError(f"{path} cannot be read: {error.strerror or error}.") from None
    grey = paper.convert("L")
    corners = [grey.crop((x, y, x + 1, y + 1)).tobytes()[0] for x in (0, grey.width - 1) for y in (0, grey.height - 1)]
    if sorted(corners)[2] > 127:  # most corners are light: dark ink on light paper
        grey = ImageChops.invert(grey)
    grey.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
    return {"width": grey.width, "height": grey.height, "pixels": grey.tobytes()}


def _peers(options: argparse.Namespace) -> None:
    import msgspec

    from core.control.messages import NetworkParams, NetworkStatus
    from core.policy.words import duration

    with _client(options) as client:
        status = client.call("network", {}, NetworkStatus)
        peers = list(status.peers)
        while len(peers) < status.connected:
            more = client.call("network", NetworkParams(len(peers)), NetworkStatus).peers
            if not more:
                break  # some have gone meanwhile
            peers += more
        status = msgspec.structs.replace(status, peers=peers)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(status)).decode())
        return
    print(f"This PC  {status.peer[:8]}  {status.reachability} ({status.step})  roles {', '.join(status.roles)}")
    for peer in status.peers:
        traffic = f"{peer.bytes_in / 1e6:.1f} MB in, {peer.bytes_out / 1e6:.1f} MB out"
        since = duration(time.time() - peer.since)
        print(f"{peer.peer[:8]}  {peer.path}  {peer.address}  {peer.rtt_ms:.1f} ms  {traffic}  for {since}")
    if not status.peers:
        print("No peer is connected.")


def _address(options: argparse.Namespace) -> None:
    from core.control.messages import NetworkStatus

    with _client(options) as client:
        print(client.call("network", {}, NetworkStatus).address)


def _doctor(options: argparse.Namespace) -> int:
    """Exit code 1 if something should be done."""
    from core.control.messages import Finding

    with _client(options) as client:
        findings = client.call("doctor", {}, list[Finding])
    for finding in findings:
        mark = {True: "ok", False: "LOOK", None: "?"}[finding.good]
        print(f"{mark:4}  {finding.name:16} {finding.what}")
        if not finding.good:
            print(f"      {'':16} {finding.remedy}")
    return int(any(finding.good is False for finding in findings))


def _dht(options: argparse.Namespace) -> None:
    from core.control.messages import DhtRecord, DhtStatus
    from core.errors import SettingsError
    from core.policy.words import counted, duration

    with _client(options) as client:
        if options.what == "stats":
            stats = client.call("dht_stats", {}, DhtStatus)
            print(
                f"{counted(stats.contacts, 'peer')}, {counted(stats.keys, 'key')}, "
                f"{counted(stats.records, 'record')} of {stats.bytes} bytes"
            )
            if stats.experts is not None:
                print(f"{counted(stats.experts, 'expert is', 'experts are')} active in the run")
            offset = round(stats.clock_offset_s, 1)
            clocks = f"{abs(offset):.1f} s {'ahead' if offset > 0 else 'behind'}" if offset else "the same as this PC's"
            print(f"{counted(stats.own, 'record')} of this PC; other clocks are {clocks}")
            return
        if not options.key:
            raise SettingsError("Which key? For example: hearth dht get digits.0.1.3")
        records = client.call("dht_get", {"key": options.key}, list[DhtRecord], 30.0)
        if not records:
            print(f"Nobody has stored {options.key}.")
        for record in records:
            left = duration(max(0.0, record.expires - time.time()))
            print(f"{record.subkey or '-'}  by {record.peer[:8]}  for {left}  {record.value[:80]}")


def _identity(options: argparse.Namespace) -> None:
    from core.identity import Identity, peer_text

    if options.what == "import":
        folder = data_folder(options.data_dir)
        print("Type the 24 recovery words and press Enter:", file=sys.stderr)
        identity = Identity.from_words(sys.stdin.readline())
        kept = identity.replace_in(folder)
        print(f"This PC is now peer {peer_text(identity.peer)}." + (f" The old key is kept as {kept}." if kept else ""))
        return
    if options.what == "export":  # also before the first start of a worker, which makes the key
        identity = Identity.load_or_create(data_folder(options.data_dir))
    else:
        identity = Identity.load(data_path(options.data_dir))
    print(identity.words() if options.what == "export" else peer_text(identity.peer))


def _log(options: argparse.Namespace) -> None:
    from core import logs

    path = data_path(options.data_dir) / logs.FILE
    if not path.exists():
        print(f"There is no log yet in {path}.", file=sys.stderr)
        return
    try:
        file = path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataFolderError(f"The log {path} cannot be read: {error.strerror}.") from error
    with file:
        lines = file.readlines()  # at most logs.FILE_BYTES
        print("".join(lines[-max(0, options.lines) :] if options.lines > 0 else []), end="", flush=True)
        while options.follow:
            if line := file.readline():
                print(line, end="", flush=True)
            elif path.exists() and path.stat().st_size < file.tell():  # rotated
                return _log(argparse.Namespace(data_dir=options.data_dir, lines=options.lines, follow=True))
            else:
                time.sleep(0.25)
