"""Contract of dataset `event_returns`."""

from pitlake.contract import Column, Dataset, GapRule

NOT_NEWS = GapRule(
    type="unverifiable", reason="not a news id", when="the article and its edges belong to a misplaced filing"
)
NO_EVENT = GapRule(type="unverifiable", reason="event is undated", when="the event's own instant cannot be read")
NO_WINDOW = GapRule(
    type="unverifiable",
    reason="window end is missing or unreadable",
    when="the schedule does not give the window's end; calls have no schedule at all",
)
BACKWARD_WINDOW = GapRule(
    type="unverifiable",
    reason="window ends before its event",
    when="the session closed early and the usual schedule does not apply",
)
FAR_WINDOW = GapRule(
    type="unverifiable",
    reason="window ends too far from its event",
    when="the window ends more than ten days after its event",
)
NO_BASIS = GapRule(
    type="unverifiable",
    reason="return may be a split's",
    when=(
        "the return is as large as from a 2:1 split, or close to that of a split recorded within a week of its window, "
        "or a split in its window is uncertain, so nothing proves that its two prices are on the same basis"
    ),
)
NO_PERCENT = GapRule(type="no_data", reason="return is not a number", when="the value is NaN or an empty list")
NO_ENTITY = GapRule(type="unverifiable", reason="unknown kind of entity", when="the edge leads to another label")
OTHER_EDGE = GapRule(
    type="unverifiable",
    reason="return of a second edge",
    when="two edges lead from one event to one entity, and the primary filer's edge is used",
)
OPEN_WINDOW = GapRule(type="pit_excluded", reason="window is still open", when="the window ends after the observation")

DATASET = Dataset(
    name="event_returns",
    title="Returns after events",
    summary=(
        "Returns after a news article, filing or call, except those that a split may explain. They are outcomes, so "
        "only open mode shows them."
    ),
    availability="The end of the return's window (returns_schedule of the event).",
    columns=(
        Column(
            name="event_kind",
            type="string",
            required=True,
            meaning="news, report or transcript.",
            values=("news", "report", "transcript"),
            strict=True,
        ),
        Column(name="event_id", type="string", required=True, meaning="Id of the event in its dataset."),
        Column(
            name="entity_kind",
            type="string",
            required=True,
            meaning="Kind of entity the edge leads to: company, industry, sector or index.",
            values=("company", "industry", "sector", "index"),
            strict=True,
        ),
        Column(
            name="entity_id", type="string", required=True, meaning="CIK, or the industry's, sector's or index's id."
        ),
        Column(name="ticker", type="string", meaning="Symbol the edge names."),
        Column(
            name="horizon",
            type="string",
            required=True,
            meaning="hourly, session or daily.",
            values=("hourly", "session", "daily"),
            strict=True,
        ),
        Column(
            name="benchmark",
            type="string",
            required=True,
            meaning="stock, industry, sector or macro.",
            values=("stock", "industry", "sector", "macro"),
            strict=True,
        ),
        Column(
            name="percent",
            type="float",
            required=True,
            unit="percent",
            meaning="Return over the window; 5.06 is 5.06 %.",
        ),
        Column(name="window_end", type="instant", required=True, meaning="End of the window."),
    ),
    key=("event_kind", "event_id", "entity_kind", "entity_id", "horizon", "benchmark"),
    entity="ticker",
    alike=("event_kind", "horizon", "benchmark"),
    knowable=dict.fromkeys(("ticker", "event_id"), "hindsight"),
    rules=("percent >= -100",),
    source_tag="time_series_timestamp",
    gap_rules=(
        NOT_NEWS,
        NO_EVENT,
        NO_WINDOW,
        BACKWARD_WINDOW,
        FAR_WINDOW,
        NO_BASIS,
        NO_PERCENT,
        NO_ENTITY,
        OTHER_EDGE,
        OPEN_WINDOW,
    ),
    open_only=True,
)
