"""Alerts: one short message to people, through the library `apprise` (webhooks, e-mail, chats).

pipelines/alerts.py decides what to report. A message contains names, counts and run ids; never rows' values, and never
a channel's credentials, which come from the environment.
"""

import logging
import os
import re
import warnings

import dagster as dg
from pydantic import Field

from pitlake.errors import NotifyFailed

VARIABLE = "PITLAKE_NOTIFY"
LOG = "log"
# The kinds that apprise sends to the host named in the URL. In URLs of other kinds, this place holds a key. A password
# may contain "@", so only the plain form of these kinds is accepted.
_HOSTED = re.compile(
    r"(?P<kind>(?:json|xml|form|mailto)s?)://(?:[^/?#@]*@)?(?P<host>[A-Za-z0-9.-]+)(?::[0-9]+)?(?:/[^@?#]*)?(?:\?.*)?"
)
_KIND = re.compile(r"([A-Za-z][A-Za-z0-9-]*)://")
_logger = logging.getLogger("pitlake.alerts")


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
        """Send to every channel, even if one fails or is invalid.

        Raises NotifyFailed at the end, with the place and kind of those that failed.
        """
        tried = enumerate((self.channels or os.environ.get(VARIABLE) or LOG).split(), 1)
        failed = [
            f"{_said(place, channel)} ({why})" for place, channel in tried if (why := _sent(channel, title, body))
        ]
        if failed:
            raise NotifyFailed(f"no alert went through {', '.join(failed)}; see {VARIABLE}")


def _sent(channel: str, title: str, body: str) -> str:
    """Send to one channel; return why it failed, or nothing."""
    if channel == LOG:
        _logger.warning("%s: %s", title, body)
        return ""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # it still looks for imghdr
        import apprise  # a second to import; few processes send alerts

        # Its own log would show servers' answers and addresses.
        logging.getLogger("apprise").setLevel(logging.CRITICAL)
        sender = apprise.Apprise()
        try:
            recognised = sender.add(channel)
        except Exception:  # noqa: BLE001 - any of a hundred parsers, over what a person typed; it must stop no other
            recognised = False
    if not recognised:
        return "no channel that apprise knows"
    return "" if sender.notify(title=title, body=body, body_format=apprise.NotifyFormat.TEXT) else "not delivered"


def _said(place: int, channel: str) -> str:
    """Return a channel without its credentials: its kind and host, or its position in the list if the host may be a
    key.
    """
    match = _HOSTED.fullmatch(channel)
    if match:
        return f"{match['kind']}://{match['host']}"
    kind = _KIND.match(channel)
    return f"channel {place}" + (f" of kind {kind[1]}" if kind else "")
