"""The sources' shapes: what eight kinds of sources deliver, what their records are about and how their texts read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One kind of source. items: what records of an entity are about. text: with places for entity, item and mark."""

    name: str
    table: str
    items: tuple[str, ...]
    text: str


SHAPES = (
    Shape("fundamentals", "company_facts", ("Revenues", "NetIncomeLoss", "Assets", "EPS"),
          "{entity} reports {item} for the quarter; note {mark}."),
    Shape("filings", "filings", ("10-Q", "8-K item 2.02", "10-K", "NT 10-Q"),
          "{entity} files form {item}; the exhibit says {mark}."),
    Shape("news", "articles", ("headline", "update", "analysis", "brief"),
          "{entity}: {item} from the desk, keyword {mark}."),
    Shape("calls", "transcripts", ("prepared remarks", "question 1", "question 2", "closing words"),
          "Operator of the {entity} call, {item}: {mark}."),
    Shape("bars", "daily_bars", ("bar 1", "bar 2", "bar 3", "bar 4"),
          "{entity} {item} as traded, tape {mark}."),
    Shape("macro", "series", ("level", "change", "revision", "index"),
          "Series {entity}, {item}: release {mark}."),
    Shape("estimates", "estimates", ("EPS next quarter", "EPS next year", "revenue next year", "target"),
          "Analysts on {entity}, {item}: source {mark}."),
    Shape("memory", "agent_memory", ("view", "decision", "review", "lesson"),
          "The desk on {entity}, {item}: reason {mark}."),
)  # fmt: skip

BY_NAME = {shape.name: shape for shape in SHAPES}
EVERYWHERE = tuple(BY_NAME)
