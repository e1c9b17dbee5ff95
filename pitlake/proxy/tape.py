"""The tape of a run: every unchanged answer from the tools and its time, so that the run can be replayed.

It is a file of JSON lines, on disk before an answer is passed on. The first line has the cut-off and the policy, the
second line has the tools. A call on the tape is answered from it. Others go to the server; in a replay they are gaps.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pitlake import clock
from pitlake.errors import BadInput
from pitlake.proxy.cutting import SILENT, CutAnswer, Sightings, cut_answer
from pitlake.proxy.policy import Policy, parse
from pitlake.recorder import digest, lock

FORM = 1


@dataclass(frozen=True, kw_only=True)
class TapedCall:
    """A call: the arguments that were sent, and the answer; None if there was no answer."""

    tool: str
    arguments: Mapping[str, Any]
    asked_at: str
    fetched_at: str
    answer: Mapping[str, Any] | None
    counts: Mapping[str, int]

    @property
    def key(self) -> str:
        return digest([self.tool, self.arguments])


class Tape:
    """A tape in memory and, unless it is replayed, on disk. `record` and `replay` open a tape."""

    def __init__(self, path: Path, policy: Policy, as_of: datetime, *, handle: int | None) -> None:
        self.path, self.policy, self.as_of = path, policy, as_of
        self.tools: list[dict[str, Any]] | None = None
        self._handle = handle
        self._sightings = Sightings()
        self._cuts: dict[str, list[tuple[TapedCall, CutAnswer]]] = defaultdict(list)
        self._asked: Counter[str] = Counter()

    @property
    def is_replay(self) -> bool:
        return self._handle is None

    @classmethod
    def record(cls, path: Path, policy: Policy, as_of: datetime) -> Self:
        """Open a tape for writing: a new one, or one with the same cut-off and policy. Raises BadInput."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise BadInput("--tape", f"{path} can't be written: {problem.strerror}", "name another file") from None
        if not lock(handle):
            os.close(handle)
            raise BadInput("--tape", f"{path} is being written by another proxy", "name another file")
        tape = cls(path, policy, as_of, handle=handle)
        try:
            tape._go_on()
        except BaseException:
            tape.close()
            raise
        return tape

    def _go_on(self) -> None:
        """Read an existing file, or write the first line of a new one."""
        lines = _whole_lines(self.path)
        if self._handle is not None:
            os.ftruncate(self._handle, sum(len(line) for line in lines))  # Drop the incomplete line of a run that died.
        policy = self.policy
        head = {"tape": FORM, "as_of": clock.iso(self.as_of), "server": policy.server, "policy": policy.text}
        if not lines:
            self._write(head)
        elif _head(lines, self.path) != head:
            raise BadInput("--tape", f"{self.path} has a different cut-off or policy", "use a new file, or --replay it")
        self._read(lines[1:])

    @classmethod
    def replay(cls, path: Path) -> Self:
        """Open a tape for a replay. Raises BadInput."""
        try:
            lines = _whole_lines(path)
        except OSError as problem:
            raise BadInput("--replay", f"{path} can't be read: {problem.strerror}", "name a tape") from None
        head = _head(lines, path)
        tape = cls(path, parse(head["policy"]), clock.instant(head["as_of"]), handle=None)
        tape._read(lines[1:])
        return tape

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def list_tools(self, tools: list[dict[str, Any]]) -> None:
        """Record the server's tools, unless they are unchanged on the tape."""
        if tools != self.tools:
            self._write({"tools": tools, "listed_at": clock.iso(clock.now())})
            self.tools = tools

    def again(self, tool: str, arguments: Mapping[str, Any]) -> CutAnswer | None:
        """Return the recorded answer to this call; None if the server must be called.

        A call that failed several times on the tape fails equally often in a replay.
        """
        key = digest([tool, arguments])
        times = self._asked[key]
        entries = self._cuts.get(key, [])
        if times < len(entries):
            self._asked[key] += 1
            return entries[times][1]
        if entries:
            last, cut = entries[-1]
            if self.is_replay or (last.answer is not None and not last.answer.get("isError")):
                return cut
        return None

    def add(
        self, tool: str, arguments: Mapping[str, Any], asked_at: datetime, answer: Mapping[str, Any] | None
    ) -> CutAnswer:
        """Record a new answer and return it cut at T. The answer is on disk when this method returns."""
        now = clock.now()
        cut = self._cut(tool, answer, now)
        entry = TapedCall(
            tool=tool,
            arguments=arguments,
            asked_at=clock.iso(asked_at),
            fetched_at=clock.iso(now),
            answer=answer,
            counts=cut.counts,
        )
        self._write(asdict(entry))
        self._cuts[entry.key].append((entry, cut))
        self._asked[entry.key] = len(self._cuts[entry.key])
        return cut

    def _cut(self, tool: str, answer: Mapping[str, Any] | None, observed_at: datetime) -> CutAnswer:
        if answer is None:
            return CutAnswer(counts={SILENT: 1})
        return cut_answer(
            answer,
            self.policy.tools[tool],
            self.as_of,
            name=f"{self.policy.server}/{tool}",
            sightings=self._sightings,
            observed_at=observed_at,
        )

    def _write(self, members: Mapping[str, Any]) -> None:
        if self._handle is None:
            raise RuntimeError("a replayed tape can't be written")
        rest = memoryview((json.dumps(members, ensure_ascii=True, separators=(",", ":")) + "\n").encode())
        end = os.fstat(self._handle).st_size
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
            os.fsync(self._handle)
        except OSError:
            os.ftruncate(self._handle, end)  # The next line must not continue this one.
            raise

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                members = json.loads(line)
                if "tools" in members:
                    self.tools = members["tools"]
                    continue
                entry = TapedCall(**members)
                cut = self._cut(entry.tool, entry.answer, clock.instant(entry.fetched_at))
            except (ValueError, TypeError, KeyError, AttributeError, BadInput):
                raise BadInput("--tape", f"{self.path} is damaged", "restore it from a copy") from None
            self._cuts[entry.key].append((entry, cut))


def _whole_lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def _head(lines: list[bytes], path: Path) -> dict[str, Any]:
    try:
        head = json.loads(lines[0])
        if head["tape"] == FORM and isinstance(head["policy"], str) and isinstance(head["as_of"], str):
            return dict(head)
    except (IndexError, ValueError, TypeError, KeyError):
        pass
    raise BadInput("--tape", f"{path} is not a tape", "name one that `pitlake proxy --tape` wrote, or a new file")
