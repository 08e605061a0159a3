"""The way of a tile between an SM and DRAM: merged in the GPC, looked up in the near L2 half, in the home half, fetched.

Every hop is booked in the order in which requests are issued; latency is added once, behind the bookings. A tile is looked
up as one cell per home half; it is never cut into sectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.engine.noise import noise, tail
from gpusim.engine.server import Server
from gpusim.parts.l2 import Half
from gpusim.parts.sm import Flight, Gpc, Sm
from gpusim.spec.resolve import Machine


class Memory:
    """L2 and DRAM of one chip, and the counters of all traffic beyond the SMs."""

    def __init__(self, machine: Machine, l2: str, scale: float = 1.0, held: Sequence[Half] | None = None) -> None:
        """l2: before the launch; "foreign-dirty" counts, the others begin with nothing, or with what is `held`. `scale` shrinks the capacity with a
        shortened loop (launch/shorten.py)."""
        m = self.machine = machine
        foreign = m.dirty_bytes * scale if l2 == "foreign-dirty" else 0.0
        self.halves = list(held or [Half(m.half_bytes * scale, m.dirty_bytes * scale, foreign) for _ in range(m.halves)])
        self.scale = scale
        self.read = Server(m.l2_read_rate)
        self.write = Server(m.l2_write_rate)
        self.dram = Server(m.dram_rate)
        self.merged_sectors = self.read_sectors = self.write_sectors = self.hit_sectors = self.fabric_sectors = 0.0
        self.dram_read = self.dram_write = 0.0
        self.last = 0.0

    def fetch(self, sm: Sm, key: int, nbytes: float, sectors: float, now: float, issued: float, extra: float, step: float = 0.0) -> float:
        """When the last byte of a tile is in the SM. Its requests leave between `now` and `issued`; `extra` is the latency of the kind of access beyond a
        plain load. step: cycles of a loop step of a CTA that has drifted away from the others that read the tile; 0 where it is in step with them."""
        gpc, m = sm.gpc, self.machine
        port = sm.fill.book(now, nbytes)
        flight = gpc.table.get(key)
        if flight is not None and flight.joined < m.merge_requests and (self._meets(flight, key, now, step) if step else now < flight.alive):
            flight.joined += 1
            self.merged_sectors += sectors
            return max(flight.done, max(port, issued) + (m.l2_latency + extra if step else 0.0))
        self.read_sectors += sectors
        into = gpc.port.book(now, nbytes)
        chip = self.read.book(now, nbytes)
        served = max(port, into, chip, issued)
        done, missed = self._lookup(gpc, key, nbytes, sectors, now, served, extra)
        waited = chip - now - nbytes / self.read.rate if sm.resident <= 1 else 0.0
        queue = into - now - nbytes / gpc.port.rate + m.merge_queue_share * waited
        fetched = done - served - m.l2_latency - extra if missed else 0.0
        if not step or flight is None or now > flight.done + step:
            gpc.table[key] = Flight(now, now + queue + max(fetched, m.merge_window), done)
        return done

    def _meets(self, flight: Flight, key: int, now: float, step: float) -> bool:
        """Whether a request that comes at any time of a step finds one for the tile that it can join. Those before it that found none were on their own."""
        if now > flight.done + step:
            return False
        open_for = flight.alive - flight.born + flight.alone * self.machine.merge_window
        met = noise(key * 31 + flight.joined + flight.alone) * step < open_for
        flight.alone += not met
        return met

    def _lookup(self, gpc: Gpc, key: int, nbytes: float, sectors: float, now: float, served: float, extra: float) -> tuple[float, bool]:
        """(arrival of the last byte, whether a miss is or was pending)."""
        m, near = self.machine, gpc.half
        hit = served + m.l2_latency + extra
        done, missed = hit, False
        part = nbytes / m.halves
        for home in range(m.halves):
            cell_key = key * 2 + home
            cell = self.halves[near].find(cell_key)
            if cell is not None:
                self.hit_sectors += sectors / m.halves
                arrival = hit
            else:
                arrival = hit
                if home != near:
                    self.fabric_sectors += sectors / m.halves
                    arrival += m.far_latency
                    cell = self.halves[home].find(cell_key)
                if cell is None:
                    late = m.dram_spread * tail(cell_key)
                    arrival = max(arrival, self._from_dram(part, now)) + m.dram_latency + late
                    self._put(home, cell_key, part, arrival, now)
                if home != near:
                    self._put(near, cell_key, part, arrival, now)
            if cell is not None and cell.ready > now:
                missed = True
                arrival = max(arrival, cell.ready)
            elif cell is None:
                missed = True
            done = max(done, arrival)
        return done, missed

    def _from_dram(self, nbytes: float, now: float) -> float:
        self.dram_read += nbytes
        return self.dram.book(now, nbytes) + self.machine.l2_latency

    def _put(self, half: int, key: int, nbytes: float, ready: float, now: float, dirty: bool = False) -> None:
        back = self.halves[half].put(key, nbytes, ready, dirty) / self.scale
        if back:
            self.dram_write += back
            self.dram.book(now, back)

    def store(self, sm: Sm, key: int, nbytes: float, sectors: float, now: float) -> float:
        """When the SM has handed over its stores; they go on to L2 behind it."""
        m, near = self.machine, sm.gpc.half
        sent = sm.store.book(now, nbytes)
        self.write_sectors += sectors
        self.hit_sectors += sectors
        accepted = self.write.book(now, nbytes)
        part = nbytes * self.scale / m.halves
        for home in range(m.halves):
            if home != near:
                self.fabric_sectors += sectors / m.halves
                self._put(near, key * 2 + home, part, now, now)
            self._put(home, key * 2 + home, part, now, now, dirty=True)
        self.last = max(self.last, accepted)
        return max(sent, accepted)
