# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend address on the real kernel."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.tests.functional.netlink import base


class AddressTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = address.AddressBackend(self.conf)

    def addresses(self):
        return [f'{address["local"]}/{address["prefixlen"]}'
                for device in self.shown('-4 address show dev br-ex')
                for address in device.get('addr_info', [])]

    def test_twice_each(self):
        wanted = resources.Address('br-ex', '169.254.0.1/30')
        for _repeat in range(2):
            self.assertEqual([wanted], self.create(self.backend, wanted))
        self.assertEqual(['169.254.0.1/30'], self.addresses())
        for _repeat in range(2):
            self.assertEqual([], self.change(self.backend, delete=(wanted,)))
        self.assertEqual([], self.addresses())

    def test_foreign_addresses_are_not_ours(self):
        self.ip('address add 203.0.113.1/24 dev br-ex')
        self.ip('address add 169.254.0.1/30 dev br-ex-peer')
        self.ip('address add 169.254.0.1/24 dev br-ex')
        wanted = resources.Address('br-ex', '169.254.0.1/30')
        self.assertEqual([], self.backend.read(frozenset([wanted.ref])))
        self.assertEqual([], self.change(self.backend, delete=(wanted,)))
        self.assertEqual(['203.0.113.1/24', '169.254.0.1/24'],
                         self.addresses())

    def test_secondary_addresses_of_others_survive(self):
        ours = resources.Address('br-ex', '203.0.113.1/24')
        self.create(self.backend, ours)
        self.ip('address add 203.0.113.2/24 dev br-ex')
        self.assertIn('203.0.113.2/24', self.backend.apply(
            backends.Delta(delete=(ours,)))[ours.ref])
        self.assertEqual(['203.0.113.1/24', '203.0.113.2/24'],
                         self.addresses())
        self.set_sysctl('net/ipv4/conf/br-ex/promote_secondaries', '1')
        self.assertEqual([], self.change(self.backend, delete=(ours,)))
        self.assertEqual(['203.0.113.2/24'], self.addresses())

    def test_a_bad_item_costs_only_itself(self):
        bad = (resources.Address('absent', '203.0.113.1/32'),
               resources.Address('br-ex', '203.0.113.1'),
               resources.Address('br-ex', '203.0.113.1/33'))
        good = resources.Address('br-ex', '203.0.113.2/32')
        failed = self.backend.apply(backends.Delta(create=(*bad, good)))
        self.assertCountEqual([r.ref for r in bad], failed)
        self.assertEqual(['203.0.113.2/32'], self.addresses())


class VipAddressTest(base.KernelTestCase):
    """Addresses of VIPs: to have one is to announce it."""

    def setUp(self):
        super().setUp()
        self.ip('link add loopback1 type veth peer name loopback1-peer')
        self.ip('link set loopback1 up')
        self.backend = address.AddressBackend(self.conf)

    def addresses(self):
        return {f'{found["local"]}/{found["prefixlen"]}': found
                for device in self.shown('address show dev loopback1')
                for found in device.get('addr_info', [])
                if found['scope'] == 'global'}

    def test_both_families(self):
        wanted = [resources.VipAddress('loopback1', address) for address in
                  ('192.0.2.53/32', '198.18.0.1/32', '2001:db8::53/128')]
        for _repeat in range(2):
            self.assertEqual(set(wanted),
                             set(self.create(self.backend, *wanted)))
        self.assertEqual({r.address for r in wanted},
                         set(self.addresses()))
        self.assertEqual([], self.change(self.backend, delete=wanted))
        self.assertEqual({}, self.addresses())

    def test_an_ipv6_address_is_of_use_at_once(self):
        self.create(self.backend, resources.VipAddress(
            'loopback1', '2001:db8::53/128'))
        [found] = self.addresses().values()
        self.assertTrue(found.get('nodad'))
        self.assertFalse(found.get('tentative'))

    def test_what_a_former_run_left_is_withdrawn_first(self):
        """Nobody wants it any more, and nothing else says that it is one."""
        left = resources.VipAddress('loopback1', '192.0.2.53/32')
        other = resources.Address('br-ex', '169.254.169.254/32')
        self.create(self.backend, left, other)
        found = address.AddressBackend(self.conf).read(frozenset())
        self.assertEqual({left, other}, set(found))
        self.assertIs(resources.Stage.ANNOUNCE, left.stage)
        self.assertEqual([other], self.change(self.backend, delete=[left]))

    def test_the_last_one_goes_beside_the_anchor(self):
        """Issue 10, A5: a VIP that stays attracts its clients."""
        vip = resources.VipAddress('loopback1', '192.0.2.53/32')
        anchor = resources.Address('loopback1', ownership.ANCHOR)
        self.create(self.backend, anchor, vip)
        self.ip('route add 198.51.100.53/32 dev loopback1 proto static')
        self.assertEqual([anchor], self.change(self.backend, delete=[vip]))
        self.assertEqual(1, len(self.shown('route show 198.51.100.53')))
        # The anchor attracts nothing, so it may stay for the route.
        failures = self.backend.apply(backends.Delta(delete=(anchor,)))
        self.assertIsInstance(failures[anchor.ref], backends.Kept)

    def test_the_anchor_is_no_source(self):
        """Neither of connections nor of ICMP errors.

        The kernel takes the first address of the first device that has one
        where the way out has none, as with BGP over link-local addresses.
        """
        self.ip('link set br-ex up')
        self.ip('link set br-ex-peer up')
        self.create(self.backend,
                    resources.Address('loopback1', ownership.ANCHOR))
        self.ip('route add default dev br-ex scope global')
        self.assertNotIn('prefsrc', self.way('203.0.113.9'))
        self.create(self.backend,
                    resources.VipAddress('loopback1', '192.0.2.53/32'))
        self.assertEqual('192.0.2.53', self.way('203.0.113.9')['prefsrc'])

    def way(self, address):
        """What the kernel says about the way to an address."""
        found, = self.shown(f'route get {address}')
        return found

    def test_one_that_has_to_stay_is_a_failure(self):
        vip = resources.VipAddress('loopback1', '192.0.2.53/32')
        self.create(self.backend, vip)
        self.ip('route add 198.51.100.53/32 dev loopback1 proto static')
        failures = self.backend.apply(backends.Delta(delete=(vip,)))
        self.assertNotIsInstance(failures[vip.ref], backends.Kept)
        self.assertIn('is the last address', failures[vip.ref])

    def test_an_address_of_the_operator_is_not_ours(self):
        self.ip('address add 192.0.2.1/32 dev loopback1')
        self.assertEqual([], self.backend.read(frozenset()))
        # One that is wanted is there already.
        wanted = resources.VipAddress('loopback1', '192.0.2.1/32')
        self.assertEqual([wanted], self.create(self.backend, wanted))
