"""Where a case is built: its instants, its entity, and rows that are public or planted in the future."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from zoneinfo import ZoneInfo

from asofbench.model import NEVER, NOW, Canary, Case, Dice, Question, Row, Truth, written
from asofbench.shapes import Shape

NEW_YORK = ZoneInfo("America/New_York")
MOST_SAME_DAY = timedelta(minutes=90)
LOWEST_CANARY, HIGHEST_CANARY = 910_000_000, 989_999_999
BACKFILLED = datetime.fromisoformat("2026-01-02T15:00:00+00:00")


@dataclass(frozen=True)
class World:
    """What the cases of one world share: a source's shape, the instant asked about and when the future begins."""

    name: str
    shape: Shape
    at: datetime
    gap: timedelta

    @property
    def base(self) -> datetime:
        """When what is public at T became public."""
        return self.at - timedelta(days=40)

    @property
    def future(self) -> datetime:
        """When the planted becomes public."""
        return self.at + self.gap

    @property
    def soon(self) -> datetime:
        """When what belongs to T's own day becomes public: never more than 90 minutes after T."""
        return self.at + min(self.gap, MOST_SAME_DAY)

    @property
    def end_of_day(self) -> datetime:
        """When T's day is over in New York."""
        local = self.at.astimezone(NEW_YORK).date() + timedelta(days=1)
        return datetime(local.year, local.month, local.day, tzinfo=NEW_YORK)


@dataclass(frozen=True)
class Setting:
    """One case in the making."""

    kind: str
    world: World
    number: int
    dice: Dice

    @cached_property
    def entity(self) -> str:
        """The company, series or desk this case is about: no other case has it."""
        return f"{self.dice.token('entity').upper()}"

    @property
    def items(self) -> tuple[str, ...]:
        """What its records are about."""
        return self.world.shape.items

    def mark(self, what: str) -> str:
        """A token that occurs nowhere else."""
        return f"zq{self.dice.token('mark', what)}"

    def text(self, item: str, mark: str) -> str:
        """A record's text in the source's words."""
        return self.world.shape.text.format(entity=self.entity, item=item, mark=mark)

    def public(self, item: str, at: datetime | None = None, **other: object) -> Row:
        """A plain record that was public, and loaded, at `at` (default: long before T)."""
        at = at or self.world.base
        given: dict[str, object] = {
            "entity": self.entity,
            "item": item,
            "event": written(self.world.at - timedelta(days=75)),
            "stated": written(at),
            "loaded_at": written(at),
            "value": float(self.dice.number(1_000, 99_999, "value", item, at)),
            "text": self.text(item, f"m{self.dice.token('plain', item, at)}"),
        }
        return Row(**{**given, **other})  # type: ignore[arg-type]

    def hidden(self, item: str, at: datetime | None = None, **other: object) -> Row:
        """A record that becomes public at `at` (default: the world's future); its number and its text are canaries."""
        at = at or self.world.future
        what = f"{item}/{written(at)}"
        given = {
            "value": float(self.dice.number(LOWEST_CANARY, HIGHEST_CANARY, "canary", what)),
            "text": self.text(item, self.mark(what)),
        }
        return self.public(item, at, **{**given, **other})

    def ask(self, kind: str, at: datetime | None = None, **what: object) -> Question:
        """A question about the case's entity, as of T unless told otherwise."""
        return Question(kind=kind, as_of=written(at or self.world.at), **{"entity": self.entity, **what})  # type: ignore[arg-type]

    def case(
        self,
        rows: list[Row],
        plant: list[Row],
        ask: tuple[Question, Truth],
        later: tuple[Question, Truth],
        *,
        never: tuple[Row, ...] = (),
    ) -> Case:
        """The case: what is asked is asked again of an entity that holds nothing but a plain record, as a control.

        never: those of `rows` that at no instant become public as they are, and yet are there.
        """
        plain = self.control()
        canaries = [canary for row in plant for canary in canaries_of(row)]
        canaries += [canary for row in never for canary in canaries_of(row, NEVER)]
        asked, told = self.asked_of_control(ask[0], plain)
        return Case(
            id=f"{self.kind}/{self.world.name}/{self.number}",
            kind=self.kind,
            source=self.world.shape.name,
            world=self.world.name,
            rows=(*rows, plain),
            plant=tuple(plant),
            canaries=tuple(canaries),
            ask=ask[0],
            truth=ask[1],
            later=later[0],
            later_truth=later[1],
            control=asked,
            control_truth=told,
        )

    def control(self) -> Row:
        """The control's one record."""
        name = f"{self.dice.token('control').upper()}"
        return self.public(
            self.items[0], entity=name, text=f"{name} says m{self.dice.token('control', 'text')} plainly."
        )

    def asked_of_control(self, ask: Question, plain: Row) -> tuple[Question, Truth]:
        """The same kind of question about the control as of now, and its answer."""
        of = partial(Question, as_of=NOW, entity=plain.entity)
        if ask.loaded_by:
            return of(kind="rows", loaded_by=NOW), answer_of([plain])
        if ask.kind == "aggregate":
            return of(kind="aggregate", fn=ask.fn), plain.value
        if ask.kind == "adjusted":
            return of(kind="adjusted", term=ask.term), {plain.item: plain.value}
        if ask.kind == "frequency":
            return of(kind="frequency", term=plain.text.split()[2]), 1
        if ask.kind == "join":
            return of(kind="join", spine=((plain.entity, plain.item, NOW),)), [plain.value]
        return of(kind="rows"), answer_of([plain])


def canaries_of(row: Row, public: str = "") -> list[Canary]:
    """A planted row's number and the tokens in its texts. public: default what the row tells by the source's words."""
    if not public:
        backfilled = row.loaded_at == written(BACKFILLED)
        public = row.stated if backfilled and row.stated else row.loaded_at
    words = f"{row.entity} {row.item} {row.text} {row.extra or ''}".split()
    tokens = dict.fromkeys(word.strip(".;,") for word in words if word.startswith("zq"))
    numbers = [str(int(row.value))] if row.value >= LOWEST_CANARY else []
    return [Canary(text=text, public=public) for text in (*tokens, *numbers)]


def answer_of(rows: list[Row]) -> dict[str, list[object]]:
    """The right answer to `rows`: per item its value and its text."""
    return {row.item: [row.value, row.text] for row in rows}
