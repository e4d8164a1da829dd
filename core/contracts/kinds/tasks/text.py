"""Going on with a text, byte by byte."""

from core.contracts.kinds.declarations import TaskKind

KIND = TaskKind("text", unit="byte", takes="text", gives="text")
