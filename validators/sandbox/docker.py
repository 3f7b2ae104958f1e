"""The Docker sandbox: one fresh container a run, through the Engine API (podman's service answers it too)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ...core.errors import BenchwrightError, PrerequisiteError
from .ahead import Ahead
from .contract import DISK, Capabilities, Observation, Run, System, abandoned, owner
from .images import ensure_image
from .messages import OVERTIME_S, REPORT_BYTES, SETUP_S, Deadline, Keeper, Launcher, launcher, message, observe

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerSandbox", "connect"]

LABEL_OWNER = "org.benchwright.owner"
LABEL_SANDBOX = "org.benchwright.sandbox"
NUMBERS = count()
TREE = "/repository"
NOBODY = "65534:65534"
SMALLEST_MEMORY = 16 * 1024**2
"""The launcher itself needs about 10 MiB."""
ENGINE_WAIT_S = 60
PODMAN_TMPFS = {"/var/tmp": "ro,size=4k,mode=555"}  # noqa: S108 - where podman itself makes a second writable place
PODMAN_RLIMITS = (("nofile", 16384), ("nproc", 4096))
"""Podman gives what is not named limits that a machine without that right refuses."""


def connect() -> DockerClient:
    """A client of the engine that the environment names (DOCKER_HOST, else the usual socket).

    Raises:
        PrerequisiteError: no engine answers.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=ENGINE_WAIT_S, max_pool_size=64)
        client.ping()
    except (DockerException, OSError) as error:
        raise PrerequisiteError(
            "no Docker engine answers",
            remedy="start one or set DOCKER_HOST (see: benchwright doctor), or choose --sandbox bubblewrap; "
            "--sandbox process isolates nothing and is for scripts you trust",
        ) from error
    return client


class DockerSandbox:
    """Fresh containers without network, as nobody, on a read-only root, each removed after its run."""

    name = "docker"

    def __init__(self, ahead: int = 0) -> None:
        """``ahead``: containers to have ready for runs like the last one, each for one run; see ``ahead.py``."""
        self._client = connect()
        self._ahead = Ahead(ahead, self._create, self._remove)
        self._id = f"{owner()}-{next(NUMBERS)}"
        self._images: dict[str, str] = {}
        self._importing = threading.Lock()  # its own: a large image takes minutes, and ^C must not wait for it
        self._lock = threading.Lock()
        self._live: set[str] = set()
        self.stopped = False
        self.capabilities = self._look()
        self._reap()

    def _look(self) -> Capabilities:
        info = self._client.info()
        engines = [part.get("Name") for part in self._client.version().get("Components") or []]
        self._podman = "Podman Engine" in engines
        self._cpus = int(info.get("NCPU") or 1)
        return Capabilities(
            memory=bool(info.get("MemoryLimit")),
            processes=bool(info.get("PidsLimit")),
            cpus=bool(info.get("CpuCfsQuota", info.get("CPUCfsQuota"))),
        )

    def _reap(self) -> None:
        """Remove containers of ours whose owner was killed; those of a living toolkit are its own."""
        for container in self._labelled(LABEL_OWNER):
            if abandoned(container.labels.get(LABEL_OWNER, "")):
                self._remove(container.id)

    def _labelled(self, label: str) -> list[Any]:
        return self._client.containers.list(all=True, filters={"label": label}, ignore_removed=True)

    def execute(self, run: Run) -> Observation:
        if lacking := self.capabilities.lacking():
            raise PrerequisiteError(
                f"this Docker engine cannot enforce: {', '.join(lacking)}",
                remedy="enable the cgroup controllers memory, pids and cpu for the engine, or --sandbox bubblewrap",
            )
        if run.limits.memory_bytes < SMALLEST_MEMORY:
            raise BenchwrightError(f"a memory limit below {SMALLEST_MEMORY} bytes leaves no room for the launcher")
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        began = time.monotonic()
        try:
            return self._execute(run, began)
        except (DockerException, RequestException, OSError) as error:
            return Observation(Keeper().output(), time.monotonic() - began, trouble=f"the engine failed: {error}")

    def _execute(self, run: Run, began: float) -> Observation:
        container = self._ahead.take(run)
        try:
            with self._lock:
                if self.stopped:
                    raise OSError("interrupted")
                self._live.add(container)
            return self._attend(container, run, began)
        finally:
            with self._lock:
                self._live.discard(container)
            self._ahead.retire(container)

    def _create(self, run: Run) -> str:
        """A container that waits for its instruction: it holds nothing of the script yet."""
        from docker.errors import ImageNotFound

        try:
            made = self._client.api.create_container(
                self._image(run),
                list(_launcher(run.system).command),
                user=NOBODY,
                stdin_open=True,
                network_disabled=not run.network,
                labels={LABEL_OWNER: owner(), LABEL_SANDBOX: self._id},
                host_config=self._host_config(run),
            )
        except ImageNotFound:
            with self._importing:
                self._images.pop(run.system.image, None)  # someone removed it: the next attempt makes it again
            raise
        return str(made["Id"])

    def _image(self, run: Run) -> str:
        with self._importing:
            if run.system.image not in self._images:
                self._images[run.system.image] = ensure_image(self._client, run.system)
            return self._images[run.system.image]

    def _host_config(self, run: Run) -> dict[str, Any]:
        from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

        limits = run.limits
        memory = limits.memory_bytes + (_tree_bytes(run.tree) if run.tree else 0)
        binds = [Mount(TREE, str(run.tree), type="bind", read_only=True)] if run.tree else []
        cards = [DeviceRequest(device_ids=list(run.cards), capabilities=[["gpu"]])] if run.cards else None
        rlimits = (("core", 0), *(PODMAN_RLIMITS if self._podman else ()))
        return self._client.api.create_host_config(
            read_only=True,
            # podman does not heed network_disabled, which Docker carries out twice as fast
            network_mode="none" if self._podman and not run.network else None,
            device_requests=cards,
            tmpfs={
                DISK: f"rw,exec,nosuid,nodev,mode=1777,size={limits.disk_bytes}",
                **(PODMAN_TMPFS if self._podman else {}),
            },
            mounts=binds,
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=limits.processes + 1,
            nano_cpus=int(min(limits.cpus, self._cpus) * 1e9),
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            ulimits=[Ulimit(name=name, soft=most, hard=most) for name, most in rlimits],
            shm_size=max(limits.memory_bytes // 2, 1 << 20),
            log_config=LogConfig(type="none"),  # else the engine writes all output to its own disk
        )

    def _attend(self, container: str, run: Run, began: float) -> Observation:
        """Start the container, speak to its launcher, and read until it ends or must be ended."""
        attached = self._client.api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        socket = getattr(attached, "_sock", attached)
        keeper, report = Keeper(), bytearray()
        exceeded = late = ended = False
        deadline = Deadline(SETUP_S)
        try:
            self._client.api.start(container)
            socket.settimeout(deadline.left())
            socket.sendall(_launcher(run.system).code + message(run, self.name, tree=TREE if run.tree else ""))
            for stream, data in _frames(socket, deadline):
                if stream == 1:
                    keeper.add(data)
                    if keeper.total > run.limits.output_bytes:
                        exceeded = True
                        break
                elif len(report) < REPORT_BYTES:
                    report += data
                    if not deadline.started and b"started" in report:
                        deadline.start(run.limits.timeout_s + OVERTIME_S)
            ended = not exceeded
        except TimeoutError:
            late = True
        finally:
            try:
                if not ended:
                    self._cut_short(container, socket)
            finally:
                attached.close()
        seen = observe(report.decode("utf-8", "replace"), keeper, time.monotonic() - began, output_exceeded=exceeded)
        if not seen.finished and not exceeded:
            seen = self._unfinished(container, seen, late and deadline.started)
        return seen

    def _cut_short(self, container: str, socket: Any) -> None:
        """Kill the container and read what it still sends: the engine answers neither while its stream is not read."""
        killing = threading.Thread(target=self._kill, args=(container,))
        killing.start()
        deadline = Deadline(OVERTIME_S)
        with suppress(OSError):
            socket.settimeout(deadline.left())
            while socket.recv(1 << 16):
                socket.settimeout(deadline.left())
        killing.join()

    def _unfinished(self, container: str, seen: Observation, late: bool) -> Observation:
        """The launcher did not end its report: the engine's own record of the container says why."""
        if late:
            return replace(seen, timed_out=True)
        self._kill(container)
        state = self._client.api.inspect_container(container)["State"]
        if state.get("OOMKilled"):
            return replace(seen, out_of_memory_kills=max(1, seen.out_of_memory_kills), trouble="")
        told = seen.trouble or f"the container ended with {state.get('ExitCode')} {state.get('Error', '')}".strip()
        return replace(seen, trouble="interrupted" if self.stopped else told)

    def _kill(self, container: str) -> None:
        from docker.errors import APIError

        with suppress(APIError):  # it has ended by itself
            self._client.api.kill(container)

    def _remove(self, container: str) -> None:
        from docker.errors import APIError

        try:
            self._client.api.remove_container(container, force=True, v=True)
        except APIError as error:
            if error.status_code not in (404, 409):  # gone, or being removed already
                raise

    def stop(self) -> None:
        self._ahead.close()
        with self._lock:
            self.stopped = True
            live = list(self._live)
        for container in live:
            self._kill(container)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        self._ahead.close()
        with suppress(DockerException, RequestException):  # an engine that has gone: the next start reaps
            for container in self._labelled(f"{LABEL_SANDBOX}={self._id}"):
                self._remove(container.id)  # left by an engine that failed in between
        self._client.close()


def _launcher(system: System) -> Launcher:
    """Compiled here where the system's interpreter is this machine's own."""
    return launcher(system.python, compiled=system.base.startswith("host:"))


@lru_cache(maxsize=256)
def _tree_bytes(tree: Path) -> int:
    """What the copy of the tree in the work area takes; it is charged to the container's memory."""
    page = 4096
    return sum(-(-path.lstat().st_size // page) * page for path in tree.rglob("*"))


def _frames(socket: Any, deadline: Deadline) -> Iterator[tuple[int, bytes]]:
    """The attach stream as (1 for output or 2 for the report, bytes), until the container ends.

    Raises:
        TimeoutError: the deadline passed.
    """
    pending = bytearray()
    while True:
        socket.settimeout(deadline.left())
        data = socket.recv(1 << 16)
        if not data:
            return
        pending += data
        while len(pending) >= 8:
            size = int.from_bytes(pending[4:8], "big")
            if len(pending) < 8 + size:
                break
            yield pending[0], bytes(pending[8 : 8 + size])
            del pending[: 8 + size]
