"""The questions of the pages: one SQL file each in sql/pages, whose header has its title and datasets.

The page's own session answers a question. Readers copy its text with the values inserted.
"""

import re
import shlex
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.questions.catalogue import COMPANY, placeholders
from pitlake.questions.sql_files import sql_files

if TYPE_CHECKING:
    from pitlake.session import Result, Session

_HEADER = re.compile(r"-- title: (?P<title>.+)\n-- reads: (?P<reads>.+)\n")


@dataclass(frozen=True)
class PageQuestion:
    """One question. title: its subject. reads: datasets. sql: with `$company` for the company."""

    name: str
    title: str
    reads: tuple[str, ...]
    sql: str

    def ask(self, session: "Session", company: str) -> "Result":
        """Run the question in a session. Raises the errors of a session."""
        return session.sql(self.sql, {COMPANY: company} if COMPANY in placeholders(self.sql) else None)

    def written(self, company: str) -> str:
        return self.sql.replace(f"${COMPANY}", quoted(company))


@cache
def all_questions() -> dict[str, PageQuestion]:
    questions = {}
    for path in sql_files("pages"):
        text = path.read_text(encoding="utf-8")
        header = _HEADER.match(text)
        if header is None:
            raise ValueError(f"sql/pages/{path.name}: the header must be a title and the datasets it reads")
        reads = tuple(header["reads"].split(", "))
        questions[path.stem] = PageQuestion(path.stem, header["title"], reads, text[header.end() :].strip())
    return questions


def get(name: str) -> PageQuestion:
    """Return a question. Raises BadInput for an unknown name."""
    questions = all_questions()
    if name not in questions:
        raise BadInput("question", f"there is no question {name!r}", f"choose one of {', '.join(questions)}")
    return questions[name]


def datasets() -> tuple[str, ...]:
    return tuple(sorted({name for question in all_questions().values() for name in question.reads}))


def rows(result: "Result") -> list[Any]:
    """Return an answer's rows as objects with an attribute for each column."""
    columns = result.columns
    return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in result.rows()]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def as_python(sql: str, as_of: datetime) -> str:
    """Return the question as a Python program; `rows` is its answer."""
    return (
        f'import pitlake\n\nSQL = """\n{sql}\n"""\n\n'
        f"with pitlake.connect({iso(as_of)!r}) as session:\n    rows = session.sql(SQL).rows()\n"
    )


def as_command(sql: str, as_of: datetime) -> str:
    plain = not set(sql) & set('"$`\\!')
    return f"pitlake query --as-of {iso(as_of)} " + (f'"{sql}"' if plain else shlex.quote(sql))
