"""A Harbor environment on the plain Docker engine, for machines without Compose: ``harbor run -e``
``engine_environment:EngineEnvironment``. Harbor's own agents, trial and verifier run unchanged on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities


class EngineEnvironment(BaseEnvironment):
    """One container, without network, of the task's prebuilt image or of the Dockerfile in its folder."""

    @staticmethod
    def type() -> str:
        return "engine"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        if not self.task_env_config.docker_image and not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError("the task names no image and has no Dockerfile")

    async def _docker(self, *arguments: str, timeout: float | None = None) -> ExecResult:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("docker", *arguments, stdout=pipe, stderr=pipe)
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout)
        except TimeoutError:
            process.kill()
            raise
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)

    async def _must(self, *arguments: str) -> str:
        done = await self._docker(*arguments)
        if done.return_code:
            raise RuntimeError(f"docker {arguments[0]}: {done.stderr}")
        return (done.stdout or "").strip()

    async def start(self, force_build: bool) -> None:
        image = self.task_env_config.docker_image or await self._must("build", "--quiet", str(self.environment_dir))
        memory = f"{self.task_env_config.memory_mb or 1024}m"
        command = ["run", "--detach", "--network", "none", "--memory", memory, "--init", image, "sleep", "3600"]
        self._container = await self._must(*command)
        await self._must(
            "exec", self._container, "mkdir", "-p", "/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests"
        )

    async def stop(self, delete: bool) -> None:
        await self._docker("rm", "--force", self._container)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._must("exec", self._container, "mkdir", "-p", str(Path(target_path).parent))
        await self._must("cp", str(source_path), f"{self._container}:{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._must("exec", self._container, "mkdir", "-p", target_dir)
        await self._must("cp", f"{source_dir}/.", f"{self._container}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        await self._must("cp", f"{self._container}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        await self._must("cp", f"{self._container}:{source_dir}/.", str(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        options = [part for name, value in (env or {}).items() for part in ("--env", f"{name}={value}")]
        options += ["--workdir", cwd] if cwd else []
        options += ["--user", str(user)] if user is not None else []
        return await self._docker("exec", *options, self._container, "bash", "-c", command, timeout=timeout_sec)
