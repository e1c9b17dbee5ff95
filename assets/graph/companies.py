"""Dataset `companies`: snapshots of the Company nodes, dated by observation because the graph does not date them."""

from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, dated, parsed
from assets.graph import texts
from pitlake.datasets import companies as contract
from pitlake.datasets.companies import DATASET
from pitlake.errors import RecordRefused

SNAPSHOT = """
MATCH (c:Company)
RETURN c.id AS node, coalesce(c.cik, c.id) AS cik, coalesce(c.ticker, c.symbol) AS ticker, c.name AS name,
       c.exchange AS exchange, c.sector AS sector, c.industry AS industry,
       c.industry_normalized AS industry_normalized, c.sector_etf AS sector_etf, c.industry_etf AS industry_etf,
       c.mkt_cap AS mkt_cap, c.shares_out AS shares_out, c.employees AS employees,
       c.fiscal_year_end_month AS fiscal_year_end_month, c.fiscal_year_end_day AS fiscal_year_end_day
"""

PARSERS = (
    dict.fromkeys(
        ("name", "exchange", "sector", "industry", "industry_normalized", "sector_etf", "industry_etf"), texts.word
    )
    | dict.fromkeys(("mkt_cap", "shares_out", "employees"), texts.number)
    | dict.fromkeys(("fiscal_year_end_month", "fiscal_year_end_day"), texts.whole)
)


def locate(record: Record, run: RunFacts) -> Place:
    return dated(texts.node("Company", record["node"]), run.observed_at)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a company."""
    cik, ticker = texts.readable(texts.cik, record["cik"]), texts.word(record["ticker"])
    if cik is None or ticker is None:
        raise RecordRefused(contract.NO_IDENTITY.reason)
    return {"cik": cik, "ticker": ticker} | parsed(record, PARSERS)


EXTRACTOR = Extractor(dataset=DATASET, windows=(SNAPSHOT,), locate=locate, values=values)
