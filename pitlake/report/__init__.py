"""The quality report: what a lake version holds and how far it can be trusted, as a static site that opens offline.

`measures` asks the lake, `anomalies` judges volumes, `calendar` draws days, `site` writes the pages. Call `site.build`.
For people who run the lake: the whole version is shown, outcomes counted among it, so it is not a door for agents.
"""
