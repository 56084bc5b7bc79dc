# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend link on the real kernel."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.tests.functional.netlink import base


class LinkTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = link.LinkBackend(self.conf)

    def test_bridge_is_brought_up(self):
        wanted = resources.LinkUp('br-ex')
        self.assertEqual([], self.backend.read(frozenset([wanted.ref])))
        self.assertEqual([wanted], self.create(self.backend, wanted))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_absent_device_is_a_failure_of_its_own(self):
        absent, there = resources.LinkUp('absent'), resources.LinkUp('br-ex')
        failed = self.backend.apply(backends.Delta(create=(absent, there)))
        self.assertEqual([absent.ref], list(failed))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_check_names_option_value_and_remedy(self):
        self.ip('link del br-ex')
        message, = self.backend.check()
        for text in ('[DEFAULT] bridge_dev = br-ex', 'no such device',
                     'ovs-vsctl add-br br-ex'):
            self.assertIn(text, message)

    def test_port_forwarding_alone_needs_no_bridge(self):
        """Row PFM-02."""
        self.ip('link del br-ex')
        for name in ('ovn_nb_remote', 'ovn_sb_remote'):
            self.conf.set_override(name, [], 'ovn')
        self.assertEqual([], self.backend.check())

    def test_check_of_the_vrf(self):
        message, = link.LinkBackend(self.configure('vrf-provider')).check()
        self.assertIn('[frr] vrf_name = vrf-provider', message)
        self.assertIn('type vrf', message)
        message, = link.LinkBackend(self.configure('lo')).check()
        self.assertIn('is no VRF', message)

    def test_pair_needs_its_vrf(self):
        self.configure('lo')
        pair = resources.VethPair('veth-default', 'veth-provider', 'lo')
        failed = self.backend.apply(backends.Delta(create=(pair,)))
        self.assertIn('VRF lo does not exist', failed[pair.ref])
        self.assertNotIn('veth-default', self.ip('link show'))

    def test_other_names_are_refused(self):
        pair = resources.VethPair('br-ex', 'br-ex-peer', 'vrf')
        failed = self.backend.apply(backends.Delta(delete=(pair,)))
        self.assertIn('is not ours', failed[pair.ref])
        self.assertIn('br-ex', self.ip('link show'))

    def test_a_device_with_our_name_that_is_no_pair_survives(self):
        self.ip('link add veth-default type veth peer name other')
        pair = resources.VethPair('veth-default', 'veth-provider', 'vrf')
        self.assertEqual([], self.backend.read(frozenset([pair.ref])))
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertIn('veth-default', self.ip('link show'))

    def test_pair_of_another_maker_is_ours_where_it_is_wanted(self):
        self.ip('link add veth-default type veth peer name veth-provider')
        self.assertEqual([], self.backend.read(frozenset()))
        pair, = self.backend.read(frozenset([resources.Ref(
            resources.VethPair.kind, ('veth-default',))]))
        # Without its VRF, and down: not as wanted.
        self.assertEqual('', pair.vrf)
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertNotIn('veth-default', self.ip('link show'))
