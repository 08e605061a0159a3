"""`@triton.heuristics` and `@triton.autotune`: arguments that are computed from others, and configurations of which the fastest is taken."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusim.cuda.devices import current_spec
from gpusim.cuda.launching import How, caller
from gpusim.errors import GpusimError
from gpusim.triton.kernel import Handle, Runnable


@dataclass(eq=True)
class Config:
    """Arguments of a kernel (`kwargs`) and options of its launch that are tried together."""

    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    pre_hook: Callable[[dict[str, Any]], None] | None = None
    ir_override: str | None = None
    num_buffers_warp_spec: int = 0
    num_consumer_groups: int = 0
    reg_dec_producer: int = 0
    reg_inc_consumer: int = 0

    def all_kwargs(self) -> dict[str, Any]:
        return {**self.kwargs, "num_warps": self.num_warps, "num_stages": self.num_stages}

    def __hash__(self) -> int:
        return hash((*sorted((k, repr(v)) for k, v in self.kwargs.items()), self.num_warps, self.num_stages))

    def __str__(self) -> str:
        return ", ".join(f"{k}: {v}" for k, v in self.all_kwargs().items())


class Heuristics(Runnable):
    """A kernel with arguments that functions of the other ones give."""

    def __init__(self, fn: Runnable, values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> None:
        self.fn, self.values = fn, dict(values)

    def run(self, *args: Any, grid: Any, warmup: bool = False, how: How | None = None, values: bool = True, **kwargs: Any) -> Handle:
        known = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        for name, function in self.values.items():
            known[name] = kwargs[name] = function(dict(known))
        return self.fn.run(*args, grid=grid, warmup=warmup, how=how, values=values, **kwargs)


@dataclass
class Tried:
    """A configuration, its time in us (None if it cannot run), and why it cannot."""

    config: Config
    time_us: float | None
    why: str = ""


@dataclass(eq=False)
class Autotuner(Runnable):
    """A kernel with configurations. The one of the least simulated time is taken, once for each combination of the arguments in `key`."""

    fn: Runnable
    configs: Sequence[Config]
    key: Sequence[str]
    prune: Mapping[str, Any] = field(default_factory=dict)
    best_config: Config | None = None
    tried: tuple[Tried, ...] = ()
    cache: dict[Any, Config] = field(default_factory=dict)

    def run(self, *args: Any, grid: Any, warmup: bool = False, how: How | None = None, values: bool = True, **kwargs: Any) -> Handle:
        known = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        kinds = tuple(str(getattr(v, "dtype", "")) for v in known.values())
        key = (tuple(repr(known.get(name)) for name in self.key), kinds)
        if key not in self.cache:
            self.cache[key] = self._best(args, grid, how, kwargs, known)
        self.best_config = config = self.cache[key]
        if config.pre_hook is not None:
            config.pre_hook({**known, **config.all_kwargs()})
        return self.fn.run(*args, grid=grid, warmup=warmup, how=how, values=values, **{**kwargs, **config.all_kwargs()})

    def _best(self, args: Sequence[Any], grid: Any, how: How | None, kwargs: dict[str, Any], known: dict[str, Any]) -> Config:
        configs = list(self.configs) or [Config({})]
        early = self.prune.get("early_config_prune")
        configs = list(early(configs, known, **kwargs)) if early is not None else configs
        if len(configs) == 1:
            return configs[0]
        self.tried = tuple(self._try(c, args, grid, how, kwargs, known) for c in configs)
        timed = [t for t in self.tried if t.time_us is not None]
        if not timed:
            reasons = "; ".join(dict.fromkeys(t.why for t in self.tried))
            warnings.warn(f"{caller()}: none of the {len(configs)} configurations can be timed ({reasons}); the first one is taken.", stacklevel=2)
            return configs[0]
        return min(timed, key=lambda t: t.time_us or 0.0).config

    def _try(self, config: Config, args: Sequence[Any], grid: Any, how: How | None, kwargs: dict[str, Any], known: dict[str, Any]) -> Tried:
        try:
            if config.pre_hook is not None:
                config.pre_hook({**known, **config.all_kwargs()})
            made = self.fn.run(*args, grid=grid, warmup=True, how=how or How(current_spec()), **{**kwargs, **config.all_kwargs()})
            return Tried(config, made.report.time_us)
        except GpusimError as error:
            return Tried(config, None, error.what)


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Runnable], Heuristics]:
    """Arguments that functions of the other arguments give: name -> function(args)."""
    return lambda fn: Heuristics(fn, values)


def autotune(configs: Sequence[Config], key: Sequence[str], prune_configs_by: Mapping[str, Any] | None = None, **without_effect: Any) -> Callable[..., Any]:
    """Take the fastest of `configs` for each combination of the arguments named in `key`.

    Times are simulated: no run is needed, and nothing is warmed up or reset. If the model cannot time any of them, the first is taken, with a warning.
    """
    return lambda fn: Autotuner(fn, [replace(c) for c in configs], tuple(key), prune_configs_by or {})
