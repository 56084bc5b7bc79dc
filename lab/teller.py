# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Telling a story: lines with times, scenes, and the table at the end."""

import contextlib
import time

from lab import node as nodes


class Teller:
    """Prints what happens, and collects what was seen.

    :ivar results: list of (what, value, whether it is as it should be)
    """

    def __init__(self):
        self._started = time.monotonic()
        self.results = []

    def say(self, text=''):
        """Print a line with the time since the start."""
        print(f'{time.monotonic() - self._started:6.1f} s  {text}',
              flush=True)

    def head(self, text):
        """Print the title of a scene."""
        print(f'\n{text}\n{"-" * len(text)}', flush=True)

    def result(self, what, value, good):
        """Note a line of the table at the end, and print it."""
        self.results.append((what, value, good))
        failed = '' if good else '   FAILED'
        self.say(f'{what}: {value}{failed}')

    @contextlib.contextmanager
    def scene(self, title):
        """One scene; a failure in it is noted and the story goes on."""
        self.head(title)
        try:
            yield
        except nodes.NodeError as e:
            self.result(title, str(e).splitlines()[0], False)

    def table(self, circumstances):
        """Print the table at the end; returns the exit status."""
        self.head(f'What was seen ({circumstances})')
        for what, value, good in self.results:
            print(f'  {"ok" if good else "FAIL":<4} {what:<50} {value}')
        failed = sum(1 for _w, _v, good in self.results if not good)
        seconds = time.monotonic() - self._started
        print(f'\n{len(self.results) - failed} of {len(self.results)} as it '
              f'should be, in {seconds:.0f} s\n', flush=True)
        return 1 if failed else 0
