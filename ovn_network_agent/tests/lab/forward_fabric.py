# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Ways of answers that the fabric gives and takes: default and host routes."""

import signal

from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import forwarding as pf


class Fabric:
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def test_no_way_out_of_the_vrf(self):
        """Trap T61: clients get no answer, and the agent says why.

        The way of the VIP in is there, the way of its answers out is not.
        """
        self.assertEqual((pf.REMOTE, plan.CLIENT), self.asked(pf.PLAIN, 81))
        self.addCleanup(self._default_route, True)
        self._default_route(False)
        self.silent(pf.PLAIN, 81, 'tcp', self.client)
        self._default_route(True)
        self.assertEqual((pf.REMOTE, plan.CLIENT), self.asked(pf.PLAIN, 81))

    def _default_route(self, wanted):
        """Have the fabric give gw1's VRF a default route, or none.

        Returns when the agent, which looks at a full comparison, says so.
        """
        agent = self.cloud.agents['gw1']
        self._to_gw1('default-originate', wanted)
        nodes.wait_until('the default route comes or goes', lambda: wanted is (
            'proto bgp' in self.cloud['gw1'].out(
                'ip', 'route', 'show', 'vrf', plan.VRF, 'default')),
            base.SETTLE)
        agent.process.send_signal(signal.SIGHUP)
        nodes.wait_until('the agent knows', lambda: wanted is (
            'no default route' not in agent.ctl(
                'status', check=False).stdout), base.SETTLE)

    def _to_gw1(self, what, wanted):
        """Configure how the spine is a neighbour of gw1, or no longer."""
        neighbor = f'neighbor {plan.UPLINKS["gw1"][1]} {what}'
        self.cloud['spine'].run([
            'vtysh', '-c', 'configure terminal',
            '-c', f'router bgp {plan.SPINE_AS}',
            '-c', 'address-family ipv4 unicast',
            '-c', neighbor if wanted else f'no {neighbor}'])
