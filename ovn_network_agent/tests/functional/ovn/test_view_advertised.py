# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that OVN routes, and what OVN advertises for them."""

from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import northd as programs
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE
OWN, FIP, OTHER, BESIDE = (f'198.51.100.{n}' for n in (1, 10, 11, 12))


@programs.needs_northd
class NorthdTest(base.OvsdbTestCase):
    """What ovn-northd of this machine writes, or cannot write."""

    def setUp(self):
        super().setUp()
        for table in ('Port_Binding', 'Datapath_Binding'):
            self.sb.transact(ovsdb.delete(table, {}))
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'net', name='provnet-1',
                         type='localnet', addresses='unknown',
                         options=ovsdb.ovsdb_map(network_name='physnet1')),
            ovsdb.insert('Logical_Switch_Port', 'lsp', name='lsp-r1',
                         type='router', addresses='router',
                         options=ovsdb.ovsdb_dict({
                             'router-port': 'lrp-r1',
                             'nat-addresses': 'router'})),
            ovsdb.insert('Logical_Switch', name='neutron-net',
                         ports=ovsdb.ovsdb_set([['named-uuid', 'net'],
                                                ['named-uuid', 'lsp']])),
            ovsdb.insert('Gateway_Chassis', 'gc', name='gc',
                         chassis_name=HERE, priority=2),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r1',
                         mac='fa:16:3e:00:00:01', networks=OWN + '/24',
                         gateway_chassis=['named-uuid', 'gc']),
            ovsdb.insert('NAT', 'fip', type='dnat_and_snat',
                         external_ip=FIP, logical_ip='10.0.0.5'),
            ovsdb.insert('NAT', 'other', type='dnat_and_snat',
                         external_ip=OTHER, logical_ip='10.0.0.6'),
            ovsdb.insert('Logical_Router', name='neutron-r1',
                         ports=['named-uuid', 'lrp'],
                         options=ovsdb.ovsdb_dict({
                             'dynamic-routing': 'true'}),
                         nat=ovsdb.ovsdb_set([['named-uuid', 'fip'],
                                              ['named-uuid', 'other']])))
        programs.start(self)
        self.eventually(
            lambda: self.sb.rows('Port_Binding', where=ovsdb.clauses(
                {'logical_port': 'cr-lrp-r1'})), 'northd has been')
        self.cloud.move('lrp-r1', HERE)

    def eyes(self, **options):
        return super().eyes(**{'announce__advertised_routes': True,
                               **options})

    def route(self, eyes):
        """(whether it is left to OVN, whether it is served, announced).

        OVN is to announce the addresses of a router that is left to it.
        """
        router = eyes.router('r1')
        left = router.routed_by_ovn
        return (left, bool(router.local_ports), {
            address for address, each in eyes.addresses('r1').items()
            if (each.answered, each.withheld) == (
                (False, selection.BY_OVN) if left else (True, ''))})

    def see(self, eyes, *announced, left=False):
        """Wait for what is announced."""
        wanted = (left, not left, set(announced))
        self.eventually(lambda: self.route(eyes) == wanted,
                        lambda: (self.route(eyes), wanted))

    def test_what_the_router_redistributes(self):
        eyes = self.eyes()
        self.eventually(lambda: eyes.router('r1'), 'the router')
        if not self.has_table():
            self.see(eyes, OWN, FIP, OTHER, left=True)
            self.assertIn('25.03', eyes.router('r1').problems[0])
            return
        self.see(eyes)
        self.redistribute('nat')
        self.see(eyes, FIP, OTHER)
        self.cloud.remove_nat('r1', OTHER)
        self.see(eyes, FIP)
        self.redistribute('connected')
        # The network of the port covers its floating IPs.
        self.see(eyes, OWN, FIP)
        self.redistribute(None)
        self.see(eyes)

    def test_a_router_beside_it(self):
        """OVN also has the routes of the neighbours of a router."""
        fields = {'options': ovsdb.ovsdb_dict({'router-port': 'lrp-r2'})}
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'lsp', name='lsp-r2',
                         type='router', addresses='router', **fields),
            ovsdb.mutate('Logical_Switch', {'name': 'neutron-net'}, 'ports',
                         'insert', ovsdb.ovsdb_set([['named-uuid', 'lsp']])),
            ovsdb.insert('Gateway_Chassis', 'gc', name='gc2',
                         chassis_name=HERE, priority=2),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r2',
                         mac='fa:16:3e:00:00:02',
                         networks='198.51.100.2/24',
                         gateway_chassis=['named-uuid', 'gc']),
            ovsdb.insert('NAT', 'fip', type='dnat_and_snat',
                         external_ip=BESIDE, logical_ip='10.0.0.7'),
            ovsdb.insert('Logical_Router', name='neutron-r2',
                         ports=['named-uuid', 'lrp'],
                         nat=['named-uuid', 'fip']))
        self.redistribute('nat')
        eyes = self.eyes()
        self.eventually(lambda: eyes.router('r1'), 'the router')
        if not self.has_table():
            self.see(eyes, OWN, FIP, OTHER, left=True)
            return
        self.see(eyes, FIP, OTHER)
        self.eventually(lambda: {FIP, OTHER, BESIDE} == {
            row['ip_prefix'] for row in self.sb.rows('Advertised_Route')},
            lambda: self.sb.rows('Advertised_Route'))
        # Each address is announced with the router that translates it.
        self.see(eyes, FIP, OTHER)

    def has_table(self):
        return 'Advertised_Route' in self.eyes().databases['sb']._replicated

    def redistribute(self, value):
        self.cloud.say('Logical_Router_Port', {'name': 'lrp-r1'},
                       options={'dynamic-routing-redistribute': value})
