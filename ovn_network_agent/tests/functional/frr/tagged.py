# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An FRR whose operator gives communities to the routes by their tags."""

import json
import os

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.frr import base

ONE, TWO = ownership.TAGS.start + 1, ownership.TAGS.stop - 1
COMMUNITIES = {ONE: '65001:1', TWO: '65001:2'}


def _route_map(name, match):
    """Lines of a route map that gives each tag its community."""
    lines = []
    for sequence, (tag, community) in enumerate(COMMUNITIES.items(), 1):
        lines += [f'route-map {name} permit {sequence}',
                  f' match {match} {tag}', f' set community {community}',
                  ' set metric 0']
    return [*lines, f'route-map {name} permit 100']


class Frr(base.Frr):
    """Each origin of routes has a route map, as in the documentation."""

    bgp = base.bgp('', 'redistribute kernel route-map KERNEL').replace(
        'redistribute static', 'redistribute static route-map STATIC') + (
            '\n'.join(['', *_route_map('STATIC', 'tag'),
                       *_route_map('KERNEL', 'metric'),
                       f'ip prefix-list {base.LIST} permit '
                       '198.51.100.0/24 ge 32', '']))

    def community(self, prefix):
        """What the neighbour has learned: None without the route.

        :returns: text, '' for a route without a community
        """
        paths = json.loads(self.neighbour.ask(
            'bgpd', f'show bgp ipv4 unicast {prefix} json')).get('paths')
        if not paths:
            return None
        return paths[0].get('community', {}).get('string', '')

    def become(self, prefix, community):
        """Wait until the neighbour has a community for a prefix."""
        base.wait_until(lambda: self.community(prefix) == community,
                        f'{prefix} with {community!r} at the neighbour')

    def watch_withdrawals(self):
        """Have the neighbour note each withdrawal that it gets."""
        self.neighbour.vtysh('configure terminal', f'log file {self._log}',
                             'debug bgp updates in')

    def withdrawals(self):
        """The withdrawals since :meth:`watch_withdrawals`, a list."""
        # It has written its log when it answers.
        self.neighbour.ask('bgpd', 'show version')
        with open(self._log) as opened:
            return [line for line in opened if 'withdrawn' in line]

    @property
    def _log(self):
        return os.path.join(self.neighbour.rundir, 'updates.log')


class TaggedTestCase(base.FrrTestCase):

    make = Frr

    def setUp(self):
        super().setUp()
        self.frr.watch_withdrawals()
        self.withdrawn = len(self.frr.withdrawals())

    def assert_never_withdrawn(self, prefix):
        """The neighbour has had an announced route all the time."""
        self.assertEqual([], [
            line for line in self.frr.withdrawals()[self.withdrawn:]
            if f' {prefix} ' in line])

    def clear(self):
        """Remove the routes alone."""
        unwanted = ['no ' + line.strip() for line in sorted(self.frr.lines())
                    if line.startswith(('ip route ', 'ipv6 route '))]
        if unwanted:
            self.frr.configure(*unwanted)
