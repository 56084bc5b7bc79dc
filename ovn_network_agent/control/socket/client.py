# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The client's side of the control socket: one request, with a time limit."""

import contextlib
import errno
import json
import os
import socket
import time
from typing import Any

# Begins the refusal by an agent without a place for the client.
BUSY = 'the agent is busy'

_CHUNK = 65536
_AGAIN = 0.2  # seconds between two attempts to get a place


class NoAgent(Exception):
    """No agent answers; the text says why, and the remedy."""


class NotRunning(NoAgent):
    """There is no socket, or no process listens on it."""


class Refused(Exception):
    """The agent refuses a command; the text says why."""


class _NoPlace(Exception):
    """The text says why, or ''."""


def call(path: str, command: str, argv: list[str], timeout: float) -> str:
    """Have the agent carry out a command.

    :raises NotRunning: when no agent listens there
    :raises NoAgent: without an answer within the timeout, in seconds
    :raises Refused: when the agent refuses the command
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            reply = _ask(path, command, argv, deadline)
        except TimeoutError:
            raise NoAgent(f'the agent did not answer at {path} within '
                          f'{timeout:g} s') from None
        except _NoPlace as e:
            if time.monotonic() + _AGAIN < deadline:
                time.sleep(_AGAIN)
                continue
            why = str(e) or f'{BUSY}: other clients take all connections'
            raise NoAgent(f'{why}; it runs, and had no place for this '
                          f'command at {path} within {timeout:g} s; end '
                          'these clients, or ask again') from None
        except OSError as e:
            kind = NotRunning if isinstance(
                e, (ConnectionRefusedError, FileNotFoundError)) else NoAgent
            reason = os.strerror(e.errno) if e.errno else e
            raise kind(
                f'no agent answers at {path}: {reason}; start the agent, or '
                'name its [DEFAULT] control_socket with --socket') from e
        if reply.get('error') is not None:
            raise Refused(str(reply['error']))
        return str(reply.get('result'))


def _ask(path: str, command: str, argv: list[str], deadline: float
         ) -> dict[str, Any]:
    """The reply to one request.

    :param deadline: monotonic seconds
    :raises _NoPlace: when the agent has no place for this client
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            opened.connect(path)
        except BlockingIOError:
            # The listening queue is full (unix(7)).
            raise _NoPlace from None
        # The reason of a closed connection may lie in the queue.
        with contextlib.suppress(BrokenPipeError):
            opened.sendall(json.dumps({
                'id': 0, 'method': command, 'params': argv}).encode())
        try:
            reply = _receive(opened, deadline)
        except ConnectionResetError:
            raise _NoPlace from None
    if str(reply.get('error')).startswith(BUSY):
        raise _NoPlace(reply['error'])
    return reply


def _receive(opened: socket.socket, deadline: float) -> dict[str, Any]:
    received = b''
    while True:
        opened.settimeout(max(0.001, deadline - time.monotonic()))
        data = opened.recv(_CHUNK)
        if not data and not received:
            raise _NoPlace
        if not data:
            raise ConnectionError('it closed the connection within its '
                                  'answer')
        received += data
        if data.rstrip().endswith(b'}'):
            try:
                reply: dict[str, Any] = json.loads(received)
                return reply
            except ValueError:
                continue  # a part of the reply ends
            except RecursionError:
                raise OSError(errno.EPROTO, os.strerror(
                    errno.EPROTO)) from None
