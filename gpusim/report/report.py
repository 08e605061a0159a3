"""The report of one run: what a user asks, prints, and writes to JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpusim.report import formulas, power
from gpusim.spec.kinds import Device
from gpusim.trace.run import Protocol, Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Report:
    """Facts of `run` on `spec`, and the numbers derived from them. What a run cannot know is None and is left out of `to_dict`.

    values: tensor name -> computed array, if inputs were given.
    """

    run: Run
    spec: Device = field(repr=False)
    values: dict[str, np.ndarray] | None = field(default=None, repr=False)

    @property
    def gpu(self) -> str:
        return self.run.gpu

    @property
    def kernel(self) -> str:
        return self.run.kernel

    @property
    def params(self) -> dict[str, Any]:
        """The kernel's parameters, with the defaults filled in."""
        return self.run.params

    @property
    def ctas(self) -> int:
        return self.run.ctas

    @property
    def waves(self) -> int:
        return self.run.waves

    @property
    def tail_ctas(self) -> int:
        """CTAs of the last wave."""
        return formulas.tail_ctas(self.run)

    @property
    def ctas_per_sm(self) -> int:
        return self.run.occupancy.ctas_per_sm

    @property
    def limiter(self) -> str:
        """The resource that allows no more CTAs on an SM."""
        return self.run.occupancy.limiter

    @property
    def cycles(self) -> float:
        """SM cycles."""
        return self.run.cycles

    @property
    def time_us(self) -> float:
        """Microseconds."""
        return self.run.time_ps / 1e6

    @property
    def clock_mhz(self) -> float:
        return self.run.protocol.clock_mhz

    @property
    def clock_held_by(self) -> str:
        """What holds the clock below the boost clock: "tensor instructions", "peak power", "board power"; "" if nothing does or it was given."""
        return self.run.protocol.held_by

    @cached_property
    def energy_uj(self) -> dict[str, float] | None:
        """Level ("idle", "instructions", "tensor", "L1 and shared", "L2", "DRAM") -> microjoules of the launch; None where the device has no `power`."""
        return power.energy_uj(self.run, self.spec)

    @property
    def power_w(self) -> float | None:
        """Mean power of the board during the launch, in watts."""
        return power.power_w(self.run, self.spec)

    @property
    def tflops(self) -> float:
        """Useful 1e12 operations per second (padding does not count)."""
        return formulas.tflops(self.run)

    @property
    def peak_tflops(self) -> float | None:
        """The published dense peak of the operand format."""
        return formulas.peak_tflops(self.run, self.spec)

    @property
    def fraction_of_peak(self) -> float | None:
        """tflops over the published dense peak of the operand format (at the published clock, not at this run's)."""
        return formulas.share(self.tflops, self.peak_tflops)

    @property
    def useful_share(self) -> float | None:
        """Useful operations over those that the matrix units did; the rest is padding. None where they did none."""
        return formulas.useful_share(self.run)

    @property
    def dram_read_bytes(self) -> int | None:
        return self.run.counters.get("dram_read_bytes")

    @property
    def dram_write_bytes(self) -> int | None:
        return self.run.counters.get("dram_write_bytes")

    @property
    def l2_sectors(self) -> int | None:
        """Read and written 32-byte sectors that L2 received from the SMs."""
        return formulas.total(self.run.counters, "l2_read_sectors", "l2_write_sectors")

    @property
    def l1_sectors(self) -> int | None:
        """Loaded and stored 32-byte sectors that the SMs requested."""
        return formulas.total(self.run.counters, "l1_load_sectors", "l1_store_sectors")

    @property
    def shared_wavefronts(self) -> int | None:
        return self.run.counters.get("shared_wavefronts")

    @property
    def l2_hit_rate(self) -> float | None:
        return formulas.l2_hit_rate(self.run)

    @property
    def l1_hit_rate(self) -> float | None:
        return formulas.l1_hit_rate(self.run)

    @property
    def active_threads(self) -> float | None:
        """Mean active lanes of an issued instruction, of 32; None for kernels of tiles."""
        return formulas.active_threads(self.run)

    @property
    def sectors_per_request(self) -> float | None:
        """Mean 32-byte sectors of a warp's access to global memory; None for kernels of tiles."""
        return formulas.sectors_per_request(self.run)

    @property
    def bank_conflicts(self) -> int | None:
        """Passes of shared memory beyond what lanes side by side need."""
        return formulas.bank_conflicts(self.run)

    @property
    def achieved_occupancy(self) -> float | None:
        """Mean resident warps of a working SM over the most that it holds; None where the run does not know it."""
        return formulas.achieved_occupancy(self.run, self.spec)

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Nsight's stall reason -> share of the warps' life, largest first; "selected" is issuing. They add up to 1."""
        return formulas.stall_shares(self.run)

    @cached_property
    def bound_shares(self) -> dict[str, float]:
        """Resource -> share of the time that it would take alone, largest first."""
        return formulas.bound_shares(self.run)

    @cached_property
    def bottleneck(self) -> str:
        return formulas.bottleneck(self.run)

    @cached_property
    def advice(self) -> str:
        """One sentence, and another one where power holds the clock."""
        from gpusim.report.advice import advise

        return advise(self) + power.advice(self.run, self.spec)

    @property
    def traffic(self) -> dict[str, int]:
        """Every counter of the run; `trace.counters.MEANINGS` has units and Nsight's names."""
        return self.run.counters

    @property
    def bounds(self) -> dict[str, float]:
        """Resource -> cycles the run would take if only it limited."""
        return self.run.bounds

    @property
    def saved(self) -> dict[str, float] | None:
        """What was taken away from the machine -> microseconds that it saved after those before it; with `time_us` they are the time of the whole
        machine. None where nothing was."""
        return {name: picoseconds / 1e6 for name, picoseconds in self.run.saved} or None

    @property
    def protocol(self) -> Protocol:
        return self.run.protocol

    @property
    def extrapolated(self) -> str:
        """What was not simulated but extrapolated, with the residual; "" if everything was simulated."""
        return self.run.extrapolated

    @property
    def digest(self) -> str:
        """The same spec, program, options and result have the same digest."""
        return self.run.digest

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON, units in the keys."""
        from gpusim.report.data import to_dict

        return to_dict(self)

    def detailed(self) -> str:
        """The printed report, and every counter with its unit and the metric of Nsight Compute."""
        from gpusim.report.text import render

        return render(self, detailed=True)

    def source_view(self) -> str:
        """The lines of a SIMT kernel beside what each costs, as a text table. GpusimError for kernels of tiles."""
        from gpusim.report.simt_source import source_view

        return source_view(self.run)

    def plot_divergence(
        self, path: str | Path | None = None, *, warps: Sequence[tuple[int, int]] | None = None, cycles: tuple[float, float] | None = None
    ) -> Figure:
        """The active lanes of some warps over time; see `report.simt_plot.plot_divergence`. Needs a run with timeline=True."""
        from gpusim.report.simt_plot import plot_divergence

        return plot_divergence(self.run, path, warps=warps, cycles=cycles)

    def plot_timeline(self, path: str | Path | None = None, *, lanes: int = 24, cycles: tuple[float, float] | None = None) -> Figure:
        """What SMs or cores did when, of a program of tiles; see `report.timeline.plot_timeline`. Needs a run with timeline=True."""
        from gpusim.report.timeline import plot_timeline

        return plot_timeline(self.run, path, lanes=lanes, cycles=cycles)

    def trace(self, path: str | Path) -> None:
        """Write the timeline of the timed warps to `path` as Chrome's JSON, for Perfetto. Needs a run with timeline=True."""
        from gpusim.report.simt_trace import write_trace

        write_trace(self.run, path)

    def __str__(self) -> str:
        from gpusim.report.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from gpusim.report.html import render

        return render(self)
