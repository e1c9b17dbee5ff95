"""Contract of dataset `event_returns`."""

from pitlake.contract import Column, Dataset, GapRule

NOT_NEWS = GapRule("not a news id", "the article and its edges belong to a misplaced filing")
NO_EVENT = GapRule("event is undated", "the event's own instant cannot be read")
NO_WINDOW = GapRule(
    "window end is missing or unreadable", "the schedule does not give the window's end; calls have no schedule at all"
)
BACKWARD_WINDOW = GapRule(
    "window ends before its event", "the session closed early and the usual schedule does not apply"
)
FAR_WINDOW = GapRule("window ends too far from its event", "the window ends more than ten days after its event")
NO_BASIS = GapRule(
    "return may be a split's",
    (
        "the return is as large as from a 2:1 split, or close to the effect of a split recorded within a week of its "
        "window, or a split in its window is uncertain, so its two prices may be on different bases"
    ),
)
NO_PERCENT = GapRule("return is not a number", "the value is NaN or an empty list", type="no_data")
NO_ENTITY = GapRule("unknown kind of entity", "the edge leads to a different label")
OTHER_EDGE = GapRule(
    "return of a second edge", "two edges lead from one event to one entity, and the primary filer's edge is used"
)
OPEN_WINDOW = GapRule("window is still open", "the window ends after the observation", type="pit_excluded")

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
            "event_kind",
            "string",
            "news, report or transcript.",
            required=True,
            values=("news", "report", "transcript"),
            strict=True,
        ),
        Column("event_id", "string", "Id of the event in its dataset.", required=True),
        Column(
            "entity_kind",
            "string",
            "Kind of entity the edge leads to: company, industry, sector or index.",
            required=True,
            values=("company", "industry", "sector", "index"),
            strict=True,
        ),
        Column("entity_id", "string", "CIK, or the industry's, sector's or index's id.", required=True),
        Column("ticker", "string", "Symbol the edge names."),
        Column(
            "horizon",
            "string",
            "hourly, session or daily.",
            required=True,
            values=("hourly", "session", "daily"),
            strict=True,
        ),
        Column(
            "benchmark",
            "string",
            "stock, industry, sector or macro.",
            required=True,
            values=("stock", "industry", "sector", "macro"),
            strict=True,
        ),
        Column("percent", "float", "Return over the window; 5.06 is 5.06 %.", required=True, unit="percent"),
        Column("window_end", "instant", "End of the window.", required=True),
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
