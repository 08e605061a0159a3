"""Pack a folder of measurements into the package: `python -m tests.hardware.pack FOLDER NAME` (from the root of the repository)."""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "gpusim" / "validate" / "data"

#: files that `gpusim validate NAME` reads; the rest is shipped for tests and readers
CASES = ("kernels.json", "simt.json")


def pack(folder: Path, name: str) -> None:
    """Compress every JSON file of `folder` and write down length and SHA-256 of its text."""
    out = DATA / name
    out.mkdir(parents=True, exist_ok=True)
    files = {}
    for path in sorted(folder.glob("*.json")):
        raw = path.read_bytes()
        (out / f"{path.name}.xz").write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
        files[path.name] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    (out / "manifest.json").write_text(json.dumps({"cases": [c for c in CASES if c in files], "files": files}, indent=1) + "\n")


if __name__ == "__main__":
    pack(Path(sys.argv[1]), sys.argv[2])
