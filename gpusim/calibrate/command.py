"""The command `gpusim calibrate`: records in, a specification out."""

from __future__ import annotations

import os
from pathlib import Path

from gpusim.calibrate.derive import Calibration, derive
from gpusim.calibrate.records import read
from gpusim.calibrate.text import yaml_text
from gpusim.errors import GpusimError
from gpusim.spec.load import canonical, load_gpu

_SUFFIXES = (".yaml", ".yml")


def calibrate(file: str, base: str) -> Calibration:
    """What the microbenchmark records in `file` say of a GPU like `base` (a name, or the path of a YAML file)."""
    return derive(read(file), load_gpu(base))


def write(calibration: Calibration, base: str, out: str) -> None:
    """Writes the specification to `out` (.yaml, .yml). Nothing is left if `load_spec` refuses it: GpusimError with the field."""
    path = Path(out)
    if path.suffix.lower() not in _SUFFIXES:
        raise GpusimError(f"'{out}' does not end in .yaml or .yml, so no command would read it as a GPU.", where="--output", hint="Call it my-gpu.yaml.")
    if base.lower().endswith(_SUFFIXES) and path.resolve() == Path(base).resolve():
        raise GpusimError(f"'{out}' is the base itself.", where="--output", hint="Write to another file.")
    text = yaml_text(calibration, path.stem, _from(base, path))
    part = path.with_name(f".{path.stem}.{os.getpid()}.part.yaml")
    try:
        part.write_text(text, encoding="utf-8")
        load_gpu(part)
        part.replace(path)
    except GpusimError as error:
        hint = "The records contradict the base in this field; choose a nearer base."
        raise GpusimError(f"makes no valid GPU on {calibration.base}: {error.what}", where=calibration.file, hint=hint) from None
    except OSError as error:
        raise GpusimError(f"cannot be written ({error.strerror or error}).", where=out, hint="Choose another place.") from None
    finally:
        part.unlink(missing_ok=True)


def _from(base: str, path: Path) -> str:
    """How the file at `path` names its base."""
    return os.path.relpath(Path(base).resolve(), path.resolve().parent) if base.lower().endswith(_SUFFIXES) else canonical(base)
