"""What the checks of each run found, kept beside the lake's log for people: passed, warned or refused, and where.

Nothing is decided by these files and no version needs them; examples name source records, never their values. Written
by whoever runs a publish, read by the quality report and by alerts.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.storage.store import Store

JUDGEMENTS = "_lake/judgements"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What one run's checks found for one dataset. `version` is the lake version it published or found unchanged, None
    when it was refused; `refusal` then says why, in one line.
    """

    dataset: str
    run_id: str
    judged_at: datetime
    version: int | None
    refusal: str = ""
    checks: tuple[CheckResult, ...] = ()

    def to_json(self) -> bytes:
        """The judgement as it is kept."""
        return json.dumps({**asdict(self), "judged_at": clock.iso(self.judged_at)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Judgement":
        """The judgement that was kept. Raises LakeError when the file is not one."""
        try:
            fields = json.loads(content)
            checks = tuple(CheckResult(**{**one, "examples": tuple(one["examples"])}) for one in fields["checks"])
            judged_at = clock.instant(fields["judged_at"], "judged_at")
            return cls(**{**fields, "judged_at": judged_at, "checks": checks})
        except (ValueError, TypeError, KeyError):
            raise LakeError("a kept judgement is damaged; remove the file, nothing depends on it") from None


def keep(store: Store, judgement: Judgement) -> None:
    """Keep one run's findings. A run that judges a dataset twice in one microsecond keeps the first."""
    moment = f"{clock.micros(judgement.judged_at):020d}"
    store.put_new(f"{JUDGEMENTS}/{judgement.dataset}/{moment}.{judgement.run_id}.json", judgement.to_json())


def kept(store: Store, dataset: str) -> Iterator[Judgement]:
    """The judgements of a dataset, newest first; read one by one, so that asking for the newest reads one file."""
    for key in sorted((file.key for file in store.walk(f"{JUDGEMENTS}/{dataset}")), reverse=True):
        yield Judgement.from_json(store.read(key))
