"""Finished points on disk: one JSON line each, written and flushed when the point ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from gpusim.errors import GpusimError


class Cache:
    """A file of lines {"key": ..., "row": {...}}. A line that a kill cut in half is passed over; its point runs again."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def load(self) -> dict[str, dict[str, Any]]:
        """key -> row of every whole line; {} if there is no file yet."""
        if not self.path.exists():
            return {}
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise GpusimError(f"cannot read the kept points: {error.strerror}.", where=str(self.path)) from None
        return dict(_rows(text))

    @contextmanager
    def appending(self) -> Iterator[Appender]:
        """Open the file for more points."""
        appender = Appender(self.path)
        try:
            yield appender
        finally:
            appender.close()


class Appender:
    """Adds lines to a cache file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise self._cannot(error) from None
        if cut:
            self._file.write("\n")

    def add(self, key: str, row: dict[str, Any]) -> None:
        # one write and one flush: a kill loses the line or leaves a half one, never an earlier one
        try:
            self._file.write(json.dumps({"key": key, "row": row}) + "\n")
            self._file.flush()
        except OSError as error:
            raise self._cannot(error) from None

    def close(self) -> None:
        self._file.close()

    def _cannot(self, error: OSError) -> GpusimError:
        return GpusimError(f"cannot keep points: {error.strerror}.", where=str(self._path), hint="Choose another place with --cache or cache=.")


def _rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("key"), str) and isinstance(entry.get("row"), dict):
            yield entry["key"], entry["row"]
