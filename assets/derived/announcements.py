"""Statements about earnings releases in one form, read from the lake's datasets: releases from filings, statements
from other datasets.

All functions are pure functions of the rows of one lake version. A source is an entry of RELEASES or STATEMENTS.
`assets.derived.earnings_events` assigns statements to releases.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from assets.feeds.releases import DAYS_AFTER, DAYS_BEFORE
from pitlake.clock import from_micros, new_york_day
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading
from pitlake.questions.tickers import Tickers

Fields = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """One revision of a source row about an earnings release.

    day: its New York day. tickers: the tickers of the companies that it may concern. statement: its name in the source.
    fields: the columns of `earnings_events` that it fills.
    """

    source: str
    statement: str
    tickers: tuple[str, ...]
    day: date
    available_at: datetime
    available_at_source: str
    evidence: str
    fields: Fields

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """Return a unique sort key, oldest first."""
        return self.available_at, self.source, self.statement, self.evidence


@dataclass(frozen=True)
class AnnouncementSource:
    """A dataset as a source of statements. `where` and `select` are SQL over its revisions; `parse` returns a row's
    statement, day and fields.

    by_cik: whether rows have no ticker, so that tickers come from `names` and the graph's companies. before, after: the
    event's day is in [day - before, day + after].
    """

    dataset: str
    select: str
    parse: Callable[[Mapping[str, Any]], tuple[str, date, Fields]]
    where: str = "true"
    tickers: str = "[ticker]"
    by_cik: bool = False
    before: int = 0
    after: int = 0

    def read(self, snapshot: Snapshot) -> Iterator[Announcement]:
        """Yield every revision in one lake version, oldest first."""
        files = snapshot.files(self.dataset)
        if not files:
            return
        snapshot.fetch(files)
        question = f"""
            SELECT {self.select}, {"NULL" if self.by_cik else self.tickers} AS _tickers, epoch_us(available_at) AS _at,
                available_at_source AS _tag, evidence AS _evidence
            FROM {reading(files)} WHERE {self.where} ORDER BY available_at, evidence"""
        with calculator() as connection:
            rows = connection.sql(question).to_arrow_table().to_pylist()
        borne = Tickers(snapshot) if self.by_cik else None
        for row in rows:
            if borne is not None:
                row["_tickers"] = borne.of(row["cik"], row["event_at"])
                row["ticker"] = next(iter(row["_tickers"]), None)
            statement, day, fields = self.parse(row)
            yield Announcement(
                source=self.dataset,
                statement=statement,
                tickers=tuple(sorted({ticker for ticker in row["_tickers"] or () if ticker})),
                day=day,
                available_at=from_micros(row["_at"]),
                available_at_source=row["_tag"],
                evidence=row["_evidence"],
                fields=fields,
            )


def _release(row: Mapping[str, Any]) -> tuple[str, date, Fields]:
    at = row["event_at"]
    day = new_york_day(at)
    filing = {name: row[name] for name in ("accession_no", "cik", "ticker", "acceptance_rule", "release_rule")}
    return row["accession_no"], day, filing | {"event_at": at, "event_day": day}


def _reported(row: Mapping[str, Any]) -> tuple[str, date, Fields]:
    names = ("reported_date", "report_time", "fiscal_date_ending")
    return str(row["fiscal_date_ending"]), row["reported_date"], {name: row[name] for name in names}


def _call(row: Mapping[str, Any]) -> tuple[str, date, Fields]:
    start = row["call_start"]
    fields = {"call_start": start} | ({"transcript_at": row["available_at"]} if row["transcript"] else {})
    return row["name"], new_york_day(start), fields


_FISCAL = "concat_ws('/', exchange, ticker, fiscal_year, fiscal_quarter) AS name, call_start, available_at"

RELEASES = (
    AnnouncementSource(
        "reports",
        "accession_no, cik, ticker, created AS event_at, 'offset' AS acceptance_rule, release_rule",
        _release,
        where="form_type = '8-K' AND len(list_filter(items, lambda x: x LIKE 'Item 2.02%')) > 0",
        tickers="list_append(tickers, ticker)",
    ),
    AnnouncementSource(
        "sec_filings",
        "accession_no, cik, accepted_at AS event_at, acceptance_rule, release_rule",
        _release,
        where="form_type = '8-K' AND list_contains(items, '2.02')",
        by_cik=True,
    ),
)

# A call follows its release within days.
STATEMENTS = (
    AnnouncementSource(
        "av_earnings",
        "fiscal_date_ending, reported_date, report_time",
        _reported,
        where="period_type = 'quarter'",
        before=DAYS_BEFORE,
        after=DAYS_AFTER,
    ),
    AnnouncementSource(
        "yahoo_earnings",
        "first_stated, event_date",
        lambda row: (str(row["first_stated"]), row["event_date"], {"yahoo_date": row["event_date"]}),
        before=DAYS_BEFORE,
        after=DAYS_AFTER,
    ),
    AnnouncementSource(
        "call_events", f"{_FISCAL}, false AS transcript", _call, where="call_start IS NOT NULL", before=4, after=1
    ),
    AnnouncementSource(
        "call_transcripts", f"{_FISCAL}, true AS transcript", _call, where="call_start IS NOT NULL", before=4, after=1
    ),
    AnnouncementSource(
        "transcripts",
        "transcript_id AS name, conference_datetime AS call_start, available_at, true AS transcript",
        _call,
        before=4,
        after=1,
    ),
)


def days_around(day: date, source: AnnouncementSource) -> list[date]:
    """Return the possible days of a statement's event."""
    return [day + timedelta(days=offset) for offset in range(-source.before, source.after + 1)]
