"""Public facts that reveal hindsight in a table: the first days of tickers, and large splits."""

from datetime import date
from typing import NamedTuple


class Split(NamedTuple):
    """A split: the first day on the new basis, and the number of new shares for one old share."""

    day: date
    ratio: float


FIRST_DAYS = {
    "BALL": (date(2022, 5, 10), "BLL"),
    "BKNG": (date(2018, 2, 27), "PCLN"),
    "CPAY": (date(2024, 3, 25), "FLT"),
    "DAY": (date(2024, 2, 1), "CDAY"),
    "EG": (date(2023, 7, 10), "RE"),
    "ELV": (date(2022, 6, 28), "ANTM"),
    "GOOGL": (date(2014, 4, 3), "GOOG"),
    "KDP": (date(2018, 7, 10), "DPS"),
    "LHX": (date(2019, 7, 1), "HRS"),
    "MDLZ": (date(2012, 10, 2), "KFT"),
    "META": (date(2022, 6, 9), "FB"),
    "RTX": (date(2020, 4, 3), "UTX"),
    "RVTY": (date(2023, 5, 16), "PKI"),
    "TFC": (date(2019, 12, 9), "BBT"),
    "TPR": (date(2017, 10, 31), "COH"),
    "VTRS": (date(2020, 11, 17), "MYL"),
    "WBD": (date(2022, 4, 11), "DISCA"),
    "XYZ": (date(2025, 1, 21), "SQ"),
}
"""The first days of new tickers, each with the company's previous ticker. Sources: the companies' own announcements.
"""

SPLITS = {
    "AAPL": (Split(date(2005, 2, 28), 2), Split(date(2014, 6, 9), 7), Split(date(2020, 8, 31), 4)),
    "AMZN": (Split(date(2022, 6, 6), 20),),
    "AVGO": (Split(date(2024, 7, 15), 10),),
    "CMG": (Split(date(2024, 6, 26), 50),),
    "GOOGL": (Split(date(2022, 7, 18), 20),),
    "NFLX": (Split(date(2015, 7, 15), 7),),
    "NVDA": (Split(date(2021, 7, 20), 4), Split(date(2024, 6, 10), 10)),
    "TSLA": (Split(date(2020, 8, 31), 5), Split(date(2022, 8, 25), 3)),
    "WMT": (Split(date(2024, 2, 26), 3),),
}
"""Splits of large companies. Sources: the companies' own announcements."""
