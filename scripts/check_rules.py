"""Check the rules of this code base that linters do not know: sizes, `every` instead of `all`, wording, and the line
budget of each folder in `lines.toml`.

`make check` runs it. It prints a line for each fault, and exits with 1 if there are any.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "pitlake", "forge", "assets", "checks", "resources", "local_servers", "pipelines", "sample", "bench", "asofbench",
    "scripts",
)  # fmt: skip
FILE_LINES = 450
FUNCTION_LINES = 70
BUDGET = "scripts/lines.toml"
SPARE = 0.05
UNNATURAL = re.compile(
    r"\bbefell\b|\bof one's own\b|(?<!there )\bis none\b"
    r"|(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|data\b|more\b|less\b|second\b|\w+er\b)\w"
)
UNMERGED = ("<<<<<<< ", ">>>>>>> ")
# The reason of a gap is data: other wording would be another gap in lakes that already contain it.
STORED_WORDS = re.compile(r"reason=|retry\(|Unparsable\(|no update is no update")


def size_faults(text: str) -> Iterator[str]:
    """Yield the file and the functions that are too long."""
    if text.count("\n") > FILE_LINES:
        yield f"1: the file has more than {FILE_LINES} lines"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES:
            yield f"{node.lineno}: {node.name} has more than {FUNCTION_LINES} lines"


def all_faults(text: str) -> Iterator[str]:
    """Yield places where a test asserts `all` of something that may be empty, which proves nothing."""
    if "all(" not in text:
        return
    nodes = list(ast.walk(ast.parse(text)))
    asserted = {inner for node in nodes if isinstance(node, ast.Assert) for inner in ast.walk(node.test)}
    asserted -= {node.operand for node in nodes if isinstance(node, ast.UnaryOp)}  # `not all` of an empty list is false
    for node in asserted:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "all":
            yield f"{node.lineno}: use tests.every.every, or compare a list of faults with []"


def wording_faults(text: str) -> Iterator[str]:
    """Yield lines with unidiomatic wording, such as `no` before a noun where `not a` is meant, and lines with the
    conflict markers of a merge.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(UNMERGED) or (UNNATURAL.search(line) and not STORED_WORDS.search(line)):
            yield f"{number}: {line.strip()}"


def budget_faults(root: Path, budget: dict[str, int]) -> Iterator[str]:
    """Yield folders whose Python has more lines than the budget, or so few that the budget limits nothing."""
    for folder, limit in budget.items():
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in (root / folder).rglob("*.py"))
        compared = f"{folder} has {lines:,} lines, its budget is {limit:,}"
        if lines > limit:
            yield f"{compared}: take lines away, or raise it and say why in the commit"
        elif lines < limit * (1 - SPARE):
            yield f"{compared}: lower it"


def main() -> int:
    """Print every fault of the checkout and return the exit code."""
    modules = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    pages = [path for name in (*PACKAGES, ".claude", "docs") for path in sorted((ROOT / name).rglob("*.md"))]
    hooks = sorted((ROOT / ".claude").rglob("*.py"))
    checked = (
        (modules, size_faults),
        (sorted((ROOT / "tests").rglob("*.py")), all_faults),
        ([*modules, *hooks, *pages, ROOT / "README.md"], wording_faults),
    )
    faults = [
        f"{path.relative_to(ROOT)}:{fault}" for paths, check in checked for path in paths
        for fault in check(path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    budget = tomllib.loads((ROOT / BUDGET).read_text())
    faults += [f"{BUDGET}: {fault}" for fault in budget_faults(ROOT, budget)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
