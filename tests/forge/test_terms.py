"""Terms of a position that the PM books: the borrow fee, and the stated loss of a short position."""

import pytest

from forge.core import config
from forge.memory.cash import Entry, book_cash, open_account
from forge.tracking.account import book_of
from forge.tracking.risk import guardrails
from forge.tracking.settlement import whole_memory
from forge.tracking.valuation import value_account
from pitlake.errors import BadInput
from tests.forge.test_account import SETTINGS, imported, line, valued
from tests.forge.test_untaken import DAYS, at, lake, memory

__all__ = ["lake", "memory"]


def test_a_borrow_fee_is_a_dated_rate_per_ticker(memory, lake, tmp_path):
    open_account(memory, SETTINGS.capital, 0.0)
    at(memory, lake, DAYS[3])
    imported(memory, tmp_path, line(DAYS[0], quantity=-100))
    before = value_account(whole_memory(memory, memory.journal.clock.now()), at(memory, lake, DAYS[3]))
    with pytest.raises(BadInput, match="--ticker: is missing"):
        book_cash(memory, Entry("borrow", 36.5, DAYS[0], "the broker's rate"))
    with pytest.raises(BadInput, match="--ticker: does not belong to a fee"):
        book_cash(memory, Entry("fee", 36.5, DAYS[0], "custody", "QBG"))
    with pytest.raises(BadInput, match="--ticker: 'N G' is not a ticker"):
        book_cash(memory, Entry("borrow", 36.5, DAYS[0], "the broker's rate", "N G"))
    book_cash(memory, Entry("borrow", 36.5, DAYS[0], "the broker's rate", " qbg"))
    book_cash(memory, Entry("borrow", 0.0, DAYS[1], "lent by us", "QBG"))
    after = valued(memory, at(memory, lake, DAYS[3]))
    lost = before.account.nav - after.account.nav
    assert lost == pytest.approx((DAYS[1] - DAYS[0]).days * 100 * 100.0 * 0.365 / 365)
    assert after.account.holdings[0].fees - before.account.holdings[0].fees == pytest.approx(lost)


def test_the_stated_loss_of_a_short_is_a_dated_share_of_its_value(memory, lake, tmp_path):
    open_account(memory, SETTINGS.capital, 0.0)
    now = at(memory, lake, DAYS[3])
    imported(memory, tmp_path, line(DAYS[0], quantity=-100))
    limits = guardrails(config.Limits(), now)

    def total_loss():
        account = valued(memory, now).account
        (figure,) = (f for f in limits.book(book_of(account, (), limits), None, ()) if f.rule == "max_total_loss")
        return figure.actual, -account.positions[0].value / account.nav

    losses = [total_loss()[0]]
    for share, day in ((0.0, DAYS[0]), (30.0, DAYS[1])):
        book_cash(memory, Entry("loss", share, day, "bought back above", "QBG"))
        losses.append(total_loss()[0])
    assert losses == [None, None, pytest.approx(30.0 * total_loss()[1], abs=1e-5)]
