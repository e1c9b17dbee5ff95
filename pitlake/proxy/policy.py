"""A policy: the parts of another server's answers that may pass, and how they are dated. It is a small TOML file for
people to review. Tools, arguments and members of items that it does not name are refused. A misspelt line is refused.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Strict, StrictStr

from pitlake.clock import iso, micros
from pitlake.errors import BadInput, choice
from pitlake.gate.rules import COMPUTED, NEWEST_INPUT, PROOF
from pitlake.proxy.paths import Place
from pitlake.times import FORMATS, ISO, zone_named
from pitlake.validation import pattern, validate, validated_dataclass

Name = Annotated[StrictStr, Field(min_length=1)]
Count = Annotated[int, Strict(), Field(ge=0)]
Answer = Literal["json", "json_blocks"]
Strictness = Literal["strict", "strictest", "as_published"]
Source = Literal["provider_metadata", "time_series_timestamp"]
JSON, JSON_BLOCKS = get_args(Answer)
STRICT, STRICTEST, AS_PUBLISHED = get_args(Strictness)
VALUE = "value"
BASIS = "available_at_basis"
OWN_NAMES = frozenset((*PROOF, COMPUTED, NEWEST_INPUT, BASIS))
FORWARD_NAMES = ("date", "instant", "epoch", "epoch_ms")
_LAG = r"(\d{1,6}) ?(second|minute|hour|day|week)s?"
_TEMPLATE = re.compile(r"\{([a-z_]*)\}")
_REVIEW = "correct the policy, or draft one with --learn"


def _as_tuple(setting: Any) -> Any:
    return (setting,) if isinstance(setting, str) else tuple(setting) if isinstance(setting, list) else setting


JsonPath = Annotated[StrictStr, AfterValidator(lambda text: Place(text) and text)]
Paths = Annotated[tuple[JsonPath, ...], Strict(), BeforeValidator(_as_tuple)]
Texts = Annotated[tuple[StrictStr, ...], Strict(), BeforeValidator(_as_tuple)]


@validated_dataclass
class Pages:
    """The paging of a tool: the argument for the next page, and the path `next` of its value in the last answer.

    Without `next` pages are counted: `first`, then `step` more for each page, until a page has no items.
    """

    argument: Name
    next: JsonPath = ""
    first: Count = 0
    step: Annotated[Count, Field(ge=1)] = 1

    def __post_init__(self) -> None:
        if self.next and (self.first, self.step) != (0, 1):
            raise ValueError("next and counted pages exclude each other; leave out next, or first and step")

    @cached_property
    def place(self) -> Place | None:
        """Return the path of the value that requests the next page; None if pages are counted."""
        return Place(self.next) if self.next else None


@validated_dataclass
class Limit:
    """The argument for the number of items in an answer. The server is always asked for `most`."""

    argument: Name
    most: Annotated[Count, Field(ge=1)]


@validated_dataclass
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
        format: The format of publication times: one of FORMATS or a strptime format.
        timezone: The zone of times and dates without one, by default New York's for dates.
        lag: The delay from the stated date to the publication, such as "1 day".
        business_dates: Members whose dates do not concern the publication, such as a maturity.
        texts: "strict" leaves out items whose text names a day after the cut-off, "strictest" also a later quarter or
            year; "as_published" is for texts that never change and may therefore name later days.
        key: Members that identify an item. A change to the members in `content` (default: `fields`) creates a new
        version.
        source: The source of items' dates: "provider_metadata" or "time_series_timestamp".
        pages, limit: How the tool pages, and how it limits the number of items.
    """

    items: JsonPath = ""
    published: Paths = ()
    fields: Texts = ()
    arguments: Texts = ()
    required: Texts = ()
    bind: dict[StrictStr, StrictStr] = field(default_factory=dict)
    fixed: dict[StrictStr, Any] = field(default_factory=dict)
    answer: Answer = JSON
    format: StrictStr = ISO
    timezone: StrictStr = ""
    lag: Annotated[StrictStr, pattern(f"({_LAG})?", "a duration", '"1 day" or "90 minutes"')] = ""
    business_dates: Texts = ()
    texts: Strictness = STRICT
    key: Texts = ()
    content: Texts = ()
    source: Source = "provider_metadata"
    pages: Pages | None = None
    limit: Limit | None = None

    def __post_init__(self) -> None:
        for name in ("published", "fields"):
            if not getattr(self, name):
                raise ValueError(f"{name} is empty; published names an item's dates, and fields its members to pass on")
        if self.format not in FORMATS and "%" not in self.format:
            raise ValueError(f"format is {self.format!r}; give {', '.join(FORMATS)} or a format such as %d.%m.%Y")
        if own := OWN_NAMES.intersection(self.fields):
            raise ValueError(f"fields has {min(own)}, which the proxy writes itself; leave it out")
        taken = [*self.arguments, *self.set_by_proxy]
        if twice := {name for name in taken if taken.count(name) > 1}:
            raise ValueError(f"{min(twice)} is an argument twice; let the caller give it, bind it, or fix it")
        if missing := set(self.required) - set(self.arguments):
            raise ValueError(f"required has {min(missing)}, which arguments has not; {_REVIEW}")
        if self.is_list and "cursor" in self.arguments:
            raise ValueError("arguments has cursor, which pages through answers; leave it out")
        for template in self.bind.values():
            names = _TEMPLATE.findall(template)
            if not names or set(names) - set(FORWARD_NAMES):
                raise ValueError(f"bind has {template!r}; write {{date}}, {{instant}}, {{epoch}} or {{epoch_ms}}")
        _ = self.zone

    @property
    def is_list(self) -> bool:
        """Return whether callers page through passing items, regardless of the tool's own pages."""
        return self.pages is not None or self.limit is not None

    @property
    def set_by_proxy(self) -> list[str]:
        """Return the arguments that the proxy sends regardless of the caller."""
        return [*self.bind, *self.fixed, *(part.argument for part in (self.pages, self.limit) if part)]

    @cached_property
    def zone(self) -> tzinfo | None:
        """Return the zone of times without one."""
        try:
            return zone_named(self.timezone) if self.timezone else None
        except LookupError:
            raise ValueError(f"timezone {self.timezone!r} is not a time zone; give one such as Asia/Tokyo") from None

    @cached_property
    def delay(self) -> timedelta:
        """Return the lag."""
        parts = re.fullmatch(_LAG, self.lag)
        return timedelta(**{f"{parts[2]}s": int(parts[1])}) if parts else timedelta()

    @cached_property
    def item_place(self) -> Place:
        return Place(self.items)

    @cached_property
    def published_places(self) -> tuple[Place, ...]:
        """Return the paths of an item's publication dates."""
        return tuple(Place(path) for path in self.published)

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


@validated_dataclass
class Policy:
    """The policy of one server: the tools that may be called, each with its own policy."""

    server: Annotated[StrictStr, pattern(r"[A-Za-z0-9][\w.-]{0,59}", "a short name", "brave-search")]
    tools: dict[StrictStr, ToolPolicy] = field(default_factory=dict)
    reviewed: bool = True
    text: str = field(default="", init=False)

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
        policy = validate(Policy, members, "policy.") if members.get("reviewed") is True else None
    except (ValueError, RecursionError) as fault:
        raise BadInput("policy", f"the file is not TOML ({fault})", _REVIEW) from None
    if policy is None:
        raise BadInput("policy", "the file is a draft", "read it, correct it, and write reviewed = true at its top")
    if not policy.tools:
        raise BadInput("policy", "tools names no tool", "write a table such as [tools.search]")
    object.__setattr__(policy, "text", text)
    return policy


def from_members(members: Mapping[str, Any]) -> ToolPolicy:
    """Return a tool's policy from the values of its lines, as in TOML or Python. Raises BadInput."""
    return validate(ToolPolicy, dict(members), "policy.")
