# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One check of one destination: a TCP connection, or an HTTP request.

It comes from the node itself, in the default VRF, and goes to the destination
and not to the VIP, because only the destination is in question.
"""

import asyncio
import contextlib
import errno
import os

import h11

from ovn_network_agent.common import ip_text
from ovn_network_agent.forward import health_checks

# Errors of this node, which say nothing about the destination.
_OUR_OWN = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM,
            errno.EADDRNOTAVAIL, errno.EPERM, errno.EACCES}
_CHUNK = 16 * 1024
# Most pieces and interim answers (status 1xx) before the answer.
_STEPS = 32
_AGENT = 'ovn-network-agent'


class NoResult(Exception):
    """The check could not be made; the text says why."""


async def look(target: health_checks.Target) -> str:
    """Check a destination once; why it is not good, '' when it is.

    :raises NoResult: when this node could not find out
    """
    check = target.check
    try:
        async with asyncio.timeout(check.timeout):
            return await _look(target)
    except TimeoutError as error:
        # The kernel's own limit has the errno ETIMEDOUT.
        return ('timed out' if error.errno else
                f'no answer within {check.timeout:g} s')
    except h11.RemoteProtocolError as error:
        return f'the answer is no HTTP: {error}'
    except OSError as error:
        reason = _reason(error)
        if error.errno in _OUR_OWN:
            raise NoResult(reason) from error
        return reason


async def _look(target: health_checks.Target) -> str:
    reader, writer = await asyncio.open_connection(
        target.address, target.port, limit=_CHUNK)
    try:
        if target.check.kind == 'http':
            return await _ask(reader, writer, target)
        return ''
    finally:
        with contextlib.suppress(OSError):
            writer.close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
               target: health_checks.Target) -> str:
    """Ask for the path and look at the status; the rest is not read.

    The number of steps is limited: the owner of a destination could use a
    processor of this node with endless interim answers.
    """
    check = target.check
    connection = h11.Connection(h11.CLIENT)
    writer.write(connection.send(h11.Request(
        method='GET', target=check.path, headers=[
            ('Host', check.host or _host(target)), ('User-Agent', _AGENT),
            ('Accept', '*/*'), ('Connection', 'close')])))
    await writer.drain()
    for _step in range(_STEPS):
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Response):
            good = any(first <= event.status_code <= last
                       for first, last in check.statuses)
            return '' if good else f'status {event.status_code:d}'
        elif isinstance(event, h11.ConnectionClosed):
            return 'the connection was closed without an answer'
    return 'the answer has no status after many pieces or interim answers'


def _host(target: health_checks.Target) -> str:
    address = (target.address
               if ip_text.address(target.address).version == 4
               else f'[{target.address}]')
    return address if target.port == 80 else f'{address}:{target.port:d}'


def _reason(error: OSError) -> str:
    """In words; the texts of asyncio would have addresses."""
    if error.errno:
        text = os.strerror(error.errno)
        return text[0].lower() + text[1:]
    return str(error) or type(error).__name__
