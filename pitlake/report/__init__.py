"""The quality report: the contents of a lake version and their known faults, as a static offline site.

`measures` queries the lake, `anomalies` checks volumes, `calendar` draws days, `site` reads and writes a report. The
report is for people who run the lake: it shows the whole version, including counts of outcomes, so agents must not
read it.
"""
