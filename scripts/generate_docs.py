"""Writes the pages that follow from the code: data dictionary, queries, agents' skill, command line, ownership.

`--check` writes nothing and fails when a page differs from its source or has none. Used by `make docs`, `make check`.
"""

import argparse
import ast
import sys
from pathlib import Path

import click

from pitlake import dictionary, guide, skills
from pitlake.cli import cli, load, names
from pitlake.datasets import all_datasets

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("pitlake", "forge", "assets", "checks", "resources", "pipelines", "sample", "bench", "scripts")
HELP_WIDTH = 100


def pages() -> dict[Path, str]:
    """Every generated page, by its path below the checkout."""
    datasets = all_datasets()
    written = {Path(f"docs/datasets/{name}.md"): dictionary.page(dataset) for name, dataset in datasets.items()}
    written[Path("docs/datasets/README.md")] = dictionary.index(datasets.values())
    written[Path("docs/datasets/known.md")] = dictionary.known_page(datasets.values())
    written[Path("docs/queries.md")] = guide.queries_page()
    written[Path(".claude/skills/lake-schema/SKILL.md")] = guide.skill()
    written |= {Path(".claude/skills") / path: text for path, text in skills.pages().items()}
    written[Path("docs/cli.md")] = command_line()
    written[Path("docs/ownership.md")] = ownership()
    return written


def command_line() -> str:
    """The help of `pitlake` and of each command."""
    parts = ["# The command line", _help(cli, "pitlake")]
    for name in names():
        parts += [f"## pitlake {name}", _help(load(name), f"pitlake {name}")]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, name: str) -> str:
    width = {"terminal_width": HELP_WIDTH, "max_content_width": HELP_WIDTH}
    context = click.Context(
        command, info_name=name, help_option_names=cli.context_settings["help_option_names"], **width
    )
    return f"```\n{command.get_help(context)}\n```"


def ownership() -> str:
    """One line a module: what it owns, which is the first sentence of its docstring."""
    parts = ["# Who owns what", "A line for each module, which is the first sentence of the module itself."]
    for package in PACKAGES:
        modules = sorted((ROOT / package).rglob("*.py"))
        lines = [f"- `{module.relative_to(ROOT)}` owns: {_first_sentence(module)}" for module in modules]
        parts += [f"## {package}", "\n".join(lines)] if lines else []
    return "\n\n".join(parts) + "\n"


def _first_sentence(module: Path) -> str:
    docstring = ast.get_docstring(ast.parse(module.read_text()))
    if not docstring:
        raise SystemExit(f"{module.relative_to(ROOT)} does not say what it owns: it has no docstring")
    return " ".join(docstring.split("\n\n")[0].split())


def drift(expected: dict[Path, str]) -> list[str]:
    """What differs between the pages and their sources, one line each."""
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
