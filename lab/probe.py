# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Probes that account for every loss: ICMP, UDP and TCP.

:mod:`lab.echo` answers UDP and TCP probes.  'tcp' makes a connection for each
probe, and 'stream' one connection for all probes.  One process in the node
sends all probes (:mod:`lab.prober`), so that they cost almost nothing.
"""

import contextlib
import dataclasses
import json
import os
import select
import statistics
import tempfile
import time

from lab import echo
from lab import forks
from lab import node as nodes

KINDS = ('icmp', 'tcp', 'udp')
_ALL = (*KINDS, 'stream')
# Seconds after which a probe without an answer is lost.
LIMIT = 2.0
# Seconds for the sending process to start and to answer commands.
PATIENCE = 15.0
# Seconds between two probes, and seconds to wait for an answer, while waiting
# for a target to become reachable.  Both limit the open TCP connections.
WAIT_INTERVAL = 0.01
WAIT_LIMIT = 1.0
# Seconds without a loss before the probes count.  The first answer may have
# come while a route was still to go and to come back.
STEADY = 0.15
_FIRST = {'interval': WAIT_INTERVAL, 'limit': WAIT_LIMIT, 'count': 0}
# Milliseconds of a silence without a loss from which on it is reported.
WORTH_SAYING_MS = 100.0


class ProbeError(nodes.NodeError):
    """Probes could not be sent at all; the text says why."""


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of probes."""

    kind: str  # 'icmp', 'tcp', 'stream' or 'udp'
    target: str
    started: float  # when the probing started, of ``time.monotonic()``
    sent: int  # number of probes; ``received + lost + pending``
    received: int
    lost: int  # not answered within their limit, or refused
    pending: int  # neither yet; 0 after the stop
    # The longest outage in milliseconds; an outage lasts from the sending of a
    # lost probe to the sending of the next one that was answered (or to the
    # end), so it is known to one interval. 0 if nothing was lost, also when
    # the sender was late.
    longest_gap_ms: float
    # The longest time in milliseconds in which no answer arrived, less one
    # interval. It also shows packets that were held up and came through later
    # (while a neighbour is looked for, the kernel keeps a hundred of them),
    # which are not lost. With nothing wrong it is near 0, but not 0.
    longest_silence_ms: float
    # When the first lost probe was sent, seconds since ``started``; None if
    # nothing was lost
    first_loss: float | None
    last_loss: float | None  # the same of the last one
    # From sending to the answer, for TCP from the connect to the answered
    # line; None if nothing was answered
    rtt_median_ms: float | None
    rtt_max_ms: float | None
    seen_sources: frozenset  # addresses that the responder saw (TCP and UDP)
    # Addresses at which responders were asked, as they see it (TCP and UDP)
    responders: frozenset
    # TCP: how many of the answered probes took a retransmission, that is, lost
    # a packet without losing the probe
    retransmitted: int
    # The last error of a system call, such as 'No route to host'; or ''
    error: str

    def __str__(self):
        text = (f'{self.kind} {self.target}: {self.sent:d} sent, '
                f'{self.lost:d} lost')
        if self.lost:
            text += f', longest gap {self.longest_gap_ms:.0f} ms'
        elif self.longest_silence_ms > WORTH_SAYING_MS:
            text += f', silent for {self.longest_silence_ms:.0f} ms'
        if self.retransmitted:
            text += f', {self.retransmitted:d} retransmitted'
        if self.received:
            text += (f', {self.rtt_median_ms:.1f} ms (longest '
                     f'{self.rtt_max_ms:.1f})')
        if self.seen_sources:
            sources = ', '.join(sorted(self.seen_sources))
            text += f', from {sources}'
        return text + (f', {self.error}' if self.error else '')


def summarise(kind, target, interval: float, started: float,
              raw: dict) -> Report:
    """Evaluate probes."""
    sent, answers = raw['sent'], raw['answers']
    lost = [at for at, answer in zip(sent, answers)
            if answer is not None and answer < 0]
    times = [answer * 1000 for answer in answers
             if answer is not None and answer >= 0]
    return Report(
        kind=kind, target=target, started=started, sent=len(sent),
        received=len(times), lost=len(lost),
        pending=len(sent) - len(times) - len(lost),
        longest_gap_ms=_longest_gap(sent, answers, interval) * 1000,
        longest_silence_ms=_longest_silence(
            sent, answers, interval, started) * 1000,
        first_loss=lost[0] - started if lost else None,
        last_loss=lost[-1] - started if lost else None,
        rtt_median_ms=statistics.median(times) if times else None,
        rtt_max_ms=max(times) if times else None,
        seen_sources=frozenset(raw['seen']),
        responders=frozenset(raw['asked']),
        retransmitted=raw['retransmitted'], error=raw['error'])


def _longest_gap(sent, answers, interval):
    longest, since, last = 0.0, None, None
    for at, answer in zip(sent, answers):
        if answer is None:
            continue
        if answer < 0:
            since = at if since is None else since
            last = at
        elif since is not None:
            longest = max(longest, at - since)
            since = None
    if since is not None:
        longest = max(longest, last + interval - since)
    return longest


def _longest_silence(sent, answers, interval, started):
    times = sorted(at + answer for at, answer in zip(sent, answers)
                   if answer is not None and answer >= 0)
    times = [started, *times, max([started, *sent, *times])]
    longest = max(b - a for a, b in zip(times, times[1:]))
    return max(0.0, longest - interval)


class Probe:
    """Probes from a node to an address, one every ``interval``.

    :param kind: 'icmp', 'tcp', 'stream' or 'udp'
    :param limit: seconds after which an answer does not count any more
    :param count: stop after that many probes; 0 goes on
    :param skip: leave out probes that could not be sent in time, instead of
        sending them all at once
    :param patience: seconds to wait for steady answers, to probes that do not
        count; 0 does not wait
    """

    def __init__(self, node, kind, target: str, interval: float = 0.02,
                 port: int = echo.PORT, source: str | None = None,
                 device: str | None = None, limit: float = LIMIT, count=0,
                 skip=False, patience: float = 0):
        if kind not in _ALL:
            raise ValueError(f'kind: {kind!r} is none of {", ".join(_ALL)}')
        self.node = node
        self.kind = kind
        self.target = target
        self.interval = interval
        self.limit = limit
        self.count = count
        self.started = None
        self._patience = patience
        self._counted = {'interval': interval, 'limit': limit, 'count': count}
        self._options = {
            'kind': kind, 'target': target, 'port': port, 'source': source,
            'device': device, 'skip': skip,
            **(_FIRST if patience else self._counted)}
        self._process = None
        # Pipes to the sender and from it, and the file of its errors.
        self._opened = contextlib.ExitStack()
        self._commands = self._answers = self._errors = None
        self._serial = 0
        self._buffer = b''
        self._final = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_exc):
        self._end()

    def start(self):
        """Start probing; the sender is at work when this returns.

        :raises NodeError: when no answer came in time, see ``patience``
        """
        try:
            self._process = self._sender()
            self.started = self._receive(PATIENCE)['started']
            if self._patience:
                self.wait_answered(self._patience, steady=STEADY)
                self.started = self._ask(PATIENCE, do='begin',
                                         options=self._counted)['started']
        except BaseException:
            self._end()
            raise
        return self

    def _sender(self):
        """Start the program that sends."""
        self._errors = self._opened.enter_context(tempfile.TemporaryFile())
        theirs, self._commands = os.pipe()
        self._answers, mine = os.pipe()
        for end in self._commands, self._answers:
            self._opened.callback(os.close, end)
        try:
            return self.node.popen(
                [*forks.isolated('prober'), json.dumps(self._options)],
                stdin=theirs, stdout=mine, stderr=self._errors)
        finally:
            os.close(theirs)
            os.close(mine)

    def halt(self):
        """Stop sending; :meth:`stop` waits for the last answers later.

        A lost probe is known as lost only after its limit, in which the caller
        may have something else to do.
        """
        self._ask(PATIENCE, do='halt')

    def stop(self):
        """Stop sending, and wait for the last answers.

        :returns: the final Report; the same when called again
        """
        return self._last('stop', self.limit + PATIENCE)

    def finish(self) -> Report:
        """With a ``count``: wait until all of them are sent and settled."""
        return self._last('finish', self.count * self.interval +
                          self.limit + PATIENCE)

    def _last(self, command, timeout):
        if self._final is None:
            try:
                self._final = self._summary(self._ask(timeout, do=command))
            finally:
                self._end()
        return self._final

    def report(self):
        """The Report so far; after the stop, the final one."""
        if self._final is not None:
            return self._final
        return self._summary(self._ask(PATIENCE, do='report'))

    def wait_answered(self, timeout: float, after=0.0,
                      steady: float = 0.0) -> float:
        """Wait for the first answer.

        :param after: only an answer to a probe counts that was sent at or
            after this ``time.monotonic()``
        :param steady: seconds in which each probe before was answered, too
        :raises NodeError: when none came in time
        """
        answer = self._ask(timeout, do='await', after=after, steady=steady)
        if answer is None:
            raise nodes.NodeError(f'not within {timeout:g} s: an answer; '
                                  f'{self.node.name}: {self.report()}')
        return answer['answered']

    def _summary(self, raw):
        if raw is None:
            raise ProbeError(f'{self.node.name}: the sender of probes to '
                             f'{self.target} does not answer')
        return summarise(self.kind, self.target, self.interval, self.started,
                         raw)

    # -- the process in the node ------------------------------------------

    def _ask(self, timeout, **command):
        if self._process is None:
            raise ProbeError(f'{self.node.name}: no probes to {self.target} '
                             'are being sent')
        self._serial += 1
        line = json.dumps({'serial': self._serial, **command})
        try:
            os.write(self._commands, line.encode() + b'\n')
        except BrokenPipeError:
            self._died()
        return self._receive(timeout)

    def _receive(self, timeout):
        deadline = time.monotonic() + timeout
        while True:
            while b'\n' in self._buffer:
                line, _, self._buffer = self._buffer.partition(b'\n')
                answer = json.loads(line)
                if answer['serial'] == self._serial:
                    return answer
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self._answers], [], [],
                                             left)[0]:
                return None
            data = os.read(self._answers, 1 << 20)
            if not data:
                self._died()
            self._buffer += data

    def _died(self):
        self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode(errors='replace')
        raise ProbeError(f'{self.node.name}: the sender of probes to '
                         f'{self.target} ended:\n{text}')

    def _end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._opened.close()


def ping(node, target, count=3, interval=0.2, kind='icmp', **kwargs) -> Report:
    """Send some probes and wait for their answers."""
    with Probe(node, kind, target, interval, count=count, **kwargs) as probe:
        return probe.finish()


def wait_reachable(node, kind, target, timeout: float = 30.0, **kwargs):
    """Wait until a target answers.

    To measure a latency, start a :class:`Probe` before the event and use
    :meth:`Probe.wait_answered`: here the sender starts only now.

    :returns: when the first answer came, of ``time.monotonic()``, which is the
        same clock on all nodes
    :raises NodeError: when none came in time
    """
    kwargs = {'interval': WAIT_INTERVAL, 'limit': WAIT_LIMIT, **kwargs}
    with Probe(node, kind, target, **kwargs) as probe:
        return probe.wait_answered(timeout)


def unreachable(node, kind, target, tries: int = 5, interval: float = 0.05,
                limit: float = 1.0, **kwargs):
    """True when none of some probes is answered."""
    return ping(node, target, tries, interval, kind, limit=limit,
                **kwargs).received == 0
