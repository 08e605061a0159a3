"""Benchmarks of scripts, on simulated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpusim.cuda.streams import TIMELINE


def do_bench(
    fn: Callable[[], Any], warmup: float = 25, rep: float = 100, grad_to_none: Any = None, quantiles: Sequence[float] | None = None, return_mode: str = "mean"
) -> Any:
    """Milliseconds that the launches in `fn` take, each with a cold L2. One run tells: the same launch takes the same time, so all `quantiles` are equal."""
    begin = TIMELINE.now()
    fn()
    time = TIMELINE.between(begin, TIMELINE.now()) / 1000
    if quantiles is not None:
        return [time] * len(quantiles) if len(quantiles) > 1 else time
    return [time] if return_mode == "all" else time


do_bench_cudagraph = do_bench


@dataclass
class Benchmark:
    """What `perf_report` runs: a value of x and of the line for each point, and fixed arguments."""

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Any = None


class Mark:
    """A benchmark function; `run` prints its table."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Sequence[Benchmark]) -> None:
        self.fn, self.benchmarks = fn, benchmarks

    def run(self, show_plots: bool = False, print_data: bool = False, save_path: str = "", return_df: bool = False, **kwargs: Any) -> Any:
        """Every point once. Prints a table if asked; return_df: a list of DataFrames (one alone if there is one benchmark)."""
        tables = [_table(self.fn, b, kwargs) for b in self.benchmarks]
        for benchmark, rows in zip(self.benchmarks, tables, strict=True):
            if print_data:
                print(f"{benchmark.plot_name}:")
                print("  ".join([*benchmark.x_names, *benchmark.line_names]))
                for row in rows:
                    print("  ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row))
        if not return_df:
            return None
        import pandas as pd

        frames = [pd.DataFrame(rows, columns=[*b.x_names, *b.line_names]) for b, rows in zip(self.benchmarks, tables, strict=True)]
        return frames[0] if len(frames) == 1 else frames


def _table(fn: Callable[..., Any], b: Benchmark, kwargs: dict[str, Any]) -> list[list[Any]]:
    rows = []
    for x in b.x_vals:
        xs = tuple(x) if isinstance(x, tuple | list) else (x,) * len(b.x_names)
        point = dict(zip(b.x_names, xs, strict=True))
        made = [fn(**point, **{b.line_arg: line}, **b.args, **kwargs) for line in b.line_vals]
        rows.append([*xs, *(m[0] if isinstance(m, tuple | list) else m for m in made)])
    return rows


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Turns a function of a benchmark's arguments into something with `run`."""
    return lambda fn: Mark(fn, [benchmarks] if isinstance(benchmarks, Benchmark) else list(benchmarks))


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """AssertionError unless both arrays are equal up to atol + rtol * |y| (0.01 each unless given)."""
    import numpy as np

    a, b = (np.asarray(v).astype(np.float64) for v in (x, y))
    np.testing.assert_allclose(a, b, atol=0.01 if atol is None else atol, rtol=0.01 if rtol is None else rtol, err_msg=err_msg)
