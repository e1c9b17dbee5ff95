"""Total return: bars, splits and dividends as they were public at the as of."""

from datetime import date, timedelta

import pytest

FIRST = date(2024, 1, 2)


def bar(day, close, volume=100.0):
    on = FIRST + timedelta(days=day)
    return {
        "ticker": "ACME", "date": on.isoformat(), "open": close, "high": close, "low": close, "close": close,
        "volume": volume, "available_at": f"{on}T21:00:00Z", "evidence": f"bar:{day}",
    }  # fmt: skip


def dividend(day, amount, known=0, **other):
    on = FIRST + timedelta(days=day)
    return {
        "ticker": "ACME", "declaration_date": (FIRST - timedelta(days=day)).isoformat(), "dividend_type": "Regular",
        "cash_amount": amount, "ex_dividend_date": on.isoformat(), "currency": "USD", "evidence": f"dividend:{day}",
        "available_at": f"{FIRST + timedelta(days=known)}T05:00:00Z", "dividend_id": f"d{day}",
    } | other  # fmt: skip


def split(day, ratio):
    on = FIRST + timedelta(days=day)
    return {
        "split_id": f"ACME_{on}", "ticker": "ACME", "execution_date": on.isoformat(), "split_from": 1.0,
        "split_to": float(ratio), "available_at": f"{on}T05:00:00Z",
        "evidence": f"split:{day}",
    }  # fmt: skip


BARS = [bar(0, 100.0), bar(1, 102.0), bar(2, 51.0), bar(3, 52.0)]


def rows(world, as_of="2024-12-31T00:00:00Z", **tables):
    return world(as_of, own_bars=BARS, **tables).run("total_return", ticker="ACME")


def test_dividends_and_splits_count_each_in_the_shares_of_the_as_of(world):
    found = rows(world, dividends=[dividend(1, 2.0), dividend(3, 1.0)], splits=[split(2, 2)])
    assert [row["close"] for row in found] == [50.0, 51.0, 51.0, 52.0]
    assert [row["dividend"] for row in found] == [0, 1.0, 0, 1.0]
    assert [row["total_return"] for row in found] == [None, pytest.approx(52 / 50), 1.0, pytest.approx(53 / 51)]
    assert [row["total_return_index"] for row in found] == pytest.approx([1, 1.04, 1.04, 1.04 * 53 / 51])
    assert found[1]["evidence_ids"] == ["bar:1", "bar:0", "split:2", "dividend:1"]
    before = rows(world, "2024-01-03T22:00:00Z", dividends=[dividend(1, 2.0), dividend(3, 1.0)], splits=[split(2, 2)])
    assert [(row["close"], row["dividend"]) for row in before] == [(100.0, 0), (102.0, 2.0)]


def test_an_amount_stated_after_the_split_is_of_the_shares_of_then(world):
    found = rows(world, dividends=[dividend(1, 1.0, known=3)], splits=[split(2, 2)])
    assert found[1]["dividend"] == 1.0
    assert str(found[1]["available_at"]) == "2024-01-05 05:00:00+00:00"


def test_a_dividend_of_both_sources_counts_once_and_each_of_two_kinds(world):
    polygon = {"dividend_type": "CD", "ordinal": 0, "cash_amount_text": "2", "evidence": "polygon:1"}
    special = polygon | {"dividend_type": "SC", "ordinal": 1, "evidence": "polygon:2"}
    both = [dividend(1, 2.1, **polygon), dividend(1, 5.0, **special)]
    found = rows(world, dividends=[dividend(1, 2.0)], polygon_dividends=both, splits=[split(2, 2)])
    assert found[1]["dividend"] == 3.5
    found = rows(world, polygon_dividends=both[:1], splits=[split(2, 2)])
    assert found[1]["dividend"] == 1.05


def test_a_dividend_in_another_currency_or_a_split_on_no_record_gives_no_return(world):
    found = rows(world, dividends=[dividend(1, 2.0, currency="EUR")], splits=[split(2, 2)])
    assert [row["total_return_index"] for row in found] == [1, None, None, None]
    found = rows(world)
    assert [row["total_return_index"] for row in found] == [None] * 4
