"""What is wrong with the `trunk` of a manifest, in words for who wrote it."""

from typing import Any, get_args

import msgspec
from msgspec import inspect

from core.contracts.notices import Notice, notice
from core.contracts.trunk import Trunk

SHOWN = 80
"""Characters of a value that are repeated."""
STRATEGIES: dict[str, type[msgspec.Struct]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Trunk)}


def fault_of(table: object) -> Notice | None:
    """Why a value cannot be a manifest's `trunk`; None if it can.

    Args:
        table: as JSON has it.
    """
    try:
        msgspec.convert(table, Trunk)
    except msgspec.ValidationError:
        return _fault(table)
    return None


def _fault(table: object) -> Notice | None:
    known = ", ".join(STRATEGIES)
    if not isinstance(table, dict) or "strategy" not in table:
        return notice("manifest.trunk_no_strategy", known=known)
    strategy, given = table["strategy"], table.keys() - {"strategy"}
    kind = STRATEGIES.get(strategy) if isinstance(strategy, str) else None
    if kind is None:
        return notice("manifest.trunk_strategy", strategy=_written(strategy), known=known)
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    fields = {field.name: field for field in info.fields}
    for name in sorted(given - fields.keys()):
        known = ", ".join(fields)
        return notice(f"manifest.trunk_{'unknown' if fields else 'local'}", field=name, strategy=strategy, known=known)
    for name, field in fields.items():
        if name not in given and field.required:
            return notice("manifest.trunk_missing", field=name, strategy=strategy, allowed=_allowed(name, field.type))
    for one in msgspec.structs.fields(kind):
        try:
            msgspec.convert(table.get(one.name, one.default), one.type)
        except msgspec.ValidationError:
            value, allowed = _written(table[one.name]), _allowed(one.name, fields[one.name].type)
            return notice("manifest.trunk_value", field=one.name, value=value, allowed=allowed)
    return None


def _written(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _allowed(name: str, kind: inspect.Type) -> Notice:
    """What a field may be.

    Args:
        name: of the field; texts and lists have a sentence of their own for it.
        kind: of its values.
    """
    if isinstance(kind, inspect.UnionType):
        [one] = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return notice("manifest.allowed_or_null", what=_allowed(name, one))
    if isinstance(kind, inspect.IntType):
        return notice("manifest.allowed_whole", least=kind.ge, most=kind.le)
    if isinstance(kind, inspect.FloatType):
        least = kind.ge if kind.gt is None else kind.gt
        code = "number" if kind.gt is None else "above"
        return notice(f"manifest.allowed_{code}", least=f"{least:g}", most=f"{kind.le:g}")
    if isinstance(kind, inspect.BoolType):
        return notice("manifest.allowed_switch")
    if isinstance(kind, inspect.LiteralType):
        return notice("manifest.allowed_words", known=", ".join(map(str, kind.values)))
    return notice(f"manifest.allowed_{name}")
