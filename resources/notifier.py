"""Alerts: one short message to wherever people look, through the kept library `apprise` (webhooks, e-mail, chats).

What is worth an alert is decided in pipelines/alerts.py. A message holds names, counts and run ids; never rows' values,
and never a channel's credentials, which come from the environment and stay there.
"""

import logging
import os
import warnings
from urllib.parse import urlsplit

import dagster as dg
from pydantic import Field

from pitlake.errors import BadInput, NotifyFailed

VARIABLE = "PITLAKE_NOTIFY"
LOG = "log"
_logger = logging.getLogger("pitlake.alerts")


class Notifier(dg.ConfigurableResource[None]):
    """Sends alerts to every channel that is configured."""

    channels: str = Field(
        default="",
        description=(
            "Channels, separated by blanks: log, or any URL apprise knows, such as jsons://host/path for a webhook or "
            f"mailtos://user:password@host?to=name@example.org for e-mail. Blank: {VARIABLE}, else log."
        ),
    )

    def send(self, title: str, body: str) -> None:
        """Send to every channel, all of them even when one fails. Raises NotifyFailed naming those that did."""
        failed = [_said(channel) for channel in self._channels() if not _sent(channel, title, body)]
        if failed:
            raise NotifyFailed(f"no alert went through {', '.join(failed)}; see {VARIABLE}")

    def _channels(self) -> list[str]:
        return (self.channels or os.environ.get(VARIABLE) or LOG).split()


def _sent(channel: str, title: str, body: str) -> bool:
    if channel == LOG:
        _logger.warning("%s: %s", title, body)
        return True
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # it still looks for imghdr
        import apprise  # a second to import; few processes send alerts

        # Its own log would show what a server answered and where it was asked.
        logging.getLogger("apprise").setLevel(logging.CRITICAL)
        sender = apprise.Apprise()
        known = sender.add(channel)
    if not known:
        raise BadInput(VARIABLE, f"{_said(channel)} is no channel", "give log, or URLs as apprise spells them")
    return bool(sender.notify(title=title, body=body, body_format=apprise.NotifyFormat.TEXT))


def _said(channel: str) -> str:
    """A channel without its credentials: the kind and the host."""
    parts = urlsplit(channel)
    return f"{parts.scheme}://{parts.hostname or ''}" if parts.scheme else "a channel"
