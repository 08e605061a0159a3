"""The house rules that a reader cannot see from one file: who imports whom, what import may cost, where a product may be named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "gpusim"
FILES = sorted(PACKAGE.rglob("*.py"))

ALL_BELOW = "errors probe calibrate options spec ir effects engine trace frontend lower kernels interp parts devices launch report sweeps validate cuda "
ALL_BELOW += "triton api"

#: part of the package -> the other parts it may import. `a.b` allows that one module. The layers of docs/architecture.md.
MAY_IMPORT = {
    "errors": "",
    "spec": "errors",
    "ir": "errors",
    "engine": "errors trace",
    "trace": "errors",
    "effects": "errors ir.types ir.expr ir.ops",
    "lower": "errors ir effects spec",
    "frontend": "errors ir cuda.intrinsics cuda.types triton.markers",
    "kernels": "errors ir cuda triton frontend",
    "interp": "errors ir effects trace lower.simt.code",
    "parts": "errors engine trace effects spec.resolve",
    "devices": "errors spec ir parts engine trace effects lower.simt.code lower.simt.mnemonics",
    "launch": "errors spec ir effects engine trace frontend lower kernels interp parts devices",
    "report": "errors trace spec parts.systolic_frames",
    "options": "errors report.protocol",
    "sweeps": "errors options spec ir trace kernels launch report",
    "calibrate": "errors spec",
    "probe": "errors spec ir trace cuda kernels launch devices parts report",
    "validate": "errors spec ir trace kernels launch report probe",
    "cuda": "errors options spec ir trace frontend launch report",
    "triton": "errors ir frontend interp launch report cuda.devices cuda.launching cuda.streams",
    "types": "cuda.types",
    "api": "errors options spec ir trace kernels interp launch report sweeps cuda triton",
    "cli": ALL_BELOW,
    "configs": "",
    "__init__": ALL_BELOW,
    "__main__": "errors cli",
}

#: imported where used, because `import gpusim` must stay quick; the command line alone may have them at the top
HEAVY = {"matplotlib", "pandas", "typer", "rich", "joblib", "jinja2", "ml_dtypes", "scipy"}

#: places that may say the name of a product: the specs, the command line's defaults and examples, the mapping of measured cases
PRODUCT_PLACES = ("configs/", "cli/", "api.py", "validate/mapping.py")
PRODUCT = re.compile(r"\b(v100|a100|h100|h200|b200|gh200|rtx ?\d{4})\b", re.IGNORECASE)


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything imported; relative imports keep their dots. What is reached through a plain `import gpusim` counts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name != "gpusim" or alias.asname)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gpusim":
            yield node.lineno, f"gpusim.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _allowed(part: str, module: str) -> bool:
    """Whether `part` may import `module` ("gpusim.spec.load.load_spec")."""
    inner = module.removeprefix("gpusim.")
    return inner == "__version__" or inner.split(".")[0] == part or any(inner == a or inner.startswith(a + ".") for a in MAY_IMPORT[part].split())


def _violations(path: Path, source: str) -> list[str]:
    found = []
    for line, module in _imports(ast.parse(source)):
        if module.startswith("."):
            found.append(f"{path}:{line} relative import {module}")
        elif module.split(".")[0] == "gpusim" and not _allowed(_part(path), module):
            found.append(f"{path}:{line} {_part(path)} imports {module}")
    return found


def test_every_part_has_its_rule() -> None:
    assert {_part(f) for f in FILES} <= set(MAY_IMPORT)


def test_nobody_imports_upwards() -> None:
    assert not [v for f in FILES for v in _violations(f, f.read_text())]


@pytest.mark.parametrize(
    "where, source, refused",
    [
        ("parts/tags.py", "from gpusim.spec.resolve import Gpu", False),
        ("parts/tags.py", "from gpusim.spec.device import GpuSpec", True),
        ("spec/load.py", "import gpusim.ir.types", True),
        ("spec/load.py", "from gpusim.spec.device import GpuSpec", False),
        ("sweeps/run.py", "def f():\n    from gpusim.cli import app", True),
        ("ir/show.py", "from . import ops", True),
        ("effects.py", "from gpusim.ir.typesetting import x", True),
        ("report/report.py", "from gpusim import kernels", True),
        ("report/report.py", "import gpusim\ngpusim.kernels", True),
        ("report/report.py", "import gpusim as gs", True),
        ("report/report.py", "import gpusim\nprint(gpusim.__version__)", False),
    ],
)
def test_the_rule_sees_what_it_forbids(where: str, source: str, refused: bool) -> None:
    assert bool(_violations(PACKAGE / where, source)) == refused


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    found = []
    for path in FILES:
        if _part(path) not in ("cli", "__main__"):
            top = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
            found += [f"{path}:{line} {name}" for node in top for line, name in _imports(node) if name.split(".")[0] in HEAVY]
    assert not found


def test_products_are_named_in_their_places_only() -> None:
    found = []
    for path in FILES:
        if not str(path.relative_to(PACKAGE)).startswith(PRODUCT_PLACES):
            found += [f"{path}:{line} {text!r}" for line, text in _code_strings(ast.parse(path.read_text())) if PRODUCT.search(text)]
    assert not found


def _code_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of string constants and names that act, which docstrings do not."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id.replace("_", " ")
