"""Messages to people through the library `apprise`: webhooks, e-mail, chats.

Channels are URLs that contain credentials, so an error shows only the kind and the host of a channel.
"""

import logging
import re
import warnings

from pitlake.errors import NotifyFailed

LOG = "log"
# The kinds that apprise sends to the host in the URL. URLs of other kinds have a key in this place. A password may
# contain "@", so only the plain form of these kinds is accepted.
_HOSTED = re.compile(
    r"(?P<kind>(?:json|xml|form|mailto)s?)://(?:[^/?#@]*@)?(?P<host>[A-Za-z0-9.-]+)(?::[0-9]+)?(?:/[^@?#]*)?(?:\?.*)?"
)
_KIND = re.compile(r"([A-Za-z][A-Za-z0-9-]*)://")
_logger = logging.getLogger("pitlake.alerts")


def send(channels: str, title: str, body: str, variable: str) -> None:
    """Send to every channel, even if one fails or is invalid.

    Args:
        channels: URLs that apprise knows, or `log`, separated by spaces.
        title, body: The message.
        variable: The environment variable with the channels, which an error names.

    Raises:
        NotifyFailed: At the end, with the place and kind of the channels that failed.
    """
    tried = enumerate(channels.split(), 1)
    failed = [f"{_said(place, channel)} ({why})" for place, channel in tried if (why := _sent(channel, title, body))]
    if failed:
        raise NotifyFailed(f"no alert went through {', '.join(failed)}; see {variable}")


def _sent(channel: str, title: str, body: str) -> str:
    """Send to one channel. Return why it failed; "" if it did not."""
    if channel == LOG:
        _logger.warning("%s: %s", title, body)
        return ""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # It still imports imghdr.
        import apprise  # It takes a second to import, and few processes send alerts.

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
    """Describe a channel without credentials: its kind and host, or its place in the list if the host may be a key."""
    match = _HOSTED.fullmatch(channel)
    if match:
        return f"{match['kind']}://{match['host']}"
    kind = _KIND.match(channel)
    return f"channel {place}" + (f" of kind {kind[1]}" if kind else "")
