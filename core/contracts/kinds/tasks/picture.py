"""Telling what a picture shows."""

from core.contracts.kinds.declarations import TaskKind

KIND = TaskKind("picture", unit="picture", takes="picture", gives="classes")
