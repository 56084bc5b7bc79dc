# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program that sends probes; :mod:`lab.probe` runs it on a node.

The program has one argument, its options as JSON.  It reads commands as JSON
lines from standard input, and answers each with one JSON line that has the
serial number of the command.  Probes are sent at fixed times, independent of
the answers.
"""

import json
import os
import selectors
import sys
import time

from lab import transports

_PENDING, _LOST = None, -1.0


class Prober:
    """Sends probes, receives answers, and keeps the results.

    :param options: dict; kind, target, port, source, device, interval and
        limit (seconds), count (probes to send, 0 for no end), skip (whether a
        late sender leaves out what it could not send in time)
    """

    def __init__(self, options: dict):
        self.options = options
        self.selector = selectors.DefaultSelector()
        self._input = b''
        self._reset()
        self._transport = transports.TRANSPORTS[options['kind']](self)
        os.set_blocking(0, False)
        self.selector.register(0, selectors.EVENT_READ, self._command)

    def _reset(self):
        self.token = os.urandom(8)  # answers to earlier probes have another
        self.sent = []  # monotonic seconds
        self.answers = []  # seconds from sending, or _PENDING, or _LOST
        self.seen = set()
        self.asked = set()
        self.retransmitted = 0
        self.skipped = 0  # probes that could not be sent in time
        self.error = ''
        self._pending = {}  # probe number: None; oldest first
        self._sending = True
        self._serial = None  # of a command that is answered later
        self._awaited = None  # time; wanted is an answer to a later probe
        self._steady = 0  # seconds without a loss that end with this answer
        self._start = time.monotonic()

    def run(self):
        """Probe until told to stop, or until standard input ends."""
        self._say({'serial': 0, 'started': self._start})
        while True:
            now = time.monotonic()
            if self.options['skip']:
                self._skip(now - self._start)
            while self._sending and self._due() <= now:
                self._send()
            self._expire(now)
            self._finish()
            # A command comes last, because it may close the sockets.
            for key, events in sorted(self.selector.select(self._idle()),
                                      key=lambda each: each[0].fd == 0):
                key.data(events)

    def _due(self):
        return self._start + ((len(self.sent) + self.skipped) *
                              self.options['interval'])

    def _skip(self, elapsed: float):
        """Leave out all that is due but the last probe.

        Many probes at once would fill queues that evenly sent ones do not.
        """
        due = int(elapsed / self.options['interval'])
        self.skipped = max(self.skipped, due - len(self.sent))

    def _send(self):
        number = len(self.sent)
        self.sent.append(time.monotonic())
        self.answers.append(_PENDING)
        self._pending[number] = None
        if len(self.sent) == self.options['count']:
            self._sending = False
        try:
            self._transport.send(number)
        except OSError as e:
            self.failed(number, e)

    def _expire(self, now):
        limit = self.options['limit']
        while self._pending:
            number = next(iter(self._pending))
            if self.sent[number] + limit > now:
                return
            self._settle(number, _LOST)

    def _idle(self):
        due = []
        if self._sending:
            due.append(self._due())
        if self._pending:
            due.append(self.sent[next(iter(self._pending))] +
                       self.options['limit'])
        if not due:
            return None
        return max(0.0, min(due) - time.monotonic())

    # -- for the transports -----------------------------------------------

    def answered(self, number, source=None, asked=None):
        """An answer came."""
        if number not in self._pending:
            return  # a duplicate, or later than its limit
        now = time.monotonic()
        if source:
            self.seen.add(source)
            self.asked.add(asked)
        self._settle(number, now - self.sent[number])
        if (self._awaited is not None and self.sent[number] >= self._awaited
                and self._steady_for(number) >= self._steady):
            self._answer_awaited(now)

    def _steady_for(self, number):
        """Seconds in which all probes up to an answered one were answered."""
        first = number
        while first and self.answers[first - 1] not in (_PENDING, _LOST):
            first -= 1
            if self.sent[number] - self.sent[first] >= self._steady:
                break
        return self.sent[number] - self.sent[first]

    def failed(self, number, error):
        """A probe cannot be answered any more."""
        self.error = error.strerror or str(error)
        if number in self._pending:
            self._settle(number, _LOST)

    def _settle(self, number, answer):
        del self._pending[number]
        self.answers[number] = answer
        self._transport.settled(number)

    # -- commands ---------------------------------------------------------

    def _command(self, _events):
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        *lines, self._input = (self._input + data).split(b'\n')
        for line in lines:
            command = json.loads(line)
            self._serial = command['serial']
            self._awaited = None
            getattr(self, '_do_' + command['do'])(command)

    def _do_begin(self, command):
        """Forget all probes so far, and begin again with other options.

        New sockets are new connections for the switch: what Open vSwitch has
        learned of a connection whose first packets were lost is no part of
        the measurement.
        """
        for number in list(self._pending):
            self._settle(number, _LOST)
        self._transport.close()
        self.options.update(command['options'])
        self._reset()
        self._transport = transports.TRANSPORTS[self.options['kind']](self)
        self._say({'serial': command['serial'], 'started': self._start})

    def _do_report(self, _command):
        self._report()

    def _do_halt(self, command):
        self._sending = False
        self._serial = None
        self._say({'serial': command['serial']})

    def _do_stop(self, _command):
        self._sending = False

    def _do_finish(self, _command):
        """Do nothing: _finish answers when all probes are settled."""

    def _do_await(self, command):
        self._awaited = command['after']
        self._steady = command['steady']
        if self._steady:
            return
        times = [at + answer for at, answer in zip(self.sent, self.answers)
                 if at >= self._awaited and answer not in (_PENDING, _LOST)]
        if times:
            self._answer_awaited(min(times))

    def _answer_awaited(self, when):
        self._awaited = None
        self._say({'serial': self._serial, 'answered': when})
        self._serial = None

    def _finish(self):
        if (self._serial is not None and self._awaited is None and
                not self._sending and not self._pending):
            self._report()

    def _report(self):
        self._say({'serial': self._serial, 'sent': self.sent,
                   'answers': self.answers, 'seen': sorted(self.seen),
                   'asked': sorted(self.asked),
                   'retransmitted': self.retransmitted,
                   'skipped': self.skipped,
                   'error': self.error})
        self._serial = None

    def _say(self, answer):
        raw = json.dumps(answer).encode() + b'\n'
        while raw:
            raw = raw[os.write(1, raw):]


def main():
    """Run the program."""
    Prober(json.loads(sys.argv[1])).run()
