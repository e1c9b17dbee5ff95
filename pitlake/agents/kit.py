"""The content of the agent kit: its files and the settings it needs, from the checkout or the wheel."""

import json
from pathlib import Path
from typing import Any

from pitlake.errors import PitlakeError
from pitlake.gate import rules

SETTINGS, SERVERS = ".claude/settings.json", ".mcp.json"
JOINED = (SETTINGS, SERVERS)
"""Files that a project may already have. The kit's files are merged into them."""
RULES = ".claude/hooks/pit_rules.py"
_START = ["${CLAUDE_PROJECT_DIR:-.}/.claude/lake-server"]
SERVER = {"mcpServers": {"pitlake": {"type": "stdio", "command": "sh", "args": _START, "env": {}}}}
FOLDERS = ("agents", "filters", "hooks", "skills")
_PACKAGE = Path(__file__).resolve().parents[1]


def home() -> Path:
    """Return the folder of the kit: this checkout, or the installed package. Raises PitlakeError if there is none."""
    for place in (_PACKAGE / "kit", _PACKAGE.parent):
        if (place / SETTINGS).is_file():
            return place
    raise PitlakeError("this installation of pitlake has no agent kit; install pitlake's wheel, or use a checkout")


def files() -> dict[str, bytes]:
    """Return the contents of the kit's own files, by path in a project."""
    at = home()
    paths = [path for folder in FOLDERS for path in (at / ".claude" / folder).rglob("*") if path.is_file()]
    paths = [path for path in paths if path.suffix != ".pyc"] + [at / ".claude" / "lake-server"]
    contents = {path.relative_to(at).as_posix(): path.read_bytes() for path in sorted(paths)}
    return contents | {RULES: Path(str(rules.__file__)).read_bytes()}


def joined() -> dict[str, dict[str, Any]]:
    """Return the settings that are merged into those of a project, by path."""
    return {SETTINGS: json.loads((home() / SETTINGS).read_text(encoding="utf-8")), SERVERS: SERVER}
