"""Credit between real workers: both tell the same, a killed trainer's signature stays, a board sums it, and what is
tampered with is refused with its reason."""

import json
from pathlib import Path

import pytest

from core.community import signing
from core.contracts.credit import (
    PAGE_FILE,
    SIGN,
    TOTALS_FILE,
    Countersigned,
    Credit,
    Leaderboard,
    Sheet,
    SignedSheet,
    With,
    week_of,
)
from core.contracts.errors import RemoteFault
from core.contracts.export import Collected
from core.contracts.net import of_run
from core.contracts.peer_names import called
from core.identity import PeerId
from core.net.addresses import parse_address
from tests.worked_peers import worked_peer
from tests.workers import DIGITS, HERE, RunningWorker, hearth, wait_until, worker


def exchanged(running: RunningWorker, given: bool) -> With | None:
    """What was done with the other peer today and yesterday: a test may run at midnight."""
    answer = running.ask("credit", {}, Credit)
    found = [peer for one in answer.exchanged if one.given == given for peer in one.peers]
    assert len({peer.peer for peer in found}) <= 1
    return max(found, key=lambda one: one.signed, default=None)


async def test_host_and_trainer_tell_the_same_and_a_board_believes_what_it_trusts(tmp_path: Path) -> None:
    with worker(tmp_path / "host", "--listen", HERE, "--role", "host") as host:
        address = hearth(host.folder, "address").stdout.strip()
        assert "there is no leaderboard" in hearth(host.folder, "credit", "leaderboard").stdout
        with worker(tmp_path / "trainer", "--listen", HERE, "--role", "train", "--bootstrap", address) as trainer:

            def agreed() -> With | None:
                theirs, mine = exchanged(host, given=True), exchanged(trainer, given=False)
                same = theirs and mine and (theirs.signed, theirs.verified) == (mine.signed, mine.verified)
                return theirs if same and theirs and theirs.verified else None

            signed = wait_until(agreed, "the same signed and audited work on both sides")
            ranked = wait_until(lambda: trainer.ask("leaderboard", {}, Leaderboard).ever.others, "the host's rank")
            assert ranked == 1, "it has no name, and is counted"
            shown = hearth(trainer.folder, "credit", "leaderboard").stdout
            assert (
                "No run here names a broker. This is what this PC itself has verified" in shown and "1 other" in shown
            )
            host.call("set_settings", {"changes": {"shown_name": "Ann | <b>"}})
            credited = trainer.ask("collect", {}, Collected).contributors
            assert [(one.name, one.verified > 0) for one in credited.named] == [
                ("Ann | <b>", True)
            ] and not credited.others
            listed = hearth(trainer.folder, "peers").stdout
            assert called(address.partition("@")[0], "Ann | <b>") in listed, "as the host has signed"
            trainer.process.kill()
            trainer.process.wait()
        kept = exchanged(host, given=True)
        assert kept is not None and kept.signed >= signed.signed and kept.counted >= kept.signed * 0.9

        certificate = tmp_path / "certificate.json"
        assert hearth(host.folder, "credit", "certificate", "--out", str(certificate)).returncode == 0
        told = hearth(tmp_path, "credit", "verify", str(certificate))
        assert told.returncode == 0 and "Every signature is good" in told.stdout and "1 trainer" in told.stdout
        content = certificate.read_text()
        changed = tmp_path / "changed.json"
        changed.write_text(content.replace(json.loads(content)["peer"], kept.peer))
        refused = hearth(tmp_path, "credit", "verify", str(changed))
        assert refused.returncode == 22 and "holds credit of another one" in refused.stderr

        board = tmp_path / "board"
        assert hearth(host.folder, "board", "--out", str(board)).returncode == 0
        assert "0 MFLOP verified" in (board / PAGE_FILE).read_text(), "one trainer that nobody trusts"
        assert hearth(host.folder, "board", "--out", str(board), "--trust", kept.peer).returncode == 0
        totals = json.loads((board / TOTALS_FILE).read_text())
        assert totals["totals"]["lines"][0]["verified"] > 0
        assert "Signed by the board" in hearth(tmp_path, "credit", "verify", str(board / TOTALS_FILE)).stdout
        totals["totals"]["lines"][0]["verified"] *= 2
        changed.write_text(json.dumps(totals))
        assert "has not signed these sums" in hearth(tmp_path, "credit", "verify", str(changed)).stderr

        await _offer_what_is_not_true(host, address)
    assert "verified" in hearth(host.folder, "credit").stdout, "also without a worker"


async def _offer_what_is_not_true(host: RunningWorker, address: str) -> None:
    where = parse_address(address)
    today = host.ask("credit", {}, Credit).today
    async with worked_peer() as node:
        node.learn(where)
        liar = node.identity
        sheet = Sheet(DIGITS, liar.peer, where.peer, week_of(today), (10**9,) * 7, (0,) * 7)

        async def offer(signed: SignedSheet) -> Countersigned:
            asked = of_run(SIGN, DIGITS)
            return (await node.call(PeerId(where.peer), asked, signed, Countersigned, deadline_s=20))[0]

        answer = await offer(signing.sign(liar, sheet))
        assert answer.signature is None and answer.counted == 0, "it has computed nothing for this one"
        with pytest.raises(RemoteFault, match="was not signed by the trainer") as forged:
            await offer(SignedSheet(sheet, bytes(64)))
        assert forged.value.fault == "credit"
