# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway whose whole management network is silent; outages.rst."""

import unittest

from lab import node as nodes
from lab import outages
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_OUTAGE = outages.OUTAGES['network-silence']


class TestCutOff(base.LabTestCase):
    """Router alpha on gw1; a lost connection is hardly ever asked about."""

    CONFIG = {'ovn': {'ovsdb_probe_interval': '600000'}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.vm, cls.fip = cls.machine(cls.alpha)

    def test_the_owner_is_cut_off_for_a_moment(self):
        """BFD of the relays says so, and the servers are asked at once.

        Without this, gw1 would not notice within ten minutes, and TCP would
        decide when gw1 hears of the move.
        """
        uplinks = {name: plan.UPLINKS[name][1] for name in ('gw1', 'gw2')}
        # BFD of a new relay needs some seconds.
        nodes.wait_until('gw1 reaches gw2 through its relay',
                         self._reaches_another, base.SETTLE)
        mark = self.mark('gw1')
        _OUTAGE.begin(self.cloud, 'gw1')
        self.addCleanup(self._well_again)
        try:
            self.wait_said('gw1', 'No other gateway node can be reached', mark)
            for name in 'Northbound', 'Southbound':
                self.wait_said('gw1', f'OVN_{name} is not connected', mark)
            nodes.wait_until('gw2 has taken over', lambda: (
                uplinks['gw2'] in self.hops(self.fip.address)), base.SETTLE)
            # Nothing is withdrawn on doubt.
            self.assertIn(uplinks['gw1'], self.hops(self.fip.address))
        finally:
            _OUTAGE.end(self.cloud, 'gw1')
        for name in 'Northbound', 'Southbound':
            self.wait_said('gw1', f'OVN_{name}: connected again', mark)
        self.wait_said('gw1', 'Another gateway node can be reached', mark)

    def _reaches_another(self):
        found = self.cloud['gw1'].out(
            'ovs-vsctl', '--bare', '--columns=name,bfd_status', 'find',
            'Interface', 'bfd:enable=true')
        return any(ownership.RELAY_PREFIX in relay and 'state=up' in relay
                   for relay in found.split('\n\n'))

    def _well_again(self):
        """One gateway announces, and traffic flows.

        ovn-controller of gw1 hears of OVN when TCP lets it, so either may be
        the owner for some time.
        """
        nodes.wait_until('one gateway announces', lambda: (
            len(self.hops(self.fip.address)) == 1), base.SETTLE)
        for kind in 'icmp', 'udp':
            self.reach(self.client, kind, self.fip.address)


if __name__ == '__main__':
    unittest.main()
