"""Spreading items over a Ray cluster: a pool of workers (Ray actors), each doing one item at a time.

Comes in: items, what each needs of a machine, and how a worker is made. Goes out: each item with its result, as they
finish, in bounded memory. Placement is Ray's; here is decided which free worker takes which item, what becomes of the
items of a worker that was lost, and when a worker makes room for one of another size.
"""

from __future__ import annotations

import logging
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from .errors import InfrastructureError, require_extra
from .progress import Reporter

__all__ = ["Elsewhere", "Lost", "Need", "Pool", "Worker"]

T = TypeVar("T")

ATTEMPTS = 3
"""Workers that one item may lose before it is given up: it may be what ends them."""
AHEAD = 2
"""Items taken from the iterable for each worker."""
LEAST_AHEAD = 8
PATIENCE = 16
"""Times that an item lets another of its node's kind go first."""
POLL_S = 2.0
CROWDED_S = 5.0
"""A worker that has not started after this makes idle ones of another size give way."""
WAITING_S = 60.0
CLOSE_S = 20.0
NODE_LABEL = "ray.io/node-id"


@dataclass(frozen=True)
class Need:
    """What a worker is given for itself; an item goes only to workers of its own need."""

    cpus: float = 1.0
    memory_bytes: int = 0
    gpus: int = 0
    label: str = ""
    """Only nodes with this label set to ``yes``, where the cluster has any; empty: all nodes."""

    def __str__(self) -> str:
        cards = f", {self.gpus} GPUs" if self.gpus else ""
        return f"{self.cpus:g} CPUs, {self.memory_bytes / 2**20:.0f} MiB{cards}"

    def times_on(self, node: _Node) -> int:
        """Workers of this need that the node holds when it is empty."""
        wanted = {"CPU": self.cpus, "memory": self.memory_bytes, "GPU": self.gpus}
        return int(min((node.total.get(name, 0.0) + 1e-9) // much for name, much in wanted.items() if much))


@dataclass(frozen=True)
class Lost:
    """The result of an item that no worker could do."""

    reason: str


@dataclass(frozen=True)
class Elsewhere:
    """What a worker answers where its own node cannot do an item of this kind, and another perhaps can."""

    reason: str


class Worker(Protocol):
    """What is made on a node. ``stop`` is called from another thread while ``work`` runs."""

    def work(self, item: Any) -> Any: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


class _Actor:
    """What Ray starts: cheap to make, so that why a worker cannot be had is told and not guessed."""

    def __init__(self, make: Callable[[], Worker]) -> None:
        self._make = make
        self._worker: Worker | None = None

    def open(self) -> tuple[str, Elsewhere | None]:
        """The node's id, and why no worker can be had on it."""
        import ray

        from .errors import BenchwrightError

        node = ray.get_runtime_context().get_node_id()
        try:
            self._worker = self._make()
        except BenchwrightError as error:
            return node, Elsewhere(str(error))
        return node, None

    def work(self, item: Any) -> Any:
        assert self._worker is not None
        return self._worker.work(item)

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()


@dataclass(frozen=True)
class _Node:
    id: str
    total: Mapping[str, float]
    labels: Mapping[str, str]


@dataclass(eq=False)
class _Seat:
    """One worker, or one that is to start."""

    need: Need
    without: frozenset[str]
    """Nodes it was not to be placed on."""
    actor: Any
    since: float
    node: str = ""
    """Empty while it starts."""
    busy: bool = False


@dataclass(eq=False)
class _Task(Generic[T]):
    item: T
    need: Need
    kind: str
    lost: int = 0
    passed_over: int = 0


@dataclass
class _State(Generic[T]):
    """What is known while items are spread."""

    waiting: deque[_Task[T]] = field(default_factory=deque)
    pending: dict[Any, tuple[_Seat, _Task[T] | None]] = field(default_factory=dict)
    """Ray's reference -> the worker it comes from, and its item; None: the worker starts."""


class Pool:
    """Workers of a cluster. Use it as a context manager."""

    def __init__(
        self,
        make: Callable[[], Worker],
        most: int | None = None,
        reporter: Reporter | None = None,
        address: str | None = None,
    ) -> None:
        """``most``: workers at a time; None: as many as the nodes hold. ``make`` is called once for each, on its node.

        ``address``: of an existing cluster; None: what RAY_ADDRESS names, else a cluster of this machine alone.

        Raises:
            PrerequisiteError: Ray is not installed.
            InfrastructureError: the cluster cannot be reached.
        """
        require_extra("ray", "ray")
        self._make = make
        self._most = most
        self._reporter = reporter or Reporter(quiet=True)
        self._ours = _connect(address)
        self._seats: list[_Seat] = []
        self._nodes: dict[str, _Node] = {}
        self._looked = 0.0
        self._has: defaultdict[str, set[str]] = defaultdict(set)
        """Node -> kinds that it has done."""
        self._barred: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Kind (empty: every kind) -> node -> why it cannot do it."""
        self._said_waiting = False

    def spread(
        self, items: Iterable[T], need_of: Callable[[T], Need], kind_of: Callable[[T], str]
    ) -> Iterator[tuple[T, Any]]:
        """Yield each item with what ``work`` made of it, or with ``Lost``, as they finish.

        An item goes rather to a node that has done one of its kind. A worker that is lost gives its item back, which
        is done elsewhere; what it may still have answered is not heard, so each item comes back once. What no living
        node can hold is ``Lost`` at once. Where the caller stops early, what runs is ended before this returns.
        """
        state: _State[T] = _State()
        queue, finished = iter(items), False
        try:
            while True:
                while not finished and len(state.waiting) < AHEAD * max(len(self._seats), LEAST_AHEAD // AHEAD):
                    try:
                        item = next(queue)
                    except StopIteration:
                        finished = True
                        break
                    state.waiting.append(_Task(item, need_of(item), kind_of(item)))
                self._look()
                for task, reason in [(task, self._refusal(task)) for task in state.waiting]:
                    if reason:
                        state.waiting.remove(task)
                        yield task.item, Lost(reason)
                if finished and not state.waiting and not any(task for _, task in state.pending.values()):
                    self._forget_starting(state)
                    return
                self._place(state)
                yield from self._collect(state)
        except BaseException:
            self._end([seat for seat, task in state.pending.values() if task], list(state.pending))
            raise

    def holds(self, need: Need) -> int:
        """Workers of this need that there are at most at a time."""
        self._look()
        room = sum(need.times_on(node) for node in self._labelled(need)[0])
        return max(1, room if self._most is None else min(room, self._most))

    # placing ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Know the living nodes; asked anew every few seconds."""
        if time.monotonic() - self._looked < POLL_S and self._nodes:
            return
        import ray

        self._looked = time.monotonic()
        self._nodes = {
            node["NodeID"]: _Node(node["NodeID"], node["Resources"], node.get("Labels") or {})
            for node in ray.nodes()  # type: ignore[no-untyped-call]
            if node["Alive"]
        }

    def _labelled(self, need: Need) -> tuple[list[_Node], bool]:
        """The nodes that may hold this need, and whether the label decides."""
        every = list(self._nodes.values())
        having = [node for node in every if need.label and node.labels.get(need.label) == "yes"]
        return having or every, bool(having)

    def _bars(self, kind: str) -> dict[str, str]:
        return self._barred[""] | self._barred[kind]

    def _refusal(self, task: _Task[Any]) -> str:
        """Why no living node can do it; empty where one can."""
        nodes = self._labelled(task.need)[0]
        large = [node for node in nodes if task.need.times_on(node)]
        if not large:
            most = ", ".join(
                f"{node.total.get('CPU', 0):g} CPUs and {node.total.get('memory', 0) / 2**20:.0f} MiB" for node in nodes
            )
            return f"it needs {task.need}, which no node of the cluster has ({most or 'none is alive'})"
        bars = self._bars(task.kind)
        if all(node.id in bars for node in large):
            return bars[large[0].id]
        return ""

    def _place(self, state: _State[Any]) -> None:
        """Give free workers what waits, and start workers for what is left."""
        for seat in self._seats:
            if seat.node and not seat.busy and (task := self._choose(seat, state.waiting)):
                state.waiting.remove(task)
                seat.busy = True
                state.pending[seat.actor.work.remote(task.item)] = (seat, task)
        wanted: defaultdict[tuple[Need, frozenset[str]], int] = defaultdict(int)
        for task in state.waiting:
            wanted[task.need, frozenset(self._bars(task.kind).keys() & self._nodes.keys())] += 1
        for (need, without), count in wanted.items():
            starting = sum(not s.node and (s.need, s.without) == (need, without) for s in self._seats)
            for _ in range(count - starting):
                if not self._room(need) and not (self._give_way() and self._room(need)):
                    break
                self._start(need, without, state)
        slow = [seat for seat in self._seats if not seat.node and time.monotonic() - seat.since > CROWDED_S]
        if slow:
            self._give_way()
            if not any(seat.busy for seat in self._seats) and time.monotonic() - slow[0].since > WAITING_S:
                self._say_waiting(slow[0].need)

    def _choose(self, seat: _Seat, waiting: Iterable[_Task[Any]]) -> _Task[Any] | None:
        first: _Task[Any] | None = None
        for task in waiting:
            if task.need != seat.need or seat.node in self._bars(task.kind):
                continue
            if task.kind in self._has[seat.node] or task.passed_over >= PATIENCE:
                if first is not None:
                    first.passed_over += 1
                return task
            first = first or task
        return first

    def _room(self, need: Need) -> bool:
        """Whether the cluster's totals hold one more worker of this need beside those there are."""
        if self._most is not None and len(self._seats) >= self._most:
            return False
        alike = sum(seat.need == need for seat in self._seats)
        if alike >= sum(need.times_on(node) for node in self._labelled(need)[0]):
            return False
        for name, much in (("CPU", "cpus"), ("memory", "memory_bytes"), ("GPU", "gpus")):
            taken = sum(getattr(seat.need, much) for seat in self._seats) + getattr(need, much)
            if taken > sum(node.total.get(name, 0.0) for node in self._nodes.values()) + 1e-9:
                return False
        return True

    def _give_way(self) -> bool:
        """Close a worker that has nothing to do."""
        for seat in self._seats:
            if seat.node and not seat.busy:
                self._end([], [], [seat])
                return True
        return False

    def _start(self, need: Need, without: frozenset[str], state: _State[Any]) -> None:
        import ray

        selector = {need.label: "yes"} if self._labelled(need)[1] else {}
        if without:
            selector[NODE_LABEL] = f"!in({','.join(sorted(without))})"
        options: dict[str, Any] = {
            "num_cpus": need.cpus,
            "num_gpus": need.gpus,
            "memory": need.memory_bytes or None,
            "max_concurrency": 2,  # so that it can be stopped while it works
            "max_restarts": 0,
            "label_selector": selector or None,
        }
        actor: Any = ray.remote(_Actor).options(**options).remote(self._make)
        seat = _Seat(need, without, actor, time.monotonic())
        self._seats.append(seat)
        state.pending[actor.open.remote()] = (seat, None)

    def _say_waiting(self, need: Need) -> None:
        if not self._said_waiting:
            self._said_waiting = True
            self._reporter.warn(f"others use the cluster: waiting for {need} to become free")

    # collecting ------------------------------------------------------------------------------------------------

    def _collect(self, state: _State[T]) -> Iterator[tuple[T, Any]]:
        """Hear what has finished; waits for a moment where nothing has."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        if not state.pending:
            time.sleep(POLL_S / 10)
            return
        ready, _ = ray.wait(list(state.pending), num_returns=1, timeout=POLL_S)
        for ref in ready:
            seat, task = state.pending.pop(ref)
            try:
                result = ray.get(ref)
            except RayTaskError:
                seat.busy = False
                raise  # of the worker's own code: no other worker does it better
            except RayError as error:
                yield from self._mourn(seat, task, error, state)
                continue
            if task is None:
                self._started(seat, *result)
                continue
            seat.busy = False
            if isinstance(result, Elsewhere):
                self._barred[task.kind][seat.node] = result.reason
                state.waiting.appendleft(task)
                continue
            self._has[seat.node].add(task.kind)
            yield task.item, result

    def _started(self, seat: _Seat, node: str, refused: Elsewhere | None) -> None:
        seat.node = node
        if refused is not None:
            self._barred[""][node] = refused.reason
            self._reporter.warn(f"no worker on node {node[:12]}: {refused.reason}")
            self._end([], [], [seat])

    def _mourn(self, seat: _Seat, task: _Task[T] | None, error: Exception, state: _State[T]) -> Iterator[tuple[T, Any]]:
        """A worker is gone, with its process or its node: its item is done elsewhere."""
        self._kill(seat)
        self._looked = 0.0
        why = str(error).strip().splitlines()[0]
        if task is None:
            return
        task.lost += 1
        if task.lost >= ATTEMPTS:
            yield task.item, Lost(f"{task.lost} workers were lost while they ran it: {why}")
            return
        self._reporter.warn(f"a worker on node {seat.node[:12]} was lost; what it ran is run again: {why}")
        state.waiting.appendleft(task)

    # ending ----------------------------------------------------------------------------------------------------

    def _end(self, busy: list[_Seat], refs: list[Any], seats: list[_Seat] | None = None) -> None:
        """Stop what the busy ones run, then let ``seats`` (all where None) end in order."""
        import ray
        from ray.exceptions import RayError

        closing = list(self._seats) if seats is None else seats
        try:
            if busy:
                for seat in busy:
                    seat.actor.stop.remote()
                ray.wait(refs, num_returns=len(refs), timeout=CLOSE_S)
            ends = [seat.actor.close.remote() for seat in closing if seat.node]
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=CLOSE_S)
        except RayError:
            pass  # the cluster is gone, and its workers with it
        finally:
            for seat in closing:
                self._kill(seat)

    def _kill(self, seat: _Seat) -> None:
        import ray

        if seat in self._seats:
            self._seats.remove(seat)
            ray.kill(seat.actor)

    def _forget_starting(self, state: _State[Any]) -> None:
        """Workers that have not started are no longer needed."""
        for seat, _ in state.pending.values():
            self._kill(seat)

    def close(self) -> None:
        """End the workers and leave the cluster; one of this machine alone ends with it."""
        import ray

        self._end([], [])
        if self._ours:
            ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _connect(address: str | None) -> bool:
    """Connect, unless this process is already; whether it was done here."""
    address = address or os.environ.get("RAY_ADDRESS")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not address:  # bind to loopback alone; without it Ray listens on every address of the machine
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    if ray.is_initialized():
        return False
    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 128 * 2**20}
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else local),
        )
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise InfrastructureError(
            f"cannot connect to Ray: {str(error).strip().splitlines()[0]}",
            where=address or "a cluster of this machine",
            remedy="start it with `ray start --head`, or correct RAY_ADDRESS",
        ) from error
    return True
