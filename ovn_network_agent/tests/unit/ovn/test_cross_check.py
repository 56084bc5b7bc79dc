# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cross-check of lost addresses; decision record 0021."""

import types

from oslotest import base

from ovn_network_agent.ovn import cross_check
from ovn_network_agent.ovn import indexes

HERE, OTHER = 'here', 'other'


class Row(types.SimpleNamespace):
    """A row as the indexes read one; rows that it refers to are rows."""

    @property
    def _data(self):
        """The references and the texts as python-ovs keeps them."""
        return {column: types.SimpleNamespace(values=[
            types.SimpleNamespace(value=getattr(each, 'uuid', each))
            for each in (value if isinstance(value, list) else [value])],
            type=types.SimpleNamespace(key=column))
            for column, value in vars(self).items()
            if isinstance(value, (list, str))}

    def _uuid_to_row(self, key, column):
        """The row that this row refers to; the type is the column."""
        return next((each for each in getattr(self, column)
                     if each.uuid == key), None)


class Cloud:
    """Rows by table, and the cross-check of their indexes."""

    def __init__(self):
        self.tables = {}

    def add(self, database, table, uuid, **columns):
        row = Row(uuid=uuid, **columns)
        self.tables.setdefault((database, table), {})[uuid] = row
        return row

    def router(self, name, chassis=None, address='192.0.2.1', nats=(),
               members=1, bound=True):
        """A router with a gateway port.

        :param chassis: name of the chassis of the port, None for no chassis
        :param members: number of its Gateway_Chassis rows
        :param bound: whether SB has a row for the port
        """
        port = self.add('nb', 'Logical_Router_Port', f'port-{name}',
                        name=f'lrp-{name}', networks=[address + '/24'],
                        gateway_chassis=[Row(uuid=f'gc-{name}-{n:d}')
                                         for n in range(members)],
                        ha_chassis_group=[])
        rows = [self.add('nb', 'NAT', f'nat-{external}',
                         type='dnat_and_snat',
                         external_ip=external) for external in nats]
        if bound:
            self.add('sb', 'Port_Binding', f'binding-{name}',
                     type='chassisredirect', logical_port=f'cr-lrp-{name}',
                     options={}, datapath=Row(uuid='dp'),
                     chassis=[Row(uuid=f'chassis-{chassis}', name=chassis)]
                     if chassis else [])
        return self.add('nb', 'Logical_Router', f'router-{name}',
                        ports=[port], nat=rows, load_balancer=[],
                        load_balancer_group=[], static_routes=[])

    def balance(self, router, *vips, group=False):
        """A load balancer of a router, or of a group of the router."""
        row = self.add('nb', 'Load_Balancer', f'lb-{len(self.tables)}',
                       vips=dict.fromkeys(vips, ''))
        if group:
            router.load_balancer_group.append(self.add(
                'nb', 'Load_Balancer_Group', 'group', load_balancer=[row]))
        else:
            router.load_balancer.append(row)

    @property
    def cross_check(self):
        return self.of()

    def of(self, machines=False):
        made = indexes.make()
        for (database, table), named in made.items():
            for index in named.values():
                index.rebuild(self.tables.get((database, table), {}))
        return cross_check.CrossCheck(
            lambda database, table, name: made[database, table][name], HERE,
            frozenset(), machines)


class CrossCheckTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = Cloud()

    def doubts(self, *addresses):
        return [*self.cloud.cross_check.doubts([a + '/32' for a in addresses])]

    def test_where_an_address_is(self):
        self.cloud.router('a', HERE, '192.0.2.1', ['192.0.2.10'])
        self.cloud.router('b', OTHER, '192.0.2.2', ['192.0.2.20'])
        self.cloud.router('c', None, '192.0.2.3', ['192.0.2.30'])
        found = {address for address in (
            '192.0.2.1', '192.0.2.10', '192.0.2.2', '192.0.2.20',
            '192.0.2.3', '192.0.2.30', '192.0.2.40')
            if self.cloud.cross_check.elsewhere(address + '/32')}
        self.assertEqual({'192.0.2.2', '192.0.2.20'}, found)

    def test_load_balancers(self):
        router = self.cloud.router('b', OTHER)
        self.cloud.balance(router, '192.0.2.50:80')
        self.cloud.balance(router, '192.0.2.51:80', group=True)
        for address in '192.0.2.50', '192.0.2.51':
            self.assertTrue(self.cloud.cross_check.elsewhere(address + '/32'))

    def test_both_databases_agree(self):
        self.cloud.router('a', HERE)
        self.cloud.router('b', OTHER, '192.0.2.2')
        self.assertEqual([], self.doubts('192.0.2.10', '192.0.2.11'))
        self.assertFalse(self.cloud.cross_check.emptied)

    def test_no_router(self):
        self.assertTrue(self.cloud.cross_check.emptied)
        self.assertEqual(['the Northbound database has no router at all'],
                         self.doubts('192.0.2.10'))

    def test_a_cloud_of_provider_networks_needs_no_router(self):
        self.assertTrue(self.cloud.of(machines=True).emptied)
        self.cloud.add('nb', 'Logical_Switch', 'switch', name='public',
                       external_ids={})
        self.assertFalse(self.cloud.of(machines=True).emptied)
        self.assertEqual([], [*self.cloud.of(machines=True).doubts(
            ['192.0.2.10/32'])])
        # Without that driver, a cloud without a router is odd.
        self.assertTrue(self.cloud.cross_check.emptied)

    def test_a_port_that_nb_does_not_have(self):
        for name, chassis in (('a', HERE), ('b', OTHER), ('c', HERE)):
            self.cloud.router(name, chassis)
        del self.cloud.tables['nb', 'Logical_Router']['router-a']
        del self.cloud.tables['nb', 'Logical_Router_Port']['port-b']
        (doubt,) = self.doubts('192.0.2.10')
        self.assertIn('has 1 gateway port on this chassis that', doubt)

    def test_ports_on_no_chassis(self):
        self.cloud.router('a', None, '192.0.2.1', ['192.0.2.10'])
        self.cloud.router('b', None, '192.0.2.2', ['192.0.2.20'],
                          bound=False)
        # No gateway port, so nobody has to claim it.
        self.cloud.router('c', None, '192.0.2.3', ['192.0.2.30'], members=0,
                          bound=False)
        (doubt,) = self.doubts('192.0.2.1', '192.0.2.10', '192.0.2.20',
                               '192.0.2.30', '192.0.2.40')
        self.assertIn('of 3 addresses are on no chassis', doubt)
