"""How much of a text is shown: its header, the header with the summary, or all of it."""

import re

HEADER_LINES = 8
DEPTHS = ("header", "summary", "full")
DEFAULT_DEPTHS = {
    "/memory/": "header",
    "/session/results/": "summary",
    "/session/context/": "summary",
    "/skills/": "full",
    "/portfolio/": "full",
}


def default_depth(path: str) -> str:
    """Return a path's default depth: full, unless a rule says less."""
    return next((depth for prefix, depth in DEFAULT_DEPTHS.items() if path.startswith(prefix)), "full")


def excerpt(content: str, depth: str) -> str:
    """Return the part of a text that a depth shows."""
    if depth == "full":
        return content
    lines = content.split("\n")
    header = "\n".join(lines[:HEADER_LINES])
    if len(lines) > HEADER_LINES:
        header += f"\n[{len(lines) - HEADER_LINES} more lines — depth='full' to read]"
    summary = section(content, "SUMMARY") if depth == "summary" else ""
    return f"{header}\n\n{summary}" if summary else header


def section(content: str, name: str) -> str:
    """Return the text under a heading, up to the next heading of the same or a higher level; "" without one."""
    heading = re.search(rf"^(#+)[ \t]+{re.escape(name)}[ \t]*$", content, re.MULTILINE | re.IGNORECASE)
    if heading is None:
        return ""
    rest = content[heading.end() :]
    following = re.search(rf"^#{{1,{len(heading[1])}}}[ \t]", rest, re.MULTILINE)
    return rest[: following.start() if following else None].strip()
