"""A session's viewpoint: the instant, the lake and its version, and the columns left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pitlake.clock import instant, past
from pitlake.errors import BadInput, VersionVacuumed
from pitlake.models import CLEAN, Model

if TYPE_CHECKING:
    from pitlake.lake.lake import Lake
    from pitlake.lake.storage.manifest import Snapshot

Isolation = Literal["process", "in_process"]
Hindsight = Literal["show", "omit"]

SHOW: Hindsight = "show"
OMIT: Hindsight = "omit"
"""The treatment of columns that could not be known at available_at."""


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """A session's viewpoint. `parse` creates it from a user's arguments; code with checked values creates it directly.

    as_of: an aware UTC datetime; None is open mode, which includes outcomes. version: the lake version. known_by: the
    instant whose newest version is used if no version is given; with both, `version` is the version that `known_by`
    selected. Without either, the newest version is used. hindsight: "omit" leaves out the columns that could not be
    known at available_at. lake: the lake or its root; None for $PITLAKE_LAKE, else ./.pitlake/lake. isolation:
    "process" is sealed; "in_process" is for trusted code. model: the model that asks.
    """

    as_of: datetime | None
    version: int | None = None
    known_by: datetime | None = None
    hindsight: Hindsight = SHOW
    lake: "str | Path | Lake | None" = None
    isolation: Isolation = "process"
    model: Model | None = None

    @classmethod
    def parse(
        cls,
        as_of: str | date | None = None,
        *,
        open_mode: bool = False,
        version: Any = None,
        known_by: str | datetime | None = None,
        hindsight: Any = SHOW,
        lake: "str | Path | Lake | None" = None,
        isolation: Any = "process",
        field: Callable[[str], str] = str,
    ) -> "Viewpoint":
        """Check a user's arguments once and return the viewpoint.

        Args:
            as_of: ISO-8601 with an offset, or an aware datetime. It must be in the past by this machine's clock or by
                the lake's, which another machine may have set some seconds ahead.
            open_mode: Query without an instant; give exactly one of `as_of` and `open_mode`.
            field: Returns the name of an argument as the user typed it, such as --as-of.

        Raises:
            BadInput: For a wrong argument or contradictory arguments; the error names them.
            BadInstant: For an instant that is not strict ISO-8601.
        """
        if as_of is not None and open_mode:
            raise BadInput(field("as_of"), f"given together with {field('open_mode')}", "give one of them")
        if as_of is None and not open_mode:
            step = f"give an instant such as 2024-02-15T16:00:00-05:00, or {field('open_mode')} to ask without one"
            raise BadInput(field("as_of"), "missing", step)
        if version is not None and type(version) is not int:
            raise BadInput(field("version"), f"{version!r} is not a whole number", "see `pitlake versions`")
        if known_by is not None and version is not None:
            raise BadInput(field("known_by"), f"given together with {field('version')}", "give one of them")
        if isolation not in ("process", "in_process"):
            problem = f'must be "process" or "in_process", not {isolation!r}'
            raise BadInput(field("isolation"), problem, "choose one of the two")
        if hindsight not in (SHOW, OMIT):
            problem = f'must be "{SHOW}" or "{OMIT}", not {hindsight!r}'
            raise BadInput(field("hindsight"), problem, "choose one of the two")
        if hindsight == OMIT and open_mode:
            problem = f"given together with {field('open_mode')}"
            raise BadInput(field("hindsight"), problem, "open mode shows everything; ask as of an instant")
        viewpoint = cls(
            as_of=None,
            version=version,
            known_by=None if known_by is None else instant(known_by, field("known_by")),
            hindsight=cast("Hindsight", hindsight),
            lake=lake,
            isolation=cast("Isolation", isolation),
        )
        return viewpoint if as_of is None else viewpoint.at(as_of, field("as_of"))

    def at(self, as_of: str | date, field: str = "as_of") -> "Viewpoint":
        """Return the same viewpoint as of another instant.

        Raises BadInput for an instant in the future, or one for which the model may not be asked.
        """
        moment = past(as_of, field, lambda: self.open_lake().now())
        return replace(self, as_of=moment).asked_by(self.model, field)

    def asked_by(self, model: Model | None, field: str = "as_of") -> "Viewpoint":
        """Return the same viewpoint for a model. Raises BadInput if it has to be clean and is not."""
        if model and model.must_be_clean:
            verdict, reason = model.judge(self.as_of)
            if verdict != CLEAN:
                day = f"as of a day after {model.trained_to}, in New York" if model.trained_to else "with another model"
                raise BadInput(field, reason, f"ask {day}")
        return replace(self, model=model)

    def pinned(self) -> Self:
        """Return the same viewpoint with its lake version fixed."""
        return self if self.version is not None else replace(self, version=self.snapshot().version)

    def open_lake(self) -> "Lake":
        from pitlake.lake.lake import Lake

        return self.lake if isinstance(self.lake, Lake) else Lake(self.lake)

    def snapshot(self) -> "Snapshot":
        """Return the lake version to use.

        Raises LakeNotFound, VersionVacuumed, or BadInput if the instant is before the lake's first version or its
        version was vacuumed.
        """
        try:
            return self.open_lake().snapshot(self.version, self.known_by)
        except VersionVacuumed:
            if self.version is not None or self.known_by is None:
                raise
            from pitlake.lake.storage.log import not_kept

            raise not_kept() from None
