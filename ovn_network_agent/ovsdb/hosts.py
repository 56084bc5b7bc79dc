# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses of host names, looked up on a thread beside the caller.

The caller waits briefly: it locks the replica against passes, and DNS may be
silent for half a minute.
"""

import concurrent.futures
import socket
import threading
import typing

# Seconds.  Passes wait 1 s for the lock (Database.rows), and DNS on a good
# network answers within 0.1 s.
PATIENCE = 0.2

_lock = threading.Lock()
_Future: typing.TypeAlias = concurrent.futures.Future[list[str]]
_lookups: dict[str, _Future] = {}
_last: dict[str, list[str]] = {}


class Unresolved(Exception):
    """There is no address for a host name; the text says why."""


def addresses(host: str, port: int) -> list[str]:
    """IP addresses of a host name; the last ones while DNS does not answer.

    One question of a name at a time; the next call uses a late answer.

    :raises Unresolved: when no address is known
    """
    with _lock:
        future = _lookups.get(host)
        if future is None:
            future = _lookups[host] = _begin(host, port)
    try:
        found = future.result(PATIENCE)
    except TimeoutError:
        return _before(host, 'DNS has not answered yet')
    except OSError as error:
        _forget(host, future)
        if error.errno == socket.EAI_AGAIN:
            return _before(host, str(error.strerror))
        raise Unresolved(f'host name {host}: {error.strerror}') from None
    except ValueError as error:
        # A label is empty or longer than 63 characters.
        _forget(host, future)
        raise Unresolved(f'host name {host} is none: {error}') from None
    _forget(host, future)
    with _lock:
        _last[host] = found
    return found


def _begin(host: str, port: int) -> _Future:
    future: _Future = concurrent.futures.Future()

    def look() -> None:
        try:
            found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
            future.set_result([str(entry[4][0]) for entry in found])
        except Exception as error:
            future.set_exception(error)
    threading.Thread(target=look, name=f'resolve-{host}',
                     daemon=True).start()
    return future


def _before(host: str, why: str) -> list[str]:
    with _lock:
        found = _last.get(host)
    if not found:
        raise Unresolved(f'host name {host}: {why}')
    return found


def _forget(host: str, future: _Future) -> None:
    with _lock:
        if _lookups.get(host) is future:
            del _lookups[host]
