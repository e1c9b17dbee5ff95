"""mkdocs hooks for the site of docs/: links out of it lead to the checkout, and nothing is loaded from the network."""

import re
import shutil
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\]\((\.\./[^)#\s]+)")
_SHIM = "https://unpkg.com/iframe-worker/shim"
_HERE = Path(__file__).resolve().parents[1] / ".pitlake/site-tools/node_modules/iframe-worker/shim/index.js"


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Return a page's Markdown, with links out of docs/ replaced by addresses of the checkout's files."""
    docs, folder = Path(config.docs_dir), Path(page.file.abs_src_path).parent

    def led(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        return match[0] if target.is_relative_to(docs) else f"]({target.as_uri()}"

    return _LINK.sub(led, markdown)


def on_post_build(*, config: Any, **_: object) -> None:
    """Copy the script that search needs in pages opened from files, which the theme would load from the network."""
    site = Path(config.site_dir)
    shutil.copy(_HERE, site / "assets/iframe-worker.js")
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        page.write_text(page.read_text().replace(_SHIM, f"{up}assets/iframe-worker.js"))
