"""Probes as text: simulated points, or errors by group and by name, why records are missing, the worst ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from gpusim.probe.compare import HASHED, Compared, Statistics, by_name, reasons, statistics

Groups = Mapping[str, Sequence[Compared]]
#: reasons that are spelled out; the rest is counted
REASONS = 20


def simulated_text(gpu: str, groups: Groups) -> str:
    """One line a point."""
    parts = [f"{gpu}: simulated"]
    for name, rows in groups.items():
        head = [name, "params", "simulated", "unit"]
        parts.append(aligned([head, *([r.record.name, _params(r), _value(r), r.record.unit] for r in rows if r.simulated is not None)]))
        parts += _missing(name, rows, "unsupported")
    return "\n\n".join(parts)


def compared_text(gpu: str, groups: Groups, worst: int = 0) -> str:
    """Errors by group and name, and what is not compared."""
    every = [row for rows in groups.values() for row in rows]
    names = {name: statistics(rows) for name, rows in by_name(every).items() if any(r.status != "excluded" for r in rows)}
    parts = [
        f"{gpu}: error = simulated / measured - 1",
        _statistics("group", {n: statistics(rows) for n, rows in groups.items()}),
        _statistics("record", names),
    ]
    lists = dict.fromkeys(
        f"{r.record.name}: compared as a {r.how}" if r.record.name in HASHED else f"{r.record.name}: {r.how}" for r in every if r.how != "value"
    )
    parts += ["lists:\n" + "\n".join(f"  {line}" for line in lists)] if lists else []
    for status in ("excluded", "unsupported"):
        parts += [part for name, rows in groups.items() for part in _missing(name, rows, status)]
    parts += [_worst(every, worst)] if worst else []
    return "\n\n".join(parts)


def _statistics(title: str, rows: Mapping[str, Statistics]) -> str:
    head = [title, "records", "unsupported", "MAPE", "mean", "worst", "worst record"]
    return aligned([head, *([name, str(s.records), str(s.unsupported), *_percent(s)] for name, s in rows.items())])


def _percent(s: Statistics) -> list[str]:
    if s.mape is None or s.signed_mean is None or s.worst is None:
        return ["-", "-", "-", "-"]
    return [f"{s.mape:.1%}", f"{s.signed_mean:+.1%}", f"{s.worst:+.1%}", s.worst_record or "-"]


def _missing(name: str, rows: Sequence[Compared], status: str) -> list[str]:
    found = sorted(reasons(rows, status).items(), key=lambda pair: -pair[1])
    if not found:
        return []
    lines = [f"  {count} x {reason}" for reason, count in found[:REASONS]]
    more = len(found) - REASONS
    return [f"{name}: {status}\n" + "\n".join(lines + ([f"  and {more} more reasons"] if more > 0 else []))]


def _worst(rows: Iterable[Compared], count: int) -> str:
    counted = sorted((r for r in rows if r.error is not None), key=lambda r: -abs(r.error or 0.0))[:count]
    head = ["worst", "error", "simulated", "measured", "unit"]
    return aligned(
        [head, *([f"{r.record.group}/{r.record.title}", f"{r.error or 0:+.1%}", _value(r), _number(r.record.value), r.record.unit] for r in counted)]
    )


def _params(row: Compared) -> str:
    return row.record.title.removeprefix(row.record.name).strip()


def _value(row: Compared) -> str:
    value = row.simulated
    return f"mean {_number(fmean(value))} of {len(value)}" if isinstance(value, list) else _number(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width; numbers to the right. The last column, and the first, to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = [all(_is_number(row[i]) for row in rows[1:]) for i in range(len(widths))]
    return "\n".join("  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip() for row in rows)


def _is_number(text: str) -> bool:
    return text == "-" or text.strip("+-%").replace(".", "").replace("e+", "").replace("e-", "").isdigit()
