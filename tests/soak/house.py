"""The processes of the soak: webserver and daemon as a user starts them, the UI's responses, and memory samples."""

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from pipelines.serve import ROOT

RUNS = """{runsOrError(limit: 1000){... on Runs {results{runId jobName status creationTime startTime endTime rootRunId
    tags{key value}}}}}"""
EVENTS = """query Events($run: ID!, $after: String){logsForRun(runId: $run, afterCursor: $after, limit: 1000){
    ... on EventConnection {cursor hasMore events{__typename
        ... on ExecutionStepFailureEvent {stepKey error{errorChain{error{className message}} className message}}
        ... on AssetCheckEvaluationEvent {evaluation{checkName success assetKey{path}}}}}}}"""
ENDED = ("SUCCESS", "FAILURE", "CANCELED")


@dataclass
class House:
    """The processes of a soak. `memory` contains, per sample, the time in seconds and the bytes by process."""

    environment: dict[str, str]
    workspace: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    memory: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    def start(self, name: str) -> None:
        """Start "webserver" or "daemon"."""
        program = str(Path(sys.executable).with_name(f"dagster-{name}"))
        options = {"webserver": ["--host", "127.0.0.1", "--port", str(self.port)], "daemon": ["run"]}[name]
        command = [program, *options, "--workspace", str(self.workspace)]
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.workspace.parent / f"{name}.log"

    def kill(self, name: str) -> None:
        """Kill a process with -9, together with its code server and runs."""
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(self.processes[name].pid)
            for process in [*parent.children(recursive=True), parent]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.processes[name].wait()

    def stop(self, name: str) -> None:
        """Terminate a process, and kill it after a minute."""
        self.processes[name].send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.processes[name].wait(60)
        self.kill(name)

    def measure(self, since: float) -> None:
        """Sample the memory of the permanent processes and their code servers, but not of runs."""
        sizes: dict[str, int] = {}
        for name, process in self.processes.items():
            with contextlib.suppress(psutil.Error):
                parent = psutil.Process(process.pid)
                sizes[name] = parent.memory_info().rss
                for child in parent.children():  # the children of a code server are runs
                    with contextlib.suppress(psutil.Error):
                        if "grpc" in child.cmdline():
                            code = f"code server of {name}"
                            sizes[code] = sizes.get(code, 0) + child.memory_info().rss
        self.memory.append((time.monotonic() - since, sizes))

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """Return the UI's response to a GraphQL query."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"content-type": "application/json"},
        )
        answer = json.load(urllib.request.urlopen(request, timeout=120))
        if answer.get("errors"):
            raise RuntimeError(f"the UI refused a question: {answer['errors'][0]['message']}")
        return answer["data"]

    def runs(self) -> list[dict[str, Any]]:
        """Return every run, newest first."""
        return self.ask(RUNS)["runsOrError"]["results"]

    def events(self, run: str) -> list[dict[str, Any]]:
        """Return every event of a run."""
        result, after = [], None
        while True:
            page = self.ask(EVENTS, run=run, after=after)["logsForRun"]
            result += page["events"]
            after = page["cursor"]
            if not page["hasMore"]:
                return result
