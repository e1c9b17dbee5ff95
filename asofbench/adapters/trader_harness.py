"""TraderHarness: its agents' tool get_fundamentals, called as its engine calls it."""

import asyncio
from datetime import datetime
from decimal import Decimal

import pandas as pd
from traderharness.core.portfolio import Portfolio
from traderharness.tools.fundamentals import handle_get_fundamentals
from traderharness.tools.registry import ToolContext

from asofbench.adapters.base import Rewritten, Rows, Visible
from asofbench.reading import NEW_YORK


class TraderHarness(Rewritten, Visible):
    """A key (entity and item) is a stock; its number and text are two of the figures that the tool returns."""

    def write(self, rows: Rows) -> None:
        """Write fundamentals with their publication date, as in the tool's data."""
        typed = [self.typed(row) for row in rows]
        dated = [row for row in typed if row["available_at"] is not None]
        frame = pd.DataFrame(sorted(dated, key=lambda row: (row["available_at"], row["loaded_at"])))
        frame["stock_code"] = frame["entity"] + "|" + frame["item"]
        frame["pub_date"] = [str(at.astimezone(NEW_YORK).date()) for at in frame["available_at"]]
        self.data = frame.rename(columns={"value": "revenue", "text": "roe"})
        self.codes = sorted(set(frame["stock_code"]))
        self.traded = {code: frame[frame["stock_code"] == code] for code in self.codes}
        self.cached: tuple[datetime, Rows] | None = None

    def visible(self, at: datetime) -> Rows:
        """Return the tool's answer for every key on T's day in New York, in the phase before the market opens."""
        if self.cached is None or self.cached[0] != at:
            cash = Decimal(1)
            context = ToolContext(at.astimezone(NEW_YORK).date(), "pre_market", Portfolio(cash), cash, self.traded)
            context.tool_call_cache["_fundamentals_data"] = self.data
            self.cached = at, asyncio.run(self._rows_in(context))
        return self.cached[1]

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the same: the harness holds the day, and the tool has no argument for it."""
        return self.visible(at)

    async def _rows_in(self, context: ToolContext) -> Rows:
        answers = []
        for code in self.codes:
            reply = await handle_get_fundamentals({"stock_code": code}, context)
            if "error" not in reply:
                entity, _, item = code.partition("|")
                answers.append({"entity": entity, "item": item, "value": reply["revenue"], "text": reply["roe"]})
        return answers
