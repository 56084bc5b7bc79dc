# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows that ovn-northd writes, and rows that the tests write."""

import random
import signal

from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import northd as programs
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


@programs.needs_northd
class NorthdTest(base.OvsdbTestCase):
    """What the other tests write by hand is what ovn-northd writes."""

    def test_a_router_translated_by_northd(self):
        for table in ('Port_Binding', 'Datapath_Binding'):
            self.sb.transact(ovsdb.delete(table, {}))
        suffix = f'{random.getrandbits(32):08x}'
        self.nb.transact(
            ovsdb.insert('Logical_Switch_Port', 'net', name='provnet-1',
                         type='localnet', addresses='unknown',
                         options=ovsdb.ovsdb_map(network_name='physnet1')),
            ovsdb.insert('Logical_Switch_Port', 'lsp', name='lsp-' + suffix,
                         type='router', addresses='router',
                         options=ovsdb.ovsdb_dict({
                             'router-port': 'lrp-' + suffix,
                             'nat-addresses': 'router'}),
                         external_ids=ovsdb.ovsdb_dict({
                             'neutron:device_owner':
                                 'network:router_gateway'})),
            ovsdb.insert('Logical_Switch', name='neutron-net',
                         ports=ovsdb.ovsdb_set([['named-uuid', 'net'],
                                                ['named-uuid', 'lsp']])),
            ovsdb.insert('Gateway_Chassis', 'gc', name='gc',
                         chassis_name=HERE, priority=2),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-' + suffix,
                         mac='fa:16:3e:00:00:01',
                         networks='198.51.100.1/24',
                         gateway_chassis=['named-uuid', 'gc']),
            ovsdb.insert('NAT', 'snat', type='snat',
                         external_ip='198.51.100.1',
                         logical_ip='10.0.0.0/24'),
            ovsdb.insert('NAT', 'fip', type='dnat_and_snat',
                         external_ip='198.51.100.10',
                         logical_ip='10.0.0.5'),
            ovsdb.insert('Logical_Router', name='neutron-r1',
                         ports=['named-uuid', 'lrp'],
                         nat=ovsdb.ovsdb_set([['named-uuid', 'snat'],
                                              ['named-uuid', 'fip']])))
        northd = programs.start(self)
        self.eventually(
            lambda: self.sb.rows('Port_Binding', where=ovsdb.clauses(
                {'logical_port': 'cr-lrp-' + suffix})), 'northd has been')
        self.cloud.move('lrp-' + suffix, HERE)
        eyes = self.eyes()
        router = self.eventually(lambda: eyes.router('r1'), 'the router')
        port = router.ports[0]
        self.assertTrue(port.local)
        self.assertEqual(('provnet-1', 'physnet1', cloud.BRIDGE, 3), (
            port.segment.localnet_port, port.segment.physical_network,
            port.segment.bridge, port.segment.patch_port))
        for address in ('198.51.100.1', '198.51.100.10'):
            self.assertEqual([port.lrp], eyes.sources('r1', address).sent)
        self.assertEqual(
            {'198.51.100.1': ('snat', 'router'), '198.51.100.10': ('fip',)},
            {address: each.kinds for address, each
             in eyes.addresses('r1').items()})
        # One more is in nat_addresses, too, and changes no other address.
        router, before = eyes.router('r1'), eyes.addresses('r1')
        self.cloud.add_nat('r1', '198.51.100.11')
        self.eventually(
            lambda: eyes.sources('r1', '198.51.100.11').sent == [port.lrp] and
            '198.51.100.11' in eyes.addresses('r1'), 'the third address')
        self.assertIs(router, eyes.router('r1'))
        for address, each in before.items():
            self.assertIs(each, eyes.addresses('r1')[address])
        self.eventually(lambda: self._order(eyes) == (2, 2), 'the order')
        northd.send_signal(signal.SIGSTOP)
        self.nb.transact(ovsdb.update('Gateway_Chassis', {}, priority=0))
        self.eventually(lambda: self._order(eyes) == (0, 2), 'only in NB')
        northd.send_signal(signal.SIGCONT)
        self.eventually(lambda: self._order(eyes) == (0, 0), 'in both')

    def _order(self, eyes):
        """The priority of this chassis in NB and in SB."""
        group, = eyes.look().groups
        own = group.candidate(HERE)
        return own.priority, own.applied
