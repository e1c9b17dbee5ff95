"""Forge's settings: frozen, with the design's defaults. An unknown key is refused."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, StrictBool

from forge.core.currencies import USD, read_currency
from pitlake.errors import BadInput, choice
from pitlake.questions.embedding import MODEL
from pitlake.validation import pattern, validate, validated_dataclass

ROLES = ("agent", "subagent", "validation", "contrastive_validation", "review", "synthesis", "compact")
PROPOSAL = "proposal"
"""The role that writes changes to skills. `[evolution] proposal_model` sets its model."""
Profile = Literal["full", "small"]
Shared = Literal["read", "search", "decisions"]
Weekday = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PROFILES, SHARED, DAYS = get_args(Profile), get_args(Shared), get_args(Weekday)
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]
Day = Annotated[str, pattern(r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))?", "a day", "2013-12-31")]
Future = Annotated[str, pattern(r"future(:[\w.\-/]{1,40}){1,2}", "a future", "future:CL or future:CL:2024-12")]
Time = Annotated[str, pattern(r"(?:[01]\d|2[0-3]):[0-5]\d", "a time of day", "07:00")]
_DISTINCT = AfterValidator(lambda names: tuple(dict.fromkeys(names)))
ROUTING = dict(zip(ROLES, ("opus", "sonnet", "sonnet", "opus", "opus", "opus", "haiku"), strict=True))


@validated_dataclass
class Limits:
    """Risk limits, in percent of capital; duration in years, volume in average days. max_margin: for all futures.

    over: "refuse" to reject a trade that exceeds a limit, "cap" to cut it to the largest size that is allowed.
    """

    max_single_risk: Amount = 5.0
    max_gross: Amount = 200.0
    max_duration: Amount = 5.0
    max_factor_conc: Amount = 30.0
    max_single_name: Amount = 100.0
    max_total_loss: Amount = 100.0
    max_net: Amount = 150.0
    max_days_of_volume: Amount = 5.0
    max_margin: Amount = 50.0
    over: Literal["refuse", "cap"] = "refuse"


@validated_dataclass
class Approvers:
    """The people who may approve.

    users: their names. If there are none, the operating system's user may approve. second_above: the size in percent
    of capital above which two people must approve the same text; None if one is always enough.
    """

    users: Annotated[tuple[str, ...], _DISTINCT] = ()
    second_above: Amount | None = None

    def __post_init__(self) -> None:
        if self.second_above is not None and len({name.strip().casefold() for name in self.users}) < 2:
            raise ValueError("second_above needs the names of two people; add them to users")

    def check(self, name: str) -> None:
        """Raise BadInput unless a person of this name may decide."""
        if self.users and name not in self.users:
            raise BadInput("by", f"{name[:40]!r} is not among [approvers] users", choice(name, self.users))


@validated_dataclass
class Contract:
    """A futures contract. multiplier: the value of a point. margin: margin per contract. Both in its currency."""

    multiplier: Annotated[Amount, Field(gt=0)]
    margin: Amount
    currency: str = USD

    def __post_init__(self) -> None:
        read_currency(self.currency)


@validated_dataclass
class AccountSettings:
    """The account behind the book.

    capital: USD at the start, None for no account. costs_bp: the cost of executions by code, in basis points of a
    fill's value. financing_rate: percent a year on borrowed cash. benchmark: the ticker with which the desk compares
    the account, "" for none. max_loss, max_drawdown: the losses in percent, since the start and since the highest net
    asset value, at which code halts trading; None for no limit. contracts: futures contracts by name, such as
    future:CL.
    """

    capital: Amount | None = None
    costs_bp: Amount = 0.0
    financing_rate: Amount = 0.0
    benchmark: str = ""
    max_loss: Amount | None = None
    max_drawdown: Amount | None = None
    contracts: dict[Future, Contract] = field(default_factory=dict)


@validated_dataclass
class Alerts:
    """The thresholds of the desk's alerts.

    stop_near: the distance from the last close to a stop, in percent of the close. view_due_days: the days before a
    View's question is due. data_late_hours: the hours after a session until its data is late.
    """

    stop_near: Amount = 3.0
    view_due_days: Count = 3
    data_late_hours: Amount = 12.0


@validated_dataclass
class Budget:
    """A limit on spending on models; None means no limit. tokens: the tokens of requests and answers together."""

    tokens: Count | None = None
    calls: Count | None = None
    dollars: Amount | None = None


@validated_dataclass
class RunBudget(Budget):
    """The budget of one run, including its sub-agents."""

    tokens: Count | None = 1_000_000
    calls: Count | None = 400


@validated_dataclass
class Budgets:
    """The budget of a run, of all runs of a day in the settings' time zone, and of all runs of a backtest."""

    run: RunBudget = field(default_factory=RunBudget)
    day: Budget = field(default_factory=Budget)
    backtest: Budget = field(default_factory=Budget)


@validated_dataclass
class Price:
    """The price of a model, in dollars per million tokens."""

    input: Amount
    output: Amount


@validated_dataclass
class ModelSettings:
    """The settings for the use of models.

    profile: `full`, or `small` for a small local model: a short prompt, three tools and one skill. typed_writes:
    whether each kind of record has a separate tool with a schema that the provider enforces. control: the model of the
    control arm, whose training ended before the instants of the questions. control_trained_to: the last day of its
    training data, as YYYY-MM-DD; by default the day that its maker publishes.
    """

    profile: Profile = "full"
    typed_writes: StrictBool = False
    control: str = ""
    control_trained_to: Day = ""


@validated_dataclass
class ContextSettings:
    """Limits on the share of a model's context window that a request may fill.

    compact_at: the share from which older tool results are shortened. windows: tokens by `provider:id`, which extend or
    replace entries of the built-in list.
    """

    compact_at: Annotated[Amount, Field(gt=0, le=1)] = 0.7
    windows: dict[str, Annotated[Count, Field(ge=1)]] = field(default_factory=dict)


@validated_dataclass
class ExecutorSettings:
    """Limits of sub-agents: the seconds for a task and for a model call, and the number of retries of a call."""

    task_seconds: Amount = 300.0
    call_seconds: Amount = 120.0
    retries: Count = 2


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError(f"{name!r} is unknown; write a time zone such as America/New_York") from None
    return name


@validated_dataclass
class Schedules:
    """The times of Forge's scheduled runs, and the number of analyses that they may make."""

    morning_budget: Count = 8
    eod_budget: Count = 6
    morning_time: Time = "07:00"
    eod_time: Time = "16:30"
    retrospective_day: Weekday = "Friday"
    retrospective_time: Time = "17:00"
    timezone: Annotated[str, AfterValidator(_zone)] = "America/New_York"
    staleness_days: Count = 14


@validated_dataclass
class Sessions:
    """The idle minutes that end a conversation. The next turn of any session archives the conversation."""

    session_timeout_minutes: Amount = 30.0


@validated_dataclass
class Counterfactuals:
    """The conditions under which a View without an Expression becomes a Counterfactual, and the days of tracking."""

    min_days: Count = 14
    min_confidence: Amount = 0.6
    default_tracking_days: Count = 90


@validated_dataclass
class Evolution:
    """The requirements for an edit of a skill. pm_approval_required must be true: no agent may change its own skills.

    same_claim: the mean cosine similarity from which lessons make the same claim. proposal_model: the model that
    writes the edits; if it is "", code appends the lessons.
    """

    min_corroborations: Count = 5
    same_claim: Amount = 0.4
    require_no_contradictions: StrictBool = True
    proposal_model: str = "sonnet"
    pm_approval_required: StrictBool = True

    def __post_init__(self) -> None:
        if not self.pm_approval_required:
            raise ValueError(
                "pm_approval_required can't be false, because agents would then change their own skills; leave it out"
            )


@validated_dataclass
class Search:
    """Weights of similarity and recency in a search's score, which sum to 1, and the model that embeds the texts.

    embedding_model: the bundled model, or `package.module:function` of a model on this machine. Remote services are
    refused, because they would receive the PM's memory and their results can change.
    """

    semantic_weight: Amount = 0.7
    recency_weight: Amount = 0.3
    embedding_model: str = MODEL

    def __post_init__(self) -> None:
        if self.embedding_model != MODEL and not _FUNCTION.fullmatch(self.embedding_model):
            raise ValueError(
                f"embedding_model {self.embedding_model!r} is not on this machine, and memory is sent to no service; "
                f"write package.module:function, or leave it out for {MODEL}"
            )
        if abs(self.semantic_weight + self.recency_weight - 1) > 1e-9:
            raise ValueError("the weights do not sum to 1")


@validated_dataclass
class Mcp:
    """The tools that other agents can use over MCP: none by default."""

    tools: Annotated[tuple[Shared, ...], _DISTINCT] = ()


@validated_dataclass
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
    except (OSError, ValueError, RecursionError) as problem:
        raise BadInput("config", f"cannot read {path}: {problem}", "give a TOML file") from None


def from_mapping(settings: Mapping[str, Any]) -> Config:
    """Build settings from nested mappings. Raises BadInput naming the key."""
    return validate(Config, settings)
