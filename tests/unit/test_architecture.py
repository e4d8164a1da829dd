"""The rules of the layout: imports go one way, and no process imports what it must not."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    "core.control.messages",
    "core.community.messages",
    "core.compute.messages",
    "core.experts.grid",
    "core.experts.calls",
    "core.net.messages",
}
"""Leaves that both ends import."""
LAYERS = [
    {"core.errors"},
    {
        "core.logs",
        "core.policy.schedule",
        "core.settings",
        "core.settings_file",
        "core.consent",
        "core.manifest",
        "core.identity",
        "core.key_file",
        "core.hardware",
    },
    {"core.net"},
    {"core.dht"},
    {"core.experts"},
    {"core.runtime", "core.training", "core.policy", "core.community"},
    {"core.compute", "core.worker"},
    {"core.control"},
    {"core.cli", "core.commands", "core.__main__"},
    {"app"},
]


def modules() -> dict[str, Path]:
    found = {}
    for top in ("core", "app"):
        for path in (ROOT / top).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = path
    return found


def imports(path: Path) -> set[str]:
    """Project modules imported anywhere in a file, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    known = modules()
    return {name for name in names if name in known and known[name].stem != "__init__"}


def layer(module: str) -> int:
    for index, names in enumerate(LAYERS):
        if any(module == name or module.startswith(name + ".") for name in names):
            return index
    raise AssertionError(f"{module} is in no layer: add it to LAYERS")


def test_imports_go_one_way() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, path in modules().items()
        if path.stem != "__init__"
        for target in imports(path) - CONTRACTS
        if layer(target) > layer(module)
    ]
    assert wrong == []


def test_contracts_are_leaves() -> None:
    known = modules()
    allowed = CONTRACTS | {"core.errors", "core.manifest", "core.settings"}
    assert {name: imports(known[name]) - allowed for name in CONTRACTS} == {name: set() for name in CONTRACTS}


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


HEAVY = {"torch", "numpy", "PySide6", "sklearn", "scipy", "PIL"}
NETWORK = {"iroh", "kademlia", "zeroconf", "cryptography"}


@pytest.mark.parametrize(
    ("entry", "forbidden"),
    [
        ("core.control.start", HEAVY | NETWORK),  # a worker that is alone
        ("core.worker.network", HEAVY),
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
        tree = ast.parse(path.read_text("utf8"))
        names = {
            alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {
            node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
        }
        assert "PySide6" not in names or module.startswith("app"), module
        assert "torch" not in names or not module.startswith("app"), module
        assert not names & {"pickle", "marshal", "shelve", "dill"}, module
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"eval", "exec"}, module
