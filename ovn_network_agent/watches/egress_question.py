# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The question of one agent to many, with one time limit: do you work?

The answer is a page of HTTP with a word of :data:`WORDS` and the name of the
chassis: another server, or another agent at the address, would not do.
"""

import asyncio
from collections.abc import Collection
from collections.abc import Mapping
import math
import os
import ssl
import typing

PATH = '/egress'
READY = 'ready'
WORDS = {READY: '', 'starting': 'its agent has no view of OVN yet',
         'draining': 'its agent stops', 'stuck': 'the loop of its agent hangs'}
LIMIT = 1.0  # seconds for all answers
# Each needs a file descriptor, 1024 by default, and processor time for TLS.
MAX_QUESTIONS = 256
_REQUEST = f'GET {PATH} HTTP/1.1\r\nHost: agent\r\n\r\n'.encode()
_LARGEST = 2048  # bytes of the head of an answer, and of a line behind


class Answer(typing.NamedTuple):
    """What came of the question to a chassis."""

    result: str  # 'ready', 'unready', 'refused', 'timeout' or 'error'
    why: str = ''  # text why it does not count as alive, '' if ready


def line(word: str, chassis: str) -> bytes:
    """The answer of an agent; the word is a key of :data:`WORDS`."""
    return f'{word} {chassis}\n'.encode()


def ask(targets: Mapping[str, Collection[str]], port: int,
        context: ssl.SSLContext | None = None,
        limit: float = LIMIT) -> dict[str, Answer]:
    """Ask the agents of some chassis, and wait for all answers.

    :param targets: the addresses of each chassis; one of these will do
    :param limit: seconds, see :data:`LIMIT`
    """
    return asyncio.run(_ask(targets, port, context, limit))


def longest(targets: Mapping[str, Collection[str]]) -> float:
    """The most seconds that :func:`ask` waits for agents."""
    return LIMIT * max(1, math.ceil(
        sum(map(len, targets.values())) / MAX_QUESTIONS))


async def _ask(targets: Mapping[str, Collection[str]], port: int,
               context: ssl.SSLContext | None,
               limit: float) -> dict[str, Answer]:
    few = asyncio.Semaphore(MAX_QUESTIONS)

    async def answer(chassis: str, address: str) -> Answer:
        async with few:
            return await _answer(chassis, address, port, context, limit)
    asked = {chassis: [
        asyncio.create_task(answer(chassis, address))
        for address in addresses] for chassis, addresses in targets.items()}
    return {chassis: _best([await each for each in tasks])
            for chassis, tasks in asked.items()}


def _best(answers: list[Answer]) -> Answer:
    for each in answers:
        if each.result == READY:
            return each
    if not answers:
        return Answer('error', 'no address of its tunnels is known')
    return Answer(answers[0].result,
                  '; '.join(each.why for each in answers))


async def _answer(chassis: str, address: str, port: int,
                  context: ssl.SSLContext | None, limit: float) -> Answer:
    result, why = 'error', ''
    try:
        async with asyncio.timeout(limit):
            line_read = await _read(address, port, context)
    except TimeoutError:
        result, why = 'timeout', f'no answer within {limit:g} s'
    except ConnectionRefusedError:
        result, why = 'refused', 'nobody listens'
    except ssl.SSLError as error:
        why = f'TLS: {error.reason or error}'
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else f'{error}'
    except (EOFError, ValueError, asyncio.LimitOverrunError):
        why = 'no answer of an agent'
    else:
        states = {line(word, chassis): word for word in WORDS}
        if line_read not in states:
            why = 'the answer is not that of the agent of this chassis'
        elif states[line_read] == READY:
            return Answer(READY)
        else:
            result, why = 'unready', WORDS[states[line_read]]
    return Answer(result, f'{address} port {port:d}: {why}')


async def _read(address: str, port: int,
                context: ssl.SSLContext | None) -> bytes:
    reader, writer = await asyncio.open_connection(
        address, port, ssl=context, limit=_LARGEST)
    try:
        writer.write(_REQUEST)
        await reader.readuntil(b'\r\n\r\n')
        return await reader.readline()
    finally:
        writer.transport.abort()
