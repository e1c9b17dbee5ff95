"""Graph records as the extractors' queries return them: one of each kind, optionally with changed properties."""

from functools import partial
from typing import Any

CALL = {"ticker": "AAPL", "conference_datetime": "2024-05-02T17:00:00-04:00", "exchange_count": 12}
FILING = {
    "accession_no": "0000320193-24-000069", "report_cik": "320193", "created": "2024-05-02T16:31:05-04:00",
    "filers": [["0000320193", "AAPL"]], "referenced": [],
}  # fmt: skip
TIMES = {"created": "2024-05-02T16:30:00-04:00", "updated": "2024-05-02T16:30:00-04:00"}
MAY_1 = [["2024-05-01", "2024-05-01 16:00:00-0400"]]
AXIS = "320193:http://fasb.org/srt/2024:srt:ProductOrServiceAxis"
SCHEDULE = (
    '{"hourly": "2024-05-02T17:30:00-04:00", "session": "2024-05-03T09:30:00-04:00",'
    ' "daily": "2024-05-03T16:00:00-04:00"}'
)
RECORDS: dict[str, dict[str, Any]] = {
    "prices": {
        "date": "2024-05-01", "close_at": "2024-05-01 16:00:00-0400", "stamp": "2024-05-01 16:00:00-0400",
        "label": "Company", "entity_id": "0000320193", "symbol": "AAPL", "open": 169.58, "high": 172.71, "low": 169.11,
        "close": 169.3, "vwap": 170.4, "volume": 50383147.5, "transactions": 650000.0,
    },
    "dividends": {
        "node": "AAPL_2024-05-01_Regular", "ticker": "AAPL", "declaration_date": "2024-05-01",
        "dividend_type": "Regular", "ex_dividend_date": "2024-05-10", "record_date": "2024-05-13",
        "pay_date": "2024-05-16", "cash_amount": "0.25", "currency": "USD", "frequency": "Quarterly", "cik": ["320193"],
        "date_nodes": MAY_1,
    },
    "splits": {
        "node": "QYRW_2024-05-01_1_3", "ticker": "QYRW", "execution_date": "2024-05-01", "split_from": "1",
        "split_to": "3", "cik": [], "date_nodes": MAY_1,
    },
    "calendar": {
        "date": "2024-07-03", "is_trading_day": "1", "pre_market_open": "2024-07-03 04:00:00-0400",
        "market_open": "2024-07-03 09:30:00-0400", "market_close": "2024-07-03 13:00:00-0400",
        "post_market_close": "2024-07-03 13:00:00-0400", "previous_trading_date": "2024-07-02",
        "next_trading_date": "2024-07-05",
    },
    "companies": dict.fromkeys(
        ("name", "exchange", "sector", "industry", "industry_normalized", "sector_etf", "industry_etf", "employees")
    ) | {
        "node": "0000320193", "cik": "320193", "ticker": "AAPL", "mkt_cap": "81,035,171,840", "shares_out": "null",
        "fiscal_year_end_month": "9", "fiscal_year_end_day": "30",
    },
    "transcripts": CALL | {
        "call_node": "AAPL_2024-05-02T17.00", "company_name": "Apple Inc.", "fiscal_year": "2,024",
        "fiscal_quarter": "2", "calendar_year": "2,024", "calendar_quarter": "2", "form_type": "TRANSCRIPT_Q2",
        "speakers": '{"CEO": "Chief"}', "qa_sections": [], "full_texts": [],
    },
    "prepared_remarks": CALL | {
        "node": "p1", "call_node": "AAPL_2024-05-02T17.00", "content": '[{"speaker": "CEO", "text": "Hello"}]',
    },
    "qa_exchanges": CALL | {
        "node": "p1", "call_node": "AAPL_2024-05-02T17.00", "sequence": "0", "questioner": "Unknown",
        "questioner_title": None, "responders": "A, B", "responder_title": None,
        "exchanges": '[{"role": "question", "text": "Why?"}]',
    },
    "embeddings": {
        "kind": "news", "vector": [0.5, -1], "id": "bzNews_1", "title": "Title", "teaser": None, "body": None,
        "created": "2024-05-02T17:00:00-04:00", "updated": "2024-05-02T18:00:00-04:00", "tickers": ["QZP", None, "QBG"],
    },
    "embeddings of exchanges": CALL | {
        "kind": "qa_exchange", "vector": [1.0], "node": "AAPL_2024_2_qa__3", "sequence": "3",
        "call_node": "AAPL_2024_2",
    },
    "reports": FILING | {
        "form_type": "8-K", "period_of_report": "2024-05-02", "is_amendment": False,
        "items": '["Item 2.02: Results of Operations"]', "entities": '[{"cik": "320193"}]', "description": "",
        "market_session": "post_market", "link_html": "https://example.org", "link_txt": None,
        "primary_document_url": None, "exhibits": '{"EX-99.1": "https://example.org/ex"}',
    },
    "report_sections": FILING | {
        "node": "n1", "form_type": "8-K", "section_name": "RiskFactors", "content": "Text.", "content_length": "73,713",
    },
    "exhibits": FILING | {
        "node": "n1", "form_type": "8-K", "exhibit_number": "EX-99.1 CHARTER", "content": "Text.",
    },
    "financial_statements": FILING | {
        "node": "n1", "form_type": "8-K", "statement_type": "BalanceSheets", "value": '{"b": [1], "a": []}',
        "period_end": "null",
    },
    "filing_texts": FILING | {"node": "n1", "form_type": "8-K", "content": "Text."},
    "news": TIMES | {
        "id": "bzNews_123", "title": "Apple reports", "teaser": "", "body": "Text.", "url": "https://example.org/1",
        "authors": '["A. Writer"]', "channels": '["News", "Earnings"]', "tags": '["Software &amp; Apps"]',
        "market_session": "post_market", "tickers": ["QBAR", "AAPL", "AAPL"],
    },
    "xbrl_facts": FILING | {
        "node": "https://example.org/doc_us-gaap:Revenues_c-1_usd_f-32", "concept": "us-gaap:Revenues",
        "value": "90,753,000,000", "decimals": "-6", "is_numeric": "1", "is_nil": "0", "fact_id": "f-32",
        "xbrl_status": "COMPLETED", "concepts": [["Revenues", "credit"]],
        "periods": [["duration", "2024-01-01", "2024-04-01"]], "units": ["iso4217:USD"], "contexts": [[]],
        "members": [], "form_type": "10-Q", "report_cik": "0000320193",
    },
    "event_returns": {
        "event_kind": "news", "event_label": "News", "event_id": "bzNews_1", "happened_at": "2024-05-02T16:30:00-04:00",
        "schedule": SCHEDULE, "relation": "INFLUENCES", "label": "Company", "entity_id": "0000320193", "ticker": "AAPL",
        "edge": {"symbol": "AAPL", "daily_stock": 5.06, "hourly_stock": None, "session_macro": 0.1},
    },
}  # fmt: skip


def record(name: str, **changes: Any) -> dict[str, Any]:
    """Return a record of a kind. Articles also get `latest`, the greater of their two time strings, as in the query."""
    result = RECORDS[name] | changes
    if "updated" in result:
        texts = [text for text in (result["created"], result["updated"]) if isinstance(text, str)]
        result = {"latest": max(texts, default=None)} | result
    return result


bar, dividend, split, day = (partial(record, name) for name in ("prices", "dividends", "splits", "calendar"))
report, article, fact = (partial(record, name) for name in ("reports", "news", "xbrl_facts"))
spoken = partial(record, "embeddings of exchanges")
