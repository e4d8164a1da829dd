"""What a run is, in words: for its card, and for those who are asked whether to join it."""

from functools import lru_cache
from urllib.parse import urlsplit

from app.formats import data_size
from app.language import at_most, told, tr, tr_run
from core.commands import proposal
from core.contracts import manifest as manifests
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails, access_of
from core.contracts.run_times import told as told_times
from core.contracts.words import size

SHOWN = 16
"""Of a key, so many digits are shown where there is little room."""
GROUP = 8


@lru_cache(maxsize=1)
def built_in() -> dict[str, str]:
    """Names of the runs that come with Hearth, by their ids."""
    return {manifests.load(name).run_id: name for name in manifests.built_in_runs()}


def title_of(run: RunDetails) -> str:
    return tr_run(run.manifest.title) if run.id in built_in() else run.manifest.title


def signature(run: RunDetails) -> tuple[str, str, str]:
    """Who answers for a run, as words, tone and icon of a pill."""
    if run.manifest.organiser:
        return tr("Signed by {key}", key=run.manifest.organiser[:SHOWN]), "ok", "check"
    if run.id in built_in():
        return tr("Comes with Hearth"), "peer", "shield"
    return tr("Not signed"), "warn", "alert"


def organiser(run: RunDetails) -> str:
    """The same, with the whole key in groups that people can compare."""
    if run.manifest.organiser:
        key = run.manifest.organiser
        return " ".join(key[at : at + GROUP] for at in range(0, len(key), GROUP))
    return tr("It comes with Hearth, like the program itself.") if run.id in built_in() else tr("Nobody has signed it.")


def signs(run: RunDetails) -> str:
    """Who answers for it, for those who do not know the run yet."""
    if run.manifest.organiser is None:
        return organiser(run)
    return tr("The owner of this key: {key}. Compare it with what the organiser has published.", key=organiser(run))


def learns(run: RunDetails) -> str:
    """What is trained, and how large it is."""
    takes = run.manifest.task.takes
    what = tr("To continue text") if takes == "text" else tr("To say what a picture shows")
    if not run.experts:
        return tr("{what}: a model of %Ln number(s), whole on each PC.", run.numbers, what=what)
    size = tr("a model of %Ln number(s)", run.numbers)
    return tr("{what}: {size} in %Ln expert(s) and a trunk.", run.experts, what=what, size=size)


def data(run: RunDetails) -> str:
    """On what it is trained, and under which licences."""
    manifest, licence = run.manifest, run.manifest.licence
    if run.id in built_in():
        found = tr("Data that comes with Hearth.")
    elif run.shards:
        size = data_size(run.data_bytes)
        found = tr("{size} from the organiser, in %Ln part(s) that are checked by their hashes.", run.shards, size=size)
    elif manifest.shard_list and run.data_bytes:
        found = tr("{size} from the organiser, by a list that is checked by its hash.", size=data_size(run.data_bytes))
    elif manifest.shard_list:
        found = tr("Data from the organiser; a list that is fetched after joining says how much.")
    else:
        found = tr("Data that comes with Hearth.")
    unsaid = tr("not stated")
    of_data, of_model = (licence.data, licence.model) if licence else (unsaid, unsaid)
    return f"{found} {tr('Licence of the data: {data}; of the model: {model}.', data=of_data, model=of_model)}"


def access(run: RunDetails) -> str:
    """Who may take part, whether this PC may, and when it is trained."""
    times = told_times(run.manifest.schedule)
    return told([access_of(run), *([times] if times else [])])


def needs(run: RunDetails) -> str:
    """What it asks of a PC by its manifest, and what it is likely to take."""
    manifest = run.manifest
    memory, disk = (of << 20 if of else None for of in (manifest.needs_memory_mb, manifest.needs_disk_mb))
    parts = [
        tr("a PC with {size} of memory", size=size(memory, at_most)) if memory else "",
        tr("{size} free on the disk", size=data_size(disk)) if disk else "",
        tr("Hearth {version} or newer", version=manifest.needs) if manifest.needs else "",
    ]
    stated = ", ".join(filter(None, parts)) or tr("no minimum stated")
    comes = bool(run.data_bytes) and run.id not in built_in()
    fetched = f"{tr('Up to {size} of data are fetched.', size=data_size(run.data_bytes))} " if comes else ""
    costs = proposal.of_manifest(manifest, run.data_bytes, proposal.VOLUNTEERS)
    takes = tr(
        "While it trains, about {memory} of memory, and up to {traffic} sent and as much received in an hour.",
        memory=size(costs.memory_bytes, at_most),
        traffic=data_size(costs.sent_per_hour),
    )
    limits = tr("Memory, disk space, traffic and hours stay within your limits in Settings.")
    return f"{stated[:1].upper()}{stated[1:]}. {fetched}{takes} {limits}"


def leaves(run: RunDetails) -> str:
    """What others get to know and to have of a PC that joins."""
    hosts = sorted({urlsplit(source).hostname or "" for source in run.manifest.sources})
    peers = tr(
        "To the peers of the run: tensors of the training, encrypted, and this PC's address and public key. Your "
        "files do not; a name only if you have set one in Settings. If you try the model, peers whose experts answer "
        "can tell much of what you asked."
    )
    if hosts:
        peers += " " + tr("Web servers that have the data see the address, too: {hosts}.", hosts=", ".join(hosts))
    if run.manifest.brokers:
        names = ", ".join(run.manifest.brokers)
        peers += " " + tr(
            "Brokers of the run see it as well, and pass on how your training goes and your credit: {names}.",
            names=names,
        )
    return peers


def news(run: RunDetails) -> str:
    """What its organiser is about to change; "": nothing."""
    if run.next_revision is None:
        return ""
    return told(notice("run.successor", revision=run.next_revision, fields=list(run.changed)))
