# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a test of drains does to a gateway: FRR away, other options."""

from lab import frr
from lab import node as nodes
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving

# The first line of the filter for the fabric, by family.
_SILENCE = {4: 'route-map PROVIDER-FILTER-OUT deny 5',
            6: 'ipv6 prefix-list ANNOUNCED-NETWORKS seq 1 deny any'}


class DrainTestCase(leaving.LeavingTestCase):
    """Candidates of the router alpha that cannot announce, or can again."""

    def _without_frr(self, name):
        """End FRR of a standby; wait until that is what all can see."""
        self.addCleanup(self._with_frr, name)
        frr.stop(self.cloud[name])
        self._wait_candidate(name, 0, 'unfit')
        self.assertIn('drained: unfit',
                      self.cloud.agents[name].ctl(
                          'status', '--verbose').stdout)

    def _with_frr(self, name):
        if 'bgpd' not in self.cloud[name].services:
            frr.start(self.cloud[name], self.cloud.routing(name))

    def _wait_candidate(self, name, priority, mark):
        nodes.wait_until(
            lambda: f'{name} has {priority:d} {mark}: {self.priorities()} '
                    f'{self._marks()}',
            lambda: (self.priorities()[name], self._marks()[name]) == (
                priority, mark), base.SETTLE)

    def _marks(self):
        """Why candidates of alpha are at 0: dict of name to text."""
        return {name: external_ids.get(ownership.EXT_ID_DRAINED, '')
                for name, external_ids
                in self.cloud.neutron.marks(self.alpha).items()}

    def _silence(self, node, no=''):
        """Have FRR send no route of the provider network any more.

        :param no: 'no ' to end the silence
        """
        node.run(['vtysh', '-c', 'configure terminal', '-c',
                  no + _SILENCE[self.FAMILY]])
