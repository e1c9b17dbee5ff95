"""Fiscal calendars, filings and their facts."""

from collections import Counter
from datetime import date
from itertools import pairwise

import pytest

from sample.companies import by_ticker, companies
from sample.fiscal import NET_INCOME, figures, position_of, quarters
from sample.schedule import filings, find
from sample.stated_facts import facts
from tests.every import every

ENDS = [
    ("QACB", [date(2022, 12, 31), date(2023, 4, 1), date(2023, 7, 1), date(2023, 9, 30)]),
    ("QBRY", [date(2023, 4, 30), date(2023, 7, 30), date(2023, 10, 29), date(2024, 1, 28)]),
    ("QBAR", [date(2023, 9, 30), date(2023, 12, 31), date(2024, 3, 31), date(2024, 6, 30)]),
    ("QAVN", [date(2023, 4, 29), date(2023, 7, 29), date(2023, 10, 28), date(2024, 2, 3)]),
    ("QYRW", [date(2023, 4, 30), date(2023, 7, 31), date(2023, 10, 31), date(2024, 1, 31)]),
]


@pytest.mark.parametrize(("ticker", "ends"), ENDS)
def test_fiscal_quarters_end_on_their_real_days(ticker, ends):
    assert set(ends) <= {quarter.end for quarter in quarters(by_ticker(ticker))}


def test_fiscal_quarters_are_contiguous():
    for company in companies():
        result = quarters(company)
        assert every((after.start - before.end).days == 1 for before, after in pairwise(result))


def test_published_revenue_is_unchanged():
    company = by_ticker("QBRY")
    assert figures(company, position_of(company, date(2024, 4, 28))).revenue == 26_044_000_000


def test_annual_net_income_is_restated_by_the_filing_of_the_next_year():
    company = by_ticker("QAVN")
    period = (date(2023, 1, 29), date(2024, 2, 3))

    def stated(end):
        return [
            fact.value
            for fact in facts(find(company, "10-K", end))
            if fact.concept == NET_INCOME and (fact.period.start, fact.period.end) == period
        ]

    assert (stated(date(2024, 2, 3)), stated(date(2025, 2, 1))) == ([105_000_000], [45_000_000])


def test_no_filing_states_a_fact_twice():
    for company in companies():
        for filing in filter(lambda filing: filing.has_facts, filings(company)):
            counts = Counter((fact.concept, fact.period, fact.members) for fact in facts(filing))
            assert set(counts.values()) == {1}


def test_some_filings_are_accepted_after_half_past_five_and_some_before_the_open():
    moments = [filing.accepted for company in companies() for filing in filings(company)]
    assert sum((moment.hour, moment.minute) > (17, 30) for moment in moments) > 50
    assert sum((moment.hour, moment.minute) < (9, 30) for moment in moments) > 50


def test_filings_are_accepted_on_weekdays_while_edgar_is_open():
    for company in companies():
        for filing in filings(company):
            assert filing.accepted.weekday() < 5
            assert 6 <= filing.accepted.hour < 22
