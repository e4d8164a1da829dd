"""`hearth run new`: a folder of data becomes shards, and a manifest that proposes a run on them."""

import argparse
import hashlib
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from core.commands import picture_files, proposal
from core.commands.manifest_text import UNKNOWN, Cut, lacks_licence, written
from core.commands.proposal import Proposal
from core.contracts import data as lists
from core.contracts import manifest as manifests
from core.contracts.errors import DataError, DataFolderError, ManifestError, SettingsError
from core.contracts.manifest import Manifest, Shard, ShardList
from core.contracts.model import Licence, Name, TokenizerFile
from core.contracts.notices import notice
from core.contracts.words import counted, size, traffic
from core.store import cutting
from core.store.cutting import Source, Survey
from core.store.data_folder import data_folder
from core.store.documents import ENDINGS, TABLES, find, passed_over
from core.store.shards import OWN
from core.store.tokens import ITEM
from core.store.tokens import read as read_tokens
from core.store.writing import write_whole

MOST_VOLUNTEERS = 100_000
SPARE_DISK = 256 << 20
"""Bytes that are left free."""
TEXTS = ("text", "decoder")
"""Templates for data that are text."""
LICENCES = 80
"""Characters of a licence's name."""


def new(options: argparse.Namespace) -> None:
    """Look at the data, ask what cannot be seen, write shards and manifest.

    Raises:
        SettingsError: no folder was named, or a name or number cannot be.
        DataError: the data cannot be used.
        DataFolderError: there is no room for the shards, or a file cannot be written.
        ManifestError: there is such a file already.
    """
    if not options.run:
        raise SettingsError("Which folder? For example: hearth run new my-texts")
    if options.out and options.out.suffix != ".toml":
        raise SettingsError(f"The manifest is a .toml file. Write: --out {options.out.with_suffix('.toml')}")
    place = Path(options.run)
    asks = sys.stdin.isatty() and not options.yes
    if not asks and not options.yes:
        print("Nobody can be asked here: what no option says is chosen as with --yes.", file=sys.stderr)
    name = _asked("Name of the run", options.name or _name_of(place), _named, asks)
    out = Path(options.out or f"{name}.toml")
    if out.exists():
        raise ManifestError(notice("manifest.exists", path=str(out)))
    title = _asked("Title", options.title or name.replace("-", " ").capitalize(), _titled, asks)
    data = _asked("Licence of the data, such as CC-BY-4.0", options.licence or "", _licence, asks)
    licence = Licence(data or UNKNOWN, _asked("Licence of the trained model", data, _licence, asks) or UNKNOWN)
    volunteers = int(_asked("Volunteers", str(options.volunteers or proposal.VOLUNTEERS), _number, asks))
    cut = _cut(place, data_folder(options.data_dir) / OWN, options)
    if cut.tokenizer:
        proposed = proposal.of_tokens(cut.rows, cut.vocabulary, volunteers)
    elif cut.pictures:
        proposed = proposal.of_pictures(cut.rows, volunteers, experts=options.template != "vc-asgd")
    else:
        proposed = proposal.of_text(cut.rows, volunteers)
    text = written(name, title, licence, cut, proposed)
    manifest = manifests.decode(text.encode(), str(out), toml=True)
    try:
        write_whole(out.absolute(), [text.encode()])
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(out), why=str(error.strerror))) from error
    print(cut.about)
    _show(manifest, proposed, cut, volunteers)
    if lacks_licence(licence):
        print(f"The licences of data and model are not known: name both in {out}, under [licence], before you sign.")
    print(f"Wrote {out}, and {counted(cut.shards, 'shard')} into {data_folder(options.data_dir) / OWN}.")
    print(_steps(out, f" --data-dir {options.data_dir}" if options.data_dir else ""))


def _steps(out: Path, where: str) -> str:
    """What comes next, as the help page *Organisers* has it.

    Args:
        out: the manifest.
        where: the option that names the data folder, if it is not the usual one.
    """
    signed = out.with_suffix(".signed.json")
    return f"""What comes next (the help page Organisers says more of each step):
 1. On a server that others can reach, if you have one; the second command prints its ADDRESS:
        hearth backbone --listen 0.0.0.0:4401 --broker mqtt://SERVER:1883
        hearth address
 2. In {out}: title, description, licences; bootstrap = ["ADDRESS"], brokers = ["mqtt://SERVER:1883"].
 3. Check and sign it, and start your worker; in another terminal let it train although you use this PC:
        hearth run check {out}
        hearth run sign {out}{where}
        hearth worker --run {signed} --listen 0.0.0.0:4401{where}
        hearth start --for 8h{where}
 4. Print the link; by it the server takes part as well. Then the same again, and volunteers can join by the link:
        hearth run publish {signed}{where}
        hearth run join LINK --yes              (on the server)
        hearth run leave digits                 (on the server)
        hearth run publish {signed}{where}"""


def _cut(place: Path, own: Path, options: argparse.Namespace) -> Cut:
    """Write the shards.

    Args:
        place: the data.
        own: where to.
        options: what kind of run it shall be, if not as the data are; where the texts are, see
            `core.store.documents.documents`; the tokenizer, if not one for these data.
    """
    template = options.template
    pictures = None if template in TEXTS else picture_files.find(place)
    files = [] if pictures else _texts(place, template)
    if options.column and not any(path.suffix.lower() in TABLES for path in files):
        raise SettingsError(f"Only files that end with {' or '.join(TABLES)} have columns. Leave out --column.")
    if others := 0 if pictures else passed_over(place):
        print(f"{counted(others, 'file')} left out: texts are files that end with {', '.join(ENDINGS)}.")
    source = pictures.source if pictures else cutting.texts(files, options.column)
    found = cutting.survey(source)
    if template == "decoder" or options.tokenizer:
        return _cut_into_tokens(source, found, own, options.tokenizer)
    total = found.train_bytes + found.held_out_bytes
    _make_room(own, total)
    shards = cutting.write(source, found, own)
    duplicates = f"{counted(found.duplicates, 'duplicate')} left out"
    if pictures:
        form = pictures.pictures
        about = (
            f"{counted(found.documents, 'picture')} of {len(form.classes)} classes, {form.width} x {form.height}; "
            f"{found.held_out:,} held out, {duplicates}."
        )
        rows = found.documents - found.held_out
        return Cut("pictures", _listed(shards, own), len(shards), rows, total, about, form)
    about = (
        f"{counted(found.documents, 'document')} of {counted(len(files), 'file')}, "
        f"{traffic(total)}; {counted(found.held_out, 'document')} "
        f"({traffic(found.held_out_bytes)}) held out, {duplicates}."
    )
    return Cut("text", _listed(shards, own), len(shards), found.train_bytes, total, about)


def _cut_into_tokens(source: Source, texts: Survey, own: Path, tokenizer: Path | None) -> Cut:
    """Write shards of tokens, and the tokenizer.

    Args:
        source: of texts.
        texts: what they are.
        own: where to.
        tokenizer: an organiser's own; None: one is trained.
    """
    tokens = read_tokens(tokenizer) if tokenizer else cutting.tokenizer_for(source, texts)
    source = cutting.as_tokens(source, tokens)
    found = cutting.survey(source)
    total, content = found.train_bytes + found.held_out_bytes, tokens.file()
    _make_room(own, total)
    named = TokenizerFile(_kept(content, own), len(content), tokens.end)
    shards = cutting.write(source, found, own)
    size = texts.train_bytes + texts.held_out_bytes
    about = (
        f"{counted(found.documents, 'document')}, {traffic(size)}, as {total // ITEM:,} tokens of "
        f"{size / total * ITEM:.2f} bytes; {len(tokens):,} tokens in the vocabulary; "
        f"{counted(found.held_out, 'document')} held out, {counted(found.duplicates, 'duplicate')} left out."
    )
    rows = found.train_bytes // ITEM
    return Cut("tokens", _listed(shards, own), len(shards), rows, total, about, None, named, len(tokens))


def _texts(place: Path, template: str | None) -> list[Path]:
    """Files of text, where there are no pictures of classes.

    Raises:
        DataError: there are none either, or pictures are wanted.
    """
    wanted = template is not None and template not in TEXTS
    try:
        if not wanted:
            return find([place])
    except DataError:
        if template:
            endings = ", ".join(ENDINGS)
            raise DataError(
                notice("data.no_text_files", place=str(place), template=template, endings=endings)
            ) from None
        if not picture_files.loose(place):
            raise
    if count := picture_files.loose(place):
        raise DataError(notice("data.flat_pictures", place=str(place), count=count))
    raise DataError(notice("data.no_pictures", place=str(place), template=str(template)))


def _listed(written: list[Shard], own: Path) -> ShardList:
    """Write the list of shards."""
    document = lists.encode(tuple(written))
    return ShardList(_kept(document, own), len(document))


def _kept(content: bytes, own: Path) -> str:
    """Write a file that is named by its hash, which is returned."""
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        write_whole(own / sha256, [content])
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(own), why=str(error.strerror))) from error
    return sha256


def _make_room(own: Path, total: int) -> None:
    try:
        own.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(own).free
    except OSError as error:
        raise DataFolderError(notice("data.not_written", path=str(own), why=str(error.strerror))) from error
    if free < total + SPARE_DISK:
        raise DataFolderError(notice("data.no_room", folder=str(own), size=total + SPARE_DISK, free=free))


def _show(manifest: Manifest, proposed: Proposal, cut: Cut, volunteers: int) -> None:
    """What is proposed, and what it costs."""
    model, costs = manifest.model, proposal.estimate(manifest.ends, proposed, cut.rows, volunteers)
    numbers = proposal.numbers(manifest.ends, proposed)
    grid = " x ".join(map(str, model.grid))
    experts = f"{counted(model.layers, 'layer')} of {grid} experts" if model.layers else "no experts"
    sizes = f"{experts}, width {model.width}, {_millions(numbers)} numbers"
    print(f"Proposed for {counted(volunteers, 'volunteer')}: {sizes}.")
    days = f"{_days(costs.days)} of {proposal.HOURS} hours"
    speed = f"{proposal.FLOPS_PER_S / 1e9:.0f} GFLOP/s"
    if volunteers == 1:
        print(f"It needs about {size(costs.memory_bytes)} of memory, and for a pass over the data {days} at {speed}.")
    else:
        slower = "the line" if costs.by_line else "the CPU"
        print(
            f"Each of {volunteers:,} PCs needs about {size(costs.memory_bytes)} of memory. In a pass over the data, "
            f"which all of them make together, each sends {traffic(costs.sent_bytes)} and receives as much. It takes "
            f"{days} with CPUs of {speed} and a quarter of a line of {proposal.LINE_BITS_PER_S / 1e6:.0f} Mbit/s, "
            f"limited by {slower}. (Estimated.)"
        )


def _millions(numbers: int) -> str:
    return f"{numbers / 1e6:,.1f} million" if numbers >= 1e5 else f"{numbers:,}"


def _days(days: float) -> str:
    return "less than a day" if days < 1 else counted(round(days), "day")


# what is asked


def _asked(what: str, usual: str, checked: Callable[[str], str], asks: bool) -> str:
    """An answer that is possible, or the usual one.

    Raises:
        SettingsError: nobody can be asked, and the usual one is impossible.
    """
    while asks:
        try:
            return checked(input(f"{what} [{usual}]: ").strip() or usual)
        except EOFError:
            asks = False
        except SettingsError as error:
            print(error.notice)
    return checked(usual)


def _name_of(place: Path) -> str:
    found = re.sub(r"[^a-z0-9_]+", "-", place.absolute().stem.lower()).strip("-_")[:28].strip("-_")
    if not found or not found[0].isalpha() or found in manifests.built_in_runs():
        found = f"my-{found}".strip("-")
    return found


def _named(name: str) -> str:
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        raise SettingsError(notice("run.bad_name", name=repr(name))) from None
    if name in manifests.built_in_runs():
        raise SettingsError(notice("run.built_in_name", name=name))
    return name


def _titled(title: str) -> str:
    if not 1 <= len(title) <= 80 or not title.isprintable():
        raise SettingsError(notice("run.bad_title"))
    return title


def _licence(licence: str) -> str:
    if len(licence) > LICENCES or not (licence.isprintable() or not licence):
        raise SettingsError(notice("run.bad_licence", most=LICENCES))
    return licence


def _number(text: str) -> str:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_VOLUNTEERS:
        raise SettingsError(notice("run.bad_volunteers", text=repr(text), most=MOST_VOLUNTEERS))
    return text
