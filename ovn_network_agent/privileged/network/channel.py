# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged side's netlink socket, and the sending of batches.

The daemon uses one socket all the time.  Notifications carry the port of the
socket, so that the agent recognises those of its own changes.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
import contextlib
import errno
import threading

from ovn_network_agent.netlink import connection
from ovn_network_agent.privileged.network import checks

# Kind, flags and body.
Request = tuple[int, int, bytes]
# Position of the item, errno and text.
Failure = tuple[int, int, str]

_lock = threading.Lock()
_connection: connection.Connection | None = None


@contextlib.contextmanager
def kernel() -> Iterator[connection.Connection]:
    """The daemon's connection, locked.

    After an error the connection is replaced, so that a late answer is never
    taken for the answer to another request.
    """
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
    """Encode and send items; a bad item does not affect the others.

    :param done: errnos of an item that is as wanted already
    """
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
