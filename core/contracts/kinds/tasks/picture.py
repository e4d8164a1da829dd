"""Telling what a picture shows."""

from core.contracts.kinds.declarations import TaskKind

KIND = TaskKind("picture", unit="samples", in_tokens=False, takes="picture", gives="classes")
