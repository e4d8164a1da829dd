"""The rules of the layout: imports go one way, and no process imports what it must not."""

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = [
    {"core.contracts", "core.version"},
    {
        "core.logs",
        "core.event_loop",
        "core.hardware",
        "core.key_file",
        "core.identity",
        "core.access",
        "core.puzzle",
        "core.regular_files",
        "core.experts.grid",
    },
    {"core.pipe", "core.store", "core.consent", "core.system", "core.update"},
    {"core.net"},
    {"core.dht"},
    {"core.experts", "core.averaging"},
    {"core.runtime", "core.policy", "core.community", "core.averaging"},
    {"core.training"},
    {"core.compute", "core.swarm", "core.policy.limits"},
    {"core.worker"},
    {"core.control"},
    {"core.cli", "core.commands", "core.__main__"},
    {"app"},
]
"""From the ground up: a module imports only of its own layer and those below; the longest name that fits counts."""


@functools.cache
def modules() -> dict[str, Path]:
    found = {}
    for top in ("core", "app"):
        for path in (ROOT / top).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = path
    return found


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf8"))))


@functools.cache
def imports(path: Path) -> set[str]:
    """Project modules imported anywhere in a file, also inside functions."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    known = modules()
    return {name for name in names if name in known and known[name].stem != "__init__"}


def layer(module: str) -> int:
    fits = {
        name: index
        for index, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(name + ".")
    }
    assert fits, f"{module} is in no layer: add it to LAYERS"
    return fits[max(fits, key=len)]


def test_imports_go_one_way() -> None:
    wrong = {
        f"{module} imports {target}"
        for module, path in modules().items()
        if path.stem != "__init__"
        for target in imports(path)
        if layer(target) > layer(module)
    }
    assert wrong == set()


def test_there_are_no_cycles() -> None:
    graph = {module: imports(path) for module, path in modules().items()}
    finished: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail, module])
        if module not in finished:
            for target in graph[module]:
                visit(target, (*trail, module))
            finished.add(module)

    for module in graph:
        visit(module, ())


def test_package_files_are_empty() -> None:
    assert [str(path) for path in modules().values() if path.stem == "__init__" and path.read_text().strip()] == []


WORKER_SIDE = {
    "contracts",
    "pipe",
    "store",
    "net",
    "dht",
    "policy",
    "community",
    "swarm",
    "worker",
    "control",
    "commands",
}
"""Packages that run in the worker, or in a process as light; `core.cli` starts each of the processes."""


def averages(name: str) -> bool:
    """Whether a module is loaded by its name, and only for a run whose trainers agree on the trunk."""
    return name.startswith("core.swarm.trunk.") and name != "core.swarm.trunk.agreement"


def foreign(path: Path) -> set[str]:
    """Top-level packages that a file names in any import."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def reached(module: str, graph: dict[str, set[str]]) -> set[str]:
    """A module and all of ours that it imports, at once or through others."""
    found, waiting = set(), [module]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += graph[name]
    return found


@pytest.mark.parametrize(
    ("side", "forbidden"),
    [
        (
            lambda name: name.startswith("core.") and name.split(".")[1] in WORKER_SIDE and not averages(name),
            {"torch", "numpy", "PySide6"},
        ),
        (lambda name: averages(name) or name.startswith("core.averaging"), {"torch", "PySide6"}),
        (lambda name: name.startswith("core.compute"), {"socket", "iroh", "zeroconf", "ssl", "PySide6"}),
        (lambda name: name.startswith("app"), {"torch", "numpy", "sklearn", "iroh"}),
    ],
    ids=["worker", "averaging", "compute", "app"],
)
def test_no_side_leads_to_what_it_must_not_load(side: Callable[[str], bool], forbidden: set[str]) -> None:
    """Also by a detour over other modules, and inside functions."""
    known = modules()
    graph = {name: imports(path) for name, path in known.items()}
    named = {name: foreign(path) for name, path in known.items()}
    wrong = {
        f"{name} leads to {target}"
        for name in filter(side, known)
        for target in reached(name, graph)
        if named[target] & forbidden
    }
    assert wrong == set()


HEAVY = {"torch", "numpy", "PySide6", "sklearn", "scipy", "PIL"}
NETWORK = {"iroh", "kademlia", "zeroconf", "cryptography"}


@pytest.mark.parametrize(
    ("entry", "forbidden"),
    [
        ("core.control.start", HEAVY | NETWORK),
        ("core.worker.network", HEAVY | {"aiomqtt", "paho"}),
        ("core.swarm.trunk.dedloc", {"scipy", "torch", "PySide6"}),  # scipy with the first group of three
        ("core.cli", HEAVY | NETWORK | {"asyncio", "rich", "psutil"}),  # every command starts with it
        ("core.compute.process", {"PySide6", "rich", "sklearn"}),
        ("app.__main__", {"torch", "numpy", "sklearn", "asyncio"}),  # before the first window
    ],
)
def test_no_process_imports_what_it_must_not(entry: str, forbidden: set[str]) -> None:
    script = f"import sys, json, {entry}; print(json.dumps(sorted(m for m in sys.modules if '.' not in m)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert set(json.loads(done.stdout)) & forbidden == set()


def test_the_core_has_no_qt_and_nothing_unpickles() -> None:
    for module, path in modules().items():
        names = foreign(path)
        assert "PySide6" not in names or module.startswith("app"), module
        assert "torch" not in names or not module.startswith("app"), module
        assert not names & {"pickle", "marshal", "shelve", "dill"}, module
        calls = {node.func.id for node in nodes(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not calls & {"eval", "exec"}, module
