"""What is wrong with a document that is to be a manifest: each fault with its path, in words for who wrote it."""

import difflib
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import inspect

from core.contracts.allowed import allowed, written
from core.contracts.notices import Notice, notice
from core.contracts.positions import Path
from core.contracts.trunk import Trunk
from core.contracts.trunk_faults import fault_of


class Fault(NamedTuple):
    """One thing that is wrong."""

    path: Path
    what: Notice


def faults_in(kind: type[msgspec.Struct], fields: dict[str, Any]) -> Iterator[Fault]:
    """All that keeps a document from being of a type, in the order of the type's fields; those that nothing knows
    first.

    Args:
        kind: the type of the whole document.
        fields: the document, as JSON or TOML have it.
    """
    tables = [(name, of) for name, of in _types(kind).items() if _is_struct(of)]
    yield from _in_table(kind, fields, (), {key: name for name, of in tables for key in _types(_bare(of))})


def _in_table(
    kind: type[msgspec.Struct], table: dict[str, Any], path: Path, elsewhere: dict[str, str] | None = None
) -> Iterator[Fault]:
    types, info = _types(kind), inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    described = {field.name: field for field in info.fields}
    meant = set()
    for name in sorted(table.keys() - types):
        fault = _unknown(name, list(types), path, elsewhere or {})
        meant.add(fault.args.get("meant"))
        yield Fault((*path, name), fault)
    for name, of in types.items():
        here = (*path, name)
        if name in table:
            yield from _in_value(of, table[name], here, described[name].type)
        elif described[name].required and name not in meant:  # else that is told already
            yield Fault(
                path, notice("manifest.field_missing", field=_dotted(here), allowed=allowed(name, described[name].type))
            )


def _in_value(of: Any, value: Any, path: Path, described: inspect.Type) -> Iterator[Fault]:
    if of == Trunk:
        if (fault := fault_of(value)) is not None:
            name = fault.args.get("field", "strategy")
            yield Fault((*path, str(name)) if isinstance(value, dict) and name in value else path, fault)
        return
    try:
        msgspec.convert(value, of)
        return
    except msgspec.ValidationError:
        pass
    bare = _bare(of)
    if _is_struct(bare) and isinstance(value, dict):
        yield from _in_table(bare, value, path)
    elif get_origin(bare) is tuple and isinstance(value, list) and _fits_in_length(described, value):
        one = get_args(bare)[0]
        for number, each in enumerate(value):
            yield from _in_value(one, each, (*path, number), inspect.type_info(one))
    else:
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        told = allowed(name, described)
        yield Fault(path, notice("manifest.field_value", field=_dotted(path), value=written(value), allowed=told))


def _unknown(name: str, known: list[str], path: Path, elsewhere: dict[str, str]) -> Notice:
    """A key that there is not: one that is much like it may be meant, or the same one in another table."""
    if name in elsewhere:
        return notice("manifest.field_elsewhere", field=name, meant=f"{elsewhere[name]}.{name}", table=elsewhere[name])
    if near := difflib.get_close_matches(name, known, 1):
        return notice("manifest.field_meant", field=_dotted((*path, name)), meant=near[0])
    return notice("manifest.field_unknown", field=_dotted((*path, name)), known=", ".join(known))


def _fits_in_length(described: inspect.Type, value: list[Any]) -> bool:
    least, most = getattr(described, "min_length", None), getattr(described, "max_length", None)
    return (least or 0) <= len(value) and (most is None or len(value) <= most)


def _types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _bare(of: Any) -> Any:
    """A type without what is annotated, and without None."""
    while get_origin(of) is Annotated:
        of = get_args(of)[0]
    others = [one for one in get_args(of) if one is not type(None)]
    return _bare(others[0]) if type(None) in get_args(of) and len(others) == 1 else of


def _is_struct(of: Any) -> bool:
    bare = _bare(of)
    return isinstance(bare, type) and issubclass(bare, msgspec.Struct)


def _dotted(path: Path) -> str:
    """training.batch, shards[3].size."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
