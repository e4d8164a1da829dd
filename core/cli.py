"""The command line. Only the module of the command that was given is imported (`core.commands`): `hearth pause` must
not wait for what it does not need."""

import argparse
import functools
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from core.contracts.build import PACK
from core.contracts.control import PAUSE_S, START_NOW_S
from core.contracts.errors import HearthError
from core.contracts.notices import last_words
from core.logs import printable

PROCESSES = {
    "compute": "core.compute.process",
    "write-model": "core.compute.export",
    "prove": "core.compute.proof",
    "try-pack": "core.compute.smoke_test",
}
"""Not for people: the worker starts the first, `hearth run export` the second, tests of packages the third, and `hearth
pack` the last."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = _of_a_screensaver(sys.argv[1:] if arguments is None else arguments, sys.executable)
    if arguments and arguments[0] in PROCESSES:
        if pack := os.environ.get(PACK):
            sys.path.insert(0, pack)
        return int(importlib.import_module(PROCESSES[arguments[0]]).main())
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    options = command_parser().parse_args(arguments)
    try:
        module, _, function = options.command.partition(".")
        return int(getattr(importlib.import_module(f"core.commands.{module}"), function)(options) or 0)
    except HearthError as error:
        print(printable(last_words(error.notice, os.environ)), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `hearth log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _of_a_screensaver(arguments: list[str], executable: str) -> list[str]:
    """What Windows gives its screensavers, as a command; where its menu says Configure, that is nothing at all."""
    if executable.lower().endswith(".scr") and not arguments:
        arguments = ["/c"]
    return ["screensaver", *arguments] if arguments and arguments[0][:2].lower() in ("/s", "/p", "/c") else arguments


def command_parser() -> argparse.ArgumentParser:
    """All commands, for `main` and for what packages make of them: the man page and completions."""
    parser = _Parser(
        prog="hearth",
        description="Shares this PC's idle time with the training of a large neural network. Without a command: the "
        "app.",
        epilog="Exit codes: 0 done, 1 error, 2 wrong use or settings, 3 no worker runs, 4 already running, "
        "5 data folder, 6 port in use, 7 protocol, 8 picture, 9 compute, 10 checkpoint, 11 identity, 12 network, "
        "13 peer unreachable, 14 peer too late, 15 peer refused, 16 peer failed, 17 record, 18 data, 19 question, "
        "20 device, 21 run, 22 credit, 23 access, 24 update.",
    )
    parser.set_defaults(command="running.app", link="")
    common = _Parser(add_help=False)
    common.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="folder of all of Hearth's data")
    parser.add_argument("--data-dir", type=Path, default=None, help="folder of all of Hearth's data")
    parser.add_argument("--in-tray", action="store_true", help="start the app without opening its window")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and end")

    def add(name: str, command: str, help: str, json: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, parents=[common])
        sub.set_defaults(command=command)
        if json:
            sub.add_argument("--json", action="store_true", help=json)
        return sub

    _add_worker(add)
    _add_backbone(add)
    _add_credit(add)
    _add_data(add)
    _add_questions(add)
    about = "Show the experts at work on all screens, or in another program's window."
    screensaver = commands.add_parser("screensaver", help=about, add_help=False, prefix_chars="\0")
    screensaver.add_argument("words", nargs="*")  # desktops call theirs in ways of their own: it reads them itself
    screensaver.set_defaults(command="running.screensaver")
    opening = add("open", "running.app", "Start the app and show the run of a link: it asks whether to join it.")
    opening.add_argument("link", metavar="LINK", help="as `hearth run link` prints it")
    add("version", "version.show", "Show version, commit and hash of this Hearth.", "the same as one JSON document")
    log = add("log", "report.log", "Show the worker's log.")
    log.add_argument("-n", dest="lines", type=int, default=50, help="how many lines (50)")
    log.add_argument("-f", "--follow", action="store_true", help="show new lines as they are written; Ctrl+C ends it")
    return parser


def _add_worker(add: Callable[..., argparse.ArgumentParser]) -> None:
    worker = add("worker", "running.worker", "Run the worker alone, without the app.")
    worker.add_argument("--run", help="name of the run to train, or path of its manifest (.toml, .json)")
    worker.add_argument("--listen", metavar="ADDR", help="join peers; address and port for them, such as 0.0.0.0:4401")
    worker.add_argument(
        "--bootstrap", metavar="PEER[@ADDR]", action="append", default=[], help="join the network of this peer"
    )
    worker.add_argument("--role", metavar="ROLES", help="join peers as host,train,backbone or some of these")
    worker.add_argument("--join", action="store_true", help="join peers as the app does, unless the settings say no")
    same = "the same as one JSON document"
    add("status", "report.status", "Show what the worker does and why.", "all figures as one JSON document")
    add("why", "why.show", "Show why this PC is or is not computing: every rule with its live value.", same)
    add("devices", "devices.show", "Show the CPU and the GPUs: on or off, use, heat, power.", same)
    add(
        "stats",
        "stats.show",
        "Show what this PC contributed today, in 7 days and in total, by run and by device.",
        same,
    )
    top = add("top", "top.show", "Watch what Home shows on the terminal: state, runs, devices, peers, what was done.")
    top.add_argument("--once", action="store_true", help="print it once, as where no terminal is")
    benchmark = add("benchmark", "benchmark.show", "Show how fast this PC is, as measured at the first start.", same)
    benchmark.add_argument("--again", action="store_true", help="measure again, as soon as this PC may compute")
    benchmark.add_argument("--run", help="the run's name or id (the one that is shown first)")
    pause = add("pause", "control.pause", "Stop computing at once.")
    how = pause.add_mutually_exclusive_group()
    pausing = functools.partial(_duration, longest=PAUSE_S)
    how.add_argument("--for", dest="seconds", type=pausing, metavar="TIME", help="such as 30s, 15m, 1h or 2d")
    how.add_argument("--gpu", action="store_true", help="only the GPUs, until you resume")
    start = add(
        "start",
        "control.start",
        "Compute now, even if you are here, or other programs are busy, or it is not the time.",
    )
    starting = functools.partial(_duration, longest=START_NOW_S)
    start.add_argument(
        "--for", dest="seconds", type=starting, default=3600.0, metavar="TIME", help="such as 30m or 2h (1h)"
    )
    start.add_argument("--end", action="store_true", help="end it early: all rules hold again")
    add("resume", "control.resume", "Resume after a pause.")
    chosen = add("settings", "settings.settings", "List the settings, show one, or change it.", "all as JSON")
    chosen.add_argument("name", nargs="?", metavar="NAME", help="of a setting, as the list has it")
    chosen.add_argument("value", nargs="?", metavar="VALUE", help="what it is to be from now on")
    add("quit", "control.quit", "Save and end the worker and the app.")
    _add_run(add)
    _add_access(add)


def _add_backbone(add: Callable[..., argparse.ArgumentParser]) -> None:
    about = "Keep a run together on a small server, without computing: peers join through it, and it keeps their files."
    backbone = add("backbone", "backbone.backbone", about)
    backbone.add_argument("--run", help="name of a run, or path of its manifest (.toml, .json)")
    backbone.add_argument("--listen", metavar="ADDR", help="address and port for peers, such as 0.0.0.0:4401")
    backbone.add_argument(
        "--bootstrap", metavar="PEER[@ADDR]", action="append", default=[], help="join the network of this peer"
    )
    address = "be a broker as well; its address as in the manifest, such as mqtt://example.org:1883"
    backbone.add_argument("--broker", metavar="URL", help=address)
    backbone.add_argument("--broker-listen", metavar="ADDR", help="where it listens (everywhere, at that port)")
    backbone.add_argument("--mosquitto", action="store_true", help="the broker is Mosquitto, which is installed here")
    backbone.add_argument("--certificate", type=Path, metavar="FILE", help="of the broker, for mqtts; PEM")
    backbone.add_argument("--key", type=Path, metavar="FILE", help="of the certificate; PEM")
    backbone.add_argument("--metrics", metavar="ADDR", help="figures for Prometheus, such as 127.0.0.1:9402")
    backbone.add_argument("--board", type=Path, metavar="FOLDER", help="a page of what peers computed: index.html")


def _add_run(add: Callable[..., argparse.ArgumentParser]) -> None:
    about = "Show, join, leave, make, organise and export runs, and say how much of this PC each gets."
    verbs = add("run", "runs.run", about).add_subparsers(title="what", dest="what", metavar="WHAT", required=True)

    def verb(
        name: str, about: str, named: str = "", json: bool = False, metavar: str = "RUN"
    ) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=about, description=about)
        sub.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="folder of all of Hearth's data")
        if named:
            sub.add_argument("run", nargs="?", metavar=metavar, help=named)
        if json:
            sub.add_argument("--json", action="store_true", help="what is shown as one JSON document")
        return sub

    here, signing = "the run's name or id", "the path of a manifest (.toml, .json)"
    any_run = f"{here}, {signing}, or a link"
    verb("list", "List the runs that this PC works on at once.", json=True)
    status = verb("status", "Say how a run stands: samples, loss, speed, experts, PCs, the end.", here, json=True)
    status.add_argument("--html", type=Path, metavar="FILE", help="write it as a page, too")
    verb("show", "Show who organises a run, what it learns, on which data, what it needs and takes.", any_run, True)
    join = verb("join", "Show what a run is, ask, and join it; the others continue.", any_run)
    join.add_argument("weight", nargs="?", type=_weight, help="how much it gets, beside the others' weights (1)")
    join.add_argument("--yes", action="store_true", help="without asking")
    left = "Leave a run; what was trained is kept. "
    leave = verb("leave", left.strip(), here)
    leave.description = (
        f"{left}If it was the run chosen in the settings, another one is chosen there; the only run cannot be left: "
        "join another one first."
    )
    weight = verb("weight", "Say how much of this PC's time and memory a run gets, beside the others' weights.", here)
    weight.add_argument("weight", nargs="?", type=_weight, help="1 to 1,000")
    verb("link", "Print the link to a signed run that this PC has joined.", here)
    about = "Look at data; write their shards and a manifest that proposes a run on them."
    _add_new(verb("new", about, "where the data are", metavar="FOLDER"))
    about = "Say all that is wrong with a manifest, where, and what to write instead."
    verb("check", about, signing, metavar="FILE")
    about = "Write the signed form of a manifest, with the key of this data folder."
    sign = verb("sign", about, signing, metavar="FILE")
    about = "Sign a manifest, have this PC train it and its peers keep it; print the link."
    publish = verb("publish", about, signing, metavar="FILE")
    for one in (sign, publish):
        one.add_argument("--out", type=Path, metavar="FILE", help="the signed manifest (NAME.signed.json)")
    told = verb("notice", "Tell something to all who have joined a run that this PC's key has signed.", here)
    told.add_argument("--text", metavar="TEXT", help="in one line of at most 1,000 characters")
    export = verb("export", "Write the trained model, for use without Hearth.", here, json=True)
    export.add_argument("--out", type=Path, metavar="FOLDER", help="where to (the run's id)")
    forms, types = ["hf", "gguf", "safetensors"], ["f32", "f16", "q8_0"]
    export.add_argument("--format", choices=forms, help="for which programs (hf of a decoder, else safetensors)")
    export.add_argument("--type", choices=types, help="numbers of a gguf file (f16)")


def _add_new(new: argparse.ArgumentParser) -> None:
    new.set_defaults(command="new_run.new")  # reads pictures, and is slower to load
    new.add_argument("--yes", action="store_true", help="without asking")
    new.add_argument("--out", type=Path, metavar="FILE", help="the manifest (NAME.toml)")
    kinds = ["text", "decoder", "pictures", "vc-asgd"]
    new.add_argument("--template", choices=kinds, help="which kind of run (as the data are: text or pictures)")
    new.add_argument("--name", help="its name (that of the folder)")
    new.add_argument("--title", help="its title (made of the name)")
    new.add_argument("--column", metavar="NAME", help="where .jsonl and .parquet files have their texts (text)")
    new.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json (one learnt from the data)")
    new.add_argument("--licence", help="that of the data, and of the model unless you are asked (unknown)")
    new.add_argument("--volunteers", metavar="N", help="PCs for which it is proposed (4)")


def _add_access(add: Callable[..., argparse.ArgumentParser]) -> None:
    about = 'Let peers take part in a run of yours whose manifest says `access = "tokens"`, or shut them out again.'
    access = add("access", "access.access", about, "the list as one JSON document")
    access.description = (
        f"{about} `grant` prints a link with a token that is of use to that peer alone. Before, whoever wants to "
        "join sends you what `hearth address` prints there. Granted again, the new link renews the token."
    )
    access.add_argument("what", choices=["grant", "revoke", "list"])
    access.add_argument("run", help="the run's name or id, or the path of its signed manifest")
    access.add_argument("who", nargs="?", metavar="PEER", help="as `hearth address` prints it; to revoke, also a name")
    access.add_argument("--name", help="what you call its user, shown to you alone and in the token")
    access.add_argument("--days", type=_days, default=90, metavar="N", help="for which the token holds (90)")


def _add_credit(add: Callable[..., argparse.ArgumentParser]) -> None:
    same = "the same as one JSON document"
    about = "Show what this PC computed for others, and who signed for it."
    credit = add("credit", "credit.credit", about, same)
    credit.description = (
        f"{about} Verified is what the trainer has signed and audited; the rest is pending. A certificate is a file "
        "that anybody can check."
    )
    parts = credit.add_subparsers(title="more", metavar="WHAT")
    certificate = parts.add_parser("certificate", help="write what trainers have signed for this PC to a file")
    certificate.set_defaults(command="credit.certificate")
    certificate.add_argument("--out", type=Path, metavar="FILE.json", help="where (hearth-certificate.json)")
    verify = parts.add_parser("verify", help="check a certificate, or the sums of a board: its totals.json")
    verify.set_defaults(command="verify.verify")
    verify.add_argument("file", type=Path, metavar="FILE")
    leaderboard = parts.add_parser("leaderboard", help="show who computed most, as the boards of this PC's runs say")
    leaderboard.set_defaults(command="credit.leaderboard")
    leaderboard.add_argument("--json", action="store_true", help="the same as one JSON document")
    for part in (certificate, verify, leaderboard):
        part.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="folder of all of Hearth's data")
    about = "Ask the peers of all runs here what they were credited with, verify it, and write a page about it."
    board = add("board", "credit.board", about, "what was written, as one JSON document")
    board.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="for index.html and totals.json")
    every = functools.partial(_duration, longest=86_400.0)
    board.add_argument("--every", type=every, metavar="TIME", help="again and again, such as 10m; Ctrl+C ends it")
    trusting = "a peer whose audits are believed, beside this PC, the organiser and those that the manifest names"
    board.add_argument("--trust", action="append", default=[], metavar="PEER", help=trusting)


def _add_data(add: Callable[..., argparse.ArgumentParser]) -> None:
    about = "Show how much the data take, move them, back them up, restore or delete them."
    data = add("data", "data.data", about)
    verbs = data.add_subparsers(title="what", dest="what", metavar="WHAT")
    data.set_defaults(what="size", json=False)

    def verb(name: str, about: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=about, description=about)
        sub.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="folder of all of Hearth's data")
        sub.add_argument("--progress", action="store_true", help=argparse.SUPPRESS)  # for the app
        return sub

    verb("size", "Show what takes how much.").add_argument("--json", action="store_true", help="as one JSON document")
    moving = verb("move", "Move all data to another folder, also on another disk. The worker ends and starts again.")
    moving.add_argument("folder", type=Path, metavar="FOLDER", help="an empty one, or one that is not there yet")
    about = "Write key, ledger, settings and runs to one file. It holds the secret key: keep it to yourself."
    backup = verb("backup", about)
    backup.add_argument("file", type=Path, metavar="FILE.zip")
    backup.add_argument("--checkpoints", action="store_true", help="with checkpoints and data of your own runs")
    backup.add_argument("--force", action="store_true", help="replace a file that is there")
    restore = verb("restore", "Bring back what a backup holds.")
    restore.add_argument("file", type=Path, metavar="FILE.zip")
    restore.add_argument("--force", action="store_true", help="delete the data that are there, all of them")
    purge = verb("purge", "Delete all of Hearth's data and all that it registered with the system.")
    purge.add_argument("--yes", action="store_true", help="without asking")

    about = "Install the newest version, if there is one; the version before is kept, and comes back if it must."
    update = add("update", "update.update", about, "what there is, as one JSON document (with --check)")
    update.add_argument("--check", action="store_true", help="only say what there is")
    update.add_argument("--progress", action="store_true", help=argparse.SUPPRESS)  # for the app
    about = "Have this PC's NVIDIA GPU compute: the pack for it has some gigabytes and is fetched once."
    pack = add("pack", "pack.pack", about, "what there is, as one JSON document (with check)")
    what = (
        "say what there is (this, if nothing is said), install the newest pack, keep its files for peers, or remove all"
    )
    pack.add_argument("what", nargs="?", choices=["check", "install", "keep", "remove"], default="check", help=what)
    pack.add_argument("--progress", action="store_true", help=argparse.SUPPRESS)  # for the app


def _add_questions(add: Callable[..., argparse.ArgumentParser]) -> None:
    predict = add(
        "predict", "model.predict", "Ask the model which digit a PNG shows.", "the whole answer as one JSON document"
    )
    which = "the run's name or id (the first one that can answer)"
    predict.add_argument("--run", help=which)
    predict.add_argument("file", type=Path, metavar="FILE.png")
    each = "a JSON document a byte or token, with the experts that answered"
    generate = add("generate", "model.generate", "Let the model continue a text.", each)
    generate.add_argument("prompt", metavar="TEXT", help="how the text begins")
    generate.add_argument("--run", help=which)
    generate.add_argument("--length", type=int, default=200, help="bytes or tokens to add (200)")
    generate.add_argument("--temperature", type=float, default=0.7, help="0 always takes the likeliest (0.7)")
    drawn = "draw from the likeliest that together have this probability (1)"
    generate.add_argument("--top-p", type=float, default=1.0, metavar="P", help=drawn)
    generate.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end before this; may be repeated"
    )
    generate.add_argument("--seed", type=int, help="the same one gives the same text while the model stays as it is")
    about = "Let other programs of this PC ask the models that continue text, as they ask OpenAI's."
    serve = add("serve", "serve.serve", about)
    serve.add_argument("--port", type=int, default=8467, help="of 127.0.0.1 (8467); 0: one that is free")
    about = "Show this peer, how it is reached, and those it is connected to."
    same = "all figures as one JSON document"
    peers = add("peers", "network.peers", about, same)
    peers.add_argument("--add", metavar="ADDRESS", help="join through this peer; its `hearth address` prints it")
    trunk = add("trunk", "trunk.show", "Show what the trainers of a run have agreed on, and who coordinates it.", same)
    trunk.add_argument("run", nargs="?", help="the run's name or id (the first one)")
    add("address", "network.address", "Print what another PC needs to reach this one (--bootstrap).")
    add("doctor", "network.doctor", "Check what a peer needs: port, outside address, NAT, other peers, clock, disk.")
    dht = add("dht", "network.dht", "Look into the distributed hash table.")
    dht.add_argument("what", choices=["get", "stats"])
    dht.add_argument("key", nargs="?", help="for get: such as digits.0.1.3, or the prefix digits.0.1.")
    identity = add("identity", "network.identity", "Back up or restore the key that names this PC.")
    identity.add_argument("what", choices=["show", "export", "import"])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """What begins with a minus is taken for an option, so that the one before it has no value."""
        super().error(message.replace("expected one argument", "a value must follow, and must not begin with a minus"))


class _Version(argparse.Action):
    """Looks the version up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from core.contracts.build import this_build

        print(f"hearth {this_build().version}")
        parser.exit()


def _weight(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid weight; use a whole number from 1 to 1000")
    return number


def _days(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 366:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 1 to 366")
    return number


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
