"""The two-half L2 one line at a time, with ordered dictionaries: slow, plain, and independent of `gpusim.parts`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable


class Reference:
    """home: line -> half. lines: that a half holds. Sectors are bits of a mask; DRAM gives pairs."""

    def __init__(self, halves: int, lines: int, dirty: int, home: Callable[[int], int]) -> None:
        self.halves, self.lines, self.most, self.home = halves, lines, dirty, home
        self.held: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(halves)]
        self.soiled: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(halves)]
        self.written = 0

    def _use(self, half: int, line: int) -> None:
        held = self.held[half]
        held[line] = held.pop(line, 0)
        if len(held) > self.lines:
            gone, _ = held.popitem(last=False)
            if self.home(gone) == half:
                self._clean(half, gone)

    def _clean(self, half: int, line: int) -> None:
        self.written += self.soiled[half].pop(line, 0).bit_count()

    def read(self, half: int, line: int, mask: int) -> tuple[int, int, int]:
        """(near, far, DRAM) masks."""
        home = self.home(line)
        had = self.held[half].get(line, 0)
        missed = mask & ~had
        wanted = ((3 if missed & 3 else 0) | (12 if missed & 12 else 0)) & ~had
        self._use(half, line)
        dram = wanted
        if home != half and wanted:
            dram = wanted & ~self.held[home].get(line, 0)
            self._use(home, line)
            self.held[home][line] |= wanted
        self.held[half][line] |= wanted
        return mask & had, wanted & ~dram, dram

    def write(self, half: int, line: int, mask: int) -> None:
        home = self.home(line)
        self._use(half, line)
        self.held[half][line] |= mask
        if home != half:
            self._use(home, line)
            self.held[home][line] |= mask
        elif self.halves > 1 and line in self.held[1 - half]:
            self.held[1 - half][line] &= ~mask
        soiled = self.soiled[home]
        soiled[line] = soiled.pop(line, 0) | mask
        if len(soiled) > self.most:
            self._clean(home, next(iter(soiled)))

    @property
    def dirty(self) -> int:
        return sum(mask.bit_count() for soiled in self.soiled for mask in soiled.values())
