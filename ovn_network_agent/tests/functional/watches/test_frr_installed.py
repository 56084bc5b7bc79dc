# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes of a real zebra that another program takes from the kernel."""

from unittest import mock

from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.watches import test_frr_verification
from ovn_network_agent.watches.frr import frr_installed

route = test_frr_verification.route


class InstalledTest(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.entered(self.frr.namespace.path))
        self.backend = frr_static.StaticBackend(self.conf)
        self.addCleanup(self.backend.close)
        self.tracker = tracking.Tracker()
        self.made = frr_installed.Installed(self.conf)
        wanted = [route(number) for number in range(1, 8)]
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=tuple(wanted))))
        for each in wanted:
            self.tracker.want(each)
            self.tracker.found(each)
        self.passed()
        base.wait_until(lambda: not list(self.made._lacking(
            '', self.made._wanted)), 'the kernel has them')

    def passed(self):
        self.made.after_pass(outcome.Outcome(), self.tracker, True)

    def test_removed_by_their_nexthop_objects(self):
        self.assertFalse(self.made.look())
        self.assertFalse(self.made.look())
        self.assertEqual((), self.made.reasons)
        self.frr.ip('nexthop', 'flush')
        # Once it may be that zebra is not through yet.
        self.assertFalse(self.made.look())
        self.assertTrue(self.made.look())
        text, = self.made.reasons
        self.assertIn('198.51.100.1/32, 198.51.100.2/32', text)
        self.assertIn('198.51.100.5/32 and 2 more in the default VRF: zebra '
                      'reports the route as installed', text)
        # What FRR makes again is no longer missing.
        self.renew()
        self.assertTrue(self.made.look())
        self.assertEqual((), self.made.reasons)

    def test_installed_while_zebra_is_asked(self):
        self.frr.ip('nexthop', 'flush')
        real = frr_installed.bgp.read_effect

        def read_effect(*args):
            found = real(*args)
            self.renew()
            return found
        with mock.patch.object(frr_installed.bgp, 'read_effect', read_effect):
            self.assertEqual(frozenset(), self.made._missing())

    def test_an_address_that_another_gateway_announces_now(self):
        check, family, network = (
            'bgp network import-check', 'address-family ipv4 unicast',
            f'network {route(1).prefix}')
        self.frr.neighbour.configure(
            'router bgp 65002', f'no {check}', family, network)
        self.addCleanup(self.frr.neighbour.configure, 'router bgp 65002',
                        check, family, f'no {network}')
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=(route(1),))))
        base.wait_until(lambda: bgp.read_effect(
            '', [route(1).prefix], False)[0] == {route(1).prefix: ['bgp']},
            'learned')
        self.assertEqual([route(1).prefix], list(self.made._lacking(
            '', self.made._wanted)))
        self.made.look()
        self.made.look()
        self.assertEqual((), self.made.reasons)

    def renew(self):
        routes = tuple(map(route, range(1, 8)))
        for delta in (backends.Delta(delete=routes),
                      backends.Delta(create=routes)):
            self.assertEqual({}, self.backend.apply(delta))
        base.wait_until(lambda: not list(self.made._lacking(
            '', self.made._wanted)), 'the kernel has them')

    def test_what_zebra_has_not_installed_is_not_missing(self):
        """That is for the check of what FRR announces."""
        self.lose_bridge()
        base.wait_until(lambda: len(list(self.made._lacking(
            '', self.made._wanted))) == 7, 'the kernel has none')
        base.wait_until(lambda: not self.made._missing(),
                        'zebra has noticed')
        self.made.look()
        self.made.look()
        self.assertEqual((), self.made.reasons)

    def test_a_zebra_that_does_not_answer(self):
        self.frr.ip('nexthop', 'flush')
        self.made.look()
        with self.wedged('zebra'):
            self.assertTrue(self.made.look())
        self.assertIn('it is unknown whether', self.made.reasons[0])

    def test_the_thread_looks_after_a_full_comparison(self):
        woken = trigger.Trigger(0)
        self.made.start(woken)
        self.addCleanup(self.made.stop)
        self.frr.ip('nexthop', 'flush')
        self.passed()
        wake = woken.wait(10)
        self.assertIsNotNone(wake, (
            self.made._suspects,
            list(self.made._lacking('', self.made._wanted)),
            self.made._missing()))
        self.assertIn('routes of FRR looked for', wake.reasons)
        self.assertTrue(self.made.reasons)
