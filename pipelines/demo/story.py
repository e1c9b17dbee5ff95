"""The demo's question, asked as of two instants, and the commands to try next."""

import shlex
from collections.abc import Callable
from pathlib import Path

from pipelines.demo.lake import APPLE
from pitlake.errors import BadInput, IsolationUnavailable
from pitlake.lake.lake import Lake
from pitlake.machine import in_uv_cache
from pitlake.session import Session, connect

BEFORE, AFTER = "2010-01-25T16:00:00-05:00", "2010-01-26T09:30:00-05:00"
QUESTION = "What did Apple earn per share in the year to 26 September 2009?"
SQL = f"""
    SELECT value_number, form_type, filing_date FROM sec_facts
    WHERE cik = '{APPLE}' AND concept = 'us-gaap:EarningsPerShareDiluted'
      AND period_start = DATE '2008-09-28' AND period_end = DATE '2009-09-26'
"""
WHY = """\
They differ because Apple restated the year on 25 January 2010, after a change
of revenue accounting. EDGAR's newest figure of that year is 9.08. A backtest
that uses it on a day in 2009 trades on a figure that was not public yet. No
filter hides it here: a session as of T gets files without any row after T."""
GDP = """\
query --as-of 2014-05-29T08:29:00-04:00 \\
    "SELECT value, vintage_date FROM macro_observations
     WHERE observation_date = '2014-01-01'\""""
NEXT = (
    ("what became public that night", f"diff --from {BEFORE} --to {AFTER} --ticker AAPL"),
    ("GDP of 2014 Q1, a minute before its second estimate; then try 08:30", GDP),
    ("the same in a browser", "demo --web"),
)


def answers(lake: Lake, say: Callable[[str], None]) -> str:
    """Ask the question as of both instants and return the answers and why they differ."""
    lines = [QUESTION, ""]
    with asking(lake, BEFORE, say) as session:
        for instant in (BEFORE, AFTER):
            session.advance(instant)
            rows = session.sql(SQL).rows()
            if not rows:
                next_step = "name a folder that does not exist yet"
                raise BadInput("--into", f"{lake.root} is not a lake of the demo", next_step)
            value, form, filed = rows[0]
            lines.append(f"  as of {instant}   {value:.2f} USD   from the {form} of {filed}")
    return "\n".join([*lines, "", WHY])


def next_steps(lake: Lake) -> str:
    """Return shell commands to try next."""
    command = "uvx pitlake" if in_uv_cache() else "pitlake"
    root = shlex.quote(str(lake.root)).replace(f"{Path.home()}/", "~/")
    lines = [line for what, arguments in NEXT for line in (f"  # {what}", f"  {command} {arguments}")]
    return "\n".join(["Next:", f"  export PITLAKE_LAKE={root}", *lines])


def asking(lake: Lake, as_of: str, say: Callable[[str], None]) -> Session:
    """Open a sealed session. If the system can't seal one, open a session in this process and report this."""
    try:
        return connect(as_of, lake=lake)
    except IsolationUnavailable as reason:
        say(str(reason))
        return connect(as_of, lake=lake, isolation="in_process")
