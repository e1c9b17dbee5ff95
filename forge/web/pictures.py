"""The desk's pictures, from its records: a trade's course beside its stop and target, and how forecasts came out."""

from datetime import datetime

from markupsafe import Markup

from forge.records import Calibration, Counterfactual, Expression
from forge.tracking.scores import by_chance, seen
from forge.tracking.trades import SIDES, FollowedTrade, level
from forge.web.curves import SMALL, SQUARE, Level, Point, course, reliability
from pitlake.web.plots import FULL, NARROW, spark

PERCENT = 100


def courses(expression: Expression, told: FollowedTrade, at: datetime) -> list[Markup]:
    """What a trade made by day, in percent of what was opened, wide and narrow."""
    points = [(mark.day, PERCENT * mark.value) for mark in told.path.marks]
    levels = []
    for name, kind in (("target", "good"), ("stop", "bad")):
        price = level(getattr(expression, name), name)
        if price is not None and told.path.opened:
            made = SIDES[expression.direction] * (price / told.path.opened - 1)
            levels.append(Level(name, PERCENT * made, kind))
    return [course(points, levels, at, frame, kind) for frame, kind in ((FULL, "wide"), (NARROW, "narrow"))]


def curve(calibration: Calibration) -> tuple[list[Point], list[Markup]]:
    """A category's bands as points, and their picture, wide and narrow."""
    points = []
    for band in calibration.bands:
        share = seen(band.least, band.most, band.forecasts)
        said = min(1.0, max(0.0, share + band.bias))
        points.append(Point(said, share, band.least, band.most, *by_chance(said, band.forecasts)))
    return points, [reliability(points, frame, kind) for frame, kind in ((SQUARE, "wide"), (SMALL, "narrow"))]


def marks(counterfactual: Counterfactual) -> Markup:
    """What it would have made, by session."""
    return spark([mark.value for mark in counterfactual.marks], "by session")
