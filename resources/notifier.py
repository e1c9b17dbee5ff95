"""Alerts as a Dagster resource. pipelines/alerts.py decides what to report.

Messages contain names, counts and run ids, but never values of rows. The channels' credentials come from the
environment and are never in messages.
"""

import os

import dagster as dg
from pydantic import Field

from pitlake import notify

VARIABLE = "PITLAKE_NOTIFY"


class Notifier(dg.ConfigurableResource[None]):
    """Sends alerts to every configured channel."""

    channels: str = Field(
        default="",
        description=(
            "Channels, separated by blanks: log, or any URL apprise knows, such as jsons://host/path for a webhook or "
            f"mailtos://user:password@host?to=name@example.org for e-mail. Blank: {VARIABLE}, else log."
        ),
    )

    def send(self, title: str, body: str) -> None:
        """Send a message to every channel. Raises NotifyFailed, as `pitlake.notify.send`."""
        notify.send(self.channels or os.environ.get(VARIABLE) or notify.LOG, title, body, VARIABLE)
