# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cross-check of lost addresses; decision record 0021."""

from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY


class CrossCheckTest(clouds.CloudTestCase):

    def router(self, name, chassis=None, address='192.0.2.1', nats=(),
               **more):
        """A router with a gateway port and floating IPs."""
        self.cloud.add_router(name, [address + '/24'], chassis, **more)
        if nats:
            self.cloud.add_nats(name, nats)

    def checked(self, *drivers):
        eyes = self.eyes(drivers=[*drivers] or ['fip_route'])
        eyes.look()
        return eyes.view.cross_check

    def doubts(self, *addresses):
        return [*self.checked().doubts([a + '/32' for a in addresses])]

    def test_where_an_address_is(self):
        for number, chassis in enumerate((HERE, AWAY, None), 1):
            self.router(f'r{number}', chassis, f'192.0.2.{number}',
                        [f'192.0.2.{number}0'])
        self.cloud.add_balancer('r2', '192.0.2.50:80')
        self.cloud.add_balancer('r2', '192.0.2.51:80', group=True)
        found = self.checked()
        self.assertEqual({2, 20, 50, 51}, {
            number for number in range(60)
            if found.elsewhere(f'192.0.2.{number}/32')})

    def test_both_databases_agree(self):
        self.router('r1', HERE)
        self.router('r2', AWAY, '192.0.2.2')
        self.assertEqual([], self.doubts('192.0.2.10', '192.0.2.11'))
        self.assertFalse(self.checked().emptied)

    def test_no_router(self):
        self.assertTrue(self.checked().emptied)
        self.assertEqual(['the Northbound database has no router at all'],
                         self.doubts('192.0.2.10'))

    def test_a_cloud_of_provider_networks_needs_no_router(self):
        self.assertTrue(self.checked('provider_port').emptied)
        self.cloud.add_switch()
        found = self.checked('provider_port')
        self.assertEqual((False, []), (
            found.emptied, [*found.doubts(['192.0.2.10/32'])]))
        # Without that driver, a cloud without a router is odd.
        self.assertTrue(self.checked().emptied)

    def test_a_port_that_nb_does_not_have(self):
        for name, chassis in (('r1', HERE), ('r2', AWAY), ('r3', HERE)):
            self.router(name, chassis)
        for name in ('r1', 'r2'):
            self.nb.delete('Logical_Router', name='neutron-' + name)
        doubt, = self.doubts('192.0.2.10')
        self.assertIn('has 1 gateway port on this chassis that', doubt)

    def test_ports_on_no_chassis(self):
        for number in (1, 2, 3):
            self.router(f'r{number}', None, f'192.0.2.{number}',
                        [f'192.0.2.{number}0'], bind=number == 1)
        # No gateway port, so nobody has to claim it.
        self.nb.update('Logical_Router_Port', {'name': 'lrp-r3'},
                       gateway_chassis=[])
        doubt, = self.doubts('192.0.2.1', '192.0.2.10', '192.0.2.20',
                             '192.0.2.30', '192.0.2.40')
        self.assertIn('of 3 addresses are on no chassis', doubt)
