"""Records of the account: purchases and sales, cash, and whether trading is halted."""

from datetime import date, datetime
from typing import Annotated, Literal

from forge.records.base import Positive, Record, model
from forge.records.spelling import Bounds

Price = Annotated[float, Bounds(1e-9)]


@model
class Fill(Record):
    """A purchase or sale, as traded on its day.

    quantity: shares or contracts, negative for a sale. price, per share or point, and fees: in `currency`, "" for USD.
    multiplier: of a future, what a point of one contract is worth. expression: the Expression it executes, "" where it
    executes none. source: `import` for the PM's own, `code` for an approved Expression executed by code. reason: why it
    is void.
    """

    instrument: str
    quantity: float
    price: Price
    filled_at: datetime
    status: Literal["booked", "void"] = "booked"
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    fees: Positive = 0.0
    expression: str = ""
    source: Literal["import", "code"] = "import"
    reason: str = ""
    currency: str = ""
    multiplier: Price | None = None


@model
class Cash(Record):
    """A change to the account's cash or its terms, which takes effect on a day.

    amount: USD, in the direction that the entry says. Of a rate, percent a year on borrowed cash. Of a borrow, percent
    a year on the value of the shares of `ticker` that are sold short. Of a loss, the most that the PM expects to lose
    on his own position in `ticker`, in percent of its value. Of a contract, the margin of one future of `ticker`, in
    its `currency` ("" for USD). multiplier: of a contract, what a point is worth. The opening, the first rate and the
    first contract of a future take effect on the account's first day.
    """

    entry: Literal["opening", "deposit", "withdrawal", "fee", "interest", "rate", "borrow", "loss", "contract"]
    amount: Positive
    booked_on: date
    status: Literal["booked"] = "booked"
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    reason: str = ""
    ticker: str = ""
    currency: str = ""
    multiplier: Price | None = None


@model
class Halt(Record):
    """Whether trading is halted.

    by: who halted or released it. reason: the reason. lost, limit: for a halt by code, the loss and its limit in
    percent.
    """

    by: str
    reason: str
    status: Literal["halted", "released"] = "halted"
    lost: float | None = None
    limit: float | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()
