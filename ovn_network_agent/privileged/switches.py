# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The open connections to the management sockets of bridges.

A connection lives as long as the daemon, and its requests follow each other.
These are no entry points.
"""

import threading

from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import wire

_lock = threading.Lock()
# From the path of a socket to its connection, and to the functions that are
# called after its end; used only under the lock.
_connections = {}
_ended = {}


def call(path, function, *args):
    """Call a function with the open connection, or with a new connection.

    All calls may be repeated.  So after the end of an open connection (a
    restart of ovs-vswitchd), the call is made again.

    :param path: path of the management socket
    :param function: function of a :class:`connection.Switch` and the further
        arguments
    :returns: result of the function
    :raises OSError: when the bridge cannot be reached
    """
    with _lock:
        if path in _connections:
            try:
                return _try(path, function, *args)
            except TimeoutError:
                raise
            except OSError:
                pass
        _connections[path] = connection.Switch(path)
        return _try(path, function, *args)


def _try(path, function, *args):
    try:
        return function(_connections[path], *args)
    except (OSError, wire.Malformed):
        _drop(path)
        raise


def at_end(path, function):
    """Have a function called at the end of the open connection.

    The caller is within :func:`call`.

    :param function: function without arguments
    """
    _ended.setdefault(path, []).append(function)


def pump(path, switch):
    """Take what a switch has sent by itself.

    :param path: path of the management socket
    :param switch: :class:`connection.Switch`
    :returns: False after the end of the connection
    """
    with _lock:
        if _connections.get(path) is not switch:
            return False
        try:
            switch.pump()
        except (OSError, wire.Malformed):
            _drop(path)
            return False
        return True


def with_open(path, switch, function):
    """Call a function with one connection, and with no other.

    :param path: path of the management socket
    :param switch: :class:`connection.Switch`
    :param function: function of the connection
    :returns: False when the connection has ended before
    :raises OSError: when the connection breaks
    """
    with _lock:
        if _connections.get(path) is not switch:
            return False
        _try(path, function)
        return True


def drop(path, switch):
    """Close a connection, unless another one has taken its place.

    :param path: path of the management socket
    :param switch: :class:`connection.Switch`
    """
    with _lock:
        if _connections.get(path) is switch:
            _drop(path)


def _drop(path):
    dropped = _connections.pop(path, None)
    if dropped is not None:
        dropped.close()
    for function in _ended.pop(path, ()):
        function()


def close():
    """Close all connections."""
    with _lock:
        for path in list(_connections):
            _drop(path)
