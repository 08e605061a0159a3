"""A wheel, an sdist and an editable install, each in an environment of its own: the command runs from an empty folder and finds its data.

The environments see the packages of the one that runs the tests through a .pth file, so that nothing is downloaded and each takes seconds;
gpusim itself always comes from the artefact under test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = [p for folder in ("configs", "validate/data") for p in sorted((ROOT / "gpusim" / folder).rglob("*")) if p.suffix in (".yaml", ".xz", ".json")]


def _run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed, away from the PYTHONPATH of whoever runs the tests."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built sdist and wheel."""
    out = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", out, cwd=ROOT)
    return out


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *what: str | Path) -> None:
        options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation")
        _run(sys.executable, "-m", "pip", "--python", self.python, "install", *options, *what, cwd=self.folder)


@pytest.fixture()
def environment(tmp_path: Path) -> Environment:
    folder = tmp_path / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=tmp_path)
    made = Environment(folder)
    site = Path(_run(made.python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=tmp_path).strip())
    (site / "borrowed.pth").write_text("\n".join(dict.fromkeys(sysconfig.get_paths()[key] for key in ("purelib", "platlib"))))
    return made


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_installs_and_runs_from_an_empty_folder(kind: str, artefacts: Path, environment: Environment, tmp_path: Path) -> None:
    what: dict[str, list[str | Path]] = {"wheel": [*artefacts.glob("*.whl")], "sdist": [*artefacts.glob("*.tar.gz")], "editable": ["-e", ROOT]}
    environment.install(*what[kind])
    empty = tmp_path / "empty"
    empty.mkdir()
    home = ROOT if kind == "editable" else environment.folder
    place = _run(environment.python, "-c", "import gpusim; print(gpusim.__file__)", cwd=empty).strip()
    assert Path(place).is_relative_to(home)
    listed = _run(environment.folder / "bin" / "gpusim", "devices", cwd=empty)
    assert [name for name in _specs() if name not in listed] == []
    shipped = "from gpusim.validate.cases import read, shipped; print(*(len(read(name)) for name in shipped()))"
    assert int(_run(environment.python, "-c", shipped, cwd=empty).split()[0]) > 1000
    assert not list(empty.iterdir())


def test_the_wheel_holds_every_data_file_and_no_test(artefacts: Path) -> None:
    (wheel,) = artefacts.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert _specs() and {str(p.relative_to(ROOT)) for p in DATA} <= held
    assert not [name for name in held if name.startswith("tests/")]


def _specs() -> list[str]:
    return [p.stem for p in DATA if p.suffix == ".yaml" and p.stem != "aliases"]
