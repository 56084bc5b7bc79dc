# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Subjects side by side, each in a world of its own, who take turns.

All worlds run all the time, and one event happens at a time, in one world
after the other.  So a noisy moment of the machine hits all of them.
"""

import dataclasses
import json
import subprocess
import sys

from tools.bench import results
from tools.bench import subjects


class Failed(Exception):
    """A subject could not play its turn; the text says why."""


class Member:
    """A subject in its world, a child process.

    :param work_queue: milliseconds that zebra waits before it handles changed
        routes, None for its default; part of the method in the results
    :param addresses: 'fips', or another kind, which stands before each event
        in the results
    """

    def __init__(self, subject, method: str, routers: int,
                 interval: float = 60, work_queue: int | None = None,
                 addresses='fips'):
        self.subject = subject
        self._about = {'subject': subject.name, 'method': method + (
            '' if work_queue is None else f', zebra work-queue {work_queue}'),
                       'routers': routers}
        self.name = f'{subject.name} {method}'.strip()
        self._what = '' if addresses == 'fips' else f'{addresses}: '
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'tools.bench.worker', json.dumps({
                'kind': subject.kind, 'program': subject.program,
                'method': method, 'routers': routers, 'interval': interval,
                'work_queue': work_queue, 'addresses': addresses})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=subjects.ROOT)

    def play(self, scenario, size: int, **settings) -> list:
        """One turn; raises Failed when there is no result."""
        request = json.dumps({'scenario': scenario, **settings})
        try:
            print(request, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ''
        if not line:
            raise Failed('its world has ended')
        answer = json.loads(line)
        if 'error' in answer:
            raise Failed(answer['error'])
        return [(results.Key(self._what + what, place, unit, size=size,
                             **self._about), value)
                for what, place, unit, value in answer['found']]

    def close(self):
        """End the world, with everything in it."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclasses.dataclass
class Crew:
    """Members who take turns."""

    members: list  # list of :class:`Member`
    run: results.Run  # the :class:`results.Run` for their values

    def play(self, scenario, size, turns=1, **settings):
        """Have all members play some turns, each time another one first.

        A member that fails plays no more, because its world is in doubt.
        """
        for turn in range(turns):
            first = turn % max(1, len(self.members))
            for member in self.members[first:] + self.members[:first]:
                self._one(member, scenario, size, settings)

    def _one(self, member, scenario, size, settings):
        try:
            for key, value in member.play(scenario, size, **settings):
                self.run.add(key, value)
        except Failed as failure:
            text = (f'{member.name}, {size:d} present, {scenario}: '
                    f'{failure}')
            self.run.fail(text)
            print(text, file=sys.stderr, flush=True)
            self.drop(member)

    def drop(self, member):
        """Let a member go."""
        self.members.remove(member)
        member.close()

    def close(self):
        """Let all members go."""
        for member in list(self.members):
            self.drop(member)
