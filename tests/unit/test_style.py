"""The rules of the style that a program can check: lengths, imports at the top, arguments described by name."""

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.workers import ROOT

MODULES = sorted(path for top in ("app", "core") for path in (ROOT / top).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
"""Lines."""
REASON = re.compile(r"\b(longer than|400 lines|one file because)\b", re.IGNORECASE)
"""With which a longer module says in its first lines why it is one."""
FIRST_LINES = 20

LATER_IMPORTS = {
    # Modules of another operating system, or a library that is not there on each.
    "core/compute/priority.py": 1,
    "core/pipe/compute_end.py": 1,
    "core/policy/limits/stay_awake.py": 3,
    "core/policy/limits/system_limits.py": 2,
    "core/policy/signals/linux/sources.py": 3,
    "core/policy/signals/watch.py": 3,
    "core/runtime/out_of_memory.py": 1,
    "app/screensaver/embedded.py": 1,
    "app/system/desktop_notes.py": 2,
    "app/system/reduced_motion.py": 1,
    # A command or a process loads only what it needs: `test_no_process_imports_what_it_must_not`.
    "app/widgets/qr_picture.py": 1,
    "core/update/trial.py": 1,
    "core/cli.py": 1,
    "core/compute/process.py": 1,
    "core/commands/running.py": 4,
    "core/commands/keys.py": 3,
    "core/worker/opening.py": 1,
    "core/community/telemetry.py": 1,
    "app/__main__.py": 1,
    "core/contracts/signed.py": 2,
    "core/net/heap.py": 1,
    # Data that few runs need.
    "core/contracts/notices.py": 2,
    "core/store/shards.py": 2,
}
"""Imports inside functions, by module, each group with its reason. Only ever lower a number."""
TYPES_ONLY = {
    "core/net/relayed.py": 1,
    "core/swarm/incoming_calls.py": 1,
}
"""`if TYPE_CHECKING` blocks, by module. Only ever take from it."""
LONG_MODULES: set[str] = set()
"""Too long, without a reason, while the house is rebuilt. Only ever take from it."""
LONG_FUNCTIONS = {"tests/package/test_installed.py: test_installed_used_and_removed_without_a_trace"}
"""Likewise: a walk each of whose steps needs the one before."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf8"))))


def imports_in_functions(path: Path) -> int:
    inside = {
        node
        for function in nodes(path)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(inside)


def imports_for_types(path: Path) -> int:
    return sum(isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" for node in nodes(path))


def test_imports_stand_at_the_top() -> None:
    found = {short(path): imports_in_functions(path) for path in MODULES}
    assert {name: count for name, count in found.items() if count > LATER_IMPORTS.get(name, 0)} == {}


def test_nothing_is_imported_for_types_alone() -> None:
    found = {short(path): imports_for_types(path) for path in MODULES}
    assert {name: count for name, count in found.items() if count > TYPES_ONLY.get(name, 0)} == {}


def test_a_module_is_short_or_says_why_not() -> None:
    def is_too_long(path: Path) -> bool:
        lines = path.read_text("utf8").splitlines()
        return len(lines) > LONGEST_MODULE and not REASON.search("\n".join(lines[:FIRST_LINES]))

    assert {short(path) for path in MODULES if is_too_long(path)} <= LONG_MODULES


def test_functions_are_short() -> None:
    long = {
        f"{short(path)}: {node.name}"
        for path in (*MODULES, *TESTS)
        for node in nodes(path)
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    }
    assert long <= LONG_FUNCTIONS


def describes_in_one_line(path: Path) -> bool:
    documented = (node for node in nodes(path) if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)))
    return any(re.search(r"Args:[ \t]+\S", ast.get_docstring(node) or "") for node in documented)


def test_docstrings_name_each_argument() -> None:
    assert {short(path) for path in (*MODULES, *TESTS) if describes_in_one_line(path)} == set()


@pytest.mark.parametrize("names", [LATER_IMPORTS, TYPES_ONLY, LONG_MODULES], ids=["later", "types", "long"])
def test_exceptions_are_of_modules_that_exist(names: object) -> None:
    assert isinstance(names, dict | set)
    assert {name for name in names if not (ROOT / name).exists()} == set()
