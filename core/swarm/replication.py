"""Checkpoint files among the peers: who keeps which is in the DHT, two others keep each newest state, anybody fetches.

A key `digits.ckpt.digits.0.1.3` holds a record of each keeper. A file is fetched in chunks, goes on at another keeper
where one fails, and counts only once its hash is right.
"""

import asyncio
import contextlib
import logging
import math
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.contracts.errors import CallRefused, CheckpointError, HearthError, NetworkError
from core.contracts.files import TRUNK, PartFile, SignedFile
from core.contracts.hosting import FileKept, KeepFile
from core.contracts.notices import Notice
from core.dht.node import DHTNode
from core.dht.records import own_subkey, told
from core.identity import PeerId, parse_peer, peer_text
from core.net.background import Background, all_of
from core.net.limits import Newest
from core.net.recurring import Recurring
from core.net.rpc import RpcNode
from core.store.checkpoint_files import newest_states
from core.store.run_files import KEEPERS, RunFiles
from core.swarm.beliefs import Beliefs, Said
from core.swarm.fetching import fetch_file
from core.swarm.hosted import HostedExperts
from core.swarm.keeping import Keeping
from core.swarm.members import Others
from core.swarm.own_states import OwnStates
from core.swarm.signatures import Signatures

log = logging.getLogger(__name__)

KEEP_S, SLOWEST = 120.0, 16 << 10
"""For a peer to fetch the copy that it was asked to keep, and bytes a second beyond that."""
COPY_S = 30.0
"""Between two states of a part that others are asked to keep: a young run saves more often than that."""
GIVING = 4
"""Copies handed out at once."""
REFUSALS = 4
"""Peers beyond `KEEPERS` that are asked to keep a copy."""
AGAIN_S = 20.0
"""Until others are asked again to keep a file for which too few keepers were found."""
EXPIRY_S = 3600.0
RENEW_S = 1500.0
"""Records are published again well before they expire."""
TICK_S = 5.0
FLUSH_S = 10.0
"""For the last copies when this peer leaves."""
BUSY_S = 0.25
"""Until a peer that is busy is asked once more by one that leaves."""
FETCHES = 8
"""Files fetched at once."""
REJECTED = 1024
"""Files remembered that could not be used."""
MAX_COPY = 512 << 20
"""Bytes of a file that is kept for another peer."""
TRIED = 2
"""States of other peers that are fetched of a part, if they differ: the better one counts, not the newer one."""
WORSE = "checkpoint.worse"
USELESS = 2.0
"""Points for each look at which a peer told of states that are of no use: the fifth within a minute means a ban. It may
only keep them for another."""
HEAR_S, HEARD = 60.0, 8
"""Between two looks how far the run is, and of how many experts these are."""
HEADER_BYTES = 1 << 20
"""Of a checkpoint file, at most (`core.store.part_header`)."""


class Copy(NamedTuple):
    """A file that a peer says it keeps."""

    peer: PeerId
    file: PartFile
    signed: SignedFile | None = None
    """None: the peer itself told it."""


class Copies:
    """Use as `async with Copies(...)`, inside the DHT's own."""

    def __init__(
        self,
        run_id: str,
        files: RunFiles,
        hosted: HostedExperts,
        members: Others,
        node: RpcNode,
        dht: DHTNode,
        trains: bool,
    ) -> None:
        """
        Args:
            run_id: The run.
            files: Its files on this disk.
            hosted: The experts that this PC hosts.
            members: The peers of the run, which keep copies.
            node: This peer's connections.
            dht: Where keepers tell what they have.
            trains: Whether a trunk is trained here.
        """
        self._trains = trains
        self._run_id, self._files, self._hosted, self._members = run_id, files, hosted, members
        self._node, self._dht = node, dht
        self._told: dict[str, tuple[float, str]] = {}
        self._asked: dict[str, tuple[str, float]] = {}
        """By part the file for which others were asked last, and when."""
        self._own: set[str] = set()
        """Parts whose copies this peer cares for: it made their newest state."""
        self._fetching: dict[PartFile, asyncio.Task[Path]] = {}
        self._background = Background()
        self._slots = asyncio.Semaphore(FETCHES)
        self.beliefs = Beliefs()
        """How far the parts of the run can be."""
        self._heard = -math.inf
        self.signatures = Signatures(run_id, node.identity, files.folder / "signatures")
        self._tellers = Newest[str, set[PeerId]](REJECTED)
        """Who answers for files that were fetched, by hash."""
        self._rejected = Newest[str, None](REJECTED)
        """Hashes of files that could not be used: they are fetched and named no more."""
        self.caring = Recurring("copies", self._care, lambda: TICK_S)
        self._states = OwnStates(files, self.caring.wake.set)
        files.shared = True
        files.on_saved.append(self.saved)
        self._keep_method = Keeping(run_id, self, files, hosted, members, node).method

    async def __aenter__(self) -> "Copies":
        files = self._files
        await asyncio.to_thread(files.load)
        await self.signatures.load()
        for part, file in (await asyncio.to_thread(newest_states, files.checkpoints)).items():
            if part != TRUNK and file.version:  # what this PC trained alone is its to give
                self._own.add(part)
                await files.keep(file.sha256)
        self.caring.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hand out what only this peer has, as far as `FLUSH_S` goes."""
        await self.caring.stop()
        await self._states.done()
        await self.signatures.save(self._files.get)
        self._asked.clear()  # whom this interrupted is asked again
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self._publish()
                while await self._hand_out():  # noqa: ASYNC110  (what others have to do is no event here)
                    await asyncio.sleep(BUSY_S)
        await self._background.close()  # others give copies up to now

    # This disk

    def saved(self, files: Sequence[PartFile]) -> None:
        """Compute has saved these; what has been trained is kept here and elsewhere. New ones are the same anywhere,
        and a trunk that nobody trains here is somebody else's."""
        mine = [file for file in files if file.version and (file.part != TRUNK or self._trains)]
        self._own |= {file.part for file in mine}
        self._states.keep(mine)

    def own(self, part: str) -> PartFile | None:
        """The newest state of a part on this disk."""
        return self._files.newest(part)

    def is_coming(self, part: str) -> bool:
        """Whether a newer state of a part was saved here, of which there will be a copy in a moment."""
        return self._states.is_coming(part)

    def is_own(self, part: str) -> bool:
        """Whether this PC made the newest state of a part, and cares for its copies."""
        return part in self._own

    def disown(self, part: str) -> None:
        """Another peer made a newer one."""
        self._own.discard(part)

    def is_rejected(self, sha256: str) -> bool:
        """Whether a file could not be used."""
        return sha256 in self._rejected

    # Telling and finding

    def _key(self, part: str) -> str:
        return f"{self._run_id}.ckpt.{part}"

    async def _publish(self) -> None:
        """Tell which newest states are here, as far as that has changed or was told long ago."""
        now, entries = time.monotonic(), {}
        for file in self._files.all_newest():
            at, sha256 = self._told.get(file.part, (0.0, ""))
            if file.sha256 != sha256 or now - at > RENEW_S:
                record = msgspec.msgpack.encode(self.signatures.told(file))
                entries[self._key(file.part)] = {own_subkey(self._node.peer): record}
                self._told[file.part] = (now, file.sha256)
        if entries and self._dht.contacts():
            await self._dht.store_many(entries, EXPIRY_S)
        elif entries:
            self._told.clear()  # nobody was there

    async def find(self, parts: Iterable[str]) -> dict[str, list[Copy]]:
        """Who keeps each part according to the DHT; other peers only, and none that was banned. The newest come first,
        and those last that name more steps than can be."""
        wanted = list(parts)
        records = await self._dht.get_many(map(self._key, wanted))
        found: dict[str, list[Copy]] = {}
        said = {"": [Said(own, self._age_s(own)) for part in wanted if (own := self._files.newest(part))]}
        now = self._dht.clock.now()
        for part in wanted:
            for record, signed in told(records[self._key(part)], SignedFile):
                file, trainer = signed.file, self.signatures.trainer(signed, record.peer)
                distrusted = trainer is None or any(map(self._node.distrusts, (record.peer, trainer)))
                if record.peer != self._node.peer and file.part == part and not distrusted:
                    found.setdefault(part, []).append(Copy(record.peer, file, signed))
                    said.setdefault(record.subkey, []).append(Said(file, now - record.sequence / 1000))
        self.beliefs.hear(said)
        for copies in found.values():
            copies.sort(key=self._counts, reverse=True)
        return found

    def _counts(self, copy: Copy) -> int:
        return self.beliefs.counts(copy.file.part, copy.file.version)

    def _age_s(self, file: PartFile) -> float:
        try:
            return time.time() - self._files.path(file.sha256).stat().st_mtime
        except OSError:
            return 0.0

    # Fetching

    async def newest(self, part: str, copies: Sequence[Copy], above: int = 0, most: int = TRIED) -> list[Path]:
        """The newest states of a part that can be had, if they are above a version: of this disk and other peers. What
        a peer says of them is no evidence: it is to be tried which of them are good.

        Args:
            part: of the run.
            copies: of the part, as of `find`.
            above: the version that is not enough.
            most: states of other peers.
        """
        own = self._files.newest(part)
        least = max(above, own.version if own else 0)
        files: dict[PartFile, list[Copy]] = {}
        for copy in copies:
            if self._counts(copy) > least and copy.file.sha256 not in self._rejected:
                files.setdefault(copy.file, []).append(copy)
        found: list[Path] = []
        for file, those in files.items():
            self._tellers[file.sha256] = {self._who_answers_for(copy) for copy in those}
            for signed in filter(None, (copy.signed for copy in those)):
                self.signatures.remember(signed)
            try:
                found.append(await self.fetch(file, [copy.peer for copy in those]))
            except (HearthError, OSError) as error:
                log.warning("Version %d of %s could not be fetched: %s", file.version, part, error)
            if len(found) >= most:
                break
        return [*found, *([self._files.path(own.sha256)] if own and own.version > above else [])]

    def _who_answers_for(self, copy: Copy) -> PeerId:
        """Its trainer, not who keeps it; but where that one is no member of the run, whose keys cost nothing."""
        trainer = PeerId(copy.signed.trainer) if copy.signed else copy.peer
        return trainer if peer_text(trainer) in self._members.keepers(copy.file.part) else copy.peer

    async def fetch(self, file: PartFile, peers: Sequence[PeerId]) -> Path:
        """Fetch a part's file, wherever it is whole; several who want it share one transfer.

        Args:
            file: What is fetched.
            peers: Who has it.

        Raises:
            NetworkError: No peer gave it.
            CheckpointError: There is no room for it, or it is not what it was said to be.
            OSError: It cannot be written.
        """
        if (known := self._files.get(file.sha256)) is not None:
            if known != file:
                raise CheckpointError(f"it is version {known.version} of {known.part}")
            return self._files.path(file.sha256)
        task = self._fetching.get(file)
        if task is None:
            if any(file.sha256 == other.sha256 for other in self._fetching):
                raise CheckpointError("it is being fetched as something else")
            task = self._fetching[file] = self._background.start(self._fetch(file, peers), f"fetch {file.part}")
            task.add_done_callback(lambda done: self._fetched(file, done))
        await asyncio.wait([task])
        if task.cancelled():
            raise CheckpointError("this PC leaves the run")
        return task.result()

    def _fetched(self, file: PartFile, task: asyncio.Task[Path]) -> None:
        del self._fetching[file]
        if not task.cancelled() and (error := task.exception()):  # nobody may wait for it any more
            log.debug("%s was not fetched: %s", file.part, error)

    def reject(self, sha256: str, why: str) -> None:
        """A file that compute could not use is not offered again, nor given to others."""
        self._rejected[sha256] = None
        if self._files.get(sha256) is not None:
            self._files.reject(sha256, why)

    def refuse(self, refused: Mapping[str, Notice]) -> None:
        """Files of other peers that were tried, and are of no use. Who answers for one that training does not lead to
        is trusted less; an honest state may be worse than another one.

        Args:
            refused: by path, why.
        """
        for path, why in refused.items():
            self.reject(Path(path).stem, str(why))
        false = [Path(path).stem for path, why in refused.items() if why.code != WORSE]
        for peer in {peer for stem in false for peer in self._tellers.get(stem, ())}:
            self._node.strike(peer, USELESS)

    async def _fetch(self, file: PartFile, peers: Sequence[PeerId]) -> Path:
        expert = self._hosted.expert_bytes
        if file.part != TRUNK and expert and file.size > expert + HEADER_BYTES:  # in memory there are gradients as well
            raise CheckpointError(f"{file.size} bytes are too many for an expert of this run.")
        if file.size > MAX_COPY:
            raise CheckpointError(f"{file.size} bytes are too many for a copy.")
        files, partial = self._files, self._files.partial(file.sha256)
        async with self._slots, files.quota.hold(partial, file.size, files.newest(file.part) is not None):
            await fetch_file(self._node, self._run_id, file.sha256, file.size, peers, partial)
        try:
            files.accept(file)
        except CheckpointError:
            await asyncio.to_thread(partial.unlink, missing_ok=True)
            raise
        self.caring.wake.set()
        return files.path(file.sha256)

    # Handing out

    async def _care(self) -> None:
        if self._dht.contacts():
            await self._publish()
            if time.monotonic() - self._heard > HEAR_S:
                self._heard = time.monotonic()
                parts = [file.part for file in self._files.all_newest() if file.part != TRUNK]
                await self.find([TRUNK, *random.sample(parts, min(HEARD, len(parts)))])
            await self._hand_out()
        await self.signatures.save(self._files.get)

    async def _hand_out(self) -> bool:
        """Have two other peers keep each newest state that was made here; whether some were too busy for that."""
        slots = asyncio.Semaphore(GIVING)

        async def care(file: PartFile) -> bool:
            async with slots:
                return await self._have_kept(file)

        return any(await all_of(care(file) for file in self._files.all_newest() if self._is_due(file)))

    def _is_due(self, file: PartFile) -> bool:
        """Whether a state that was made here has too few keepers, and others may be asked (again)."""
        candidates = self._members.keepers(file.part) if file.part in self._own else ()
        held = self._files.holders(file.part)
        kept = sum(held.get(peer, -1) >= file.version for peer in candidates)
        sha256, at = self._asked.get(file.part, ("", -math.inf))
        rest_s = AGAIN_S if sha256 == file.sha256 else COPY_S
        return kept < min(KEEPERS, len(candidates)) and time.monotonic() - at > rest_s

    async def _have_kept(self, file: PartFile) -> bool:
        """Ask one peer after the other, until `KEEPERS` keep it; whether it has too few keepers as some were busy."""
        self._asked[file.part] = (file.sha256, time.monotonic())
        candidates, held, busy = self._members.keepers(file.part), self._files.holders(file.part), False
        for gone in held.keys() - set(candidates):
            del held[gone]
        for peer in candidates[: KEEPERS + REFUSALS]:
            if sum(version >= file.version for version in held.values()) >= KEEPERS:
                return False
            if held.get(peer, -1) >= file.version:
                continue
            try:
                reply, _ = await self._node.call(
                    parse_peer(peer),
                    self._keep_method,
                    KeepFile(self.signatures.given(file)),
                    FileKept,
                    deadline_s=KEEP_S + file.size / SLOWEST,
                )
            except CallRefused:
                busy = True
            except NetworkError as error:
                log.debug("Peer %s keeps no copy of %s now: %s", peer[:8], file.part, error)
            else:
                if reply.kept:
                    held[peer] = file.version
        if busy:
            del self._asked[file.part]  # soon again
        return busy
