"""Record the output of a page's commands in a terminal: docs/pictures/{mount,proxy,check,study}.svg.

`python scripts/terminal_pictures.py LAKE FOLDER` runs each page in a new folder with a copy of the lake. It draws the
commands of one block, from a given command to the block's end, with their output.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).resolve().parents[1] / "docs"
# By page, the beginning of the first command in its picture.
RECORDED = {
    "mount": "cat > estimates.csv",
    "proxy": "python ask.py --as-of",
    "check": "pitlake check features.py::careless",
    "study": "pitlake study report",
}
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
WIDTH = 120


def record(page: str, folder: Path) -> Text:
    """Run a page in a folder up to the recorded commands, and return these with their output."""
    for language, text in BLOCK.findall((DOCS / f"{page}.md").read_text()):
        silent, begin, rest = text.partition(RECORDED[page]) if language == "sh" else (text, "", "")
        run([sys.executable, "-"] if language == "python" else ["sh"], silent, folder)
        if begin:
            return transcript(begin + rest, folder)
    raise ValueError(f"docs/{page}.md has no command that begins with {RECORDED[page]!r}")


def transcript(commands: str, folder: Path) -> Text:
    """Run commands and return them with their output. Commands are bold and follow a prompt."""
    typed = iter(prompted(commands))
    prompt, following = next(typed)
    lines = []
    for line in run(["sh", "-v"], commands, folder).splitlines():
        if line == following:
            lines.append(Text(f"{prompt} {line}", style="bold"))
            prompt, following = next(typed, ("", None))
        else:
            lines.append(Text(line))
    return Text("\n").join(lines)


def prompted(commands: str) -> Iterator[tuple[str, str | None]]:
    """Yield each line with the prompt that a shell shows before it: `>` inside a here document, otherwise `$`."""
    end = None
    for line in commands.splitlines():
        yield (">" if end else "$"), line
        if end is None and (document := re.search(r"<<'?(\w+)", line)):
            end = document[1]
        elif line == end:
            end = None


def run(command: list[str], text: str, folder: Path) -> str:
    """Return the output of a shell or Python, including errors. A check with findings exits with code 1."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "HOME": str(folder)}
    done = subprocess.run(
        command,
        input=text,
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode > 1:
        raise ValueError(f"{text}\n{done.stdout}")
    return done.stdout


def draw(page: str, recorded: Text, path: Path) -> None:
    """Write a recording as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(recorded)
    path.write_text(console.export_svg(title=f"pitlake {page}", unique_id=page))


def main(lake: str, folder: str) -> None:
    """Record every page."""
    for page in RECORDED:
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(lake, Path(place) / ".pitlake/lake")
            draw(page, record(page, Path(place)), Path(folder) / f"{page}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
