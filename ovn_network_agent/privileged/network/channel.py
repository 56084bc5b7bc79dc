# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged side's netlink socket, and the sending of batches.

Notifications carry its port, by which the agent knows its own changes.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
import contextlib
import errno
import threading

from ovn_network_agent.netlink import connection
from ovn_network_agent.privileged.network import checks

# kind, flags and body
Request = tuple[int, int, bytes]
# position of the item, errno and text
Failure = tuple[int, int, str]

_lock = threading.Lock()
_connection: connection.Connection | None = None


@contextlib.contextmanager
def kernel() -> Iterator[connection.Connection]:
    """The connection, locked; a new one after an error, for late answers."""
    global _connection
    with _lock:
        if _connection is None:
            _connection = connection.Connection(privileged=True)
        try:
            yield _connection
        except OSError:
            _connection.close()
            _connection = None
            raise


def close() -> None:
    """Close the socket; the next use opens a new one."""
    global _connection
    with _lock:
        if _connection is not None:
            _connection.close()
            _connection = None


def send(connected: connection.Connection, items: checks.Items,
         encode: Callable[..., Request], done: Container[int] = ()
         ) -> list[Failure]:
    """Send items, each on its own; ``done`` are errnos of success."""
    failures = []
    requests: list[Request] = []
    positions = []
    for position, item in enumerate(checks.sequence(items)):
        try:
            requests.append(encode(*checks.sequence(item, 'item')))
        except (OSError, TypeError, ValueError) as error:
            failures.append(failure(position, error))
        else:
            positions.append(position)
    failures.extend(
        (positions[index], number, text)
        for index, number, text in connected.batch(requests)
        if number not in done)
    return failures


def failure(position: int, error: Exception) -> Failure:
    """The failure of an item, EINVAL for an item of another form."""
    if isinstance(error, OSError):
        return (position, error.errno or errno.EIO,
                error.strerror or str(error))
    return position, errno.EINVAL, str(error)
