# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a step of a scenario costs the servers and the real agents."""

from collections import abc
import time


class Measurement:
    """Prints what each step of a scenario cost."""

    def __init__(self, cloud, fleet):
        self._servers = {'NB': cloud.nb, 'SB': cloud.sb}
        self._fleet = fleet

    def step(self, what: str, act: abc.Callable[[], object],
             done: abc.Callable):
        """Do something, and wait until everything has followed."""
        self._fleet.counts()
        before = self._processor()
        agents, started = self._fleet.processor(), time.monotonic()
        act()
        done()
        taken = time.monotonic() - started
        used = ', '.join(
            f'{name} {spent - before[name]:.2f} s'
            for name, spent in self._processor().items())
        found = self._fleet.counts()
        print(f'{what}: {taken:.2f} s; {found.accepted} transactions, '
              f'{found.refused} refused; processor {used}, agents '
              f'{self._fleet.processor() - agents:.1f} s; '
              f'{found.silent} connections given up', flush=True)
        for text, count in found.errors.most_common(3):
            print(f'    {count} times: {text}', flush=True)
        return found

    def _processor(self):
        return {name: server.processor()
                for name, server in self._servers.items()}

    def rest(self, seconds) -> float:
        """Print what everything needs while nothing happens.

        :returns: seconds of processor time a second of all agents
        """
        before = self._processor()
        agents = self._fleet.processor()
        time.sleep(seconds)
        used = {name: spent - before[name]
                for name, spent in self._processor().items()}
        used['agents'] = self._fleet.processor() - agents
        shares = ', '.join(f'{name} {spent / seconds * 100:.1f} %'
                           for name, spent in used.items())
        memory = ', '.join(
            f'{name} {server.memory():.0f} (at most '
            f'{server.memory(True):.0f})'
            for name, server in self._servers.items())
        print(f'at rest, of one processor: {shares}; memory in MB: {memory}, '
              f'agents {self._fleet.memory():.0f}', flush=True)
        return used['agents'] / seconds
