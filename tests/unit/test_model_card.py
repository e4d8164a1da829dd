"""Who is named in an exported model's card: those who chose a name, by what they gave; all others are counted."""

from core.community.contributors import contributors
from core.compute.model_card import card
from core.contracts.credit import BoardTotals, Line, Named
from core.contracts.export import NAMED, Contributors, Exported
from core.contracts.manifest import load

DONE = Exported("digits-2ac90b73", 10, 320, 32, 32, 0.5, 0.9)
ANN, BEN, CAT, DAN = ("ab" * 32, "cd" * 32, "ef" * 32, "01" * 32)


def totals(lines: list[Line], peers: dict[str, Named]) -> BoardTotals:
    return BoardTotals("hearth board 1", ANN, 0.0, {}, [], lines, peers, len(lines), [])


def test_who_chose_a_name_is_named_by_what_they_gave_and_others_are_counted() -> None:
    lines = [Line("d", day, peer, gave, {}) for day in (1, 2) for peer, gave in ((ANN, 1e9), (BEN, 3e9), (CAT, 2e9))]
    lines.append(Line("d", 1, DAN, 0.0, {"audited": 9e9}))
    peers = {ANN: Named("Ann", ""), BEN: Named("Ben", "Blue"), CAT: Named("", "Blue"), DAN: Named("Dan", "")}
    found = contributors(totals(lines, peers))
    assert [(one.name, one.verified) for one in found.named] == [("Ben", 6e9), ("Ann", 2e9)], (
        "pending counts for nobody"
    )
    assert (found.others, found.others_verified) == (1, 4e9)
    said = card(load("digits"), DONE, found)
    assert "| Ben | Blue | 6 GFLOP |\n| Ann |  | 2 GFLOP |\n| 1 other, who chose no name | | 4 GFLOP |" in said
    assert "Contributors" not in card(load("digits"), DONE, Contributors())


def test_a_name_is_nothing_but_text_and_very_many_are_counted() -> None:
    bad = "a|b\n# [x](http://y) <script>\u202e"
    found = contributors(totals([Line("d", 1, ANN, 1.0, {})], {ANN: Named(bad, "")}))
    said = card(load("digits"), DONE, found)
    assert "<script>" not in said and "](" not in said and "\u202e" not in said and "\n# [" not in said
    many = {f"{number:064x}": Named(f"N{number}", "") for number in range(NAMED + 7)}
    found = contributors(totals([Line("d", 1, peer, 1e6, {}) for peer in many], many))
    assert (len(found.named), found.others) == (NAMED, 7)
