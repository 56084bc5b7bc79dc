# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The run: one action after the other, each until all is well again."""

from collections import abc
import contextlib
import dataclasses
import json
import os
import time

from lab import cloud as clouds
from lab import flat
from lab.chaos import judge
from lab.chaos import planning
from lab.chaos import step as steps
from lab.chaos import summary as summaries
from lab.chaos import values
from lab.chaos import world as worlds

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


# Seconds until everything has to be as it should be.
SETTLE = 60.0
# So many episodes in a row that do not settle end the run.
_LOST = 3


class Runner:
    """A run in its cloud."""

    def __init__(self, profile: values.Profile, actions: list, seed: int,
                 seconds, directory, say: abc.Callable[[str], object]):
        self._profile = profile
        self._actions = actions
        self._seed = seed
        self._seconds = seconds
        self._directory = directory
        self._say = say
        self._episodes = []
        self._world = self._history = self._judge = self._journal = None

    def run(self) -> dict:
        """The whole run."""
        with contextlib.ExitStack() as stack:
            self._journal = stack.enter_context(
                Journal(self._directory, self._say))
            self._journal.note('run', seed=self._seed,
                               profile=self._profile, seconds=self._seconds)
            cloud = stack.enter_context(self._cloud())
            self._world = worlds.World(cloud, self._profile, self._say)
            stack.callback(self._keep_logs, cloud)
            self._world.build()
            self._judge = judge.Judge(cloud, self._world, self._profile,
                                      self._say)
            self._judge.start()
            stack.callback(self._judge.stop)
            self._history = stack.enter_context(
                steps.History(self._judge))
            self._play_all()
            self._judge.stop()
            return self._result()

    def _cloud(self):
        kind = clouds.Cloud if self._profile.vrf else flat.FlatCloud
        return kind(gateways=self._profile.gateways,
                    scheduler=self._profile.scheduler, say=self._say)

    def _play_all(self):
        """Play until the time is over; a begun action is finished."""
        began = time.monotonic()
        found = self._judge.settled(2 * SETTLE)
        self._add(values.Episode(0, 'start', '', {}, began, began,
                                 time.monotonic(), violations=tuple(found)))
        if found:
            return
        end = time.monotonic() + self._seconds
        for planned in planning.plan(self._seed, self._profile,
                                     self._actions):
            if time.monotonic() >= end or self._hopeless():
                return
            self._add(self._play(planned))

    def _hopeless(self):
        last = self._episodes[-_LOST:]
        return len(last) == _LOST and all(
            one.settled - one.ended >= SETTLE for one in last)

    def _add(self, episode):
        self._episodes.append(episode)
        self._journal.settled(episode)

    def _play(self, planned) -> values.Episode:
        self._journal.begin(planned)
        step = steps.Step(self._world, self._history, planned.target,
                          planned.parameters)
        found = []
        try:
            planned.action.perform(step)
        except Exception as e:
            # The run goes on: the next actions show what is left.
            found.append(_violation(planned, e))
            found += self._revive(planned)
        ended = time.monotonic()
        self._journal.note('end', number=planned.number)
        found += self._judge.settled(SETTLE)
        self._journal.note('stalls', number=planned.number,
                           stalls=self._history.stalls(step.began))
        return values.Episode(
            planned.number, planned.action.name, planned.target,
            planned.parameters, step.began, ended, time.monotonic(),
            step.excuses(),
            self._history.moves(step.began, self._world.routers),
            tuple(found))

    def _revive(self, planned):
        """Start what a failed action has left without an agent.

        All later actions would otherwise fail for the same reason.
        """
        try:
            self._world.start_ended()
        except Exception as e:
            return [_violation(planned, e)]
        return []

    # -- results ----------------------------------------------------------

    def _result(self):
        summary = self._judge.summary(self._episodes)
        self._journal.note('result', violations=summary['violations'],
                           loss_share=summary['loss_share'])
        with open(self._path('summary.json'), 'w', encoding='utf-8') as opened:
            json.dump({'seed': self._seed, 'profile': self._profile.name,
                       **summary}, opened, indent=1, default=plain)
        text = summaries.text(summary)
        with open(self._path('summary.txt'), 'w', encoding='utf-8') as opened:
            opened.write(text + '\n')
        self._say(text)
        return summary

    def _path(self, name):
        return os.path.join(self._directory, name)

    def _keep_logs(self, cloud):
        for name in (*cloud.gateways, 'central'):
            node = cloud[name]
            if not node.pid:
                continue
            for service in {*node.services, 'agent'}:
                with contextlib.suppress(OSError):
                    with open(self._path(f'{name}-{service}.log'), 'w',
                              encoding='utf-8') as opened:
                        opened.write(node.log(service))


def passed(summary: dict, profile: values.Profile) -> bool:
    """Whether the summary is that of a good run."""
    return (not summary['violations'] and
            summary['loss_share'] <= profile.loss_limit)


def _violation(planned, error):
    return values.Violation(
        values.ACTION, planned.target,
        f'{planned.action.name}: {type(error).__name__}: {error}',
        time.monotonic())
