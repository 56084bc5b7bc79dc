# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The thread that makes the health checks, with a task for each target.

Hundreds of dead destinations cost no more than their sockets.  A check comes
from the node itself, in the default VRF, and goes to the destination
and not to the VIP, because only the destination is in question.
"""

import asyncio
from collections.abc import Callable
import contextlib
import errno
import os
import secrets
import threading

import h11
from oslo_log import log as logging

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


LOG = logging.getLogger(__name__)

# Seconds: the first checks begin soon, but not all at once.
_BEGIN = 1.0
_SPREAD = secrets.SystemRandom()


class Verdict:
    """Whether a destination is alive, by the results of one check.

    The first result decides at once, because a dead destination gets clients
    until then.  Later, several equal results in a row are needed, so that one
    lost packet does not move clients to and fro.

    :param rise: good results in a row after which a dead one is alive
    :param fall: bad results in a row after which a living one is dead
    """

    def __init__(self, rise: int, fall: int) -> None:
        self._rise = rise
        self._fall = fall
        self._against = 0
        self.alive: bool | None = None
        # Results in a row that led to this.
        self.row = 0

    def take(self, good: bool) -> bool:
        """Count one result; returns whether ``alive`` has changed."""
        if good is self.alive:
            self._against = 0
            return False
        self._against += 1
        if self.alive is not None and self._against < (
                self._rise if good else self._fall):
            return False
        self.alive, self.row, self._against = good, self._against, 0
        return True


class Rounds:
    """Checks all targets until there are to be no more checks.

    :param wanted: returns the wanted targets, None at the end
    :param take: gets each changed verdict, and why the last check was bad
    :param max_checks: number of checks at the same time
    """

    def __init__(self, wanted: Callable[
                     [], frozenset[health_checks.Target] | None],
                 take: Callable[
                     [health_checks.Target, Verdict, str], None],
                 max_checks: int) -> None:
        self._wanted = wanted
        self._take = take
        self._max_checks = max_checks
        self._lock = threading.Lock()
        # Of the thread, with its event for news; None while it does not run.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True,
                         name='health').start()

    def tell(self) -> None:
        """Make the thread ask for the wanted targets; from any thread."""
        with self._lock:
            if self._loop is not None and self._news is not None:
                self._loop.call_soon_threadsafe(self._news.set)

    async def _run(self) -> None:
        news = asyncio.Event()
        with self._lock:
            self._loop, self._news = asyncio.get_running_loop(), news
        slots = asyncio.Semaphore(self._max_checks)
        running: dict[health_checks.Target, asyncio.Task[None]] = {}
        try:
            while (wanted := self._wanted()) is not None:
                for target in running.keys() - wanted:
                    running.pop(target).cancel()
                for target in wanted - running.keys():
                    running[target] = asyncio.create_task(
                        self._follow(target, slots))
                await news.wait()
                news.clear()
        finally:
            with self._lock:
                self._loop = None

    async def _follow(self, target: health_checks.Target,
                      slots: asyncio.Semaphore) -> None:
        check = target.check
        verdict = Verdict(check.rise, check.fall)
        loop = asyncio.get_running_loop()
        soon = min(check.interval, _BEGIN)
        due = loop.time() + _SPREAD.uniform(0, soon)
        pause = _SPREAD.uniform(soon, check.interval)
        doubt = ''
        while True:
            await asyncio.sleep(due - loop.time())
            async with slots:
                why, unknown = await self._result(target)
            if unknown != doubt:
                doubt = unknown
                self._say_doubt(target, doubt)
            if not doubt and verdict.take(not why):
                self._take(target, verdict, why)
            due = max(due + pause, loop.time())
            pause = check.interval

    async def _result(self, target: health_checks.Target) -> tuple[str, str]:
        """Why it is bad or '', and why that is not known or ''."""
        try:
            return await look(target), ''
        except NoResult as error:
            return '', str(error)
        except Exception as error:
            # A bug must end neither the checks nor a destination.
            LOG.exception('The check of %s failed', target.label)
            return '', f'{type(error).__name__}: {error}'

    def _say_doubt(self, target: health_checks.Target, doubt: str) -> None:
        if doubt:
            LOG.warning('The check of %s could not be made, what is known of '
                        'it stays: %s', target.label, doubt)
        else:
            LOG.info('The check of %s can be made again', target.label)
