"""What a field of a manifest may be, in words for who wrote it: made from the field's type."""

import json
from typing import Any

from msgspec import inspect

from core.contracts.model import LINE
from core.contracts.notices import Notice, notice

SHOWN = 80
"""Characters of a value that are repeated."""
IN_WORDS = {
    "bootstrap": "bootstrap",
    "brokers": "brokers",
    "data": "name",
    "end": "moment",
    "expert": "name",
    "kind": "name",
    "needs": "needs",
    "run": "name",
    "servers": "servers",
    "sha256": "sha256",
    "start": "moment",
    "store": "store",
}
"""Which sentence says what a text may be that has a pattern, by the name of its field."""


def written(value: Any) -> str:
    """A value as it stands in a document, cut in its middle where it is long."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    half = SHOWN // 2  # what is wrong may be at the end, as an address after a key
    return text if len(text) <= SHOWN else f"{text[:half]}...{text[-half:]}"


def allowed(name: str, kind: inspect.Type) -> Notice:
    """What a field may be.

    Args:
        name: of the field, or of the list that the value is in.
        kind: of its values.
    """
    match kind:
        case inspect.UnionType():
            [one] = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            return notice("manifest.allowed_or_null", what=allowed(name, one))
        case inspect.IntType():
            return notice("manifest.allowed_whole", least=kind.ge, most=kind.le)
        case inspect.FloatType(le=None):
            return notice("manifest.allowed_more", least=f"{kind.gt:g}")
        case inspect.FloatType(gt=None):
            return notice("manifest.allowed_number", least=f"{kind.ge:g}", most=f"{kind.le:g}")
        case inspect.FloatType():
            return notice("manifest.allowed_above", least=f"{kind.gt:g}", most=f"{kind.le:g}")
        case inspect.BoolType():
            return notice("manifest.allowed_switch")
        case inspect.LiteralType():
            return notice("manifest.allowed_words", known=", ".join(map(str, kind.values)))
        case inspect.VarTupleType() if name not in IN_WORDS:
            return notice("manifest.allowed_list", most=kind.max_length or 0)
        case inspect.BytesType():
            return notice("manifest.allowed_picture", most=(kind.max_length or 0) >> 10)
        case inspect.StructType():
            return notice("manifest.allowed_table", known=", ".join(field.name for field in kind.fields))
        case inspect.StrType(pattern=pattern) if pattern == LINE:
            return notice("manifest.allowed_text", least=kind.min_length or 0, most=kind.max_length or 0)
        case inspect.StrType(pattern=pattern) if name not in IN_WORDS:
            return notice("manifest.allowed_pattern", pattern=pattern)
    return notice(f"manifest.allowed_{IN_WORDS[name]}")
