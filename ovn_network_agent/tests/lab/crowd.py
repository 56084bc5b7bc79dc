# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A crowd of clients: one question from each of many source addresses."""

import contextlib
import os
import selectors
import socket

from lab import echo
from lab import node as nodes

# Most open sockets at a time.
_BATCH = 200
# Seconds after which a question is asked again.  A datagram may be lost when
# hundreds arrive in the same millisecond.
_AGAIN = 1.0
_TRIES = 5


def ask(node, target: str, sources: list, port=echo.PORT) -> dict:
    """Ask the responder behind an address once from each source, by UDP.

    :raises NodeError: when some sources got no answer
    """
    found = {}
    for first in range(0, len(sources), _BATCH):
        found.update(node.call(_ask, target, port,
                               sources[first:first + _BATCH]))
    silent = [source for source in sources if source not in found]
    if silent:
        raise nodes.NodeError(f'{node.name}: no answer from {target} to '
                              f'{len(silent)} of {len(sources)} clients, such '
                              f'as {silent[0]}')
    return found


def _ask(target, port, sources):
    family = socket.AF_INET6 if ':' in target else socket.AF_INET
    token = os.urandom(8).hex()
    opened = {}
    found = {}
    try:
        for source in sources:
            one = socket.socket(family, socket.SOCK_DGRAM)
            opened[one] = source
            one.bind((source, 0))
            one.connect((target, port))
        for _try in range(_TRIES):
            for one in opened:
                # A refused socket raises at its next send.
                with contextlib.suppress(OSError):
                    if opened[one] not in found:
                        one.send(token.encode())
            _collect(opened, token, found)
            if len(found) == len(opened):
                break
        return found
    finally:
        for one in opened:
            one.close()


def _collect(opened, token, found):
    """Collect answers until all have come, or none for a while."""
    with selectors.DefaultSelector() as selector:
        for one in opened:
            selector.register(one, selectors.EVENT_READ)
        while len(found) < len(opened):
            ready = selector.select(_AGAIN)
            if not ready:
                return
            for key, _events in ready:
                try:
                    words = key.fileobj.recv(4096).decode().split()
                except OSError:
                    continue  # refused; asked again
                if words[0] == token:
                    found[opened[key.fileobj]] = tuple(words[1:3])
