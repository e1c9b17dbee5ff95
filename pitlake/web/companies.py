"""Companies by name, ticker or CIK, as stated by T."""

import re
from typing import TYPE_CHECKING, Any

from pitlake.web.questions import rows

if TYPE_CHECKING:
    from pitlake.session import Session

MOST_COMPANIES = 100
_CIK = re.compile(r"\d{1,10}")
_FOUND = f"""
SELECT
    cik,
    arg_max(name, available_at) FILTER (kind = 'company_name') AS name,
    list(DISTINCT name) FILTER (kind = 'ticker') AS tickers,
    arg_max(name, available_at) FILTER (kind = 'ticker') AS ticker,
    min(available_at) AS available_at,
    bool_or(kind = 'ticker' AND name = upper($text)) AS bears,
    bool_or(kind = 'company_name' AND starts_with(lower(name), lower($text))) AS starts
FROM (SELECT cik, kind, unnest(all_names) AS name, available_at FROM names_revisions)
GROUP BY cik
HAVING cik = $cik OR bears OR bool_or(kind = 'company_name' AND contains(lower(name), lower($text)))
ORDER BY bears DESC, starts DESC, name, cik
LIMIT {MOST_COMPANIES + 1}
"""


def search(session: "Session", text: str) -> list[Any]:
    """Return the companies that match a search text: by a ticker they had by T, a part of a name, or their CIK. An
    empty text matches every company.
    """
    return rows(session.sql(_FOUND, {"text": text, "cik": text.zfill(10) if _CIK.fullmatch(text) else ""}))
