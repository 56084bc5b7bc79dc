# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What was measured, as JSON, and its statistics.

A file has a list "runs": one for each call of the command, with the time, the
machine, the versions, the subjects, and "samples".  A sample has the fields of
:class:`Key` and "values", every single one.  A later call adds a run.
"""

import collections
import dataclasses
import json
import math
import os
import statistics

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Key:
    """What a value is about."""

    what: str  # the event, such as 'one added', or 'ports: one added'
    place: str  # where an observer saw the change, or 'all'
    unit: str  # 'ms', 'number', 'bytes' or 's'
    subject: str  # 'ours', 'floor', 'peer' or a revision
    method: str  # 'static' or 'kernel', or '' without a choice
    size: int
    routers: int  # number of routers that they are dealt out to


@dataclasses.dataclass(frozen=True)
class Summary:
    """Statistics of some values.

    p90 and p99 are the smallest values that 90 and 99 % do not pass.
    """

    count: int
    median: float
    p90: float
    p99: float
    least: float
    most: float


def summary(values):
    """The :class:`Summary` of a list of numbers.

    :raises ValueError: without a value
    """
    if not values:
        raise ValueError('no value was measured')
    ordered = sorted(values)
    p90, p99 = (ordered[math.ceil(percent * len(ordered) / 100) - 1]
                for percent in (90, 99))
    return Summary(len(ordered), statistics.median(ordered), p90, p99,
                   ordered[0], ordered[-1])


class Run:
    """The values of one call of the command."""

    def __init__(self, facts: dict):
        self._facts = facts
        self._values = collections.defaultdict(list)
        self._failures = []

    def add(self, key, value):
        """One value of a :class:`Key`."""
        self._values[key].append(value)

    def fail(self, text):
        """Something that could not be measured, and the reason."""
        self._failures.append(text)

    @property
    def failures(self):
        """list of text."""
        return list(self._failures)

    def document(self):
        """The run as a dict for JSON."""
        return {**self._facts, 'failures': self._failures, 'samples': [
            {**dataclasses.asdict(key), 'values': values}
            for key, values in self._values.items()]}


def read(path):
    """The document of a file; an empty one when there is no file.

    :raises ValueError: when the file is of another kind
    """
    if not os.path.exists(path):
        return {'format': FORMAT, 'runs': []}
    with open(path) as opened:
        try:
            document = json.load(opened)
        except ValueError as error:
            raise ValueError(f'{path} is no JSON: {error}') from error
    if not isinstance(document, dict) or document.get('format') != FORMAT:
        raise ValueError(f'{path} has no results of tools.bench in the '
                         f'format {FORMAT:d}; name another file')
    return document


def write(path, document):
    """Write a document, so that nobody sees a half."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + '.new', 'w') as opened:
        json.dump(document, opened, indent=None, separators=(',', ':'))
        opened.write('\n')
    os.rename(path + '.new', path)


def append(path, run: Run):
    """Add a run to a file: the whole document."""
    document = read(path)
    document['runs'].append(run.document())
    write(path, document)
    return document


def by_run(document):
    """The values of each run, a list of dict of :class:`Key` to values."""
    names = [field.name for field in dataclasses.fields(Key)]
    return [{Key(*(sample[name] for name in names)): sample['values']
             for sample in run['samples']} for run in document['runs']]


def values(runs, key) -> list[float]:
    """All values of a key, of all runs."""
    return [value for run in runs for value in run.get(key, ())]


def ratio(runs, key, other) -> float | None:
    """How many times the median of another subject a median is.

    Only the runs count that have both, because other runs were on a machine
    with other work.
    """
    both = [run for run in runs if run.get(key) and run.get(other)]
    if not both:
        return None
    below = statistics.median(values(both, other))
    return statistics.median(values(both, key)) / below if below else None
