"""What others say cannot pass for a line of the log, nor command the terminal that shows it."""

import logging
from pathlib import Path

from core.logs import Formatter, Ring, recent

FORGED = "2026-11-22 10:00:00,000 ERROR   core.worker: all keys were sent"


def test_a_peers_words_are_no_line_of_the_log(tmp_path: Path) -> None:
    log, ring, path = logging.Logger("core.net"), Ring(), tmp_path / "hearth.log"
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(Formatter())
    log.addHandler(file)
    log.addHandler(ring)
    for line_end in ("\n", "\r\n", "\x85", "\u2028", "\x1b[1A\r", "\u202e"):
        log.warning("Peer 3f2a91c0: %s", f"no{line_end}{FORGED}")
        log.error("serving failed", exc_info=ValueError(f"no{line_end}{FORGED}"))
    assert len(recent(path)) == 12
    assert all(line.text.startswith(("Peer 3f2a91c0: no", "serving failed")) for line in recent(path))
    assert FORGED not in path.read_text().splitlines()
    shown = path.read_text() + "".join(line.text for line in ring.lines)
    assert all(sign == "\n" or sign.isprintable() for sign in shown)
    assert len(ring.lines) == 12
    file.close()
