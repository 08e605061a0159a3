"""One pseudo-channel of HBM, command by command: the model that the closed forms of `gpusim/parts/dram.py` are held against.

It shares no code and no formula with them. Every 32-byte burst is a column command of its own; rows are activated, precharged and
refreshed; every limit between two commands is a time before which the later one may not start. Time is counted in clocks (CK).

The controller is the ordinary one: the first request that is ready goes first, row hits before others (FR-FCFS); writes wait in a queue
of their own and are drained in batches; a row is left open until another row of its bank is wanted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

FAR = 1 << 60


@dataclass(frozen=True)
class Clocks:
    """Limits in clocks; names as in JESD238. read_write, write_read: column command to column command of the other kind."""

    burst: int
    cl: int
    cwl: int
    rcd_read: int
    rcd_write: int
    rp: int
    ras: int
    rc: int
    rtp: int
    wr: int
    ccd_long: int
    rrd_short: int
    rrd_long: int
    faw: int
    read_write: int
    write_read: int
    refi_bank: int
    rfc_bank: int
    rrefd: int
    groups: int
    banks: int


@dataclass(frozen=True)
class Policy:
    """reads, writes: requests in the two queues. batch: requests of one kind served before waiting ones of the other get their turn; when
    `ahead` of them are left, rows are opened for the other kind first. seen: requests, oldest first, that the controller's input holds."""

    reads: int = 64
    writes: int = 16
    batch: int = 8
    ahead: int = 2
    seen: int = 256


@dataclass
class Request:
    """`bursts` consecutive columns of one row. bursts counts down."""

    write: bool
    bank: int
    row: int
    bursts: int
    order: int = 0
    arrival: int = 0
    done: int = 0


@dataclass
class Bank:
    row: int = -1
    act: int = 0
    col_read: int = 0
    col_write: int = 0
    pre: int = 0
    must_refresh: bool = False


@dataclass
class Counted:
    clocks: int = 0
    bursts: int = 0
    activations: int = 0
    turnarounds: int = 0
    refreshes: int = 0
    latencies: list[int] = field(default_factory=list)


class Channel:
    """`run` serves requests in clocks as few as the limits allow this controller."""

    def __init__(self, clocks: Clocks, policy: Policy = Policy(), refresh: bool = True) -> None:
        self.c, self.policy = clocks, policy
        self.banks = [Bank() for _ in range(clocks.banks)]
        self.group_col = [0] * clocks.groups
        self.group_act = [0] * clocks.groups
        self.col = {False: 0, True: 0}
        self.any_act = 0
        self.acts: deque[int] = deque([-FAR] * 4, maxlen=4)
        self.queues: dict[bool, list[Request]] = {False: [], True: []}
        self.writing = False
        self.served = 0
        self.last_kind: bool | None = None
        self.next_refresh = clocks.refi_bank if refresh else FAR
        self.next_bank = 0
        self.moved = 0
        self.counted = Counted()

    def run(self, requests: Sequence[Request]) -> Counted:
        waiting = deque(requests)
        shelf: deque[Request] = deque()
        t = 0
        while waiting or shelf or self.queues[False] or self.queues[True]:
            self._admit(waiting, shelf, t)
            self._choose_kind()
            assert t - self.moved < 20 * self.c.rfc_bank, "the controller has stopped"
            t = max(t + 1, min(self._step(t), waiting[0].arrival if waiting and waiting[0].arrival > t else FAR))
        self.counted.clocks = t
        return self.counted

    def _admit(self, waiting: deque[Request], shelf: deque[Request], t: int) -> None:
        held = len(shelf) + len(self.queues[False]) + len(self.queues[True])
        while waiting and held < self.policy.seen and waiting[0].arrival <= t:
            shelf.append(waiting.popleft())
            held += 1
        for _ in range(len(shelf)):
            request = shelf.popleft()
            queue = self.queues[request.write]
            if len(queue) < (self.policy.writes if request.write else self.policy.reads):
                request.order = self.counted.bursts * 1024 + len(queue) if not queue else queue[-1].order + 1
                queue.append(request)
            else:
                shelf.append(request)

    def _choose_kind(self) -> None:
        """The other kind's turn, when this one has nothing left, or the other waits and this one had its turn."""
        if not self.queues[self.writing] and self.queues[not self.writing]:
            self.writing, self.served = not self.writing, 0
        elif self._other_waits() and (self.served >= self.policy.batch or (self._near_end() and not self._open_rows_left())):
            self.writing, self.served = not self.writing, 0

    def _other_waits(self) -> bool:
        """Any read; writes when their queue is full."""
        return bool(self.queues[False]) if self.writing else len(self.queues[True]) >= self.policy.writes

    def _near_end(self) -> bool:
        return self._other_waits() and self.served >= self.policy.batch - self.policy.ahead

    def _open_rows_left(self) -> bool:
        return any(self.banks[q.bank].row == q.row for q in self.queues[self.writing])

    def _step(self, t: int) -> int:
        """Issues what can go at t, at most one command on each command bus, and says when to look again."""
        soon = self._refresh(t)
        soon = min(soon, self._column(t))
        return min(soon, self._row(t))

    def _column(self, t: int) -> int:
        c, kind, soon = self.c, self.writing, FAR
        for request in self.queues[kind]:
            bank = self.banks[request.bank]
            if bank.row != request.row:
                continue
            ready = max(bank.col_write if kind else bank.col_read, self.group_col[request.bank % c.groups], self.col[kind])
            if ready <= t:
                self._transfer(request, bank, t)
                return t + 1
            soon = min(soon, ready)
        return soon

    def _transfer(self, request: Request, bank: Bank, t: int) -> None:
        c, kind, self.moved = self.c, request.write, t
        self.group_col[request.bank % c.groups] = t + c.ccd_long
        self.col = {kind: t + c.burst, not kind: t + (c.write_read if kind else c.read_write)}
        bank.pre = max(bank.pre, t + (c.cwl + c.burst + c.wr if kind else c.rtp))
        self.counted.bursts += 1
        self.counted.turnarounds += self.last_kind is not None and self.last_kind != kind
        self.last_kind = kind
        request.bursts -= 1
        if not request.bursts:
            self.queues[kind].remove(request)
            self.served += 1
            self.counted.latencies.append(t + (c.cwl if kind else c.cl) + c.burst - request.arrival)

    def _row(self, t: int) -> int:
        soon, taken = FAR, set()
        kinds = [not self.writing, self.writing] if self._near_end() else [self.writing, not self.writing]
        for kind in kinds:
            wanted = {(q.bank, q.row) for q in self.queues[kind]}
            for request in self.queues[kind]:
                if request.bank in taken:
                    continue
                taken.add(request.bank)
                bank = self.banks[request.bank]
                if bank.row == request.row:
                    continue
                if bank.row >= 0:
                    if (request.bank, bank.row) in wanted and not bank.must_refresh:
                        continue
                    ready = bank.pre
                elif bank.must_refresh:
                    continue
                else:
                    ready = self._act_ready(request.bank)
                if ready <= t:
                    if bank.row >= 0:
                        self._precharge(bank, t)
                    else:
                        self._activate(request.bank, request.row, t)
                    return t + 1
                soon = min(soon, ready)
        return soon

    def _act_ready(self, index: int) -> int:
        return max(self.banks[index].act, self.any_act, self.group_act[index % self.c.groups], self.acts[0] + self.c.faw)

    def _count_act(self, index: int, t: int) -> None:
        self.any_act = t + self.c.rrd_short
        self.group_act[index % self.c.groups] = t + self.c.rrd_long
        self.acts.append(t)

    def _activate(self, index: int, row: int, t: int) -> None:
        c, bank = self.c, self.banks[index]
        bank.row = row
        bank.act, bank.pre = t + c.rc, t + c.ras
        bank.col_read, bank.col_write = t + c.rcd_read, t + c.rcd_write
        self._count_act(index, t)
        self.counted.activations += 1

    def _precharge(self, bank: Bank, t: int) -> None:
        bank.row = -1
        bank.act = max(bank.act, t + self.c.rp)

    def _refresh(self, t: int) -> int:
        """Banks take turns; the one that is due is closed as soon as its limits allow, and is away for rfc_bank."""
        if t >= self.next_refresh:
            self.banks[self.next_bank].must_refresh = True
            self.next_bank = (self.next_bank + 1) % self.c.banks
            self.next_refresh += self.c.refi_bank
        soon = self.next_refresh
        for index, bank in enumerate(self.banks):
            if not bank.must_refresh:
                continue
            ready = bank.pre if bank.row >= 0 else self._act_ready(index)
            if ready > t:
                soon = min(soon, ready)
            elif bank.row >= 0:
                self._precharge(bank, t)
                soon = t + 1
            else:
                bank.must_refresh = False
                bank.act = t + self.c.rfc_bank
                self._count_act(index, t)
                self.any_act = t + self.c.rrefd
                self.counted.refreshes += 1
        return soon
