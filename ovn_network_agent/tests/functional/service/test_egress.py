# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents with the driver egress_ip: from a file to rows of a real database."""

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import egress

SHOP = {'name': 'shop', 'addresses': ['198.51.100.50', '2001:db8::50'],
        'select': {'network': 'net1'}}


class RouterTest(egress.EgressTestCase):
    """Mode router: machines leave by NAT rows of their router."""

    def test_machines_come_and_go(self):
        self.cloud.add_ports('net1', a=['10.0.1.5', 'fd00:1::5'])
        self.put(SHOP)
        agent = self.agent()
        first = [('shop', '10.0.1.5', '198.51.100.50'),
                 ('shop', 'fd00:1::5', '2001:db8::50')]
        self.leave(*first)
        self.well(agent)
        before = self.ours().keys()
        self.transactions.since()
        self.cloud.add_ports('net1', b=['10.0.1.6'])
        self.leave(*first, ('shop', '10.0.1.6', '198.51.100.50'))
        # The port, and its row.
        self.assertEqual(2, self.transactions.since())
        self.assertEqual(set(), before - self.ours().keys())
        self.cloud.remove_port('net1', 'b')
        self.leave(*first)
        self.assertEqual(before, self.ours().keys())
        self.put()
        self.leave()
        self.well(agent)
        self.assertEqual({}, self.ours())

    def test_only_to_some_destinations(self):
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        limited = {**SHOP, 'destinations': ['192.0.2.0/24', '2001:db8:2::/48']}
        self.put(limited)
        agent = self.agent()
        self.leave(('shop', '10.0.1.5', '198.51.100.50'))
        nat, = (row for (table, _uuid), row in self.ours().items()
                if table == 'NAT')
        row, = (row for (table, _uuid), row in self.ours().items()
                if table == 'Address_Set')
        self.assertEqual(row['_uuid'], nat['allowed_ext_ips'])
        self.assertEqual('192.0.2.0/24', row['addresses'])
        self.well(agent)
        self.put(SHOP)
        self.eventually(lambda: [table for table, _uuid in self.ours()] ==
                        ['NAT'], self.ours)
        self.well(agent)
        # A row that refers to a set goes together with the set.
        self.cloud.add_ports('net1', b=['10.0.1.6'])
        for entries, tables in (
                ([limited], ['NAT', 'NAT', 'Address_Set']),
                ([{**SHOP, 'select': {'ports': ['a']}}], ['NAT']),
                ([limited], ['NAT', 'NAT', 'Address_Set']),
                ([], [])):
            self.put(*entries)
            self.eventually(lambda wanted=tables: [
                table for table, _uuid in self.ours()] == wanted, self.ours)
            self.well(agent)

    def test_a_changed_row_is_repaired(self):
        """And a stop may remove the rows."""
        self.cloud.add_ports('net1', a=['10.0.1.5'], b=['10.0.1.6'])
        self.put(SHOP)
        agent = self.agent(egress_ip__cleanup_on_stop=True)
        wanted = [('shop', '10.0.1.5', '198.51.100.50'),
                  ('shop', '10.0.1.6', '198.51.100.50')]
        self.leave(*wanted)
        self.well(agent)
        for change in (
                lambda: self.nb.transact(ovsdb.update(
                    'NAT', {'logical_ip': '10.0.1.5'},
                    external_ip='198.51.100.99')),
                lambda: self.cloud.remove_nat('r1', '198.51.100.50')):
            change()
            self.leave(*wanted)
        self.well(agent)
        # A lost mark withdraws nothing.
        kept = {key for key, row in self.ours().items()
                if row['logical_ip'] == '10.0.1.6'}
        self.nb.transact(ovsdb.update(
            'NAT', {'logical_ip': '10.0.1.5'},
            external_ids=ovsdb.ovsdb_dict({})))
        self.leave(*wanted)
        self.assertLess(kept, self.ours().keys())
        self.well(agent)
        self.stop(agent)
        self.leave()

    def test_an_update_of_the_router_in_neutron(self):
        """Neutron takes a SNAT row that it does not know for a change.

        So each update deletes all SNAT rows and the gateway port, and makes
        its own rows and the port again, in one transaction
        (_check_external_ips_changed, DeleteLRouterExtGwCommand).
        """
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put(SHOP)
        agent = self.agent()
        wanted = ('shop', '10.0.1.5', '198.51.100.50')
        self.leave(wanted)
        self.well(agent)
        former = self.ours().keys()
        router = {'name': 'neutron-r1'}
        row, = self.nb.rows('Logical_Router', 'nat',
                            where=ovsdb.clauses(router))
        self.nb.transact(
            ovsdb.update('Logical_Router', router, nat=ovsdb.ovsdb_set(()),
                         ports=self.named('Logical_Router_Port',
                                          'lrp-r1-net1')),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r1',
                         mac='fa:16:3e:00:00:01',
                         networks=ovsdb.ovsdb_set(
                             ['198.51.100.1/24', '2001:db8::1/64']),
                         external_ids=ovsdb.ovsdb_dict(
                             {'neutron:is_ext_gw': 'True'})),
            ovsdb.insert('NAT', 'nat', type='snat',
                         external_ip='198.51.100.1',
                         logical_ip='10.0.1.0/24'),
            ovsdb.mutate('Logical_Router', router, 'ports', 'insert',
                         ['named-uuid', 'lrp']),
            ovsdb.mutate('Logical_Router', router, 'nat', 'insert',
                         ['named-uuid', 'nat']))
        self.leave(wanted)
        self.assertEqual(set(), former & self.ours().keys())
        self.well(agent)


class EcmpTest(egress.EgressTestCase):
    """Mode ecmp: several gateway ports at once."""

    ENTRY = {**SHOP, 'mode': 'ecmp',
             'addresses': ['198.51.100.50', '203.0.113.50']}

    def policies(self):
        return sorted((row['action'], row['priority'], row['match'],
                       row['nexthops'][1]) for (table, _uuid), row in
                      self.ours().items() if table == 'Logical_Router_Policy')

    def ports(self):
        """(machine, address, gateway port) of our NAT rows, sorted."""
        names = {row['_uuid'][1]: row['name']
                 for row in self.nb.rows('Logical_Router_Port')}
        return sorted(
            (row['logical_ip'], row['external_ip'],
             names.get(row['gateway_port'][1]))
            for (table, _uuid), row in self.ours().items() if table == 'NAT')

    def test_two_ports(self):
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put(self.ENTRY)
        agent = self.agent()
        self.degraded(agent, 'mode ecmp needs two gateway ports of the '
                      'router, and 1 is there')
        self.assertEqual({}, self.ours())
        self.cloud.add_port('r1', 'second', ['203.0.113.1/24'])
        wanted = [('10.0.1.5', '198.51.100.50', 'lrp-r1'),
                  ('10.0.1.5', '203.0.113.50', 'lrp-second')]
        self.eventually(lambda: self.ports() == wanted, self.ports)
        self.well(agent)
        source, = (row for (table, _uuid), row in self.ours().items()
                   if table == 'Address_Set')
        self.assertEqual('10.0.1.5', source['addresses'])
        match = f'ip4.src == ${source["name"]}'
        self.assertEqual([
            ('allow', 100, f'{match} && ip4.dst == {{10.0.1.0/24, '
             '198.51.100.0/24, 203.0.113.0/24}', []),
            ('reroute', 99, match, ['198.51.100.254', '203.0.113.254'])],
            self.policies())
        # One more machine is two more rows, and a longer set.
        before = self.ours()
        self.transactions.since()
        self.cloud.add_ports('net1', b=['10.0.1.6'])
        self.eventually(lambda: len(self.ports()) == 4, self.ports)
        self.assertEqual(2, self.transactions.since())
        self.assertEqual(set(), before.keys() - self.ours().keys())
        self.well(agent)


class HostTest(egress.EgressTestCase):
    """Mode host: the node of the gateway translates."""

    ENTRY = {**SHOP, 'mode': 'host', 'addresses': ['203.0.113.50',
                                                   '203.0.113.51']}

    def publish(self, chassis, text):
        self.cloud.say('NB_Global', {}, external_ids={
            ownership.EXT_ID_EGRESS_NETWORKS + chassis: text})

    def translated(self):
        """(machine, external IP, address, chassis), sorted."""
        return sorted(
            (row['logical_ip'], row['external_ip'], *(
                dict(row['external_ids'][1]).get(key) for key in (
                    ownership.EXT_ID_EGRESS_ADDRESS,
                    ownership.EXT_ID_EGRESS_CHASSIS)))
            for row in self.ours().values())

    def become(self, *wanted):
        self.eventually(lambda: self.translated() == sorted(wanted),
                        lambda: f'{self.translated()} is {wanted}')

    def test_the_address_follows_the_gateway(self):
        if not self.nb.rows('NB_Global'):
            self.nb.transact(ovsdb.insert('NB_Global'))
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put(self.ENTRY)
        agent = self.agent()
        self.degraded(agent, 'no chassis has the gateway port lrp-r1')
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.degraded(agent, 'offers no networks')
        self.publish(cloud.CHASSIS, '203.0.113.50/24')
        row = ('10.0.1.5', '10.0.1.5')
        self.become((*row, '203.0.113.51', cloud.CHASSIS))
        # This node of the test has no such link.
        self.degraded(agent, 'no link of this node has a network')
        # What it has is valid, and stays.
        self.publish(cloud.CHASSIS, '203.0.113.7/24')
        self.publish(cloud.OTHER, '203.0.113.8/24')
        before = self.ours().keys()
        self.cloud.move('lrp-r1', None)
        self.cloud.add_ports('net1', b=['10.0.1.6'])
        more = ('10.0.1.6', '10.0.1.6')
        self.become((*row, '203.0.113.51', cloud.CHASSIS),
                    (*more, '203.0.113.51', cloud.CHASSIS))
        self.assertEqual(set(), before - self.ours().keys())
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.become((*row, '203.0.113.51', cloud.OTHER),
                    (*more, '203.0.113.51', cloud.OTHER))
        self.well(agent)
        # Machines that come and rows that stay are none.
        counted, = (backend.counts for backend in
                    agent._reconciler.backends.all if backend.counts)
        self.assertEqual({'egress_ip_failovers_total': 1}, counted)
        self.publish(cloud.OTHER, None)
        self.become()
        self.degraded(agent, 'offers no networks')


class FileTest(egress.EgressTestCase):

    def test_a_file_in_doubt_withdraws_nothing(self):
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put(SHOP)
        agent = self.agent()
        wanted = ('shop', '10.0.1.5', '198.51.100.50')
        self.leave(wanted)
        self.well(agent)
        before = self.nb.content()
        for text, part in (('', 'one key'), ('[', 'no YAML')):
            self.write(text)
            self.degraded(agent, part)
            self.degraded(agent, 'the egress addresses of the file stay as '
                          'they were')
            self.assertEqual(before, self.nb.content())
        # A bad entry costs itself.
        self.put({**SHOP, 'name': '1'}, {**SHOP, 'name': 'other'})
        self.leave(('other', *wanted[1:]))
        self.degraded(agent, 'line 1: egress_ips[0].name = "1": is no name')
        self.put({**SHOP, 'name': 'other'})
        self.well(agent)


class GoneTest(egress.EgressTestCase):
    """What a chassis has offered, and that is gone for good."""

    real = {**egress.EgressTestCase.real,
            'egress_networks': nb_global.EgressNetworksBackend}

    def test_the_entry_of_the_last_one(self):
        """An agent that offers nothing itself removes it."""
        key = ownership.EXT_ID_EGRESS_NETWORKS
        other = (key + cloud.OTHER, '203.0.113.8/24')
        self.nb.transact(ovsdb.insert(
            'NB_Global', external_ids=ovsdb.ovsdb_dict(dict((
                (key + 'gone', '203.0.113.7/24'), other)))))
        self.agent(times={'jitter': 0.2},
                   gateway_drain__stale_chassis_grace_period=1)

        def found():
            return self.nb.rows('NB_Global')[0]['external_ids'][1]
        self.eventually(lambda: found() == [[*other]], found)
