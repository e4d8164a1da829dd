"""What a bundle is made of: the list of its parts (CycloneDX), and the licences of all of them."""

import ast
import json
import platform
import re
import subprocess
import sys
import sysconfig
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from app.program_files import licence_of

LICENCE_FILE = re.compile(r"licen[cs]e|copying|copyright|notice|authors", re.IGNORECASE)
COMMON = Path("/usr/share/common-licenses")
"""Where Debian keeps the texts that many share."""
QTS = ("LGPL-3", "GPL-3")
SHARED = {"pyside6_essentials": QTS, "shiboken6": QTS, "tokenizers": ("Apache-2.0",)}
"""Wheels without a licence's text, and which of the common texts are theirs."""
IN_THE_SOURCE = {"nvidia-ml-py": "pynvml"}
"""Has its licence at the beginning of a module only."""


class Part(NamedTuple):
    """Something that is shipped."""

    name: str
    version: str
    licence: str
    """In a few words; empty if its text alone tells."""
    texts: tuple[str, ...]
    purl: str
    """Its name among all packages of the world."""


def parts_of(internal: Path) -> list[Part]:
    """All that is shipped, by name.

    Args:
        internal: the bundle's folder of libraries.

    Raises:
        RuntimeError: a part has no licence's text.
    """
    parts = [_python(), *_of_the_system(internal), *_of_pypi(internal)]
    if mute := [part.name for part in parts if not part.texts and sys.platform == "linux"]:
        raise RuntimeError(f"no licence's text: {', '.join(mute)}")
    return sorted(parts, key=lambda part: part.name.casefold())


def bill(parts: list[Part], version: str, at: int) -> str:
    """The list of parts, in CycloneDX's format (JSON, 1.6).

    Args:
        version: Hearth's.
        at: seconds since 1970: that of the sources.
    """
    components: list[dict[str, Any]] = []
    for part in parts:
        about = {"type": "library", "name": part.name, "version": part.version, "purl": part.purl, "bom-ref": part.purl}
        components.append({**about, **({"licenses": [{"license": {"name": part.licence}}]} if part.licence else {})})
    itself = {"type": "application", "name": "hearth", "version": version, "bom-ref": f"hearth@{version}"}
    made = {"timestamp": datetime.fromtimestamp(at, UTC).isoformat(), "component": itself}
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": made, "components": components}
    return json.dumps(whole, indent=1) + "\n"


def licences(parts: list[Part], own: str) -> str:
    """One text with the licences of everything.

    Args:
        own: that of Hearth.
    """
    chapters = [f"Hearth\n\n{own}"]
    chapters += [f"{part.name} {part.version}\n{part.licence}\n\n" + "\n\n".join(part.texts) for part in parts]
    return f"\n\n{'=' * 80}\n".join(chapters)


def _python() -> Part:
    version = platform.python_version()
    places = [Path(sysconfig.get_path("stdlib"), "LICENSE.txt"), *Path("/usr/share/doc").glob("python3.*/copyright")]
    texts = tuple(_text(path) for path in places if path.is_file())[:1]
    return Part("Python", version, "PSF-2.0", texts, f"pkg:generic/python@{version}")


def _of_pypi(internal: Path) -> list[Part]:
    parts = []
    for folder in sorted(internal.glob("*.dist-info")):
        one = metadata.Distribution.at(folder)
        name = one.name.lower()
        files = sorted(path for path in folder.rglob("*") if LICENCE_FILE.search(path.name) and path.is_file())
        texts = tuple(_text(path) for path in files)
        if not texts and name in SHARED and COMMON.is_dir():
            texts = tuple(_text(COMMON / which) for which in SHARED[name])
        elif not texts and name in IN_THE_SOURCE:
            texts = (_comment(IN_THE_SOURCE[name]),)
        if name != "hearth":
            purl = f"pkg:pypi/{name}@{quote(one.version)}"
            parts.append(Part(one.name, one.version, licence_of(one.metadata), texts, purl))
    return parts


def _of_the_system(internal: Path) -> list[Part]:
    """Debian's packages of the few libraries of the system that are shipped."""
    parts = []
    for path in sorted(internal.glob("*.so*")) if sys.platform == "linux" else ():
        asked = ["dpkg-query", "-S", f"*/{path.name}"]
        owner = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.partition(":")[0]
        if not owner:
            continue  # of a wheel
        asked = ["dpkg-query", "-W", "-f", "${Version}", owner]
        version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.partition(" ")[0]
        texts = (_text(Path("/usr/share/doc", owner, "copyright")),)
        parts.append(Part(owner, version, "", texts, f"pkg:deb/debian/{owner}@{quote(version)}"))
    return parts


def _comment(module: str) -> str:
    """What the source of a module says before its first line of code."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    lines = Path(spec.origin).read_text(encoding="utf-8").splitlines()
    first = ast.parse("\n".join(lines)).body[0].lineno
    return "\n".join(line.lstrip("# ") for line in lines[: first - 1])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip()
