"""A policy: the parts of another server's answers that may pass, and how they are dated. It is a small TOML file for
people to review. Tools, arguments and members of items that it does not name are refused. A misspelt line is an error.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, get_origin

from pitlake.clock import iso, micros
from pitlake.errors import BadInput, choice
from pitlake.gate.rules import COMPUTED, NEWEST_INPUT, PROOF
from pitlake.proxy.paths import Place
from pitlake.times import FORMATS, ISO, zone_named

JSON, JSON_BLOCKS = "json", "json_blocks"
STRICT, STRICTEST, AS_PUBLISHED = "strict", "strictest", "as_published"
VALUE = "value"
SOURCES = ("provider_metadata", "time_series_timestamp")
BASIS = "available_at_basis"
OWN_NAMES = frozenset((*PROOF, COMPUTED, NEWEST_INPUT, BASIS))
FORWARD_NAMES = ("date", "instant", "epoch", "epoch_ms")
_LAG = re.compile(r"(\d{1,6}) ?(second|minute|hour|day|week)s?")
_TEMPLATE = re.compile(r"\{([a-z_]*)\}")
_REVIEW = "correct the policy, or draft one with --learn"


def wrong(place: str, problem: str, next_step: str = _REVIEW) -> BadInput:
    """Return the error for a fault of a policy."""
    return BadInput("policy", f"{place} {problem}", next_step)


@dataclass(frozen=True, kw_only=True)
class Pages:
    """The paging of a tool: the argument for the next page, and the path `next` of its value in the last answer.

    Without `next` pages are counted: `first`, then `step` more for each page, until a page has no items.
    """

    argument: str
    next: str = ""
    first: int = 0
    step: int = 1

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        if not self.argument or self.first < 0 or self.step < 1 or (self.next and (self.first, self.step) != (0, 1)):
            raise ValueError("no way to page")

    @cached_property
    def place(self) -> Place | None:
        """Return the path of the value that requests the next page; None if pages are counted."""
        return Place(self.next, "pages.next") if self.next else None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The argument for the number of items in an answer. The server is always asked for `most`."""

    argument: str
    most: int

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        if not self.argument or self.most < 1:
            raise ValueError("no limit")


@dataclass(frozen=True, kw_only=True)
class ToolPolicy:
    """The policy of one tool.

    Attributes:
        items: The path of the items in an answer; "" for the answer itself.
        published: Paths in an item to its publication dates; the latest date applies.
        fields: Members of an item that are passed on; `value` means an item that is not an object.
        arguments: Arguments that a caller may give; a caller must give those in `required`.
        bind: Arguments that limit the time, as strings with {date}, {instant}, {epoch} or {epoch_ms} for the cut-off.
        fixed: Arguments that always have one value.
        answer: The part of an MCP answer to use: "json" is its structured content, or else its only text block. With
        "json_blocks" each text block is a JSON document, and the answer is the list of these.
        format: The format of publication times: one of FORMATS or a format of strptime.
        timezone: The zone of times and dates without one, by default New York's for dates.
        lag: The delay from the stated date to the publication, such as "1 day".
        business_dates: Members whose dates do not concern the publication, such as a maturity.
        texts: "strict" leaves out items whose text names a day after the cut-off, "strictest" also a later quarter or
            year; "as_published" is for texts that never change and may therefore name later days.
        key: Members that identify an item. A change of the members in `content` (default: `fields`) makes a new
        version.
        source: The source of items' dates: "provider_metadata" or "time_series_timestamp".
        pages, limit: How the tool pages, and how it limits the number of items.
    """

    items: str = ""
    published: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    bind: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    answer: str = JSON
    format: str = ISO
    timezone: str = ""
    lag: str = ""
    business_dates: tuple[str, ...] = ()
    texts: str = STRICT
    key: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    source: str = SOURCES[0]
    pages: Pages | None = None
    limit: Limit | None = None

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        for name in ("published", "fields"):
            if not getattr(self, name):
                raise wrong(
                    name, "is empty", "published names the dates of an item, and fields its members that are passed on"
                )
        for name, allowed in (
            ("answer", (JSON, JSON_BLOCKS)),
            ("texts", (STRICT, STRICTEST, AS_PUBLISHED)),
            ("source", SOURCES),
        ):
            if getattr(self, name) not in allowed:
                raise wrong(name, f"is {getattr(self, name)!r}", f"give one of {', '.join(allowed)}")
        if self.format not in FORMATS and "%" not in self.format:
            raise wrong("format", f"is {self.format!r}", f"give {', '.join(FORMATS)} or a format such as %d.%m.%Y")
        if own := OWN_NAMES.intersection(self.fields):
            raise wrong("fields", f"has {min(own)}, which the proxy writes itself", "leave it out")
        taken = [*self.arguments, *self.set_by_proxy]
        if twice := {name for name in taken if taken.count(name) > 1}:
            raise wrong(min(twice), "is an argument twice", "let the caller give it, bind it, or fix it; choose one")
        if missing := set(self.required) - set(self.arguments):
            raise wrong(f"required has {min(missing)}, which arguments", "has not")
        if self.is_list and "cursor" in self.arguments:
            raise wrong("arguments", "has cursor, which pages through answers", "leave it out")
        for template in self.bind.values():
            names = _TEMPLATE.findall(template)
            if not names or set(names) - set(FORWARD_NAMES):
                raise wrong("bind", f"has {template!r}", "write {date}, {instant}, {epoch} or {epoch_ms} into it")
        _ = (self.zone, self.delay, self.item_place, self.published_places, self.pages and self.pages.place)

    @property
    def is_list(self) -> bool:
        """Return whether callers page through passing items, whatever the tool's own pages are."""
        return self.pages is not None or self.limit is not None

    @property
    def set_by_proxy(self) -> list[str]:
        """Return the arguments that the proxy sends regardless of the caller."""
        return [*self.bind, *self.fixed, *(part.argument for part in (self.pages, self.limit) if part)]

    @cached_property
    def zone(self) -> tzinfo | None:
        """Return the zone of times without one. Raises BadInput."""
        try:
            return zone_named(self.timezone) if self.timezone else None
        except LookupError:
            raise wrong(
                "timezone", f"{self.timezone!r} is not a time zone", "give a time zone such as America/New_York"
            ) from None

    @cached_property
    def delay(self) -> timedelta:
        """Return the lag. Raises BadInput."""
        if not self.lag:
            return timedelta()
        parts = _LAG.fullmatch(self.lag)
        if parts is None:
            raise wrong("lag", f"{self.lag!r} is not a duration", 'give a duration such as "1 day" or "90 minutes"')
        return timedelta(**{f"{parts[2]}s": int(parts[1])})

    @cached_property
    def item_place(self) -> Place:
        return Place(self.items, "policy items")

    @cached_property
    def published_places(self) -> tuple[Place, ...]:
        """Return the paths of an item's publication dates."""
        return tuple(Place(path, "policy published") for path in self.published)

    @cached_property
    def ignored(self) -> frozenset[str]:
        """Return the members whose dates do not concern the publication."""
        return frozenset(self.business_dates)

    def bound(self, as_of: datetime) -> dict[str, Any]:
        """Return the arguments that the proxy sets."""
        local = as_of.astimezone(self.zone) if self.zone else as_of
        seconds = micros(as_of) // 10**6
        words = {
            "date": local.date().isoformat(),
            "instant": iso(as_of.replace(microsecond=0)),
            "epoch": str(seconds),
            "epoch_ms": str(micros(as_of) // 1000),
        }
        filled = {name: _TEMPLATE.sub(lambda word: words[word[1]], text) for name, text in self.bind.items()}
        counts = {name: int(text) for name, text in filled.items() if self.bind[name] in ("{epoch}", "{epoch_ms}")}
        most = {self.limit.argument: self.limit.most} if self.limit else {}
        return {**self.fixed, **filled, **counts, **most}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The policy of one server: the tools that may be called, each with its own policy."""

    server: str
    tools: Mapping[str, ToolPolicy]
    text: str = ""

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def load(name: str | Path) -> Policy:
    """Read a policy from a file, or a bundled one by its name. Raises BadInput."""
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        own = ready()
        if str(name) not in own:
            raise BadInput("--policy", f"there is no file or bundled policy {str(name)!r}", choice(str(name), own))
        return parse(own[str(name)].read_text(encoding="utf-8"))
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise BadInput("--policy", f"{str(name)!r} can't be read", "name a file, or draft one with --learn") from None


def ready() -> dict[str, Any]:
    """Return the bundled policies by name."""
    folder = resources.files("pitlake.proxy").joinpath("policies")
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}


def parse(text: str) -> Policy:
    """Parse a policy from TOML text. Raises BadInput."""
    try:
        members = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise wrong("the file", f"is not TOML ({fault})") from None
    if unknown := members.keys() - {"server", "tools", "reviewed"}:
        raise wrong("the file", f"has {min(unknown)!r}", "it has server, reviewed and tools")
    if members.get("reviewed") is not True:
        raise wrong("the file", "is a draft", "read it, correct it, and write reviewed = true at its top")
    server, tools = members.get("server"), members.get("tools")
    if not isinstance(server, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,59}", server):
        raise wrong("server", "is not a short name", 'write a name such as server = "brave-search"')
    if not isinstance(tools, dict) or not tools:
        raise wrong("tools", "names no tool", "write a table such as [tools.search]")
    return Policy(server=server, text=text, tools={name: _tool(name, members) for name, members in tools.items()})


def _tool(name: str, members: Any) -> ToolPolicy:
    if not isinstance(members, dict):
        raise wrong(f"tools.{name}", "is not a table", "write a table such as [tools.search]")
    try:
        return from_members(members)
    except BadInput as fault:
        raise BadInput("policy", f"tools.{name}: {fault.problem}", fault.next_step) from None


def from_members(members: Mapping[str, Any]) -> ToolPolicy:
    """Return a tool's policy from the values of its lines, as in TOML or Python. Raises BadInput."""
    kinds = {attribute.name: get_origin(attribute.type) for attribute in fields(ToolPolicy)}
    checked: dict[str, Any] = {}
    for name, setting in members.items():
        if name not in kinds:
            raise wrong("a line", f"names {name!r}", choice(name, kinds))
        checked[name] = _member(name, kinds[name], setting)
    return ToolPolicy(**checked)


def _member(name: str, kind: Any, setting: Any) -> Any:
    if name == "pages":
        return _part(Pages, name, setting, 'write pages = {argument = "cursor", next = "next_cursor"}')
    if name == "limit":
        return _part(Limit, name, setting, 'write limit = {argument = "limit", most = 100}')
    if kind is tuple:
        setting = [setting] if isinstance(setting, str) else setting
        if not isinstance(setting, list | tuple) or not _texts(setting):
            raise wrong(name, "is not a list of texts", f'write {name} = ["…"]')
        return tuple(setting)
    if kind is Mapping:
        if not isinstance(setting, Mapping) or (name == "bind" and not _texts(setting.values())):
            raise wrong(name, "is not a table", f'write {name} = {{argument = "…"}}')
        return dict(setting)
    if not isinstance(setting, str):
        raise wrong(name, "is not a text", f'write {name} = "…"')
    return setting


def _part(kind: Any, name: str, setting: Any, next_step: str) -> Any:
    expected = {part.name: part.type for part in fields(kind)}
    try:
        if all(type(value) is expected[member] for member, value in setting.items()):
            return kind(**setting)
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise wrong(name, "does not have the right members", next_step)


def _texts(members: Iterable[Any]) -> bool:
    return all(isinstance(member, str) for member in members)
