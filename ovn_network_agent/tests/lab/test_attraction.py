# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is announced is what this node answers for, and nothing else.

Cases in which the agent attracted what it could not deliver, or did not
attract what it could.
"""

import unittest

from lab import dump
from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import forwarding as pf
from ovn_network_agent.tests.lab import oneway

CHECKED, OTHER = (str(plan.VIPS[n]) for n in (10, 20))
OUTSIDE = '100.127.9.0/24'
_CHECK = {'type': 'tcp', 'interval': 0.5, 'timeout': 0.5, 'rise': 1,
          'fall': 3}
# Of the receiver of datagrams, which no other test uses.
_PORT = 7100
_ADDRESS, _ANOTHER = '192.0.2.65/32', '192.0.2.66/32'


def _operators(name):
    # The address on the bridge is the operator's, and so are routes through
    # the device of VIPs, which has no address else.
    return f'''\
addr add {_ADDRESS} dev br-ex
addr del {plan.LOOPBACKS[name]}/32 dev loopback1
route add {OUTSIDE} dev loopback1 table 10 proto static
'''


class AttractionTest(base.LabTestCase):
    """Router alpha on gw1, and beta on gw2 in another provider network."""

    CONFIG = {'DEFAULT': {'bridge_ip': ''},
              # A stop takes away what is here.  After a drain nothing is.
              'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cloud.wait_fabric()
        for name in cloud.gateways:
            cloud[name].batch(_operators(name))
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cloud.add_router('beta', ['gw2', 'gw1'],
                                    address='100.127.0.1')
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.bare, _none = cls.machine(cls.alpha, fip=False)
        echo.start(cloud['backend'])
        cls.before = {name: cls.state(name) for name in cloud.gateways}
        pf.put(cloud['gw1'], [pf.vip(CHECKED, pf.rule(
            'tcp', 80, plan.HOSTS['backend'], masquerade=True,
            health_check=_CHECK))])
        pf.put(cloud['gw2'], [pf.vip(OTHER, pf.rule(
            'tcp', 80, plan.HOSTS['backend'], masquerade=True))])

    @classmethod
    def configuration(cls, method=None):
        config = super().configuration(method)
        config['port_forward'] = {'rules_file': pf.RULES,
                                  'vip_announce': 'always'}
        return config

    def setUp(self):
        super().setUp()
        if self.cloud.neutron.owner(self.alpha) != 'gw1':
            self.cloud.move(self.alpha, 'gw1')
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)

    def offered(self, router):
        """What northd offers for gratuitous ARP, a list of text."""
        row = self.cloud.sb.find(
            'Port_Binding', logical_port=router.lrp.removeprefix('lrp-'))
        return list(row.nat_addresses)

    # -- OVN --------------------------------------------------------------

    def test_distributed(self):
        """The gateway announces no distributed one, whatever northd says.

        Row DFR-07: the chassis of its machine answers for it, and here it
        would be dropped.
        """
        neutron = self.cloud.neutron
        fip = self.floating_ip(self.alpha, self.bare.port)
        self.reach(self.client, 'icmp', fip.address)
        with self.probing(self.fip.address) as others:
            neutron.set_distributed(fip, True)
            nodes.wait_until(
                lambda: f'northd lists it: {self.offered(self.alpha)}',
                lambda: any(
                    fip.address in text and
                    f'resident("{self.bare.port.uuid}")' in text
                    for text in self.offered(self.alpha)), base.SETTLE)
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            self.wait_gone('gw1', fip.address)
            self.lossless(others)
        neutron.set_distributed(fip, False)
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', fip.address)

    def test_port_forwarding_of_neutron(self):
        """A floating IP that is a load balancer alone, in both models."""
        for group, names in ((False, ('gw1', 'gw2')),
                             (True, ('gw2', 'gw1'))):
            with self.subTest(group=group):
                self._forwarded_by_ovn(group, *names)

    def _forwarded_by_ovn(self, group, *names):
        cloud = self.cloud
        address = cloud.neutron.allocate()
        cloud.neutron.add_port_forwarding(
            self.alpha, address, 8022, self.bare.port, echo.PORT, group)
        try:
            for name in names:
                cloud.move(self.alpha, name)
                cloud.wait_announced(address, name, base.SETTLE)
                self.reach(self.client, 'tcp', address, 3, port=8022)
                # Flows follow a moment after an announcement.
                nodes.wait_until('all of it is there', lambda on=name: (
                    self.traces(on, address)[address] ==
                    {'route', 'flow', 'announced'}), base.SETTLE)
            self.assertNotIn(address, ' '.join(self.offered(self.alpha)))
            report = probe.ping(self.client, address, 3, 0.05, 'tcp',
                                port=8022)
            self.assertEqual({plan.CLIENT}, report.seen_sources)
        finally:
            cloud.neutron.remove_port_forwarding(self.alpha)
        cloud.wait_withdrawn(address, base.SETTLE)
        self.wait_gone(names[-1], address)

    # -- the node ---------------------------------------------------------

    def test_last_address_of_the_bridge(self):
        """The kernel takes all routes with it, and tells nobody."""
        node = self.cloud['gw1']
        routes = self.kernel_routes('gw1')
        self.assertIn(self.fip.address, routes)
        for old, new in ((_ADDRESS, _ANOTHER), (_ANOTHER, _ADDRESS)):
            with self.subTest(old=old):
                # At once, so that traffic has all that it needs otherwise.
                node.batch(f'addr del {old} dev br-ex\n'
                           f'addr add {new} dev br-ex\n')
                # Long before reconcile_interval, 60 seconds.
                probe.wait_reachable(self.client, 'icmp', self.fip.address,
                                     10)
                self.assertEqual(routes, self.kernel_routes('gw1'))

    def test_dead_vip(self):
        """The last managed VIP is withdrawn, whose routes go with it or not.
        """
        backend = self.cloud['backend']
        self.cloud.wait_announced(CHECKED, 'gw1', base.SETTLE)
        self.reach(self.client, 'tcp', CHECKED, port=80)
        self.assertIn(ownership.ANCHOR, self.cloud['gw1'].out(
            'ip', 'address', 'show', 'dev', 'loopback1'))
        self.assertNotIn(ownership.ANCHOR, self.cloud.bgp_table())
        backend.stop('echo')
        try:
            self.cloud.wait_withdrawn(CHECKED, base.SETTLE)
            self.assertIn(OUTSIDE, self.cloud['gw1'].out(
                'ip', 'route', 'show', 'table', base.VRF_TABLE))
        finally:
            echo.start(backend)
        self.cloud.wait_announced(CHECKED, 'gw1', base.SETTLE)
        self.reach(self.client, 'tcp', CHECKED, port=80)

    def test_guard_of_a_standby(self):
        """What a machine sends passes before the agent knows of the move.

        gw2 guards, because of beta, and is a standby for the network of
        alpha alone.
        """
        agent = self.cloud.agents['gw2']
        agent.freeze()
        try:
            self.cloud.move(self.alpha, 'gw2')
            before = self.transmitted('gw2', ownership.VETH_DEFAULT)
            with oneway.OneWay(self.vm.node, self.client, plan.CLIENT,
                               _PORT) as way:
                nodes.wait_until('the guard of gw2 lets it pass', lambda: (
                    self.transmitted('gw2', ownership.VETH_DEFAULT) >
                    before + 50), base.SETTLE)
                way.stop()
            # Its agent had no part in that.
            self.assertNotEqual('gw2', self.cloud.announcer(
                self.fip.address))
        finally:
            agent.thaw()
        self.cloud.wait_announced(self.fip.address, 'gw2', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)

    # -- the end ----------------------------------------------------------

    def test_stop_in_doubt(self):
        """A stop while nobody can tell where the provider network is."""
        node, agent = self.cloud['gw1'], self.cloud.agents['gw1']
        mark = self.mark('gw1')
        map_it = ['ovs-vsctl', 'set', 'Open_vSwitch', '.',
                  'external_ids:ovn-bridge-mappings='
                  f'{plan.PHYSICAL_NETWORK}:{plan.BRIDGE}']
        node.run(['ovs-vsctl', 'remove', 'Open_vSwitch', '.', 'external_ids',
                  'ovn-bridge-mappings'])
        try:
            nodes.wait_until('nothing is sent to OVN', lambda: not self.flows(
                'gw1'), base.SETTLE)
            # In doubt, it stays announced.
            self.assertEqual('gw1', self.cloud.announcer(self.fip.address))
            self.assertEqual(0, agent.stop())
            self.assertIn('Clean-up complete', self.said('gw1', mark))
            self.cloud.wait_withdrawn(self.fip.address, base.SETTLE)
            self.cloud.wait_withdrawn(CHECKED, base.SETTLE)
            self.assertEqual([], self._left('gw1'))
        finally:
            node.run(map_it)
            if not self.running('gw1'):
                agent.start()
                agent.wait_ready()
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.cloud.wait_announced(CHECKED, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)

    def _left(self, name):
        """What an agent has left on a node.

        But for the anchor: routes of the operator would go with it.
        """
        return [line for line in dump.difference(self.before[name],
                                                 self.state(name))
                if ownership.ANCHOR.partition('/')[0] not in line]


if __name__ == '__main__':
    unittest.main()
