"""Forge's settings: frozen, with the design's defaults. An unknown key is refused."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from forge.core.currencies import USD, read_currency
from pitlake.errors import BadInput, choice
from pitlake.questions.embedding import MODEL

ROLES = ("agent", "subagent", "validation", "contrastive_validation", "review", "synthesis", "compact")
PROPOSAL = "proposal"
"""The role that writes changes of skills. `[evolution] proposal_model` sets its model."""
PROFILES = ("full", "small")
SHARED = ("read", "search", "decisions")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_DAY = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_FUTURE = re.compile(r"future(:[\w.\-/]{1,40}){1,2}")
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
ROUTING = dict(zip(ROLES, ("opus", "sonnet", "sonnet", "opus", "opus", "opus", "haiku"), strict=True))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Risk limits, in percent of capital; duration in years, volume in average days. max_margin: for all futures.

    over: "refuse" to reject a trade that exceeds a limit, "cap" to cut it to the largest size that is allowed.
    """

    max_single_risk: float = 5.0
    max_gross: float = 200.0
    max_duration: float = 5.0
    max_factor_conc: float = 30.0
    max_single_name: float = 100.0
    max_total_loss: float = 100.0
    max_net: float = 150.0
    max_days_of_volume: float = 5.0
    max_margin: float = 50.0
    over: str = "refuse"

    def __post_init__(self) -> None:
        if self.over not in ("refuse", "cap"):
            raise ValueError(f'over {self.over!r} is unknown; write "refuse" or "cap"')


@dataclass(frozen=True, kw_only=True)
class Approvers:
    """The people who may approve.

    users: their names. If there are none, the operating system's user may approve. second_above: the size in percent
    of capital above which two people must approve the same text; None if one is always enough.
    """

    users: tuple[str, ...] = ()
    second_above: float | None = None

    def __post_init__(self) -> None:
        if self.second_above is not None and len({name.strip().casefold() for name in self.users}) < 2:
            raise ValueError("second_above needs the names of two people; add them to users")

    def check(self, name: str) -> None:
        """Raise BadInput unless a person of this name may decide."""
        if self.users and name not in self.users:
            raise BadInput("by", f"{name[:40]!r} is not among [approvers] users", choice(name, self.users))


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A futures contract. multiplier: the value of a point; margin: margin per contract; both in its currency."""

    multiplier: float
    margin: float
    currency: str = USD

    def __post_init__(self) -> None:
        read_currency(self.currency)
        if not self.multiplier:
            raise ValueError("multiplier is 0; write what a point of one contract is worth, such as 1000")


@dataclass(frozen=True, kw_only=True)
class AccountSettings:
    """The account behind the book.

    capital: USD at the start, None for no account. costs_bp: the cost of executions by code, in basis points of a
    fill's value. financing_rate: percent a year on borrowed cash. benchmark: the ticker with which the desk compares
    the account, "" for none. max_loss, max_drawdown: the losses in percent, since the start and since the highest net
    asset value, at which code halts trading; None for no limit. contracts: futures contracts by name, such as
    future:CL.
    """

    capital: float | None = None
    costs_bp: float = 0.0
    financing_rate: float = 0.0
    benchmark: str = ""
    max_loss: float | None = None
    max_drawdown: float | None = None
    contracts: dict[str, Contract] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if wrong := [name for name in self.contracts if not _FUTURE.fullmatch(name)]:
            raise ValueError(f"contracts {wrong[0]!r} is not a future; write future:CL or future:CL:2024-12")


@dataclass(frozen=True, kw_only=True)
class Alerts:
    """The thresholds of the desk's alerts.

    stop_near: the distance from the last close to a stop, in percent of the close. view_due_days: the days before a
    View's question is due. data_late_hours: the hours after a session until its data is late.
    """

    stop_near: float = 3.0
    view_due_days: int = 3
    data_late_hours: float = 12.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A limit on spending on models; None means no limit. tokens: the tokens of requests and answers together."""

    tokens: int | None = None
    calls: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunBudget(Budget):
    """The budget of one run, including its sub-agents."""

    tokens: int | None = 1_000_000
    calls: int | None = 400


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """The budget of a run, of all runs of a day in the settings' time zone, and of all runs of a backtest."""

    run: RunBudget = field(default_factory=RunBudget)
    day: Budget = field(default_factory=Budget)
    backtest: Budget = field(default_factory=Budget)


@dataclass(frozen=True, kw_only=True)
class Price:
    """The price of a model, in dollars per million tokens."""

    input: float
    output: float


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The settings for the use of models.

    profile: `full`, or `small` for a small local model: a short prompt, three tools and one skill. typed_writes:
    whether each kind of record has a separate tool with a schema that the provider enforces. control: the model of the
    control arm, whose training ended before the instants of the questions. control_trained_to: the last day of its
    training data, as YYYY-MM-DD; by default the day that its maker publishes.
    """

    profile: str = PROFILES[0]
    typed_writes: bool = False
    control: str = ""
    control_trained_to: str = ""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile {self.profile!r} is unknown; write one of {', '.join(PROFILES)}")
        if self.control_trained_to and not _DAY.fullmatch(self.control_trained_to):
            raise ValueError(f"control_trained_to {self.control_trained_to!r} is not a day such as 2013-12-31")


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """Limits on the share of a model's context window that a request may fill.

    compact_at: the share from which older tool results are shortened. windows: tokens by `provider:id`, which extend or
    replace entries of the built-in list.
    """

    compact_at: float = 0.7
    windows: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.compact_at <= 1:
            raise ValueError(f"compact_at {self.compact_at:g} is not a share; write a number above 0 and up to 1")
        for model, tokens in self.windows.items():
            if tokens < 1:
                raise ValueError(f"the window of {model} is {tokens} tokens; write a number from 1")


@dataclass(frozen=True, kw_only=True)
class ExecutorSettings:
    """Limits of sub-agents: the seconds for a task and for a model call, and the number of retries of a call."""

    task_seconds: float = 300.0
    call_seconds: float = 120.0
    retries: int = 2


@dataclass(frozen=True, kw_only=True)
class Schedules:
    """The times of Forge's scheduled runs, and the number of analyses that they may make."""

    morning_budget: int = 8
    eod_budget: int = 6
    morning_time: str = "07:00"
    eod_time: str = "16:30"
    retrospective_day: str = "Friday"
    retrospective_time: str = "17:00"
    timezone: str = "America/New_York"
    staleness_days: int = 14

    def __post_init__(self) -> None:
        for name in ("morning_time", "eod_time", "retrospective_time"):
            if not _TIME.fullmatch(getattr(self, name)):
                raise ValueError(f"{name} {getattr(self, name)!r} is not a time of day; write it as 07:00")
        if self.retrospective_day not in DAYS:
            raise ValueError(
                f"retrospective_day {self.retrospective_day!r} is not a day; write one of {', '.join(DAYS)}"
            )
        try:
            ZoneInfo(self.timezone)
        except (ValueError, OSError, LookupError):
            raise ValueError(
                f"timezone {self.timezone!r} is unknown; write a time zone such as America/New_York"
            ) from None


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """The idle minutes that end a conversation. The next turn of any session archives the conversation."""

    session_timeout_minutes: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Counterfactuals:
    """The conditions under which a View without an Expression becomes a Counterfactual, and the days of tracking."""

    min_days: int = 14
    min_confidence: float = 0.6
    default_tracking_days: int = 90


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """The requirements for an edit of a skill. pm_approval_required must be true: no agent may change its own skills.

    same_claim: the mean cosine similarity from which lessons make the same claim. proposal_model: the model that
    writes the edits; if it is "", code appends the lessons.
    """

    min_corroborations: int = 5
    same_claim: float = 0.4
    require_no_contradictions: bool = True
    proposal_model: str = "sonnet"
    pm_approval_required: bool = True

    def __post_init__(self) -> None:
        if not self.pm_approval_required:
            raise ValueError(
                "pm_approval_required can't be false, because agents would then change their own skills; leave it out"
            )


@dataclass(frozen=True, kw_only=True)
class Search:
    """Weights of similarity and recency in a search's score, which sum to 1, and the model that embeds the texts.

    embedding_model: the bundled model, or `package.module:function` of a model on this machine. Remote services are
    refused, because they would receive the PM's memory and their results can change.
    """

    semantic_weight: float = 0.7
    recency_weight: float = 0.3
    embedding_model: str = MODEL

    def __post_init__(self) -> None:
        if self.embedding_model != MODEL and not _FUNCTION.fullmatch(self.embedding_model):
            raise ValueError(
                f"embedding_model {self.embedding_model!r} is not on this machine, and memory is sent to no service; "
                f"write package.module:function, or leave it out for {MODEL}"
            )
        if abs(self.semantic_weight + self.recency_weight - 1) > 1e-9:
            raise ValueError("the weights do not sum to 1")


@dataclass(frozen=True, kw_only=True)
class Mcp:
    """The tools that other agents can use over MCP: none by default."""

    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tools) - set(SHARED)):
            raise ValueError(f"there is no tool {unknown[0]!r} to share; choose from {', '.join(SHARED)}")


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings.

    model: settings for the use of models. models: the model of each role. prices: prices by `provider:id`, which extend
    or replace the built-in list. providers: sources of `fetch` in other packages, by name, each as
    `package.module:Class`.
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    models: dict[str, str] = field(default_factory=lambda: dict(ROUTING))
    guardrails: Limits = field(default_factory=Limits)
    approvers: Approvers = field(default_factory=Approvers)
    account: AccountSettings = field(default_factory=AccountSettings)
    alerts: Alerts = field(default_factory=Alerts)
    context: ContextSettings = field(default_factory=ContextSettings)
    executor: ExecutorSettings = field(default_factory=ExecutorSettings)
    schedules: Schedules = field(default_factory=Schedules)
    sessions: Sessions = field(default_factory=Sessions)
    counterfactuals: Counterfactuals = field(default_factory=Counterfactuals)
    evolution: Evolution = field(default_factory=Evolution)
    search: Search = field(default_factory=Search)
    budgets: Budgets = field(default_factory=Budgets)
    prices: dict[str, Price] = field(default_factory=dict)
    mcp: Mcp = field(default_factory=Mcp)
    providers: dict[str, str] = field(default_factory=dict)

    @property
    def own_providers(self) -> tuple[tuple[str, str], ...]:
        """The lines of `providers`, in alphabetical order."""
        return tuple(sorted(self.providers.items()))

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.models) - set(ROLES)):
            raise BadInput(f"models.{unknown[0]}", "is not a role", choice(unknown[0], ROLES))
        object.__setattr__(self, "models", ROUTING | self.models)


def load(place: str | Path) -> Config:
    """Read settings from a TOML file, with defaults for missing keys. Raises BadInput, which names the key."""
    path = Path(place)
    try:
        return from_mapping(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput("config", f"cannot read {path}: {problem}", "give a TOML file") from None


def from_mapping(settings: Mapping[str, Any]) -> Config:
    """Build settings from nested mappings. Raises BadInput naming the key."""
    config: Config = _build(Config, settings, "")
    return config


def _build(kind: Any, settings: Any, at: str) -> Any:
    if not isinstance(settings, Mapping):
        raise BadInput(at or "config", "is not a table", "write a TOML table with its keys")
    hints, keys = get_type_hints(kind), [key.name for key in fields(kind)]
    if unknown := sorted(set(settings) - set(keys)):
        raise BadInput(f"{at}{unknown[0]}", "is not a known key", choice(unknown[0], keys))
    needed = [key.name for key in fields(kind) if key.default is MISSING and key.default_factory is MISSING]
    if missing := [name for name in needed if name not in settings]:
        raise BadInput(f"{at}{missing[0]}", "is missing", f"give {', '.join(needed)}")
    values = {name: _value(hints[name], value, f"{at}{name}") for name, value in settings.items()}
    try:
        return kind(**values)
    except (ValueError, LookupError) as problem:
        raise BadInput(at.rstrip(".") or "config", str(problem)) from None


def _value(hint: Any, value: Any, at: str) -> Any:
    if is_dataclass(hint):
        return _build(hint, value, f"{at}.")
    if get_origin(hint) is dict:
        due = get_args(hint)[1]
        if is_dataclass(due) and isinstance(value, Mapping):
            return {name: _build(due, table, f"{at}.{name}.") for name, table in value.items()}
        if not isinstance(value, Mapping) or not {type(item) for item in value.values()} <= {due}:
            values, example = ("texts", '"model"') if due is str else ("whole numbers", "200000")
            raise BadInput(at, f"is not a table of {values}", f'write "name" = {example}')
        return dict(value)
    if get_origin(hint) is tuple:
        if not isinstance(value, list) or not {type(item) for item in value} <= {get_args(hint)[0]}:
            raise BadInput(at, "is not a list of texts", 'write ["…", "…"]')
        return tuple(dict.fromkeys(value))
    hint = next((kind for kind in get_args(hint) if kind is not NoneType), hint)
    due = (int, float) if hint is float else (hint,)
    if isinstance(value, bool) != (hint is bool) or not isinstance(value, due):
        raise BadInput(at, f"{value!r} is not of type {hint.__name__}", "give a value of that type")
    if hint in (int, float) and not 0 <= value < float("inf"):
        raise BadInput(at, f"{value!r} is not an amount", "give a number that is 0 or more")
    return hint(value)
