# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a NAT row leaves as it is, and what changes it all the same."""

import subprocess

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.ovn import queries
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = cloud.CHASSIS
FIP = '198.51.100.10'
PAIR = ownership.VETH_DEFAULT, ownership.VETH_PROVIDER


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


class DevicesTest(base.OvsdbTestCase):
    """Without any event: only the kernel knows of the change."""

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        self.cloud.add_router('r1', chassis=HERE)
        self.look = self.eyes()

    def devices(self):
        """dict of name to device, as seen and as the kernel has them."""
        seen = self.look.look().node.devices
        self.assertEqual({device.name: device for device
                          in links.read_devices()},
                         {device.name: device for device in seen})
        return {device.name: device for device in seen}

    def test_a_device_that_comes_changes_and_goes(self):
        one, other = PAIR
        self.assertNotIn(one, self.devices())
        self.cloud.add_nat('r1', '198.51.100.10')
        for mac in '0a:00:00:00:00:01', '0a:00:00:00:00:02':
            ip('link', 'add', one, 'address', mac, 'type', 'veth', 'peer',
               'name', other)
            self.assertEqual(mac, self.devices()[one].mac)
            ip('link', 'set', one, 'up')
            self.assertTrue(self.devices()[one].up)
            ip('link', 'set', one, 'name', 'elsewhere')
            self.assertNotIn(one, {d.name: d for d in
                                   self.look.look().node.devices})
            ip('link', 'set', 'elsewhere', 'name', one)
            self.assertIn(one, self.devices())
            # Made again between two views.
            ip('link', 'del', one)


class FullTest(base.OvsdbTestCase):
    """A full view is built anew after a change, and not without one."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.look = self.eyes()
        self.eventually(lambda: self.look.fips('r1'), 'a NAT row')
        self.full()

    def full(self, **options):
        """(router, its addresses) of a view that is full by default."""
        seen = self.look.look(**{'full': True, **options})
        router, = seen.routers
        return router, seen.addresses[router.uuid]

    def same(self, before):
        """That a full view has the same objects; whether it is anew."""
        for one, other in zip(before, self.full(), strict=True):
            self.assertIs(one, other)
        return self.look.view._builder.whole

    def test_after_a_change_all_is_built_anew(self):
        """What is equal stays the same object nevertheless."""
        before = self.full()
        # Another router's, which leaves this one as it is.
        self.cloud.add_router('r2', chassis=cloud.OTHER)
        self.eventually(lambda: 'neutron-r2' in {
            row['name'] for row in self.nb.rows('Logical_Router', 'name')},
            'another router')
        self.eventually(lambda: self.same(before), 'a new view')

    def test_a_row_that_is_gone_without_a_notice_is_missed(self):
        with self.look.databases['nb'].rows() as nb:
            del nb['NAT'][next(iter(nb['NAT']))]
        self.assertEqual({'198.51.100.1'}, self.full()[1].keys())
        self.assertFalse(self.look.view.confirmed)

    def test_a_loss_without_a_notice_is_confirmed_first(self):
        """Also where a comparison looks at the rows piece by piece."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.ROWS_OF_PIECE', 2))
        self.eventually(lambda: self.full() and self.look.view.confirmed,
                        'confirmed')
        cut = queries.cut(self.look.view._builder.rows())
        for piece in cut:
            self.look.look(piece=piece)
            self.assertTrue(self.look.view.confirmed)
        self.assertEqual([], self.look.view.pieces())
        with self.look.databases['nb'].rows() as nb:
            row, = nb['Logical_Router'].values()
            row._data['nat'].values.clear()
        for piece in cut:
            if FIP not in self.full(full=False, piece=piece)[1]:
                break
        self.assertFalse(self.look.view.confirmed)
        self.eventually(lambda: not self.look.databases['nb'].connected,
                        'a doubtful replica')

    def test_a_loss_with_a_notice_needs_no_confirmation(self):
        """Also where the notice comes together with a piece."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.ROWS_OF_PIECE', 2))
        self.eventually(lambda: self.full() and self.look.view.confirmed,
                        'confirmed')
        self.cloud.add_nat('r1', '198.51.100.11')
        self.eventually(lambda: len(self.look.fips('r1')) == 2, 'two')
        cut = queries.cut(self.look.view._builder.rows())
        self.assertGreater(len(cut), 2)
        for piece in cut:
            self.cloud.remove_nat('r1', '198.51.100.11')
            self.synchronise(self.look)
            _router, addresses = self.full(full=False, piece=piece)
            self.assertEqual({'198.51.100.1', FIP}, addresses.keys())
            self.assertTrue(self.look.view.confirmed)
            self.cloud.add_nat('r1', '198.51.100.11')
            self.synchronise(self.look)
            self.assertEqual(2, len(self.look.fips('r1')))

    def test_sb_is_asked_each_time(self):
        """What its replica lacks is noticed without any other change."""
        self.eventually(lambda: self.full() and self.look.view.confirmed,
                        'confirmed')
        # Only the next question may find what is taken away now.
        self.look.answered('sb')
        with self.look.databases['sb'].rows() as sb:
            row = next(row for row in sb['Port_Binding'].values()
                       if row.type == 'chassisredirect')
            row._data['chassis'].values.clear()
        self.assertIn(FIP, self.full()[1])
        self.eventually(lambda: not self.look.databases['sb'].connected,
                        'a doubtful replica')


class GatewaysTest(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.look = self.eyes(drivers=['fip_route', 'gateway_drain'])
        self.at_rest()

    def at_rest(self):
        """The states of the gateways have come to rest."""
        self.eventually(lambda: self.look.look() and
                        self.look.view._handovers.settled, 'rest')

    def seen(self, address):
        """The view with a floating IP more."""
        self.cloud.add_nat('r1', address)
        self.eventually(lambda: address in self.look.fips('r1'), address)
        return self.look.view.last

    def test_a_group_changes_with_a_nat_row(self):
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': HERE}, priority=7))
        self.seen('198.51.100.10')
        self.eventually(lambda: [
            group.candidate(HERE).priority
            for group in self.look.look().groups] == [7], 'the priority')

    def test_a_network_of_a_tenant_changes_the_group(self):
        self.nb.transact(
            ovsdb.insert('NAT', 'snat1', type='snat',
                         external_ip='198.51.100.1',
                         logical_ip='10.0.7.0/24'),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-r1'}, 'nat',
                         'insert', ovsdb.ovsdb_set(['named-uuid', 'snat1']
                                                   for _one in '1')))
        self.eventually(lambda: [
            port.tenants for group in self.look.look().groups
            for port in group.ports] == [('10.0.7.0/24',)], 'the tenant')
