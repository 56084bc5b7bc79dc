# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged side's netlink socket, and the sending of batches.

The daemon uses one socket all the time.  Notifications carry the port of the
socket, so that the agent recognises those of its own changes.
"""

import contextlib
import errno
import threading

from ovn_network_agent.netlink import connection
from ovn_network_agent.privileged import checks

_lock = threading.Lock()
_connection = None


@contextlib.contextmanager
def kernel():
    """Context with the daemon's :class:`connection.Connection`, locked.

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


def close():
    """Close the socket; the next use opens a new one."""
    global _connection
    with _lock:
        if _connection is not None:
            _connection.close()
            _connection = None


def send(connected, items, encode, done=()):
    """Encode and send items; a bad item does not affect the others.

    :param connected: :class:`connection.Connection` of :func:`kernel`
    :param items: sequence of argument lists
    :param encode: function of the arguments of one item that returns (type,
        flags, body)
    :param done: errnos of an item that is as wanted already
    :returns: list of (index, errno, text) of the items that failed
    """
    failures = []
    requests = []
    positions = []
    for position, item in enumerate(checks.sequence(items)):
        try:
            requests.append(encode(*checks.sequence(item, 'item')))
        except OSError as error:
            failures.append((position, error.errno, error.strerror))
        except (TypeError, ValueError) as error:
            failures.append((position, errno.EINVAL, str(error)))
        else:
            positions.append(position)
    failures.extend(
        (positions[index], number, text)
        for index, number, text in connected.batch(requests)
        if number not in done)
    return failures
