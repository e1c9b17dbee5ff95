"""Total return from the bars, splits and dividends that were public at as_of."""

from datetime import date, timedelta

import pytest

from tests.every import every

FIRST = date(2024, 1, 2)


def bar(day, close, volume=100.0):
    on = FIRST + timedelta(days=day)
    return {
        "ticker": "ACME", "date": on.isoformat(), "open": close, "high": close, "low": close, "close": close,
        "volume": volume, "available_at": f"{on}T21:00:00Z", "evidence": f"bar:{day}",
    }  # fmt: skip


def dividend(day, amount, stated_on=0, **other):
    on = FIRST + timedelta(days=day)
    return {
        "ticker": "ACME", "declaration_date": (FIRST - timedelta(days=day)).isoformat(), "dividend_type": "Regular",
        "cash_amount": amount, "ex_dividend_date": on.isoformat(), "currency": "USD", "evidence": f"dividend:{day}",
        "available_at": f"{FIRST + timedelta(days=stated_on)}T05:00:00Z", "dividend_id": f"d{day}",
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


def test_dividends_and_splits_are_adjusted_to_the_share_basis_of_the_as_of(world):
    returns = rows(world, dividends=[dividend(1, 2.0), dividend(3, 1.0)], splits=[split(2, 2)])
    assert [row["close"] for row in returns] == [50.0, 51.0, 51.0, 52.0]
    assert [row["dividend"] for row in returns] == [0, 1.0, 0, 1.0]
    assert [row["total_return"] for row in returns] == [None, pytest.approx(52 / 50), 1.0, pytest.approx(53 / 51)]
    assert [row["total_return_index"] for row in returns] == pytest.approx([1, 1.04, 1.04, 1.04 * 53 / 51])
    assert returns[1]["evidence_ids"] == ["bar:1", "bar:0", "split:2", "dividend:1"]
    before = rows(world, "2024-01-03T22:00:00Z", dividends=[dividend(1, 2.0), dividend(3, 1.0)], splits=[split(2, 2)])
    assert [(row["close"], row["dividend"]) for row in before] == [(100.0, 0), (102.0, 2.0)]


UNPROVEN = "the basis of a dividend is unproven, because a split may have followed it"
UNPOLLED = "no poll proves the dividends of these days"


@pytest.mark.parametrize("source", [{}, {"ticker": "ACME", "dividend_type": "CD", "ordinal": 0}])
def test_a_dividend_stated_after_a_split_has_no_certain_share_basis_and_no_return(world, source):
    table = "polygon_dividends" if source else "dividends"
    returns = rows(world, **{table: [dividend(1, 1.0, stated_on=3, **source)]}, splits=[split(2, 2)])
    assert [row["dividend"] for row in returns] == [0, None, 0, 0]
    assert [row["total_return"] for row in returns] == [None, None, 1.0, pytest.approx(52 / 51)]
    assert [row["price_return"] for row in returns] == [None, 1.02, 1.0, pytest.approx(52 / 51)]
    assert [row["note"] for row in returns] == [None, UNPROVEN, None, None]


def test_polygons_first_statement_of_an_amount_counts_rather_than_a_restatement(world):
    first = dividend(1, 2.0, ticker="ACME", dividend_type="CD", ordinal=0)
    again = first | {"cash_amount": 1.0, "available_at": f"{FIRST + timedelta(days=3)}T05:00:00Z", "evidence": "later"}
    returns = rows(world, polygon_dividends=[first, again], splits=[split(2, 2)])
    assert returns[1]["dividend"] == 1.0
    assert "dividend:1" in returns[1]["evidence_ids"]


@pytest.mark.parametrize(
    ("polled", "notes"),
    [
        ([], [None, UNPOLLED, UNPOLLED, UNPOLLED]),
        ([("2024-01-03", "2024-01-04")], [None, None, None, UNPOLLED]),
        ([("2024-01-01", "2024-01-03"), ("2024-01-05", "2024-01-05")], [None, None, UNPOLLED, None]),
    ],
)
def test_days_that_no_poll_of_dividends_covers_have_no_total_return(world, polled, notes):
    session = world("2024-12-31T00:00:00Z", own_bars=BARS, splits=[split(2, 2)])
    session.polled = {"dividends": polled, "splits": []}
    returns = session.run("total_return", ticker="ACME")
    assert [row["note"] for row in returns] == notes
    assert [row["total_return"] is None for row in returns] == [True, *(note is not None for note in notes[1:])]
    assert every(row["price_return"] for row in returns[1:])


def test_a_dividend_stated_late_counts_only_if_polls_prove_no_split_followed(world):
    session = world("2024-12-31T00:00:00Z", own_bars=BARS[:2], dividends=[dividend(1, 1.0, stated_on=3)])
    assert session.run("total_return", ticker="ACME")[1]["dividend"] == 1.0
    session.polled = session.polled | {"splits": [("2024-01-01", "2024-01-04")]}
    assert session.run("total_return", ticker="ACME")[1]["note"] == UNPROVEN


@pytest.mark.parametrize(("apart", "amounts"), [(1, (2.0, 2.0)), (4, (2.0, 2.0)), (1, (2.0, 2.0004)), (6, (2.0, 2.0))])
@pytest.mark.parametrize("tables", [("dividends", "polygon_dividends"), ("polygon_dividends", "polygon_dividends")])
def test_a_dividend_on_two_neighbouring_ex_days_counts_once(world, apart, amounts, tables):
    bars = [bar(day, 100.0) for day in range(9)]
    rows_of = {name: [] for name in tables}
    for number, (table, amount) in enumerate(zip(tables, amounts, strict=True)):
        kind = {"dividend_type": "CD", "ordinal": number, "ticker": "ACME"} if table == "polygon_dividends" else {}
        rows_of[table].append(dividend(1 + apart * number, amount, **kind))
    returns = world("2024-12-31T00:00:00Z", own_bars=bars, **rows_of).run("total_return", ticker="ACME")
    assert sum(row["dividend"] for row in returns) == pytest.approx(2.0 if apart < 6 else 4.0)


@pytest.mark.parametrize(
    ("form", "items", "filed", "close", "noted"),
    [
        ("8-K", ["Item 2.01: Completion of Acquisition or Disposition of Assets"], 3, 78.0, True),
        ("8-K", ["Item 2.02: Results of Operations"], 3, 78.0, False),
        ("8-K", ["Item 2.01: Completion"], 20, 78.0, False),
        ("8-K", ["Item 2.01: Completion"], 3, 99.0, False),
        ("10-12B", [], -90, 78.0, True),
    ],
)
def test_a_large_loss_near_a_disposal_filing_is_noted(world, form, items, filed, close, noted):
    on = f"{FIRST + timedelta(days=filed)}T21:00:00Z"
    report = {"accession_no": "0000000001-24-000001", "form_type": form, "items": items, "created": on, "cik": "1",
              "available_at": on, "tickers": ["ACME"], "role": "primary_filer"}  # fmt: skip
    returns = world("2024-12-31T00:00:00Z", own_bars=[bar(0, 100.0), bar(1, close)], reports=[report]).run(
        "total_return", ticker="ACME"
    )
    assert returns[1]["price_return"] == pytest.approx(close / 100)
    assert ("distribution in kind" in (returns[1]["note"] or "")) is noted


def test_a_dividend_in_both_sources_counts_once_and_two_kinds_count_separately(world):
    polygon = {"dividend_type": "CD", "ordinal": 0, "cash_amount_text": "2", "evidence": "polygon:1"}
    special = polygon | {"dividend_type": "SC", "ordinal": 1, "evidence": "polygon:2"}
    both = [dividend(1, 2.1, **polygon), dividend(1, 5.0, **special)]
    returns = rows(world, dividends=[dividend(1, 2.0)], polygon_dividends=both, splits=[split(2, 2)])
    assert returns[1]["dividend"] == 3.5
    returns = rows(world, polygon_dividends=both[:1], splits=[split(2, 2)])
    assert returns[1]["dividend"] == 1.05


def test_a_foreign_currency_dividend_or_unpolled_splits_give_no_return(world):
    returns = rows(world, dividends=[dividend(1, 2.0, currency="EUR")], splits=[split(2, 2)])
    assert [row["total_return_index"] for row in returns] == [1, None, None, None]
    returns = rows(world)
    assert [row["total_return_index"] for row in returns] == [None] * 4


def removal(effective_in, **other):
    on = FIRST + timedelta(days=3 + effective_in)
    return {
        "cik": "0000000001", "accession_no": "0000000001-24-000025", "event": "delisted", "told_by": "index",
        "form_type": "25-NSE", "common_equity": True, "filing_date": (on - timedelta(days=10)).isoformat(),
        "effective_on": on.isoformat(), "available_at": f"{on - timedelta(days=9)}T12:00:00Z", "evidence": "form 25",
    } | other  # fmt: skip


DELISTED = (
    "delisted: a Form 25 for the common equity, effective 2024-01-14; "
    "what holders received after this bar is not in the return"
)


@pytest.mark.parametrize(
    ("filed", "note"),
    [
        (removal(9), DELISTED),
        (removal(90), None),
        (removal(9, common_equity=False), None),
        (removal(9, event="deregistered"), None),
        (removal(9, cik="0000000002"), None),
    ],
    ids=["of the stock", "much later", "of notes", "of the registration", "of another company"],
)
def test_a_delisting_is_stated_on_the_last_bar(world, filed, note):
    for as_of in ("2024-12-31T00:00:00Z", "2024-01-05T22:00:00Z"):
        outcome = world(as_of, own_bars=BARS, universe_events=[filed])
        returns = outcome.run("total_return", ticker="0000000001 ACME")
        assert [row["note"] for row in returns] == [None, None, None, note]
        assert ("form 25" in returns[-1]["evidence_ids"]) == bool(note)
    before = world("2024-01-05T11:00:00Z", own_bars=BARS, universe_events=[filed])
    assert before.run("total_return", ticker="0000000001 ACME")[-1]["note"] is None
