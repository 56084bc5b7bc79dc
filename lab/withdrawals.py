# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The routes that the spine loses, as it happens."""

import tempfile

from lab import families
from lab import node as nodes


class Withdrawals:
    """What the spine removes from its table while the block runs."""

    def __init__(self, cloud, version: int = 4):
        self._cloud = cloud
        self._family = families.FAMILIES[version]

    def __enter__(self):
        self._output = tempfile.TemporaryFile('w+')
        self._monitor = self._cloud['spine'].popen(
            ['ip', '-ts', self._family.option, 'monitor', 'route'],
            stdout=self._output)
        # A route of our own shows that it listens, and later that it has
        # seen everything before it.
        self._mark(1)
        return self

    def __exit__(self, *_exc):
        self._monitor.kill()
        self._monitor.wait()
        self._output.close()

    def _own(self, number):
        return str(self._family.test_net[number])

    def _mark(self, number):
        address = self._own(number)

        def marked():
            prefix = self._family.prefix(address)
            self._cloud['spine'].batch(f'route replace blackhole {prefix}\n'
                                       f'route del blackhole {prefix}\n')
            return any(f' {address} ' in line for line in self._lines())

        nodes.wait_until('the monitor of the spine sees routes', marked)

    def _lines(self):
        self._output.flush()
        with open(f'/proc/self/fd/{self._output.fileno():d}',
                  encoding='ascii') as opened:
            return opened.read().splitlines()

    def seen(self):
        """Lines of all withdrawals up to now."""
        self._mark(2)
        own = self._own(1), self._own(2)
        return [line for line in self._lines()
                if 'Deleted' in line and not any(
                    f' {address} ' in line for address in own)]
