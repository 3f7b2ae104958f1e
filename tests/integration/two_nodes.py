"""A Ray cluster of two nodes on this machine's loopback: run as a program it starts them, and ends them with itself.

    python tests/integration/two_nodes.py [CPUS of each]

Prints the cluster's address; the line ``kill`` on its input ends the second node at once, as a lost machine would.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


class TwoNodes:
    """The program above, for a test; ``address`` is what RAY_ADDRESS is set to."""

    def __init__(self, cpus: int = 2) -> None:
        command = [sys.executable, str(Path(__file__)), str(cpus)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=loopback()
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address.startswith("127.0.0.1:"), "the cluster did not start"

    def environment(self) -> dict[str, str]:
        """Variables of a command that is to use it."""
        return {**loopback(), "RAY_ADDRESS": self.address}

    def kill_one(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait(30)


def loopback() -> dict[str, str]:
    """Ray binds to 127.0.0.1 alone, and reports nothing to anybody."""
    return {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


def main() -> None:
    from ray.cluster_utils import Cluster

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cpus = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    options = {"num_cpus": cpus, "object_store_memory": 100 * 2**20, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    try:
        second = cluster.add_node(**options)
        cluster.wait_for_nodes()
        print(cluster.address, flush=True)
        for line in sys.stdin:
            if line.strip() == "kill" and second is not None:
                cluster.remove_node(second, allow_graceful=False)
                second = None
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
