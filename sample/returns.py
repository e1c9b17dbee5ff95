"""Returns after an event: the schedule of windows and the properties of edges. Returns are outcomes, which no as-of
reader may see. The windows repeat a mistake of the real graph: after an early close, they end before their event.
"""

from datetime import datetime, timedelta, timezone

from pitlake.clock import NEW_YORK
from sample.calendar import after, before, market_session, sessions
from sample.companies import INDEX, INDUSTRIES, NEVER_PRICED, SECTOR_ETFS, Company, squashed
from sample.prices import change, company_bars, etf_bars
from sample.shapes import Graph, as_json, iso_new_york, rng

HORIZONS = ("hourly", "session", "daily")
BENCHMARKS = ("stock", "industry", "sector", "macro")

Returns = dict[str, float]


def schedule(moment: datetime) -> dict[str, str]:
    """Return the ends of the three windows as ISO strings in New York time."""
    hourly, session, daily = _window_ends(moment)
    return {"hourly": iso_new_york(hourly), "session": iso_new_york(session), "daily": iso_new_york(daily)}


def schedule_json(moment: datetime) -> str:
    """Return the schedule as stored on the event's node."""
    return as_json(schedule(moment))


def _window_ends(moment: datetime) -> tuple[datetime, datetime, datetime]:
    local = moment.astimezone(NEW_YORK)
    day = local.date()
    hour_later = (moment.astimezone(timezone.utc) + timedelta(hours=1)).astimezone(NEW_YORK)
    kind, following = market_session(moment), after(day)
    if kind in ("pre_market", "in_market"):
        today = sessions()[day]
        return hour_later, today.open if kind == "pre_market" else today.close, today.close
    today_or_none = sessions().get(day)
    if today_or_none and today_or_none.early and local >= today_or_none.close:
        return hour_later, today_or_none.close, today_or_none.close
    if kind == "market_closed" and today_or_none and local < today_or_none.pre:
        following = today_or_none
    return hour_later, following.open, following.close


def event_returns(company: Company, event_id: str, moment: datetime) -> Returns:
    """Return the twelve returns after an event in percent with two decimals, without returns that lack prices."""
    if company.ticker == NEVER_PRICED:
        return {}
    end = _window_ends(moment)[2].date()
    start = before(end).day
    paths = {
        "stock": company_bars(company),
        "industry": etf_bars(INDUSTRIES[company.industry][1]),
        "sector": etf_bars(SECTOR_ETFS[company.sector]),
        "macro": etf_bars(INDEX),
    }
    random, returns = rng("returns", event_id.replace(company.ticker, company.seed), company.seed), Returns()
    unpriced_hour, unpriced_day = random.random() < 0.02, random.random() < 0.01
    for benchmark, path in paths.items():
        daily = change(path, start, end)
        if daily is None:
            continue
        returns[f"hourly_{benchmark}"] = round(daily * random.uniform(-0.3, 0.8), 2)
        returns[f"session_{benchmark}"] = round(daily * random.uniform(0.1, 1.1), 2)
        returns[f"daily_{benchmark}"] = daily
    if unpriced_hour:
        returns.pop("hourly_stock", None)
    if unpriced_day:
        returns.pop("daily_stock", None)
    return returns


def of_benchmark(returns: Returns, benchmark: str) -> Returns:
    """Return the three returns of one benchmark, for edges to industries, sectors and the index."""
    return {name: value for name, value in returns.items() if name.endswith(f"_{benchmark}")}


def add_influences(
    graph: Graph, label: str, event_id: str, company: Company, created_at: str, returns: Returns
) -> None:
    """Add INFLUENCES edges to the company's industry, sector and index and, except for reports, to the company."""
    facts = {"symbol": company.ticker, "created_at": created_at}
    if label != "Report":
        graph.edge((label, "INFLUENCES", "Company"), event_id, company.cik, **facts, **returns)
    for target, node_id, benchmark in (
        ("Industry", squashed(company.industry), "industry"),
        ("Sector", squashed(company.sector), "sector"),
        ("MarketIndex", INDEX, "macro"),
    ):
        graph.edge((label, "INFLUENCES", target), event_id, node_id, **facts, **of_benchmark(returns, benchmark))
