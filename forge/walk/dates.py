"""Moves years by 28, in every format and within their century, which keeps weekdays and leap years.

Two digits are read as a year only where they can mean nothing else: FY24, '24, Q1'24, 1Q24, 2H24, 3/5/24, Feb-24.
"""

import re

YEARS, FIRST, CENTURIES, CENTURY = 28, 1900, 200, 100
_WHOLE = re.compile(
    r"(?:(?<=FY)|(?<=CY)|(?<![A-Za-z0-9.,]))((?:19|20)[0-9]{2})"
    r"(?=(?:[01][0-9][0-3][0-9](?:[0-2][0-9][0-5][0-9][0-5][0-9])?)?"
    r"(?:[TQ][0-9]|[EAFP](?![A-Za-z0-9])|(?![A-Za-z0-9]|[.,][0-9])))"
)
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec"
_SHORT = re.compile(
    rf"""(?:
        (?:(?<![A-Za-z])|(?<=Q[1-4])|(?<=H[12]))(?:FY|CY|fiscal\s|Fiscal\s)[ ]?['’]?
      | (?<![A-Za-z0-9])(?:[1-4]Q|[12]H)[ ]?['’]?
      | (?<![A-Za-z0-9])(?:Q[1-4]|H[12])['’-]
      | (?<![A-Za-z0-9'’])['’]
      | (?<![0-9/])(?:0?[1-9]|[12][0-9]|3[01])/(?:0?[1-9]|[12][0-9]|3[01])/
      | (?<![A-Za-z])(?:{_MONTHS})[a-z]*[-'’]
      | (?<![A-Za-z])(?:{_MONTHS})[a-z]*[ ]['’]
    )([0-9]{{2}})(?=[EAFP]?(?![A-Za-z0-9/'’]|[.,][0-9]))""",
    re.VERBOSE | re.IGNORECASE,
)
_SECOND = re.compile(r"(?<![A-Za-z0-9.,/])((?:19|20)[0-9]{2})/([0-9]{2})(?![A-Za-z0-9/])")


def shift_years(text: str, *, back: bool = False) -> str:
    """Return a text with every year moved by 28 years, or moved back."""
    by = -YEARS if back else YEARS
    # A text such as 2023/24 means two years. Both are shifted, so that they are consecutive again.
    text = _SECOND.sub(
        lambda match: (
            f"{match[1]}/{_short(match[2], by)}" if (int(match[1]) + 1) % CENTURY == int(match[2]) else match[0]
        ),
        text,
    )
    text = _SHORT.sub(lambda match: match[0].removesuffix(match[1]) + _short(match[1], by), text)
    return _WHOLE.sub(lambda match: str((int(match[1]) - FIRST + by) % CENTURIES + FIRST), text)


def _short(digits: str, by: int) -> str:
    return f"{(int(digits) + by) % CENTURY:02d}"
