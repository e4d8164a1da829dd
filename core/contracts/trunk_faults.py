"""What is wrong with the `trunk` of a manifest, in words for who wrote it."""

from typing import get_args

import msgspec
from msgspec import inspect

from core.contracts.allowed import allowed, written
from core.contracts.notices import Notice, notice
from core.contracts.trunk import Trunk

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
        return notice("manifest.trunk_strategy", strategy=written(strategy), known=known)
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    fields = {field.name: field for field in info.fields}
    for name in sorted(given - fields.keys()):
        known = ", ".join(fields)
        return notice(f"manifest.trunk_{'unknown' if fields else 'local'}", field=name, strategy=strategy, known=known)
    for name, field in fields.items():
        if name not in given and field.required:
            return notice("manifest.trunk_missing", field=name, strategy=strategy, allowed=allowed(name, field.type))
    for one in msgspec.structs.fields(kind):
        try:
            msgspec.convert(table.get(one.name, one.default), one.type)
        except msgspec.ValidationError:
            value, told = written(table[one.name]), allowed(one.name, fields[one.name].type)
            return notice("manifest.trunk_value", field=one.name, value=value, allowed=told)
    return None
