# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The search: inputs that run new lines are kept and changed further.

Each target runs in a process of its own.  So a parser that takes all memory,
hangs in C or kills its process costs only itself, and the input is known: it
lies in memory that both processes see.
"""

import contextlib
import dataclasses
import logging
import mmap
import os
import pickle
import resource
import select
import signal
import tempfile
import time
import traceback

from ovn_network_agent.tests.fuzz import lines
from ovn_network_agent.tests.fuzz import mutation

# Seconds for one input; a usual one takes less than a millisecond.
PATIENCE = 5
# Seconds that a process may be silent; it reports each second.
SILENCE = 4 * PATIENCE
# Bytes that an input may take beyond what the process has at its start.
MEMORY = 1 << 30
_ROOM = 1 << 20
_LENGTH = 8
# Findings of one target after which the search ends: one bug has many inputs.
_ENOUGH = 10
# How many times as long as its processor time an input may wait.
_WAITS = 10


class Hang(BaseException):
    """An input took too long."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """An input that a target must not fail at.

    :ivar target: name of the target
    :ivar what: the exception and its place, one line
    :ivar data: the input
    :ivar text: the traceback
    """

    target: str
    what: str
    data: bytes
    text: str = ''


@dataclasses.dataclass
class Report:
    """What a search has found.

    :ivar runs: number of inputs
    :ivar lines: number of lines of the agent that have run
    :ivar kept: list of new inputs that have run new lines
    :ivar findings: list of :class:`Finding`
    :ivar functions: see :class:`lines.Lines`
    """

    runs: int = 0
    lines: int = 0
    kept: list = dataclasses.field(default_factory=list)
    findings: list = dataclasses.field(default_factory=list)
    functions: set = dataclasses.field(default_factory=set)


class Search:
    """A search in this process.

    :param target: :class:`target.Target`
    :param random: random.Random
    :param inputs: list of bytes, the corpus
    :param note: function that is called with each input before its run
    :param patience: seconds for one input
    """

    def __init__(self, target, random, inputs, note=lambda data: None,
                 patience=PATIENCE):
        self._target = target
        self._patience = patience
        self._random = random
        self._mutator = mutation.Mutator(random, target.words, target.values)
        self._note = note
        self._known = list(inputs)
        self._places = set()
        self._lines = lines.Lines(target.of)
        self.report = Report(functions=self._lines.functions)

    def replay(self):
        """Run the corpus.

        :returns: list of the inputs that ran a line first
        """
        return [data for data in list(self._known) if self._run(data)]

    def step(self):
        """Make an input and run it."""
        data = self._made()
        if self._run(data):
            self._known.append(data)
            self.report.kept.append(data)

    @property
    def enough(self):
        """Whether there are so many findings that more are of no use."""
        return len(self.report.findings) >= _ENOUGH

    def _made(self):
        if not self._known:
            return self._random.randbytes(self._random.randrange(64))
        # The last inputs have led to the newest lines.
        last = self._known[-8:] if self._random.randrange(2) else self._known
        change = (self._mutator.json if self._target.json
                  else self._mutator.bytes)
        return change(self._random.choice(last),
                      self._random.choice(self._known))

    def _run(self, data):
        """Run one input; whether it ran a new line, without a finding."""
        self._note(data)
        self.report.runs += 1
        try:
            with self._lines, _alarm(self._patience):
                self._target.function(data)
        except self._target.errors:
            pass
        except (Exception, Hang) as error:
            self._found(data, error)
            self._lines.fresh()
            return False
        fresh = self._lines.fresh()
        self.report.lines += fresh
        return bool(fresh)

    def _found(self, data, error):
        what = f'{type(error).__name__} {_place(error)}'
        if what not in self._places:
            self._places.add(what)
            self.report.findings.append(Finding(
                self._target.name, what, data, ''.join(
                    traceback.format_exception(error))[-4000:]))


class _Formatting(logging.Handler):
    """Shows no record, but makes its text: values of inputs are in it."""

    def emit(self, record):
        record.getMessage()


@contextlib.contextmanager
def _alarm(patience):
    """Raise Hang in the block after some seconds of processor time.

    A busy machine delays each input, so the time of the clock says nothing
    before a multiple of the patience: then the input waits for something.
    """
    def ring(_number, _frame):
        raise Hang(f'more than {patience} s of processor time, or '
                   f'{_WAITS * patience} s of waiting')
    timers = ((signal.SIGPROF, signal.ITIMER_PROF, patience),
              (signal.SIGALRM, signal.ITIMER_REAL, _WAITS * patience))
    former = [signal.signal(number, ring) for number, _which, _s in timers]
    for _number, which, seconds in timers:
        signal.setitimer(which, seconds)
    try:
        yield
    finally:
        for (number, which, _s), handler in zip(timers, former, strict=True):
            signal.setitimer(which, 0)
            signal.signal(number, handler)


def _place(error):
    """Where in the agent an error was raised."""
    found = [frame for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename.startswith(lines.ROOT)]
    inner = found[-1] if found else None
    return f'{inner.filename.removeprefix(lines.ROOT)}:{inner.lineno}' if (
        inner) else ''


def search(target, random, inputs, runs=None, seconds=None,
           patience=PATIENCE, silence=SILENCE):
    """Search in a process of its own.

    :param target: :class:`target.Target`
    :param random: random.Random
    :param inputs: list of bytes, the corpus
    :param runs: number of inputs beyond the corpus, None for no limit
    :param seconds: seconds, None for no limit
    :param patience: seconds for one input
    :param silence: seconds after which a silent process is killed
    :returns: :class:`Report`
    """
    shared = mmap.mmap(-1, _ROOM)
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory(prefix='fuzz-') as directory:
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            tempfile.tempdir = directory
            _child(target, lambda note: _searched(
                Search(target, random, inputs, note, patience), runs,
                seconds, writing), shared, writing)
        os.close(writing)
        with os.fdopen(reading, 'rb', buffering=0) as pipe:
            received = _listen(pipe, pid, silence)
        _pid, status = os.waitpid(pid, 0)
    if received and not status:
        return pickle.loads(received)  # noqa: S301
    size = int.from_bytes(shared[:_LENGTH], 'big')
    return Report(findings=[Finding(
        target.name, f'the process ended with status {status:#x}',
        bytes(shared[_LENGTH:_LENGTH + size]))])


def _listen(pipe, pid, silence):
    """What the child reports at its end; a silent child is killed."""
    received = b''
    while True:
        if not select.select([pipe], [], [], silence)[0]:
            os.kill(pid, signal.SIGKILL)
        data = pipe.read(1 << 16)
        if not data:
            return received.lstrip(b'.')
        received += data


def _child(target, searched, shared, writing):
    """The life of the child; does not return."""
    def note(data):
        data = data[:_ROOM - _LENGTH]
        shared[:_LENGTH + len(data)] = len(data).to_bytes(
            _LENGTH, 'big') + data

    status = 1
    logging.root.handlers = [_Formatting()]
    try:
        with target.world():
            _limit_memory()
            report = searched(note)
        with os.fdopen(writing, 'wb') as pipe:
            pipe.write(pickle.dumps(report))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _limit_memory():
    with open('/proc/self/statm', encoding='ascii') as opened:
        used = int(opened.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)


def _searched(made, runs, seconds, writing):
    """The report of a search, which says each second that it goes on."""
    made.replay()
    start = told = time.monotonic()
    count = 0
    while not made.enough:
        now = time.monotonic()
        if (runs is not None and count >= runs) or (
                seconds is not None and now - start >= seconds):
            break
        if now - told > 1:
            told = now
            os.write(writing, b'.')
        made.step()
        count += 1
    return made.report
