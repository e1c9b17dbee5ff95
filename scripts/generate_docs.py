"""Writes the pages that follow from the code: data dictionary, queries, agents' skills, command line.

`--check` writes nothing and fails when a page differs from its source or has none.
"""

import argparse
import re
import sys
from pathlib import Path

import click

from pitlake.cli import cli, load, names
from pitlake.datasets import all_datasets
from pitlake.questions import dictionary
from scripts import catalogue_pages, graph_page, skill_pages, wiring_pages

ROOT = Path(__file__).resolve().parents[1]
HELP_WIDTH = 100


def pages() -> dict[Path, str]:
    """Return every generated page, by its path below the checkout."""
    datasets = all_datasets()
    texts = {Path(f"docs/datasets/{name}.md"): dictionary.page(dataset) for name, dataset in datasets.items()}
    texts[Path("docs/datasets/README.md")] = dictionary.index(datasets.values())
    texts[Path("docs/datasets/known.md")] = dictionary.known_page(datasets.values())
    texts[Path("docs/graph.md")] = graph_page.page()
    texts[Path("docs/queries.md")] = catalogue_pages.queries_page()
    texts[Path(".claude/skills/lake-schema/reference.md")] = catalogue_pages.reference()
    texts |= {Path(".claude/skills") / path: text for path, text in skill_pages.pages().items()}
    texts |= wiring_pages.pages()
    skill = Path(".claude/skills/lake-schema/SKILL.md")
    texts[skill] = re.sub(r"(?<=\n## Datasets\n\n).*", ", ".join(datasets), (ROOT / skill).read_text())
    texts[Path("docs/cli.md")] = command_line()
    return texts


def command_line() -> str:
    """Return the help of `pitlake` and of each command."""
    parts = ["# The command line", _help(cli, "pitlake")]
    for name in names():
        parts += [f"## pitlake {name}", _help(load(name), f"pitlake {name}")]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, name: str) -> str:
    context = click.Context(
        command,
        info_name=name,
        help_option_names=cli.context_settings["help_option_names"],
        terminal_width=HELP_WIDTH,
        max_content_width=HELP_WIDTH,
    )
    return f"```\n{command.get_help(context)}\n```"


def drift(expected: dict[Path, str]) -> list[str]:
    """Return the differences between the pages and their sources, one line each."""
    wrong = [
        f"{path} differs from its source"
        for path, text in expected.items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]
    stray = {page.relative_to(ROOT) for page in (ROOT / "docs/datasets").glob("*.md")} - set(expected)
    return wrong + [f"{path} describes no dataset" for path in sorted(stray)]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page differs")
    check = parser.parse_args().check
    expected = pages()
    if check:
        wrong = drift(expected)
        print(*wrong, sep="\n") if wrong else print(f"{len(expected)} generated pages follow their sources")
        if wrong:
            print("run `make docs`")
        return int(bool(wrong))
    for path, text in expected.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
    print(f"wrote {len(expected)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
