"""The partitions of the lake's work: New York days and earnings releases. Partitions are independent of each other."""

import dagster as dg

FIRST_DAY = "2023-01-01"

# Every calendar day, because news and filings appear on any day. Today is a partition too, for runs after the close.
DAYS = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, timezone="America/New_York", end_offset=1)

# The instant of a release and its company, "2024-05-22T20:20:04Z|QBRY". pipelines.earnings adds new releases.
EARNINGS_SET = "earnings_events"
EARNINGS = dg.DynamicPartitionsDefinition(name=EARNINGS_SET)
