# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The open connections to bridges, for the daemon's life; no entry points."""

from collections.abc import Callable
import threading
import typing

from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import wire

_lock = threading.Lock()
# by path, also what to call after the end; only under the lock
_connections: dict[str, connection.Switch] = {}
_ended: dict[str, list[Callable[[], None]]] = {}
_T = typing.TypeVar('_T')


def call(path: str, function: Callable[..., _T], *args: typing.Any) -> _T:
    """Call a function with the open connection, or with a new one; again after
    its end (a restart of ovs-vswitchd), since all calls may be repeated.
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


def _try(path: str, function: Callable[..., _T], *args: typing.Any) -> _T:
    try:
        return function(_connections[path], *args)
    except (OSError, wire.Malformed):
        _drop(path)
        raise


def at_end(path: str, function: Callable[[], None]) -> None:
    """Have a function called at the end of the connection, within a call."""
    _ended.setdefault(path, []).append(function)


def pump(path: str, switch: connection.Switch) -> bool:
    """Take what a switch has sent by itself; False after the end."""
    with _lock:
        if _connections.get(path) is not switch:
            return False
        try:
            switch.pump()
        except (OSError, wire.Malformed):
            _drop(path)
            return False
        return True


def with_open(path: str, switch: connection.Switch,
              function: Callable[[connection.Switch], object]) -> bool:
    """Call a function with one connection; False if that has ended before."""
    with _lock:
        if _connections.get(path) is not switch:
            return False
        _try(path, function)
        return True


def drop(path: str, switch: connection.Switch) -> None:
    """Close a connection, unless another one has taken its place."""
    with _lock:
        if _connections.get(path) is switch:
            _drop(path)


def _drop(path: str) -> None:
    dropped = _connections.pop(path, None)
    if dropped is not None:
        dropped.close()
    for function in _ended.pop(path, ()):
        function()


def close() -> None:
    """Close all connections."""
    with _lock:
        for path in list(_connections):
            _drop(path)
