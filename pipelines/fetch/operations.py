"""The operations of each outside source, with the scope, filter, order and item fields for its dataset.

OPERATIONS has one entry per (source, operation). The SQL is pitlake's own over the dataset's view in an as-of session,
and values are always bound.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from assets.feeds.feed import Scope
from pipelines.fetch.asking import THEMES, FetchQuestion, NotAsked
from pitlake import clock

Where = tuple[str, dict[str, Any]]
Row = Mapping[str, Any]

ALIASES = {"bz-news-api": "benzinga", "benzinga-news": "benzinga", "fred": "alfred", "massive": "polygon"}
SPELLED = {
    "alphavantage": {
        "time_series_daily": "daily",
        "time_series_intraday": "intraday",
        "time_series_weekly": "weekly",
        "time_series_monthly": "monthly",
        "earnings_estimates": "estimates",
        "earnings_calendar": "calendar",
    },
    "yahoo": {"consensus": "earnings"},
}
"""Operations by the sources' own names. Yahoo states the consensus with each event."""
ADJUSTED = (
    "adjusted prices include later splits and dividends, and the answer does not say which; "
    "use TIME_SERIES_DAILY, WEEKLY or MONTHLY, which are as traded, and the splits and dividends of polygon"
)
CASED = {"polygon"}  # BACpK is a preferred share. No ticker is all lower case, but people type tickers in lower case.
NEWEST = "available_at DESC"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a source. renamed: the item's field for a column; other columns keep their names.

    record_type: a type stated in every item, "" for none. excluded: the reason why only rows fetched before the cut-off
    are shown, "" if earlier instants can be proven. later: the reason of a gap in every answer as of an instant, "" for
    none; it does not depend on whether there are later records. synthesis: a dataset whose rows are added in open mode.
    unlimited: SQL for rows to which the limit does not apply. by_address: whether `where` also takes $found, the
    addresses in an answer.
    """

    dataset: str
    scope: Callable[[FetchQuestion], Scope]
    where: Callable[[FetchQuestion], Where]
    renamed: Mapping[str, str] = field(default_factory=dict)
    record_type: str | Callable[[Row], str] = ""
    order: str = NEWEST
    excluded: str = ""
    later: str = ""
    synthesis: str = ""
    unlimited: str = "false"
    by_address: bool = False

    def item(self, row: Row) -> dict[str, Any]:
        """Return a row as an item that starts with its instant, in New York time with an offset."""
        kind = self.record_type if isinstance(self.record_type, str) else self.record_type(row)
        moment = row["available_at"].astimezone(clock.NEW_YORK).isoformat()
        item = {self.renamed.get(name, name): value for name, value in row.items() if name != "available_at"}
        return {"available_at": moment} | ({"record_type": kind} if kind else {}) | item


def operation(question: FetchQuestion) -> Operation:
    """Return the operation of a question. Raises NotAsked, which lists all operations."""
    source = ALIASES.get(question.source, question.source)
    operations = {op: entry for (of, op), entry in OPERATIONS.items() if of == source}
    if not operations:
        raise NotAsked(f"there is no source {source!r}; choose from {', '.join(sources())}")
    op = SPELLED.get(source, {}).get(question.op, question.op)
    if op in operations:
        return operations[op]
    if source == "alphavantage" and op.endswith("_adjusted"):
        raise NotAsked(ADJUSTED, kind="unverifiable")
    if not question.op and len(operations) == 1:
        return next(iter(operations.values()))
    raise NotAsked(f"the source needs one of the operations {', '.join(filter(None, operations))}")


def sources() -> list[str]:
    """Return every source, including aliases."""
    return sorted({source for source, _ in OPERATIONS} | set(ALIASES))


def _symbols(question: FetchQuestion) -> tuple[str, ...]:
    """Return the tickers or series in upper case, unless their case distinguishes shares."""
    cased = ALIASES.get(question.source, question.source) in CASED
    spelled = filter(None, (question.symbol, *question.listed("tickers")))
    symbols = tuple(dict.fromkeys(symbol if cased and not symbol.islower() else symbol.upper() for symbol in spelled))
    if not symbols:
        raise NotAsked("no symbol is named; give --symbol")
    return symbols


def _of_symbols(question: FetchQuestion) -> Scope:
    return Scope(tickers=_symbols(question), max_pages=question.max_pages, options=dict(question.texts))


def _ticker_is(question: FetchQuestion) -> Where:
    bare = [symbol.rpartition(":")[2] for symbol in _symbols(question)]
    return "list_contains($tickers, ticker)", {"tickers": bare}


def _news_scope(question: FetchQuestion) -> Scope:
    """Return a scope of days, of updates since an instant, or by default of some time before the end."""
    since, date_to = question.updated_since, question.date_to
    until = clock.now() if question.pit is None else min(question.pit, clock.now())
    if question.date_from is None and since is None:
        since = until - timedelta(minutes=question.lookback_minutes)
    if question.date_from is not None and date_to is None:
        date_to = max(clock.new_york_day(until), question.date_from)
    return Scope(
        tickers=question.listed("tickers"),
        date_from=question.date_from,
        date_to=date_to,
        updated_since=since,
        max_pages=question.max_pages,
    )


def _news_where(question: FetchQuestion) -> Where:
    """Match any item of each given list, ignoring case. Words are searched in all texts and labels."""
    parts = ["true"]
    values: dict[str, Any] = {}
    for name, column in (("tickers", "tickers"), ("channels", "channels"), ("tags", "tags")):
        if question.listed(name):
            parts.append(f"list_has_any(list_transform({column}, lambda x: lower(x)), ${name})")
            values[name] = [value.lower() for value in question.listed(name)]
    words = [word.lower() for word in question.listed("keywords")]
    if words:
        parts.append(f"({_says('keywords')})")
        values["keywords"] = words
    themes = [word for theme in question.listed("themes") for word in THEMES.get(theme.lower(), (theme.lower(),))]
    if themes:
        parts.append(f"({_says('themes')})")
        values["themes"] = themes
    for name, sign in (("date_from", ">="), ("date_to", "<=")):
        if getattr(question, name) is not None:
            parts.append(f"CAST(timezone('America/New_York', created) AS DATE) {sign} ${name}")
            values[name] = getattr(question, name)
    if question.updated_since is not None:
        parts.append("available_at >= $updated_since")
        values["updated_since"] = question.updated_since
    return " AND ".join(parts), values


def _says(parameter: str) -> str:
    texts = "lower(concat_ws(' ', title, teaser, body, array_to_string(channels, ' '), array_to_string(tags, ' ')))"
    return f"len(list_filter(${parameter}, lambda w: contains({texts}, w))) > 0"


SEARCH_OPTIONS = (
    "search_mode", "search_recency", "max_results", "max_tokens", "max_tokens_per_page", "search_context_size",
    "response_format",
)  # fmt: skip


def _web_scope(question: FetchQuestion) -> Scope:
    """Return a scope whose filters only reduce work. The cut-off's day is requested and checked like other days."""
    if not question.queries:
        raise NotAsked("there is no question; give --query")
    until = question.date_to or (clock.new_york_day(question.pit) if question.pit is not None else None)
    if question.texts.get("search_recency"):
        until = None
    options = {name: question.texts[name] for name in SEARCH_OPTIONS if name in question.texts}
    options["op"] = question.op or "search"
    if question.listed("search_domains"):
        options["search_domains"] = ",".join(question.listed("search_domains"))
    queries = question.queries if options["op"] == "search" else ("\n".join(question.queries),)
    return Scope(queries=queries, date_from=question.date_from, date_to=until, options=options)


def _full_text_scope(question: FetchQuestion) -> Scope:
    """Return a scope of words or "phrases" in filings; filings after the cut-off's day are not requested."""
    if not question.queries:
        raise NotAsked("there is nothing to search for; give --query")
    return Scope(
        queries=question.queries,
        ciks=tuple(filter(None, question.texts.get("ciks", "").split(","))),
        date_from=question.date_from,
        date_to=question.date_to or (clock.new_york_day(question.pit) if question.pit is not None else None),
        max_pages=question.max_pages,
        options={name: question.texts[name] for name in ("forms", "headers") if name in question.texts},
    )


EPS = {
    "ticker": "symbol",
    "fiscal_date_ending": "fiscalDateEnding",
    "reported_date": "reportedDate",
    "report_time": "reportTime",
    "reported_eps": "reportedEPS",
    "estimated_eps": "estimatedEPS",
    "surprise_percentage": "surprisePercentage",
    "surprise_stated": "surprisePercentage",
    "event_date": "earnings_date",
    "report_date": "reportDate",
    "time_of_day": "timeOfTheDay",
}
LATER_REPORTS = "the source returns all quarters and years; anything that became public after the cut-off is left out"
AS_CAPTURED = "a text read today may have been written today: only texts captured by the cut-off are shown"
AS_OF_DOWNLOAD = "the source gives it only as of the download: only data fetched by the cut-off is shown"


def _market(dataset: str, record_type: str | Callable[[Row], str] = "", **more: Any) -> Operation:
    return Operation(dataset=dataset, scope=_of_symbols, where=_ticker_is, renamed=EPS, record_type=record_type, **more)


def _period_bars(period: str) -> Operation:
    def scope(question: FetchQuestion) -> Scope:
        symbols = _of_symbols(question)
        return replace(symbols, options={**symbols.options, "period": period})

    def where(question: FetchQuestion) -> Where:
        condition, values = _ticker_is(question)
        return f"{condition} AND period = $period", {**values, "period": period}

    return Operation(dataset="av_period_bars", scope=scope, where=where, renamed=EPS, record_type=f"{period}ly_bar")


def _web(op: str) -> Operation:
    prose = "" if op == "search" else "web_syntheses"
    return Operation(
        dataset="web_results",
        scope=_web_scope,
        where=lambda question: (
            "(list_contains($queries, query) OR list_contains($found, url))",
            {"queries": list(_web_scope(question).queries)},
        ),
        synthesis=prose,
        by_address=True,
        excluded=AS_CAPTURED,
    )


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("benzinga", ""): Operation(
        dataset="benzinga_news", scope=_news_scope, where=_news_where, renamed={"tickers": "symbols"}
    ),
    ("perplexity", "search"): _web("search"),
    ("perplexity", "ask"): _web("ask"),
    ("perplexity", "reason"): _web("reason"),
    ("perplexity", "research"): _web("research"),
    ("alphavantage", "earnings"): _market(
        "av_earnings",
        lambda row: "quarterly_earnings" if row["period_type"] == "quarter" else "annual_earnings",
        order="fiscal_date_ending DESC",
        unlimited="period_type = 'year'",
        later=LATER_REPORTS,
    ),
    ("alphavantage", "estimates"): _market("av_estimates", "estimates", excluded=AS_OF_DOWNLOAD),
    ("alphavantage", "calendar"): _market("av_earnings_calendar", "calendar", excluded=AS_OF_DOWNLOAD),
    ("alphavantage", "daily"): _market("av_daily_bars", "daily_bar"),
    ("alphavantage", "intraday"): _market("av_intraday_bars", "intraday_bar"),
    ("alphavantage", "weekly"): _period_bars("week"),
    ("alphavantage", "monthly"): _period_bars("month"),
    ("yahoo", "earnings"): _market("yahoo_earnings", "yahoo_earnings"),
    ("yahoo", "upgrades"): _market("yahoo_upgrades", "yahoo_upgrade"),
    ("polygon", "dividends"): _market("polygon_dividends", "dividend"),
    ("polygon", "splits"): _market("polygon_splits", "split"),
    ("earningscall", "events"): _market("call_events", "call", excluded=AS_OF_DOWNLOAD),
    ("earningscall", "transcripts"): _market("call_transcripts", "transcript"),
    ("earningscall", "slides"): _market("call_slides", "slides"),
    ("sec_full_text", ""): Operation(
        dataset="sec_fulltext_hits",
        scope=_full_text_scope,
        where=lambda question: ("list_contains($queries, query)", {"queries": list(question.queries)}),
        record_type="filing_hit",
        order="available_at DESC, accession_no, document",
    ),
    ("alfred", ""): Operation(
        dataset="macro_observations",
        scope=lambda question: Scope(series=_symbols(question)),
        where=lambda question: ("list_contains($series, series_id)", {"series": list(_symbols(question))}),
        record_type="macro_observation",
        order="observation_date DESC, series_id",
    ),
}
