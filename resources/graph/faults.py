"""Converts the driver's errors to pitlake's, by the driver's classes and the servers' status codes.

Messages contain the address, the status code and the server's message; never credentials, parameters or values.
"""

import contextlib
from collections.abc import Callable, Iterator

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    DriverError,
    Forbidden,
    ForbiddenOnReadOnlyDatabase,
    Neo4jError,
    ResultFailedError,
    ServiceUnavailable,
    SessionExpired,
)

from pitlake.errors import GraphError, GraphLoginFailed, GraphQueryFailed, GraphRefused, GraphUnavailable

ACCESS_MODE = "Neo.ClientError.Statement.AccessMode"
_GONE = (ServiceUnavailable, SessionExpired, ConnectionAcquisitionTimeoutError, OSError)
_SENTENCE = 300


def refuses_writing(error: BaseException) -> bool:
    """Return whether the server reports that this connection may not write, rather than another failure."""
    return isinstance(error, (Forbidden, ForbiddenOnReadOnlyDatabase)) or getattr(error, "code", "") == ACCESS_MODE


@contextlib.contextmanager
def translated(address: str, gone: Callable[[], str] = lambda: "is not reachable") -> Iterator[None]:
    """Raise the driver's errors as pitlake's. gone: describes a lost connection for the caller."""
    try:
        yield
    except ResultFailedError as error:
        raise _ours(error.__cause__ or error, address, gone()) from error
    except (DriverError, Neo4jError, OSError) as error:
        raise _ours(error, address, gone()) from error


def _ours(error: BaseException, address: str, gone: str) -> GraphError:
    if refuses_writing(error):
        code = str(getattr(error, "code", ""))
        return GraphRefused(f"the graph at {address} refused the statement: {code}: {_sentence(error)}", code)
    if isinstance(error, AuthError):
        return GraphLoginFailed(f"the graph at {address} refused the login; check NEO4J_USERNAME and NEO4J_PASSWORD")
    if isinstance(error, _GONE):
        return GraphUnavailable(f"the graph at {address} {gone} ({type(error).__name__})", "is it running?")
    if isinstance(error, Neo4jError):
        if error.is_retryable():
            return GraphUnavailable(f"the graph at {address} cannot answer now ({error.code})", "try again")
        return GraphQueryFailed(error.code or type(error).__name__, _sentence(error))
    if isinstance(error, ConfigurationError):
        return GraphUnavailable(f"cannot talk to {address}: {_sentence(error)}", "check NEO4J_URI")
    return GraphQueryFailed(type(error).__name__, _sentence(error))


def _sentence(error: BaseException) -> str:
    text = str(getattr(error, "message", None) or error)
    return " ".join(text.split())[:_SENTENCE]
