"""The first page of the day as text, and its delivery to the channels in FORGE_NOTIFY."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from forge.desk import Desk
from forge.memory import Memory
from forge.memory.approvals import pending
from forge.providers.base import At
from forge.tracking.alerts import Alert, alerts
from forge.tracking.morning import Morning, morning, records_since
from pitlake import notify
from pitlake.clock import iso
from pitlake.errors import BadInput

VARIABLE = "FORGE_NOTIFY"
UNKNOWN, POSITION_WIDTH = "not known", 20


@dataclass(frozen=True)
class Brief:
    """A desk as of an instant. waiting: the ids of the records that wait for approval. lately: the records written
    since the last session, each with instant, id and status.
    """

    at: datetime
    first: Morning
    alerts: list[Alert]
    waiting: list[str]
    lately: list[tuple[datetime, str, str]]

    @property
    def title(self) -> str:
        """One line with the net asset value and the number of items that need the PM."""
        account, needs = self.first.account, len(self.alerts) + len(self.waiting)
        worth = "" if isinstance(account, str) else f"{account.account.nav:,.0f} USD, "
        return f"Forge: {worth}{needs or 'nothing'} {'needs' if needs < 2 else 'need'} you"

    def as_json(self) -> dict[str, Any]:
        """Return the page as JSON values."""
        lately = [{"at": iso(moment), "id": name, "status": status} for moment, name, status in self.lately]
        needs = {"alerts": list(map(asdict, self.alerts)), "waiting": self.waiting, "written": lately}
        return {"as_of": iso(self.at)} | self.first.as_json() | needs

    def lines(self) -> Iterator[str]:
        """Yield the page as lines of text."""
        yield f"as of {iso(self.at)}"
        first = self.first
        if isinstance(first.account, str):
            yield first.account
        else:
            yield f"net asset value {first.account.account.nav:>18,.2f} USD"
        for period in first.periods:
            amount = f"P&L of the {period.name:<5}{period.usd:>18,.2f} USD {period.percent:+.2f} % since {period.since}"
            yield f"{amount}   {period.benchmark_text(first.benchmark)}".rstrip()
        if first.results:
            yield f"\nby View and Expression, USD   {'day':>14}{'month':>14}{'year':>14}"
        for row in first.results:
            name = "  ".join(filter(None, (row.view, row.expression)))
            yield f"{name:<29.29}" + "".join(f"{amount:>14,.0f}" for amount in row.amounts)
        yield f"\n{'positions':<21}{'exposure, USD':>14}{'day, USD':>14}{'to stop':>10}{'to target':>11}"
        for line in first.positions:
            name = " ".join(filter(None, (line.direction, line.instrument, line.expression)))
            amounts = "".join(
                f"{'' if amount is None else f'{amount:,.0f}':>14}" for amount in (line.exposure, line.day)
            )
            levels = [f"{level:.2f} %" if level is not None else "none" for level in (line.to_stop, line.to_target)]
            if len(name) > POSITION_WIDTH:
                yield name
                name = ""
            yield f"{name:<21}{amounts}{levels[0]:>10}{levels[1]:>11}"
        yield from filter(None, ("" if first.positions else "none", first.own_positions_note))
        yield "\nrisk, percent of capital"
        for name, number in first.risk.figures():
            yield f"{name:<29}{UNKNOWN if number is None else f'{number:.2f}':>14}"
        for case in first.scenarios:
            usd = "" if case.usd is None else f" % {case.usd:>14,.0f} USD"
            percent = UNKNOWN if case.percent is None else f"{case.percent:+.2f}"
            yield f"{case.name:<29}{percent:>14}{usd}  {case.partial}".rstrip()
        yield from (f"gap: {gap}" for gap in first.gaps)
        yield "\nneeds a decision"
        yield from map(str, self.alerts)
        yield from (f"approval: {name} waits, see pitlake forge approvals" for name in self.waiting)
        if not self.alerts and not self.waiting:
            yield "nothing needs you"
        yield f"\nsince the last session ({iso(self.first.overnight)})"
        yield from (f"{iso(moment)} {name} {status.replace('_', ' ')}" for moment, name, status in self.lately)
        if not self.lately:
            yield "nothing was written"


def brief(own: Desk, memory: Memory, market: At) -> Brief:
    """Return a desk's first page as of a market's instant."""
    remembered = memory.hydrate(market.as_of, session="pm")
    first = morning(remembered, market, own.config)
    overnight_records, limits = records_since(remembered, first.overnight), own.guardrails(market, memory)
    return Brief(
        market.as_of,
        first,
        alerts(remembered, market, own.config, limits),
        [item.expression.id for item in pending(memory, limits, market.as_of)],
        [(moment, record.id, getattr(record, "status", "")) for moment, record in overnight_records],
    )


def send(title: str, lines: Iterable[str]) -> None:
    """Send a message to the PM's channels. Raises BadInput if none is named, NotifyFailed."""
    channels = os.environ.get(VARIABLE)
    if not channels:
        raise BadInput(VARIABLE, "is not set", "name channels, such as mailtos://user:password@host?to=you@example.org")
    notify.send(channels, title, "\n".join(lines), VARIABLE)
