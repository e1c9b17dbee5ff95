"""Records of the account: purchases and sales, cash, and whether trading is halted."""

from typing import Annotated, Literal

from forge.records.base import Positive, Record, model
from forge.records.spelling import WORD, Bounds, Day, Instant, Line, Names, Real

Price = Annotated[float, Bounds(1e-9)]


@model
class Fill(Record):
    """A purchase or sale, as traded on its day.

    quantity: shares, negative for a sale; price: USD per share; fees: USD; expression: the Expression it executes, ""
    where it executes none; source: `import` for the PM's own, `code` for an approved Expression executed by code;
    reason: why it is void.
    """

    instrument: Line
    quantity: Real
    price: Price
    filled_at: Instant
    status: Annotated[Literal["booked", "void"], WORD] = "booked"
    updated: Instant | None = None
    links: Names = ()
    fees: Positive = 0.0
    expression: Line = ""
    source: Annotated[Literal["import", "code"], WORD] = "import"
    reason: Line = ""


@model
class Cash(Record):
    """A change of the account's cash or of its terms, which counts from a day on.

    amount: USD, in the direction that the entry says; of a rate, percent a year on borrowed cash; of a borrow, percent
    a year on the value of the shares of `ticker` that are sold short. The opening, and the first rate, count from the
    account's first day on.
    """

    entry: Annotated[Literal["opening", "deposit", "withdrawal", "fee", "interest", "rate", "borrow"], WORD]
    amount: Positive
    booked_on: Day
    status: Annotated[Literal["booked"], WORD] = "booked"
    updated: Instant | None = None
    links: Names = ()
    reason: Line = ""
    ticker: Line = ""


@model
class Halt(Record):
    """Whether trading is halted.

    by: who halted or released it. reason: the reason. lost, limit: for a halt by code, the loss and its limit in
    percent.
    """

    by: Line
    reason: Line
    status: Annotated[Literal["halted", "released"], WORD] = "halted"
    lost: Real | None = None
    limit: Real | None = None
    updated: Instant | None = None
    links: Names = ()
