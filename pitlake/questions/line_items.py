"""The names of line items from sql/macros/line_items.sql, which maps them to concepts. No SQL runs here."""

import re
from functools import cache

from pitlake.questions.sql_files import sql_file

SPANS = ("quarter", "year", "ttm", "balance")
"""The spans of a line item: a fiscal quarter, a fiscal year, trailing twelve months, or one day."""

_ITEM = re.compile(r"^ *\('(\w+)', '(\w+)', (?:\[|\d)", re.MULTILINE)


@cache
def kinds() -> dict[str, str]:
    """Return the kind of each line item: flow, per_share, average or balance."""
    return dict(_ITEM.findall(sql_file("macros", "line_items").read_text(encoding="utf-8")))


@cache
def fields() -> dict[str, str]:
    """Return the fields of line items that a panel takes, each with its line item.

    A name alone means the item's newest quarter, or its newest balance.
    """
    names: dict[str, str] = {}
    for item, kind in kinds().items():
        spans = {"balance": (), "average": ("quarter", "year")}.get(kind, ("quarter", "year", "ttm"))
        names |= {item: item} | {f"{item}_{span}": item for span in spans}
    return names
