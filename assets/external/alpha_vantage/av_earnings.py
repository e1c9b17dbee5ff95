"""Dataset `av_earnings`: reported earnings from Alpha Vantage, dated by their filing if the lake has it."""

from collections.abc import Hashable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from assets.external.alpha_vantage._spelling import PATH, answer_about, is_absent, number, required_number, word
from assets.extraction import Place, Record, Releases, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity, unit_per_ticker
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from assets.splits import EVIDENCE, per_share_since
from pitlake.clock import start_of_new_york_day
from pitlake.contract import GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_earnings as contract
from pitlake.datasets.av_earnings import DATASET
from pitlake.errors import Unparsable, Unreadable
from pitlake.exchange import session
from resources.http.capture import Capture, Request
from resources.http.providers.alpha_vantage import PROVIDER

QUARTER, YEAR = "quarter", "year"
SHORTEST_YEAR = timedelta(days=300)
AFTER_CLOSE = "post-market"
FILING, FILING_NEXT_DAY, END_OF_DAY = "8-K", "8-K_next_day", "end_of_day"
SPLIT_SINCE = "split_since"

PARSERS = {
    "reported_eps": required_number,
    "estimated_eps": number,
    "surprise": number,
    "surprise_percentage": number,
    "report_time": word,
}
SPELLED = {
    "reported_eps": "reportedEPS",
    "estimated_eps": "estimatedEPS",
    "surprise": "surprise",
    "surprise_percentage": "surprisePercentage",
    "report_time": "reportTime",
}


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch all quarters and years, which are in one answer."""
    yield fetch(Request(PATH, {"function": "EARNINGS", "symbol": unit.name}))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Yield one record per quarter and one per year. A year includes its last quarter."""
    return mark_repeats(_periods(unit, captures), lambda period: (period["kind"], _end_of(period)))


def _end_of(period: Record) -> Hashable:
    return parsed_or_text(dating.day, period.get("fiscalDateEnding"))


def _periods(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    for capture in captures:
        answer = capture.json()
        quarters, years = (_objects(answer, name, capture) for name in ("quarterlyEarnings", "annualEarnings"))
        answer_about(unit.name, answer.get("symbol"), capture.evidence)
        ending = {_end_of(quarter): quarter for quarter in reversed(quarters)}
        # A newest year that follows the previous one too soon is the sum of the quarters of an unfinished year.
        ends = []
        for year in years:
            try:
                ends.append((dating.day(year.get("fiscalDateEnding")), year["fiscalDateEnding"]))
            except Unreadable:
                continue
        ends = sorted(set(ends), reverse=True)
        running = ends[0][1] if len(ends) > 1 and ends[0][0] - ends[1][0] < SHORTEST_YEAR else None
        periods: list[Record] = [{**quarter, "kind": QUARTER} for quarter in quarters]
        for year in years:
            end = year.get("fiscalDateEnding")
            quarter = ending.get(_end_of(year))
            facts = {"kind": YEAR, "running": end == running, "undated": quarter is None}
            report_time = {name: (quarter or {}).get(name) for name in ("reportedDate", "reportTime")}
            periods.append({"fiscalDateEnding": end, "reportedEPS": year.get("reportedEPS"), **report_time, **facts})
        yield from (({**period, "ticker": unit.name}, capture) for period in periods)


def _objects(answer: Any, name: str, capture: Capture) -> list[dict[str, Any]]:
    members = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise Unparsable(capture.evidence, f"{name} is not a list of records")
    return members


def locate(record: Record, run: RunFacts) -> Place:
    """Return the 8-K's release, or the end of the reported day, or the fetch after a split; evidence names the rule."""
    evidence = evidence_of(run, record, record["ticker"], record["kind"], record.get("fiscalDateEnding"))
    if TWICE in record:
        return Place(evidence, reason=figures.TOLD_TWICE.reason)
    try:
        period = dating.day(record.get("fiscalDateEnding"))
    except Unreadable:
        return Place(evidence, reason=figures.NO_PERIOD.reason)
    if record.get("running"):
        return Place(evidence, reason=contract.RUNNING_YEAR.reason)
    if record.get("undated"):
        return Place(evidence, reason=contract.NO_QUARTER.reason)
    try:
        day = dating.day(record.get("reportedDate"))
        dating.believed(dating.end_of_day(day))
        instant, rule = public_at(record["ticker"], day, str(record.get("reportTime")), run.releases)
    except Unreadable:
        return Place(evidence, reason=contract.NO_REPORTED_DATE.reason)
    if problem := _problem(record, period, day, run.releases):
        return Place(evidence, day=day, reason=problem.reason)
    counted = per_share_since(record["ticker"], instant, run)
    return dated(f"{evidence}&dated_by={rule if counted == instant else SPLIT_SINCE}", counted)


def _problem(record: Record, period: date, day: date, releases: Releases | None) -> GapRule | None:
    """Return why a report of a day can't be about the period; None if nothing contradicts it."""
    if day < period:
        return contract.BEFORE_PERIOD_END
    if is_absent(record.get("reportedEPS")):
        return contract.NOT_REPORTED
    silent = releases is not None and releases.silent_around(record["ticker"], day)
    return figures.NO_RESULTS if silent else None


def public_at(ticker: str, day: date, time_of_day: str, releases: Releases | None) -> tuple[datetime, str]:
    """Return when a report of a day was public, and the rule.

    The instant is late by DATE_ONLY_BOUND at most, and by another day if the report was filed the day after. If a
    filing of that evening is released after the day's end, the day's end is used. A filing before the close does not
    prove a report that is stated to be after the close. If the day has no filing, a filing of the next day is used,
    because the end of the stated day may be too early.
    """
    if releases is not None:
        release = releases(ticker, day)
        hours = session(day)
        late_enough = time_of_day != AFTER_CLOSE or hours is None or release is None or release >= hours.close
        if release is not None and late_enough:
            return max(min(release, dating.end_of_day(day)), start_of_new_york_day(day)), FILING
        if release is None:
            release = releases(ticker, day + timedelta(days=1))
            if release is not None:
                return max(release, dating.end_of_day(day)), FILING_NEXT_DAY
    return dating.end_of_day(day), END_OF_DAY


def values(record: Record) -> dict[str, Any]:
    spelled = {column: record.get(name) for column, name in SPELLED.items()}
    return parsed(spelled, PARSERS) | {
        "ticker": record["ticker"],
        "period_type": record["kind"],
        "fiscal_date_ending": dating.day(record["fiscalDateEnding"]),
        "reported_date": dating.day(record["reportedDate"]),
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=unit_per_ticker,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=lambda unit, _: Whole(unit.name),
    after=("reports", "sec_filings", *EVIDENCE),
)
