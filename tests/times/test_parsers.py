"""Only `pitlake.times` parses instants. Other uses of a parser do not read the times of a source.

The strict instant of `as_of` and of the hooks (`pitlake.gate.rules.parse_instant`) has a separate pattern, and
`test_times` compares it with the module's table.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("pitlake", "assets", "checks", "resources", "pipelines", "forge")
# A date has only one reading, so `date.fromisoformat` does not count as a parser of instants.
PARSER = re.compile(
    r"strptime\(|(?<!\bdate\.)\bfromisoformat|fromtimestamp\(|parsedate|to_datetime\(|isoparse|dateutil|mktime"
)
EXEMPT = {
    "pitlake/times/__init__.py": "the module",
    "pitlake/times/sql.py": "its twin in SQL",
    "pitlake/audit/by_lake.py": "makes timestamps of microseconds and of the lake's instants",
    "pitlake/audit/rules.py": "a day of the bundled table of tickers",
    "pitlake/clock.py": "an `as_of` in a named zone, whose offset comes from the zone",
    "pitlake/exchange.py": "makes a datetime of a pandas Timestamp with an offset",
    "pitlake/lake/tables/history.py": "reads back the statistics that the lake wrote",
    "pitlake/session/sealed/protocol.py": "reads back the parameters that the other process wrote",
    "pitlake/web/address.py": "a clock time without a day, of a form's field",
    "forge/core/timetable.py": "a clock time without a day, of a setting",
    "forge/records/spelling.py": "a day that a model wrote",
}


def test_no_other_module_parses_instants():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".sql")]
    parsing = {str(path.relative_to(ROOT)) for path in files if PARSER.search(path.read_text())}
    assert len(files) > 500
    assert parsing == EXEMPT.keys()
