# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The search for inputs that a target fails at, with hypothesis.

Each target runs in a process of its own.  So a parser that takes all memory,
hangs in C or kills its process costs only itself, and the input is known: it
lies in a file.
"""

import contextlib
import dataclasses
import faulthandler
import logging
import math
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback

import hypothesis

import ovn_network_agent
from ovn_network_agent.tests.fuzz import inputs

# Seconds of processor time for one input; a usual one takes less than a
# millisecond.
PATIENCE = 5
# How many times as long an input may wait: a busy machine delays each one.
_WAITS = 10
# Bytes that an input may take beyond what the process has at its start.
MEMORY = 1 << 30
# Examples of one run of hypothesis, which has no limit of time.
_EXAMPLES = 25
# The usual limit of Python; hypothesis has a higher one.
_RECURSION = 1000
_ROOT = os.path.dirname(ovn_network_agent.__file__) + os.sep
_FORK = multiprocessing.get_context('fork')


@dataclasses.dataclass(frozen=True)
class Finding:
    """An input that a target must not fail at."""

    target: str
    # The exception and its place, one line.
    what: str
    data: bytes
    # The traceback.
    text: str = ''


class Runs:
    """Runs of a target in this process, counted, with their findings."""

    def __init__(self, target, patience, last, writing):
        self.count = 0
        self.findings = {}
        self._target = target
        self._last = last
        self._writing = writing
        self._timers = ((signal.ITIMER_PROF, patience),
                        (signal.ITIMER_REAL, _WAITS * patience))

    def run(self, data):
        """Run an input.

        :raises Exception: that the target does not document
        """
        os.ftruncate(self._last, len(data))
        os.pwrite(self._last, data, 0)
        self.count += 1
        try:
            with self._limits():
                self._target.function(data)
        except self._target.errors:
            pass
        except Exception as error:
            what = f'{type(error).__name__} {_place(error)}'
            # The last one is the smallest.
            self.findings[what] = Finding(
                self._target.name, what, data,
                ''.join(traceback.format_exception(error))[-4000:])
            raise

    def report(self):
        """Say to the first process what was found."""
        self._writing.send(Report(self.count, list(self.findings.values())))

    @contextlib.contextmanager
    def _limits(self):
        """The signals of the timers end the process."""
        former = sys.getrecursionlimit()
        sys.setrecursionlimit(_RECURSION)
        for timer, seconds in self._timers:
            signal.setitimer(timer, seconds)
        try:
            yield
        finally:
            for timer, _seconds in self._timers:
                signal.setitimer(timer, 0)
            sys.setrecursionlimit(former)


@dataclasses.dataclass(frozen=True)
class Report:
    """How many inputs a search has run, and what it has found."""

    runs: int
    findings: list


class _Formatting(logging.Handler):
    """Shows no record, but makes its text: values of inputs are in it."""

    def emit(self, record):
        record.getMessage()


def _place(error):
    """Where in the agent an error was raised."""
    found = [frame for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename.startswith(_ROOT) and
             frame.filename != __file__]
    return f'{found[-1].filename.removeprefix(_ROOT)}:{found[-1].lineno}' if (
        found) else ''


def _played(strategy, function, count, seed):
    hypothesis.seed(seed)(hypothesis.settings(
        max_examples=count, database=None, deadline=None, derandomize=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink))(
            hypothesis.given(strategy)(function)))()


def examples(runs, target, corpus, seed, count, seconds):
    """Run examples of hypothesis until there is a finding.

    :param runs: :class:`Runs`
    :param count: number of examples, None for no limit
    :param seconds: seconds, None for no limit
    """
    made = inputs.strategy(target, corpus)
    most = math.inf if count is None else runs.count + count
    end = math.inf if seconds is None else time.monotonic() + seconds

    def over():
        return runs.count >= most or time.monotonic() >= end

    def run(chain):
        for data in chain:
            # A finding is made smaller as long as it takes.
            if runs.findings or not over():
                runs.run(data)

    while not runs.findings and not over():
        try:
            _played(made, run, math.ceil(min(
                _EXAMPLES, 2 * (most - runs.count) / inputs.MOST)),
                f'{seed}.{runs.count}')
        except Exception:
            # Of the target, or of hypothesis, which reports several failures
            # and one that does not come back.
            if not runs.findings:
                raise


def search(target, corpus, seed, count=None, seconds=None, patience=PATIENCE,
           way=examples):
    """Run the corpus and new inputs in a process of its own.

    :param target: :class:`target.Target`
    :param corpus: list of bytes
    :param seed: any text or number; the same one makes the same inputs
    :param count: number of inputs beyond the corpus, None for no limit
    :param seconds: seconds, None for no limit
    :param patience: seconds of processor time for one input
    :param way: function as :func:`examples`
    :returns: :class:`Report`
    """
    # Hypothesis reads the constants of all modules here, not in each child.
    _played(hypothesis.strategies.text(), lambda _text: None, 1, seed)
    reading, writing = _FORK.Pipe(duplex=False)
    with (tempfile.TemporaryDirectory(prefix='fuzz-') as directory,
          tempfile.TemporaryFile() as last,
          tempfile.TemporaryFile('w+') as log):
        def child():
            tempfile.tempdir = directory
            logging.root.handlers = [_Formatting()]
            _trap_signals(log)
            runs = Runs(target, patience, last.fileno(), writing)
            with target.world():
                _limit_memory()
                for data in corpus:
                    with contextlib.suppress(Exception):
                        runs.run(data)
                way(runs, target, corpus, seed, count, seconds)
            runs.report()

        process = _FORK.Process(target=child)
        process.start()
        writing.close()
        with contextlib.suppress(EOFError):
            report = reading.recv()
            process.join()
            return report
        process.join()
        last.seek(0)
        log.seek(0)
        return Report(0, [Finding(
            target.name, {
                -signal.SIGPROF: f'more than {patience} s of processor time',
                -signal.SIGALRM: f'more than {_WAITS * patience} s of waiting',
            }.get(process.exitcode,
                  f'the process ended with status {process.exitcode}'),
            last.read(), log.read())])


def _trap_signals(log):
    """Have the traceback written before a signal ends the process."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, log, chain=True)
    faulthandler.enable(log)


def _limit_memory():
    with open('/proc/self/statm', encoding='ascii') as opened:
        used = int(opened.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
