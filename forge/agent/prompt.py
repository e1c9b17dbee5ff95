"""The system prompt: the fixed part first, then skills, lessons, calibration, Views, the book and the session.

The longest part is the same in every turn, so a provider's prompt cache can reuse it.
"""

from datetime import datetime
from functools import cache

from forge.agent.help import page_names, page_path, sources_line
from forge.agent.tools.planned import FIGURES, lake_names
from forge.fs import ForgeFS
from forge.memory.book import remembered_book
from forge.memory.lessons import approved_lessons, one_line
from forge.providers import ProviderLines
from forge.records import Calibration, Record, View, render
from forge.records.examples import EXAMPLES
from pitlake.clock import NEW_YORK, iso

TOP_LESSONS = 3
LESSONS = "PROCESS KNOWLEDGE (top by weight, approved by the PM):"
"""The heading of the first section that can change between two turns of a session."""
MOST_SCOPE, MOST_LINE = 60, 300
FIXED = """\
You are Forge, an analytical system supporting a discretionary
macro portfolio manager.

TOOLS: read, search, write, fetch, dispatch, collect, review, compact.

RETRIEVAL:
  read(path)     — exact path access. Defaults to header for /memory/.
                   Use depth='full' deliberately for capital decisions.
  search(scope, query) — semantic search across files. Use for discovery
                   when you don't know exactly what you need.
  fetch(source, params) — external data. Summary returned, full stored
                   at /session/context/ctx_NNN.md.

EXECUTION:
  dispatch(task)  — start sub-agent in background. Returns immediately.
                   Use depends_on for tasks needing prior results.
  collect(target) — retrieve results. 'task_id', 'ready', or 'all'.
                   Failed tasks show retry guidance.
  review(output, focus) — independent adversarial review. Mandatory
                   for Expressions. Reviewer has memory + data access.

PERSISTENCE:
  write(path, content) — memory and session writes. Guardrails on
                   Expressions. Use new.md for auto-assigned IDs.

ATTENTION:
  compact(target, focus) — re-compress context when reasoning gets
                   noisy. Use before high-stakes integration.

PRINCIPLES:
- Views precede trades. Every Expression links to a View.
- Scenarios, not point estimates. Probability distributions.
- Invalidation before conviction. Define what kills the View.
- The portfolio is a system. Positions interact.
- Calibrate honestly. Reference calibration data.
- Evidence over narrative. Gaps are information.

RETRIEVAL DISCIPLINE:
Follow context-retrieval skill guidance. After retrieval, write
/session/context/gaps.md — what's missing and whether it matters.
Read gaps.md before reasoning or dispatching.

EXECUTION MODEL:
Most queries: answer directly from read/search/fetch. No delegation.
Focused analysis: read a skill, apply in your reasoning.
Complex / parallel: dispatch sub-agents as you discover needs.
  Dispatch → think → collect('ready') → adapt → dispatch more.
  Use depends_on for tasks needing prior results.
  Don't plan everything upfront. Let the plan emerge.

INTEGRATION FOR COMPLEX QUERIES:
When multiple sub-agents ran:
  1. Read full outputs for capital-relevant results (depth='full')
  2. Use compact() if context is noisy before integrating
  3. Write /session/integration_brief.md — your editorial guidance:
     what matters, what disagrees, what gaps survived, output direction
  4. Dispatch synthesis sub-agent (portfolio-synthesis skill) with
     brief + full sub-agent outputs for clean-room synthesis
  5. Collect synthesis. review() if Expression-level.

ERROR HANDLING:
If a sub-agent fails: assess whether it's critical.
  Critical: retry via dispatch(retry_of='failed_id')
  Non-critical: proceed, flag the gap prominently in output.
If a fetch fails: note the missing data, proceed if possible,
  flag what you couldn't verify.
Never silently drop failed work. Always surface gaps.

MEMORY:
Always write Views, Expressions, Outcomes when warranted.
Write Observations, Linkages, PK when your future self benefits.
Record untaken decisions as counterfactuals.
"""

SMALL = """\
You are Forge. You help a portfolio manager to judge what will happen.

1. fetch(source, params): fetch the newest figures of the question.
2. write('/memory/views/new.md', content): write one View with scenarios
   and the question that judges it.
3. Answer in three sentences. Say what you do not know.
read(path) shows a file; read('/help/views.md') how to write a View.
"""
PLANNED = """\
You are Forge. You help a portfolio manager to judge what will happen.

1. Fetch the newest figure that the question is about, with the call alone:
{"name": "fetch", "arguments": {"source": "economic", "params": {"op": "latest", "series": SERIES}}}
{"name": "fetch", "arguments": {"source": "market", "params": {"op": "price", "ticker": TICKER}}}
2. Write one View about the question, with the call alone:
{"name": "write_view", "arguments": {"scope": SUBJECT of the question, "reason": TWO SENTENCES, "category": CATEGORY, \
"name": SERIES or TICKER,
"rule": "value > NUMBER" for a series or "close > NUMBER" for a ticker, "by": WHEN, \
"confidence": PROBABILITY of the rule}}
"""
SMALL_SKILL, SMALL_SOURCES = "view-validation", ("economic", "market")
"""The skill and the sources that the prompt of a small model names."""


@cache
def forms(own_providers: ProviderLines = ()) -> str:
    """Return the forms of writes and fetches: the help pages, every source's operations, a View and an Expression."""
    pages = " ".join(page_path(name) for name in page_names(own_providers))
    return "\n".join(
        [
            "FORMS (fields and parameters marked * are required):",
            f"Pages, as of this instant; read one before the first write or fetch of its kind: {pages}",
            "fetch(source, {'op': OPERATION, …}); each source's first operation is its default:",
            sources_line(own_providers),
            "A View, for write('/memory/views/new.md', …):",
            render(EXAMPLES["views"]),
            "An Expression, for write('/memory/expressions/new.md', …); draft, then proposed:",
            render(EXAMPLES["expressions"]).rstrip(),
        ]
    )


def dated(text: str, as_of: datetime, trained_to: str | None = None) -> str:
    """Return a first message that begins with the instant of the question.

    trained_to: the latest day of the model's training data, as YYYY-MM-DD; "" if unknown, None to leave it out.
    """
    local = as_of.astimezone(NEW_YORK)
    lines = [f"AS OF {iso(as_of)} ({local:%A %Y-%m-%d %H:%M} in New York). Nothing later is public yet."]
    if trained_to:
        lines.append(
            f"Your training data ends on {trained_to} or before. Use nothing you remember from after this instant."
        )
    elif trained_to == "":
        lines.append("The end of your training data is unknown. Use nothing you remember from after this instant.")
    return f"{' '.join(lines)}\n\n{text}"


def undated(message: str) -> str:
    """Return the message that was passed to `dated`."""
    return message.partition("\n\n")[2] if message.startswith("AS OF ") else message


def system_prompt(
    fs: ForgeFS, turn: int, prior: str | None, own_providers: ProviderLines = (), profile: str = "full"
) -> str:
    """Return the system prompt of a turn.

    prior: the last part of the session's history, None in its first turn. own_providers: the providers in the settings.
    profile: as in the settings.
    """
    if profile == "planned":
        names = {FIGURES[column][3].upper(): ", ".join(names)[:MOST_LINE] for column, names in lake_names(fs).items()}
        return "\n".join([PLANNED, *(f"{word}: {text}" for word, text in names.items())]) + "\n"
    if profile == "small":
        sources = [line for line in sources_line().split("\n") if line.strip().startswith(SMALL_SOURCES)]
        view = f"A View, for write('/memory/views/new.md', …):\n{render(EXAMPLES['views'])}"
        return "\n".join([SMALL, *sources, "", view, f"SKILL: read('/skills/{SMALL_SKILL}/SKILL.md')"]) + "\n"
    views = [record for record in _records(fs, "views") if isinstance(record, View) and record.status == "active"]
    skills = "\n".join(f"  {entry.name.strip('/')}: {entry.meta}" for entry in fs.list_dir("/skills/"))
    sections = [
        FIXED,
        forms(own_providers),
        f"SKILLS:\n{skills or '  none installed'}",
        "\n".join([LESSONS, *(lesson.line() for lesson in approved_lessons(fs.remembered)[:TOP_LESSONS])]),
        f"CALIBRATION: {worst_calibration(fs)}",
        f"VIEWS: {len(views)} active: " + " ".join(f"{view.id}({one_line(view.scope, MOST_SCOPE)})" for view in views),
        f"PORTFOLIO: {book_text(fs)}",
    ]
    if prior:
        sections.append(f"SESSION (turn {turn}):\n{prior}\nPrior context: read('/session/').")
    return "\n\n".join(sections) + "\n"


def stable_length(system: str) -> int | None:
    """Return the length of the part of a system prompt that is the same in every turn; None for the whole prompt."""
    start = system.find(f"\n\n{LESSONS}")
    return start if start >= 0 else None


def worst_calibration(fs: ForgeFS) -> str:
    """Return one line about the category with the largest deviation that chance does not explain."""
    marks = [
        record
        for record in _records(fs, "calibration")
        if isinstance(record, Calibration) and record.status == "measured"
    ]
    off = [mark for mark in marks if mark.worst_bias and (mark.ece or 0) > (mark.null_ece or 0)]
    if not off:
        return "No category deviates more than chance explains." if marks else "Insufficient calibration data."
    worst = max(off, key=lambda mark: (abs(mark.worst_bias or 0.0), mark.id))
    return f"⚠ {worst.id}: worst band bias {worst.worst_bias:+.2f}"


def _records(fs: ForgeFS, kind: str) -> list[Record]:
    return [fs.remembered.record(row) for row in fs.remembered.rows(kind)]


def book_text(fs: ForgeFS) -> str:
    """Return the book as text, including approved Expressions that the PM has not entered yet."""
    book = remembered_book(fs.remembered)
    return render(book) if book else "no positions are known"
