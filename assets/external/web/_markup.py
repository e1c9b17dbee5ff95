"""The default, deterministic reader of web pages: one candidate per page, with claims from markup, text and headers.

The order is: JSON-LD of the page's own article, meta tags, <time> elements, update notes in the text, Last-Modified,
Date. This order decides which publication is shown. It does not affect the availability, which comes from the latest
claim.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from assets.bounded import LARGEST_FILE, LONGEST_TEXT, OutOfBounds, bounded
from assets.external.web._claims import Candidate, Claim
from pitlake import outside_json
from resources.http.capture import Capture

if TYPE_CHECKING:  # It is an optional dependency, and not needed to order feeds.
    from selectolax.lexbor import LexborHTMLParser

HTML = ("text/html", "application/xhtml+xml")
ARTICLES = frozenset({"article", "newsarticle", "blogposting", "report", "webpage", "reportagenewsarticle"})
JSON_LD = {"datePublished": "published", "dateCreated": "published", "dateModified": "modified"}
PUBLISHED_TAGS = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "date",
    "pubdate",
    "publish-date",
    "dc.date",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.issued",
    "parsely-pub-date",
    "sailthru.date",
)
MODIFIED_TAGS = (
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "last-modified",
    "dc.date.modified",
    "dcterms.modified",
)
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
_TIME = re.compile(r"<time\b[^>]*>", re.IGNORECASE)
_DAY = r"(\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}|\d{1,2} [A-Z][a-z]{2,8}\.? \d{4})"
_NOTE = re.compile(rf"^(?:last )?(?:updated|modified|revised|corrected)(?: on)?:? {_DAY}", re.IGNORECASE | re.MULTILINE)


def read(capture: Capture, url: str) -> Sequence[Candidate]:
    """Return the page as one candidate, or () if it is not HTML. Title and text are empty if parsing takes too long."""
    if not capture.headers.get("content-type", HTML[0]).lower().startswith(HTML):
        return ()
    candidate = Candidate(url, None, None, ())
    if len(capture.body) <= LARGEST_FILE:
        with suppress(OutOfBounds):
            candidate = bounded(_read, capture.text(), url)
    kinds: tuple[tuple[str, Literal["modified", "served"]], ...] = (("last-modified", "modified"), ("date", "served"))
    header_claims = [
        Claim(kind, value, f"{name}: {value}", "header", f"http {name}")
        for name, kind in kinds
        if (value := capture.headers.get(name, "")).strip()
    ]
    return (replace(candidate, claims=(*candidate.claims, *header_claims)),)


def _read(page: str, url: str) -> Candidate:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    claims = [*_json_ld(tree, page, url), *_tags(tree, page), *_times(tree, page)]
    heading = tree.css_first("title") or tree.css_first("h1")
    title = _squeezed(heading.text()) if heading else None
    body, lines = tree.body, list[str]()  # one line per block
    if body is not None:
        for node in body.css("script, style, noscript, template"):
            node.decompose()
        lines = [_squeezed(line) for line in body.text(separator="\n").splitlines()]
    text = "\n".join(line for line in lines if line)
    if len(text) > LONGEST_TEXT:
        raise OutOfBounds(f"more than {LONGEST_TEXT} characters of text")
    claims += [Claim("modified", note[1], note[0], "shown", "note of an update") for note in _NOTE.finditer(text)]
    return Candidate(url, title or None, text or None, tuple(claims))


def _json_ld(tree: "LexborHTMLParser", page: str, url: str) -> Iterator[Claim]:
    for script in tree.css('script[type="application/ld+json"]'):
        try:
            body = outside_json.loads(script.text(deep=True))
        except (ValueError, RecursionError):
            continue
        for node in _own_articles(body, url):
            for name, kind in JSON_LD.items():
                if isinstance(node.get(name), str) and node[name].strip():
                    # The page does not prove a member with escapes.
                    match = re.search(rf'"{re.escape(name)}"\s*:\s*"{re.escape(node[name])}"', page)
                    yield _claim(kind, node[name], match[0] if match else "", f"json-ld {name}")


def _own_articles(body: Any, url: str) -> Iterator[dict[str, Any]]:
    """Yield the top-level articles that describe this page, not articles to which it links."""
    nodes = body if isinstance(body, list) else [body]
    graphs = [(node, node.get("@graph")) for node in nodes if isinstance(node, dict)]
    nodes = [member for node, graph in graphs for member in (graph if isinstance(graph, list) else [node])]
    for node in nodes:
        if not isinstance(node, dict):
            continue
        types = node.get("@type")
        names = {str(name).lower() for name in (types if isinstance(types, list) else [types])}
        if not names & ARTICLES:
            continue
        # An article belongs to the page if it has no addresses, or the page's.
        main = node.get("mainEntityOfPage")
        addresses = [node.get("url"), node.get("@id"), main.get("@id") if isinstance(main, dict) else main]
        paths = {_path(address) for address in addresses if isinstance(address, str) and address.startswith("http")}
        if not paths or _path(url) in paths:
            yield node


def _path(url: str) -> str:
    try:
        return urlsplit(url).path.rstrip("/")
    except ValueError:
        return ""


def _tags(tree: "LexborHTMLParser", page: str) -> Iterator[Claim]:
    tags = []
    for attributes in (node.attributes for node in tree.css("meta")):
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        tags.append((name.strip().lower(), (attributes.get("content") or "").strip()))
    raw = _META.findall(_closed(page))
    for ranked, kind in ((PUBLISHED_TAGS, "published"), (MODIFIED_TAGS, "modified")):
        for tag in ranked:
            for name, content in tags:
                if name == tag and content:
                    yield _claim(kind, content, _tag(raw, tag, content), f"meta {tag}")


def _times(tree: "LexborHTMLParser", page: str) -> Iterator[Claim]:
    raw = _TIME.findall(_closed(page))
    for node in tree.css("time[datetime]"):
        about, time_text = (
            (node.attributes.get("itemprop") or "").lower(),
            (node.attributes.get("datetime") or "").strip(),
        )
        kind = "modified" if about == "datemodified" else "published"
        if time_text and (about in {"datepublished", "datemodified"} or "pubdate" in node.attributes):
            yield _claim(kind, time_text, _tag(raw, "datetime", time_text), f"time {about or 'pubdate'}")


def _claim(kind: str, text: str, quote: str, method: str) -> Claim:
    return Claim("modified" if kind == "modified" else "published", text, quote, "body", method)


def _tag(raw: Sequence[str], name: str, content: str) -> str:
    """Return the original text of a tag, or "" if the page writes it differently."""
    return next((tag for tag in raw if name in tag.lower() and content in tag), "")


def _closed(page: str) -> str:
    """Return a page up to its last `>`, so that no search for a tag runs to the page's end without a match."""
    return page[: page.rfind(">") + 1]


def _squeezed(text: str) -> str:
    return " ".join(text.split())
