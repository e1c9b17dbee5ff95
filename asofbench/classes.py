"""The classes of leaks that lie in the data: 18 of the 24. What each plants, and what a right answer holds."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from asofbench.model import Case, Row, written
from asofbench.setting import BACKFILLED, Setting, answer_of

NEW_YORK = ZoneInfo("America/New_York")


def _rows(
    setting: Setting, public_rows: list[Row], plant: list[Row], then: list[Row], at: datetime | None = None
) -> Case:
    """A case that asks for an entity's records: `known` are public at T, `then` at the plant's instant."""
    return setting.case(
        public_rows,
        plant,
        (setting.ask("rows"), answer_of(public_rows)),
        (setting.ask("rows", at or setting.world.future), answer_of(then)),
    )


def late_publication(setting: Setting) -> Case:
    """A figure of a period long over is published only after T."""
    public_row, late = setting.public(setting.items[0]), setting.hidden(setting.items[1])
    return _rows(setting, [public_row], [late], [public_row, late])


def restatement(setting: Setting) -> Case:
    """A published figure is restated after T."""
    first, restated = setting.public(setting.items[0]), setting.hidden(setting.items[0])
    return _rows(setting, [first], [restated], [restated])


def edited_text(setting: Setting) -> Case:
    """A text is edited after T; its source stamps the edit beside the first publication."""
    first = setting.public(setting.items[0])
    edited = setting.hidden(setting.items[0], stated=first.stated, updated=written(setting.world.future))
    return _rows(setting, [first], [edited], [edited])


def undated(setting: Setting) -> Case:
    """A record states no instant at all; one instant after T its source sends it again, dated."""
    public_row = setting.public(setting.items[0])
    never = setting.hidden(setting.items[1], setting.world.base, stated=None)
    dated = setting.hidden(setting.items[1])
    return setting.case(
        [public_row, never],
        [dated],
        (setting.ask("rows"), answer_of([public_row])),
        (setting.ask("rows", setting.world.future), answer_of([public_row, dated])),
        never=(never,),
    )


def date_only(setting: Setting) -> Case:
    """A record states a date, T's own: nobody knows at what time of that day it was public."""
    at = setting.world.end_of_day
    day = setting.world.at.astimezone(NEW_YORK).date().isoformat()
    public_row, dated = setting.public(setting.items[0]), setting.hidden(setting.items[1], at, stated=day, stamp="date")
    return _rows(setting, [public_row], [dated], [public_row, dated], at)


def naive_eastern(setting: Setting) -> Case:
    """A record states New York's time without an offset; read as UTC it would be hours old."""
    at = setting.world.soon
    local = at.astimezone(NEW_YORK).replace(tzinfo=None).isoformat(timespec="microseconds")
    public_row, naive = (
        setting.public(setting.items[0]),
        setting.hidden(setting.items[1], at, stated=local, stamp="new_york"),
    )
    return _rows(setting, [public_row], [naive], [public_row, naive], at)


def start_stamped(setting: Setting) -> Case:
    """A record is stamped with the start of what it tells whole: a call, a bar. It ends after T."""
    began = written(setting.world.at - timedelta(minutes=30))
    public_row = setting.public(setting.items[0])
    whole = setting.hidden(setting.items[1], stated=began, stamp="start", ends=written(setting.world.future))
    return _rows(setting, [public_row], [whole], [public_row, whole])


def honest_backfill(setting: Setting) -> Case:
    """A record that was public long before T is loaded years later. It must be seen, its late companion must not."""
    loaded = written(BACKFILLED)
    public_row = setting.public(setting.items[0], loaded_at=loaded)
    late = setting.hidden(setting.items[1], loaded_at=loaded)
    return _rows(setting, [public_row], [late], [public_row, late])


def back_dated(setting: Setting) -> Case:
    """After T the source slips in another figure for a record the store knew, dated before the store had read it."""
    public_row = setting.public(setting.items[0], stated=written(setting.world.base - timedelta(days=20)))
    slipped = setting.hidden(setting.items[0], stated=written(setting.world.base - timedelta(days=1)))
    return _rows(setting, [public_row], [slipped], [slipped])


def vendor_rewrite(setting: Setting) -> Case:
    """After T the source delivers other content under the same stamp, and says nothing."""
    first = setting.public(setting.items[0])
    rewritten = setting.hidden(setting.items[0], stated=first.stated)
    return _rows(setting, [first], [rewritten], [rewritten])


def _filled_in(setting: Setting, column: str) -> Case:
    """A record is delivered again after T with a column filled in that its source documents as filled in later."""
    first = setting.public(setting.items[0])
    again = setting.public(
        setting.items[0],
        loaded_at=written(setting.world.future),
        extra=f"{column} = {setting.mark(column)}",
    )
    then = setting.hidden(setting.items[1])
    return _rows(setting, [first], [again, then], [first, then])


def relative_columns(setting: Setting) -> Case:
    """A column says what a record is by now: superseded, the newest, 30 days old."""
    return _filled_in(setting, "superseded_by")


def derived_summary(setting: Setting) -> Case:
    """A column sums up all of the history, on every record of it."""
    return _filled_in(setting, "lifetime_high")


def outcome_columns(setting: Setting) -> Case:
    """A column tells how it ended: the return of the days after."""
    return _filled_in(setting, "return_of_next_20_days")


def survivorship(setting: Setting) -> Case:
    """A member leaves and another joins after T. Who was there must be there, who came must not."""
    names = [setting.dice.token("member", place).upper() for place in range(3)]
    members = [setting.public(name, value=1.0, text=f"{name} is a member.") for name in names]
    newcomer = setting.mark("newcomer")
    left = setting.hidden(names[1], value=0.0)
    joined = setting.hidden(newcomer, value=1.0)
    return setting.case(
        members,
        [left, joined],
        (setting.ask("members"), sorted(names)),
        (setting.ask("members", setting.world.future), sorted([names[0], names[2], newcomer])),
    )


def split_adjusted(setting: Setting) -> Case:
    """After T a split makes the vendor rewrite every bar of the past, under the stamps of then."""
    bars = [setting.public(item) for item in setting.items[:3]]
    adjusted = [setting.hidden(bar.item, stated=bar.stated) for bar in bars]
    mean = sum(bar.value for bar in bars) / len(bars)
    then = sum(bar.value for bar in adjusted) / len(bars)
    return setting.case(
        bars,
        adjusted,
        (setting.ask("aggregate", fn="avg"), mean),
        (setting.ask("aggregate", setting.world.future, fn="avg"), then),
    )


def event_time_join(setting: Setting) -> Case:
    """What was known at an event before T, joined by a figure published between the event and T."""
    published = setting.world.at - timedelta(days=5)
    first = setting.public(setting.items[0])
    between = setting.public(setting.items[0], published, event=written(setting.world.at - timedelta(days=60)))
    event = written(setting.world.at - timedelta(days=10))
    spine = ((setting.entity, setting.items[0], event),)
    return setting.case(
        [first, between],
        [],
        (setting.ask("join", spine=spine), [first.value]),
        (setting.ask("join", spine=((setting.entity, setting.items[0], written(published)),)), [between.value]),
    )


def later_memory(setting: Setting) -> Case:
    """An agent's notes about what lies before T, written after it."""
    view, late = setting.public(setting.items[0]), setting.hidden(setting.items[1])
    revised = setting.hidden(setting.items[0])
    return _rows(setting, [view], [late, revised], [revised, late])


def search_statistics(setting: Setting) -> Case:
    """How many records hold a word: rarity, by which searches rank, moves with texts of the future."""
    word = f"w{setting.dice.token('word')}"
    holding = [
        setting.public(item, text=f"{word} in the past, {place}.") for place, item in enumerate(setting.items[:2])
    ]
    late = setting.hidden(setting.items[2], text=f"{word} again {setting.mark('late')}.")
    return setting.case(
        holding,
        [late],
        (setting.ask("frequency", term=word), 2),
        (setting.ask("frequency", setting.world.future, term=word), 3),
    )
