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

    def test_floating_ip_on_another_node(self):
        """Trap T61: the VIP is on gw1, the router of the client on gw2.

        Where the fabric tells gw1 of no floating IP the answers leave by the
        VRF's default route alone.
        """
        # Else gw2 would forward by itself.
        self.other_rules('gw2', [])
        self.addCleanup(self.cloud.wait_announced, self.fip.address, 'gw1',
                        base.SETTLE)
        self.addCleanup(self.cloud.move, self.alpha, 'gw1')
        self.cloud.move(self.alpha, 'gw2')
        self.cloud.wait_announced(self.fip.address, 'gw2', base.SETTLE)
        machine = self.vm.node
        for port, wanted in ((80, (pf.LOCAL, self.fip.address)),
                             (82, (pf.MASQUERADED, pf.LOCAL))):
            for kind in 'tcp', 'udp':
                with self.subTest(port=port, kind=kind):
                    self.assertEqual(wanted, self.asked(
                        pf.PLAIN, port, kind, machine))
        self.addCleanup(self._host_routes, True)
        self._host_routes(False)
        self.assertEqual((pf.LOCAL, self.fip.address), self.asked(
            pf.PLAIN, 80, node=machine))
        self.addCleanup(self._default_route, True)
        self._default_route(False)
        self.silent(pf.PLAIN, 80, 'tcp', machine)
        self._default_route(True)
        self.assertEqual((pf.LOCAL, self.fip.address), self.asked(
            pf.PLAIN, 80, node=machine))

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

    def _host_routes(self, wanted):
        """Have the fabric tell gw1 of floating IPs elsewhere, or not.

        Returns when the floating IP, which is on gw2, has come or gone.
        """
        self.cloud['spine'].run([
            'vtysh', '-c', 'configure terminal',
            '-c', 'ip prefix-list DEFAULT-ALONE seq 5 permit 0.0.0.0/0'])
        self._to_gw1('prefix-list DEFAULT-ALONE out', not wanted)
        self.cloud['spine'].run(['vtysh', '-c',
                                 'clear bgp ipv4 unicast '
                                 f'{plan.UPLINKS["gw1"][1]} soft out'])
        nodes.wait_until('the floating IP comes or goes', lambda: wanted is (
            'proto bgp' in self.cloud['gw1'].out(
                'ip', 'route', 'show', 'vrf', plan.VRF, self.fip.address)),
            base.SETTLE)

    def _to_gw1(self, what, wanted):
        """Configure how the spine is a neighbour of gw1, or no longer."""
        neighbor = f'neighbor {plan.UPLINKS["gw1"][1]} {what}'
        self.cloud['spine'].run([
            'vtysh', '-c', 'configure terminal',
            '-c', f'router bgp {plan.SPINE_AS}',
            '-c', 'address-family ipv4 unicast',
            '-c', neighbor if wanted else f'no {neighbor}'])
