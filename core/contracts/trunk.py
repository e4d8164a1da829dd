"""The part of a manifest that says how trainers agree on the trunk: a strategy's name, and its own parameters.

A strategy is declared here by a struct whose tag is the name of its module in `core.training.trunk`. `Trunk` is the
union of all of them, so that a name or a value that is impossible is refused where a manifest is read.
"""

import msgspec


class Local(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="strategy", tag="local"):
    """Each trainer has a trunk of its own."""


Trunk = Local
