"""The data agents' skills generated from the contracts and the query catalogue: the queries of each domain.

catalogue_pages.py generates the reference of the whole lake, in `lake-schema`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.questions import catalogue
from pitlake.questions.catalogue import Query
from pitlake.questions.dictionary import shown

PIT = "2024-05-29T17:00:00-04:00"
PIT_FETCH = ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
_HEAVY = {"json", "vector"}
_LONG = {"body", "content", "text", "full_text", "answer", "thoughts", "qa_section"}
_EXAMPLES = {
    "ticker": "QBG",
    "start_date": "2024-01-01",
    "channel": "News",
    "query": "outlook",
    "concept_qname": "us-gaap:Revenues",
    "member_qnames": ["qbg:OilMember"],
    "seed_id": "bzNews_31000004",
    "pairs": [{"ticker": "QBG", "at": "2024-05-01T16:00:00-04:00"}],
    "concepts": ["us-gaap:Revenues"],
    "series": ["GDP"],
    "period": "2014-01-01",
    "day": "2014-05-29",
    "kind": "curve",
    "instrument": "USD-SAMPLE",
}
_SEEDS = {"vector_qa": "QACB_2023-01-26T17.00_qa__0"}


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The subject of a `<name>-queries` skill. fetch: the arguments of pit_fetch.py, if a source can be fetched."""

    name: str
    about: str
    datasets: tuple[str, ...]
    fetch: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


DOMAINS = (
    Domain(
        name="news",
        about="news articles",
        datasets=("news",),
        notes=("Returns after an article are in event_returns, only in open mode.",),
    ),
    Domain(
        name="report",
        about="SEC filings, their sections and exhibits",
        datasets=("reports", "report_sections", "exhibits", "filing_texts", "financial_statements"),
        notes=("Search a filing under its primary filer. It does not belong to companies that it only mentions.",),
    ),
    Domain(
        name="transcript",
        about="earnings calls and their questions and answers",
        datasets=("transcripts", "qa_exchanges", "prepared_remarks"),
        notes=("Prefer prepared_remarks and qa_exchanges, then transcripts.qa_section, then full_text.",),
    ),
    Domain(
        name="xbrl",
        about="reported values from XBRL",
        datasets=("xbrl_facts",),
        notes=(
            "Cash-flow items are year-to-date: subtract quarters. Never subtract per-share values or share counts.",
            "A fact reported again is a later revision. The value is from the newest filing as of the instant.",
        ),
    ),
    Domain(
        name="entity",
        about="prices, dividends, splits and reference data of companies",
        datasets=("prices", "own_bars", "dividends", "splits", "companies", "calendar"),
        notes=(
            "The graph does not date company reference data. In PIT mode, use the snapshot the lake had observed.",
            "If there is none, return a gap `unverifiable`. In open mode, use the newest snapshot.",
        ),
    ),
    Domain(
        name="vector",
        about="texts with the nearest meaning",
        datasets=("embeddings", "text_vectors", "news", "qa_exchanges"),
        notes=(
            (
                "Texts are filtered by instant and company, then ranked. Minimum score: 0.80, else 0.70; for a model's "
                "vectors 0.20."
            ),
            "`pitlake search --by meaning` embeds your own text with the model named in text_vectors.",
        ),
    ),
    Domain(
        name="macro",
        about="macroeconomic series, a trading desk's quotes, research notes",
        datasets=("macro_observations", "macro_panels", "market_quotes", "research_notes", "model_registry"),
        notes=(
            "A period's value changes with each vintage: name the vintage you cite.",
            "Quotes and notes are available from their receipt, whatever date is printed in them.",
        ),
    ),
    Domain(
        name="benzinga",
        about="news as Benzinga serves it",
        datasets=("benzinga_news",),
        fetch=("--source benzinga --tickers QACB --limit 20",),
    ),
    Domain(
        name="alphavantage",
        about="earnings, estimates and price series of Alpha Vantage",
        datasets=(
            "av_earnings",
            "av_estimates",
            "av_earnings_calendar",
            "av_daily_bars",
            "av_period_bars",
            "av_intraday_bars",
        ),
        fetch=(
            "--source alphavantage --op earnings --symbol QACB",
            "--source alphavantage --op estimates --symbol QACB",
            "--source alphavantage --op calendar --symbol QACB --horizon 3month",
            "--source alphavantage TIME_SERIES_DAILY symbol=QACB",
            "--source alphavantage TIME_SERIES_WEEKLY symbol=QACB",
        ),
        notes=(
            "Estimates and the calendar are available from their download, never earlier.",
            (
                "Adjusted series become a gap `unverifiable`, also in open mode, because they reflect later splits and "
                "dividends."
            ),
        ),
    ),
    Domain(
        name="yahoo",
        about="earnings dates and analysts' grades of Yahoo",
        datasets=("yahoo_earnings", "yahoo_upgrades"),
        fetch=(
            "--source yahoo --op earnings --symbol QACB",
            "--source yahoo --op upgrades --symbol QACB",
            "--source yahoo consensus symbol=QACB",
        ),
    ),
    Domain(
        name="sec",
        about="filings located by SEC search",
        datasets=("sec_fulltext_hits", "sec_filings", "universe_events"),
        fetch=(
            "--source sec_full_text --query hedging",
            "--source perplexity --op search --search-mode sec --query 'QACB 8-K earnings release'",
        ),
        notes=(
            "A hit locates a filing but never dates it; its release in sec_filings does.",
            (
                "Screen companies with `pitlake run universe`, never with today's list: it includes companies that no "
                "longer exist."
            ),
        ),
    ),
    Domain(
        name="perplexity",
        about="web search by Perplexity",
        datasets=("web_results", "web_syntheses"),
        fetch=(
            "--source perplexity --op search --query 'QACB guidance' --max-results 10",
            "--source perplexity --op ask --query 'What did QACB guide to?'",
        ),
        notes=(
            (
                "An undated result becomes a gap `unverifiable`. A date means the end of that day in New York; the "
                "provider only claims it."
            ),
            (
                "Prose (web_syntheses) may contain outcomes, so it is shown only in open mode. As of an instant, only "
                "web_results are data."
            ),
        ),
    ),
)


def pages() -> dict[str, str]:
    """Return every page, by its path below .claude/skills."""
    return {f"{domain.name}-queries/SKILL.md": _domain(domain) for domain in DOMAINS}


def _domain(domain: Domain) -> str:
    queries = [query for query in catalogue.all_queries().values() if query.agent == domain.name]
    datasets = [all_datasets()[name] for name in domain.datasets]
    names = ", ".join(domain.datasets)
    about = f"How to query the lake for {domain.about} ({names})."
    parts = [
        f"---\nname: {domain.name}-queries\ndescription: >-\n  {about}\n---\n",
        f"# {domain.name.capitalize()} queries",
        "In PIT mode, give `pit` in every call. In open mode, leave it out.",
    ]
    parts += [f"- {note}" for note in domain.notes]
    if queries:
        parts.append("## Named queries")
    for query in queries:
        parameters = "\n".join(
            f"- `{parameter.name}` ({parameter.type}{', required' if parameter.required else ''}): "
            f"{parameter.meaning}{'' if parameter.default is None else f' Default {json.dumps(parameter.default)}.'}"
            for parameter in query.parameters
        )
        gives = ", ".join(column.name for column in query.columns if column.name not in catalogue.SYSTEM_COLUMNS)
        call = _call("run_query", {"name": query.name, "params": example(query), "pit": PIT})
        parts.append(f"### {query.name}\n\n{query.summary} Returns {gives}.\n\n{parameters}\n\n{call}")
    parts += ["## SQL with citations", *map(_sql, datasets)]
    if domain.fetch:
        lines = "\n".join(f"python3 {PIT_FETCH} {flag} --pit {PIT}" for flag in domain.fetch)
        parts += [
            "## Fetching from the source",
            (
                "`pit_fetch.py` answers from the lake and its captures. With `--live` it also queries the source, and "
                "captures and gates the answer.\n"
                "In open mode leave `--pit` out.\n"
                "Run one plain command: no pipes, redirections, variables or background jobs.\n"
                "\n"
                "```sh\n"
                f"{lines}\n"
                "```"
            ),
        ]
    return "\n\n".join(parts) + "\n"


def example(query: Query) -> dict[str, object]:
    """Return example values for a query's required parameters, for which the sample world has answers."""
    needed = {parameter.name for parameter in query.parameters if parameter.required} | set(query.one_of[-1:])
    values = _EXAMPLES | ({"seed_id": _SEEDS[query.name]} if query.name in _SEEDS else {})
    taken = [parameter for parameter in query.parameters if parameter.name in needed]
    return {
        parameter.name: _one_of(values[parameter.name]) if parameter.type == "text" else values[parameter.name]
        for parameter in taken
    }


def _one_of(value: object) -> object:
    return value[0] if isinstance(value, list) else value


def _sql(dataset: Dataset) -> str:
    names = [column.name for column in dataset.columns if column.type not in _HEAVY and column.name not in _LONG]
    extra, where = {}, ""
    if dataset.entity in ("ticker", "symbol"):
        extra, where = {"params": {"ticker": "QBG"}}, f" WHERE {dataset.entity} = $ticker"
    order = ", ".join(dict.fromkeys(("available_at DESC", *dataset.key)))
    columns = ", ".join(("available_at", "available_at_source", "evidence", *names))
    sql = f"SELECT {columns} FROM {dataset.name}{where} ORDER BY {order}"
    call = {"sql": sql, **extra, "max_rows": 20} | ({} if dataset.open_only else {"pit": PIT})
    reasons: dict[str, list[str]] = {}
    for rule in dataset.gap_rules:
        reasons.setdefault(rule.type, []).append(rule.reason)
    gaps = "".join(f"\n- gap `{kind}`: {'; '.join(texts)}" for kind, texts in reasons.items())
    return (
        f"### {dataset.name}\n\n{dataset.summary} Source tag: `{dataset.source_tag}`. Shown {shown(dataset)}. "
        f"Cited by {dataset.citation}. Identified by {', '.join(dataset.key)}.\n"
        f"Public at: {dataset.availability}{gaps}\n\n{_call('query', call)}"
    )


def _call(tool: str, arguments: Mapping[str, object]) -> str:
    return f"```json\n{json.dumps({'tool': f'mcp__pitlake__{tool}', 'input': arguments})}\n```"
