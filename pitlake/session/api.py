"""Opening a session: `connect` from a user's arguments, `open_session` from a viewpoint, `walk` through instants."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitlake.clock import iso, past
from pitlake.errors import BadInput, LakeNotFound, MachineExhausted, SessionError
from pitlake.lake.storage.manifest import Snapshot
from pitlake.models import CLEAN, Model, plain_id, published
from pitlake.questions.catalogue import all_queries
from pitlake.session import arguments
from pitlake.session.contracts import Catalogue
from pitlake.session.limits import Limits
from pitlake.session.opener import Opener
from pitlake.session.session import Session
from pitlake.session.viewpoint import OMIT, Hindsight, Isolation, Viewpoint
from pitlake.session.visible.cut_cache import CutCache

if TYPE_CHECKING:
    from pitlake.lake.lake import Lake


def connect(  # noqa: PLR0913 - all that a session is asked for
    place: "str | date | Path | Lake | None" = None,
    /,
    as_of: str | date | None = None,
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
    model: str | None = None,
    require: str | None = None,
) -> Session:
    """Open a session on a lake as of an instant: `connect(T)`, or `connect(LAKE, T)`.

    Args: as_of: ISO-8601 with an offset or the name of a zone, or an aware datetime. version: A lake version (default:
    the newest). known_by: Use the version that was the newest at this instant, without what this lake collected later.
    lake: The lake or its root (default: $PITLAKE_LAKE, else ./.pitlake/lake). isolation: "process" is sealed;
    "in_process" is for trusted code. datasets: The datasets to bind (default: all). open_mode: Query without an
    instant; includes outcomes. hindsight: "omit" leaves out the columns that could not be known at available_at, such
    as today's tickers. limits: Bounds of time, memory and results. catalogue: Contracts and views to use in place of
    those of this installation and of mounted tables. Macros over the installation's datasets are then left out. model:
    The language model that asks; receipts state whether it may know what came after T. require: "clean" refuses a model
    that may.

    Raises:
        BadInput, BadInstant: For an argument that can't be used.
        LakeNotFound, MachineExhausted, SessionRefused, IsolationUnavailable: See `pitlake.errors`.
    """
    if isinstance(place, str | date) and as_of is None and not open_mode:
        place, as_of = None, place
    if place is not None and lake is not None:
        raise BadInput("lake", f"given twice, {place} and {lake}", "give one of them")
    if isinstance(place, date):
        raise BadInput("as_of", f"given twice, {place} and {as_of}", "give one of them")
    viewpoint = Viewpoint.parse(
        as_of,
        open_mode=open_mode,
        version=version,
        known_by=known_by,
        hindsight=hindsight,
        lake=lake if place is None else place,
        isolation=isolation,
    )
    viewpoint = by_model(viewpoint, model, require)
    return open_session(viewpoint, datasets=datasets, limits=limits, catalogue=catalogue)


def named_model(name: str, lake: "str | Path | Lake | None" = None) -> Model:
    """Return a model with its training cut-off, from the lake's newest `model_registry` or its maker's statements."""
    newest = Viewpoint(as_of=None, lake=lake, isolation="in_process")
    with suppress(LakeNotFound):
        if "model_registry" in newest.open_lake().entry().tables:
            with open_session(newest, datasets=["model_registry"]) as session:
                for row in session.run("model_known").arrow().to_pylist():
                    same = row["model"].lower() == plain_id(name).lower()
                    if same and (day := row["knowledge_cutoff"]):
                        return Model(name, day, f"`model_registry` states {day} ({row['source']})", is_stated=True)
    return published(name)


def by_model(
    viewpoint: Viewpoint, model: str | None, require: str | None, field: Callable[[str], str] = str
) -> Viewpoint:
    """Return a viewpoint for the model that asks. Raises BadInput if it must be clean but may know later events."""
    if require not in (None, CLEAN) or (require and not model):
        raise BadInput(
            field("require"),
            f"{require!r} is not {CLEAN!r}, or there is no model",
            f"give {CLEAN!r} and {field('model')}",
        )
    if model is None:
        return viewpoint
    found_model = replace(named_model(model, viewpoint.lake), must_be_clean=bool(require))
    return viewpoint.asked_by(found_model, field("as_of"))


def walk(instants: Iterable[str | datetime], **options: Any) -> Iterator[Session]:
    """Yield one session as of each of these instants in turn, oldest first, by `advance`.

    The session is closed when the loop ends, even if it ends early.

    Args:
        instants: Each ISO-8601 with an offset, or an aware datetime; none earlier than the one before it.
        options: As for `connect`, except `open_mode`.

    Raises:
        BadInput: For instants out of order, or an argument that can't be used.
        LakeNotFound, MachineExhausted, SessionRefused, IsolationUnavailable: See `pitlake.errors`.
    """
    if options.get("open_mode"):
        raise BadInput("open_mode", "can't be moved through instants", "leave it out")
    lake = Viewpoint(as_of=None, lake=options.get("lake"))
    moments = [past(each, "instants", lambda: lake.open_lake().now()) for each in instants]
    for before, after in pairwise(moments):
        if after < before:
            raise BadInput("instants", f"{iso(after)} follows {iso(before)}", "give the oldest first")
    return _walk(moments, options)


def _walk(moments: list[datetime], options: dict[str, Any]) -> Iterator[Session]:
    if moments:
        with connect(moments[0], **options) as session:
            for moment in moments:
                session.advance(moment)
                yield session


def index_searches(lake: "Lake", datasets: Collection[str], cut_cache: CutCache | None = None) -> None:
    """Build the word indexes that the first searches of these datasets would build.

    They stay in this machine's cache. Datasets that can't be indexed now are left to the searches.
    """
    now = Viewpoint(as_of=lake.now(), lake=lake)
    for query in all_queries().values():
        if query.by_index != query.sql and not set(datasets).isdisjoint(query.searches):
            with (
                suppress(SessionError, MachineExhausted),
                open_session(now, datasets=query.reads, cut_cache=cut_cache) as session,
            ):
                session.open_index(query)


def open_session(
    viewpoint: Viewpoint,
    *,
    snapshot: Snapshot | None = None,
    datasets: Collection[str] | None = None,
    limits: Limits | None = None,
    catalogue: Catalogue | None = None,
    cut_cache: CutCache | None = None,
) -> Session:
    """Open a session from a viewpoint; other arguments as for `connect`.

    Args:
        snapshot: The lake version, in place of the one that the viewpoint names.
        cut_cache: The cache of session files.
    """
    conventions, lake = dict[str, str](), viewpoint.open_lake()
    if snapshot is None:
        viewpoint = replace(viewpoint, lake=lake)
        conventions = {"filings_count_from": lake.filings_count_from, "bars_count_from": lake.bars_count_from}
        snapshot = viewpoint.snapshot()
    catalogue = catalogue or Catalogue(lake.contracts(snapshot))
    opener = Opener(
        snapshot=snapshot,
        catalogue=catalogue,
        datasets=catalogue.choose(arguments.names(datasets), open_mode=viewpoint.as_of is None),
        limits=arguments.bounds(limits),
        cut_cache=cut_cache or CutCache(),
        sealed=viewpoint.isolation == "process",
        omit=viewpoint.hindsight == OMIT,
    )
    return Session(viewpoint, opener, conventions=conventions)
