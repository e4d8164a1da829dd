"""A text in bytes: what is wanted is every byte's next one. The manifest's shards are the text."""

from core.contracts.kinds.declarations import DataKind, Ends

KIND = DataKind("text", lambda model: Ends(model.sequence or 0, 256))
