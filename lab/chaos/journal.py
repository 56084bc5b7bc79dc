# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The journal of a run: one line of JSON for each thing that happens."""

from collections import abc
import dataclasses
import json
import os
import time

from lab.chaos import values

NAME = 'journal.jsonl'


class Journal:
    """Writes lines to a file, and short ones to the terminal."""

    def __init__(self, directory: str, say: abc.Callable[[str], object]):
        os.makedirs(directory, exist_ok=True)
        self._file = open(os.path.join(directory, NAME), 'w',
                          encoding='utf-8')
        self._say = say

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self._file.close()

    def note(self, what, **more):
        """One line; it is on the disk when this returns.

        :param what: 'run', 'begin', 'end', 'stalls', 'settled' or 'result'
        """
        line = {'what': what, 'at': time.monotonic(), **more}
        self._file.write(json.dumps(line, default=plain) + '\n')
        self._file.flush()

    def begin(self, planned):
        """An action begins."""
        self._say(str(planned))
        self.note('begin', number=planned.number, action=planned.action.name,
                  target=planned.target, parameters=planned.parameters)

    def settled(self, episode):
        """An episode is over."""
        for violation in episode.violations:
            # The judge tells its own violations at once.
            if violation.kind == values.ACTION:
                self._say(f'VIOLATION {violation.kind} {violation.subject}: '
                          f'{violation.detail}')
        self._say(f'  {episode.ended - episode.began:.1f} s, settled after '
                  f'{episode.settled - episode.ended:.1f} s')
        self.note('settled', episode=episode)


def plain(value):
    """What json.dumps cannot write by itself."""
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f'{type(value).__name__} is no JSON')
