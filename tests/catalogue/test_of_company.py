"""The macros for one company return the newest revisions of its records, for any revisions."""

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitlake.datasets import get
from pitlake.tombstones import newest_first

KEYS = {
    "news": ("id",),
    "report_sections": ("accession_no", "section_name"),
    "exhibits": ("accession_no", "exhibit_number"),
    "qa_exchanges": ("transcript_id", "sequence"),
    "xbrl_facts": ("cik", "concept"),
    "prices": ("entity_kind", "entity_id", "date"),
}
OTHER_SOURCES = {"xbrl_facts": ("sec_facts",), "prices": ("own_bars", "av_daily_bars")}
OF_A = dict.fromkeys(KEYS, "ticker = 'A'") | {"news": "list_contains(tickers, 'A')", "prices": "symbol = 'A'"}


@st.composite
def revisions(draw, name):
    """Draw revisions of a few keys. A key's company may change, and revisions may share instant and evidence."""
    rows, types = [], {column.name: column.type for column in get(name).columns}
    for number in range(draw(st.integers(0, 8))):
        row = {
            "evidence": f"e{draw(st.integers(1, 2))}",
            "available_at": f"2024-01-0{draw(st.integers(1, 3))}T00:00:00Z",
            "content_hash": hashlib.sha256(bytes([number])).digest(),
        }
        for column in KEYS[name]:
            value = draw(st.integers(1, 2))
            row[column] = f"2024-01-0{value}" if types[column] == "date" else str(value)
        company = draw(st.sampled_from("AB"))
        rows.append(
            row | {"tickers": [company]}
            if name == "news"
            else row | {"symbol" if name == "prices" else "ticker": company}
        )
    return rows


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_macros_for_a_company_return_its_newest_revisions(world, name, data):
    outcome = world(datasets=[name, *OTHER_SOURCES.get(name, ())], **{name: data.draw(revisions(name))})
    dataset = get(name)
    columns, key = ", ".join(dataset.agent_columns), ", ".join(dataset.key)
    order = ", ".join(f"{column} DESC" for column in newest_first(dataset))
    newest = f"(FROM lake.{name} QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) = 1)"
    reply = outcome.ask(f"SELECT {columns} FROM {name}_of('A') ORDER BY ALL")
    assert reply == outcome.ask(f"SELECT {columns} FROM {newest} WHERE {OF_A[name]} ORDER BY ALL")
    if name not in ("xbrl_facts", "prices"):
        everything = outcome.ask(f"SELECT {columns} FROM {name}_of(NULL) ORDER BY ALL")
        assert everything == outcome.ask(f"SELECT {columns} FROM {newest} ORDER BY ALL")
