"""Output files, tested before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from gpusim.errors import GpusimError


def check_writable(path: str | Path | None, option: str) -> None:
    """Raises GpusimError if `path` cannot be written; leaves no trace. None and "-" (stdout) pass."""
    if path is None or str(path) == "-":
        return
    path = Path(path)
    if not path.parent.is_dir():
        raise GpusimError(f"cannot write {path}: the folder {path.parent} does not exist.", where=option, hint="Create it, or choose another place.")
    new = not path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise GpusimError(f"cannot write {path}: {error.strerror}.", where=option, hint="Choose another place.") from None
    if new:
        path.unlink()


def check_picture(path: str | Path | None, option: str) -> None:
    """Also raises if the suffix names no picture format."""
    formats = (".png", ".svg", ".pdf")
    if path is not None and Path(path).suffix.lower() not in formats:
        raise GpusimError(f"'{path}' names no picture format.", where=option, hint=f"End it in {', '.join(formats)}.")
    check_writable(path, option)


def write_text(path: str | Path, text: str) -> None:
    """Write all of `text` or nothing: a reader never sees half a file."""
    path = Path(path)
    # a device or a pipe cannot be replaced
    part = path.with_name(f".{path.name}.{os.getpid()}.part") if path.is_file() or not path.exists() else path
    part.write_text(text, encoding="utf-8")
    if part != path:
        part.replace(path)
