"""Opening a session: `connect` from a user's arguments, `open_session` from a viewpoint."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pitlake import machine
from pitlake.lake.storage.conventions import RELEASE
from pitlake.lake.storage.manifest import Snapshot
from pitlake.session import arguments
from pitlake.session.backends import Backend, Indexed, WithHindsight
from pitlake.session.contracts import Catalogue
from pitlake.session.limits import Limits
from pitlake.session.sealed.process import SealedProcess
from pitlake.session.session import Session
from pitlake.session.sql.statements import Opening
from pitlake.session.viewpoint import OMIT, Hindsight, Isolation, Viewpoint
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache

if TYPE_CHECKING:
    from pitlake.lake.lake import Lake


def connect(  # noqa: PLR0913 - all that a session is asked for
    as_of: str | datetime | None = None,
    *,
    version: int | None = None,
    known_by: str | datetime | None = None,
    lake: "str | Path | Lake | None" = None,
    isolation: Isolation = "process",
    datasets: Collection[str] | None = None,
    open_mode: bool = False,
    hindsight: Hindsight = "show",
    limits: Limits | None = None,
    catalogue: Catalogue | None = None,
) -> Session:
    """Open a session on a lake as of an instant.

    Args:
        as_of: ISO-8601 with an offset, or an aware datetime.
        version: A lake version (default: the newest).
        known_by: Use the version that was the newest at this instant, without what this lake collected later.
        lake: The lake or its root (default: $PITLAKE_LAKE, else ./.pitlake/lake).
        isolation: "process" is sealed; "in_process" is for trusted code.
        datasets: The datasets to bind (default: all).
        open_mode: Query without an instant; includes outcomes.
        hindsight: "omit" leaves out the columns that could not be known at available_at, such as today's tickers.
        limits: Bounds of time, memory and results.
        catalogue: Contracts and views other than this installation's and those of mounted tables; macros over the
            installation's datasets are left out.

    Raises:
        BadInput, BadInstant: For an argument that can't be used.
        LakeNotFound, MachineExhausted, SessionRefused, IsolationUnavailable: See `pitlake.errors`.
    """
    viewpoint = Viewpoint.parse(
        as_of,
        open_mode=open_mode,
        version=version,
        known_by=known_by,
        hindsight=hindsight,
        lake=lake,
        isolation=isolation,
    )
    return open_session(viewpoint, datasets=datasets, limits=limits, catalogue=catalogue)


def open_session(
    viewpoint: Viewpoint,
    *,
    snapshot: Snapshot | None = None,
    datasets: Collection[str] | None = None,
    limits: Limits | None = None,
    catalogue: Catalogue | None = None,
    cut_cache: CutCache | None = None,
) -> Session:
    """Open a session from a viewpoint; further arguments as for `connect`.

    Args:
        snapshot: The lake version, in place of the one that the viewpoint names.
        cut_cache: The cache of session files.
    """
    filings_count_from, lake = RELEASE, viewpoint.open_lake()
    if snapshot is None:
        viewpoint, filings_count_from = replace(viewpoint, lake=lake), lake.filings_count_from
        snapshot = viewpoint.snapshot()
    catalogue, limits = catalogue or Catalogue(lake.contracts(snapshot)), arguments.bounds(limits)
    cut_cache = cut_cache or CutCache()
    sealed, omit = viewpoint.isolation == "process", viewpoint.hindsight == OMIT
    chosen = catalogue.choose(arguments.names(datasets), open_mode=viewpoint.as_of is None)
    bind = partial(Binding, snapshot, viewpoint.as_of)
    start = partial(_start, views=catalogue.views, cut_cache=cut_cache, limits=limits, sealed=sealed)
    binding = bind(chosen, omit)
    backend = start(binding)
    large = frozenset(relation.name for relation in binding.relations if relation.rows > cut_cache.few)

    def start_indexed(names: Collection[str], searched: Collection[str]) -> Backend | None:
        with_index = bind(catalogue.choose(names, open_mode=False), indexed=searched)
        backend = start(with_index)
        if Opening(with_index, catalogue.views).indexed or any(relation.mapped for relation in with_index.relations):
            return backend
        backend.close()
        return None

    return Session(
        viewpoint,
        binding,
        backend,
        catalogue,
        limits,
        index=Indexed(large, start_indexed) if sealed and viewpoint.as_of else None,
        with_hindsight=WithHindsight(lambda: start(bind(chosen))) if omit else None,
        filings_count_from=filings_count_from,
    )


def _start(binding: Binding, *, views: Mapping[str, str], cut_cache: CutCache, limits: Limits, sealed: bool) -> Backend:
    opening = Opening(binding, views)
    with machine.working_in("a session of the lake", "."):
        if sealed:
            return SealedProcess(binding, cut_cache, limits, opening)
        from pitlake.session.in_process import InProcess

        return InProcess(binding, cut_cache, limits, opening)
