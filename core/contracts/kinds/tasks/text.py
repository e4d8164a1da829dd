"""Going on with a text, byte by byte."""

from core.contracts.kinds.declarations import TaskKind

KIND = TaskKind("text", unit="bytes", in_tokens=True, takes="text", gives="text")
