"""A slow reference for the snapshot query: plain reads of the views in an as-of session, then loops.

`python -m tests.derived.slow_bundle LAKE N` compares N events of a lake row by row, at every anchor and one second
before the acceptance. That second may change only rows that became public in it, and rows that these replace.
"""

import random
import sys
from datetime import timedelta
from math import prod

from assets.derived.earnings_bundles import ANCHORS, QUERY, as_of, events
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.session import connect

CONCEPTS = next(p.default for p in catalogue.get(QUERY).parameters if p.name == "concepts")
SURPRISES = ("reported_eps", "estimated_eps", "surprise", "surprise_percentage")
CONSENSUS = {
    "eps_average": "eps_estimate_average",
    "eps_analysts": "eps_estimate_analyst_count",
    "revenue_average": "revenue_estimate_average",
    "revenue_analysts": "revenue_estimate_analyst_count",
}
SECOND = timedelta(seconds=1)


def slow(session, ticker):
    """Return {(section, name): (value, text, evidence ids, known at)}, computed from each section's definition."""

    def read(view, company=None):
        chosen = f" WHERE {company} = $ticker" if company else ""
        table = session.sql(f"SELECT * FROM {view}{chosen}", {"ticker": ticker} if company else None).arrow()
        return sorted(table.to_pylist(), key=lambda row: (row["available_at"], row["evidence"]))

    result = {}

    def add(section, name, value, text, rows):
        existing = max(row["available_at"] for row in rows)
        result[section, name] = (value, text, tuple(row["evidence"] for row in rows), existing)

    facts(read("xbrl_facts", "ticker"), ticker, add)
    splits = [*read("splits", "ticker"), *read("polygon_splits", "ticker")]
    prices(read("prices", "symbol"), splits, ticker, add)
    estimates(read, ticker, session.as_of, add)
    documents(read, ticker, session.as_of, add)
    newest = {}
    for row in read("macro_observations"):
        if not row["withdrawn"] and row["value"] is not None:
            response = newest.get(row["series_id"])
            if response is None or row["observation_date"] > response["observation_date"]:
                newest[row["series_id"]] = row
    for name, row in newest.items():
        add("macro", f"{name} {row['observation_date']}", row["value"], row["value_text"], [row])
    return result


def facts(rows, ticker, add):
    groups = {}
    for row in rows:
        expected = row["ticker"] == ticker and row["concept"] in CONCEPTS
        if expected and row["is_numeric"] and not row["is_nil"] and row["member_count"] == 0:
            days = (row["period_end"] - row["period_start"]).days if row["period_start"] else 0
            groups.setdefault((row["concept"], row["unit"], days // 20), []).append(row)
    for members in groups.values():
        ends = sorted({row["period_end"] for row in members}, reverse=True)[:8]
        for row in members:
            if row["period_end"] in ends:
                start = f"{row['period_start']}/" if row["period_start"] else ""
                name = " ".join(filter(None, (row["concept"], f"{start}{row['period_end']}", row["unit"])))
                add("facts", name, row["value_number"], row["value"], [row])


def prices(rows, splits, ticker, add):
    bars = sorted((row for row in rows if row["symbol"] == ticker), key=lambda row: row["date"], reverse=True)[:60]
    adjusted = []
    for bar in bars:
        after = [split for split in splits if split["execution_date"] > bar["date"]]
        factor = prod(each["split_to"] / each["split_from"] for each in after)
        adjusted.append((bar["close"] / factor, [bar, *after]))
        add(
            "prices", str(bar["date"]), adjusted[-1][0], f"as traded {bar['close']}" if after else None, adjusted[-1][1]
        )
    for back in (1, 5, 20, 59):
        if len(bars) > back:
            (last, why), (first, before) = adjusted[0], adjusted[back]
            add("returns", f"last {back} bars", 100 * (last / first - 1), None, [*before, *why])


def estimates(read, ticker, at, add):
    quarters = [row for row in read("av_earnings") if row["ticker"] == ticker and row["period_type"] == "quarter"]
    for row in sorted(quarters, key=lambda row: row["fiscal_date_ending"], reverse=True)[:8]:
        for measure in SURPRISES:
            if row[measure] is not None:
                add("surprises", f"{measure} {row['fiscal_date_ending']}", row[measure], None, [row])
    oldest = at.date() - timedelta(days=100)
    for row in read("av_estimates"):
        if row["ticker"] == ticker and row["fiscal_date_ending"] >= oldest:
            for measure, column in CONSENSUS.items():
                if row[column] is not None:
                    name = " ".join(filter(None, (measure, row["horizon"], str(row["fiscal_date_ending"]))))
                    add("consensus", name, row[column], None, [row])


def documents(read, ticker, at, add):
    for source in ("news", "benzinga_news"):
        first = {}
        for row in read(f"{source}_revisions"):
            if ticker in (row["tickers"] or []):
                first.setdefault(row["id"], row)
        late = [row for row in first.values() if row["available_at"] > at - timedelta(days=30)]
        if late:
            late.sort(key=lambda row: row["evidence"])
            add("news", f"{source} in 30 days", float(len(late)), None, late)
    borne = {row["cik"] for row in read("names") if row["kind"] == "ticker" and ticker in row["all_names"]}
    listing = [row | {"ticker": ticker} for row in read("sec_filings") if row["cik"] in borne]
    filed = {row["accession_no"]: row for rows in (listing, read("reports", "ticker")) for row in rows}
    for row in filed.values():
        if row["ticker"] == ticker and row["available_at"] > at - timedelta(days=120):
            text = ": ".join(filter(None, (row["form_type"], ", ".join(row["items"] or []))))
            add("filings", row["accession_no"], None, text, [row])
    for view, started, names in (
        ("transcripts", "conference_datetime", lambda row: f"{row['conference_datetime']:%Y-%m-%dT%H:%MZ}"),
        ("call_transcripts", "call_start", lambda row: f"{row['fiscal_year']}/{row['fiscal_quarter']}"),
    ):
        calls = [row for row in read(view, "ticker") if row["ticker"] == ticker]
        if calls:
            last = max(calls, key=lambda row: (row[started], names(row)))
            text = " ".join(filter(None, (str(last["fiscal_year"] or ""), f"Q{last['fiscal_quarter']}")))
            add("call", f"{view} {names(last)}", None, text, [last])


def quick(session, ticker):
    """Return the same mapping from the named query."""
    query = catalogue.get(QUERY)
    rows = session.ask(query, query.bind({"ticker": ticker})).arrow().to_pylist()
    return {
        (row["section"], row["name"]): (row["value"], row["text"], tuple(row["evidence_ids"]), row["available_at"])
        for row in rows
    }


def same(ours, theirs):
    """Return whether two snapshots agree, with values equal within a relative 1e-12."""
    if ours.keys() != theirs.keys():
        return False
    for key, (value, *rest) in ours.items():
        other, *others = theirs[key]
        close = value == other or (value is not None and other is not None and abs(value - other) <= 1e-12 * abs(other))
        if not close or rest != others:
            return False
    return True


def both(lake, event, moment):
    """Return the snapshots of one instant from the named query and from `slow`."""
    with connect(moment, lake=lake, datasets=[*catalogue.get(QUERY).reads, "names"]) as session:
        return quick(session, event.ticker), slow(session, event.ticker)


def across(event, before, after):
    """Return the keys that changed in the second before an acceptance, and the keys that wrongly did or did not change.

    before, after: the snapshots at the start and the end of that second. Only rows that became public in it and rows
    that newer periods replace may change.
    """
    changed = {key for key in before | after if before.get(key) != after.get(key)}
    began = event.event_at - SECOND
    must = {key for key, (*_, known_at) in after.items() if known_at > began} | (before.keys() - after.keys())
    return changed, changed ^ must


def main(root: str, count: int) -> int:
    """Compare the snapshots, and print the differences."""
    lake, rows, moved, filed, wrong = Lake(root), 0, 0, 0, 0
    chosen = random.Random(7).sample(existing := events(lake), min(count, len(existing)))
    for event in chosen:
        moments = {anchor: as_of(event.event_at, anchor) for anchor in ANCHORS}
        moments["a second before"] = event.event_at - SECOND
        slowly = {}
        for name, moment in moments.items():
            ours, slowly[name] = both(lake, event, moment)
            rows += len(ours)
            if not same(ours, slowly[name]):
                wrong += 1
                differing = sorted(key for key in ours | slowly[name] if ours.get(key) != slowly[name].get(key))
                sys.stdout.write(f"{event} {name}: {differing[:5]}\n")
        changed, amiss = across(event, slowly["a second before"], slowly["at_release"])
        moved, wrong = moved + len(changed), wrong + bool(amiss)
        filed += ("filings", event.accession_no) in changed
        if amiss:
            sys.stdout.write(f"{event}, a second: {sorted(amiss)[:5]}\n")
    sys.stdout.write(
        f"{len(chosen)} events, {len(moments)} instants each, {rows:,} rows; the second before each acceptance "
        f"changes {moved:,} rows, {filed:,} times the filing's; {wrong} snapshots or seconds are not as they must\n"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
