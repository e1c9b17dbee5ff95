"""The results of a function in one form: columns of plain Python values. Accepts frames, Arrow, dicts, lists and
scalars.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

from pitlake.errors import BadInput
from pitlake.times import INSTANTS, MixedMidnights, read_column

TIMES = ("date", "as_of", "day", "time", "timestamp", "datetime", "available_at")
"""Names of the column by which rows are dated, in order of preference; a column of dates without another is one too."""
POSITIONS = re.compile(r"index|level_\d+|row_nr|row_index|Unnamed: 0|__index_level_\d+__")
"""Names of columns that libraries create for positions. A position does not say what a row is about."""
_IDS = frozenset({"id", "evidence", "accession_no", "content_hash", "hash", "url", "uuid"})
_LONGEST_NAME = 40
LEAST_DATES = 3  # A table with fewer dates is a snapshot of one instant, not a history.
_PLAIN = (bool, int, float, str, bytes, date, time, timedelta, Decimal, type(None))
_UNCHANGED = {*_PLAIN, datetime} - {float}


@dataclass(frozen=True)
class Answer:
    """A function's result as columns of one length. index: the names of its index columns."""

    columns: Mapping[str, list[Any]]
    index: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    _known_from: dict[str, list[datetime | None]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def known_from(self, name: str | None) -> list[datetime | None]:
        """Return the instants from which the rows are in the past, by a column of dates; none without the column."""
        if name is None or name not in self.columns:
            return []
        if name not in self._known_from:
            self._known_from[name] = public_from(self.columns[name])
        return self._known_from[name]

    def time_column(self, name: str | None) -> str | None:
        """Return the column that dates the rows, or None if the result is a snapshot of one instant.

        Raises BadInput if the user's `name` is not a column of instants or dates.
        """
        if name is not None:
            if name not in self.columns:
                raise BadInput("--time", f"{name!r} is not a column of the answer", f"it has {', '.join(self.columns)}")
            if not _dates(self.columns[name]):
                raise BadInput("--time", f"{name!r} has no dates or instants", "name the column that dates the rows")
            return name
        looks_alike = any(self._tells_rows_apart(column) for column in self.columns)
        dated = [column for column, values in self.columns.items() if len(_dates(values)) >= LEAST_DATES]
        name_columns = [column for column in (*TIMES, *dated[: len(dated) == 1]) if column in dated and not looks_alike]
        return next((column for column in (*self.times, *name_columns) if column in dated), None)

    def _tells_rows_apart(self, column: str) -> bool:
        """Return whether a text column identifies each row. A table with one row per company is a snapshot of one
        instant.
        """
        values = self.columns[column]
        is_name = column not in _IDS and all(isinstance(value, str) and len(value) <= _LONGEST_NAME for value in values)
        return is_name and len(set(values)) == len(values)

    @property
    def names_rows(self) -> bool:
        """Return whether a name identifies each row, or there is one row only."""
        return self.rows <= 1 or any(self._tells_rows_apart(column) for column in self.columns)


def public_from(values: Sequence[Any]) -> list[datetime | None]:
    """Return the instants from which rows with these dates are in the past.

    Midnights are days unless the column also has clock times. Times without a zone are UTC. A day is in the past from
    its end in New York.
    """
    # Equal instants of two zones differ, because each may be a midnight in its zone.
    names = [
        (value, value.tzinfo) if isinstance(value, datetime) else value if isinstance(value, date) else repr(value)
        for value in values
    ]
    distinct = dict(zip(names, values, strict=True))
    zoned = [
        _in_utc(value) if isinstance(value, datetime) and value.time() != time() else value
        for value in distinct.values()
    ]
    try:
        instants = read_column(zoned)
    except MixedMidnights:
        instants = read_column([_in_utc(value) for value in distinct.values()], midnights=INSTANTS)
    of = dict(zip(distinct, instants, strict=True))
    return [of[name] for name in names]


def _in_utc(value: Any) -> Any:
    naive = isinstance(value, datetime) and value.tzinfo is None
    return value.replace(tzinfo=timezone.utc) if naive else value


def _dates(values: Sequence[Any]) -> set[Any]:
    """Return the distinct dates of a column; none if it contains anything else."""
    dates = [value for value in values if value is not None]
    return set(dates) if all(isinstance(value, date) for value in dates) else set()


def answer_of(returned: Any) -> Answer:
    """Return a function's result as an `Answer`. Raises BadInput if it has neither columns nor a value."""
    library = type(returned).__module__.partition(".")[0]
    if library == "pandas" and hasattr(returned, "reset_index"):
        return _from_pandas(returned)
    if library == "polars":
        frame = returned.collect() if hasattr(returned, "collect") else returned
        if not hasattr(frame, "columns"):
            frame = frame.to_frame(frame.name or "value")
        return _columns(frame.to_dict(as_series=False))
    if hasattr(returned, "arrow") and callable(returned.arrow):
        returned = returned.arrow()
    if hasattr(returned, "to_pydict"):
        return _columns(returned.to_pydict())
    if library == "numpy" and hasattr(returned, "tolist"):
        returned = returned.tolist()
    if isinstance(returned, Mapping):
        return _from_mapping(returned)
    if isinstance(returned, list | tuple):
        return _from_list(returned)
    if isinstance(returned, _PLAIN):
        return Answer({"value": [_plain(returned)]})
    problem = f"returned a {type(returned).__name__}"
    raise BadInput("function", problem, "return a frame, an Arrow table, dicts, a list or a single value")


def _columns(columns: Mapping[Any, Sequence[Any]], index: Sequence[Any] = (), times: Sequence[Any] = ()) -> Answer:
    plain = {str(name): _plain_values(values) for name, values in columns.items()}
    if len({len(values) for values in plain.values()}) > 1:
        raise BadInput("function", "returned columns of different lengths", "give each column a value for each row")
    positions = [
        name
        for name, values in plain.items()
        if POSITIONS.fullmatch(name) and all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    ]
    if len(positions) < len(plain):
        plain = {name: values for name, values in plain.items() if name not in positions}
        index = [name for name in index if name not in positions]
    return Answer(plain, tuple(map(str, index)), tuple(map(str, times)))


def _from_pandas(frame: Any) -> Answer:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        frame = frame.to_frame(frame.name if getattr(frame, "name", None) is not None else "value")
    if frame.columns.nlevels > 1:
        frame = frame.set_axis(["/".join(map(str, name)) for name in frame.columns], axis="columns")
    index, times = [], []
    columns: dict[Any, list[Any]] = {}
    for level in range(frame.index.nlevels):
        values, name = frame.index.get_level_values(level), frame.index.names[level]
        if name is None and pd.api.types.is_integer_dtype(values.dtype):
            continue
        name = f"index_{level}" if name is None else str(name)
        index.append(name)
        columns[name] = _pandas_values(values)
        if isinstance(values, pd.DatetimeIndex | pd.PeriodIndex):
            times.append(name)
    for number, name in enumerate(frame.columns):
        columns.setdefault(str(name), _pandas_values(frame.iloc[:, number]))
    return _columns(columns, index, times)


def _pandas_values(values: Any) -> list[Any]:
    """Return the values of a column or index, each distinct instant as one object."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        return list(values.tolist())
    codes, instants = pd.factorize(values)
    distinct = [*pd.DatetimeIndex(instants).to_pydatetime(), None]  # pandas gives a missing value the code -1.
    return [distinct[code] for code in codes]


def _from_mapping(returned: Mapping[Any, Any]) -> Answer:
    values = list(returned.values())
    if values and all(isinstance(value, Mapping) for value in values):
        return _from_list([{"key": key, **value} for key, value in returned.items()], index=("key",))
    if returned and all(isinstance(key, date) for key in returned):
        return _columns({"date": list(returned), "value": values}, ("date",), ("date",))
    if values and all(isinstance(value, Sequence) and not isinstance(value, str | bytes) for value in values):
        return _columns({name: list(value) for name, value in returned.items()})
    return _columns({name: [value] for name, value in returned.items()})


def _from_list(returned: Sequence[Any], index: Sequence[str] = ()) -> Answer:
    if returned and all(isinstance(row, Mapping) for row in returned):
        names = dict.fromkeys(name for row in returned for name in row)
        return _columns({name: [row.get(name) for row in returned] for name in names}, index)
    widths = {len(row) if isinstance(row, list | tuple) else 0 for row in returned}
    if len(widths) == 1 and min(widths) > 1:
        return _columns({str(place): values for place, values in enumerate(zip(*returned, strict=True))})
    return _columns({"value": list(returned)})


def _plain_values(values: Sequence[Any]) -> list[Any]:
    kinds = set(map(type, values))
    if kinds <= _UNCHANGED:
        return list(values)
    if kinds <= {float, type(None)}:
        return [value if value == value else None for value in values]
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Return a value that can be compared and pickled: NaN and NaT become None, numpy and pandas values become Python
    values.
    """
    if hasattr(value, "to_pydatetime"):
        return None if value != value else value.to_pydatetime(warn=False)
    if hasattr(value, "to_timestamp"):
        return value.end_time.to_pydatetime(warn=False)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in (sorted(value, key=repr) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, date):  # Subclasses, such as a shifted clock's, can't be pickled.
        day = date(value.year, value.month, value.day)
        return datetime.combine(day, value.timetz()) if isinstance(value, datetime) else day
    if isinstance(value, _PLAIN):
        return value
    return None if type(value).__name__ in {"NaTType", "NAType"} else repr(value)
