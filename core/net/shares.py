"""Who uses how much of something scarce, by where they come from: so that a crowd gets no more than one peer does.

Users stand in a tree: a block of addresses, an address in it, a key at that address. Nobody is held to a share as long
as there is room. Where there is none, who asks gets some only from a branch that uses more than its own, at the first
level where the two part: a key against another one of its house, a house against another one of its block, a block
against the others. A house or school that is alone therefore has everything.
"""

from collections import Counter
from collections.abc import Iterable

Branch = tuple[str, ...]
"""Block of addresses, address, key (see `core.net.crowds.branch_of`)."""


class Shares:
    """How much each branch uses."""

    def __init__(self, users: Iterable[Branch] = ()) -> None:
        """One for each of `users`."""
        self._used: Counter[Branch] = Counter()
        for branch in users:
            self.change(branch, 1)

    def __bool__(self) -> bool:
        return bool(self._used)

    def of(self, branch: Branch) -> int:
        """What a branch uses, with all that hangs on it."""
        return self._used[branch]

    def change(self, branch: Branch, amount: int) -> None:
        """Use more, or less.

        Args:
            branch: whose.
            amount: by which its use changes.
        """
        for end in range(len(branch) + 1):
            self._used[branch[:end]] += amount
            if not self._used[branch[:end]]:
                del self._used[branch[:end]]

    def greatest(self, among: Iterable[Branch]) -> Branch:
        """Who gives way first: of those with the greatest block the one with the greatest address, and so on.

        Args:
            among: users, one at least.
        """
        return max(among, key=lambda branch: tuple(self._used[branch[:end]] for end in range(1, len(branch) + 1)))

    def gives_way(self, holder: Branch, asker: Branch) -> bool:
        """Whether a holder uses more than who asks would.

        Args:
            holder: who uses some.
            asker: who wants as much.
        """
        for end in range(1, min(len(holder), len(asker)) + 1):
            if holder[:end] != asker[:end]:
                return self._used[holder[:end]] > self._used[asker[:end]] + 1
        return False
