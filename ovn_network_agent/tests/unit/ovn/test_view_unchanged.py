# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a NAT row leaves as it is, and what changes it all the same."""

import fixtures

from ovn_network_agent.ovn import queries
from ovn_network_agent.tests.unit.ovn import clouds

HERE = clouds.HERE
OWN, FIP, MORE = (f'198.51.100.{n}' for n in (1, 10, 11))


class FullTest(clouds.CloudTestCase):
    """A full view is built anew after a change, and not without one."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', FIP)
        self.look = self.eyes()
        for _first in range(2):
            self.full()
        self.assertTrue(self.look.view.confirmed)

    def full(self, **options):
        """(router, its addresses) of a view that is full by default."""
        seen = self.look.look(**{'full': True, **options})
        router, = seen.routers
        return router, seen.addresses[router.uuid]

    def test_after_a_change_all_is_built_anew(self):
        """What is equal stays the same object nevertheless."""
        before = self.full()
        self.assertFalse(self.look.view._builder.whole)
        # Another router's, which leaves this one as it is.
        self.cloud.add_router('r2', chassis=clouds.AWAY)
        for one, other in zip(before, self.full(), strict=True):
            self.assertIs(one, other)
        self.assertTrue(self.look.view._builder.whole)

    def test_a_row_that_is_gone_without_a_notice_is_missed(self):
        with self.look.databases['nb'].rows() as nb:
            del nb['NAT'][next(iter(nb['NAT']))]
        self.assertEqual({OWN}, self.full()[1].keys())
        self.assertFalse(self.look.view.confirmed)

    def test_a_loss_with_a_notice_needs_no_confirmation(self):
        """Also where the notice comes together with a batch."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.BATCH_SIZE', 2))
        self.cloud.add_nat('r1', MORE)
        self.assertEqual({FIP, MORE}, self.look.fips('r1'))
        cut = queries.cut(self.look.view._builder.rows())
        self.assertGreater(len(cut), 2)
        for batch in cut:
            self.cloud.remove_nat('r1', MORE)
            _router, addresses = self.full(full=False, batch=batch)
            self.assertEqual({OWN, FIP}, addresses.keys())
            self.assertTrue(self.look.view.confirmed)
            self.cloud.add_nat('r1', MORE)
            self.assertEqual({FIP, MORE}, self.look.fips('r1'))


class GatewaysTest(clouds.CloudTestCase):
    """The states of the gateways have come to rest."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.look = self.eyes(drivers=['fip_route', 'gateway_drain'])
        for _until_at_rest in range(2):
            self.look.look()
        self.assertTrue(self.look.view._handovers.settled)

    def test_a_group_changes_with_a_nat_row(self):
        self.nb.update('Gateway_Chassis', {'chassis_name': HERE}, priority=7)
        self.cloud.add_nat('r1', FIP)
        self.assertEqual({FIP}, self.look.fips('r1'))
        group, = self.look.look().groups
        self.assertEqual(7, group.candidate(HERE).priority)

    def test_a_network_of_a_tenant_changes_the_group(self):
        self.cloud.add_nat('r1', OWN, '10.0.7.0/24', 'snat')
        group, = self.look.look().groups
        self.assertEqual([('10.0.7.0/24',)],
                         [port.tenants for port in group.ports])
