"""The error tree of pitlake. Forge's errors are in forge.core.errors.

PitlakeError                    the base class of all errors
├── BadInput                    the caller's mistake: one line naming the field and the next step (CLI exit code 2)
│   └── BadInstant              a string that is not a strict instant (fault: see pitlake.gate.rules.FAULTS)
├── Unreadable                  a source's string does not have the format of its field
├── RecordRefused               a source record can't become a row; extraction records it as a gap
├── EnvelopeRefused             an answer would break a rule of the gate; nothing was returned
├── CheckFailed                 a blocking check failed; nothing was published
├── LakeError                   the lake itself
│   ├── LakeNotFound            no lake at that root, or no such version
│   │   └── VersionVacuumed     a vacuum removed files that the version needs
│   ├── LakeFault               a path of the lake is denied, missing or damaged (exit code 2)
│   ├── LakeConflict            other writers committed first too often; nothing was published
│   ├── ClockWentBack           this machine's clock is behind the newest commit; nothing was published
│   ├── MachineExhausted        the machine ran out of disk, open files or memory; the lake is unchanged
│   └── PastChanged             a publish would change or remove a row that an earlier version shows
├── SessionError                the as-of session
│   ├── SessionRefused          rows of the session are not proven to be public at T; no session was opened
│   ├── IsolationUnavailable    this system can't seal a process; nothing was opened
│   ├── QueryFailed             DuckDB refused the statement, or it failed (CLI exit code 2)
│   ├── QueryInterrupted        the caller stopped the query
│   ├── LimitExceeded           a query would exceed a limit of rows, bytes, seconds or memory
│   ├── ServerBusy              too many questions wait at a server, which refused this one
│   └── SessionLost             the session's process ended, or the session was closed
├── ReceiptError                a stored receipt
│   ├── ReceiptDamaged          a file is not a receipt, or was changed
│   ├── ReplayImpossible        something that the question needs is missing; the message says what
│   └── ReplayDiffers           the repeated question has another answer
├── SourceError                 an external source that is read over HTTP
│   ├── NotCaptured             a replay needs a response that was never captured
│   ├── CaptureDamaged          the files of a capture were changed or are missing
│   ├── AnswerRefused           the provider gave no usable response; the unit becomes a gap (gap_type, reason)
│   └── Unparsable              a response does not have its source's format; it becomes a gap
├── ServerFailed                a server that Dagster needs did not start
├── NotifyFailed                an alert could not be delivered
└── GraphError                  the source graph
    ├── GraphUnavailable        the graph is unreachable, or the connection broke while reading
    ├── GraphLoginFailed        the server refused the credentials
    ├── GraphNotReadOnly        the server is not proven to refuse writes; nothing was read
    ├── GraphRefused            a statement writes, or the reader may not run it; its rows are discarded
    └── GraphQueryFailed        the server failed at a statement (syntax, unknown name, server limits)

Errors have fields. They never contain secrets, nor values of rows that the caller may not see.
"""

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class PitlakeError(Exception):
    """Base class of all errors. `exit_code` is the exit code of the command line."""

    exit_code = 1

    def __reduce__(self) -> tuple[object, ...]:
        # Worker processes pickle errors, and pickle's default would call the class with only the message.
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[PitlakeError], args: tuple[object, ...], fields: dict[str, object]) -> PitlakeError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


MOST_NAMES = 5
"""The most names that a message lists."""


def listed(names: "Iterable[str]") -> str:
    """Return names as a list that contains at most MOST_NAMES of them."""
    every = list(names)
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return ", ".join(every[:MOST_NAMES]) + more


def choice(name: str, choices: "Iterable[str]", command: str = "") -> str:
    """Return the next step for an unknown name: similar names, or the first ones. command: lists all names."""
    from difflib import get_close_matches

    all_known = list(choices)
    near = get_close_matches(name, all_known)
    if near:
        return f"did you mean {' or '.join(near)}?"
    rest = f"; `{command}` lists them" if command and len(all_known) > MOST_NAMES else ""
    return f"choose one of {listed(all_known)}{rest}"


class BadInput(PitlakeError):
    """A mistake of the caller. `field` names the wrong argument, and `next_step` says what to type instead."""

    exit_code = 2

    def __init__(self, field: str, problem: str, next_step: str = "") -> None:
        self.field, self.problem, self.next_step = field, problem, next_step
        super().__init__(f"{field}: {problem}" + (f"; {next_step}" if next_step else ""))


class BadInstant(BadInput):
    """A string that is not a strict instant. `fault` is one of `pitlake.gate.rules.FAULTS`."""

    def __init__(self, field: str, fault: str, detail: str) -> None:
        self.fault = fault
        super().__init__(field, detail, "give an ISO-8601 instant such as 2024-02-15T16:00:00-05:00")


class Unreadable(PitlakeError):
    """A source's string does not have the format of its field. The message names the kind, never the string."""


class RecordRefused(PitlakeError):
    """A source record can't become a row. `reason` is the contract's gap reason, or "<column> is unreadable"."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class EnvelopeRefused(PitlakeError):
    """An answer would break a rule of the gate. `code` is the gate's, `detail` names places, never values."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}; nothing was returned")


class CheckFailed(PitlakeError):
    """A blocking check failed. `check` is its name, `facts` are its measurements, and `examples` locate source records.

    judged: the results of all checks, if a whole stage was audited.
    """

    def __init__(
        self,
        dataset: str,
        check: str,
        facts: dict[str, object],
        examples: tuple[str, ...] = (),
        judged: "tuple[Any, ...]" = (),
    ) -> None:
        self.dataset, self.check, self.facts = dataset, check, facts
        self.examples, self.judged = examples, judged
        facts_text = ", ".join(f"{name}={value}" for name, value in facts.items())
        records = f"; see {', '.join(examples)}" if examples else ""
        super().__init__(f"{dataset}: check {check} failed ({facts_text}); nothing was published{records}")


class LakeError(PitlakeError):
    """The lake itself is missing, in contention, or about to be damaged."""


class LakeNotFound(LakeError):
    """No lake at that root, or no such version."""


class VersionVacuumed(LakeNotFound):
    """A vacuum removed files this version needs. `missing` names their tables."""

    def __init__(self, version: int, missing: tuple[str, ...], next_step: str = "ask a newer one") -> None:
        self.version, self.missing = version, missing
        tables = ", ".join(missing)
        super().__init__(
            f"lake version {version} was vacuumed and can't be read any more (missing files of {tables}); {next_step}"
        )


class LakeFault(LakeError):
    """A path of the lake can't be used. `cause`: "permission", "read_only", "missing", "damaged" or "unshown"."""

    exit_code = 2

    def __init__(self, cause: str, path: object) -> None:
        self.cause, self.path = cause, str(path)
        super().__init__(_FAULTS[cause].format(self.path))


_FAULTS = {
    "permission": "{}: permission denied; nothing is lost: let this user read and enter it (to publish, compact or "
    "vacuum also write to it), or run as the lake's owner",
    "read_only": "{} is on a read-only file system; nothing is lost: mount it writable, or name a lake on another one",
    "missing": "{} is missing; restore it from a copy of the lake",
    "damaged": "{} is damaged; restore it from a copy of the lake",
    "unshown": "{} belongs to no version: the run that wrote it died before its log entry, or the newest entries of "
    "_lake/log are missing; publish that dataset again, or restore _lake/log from a copy",
}


class LakeConflict(LakeError):
    """Other writers committed first too often. Nothing was published; run again."""


class ClockWentBack(LakeError):
    """This machine's clock (`now`) is behind the newest commit (`newest`), both ISO-8601. Nothing was published."""

    def __init__(self, now: str, newest: str) -> None:
        self.now, self.newest = now, newest
        super().__init__(
            f"this machine's clock says {now}, but the lake's newest commit is from {newest}; nothing was published: "
            "set the clock and run again, or, if the clock of that commit was wrong, restore the lake from a copy made "
            "before it"
        )


class MachineExhausted(LakeError):
    """This machine lacks a resource: `resource` is disk, files or memory, at `place` (`path`)."""

    def __init__(self, resource: str, place: str, path: str, problem: str) -> None:
        self.resource, self.place, self.path, self.problem = resource, place, path, problem
        super().__init__(f"{problem}: {place} ({path}); {_MORE_OF[resource]}")


_MORE_OF = {
    "disk": "free space there (`pitlake doctor` shows what is free, `pitlake vacuum --apply` removes what no version "
    "needs) and run again",
    "files": "allow more, such as `ulimit -n 4096`, and run again",
    "memory": "allow more memory, or do less at a time, and run again",
}


class PastChanged(LakeError):
    """A publish would change or remove a row that an earlier version shows."""


class SessionError(PitlakeError):
    """Base class of errors of the as-of session."""


class SessionRefused(SessionError):
    """A file is not proven to be public at T. `table` is its lake table; no session was opened."""

    def __init__(self, table: str, problem: str) -> None:
        self.table, self.problem = table, problem
        super().__init__(f"{table}: {problem}; no session was opened")


class IsolationUnavailable(SessionError):
    """No process can be sealed here. Nothing was opened. The default next_step is for a system that lacks the means."""

    def __init__(
        self,
        problem: str,
        next_step: str = 'for code you trust, use isolation="in_process", which still has only rows that were public '
        "at T, but no limits of memory and time and no wall around native code",
    ) -> None:
        self.problem, self.next_step = problem, next_step
        super().__init__(f"sealed sessions are unavailable: {problem}; {next_step}")


class QueryFailed(SessionError):
    """DuckDB refused the statement or failed. `kind` is DuckDB's class of error, `hint` the next step if known."""

    exit_code = 2

    def __init__(self, kind: str, problem: str, hint: str = "") -> None:
        self.kind, self.problem, self.hint = kind, problem, hint
        super().__init__(problem + (f"\nHint: {hint}" if hint else ""))


class QueryInterrupted(SessionError):
    """The caller stopped the query. The session is usable."""


class LimitExceeded(SessionError):
    """A query would exceed a limit. `limit` is rows, bytes, seconds or memory, `allowed` its value."""

    def __init__(self, limit: str, allowed: float, next_step: str) -> None:
        self.limit, self.allowed, self.next_step = limit, allowed, next_step
        super().__init__(f"the query exceeded the limit of {allowed:,} {_UNITS[limit]}; {next_step}")


class ServerBusy(SessionError):
    """Too many questions are waiting at a server. This one was not run."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the server is busy: {problem}; ask for less, or try again in a minute")


_UNITS = {"rows": "rows", "bytes": "bytes of result", "seconds": "seconds", "memory": "bytes of memory"}


class SessionLost(SessionError):
    """The session's process ended, or the session was closed. Other sessions are not affected; open a new one."""


class ReceiptError(PitlakeError):
    """A stored receipt can't be read or replayed."""


class ReceiptDamaged(ReceiptError):
    """A receipt's file is not a receipt, or was changed after it was written."""


class ReplayImpossible(ReceiptError):
    """Something that the question needs is missing. The message names it."""

    def __init__(self, missing: str) -> None:
        self.missing = missing
        super().__init__(f"the receipt can't be replayed: {missing}")


class ReplayDiffers(ReceiptError):
    """The answer has changed. `result_sha256` is the new answer's hash, `reason` the likeliest cause."""

    def __init__(self, result_sha256: str, reason: str) -> None:
        self.result_sha256, self.reason = result_sha256, reason
        super().__init__(f"the answer differs from the receipt (now sha256 {result_sha256}): {reason}")


class SourceError(PitlakeError):
    """Base class of errors of outside sources. Messages name the URL without its secrets, never a body."""


class NotCaptured(SourceError):
    """A replay uses only captures, and this request was never captured. `location` is the URL with its query."""

    def __init__(self, location: str) -> None:
        self.location = location
        super().__init__(f"{location} was never captured; fetch it once in mode live, or replay what was")


class CaptureDamaged(SourceError):
    """A capture's files differ from what was captured. `name` is the file of the response."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"capture {name} is damaged: {problem}; restore it, or remove it and fetch again")


class AnswerRefused(SourceError):
    """There was no usable response after all retries. `gap_type` and `reason` describe the gap, `evidence` locates it.

    answered_at: when the refusing response arrived; None if there was none.
    """

    def __init__(self, gap_type: str, reason: str, evidence: str, answered_at: datetime | None = None) -> None:
        self.gap_type, self.reason, self.evidence, self.answered_at = gap_type, reason, evidence, answered_at
        super().__init__(f"{evidence}: {reason}")


class Unparsable(SourceError):
    """A response does not have its source's format. `evidence` locates it."""

    def __init__(self, evidence: str, problem: str) -> None:
        self.evidence, self.problem = evidence, problem
        super().__init__(f"{evidence}: {problem}")


class ServerFailed(PitlakeError):
    """A server that Dagster needs did not start. The message names its log."""


class NotifyFailed(PitlakeError):
    """An alert could not be delivered. The message names channels, never their credentials."""


class GraphError(PitlakeError):
    """Base class of errors of the source graph. Messages name address and status, never credentials or parameters."""


class GraphUnavailable(GraphError):
    """The graph is not reachable, or the connection broke."""

    def __init__(self, problem: str, next_step: str = "") -> None:
        self.problem, self.next_step = problem, next_step
        super().__init__(problem + (f"; {next_step}" if next_step else ""))


class GraphLoginFailed(GraphError):
    """The server refused the credentials."""


class GraphNotReadOnly(GraphError):
    """The server accepted a write on the read-only connection, or did not prove that it would refuse one."""


class GraphRefused(GraphError):
    """The statement writes, or the reader may not run it. Nothing of it is stored. `code` is the server's."""

    def __init__(self, problem: str, code: str = "") -> None:
        self.code = code
        super().__init__(problem)


class GraphQueryFailed(GraphError):
    """The server failed to run a statement. `code` is its status code, such as
    Neo.ClientError.Statement.SyntaxError.
    """

    def __init__(self, code: str, problem: str) -> None:
        self.code, self.problem = code, problem
        super().__init__(f"{code}: {problem}")


GONE = "the data for this answer can't be read; try again without a cursor, or inform the lake's operator"


def for_agents(error: PitlakeError) -> str:
    """Return an error's message for agents: one sentence that reveals no files, versions or later rows."""
    # An agent must not learn paths of this machine.
    if isinstance(error, MachineExhausted):
        return f"{error.problem}: {error.place}; the lake is unchanged; try again later or inform its operator"
    return GONE if isinstance(error, LakeError | SessionRefused) else str(error)
