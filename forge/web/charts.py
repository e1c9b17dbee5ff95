"""The desk's charts, drawn from its records: a trade with its stop and target, and the results of forecasts."""

from datetime import datetime

from forge.memory.plausible import SIDES
from forge.records import Calibration, Counterfactual, Expression
from forge.tracking.scores import chance_interval, share_of_interval
from forge.tracking.trades import FollowedTrade, parse_price
from pitlake.charts import FULL_WIDTH, SQUARE, ForecastBand, Level, Svg, line_chart, reliability_chart, sparkline

PERCENT = 100


def trade_charts(expression: Expression, trade: FollowedTrade, as_of: datetime) -> list[Svg]:
    """Draw the return of a trade by day, in percent, with its target and stop."""
    returns = [(mark.day, PERCENT * mark.value) for mark in trade.path.marks]
    levels = [Level("opened", 0.0, "axis")]
    for name, css in (("target", "good"), ("stop", "bad")):
        price = parse_price(getattr(expression, name), name)
        if price is not None and trade.path.entry_price:
            share = SIDES[expression.direction] * (price / trade.path.entry_price - 1)
            levels.append(Level(name, PERCENT * share, css))
    return line_chart(returns, as_of, FULL_WIDTH, "Return in percent", levels=levels)


def calibration_charts(calibration: Calibration) -> tuple[list[ForecastBand], list[Svg]]:
    """Return a category's bands, and their reliability diagram for wide and narrow windows."""
    bands = []
    for band in calibration.bands:
        came_true = share_of_interval(band.least, band.most, band.forecasts)
        forecast = min(1.0, max(0.0, came_true + band.bias))
        chance = chance_interval(forecast, band.forecasts)
        bands.append(ForecastBand(forecast, came_true, band.least, band.most, *chance))
    return bands, reliability_chart(bands, SQUARE)


def counterfactual_sparkline(counterfactual: Counterfactual) -> Svg:
    return sparkline([mark.value for mark in counterfactual.marks], "by session")
