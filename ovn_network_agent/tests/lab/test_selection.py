# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses that an operator does not want to be announced."""

import json

from lab import echo
from lab import frr
from lab import node as nodes
from lab import plan
from lab import probe
from lab import routers
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_ROUTED = 'dynamic-routing'
_TAG = ownership.TAGS.start + 1
# The communities of the operator.
_TAGGED, _OTHERS = '65001:1', '65001:2'
_MAP = ('route-map TAGGED permit 10', f'match tag {_TAG}',
        f'set community {_TAGGED}', 'exit', 'route-map TAGGED permit 20',
        f'set community {_OTHERS}', 'exit')


class TestSelection(base.LabTestCase):
    """Routers alpha and beta on gw1; alpha has two floating IPs."""

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cloud.add_router('beta', ['gw1', 'gw2'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.vm_two, cls.fip_two = cls.machine(cls.alpha)
        cls.vm_beta, cls.fip_beta = cls.machine(cls.beta)
        echo.start(cloud['client'])

    def setUp(self):
        super().setUp()
        if self.cloud.neutron.owner(self.alpha) != 'gw1':
            self.cloud.move(self.alpha, 'gw1')
        for fip in (self.fip, self.fip_two, self.fip_beta):
            self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)

    def say(self, table, column, key, value, **where):
        """Put a word into a row, or take it out (None)."""
        def write(_txn, tables):
            row = routers.find_one(tables, table, **where)
            if value is None:
                row.delkey(column, key)
            else:
                row.setkey(column, key, value)

        self.cloud.nb.transact(write)

    def announce(self, value, table='NAT', **where):
        self.say(table, 'external_ids', ownership.EXT_ID_ANNOUNCE, value,
                 **(where or {'external_ip': self.fip.address}))

    def through_the_bridge(self):
        """Let beta believe that the bridge has the address of alpha.

        OVN learns that by itself now and then, because the kernel answers
        ARP there for an address that it has no route for.
        """
        mac = self.mac('gw1')

        def write(txn, tables):
            row = txn.insert(tables['Static_MAC_Binding'])
            row.logical_port, row.ip = self.beta.lrp, self.fip.address
            row.mac, row.override_dynamic_mac = mac, True

        def remove(_txn, tables):
            routers.find_one(tables, 'Static_MAC_Binding',
                             ip=self.fip.address).delete()

        self.cloud.nb.transact(write)
        self.addCleanup(self.cloud.nb.transact, remove)

    def explained(self, address):
        """(exit status, outcome, evidence of what is wanted)."""
        done = self.cloud.agents['gw1'].ctl(
            'explain', address, '--client', plan.CLIENT, '--json',
            check=False)
        said = json.loads(done.stdout)
        return done.returncode, said['outcome'], next(
            one['evidence'] for one in said['findings']
            if one['check'] == 'wanted')

    def test_a_row_that_is_marked_and_unmarked(self):
        """From the spine and back; nothing else loses a packet."""
        address = self.fip.address
        self.through_the_bridge()
        self.reach(self.client, 'icmp', address)
        with self.probing(self.fip_two.address) as sibling, \
                self.probing(self.fip_beta.address) as other, \
                self.probing(address, node=self.vm_beta.node) as local:
            self.announce('false')
            self.addCleanup(self.announce, None)
            self.cloud.wait_withdrawn(address, base.SETTLE)
            nodes.wait_until('the flow alone is there', lambda: (
                self.traces('gw1', address)[address] == {'flow'}),
                base.SETTLE)
            self.assertEqual([], self.hops(address))
            self.assertTrue(probe.unreachable(self.client, 'icmp', address,
                                              3))
            # Its machine still sends.
            self.vm.node.run(['ping', '-c1', '-W5', self.fip_beta.address])
            self.announce(None)
            self.cloud.wait_announced(address, 'gw1', base.SETTLE)
            self.reach(self.client, 'icmp', address)
            for probing in (sibling, other, local):
                base.note(f'while an address was withheld: '
                          f'{self.lossless(probing)}')

    # -- tags -------------------------------------------------------------

    def redistribute(self, name, *lines):
        """Change the redistribution of a gateway."""
        self.cloud[name].out('vtysh', *(
            word for line in (
                'configure terminal', *_MAP,
                f'router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}',
                'address-family ipv4 unicast', *lines)
            for word in ('-c', line)))

    def map_tags(self, name):
        """Give static routes a route map until the end of the test."""
        self.redistribute(name, 'redistribute static route-map TAGGED')
        self.addCleanup(self.redistribute, name, 'no redistribute static',
                        'redistribute static', 'exit', 'exit',
                        'no route-map TAGGED')

    def wait_communities(self, **wanted):
        """Wait until the spine has communities of addresses.

        :param wanted: community of the addresses of each router, by its name
        """
        addresses = {address: wanted[name] for name, those in (
            ('alpha', (self.fip.address, self.fip_two.address,
                       self.alpha.address)),
            ('beta', (self.fip_beta.address, self.beta.address)))
            for address in those}
        nodes.wait_until(
            lambda: f'{wanted}: {self.communities(addresses)}',
            lambda: self.communities(addresses) == addresses, base.SETTLE)

    def communities(self, addresses):
        """The community of each address at the spine, dict."""
        found = {}
        for address in addresses:
            paths = json.loads(frr.ask(
                self.cloud['spine'], 'bgpd',
                f'show bgp ipv4 unicast {address}/32 json')).get('paths', [])
            found[address] = ','.join(
                path.get('community', {}).get('string', '') for path in paths)
        return found

    def test_the_spine_has_a_community_for_a_tag(self):
        """Of the router alone, and also from the next gateway."""
        for name in ('gw1', 'gw2'):
            self.map_tags(name)
        self.wait_communities(alpha=_OTHERS, beta=_OTHERS)
        row = ('Logical_Router', 'external_ids', ownership.EXT_ID_TAG)
        with self.probing(self.fip.address) as running:
            self.say(*row, str(_TAG), name=self.alpha.row_name)
            self.addCleanup(self.say, *row, None, name=self.alpha.row_name)
            self.wait_communities(alpha=_TAGGED, beta=_OTHERS)
            self.lossless(running)
        self.cloud.move(self.alpha, 'gw2')
        self.cloud.wait_announced(self.fip.address, 'gw2', base.SETTLE)
        self.wait_communities(alpha=_TAGGED, beta=_OTHERS)
        self.say(*row, None, name=self.alpha.row_name)
        self.wait_communities(alpha=_OTHERS, beta=_OTHERS)
        self.reach(self.client, 'icmp', self.fip.address)

    def test_a_router_that_ovn_routes(self):
        """It is left alone, and its neighbour does not notice."""
        where = {'name': self.beta.row_name}
        with self.probing(self.fip.address) as running:
            self.say('Logical_Router', 'options', _ROUTED, 'true', **where)
            self.addCleanup(self.say, 'Logical_Router', 'options', _ROUTED,
                            None, **where)
            for address in (self.fip_beta.address, self.beta.address):
                self.cloud.wait_withdrawn(address, base.SETTLE)
            self.wait_gone('gw1', self.fip_beta.address, self.beta.address)
            nodes.wait_until('its default route is gone', lambda: (
                self.cloud.nb.find('Logical_Router', **where).static_routes
                == []), base.SETTLE)
            self.assertIn('OVN routes the router itself',
                          self.explained(self.fip_beta.address)[2])
            self.say('Logical_Router', 'options', _ROUTED, None, **where)
            self.cloud.wait_announced(self.fip_beta.address, 'gw1',
                                      base.SETTLE)
            self.lossless(running)
        self.reach(self.client, 'icmp', self.fip_beta.address)
