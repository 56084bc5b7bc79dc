# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What zebra and bgpd really made of it, and what is said about that."""

import json
import signal
import time
from unittest import mock

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.tests import programs
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches.frr import frr_verification


def route(last, network='198.51.100'):
    return resources.Announcement('', f'{network}.{last}/32', base.BRIDGE)


class VerificationTestCase(base.FrrTestCase):
    """Routes are written by the backend, and looked at by hand."""

    def setUp(self):
        super().setUp()
        self.backend = frr_static.StaticBackend(self.conf)
        self.addCleanup(self.backend.close)
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 ge 32')
        self.trigger = trigger.Trigger(0)
        self.tracker = tracking.Tracker()
        self.made = frr_verification.Verification(
            self.conf, trigger=self.trigger)

    def announce(self, *routes):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=routes)))
        self.made.after_pass(outcome.Outcome(applied=tuple(
            ('created', r) for r in routes)), self.tracker, False)

    def withdraw(self, *routes):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=routes)))
        self.made.after_pass(outcome.Outcome(applied=tuple(
            ('deleted', r) for r in routes)), self.tracker, False)

    def look(self, times=2, everything=True):
        """Look so often; returns the reasons then."""
        for _time in range(times):
            self.made.look(dict(self.made._wanted), everything)
        return self.made.reasons

    def wait_for(self, *texts):
        """Until these are the reasons, each one a part of it."""
        def there():
            found = self.look()
            return len(found) == len(texts) and all(
                text in reason for text, reason in zip(texts, found))

        base.wait_until(there, f'{texts} instead of {self.made.reasons}')

    def stale(self):
        """Backends that were put in doubt since the last call."""
        wake = self.trigger.wait(0)
        return worlds.doubted(wake)


class TestVerification(VerificationTestCase):

    def test_all_is_well(self):
        routes = [route(n) for n in range(1, 4)]
        self.announce(*routes)
        prefixes = {r.prefix for r in routes}
        base.wait_until(
            lambda: frr_verification.advertised('', prefixes) == prefixes,
            'advertised', 10)
        self.assertEqual((), self.look())
        self.assertEqual(set(), self.stale())
        self.withdraw(*routes)
        base.wait_until(lambda: not frr_verification.advertised('', prefixes),
                        'withdrawn', 10)

    def test_inactive(self):
        self.announce(route(1))
        self.lose_bridge()
        # Once it may be that zebra is not through yet.
        self.assertEqual((), self.look(1))
        self.assertEqual({'frr_static', 'router_advertisement',
                          'evpn_instance'}, self.stale())
        text, = self.look(1)
        self.assertIn('198.51.100.1/32 is inactive', text)
        self.frr.ip('link', 'set', base.BRIDGE, 'up')
        self.wait_for()

    def test_filtered(self):
        outside = route(1, '203.0.113')
        self.announce(route(1), outside)
        self.wait_for('203.0.113.1/32 is in the table of BGP in the default '
                      'VRF and advertised to no neighbour')
        self.assertIn('10.0.0.2', self.made.reasons[0])
        self.withdraw(outside)
        self.assertEqual((), self.look())

    def test_a_new_announcement_counts_anew(self):
        outside = route(1, '203.0.113')
        self.announce(outside)
        self.assertEqual((), self.look(1))

        def again(*_args):
            self.withdraw(outside)
            self.announce(outside)
        again()
        self.assertEqual((), self.look(1))
        self.assertEqual(1, len(self.look(1)))
        # During a check, and FRR is slower than it.
        again()
        with mock.patch.object(self.made, '_repair', again):
            self.look(1)
        self.assertEqual((), self.look(1))

    def test_no_neighbour_for_ipv4(self):
        # bgpd then says nothing at all of its neighbours.
        self.announce(route(1))
        self.wait_for()
        words = ('router bgp 65001', 'address-family ipv4 unicast')
        self.frr.configure(*words, 'no neighbor 10.0.0.2 activate')
        try:
            self.wait_for('no BGP neighbour of the default VRF')
        finally:
            self.frr.configure(*words, 'neighbor 10.0.0.2 activate')
            self.frr.wait_for_session()
        self.wait_for()

    def test_not_redistributed(self):
        self.announce(route(1))
        self.wait_for()
        words = ('router bgp 65001', 'address-family ipv4 unicast')
        self.addCleanup(self.frr.configure, *words, 'redistribute static')
        self.frr.configure(*words, 'no redistribute static')
        self.wait_for('198.51.100.1/32 is not in the table of BGP in the '
                      'default VRF; its router bgp needs "redistribute '
                      'static"')
        self.conf.set_override('bgp_check', False, 'frr')
        self.assertEqual((), self.look())

    def test_no_neighbour(self):
        self.announce(route(1))
        self.wait_for()
        words = ('router bgp 65001',)
        self.frr.configure(*words, 'neighbor 10.0.0.2 shutdown')
        self.addCleanup(self.frr.wait_for_session)
        self.addCleanup(self.frr.configure, *words,
                        'no neighbor 10.0.0.2 shutdown')
        self.wait_for('no BGP neighbour of the default VRF is established '
                      '(1 configured)')

    def test_what_vanished_while_nobody_could_look(self):
        """FRR has restarted: what it has forgotten is read all the same."""
        self.announce(route(1), route(2))
        self.wait_for()
        self.stale()
        self.frr.kill('bgpd')
        try:
            text, = self.look()
            self.assertIn('cannot be checked', text)
            self.assertEqual(set(), self.stale())
            # It is looked at again, and not because it was wrong.
            pending, *_rest = self.made._wait()
            self.assertEqual({route(1).prefix, route(2).prefix},
                             set(pending))
            self.frr.configure('no ip route 198.51.100.1/32 br-ex')
        finally:
            self.frr.start('bgpd', config=base.BGP)
            self.frr.wait_for_session()
        base.wait_until(lambda: not json.loads(self.frr.vtysh(
            'show ip route 198.51.100.1/32 json')), 'gone')
        self.look(1)
        self.assertEqual({'frr_static', 'router_advertisement',
                          'evpn_instance'}, self.stale())

    def test_only_what_changed_is_asked_for(self):
        self.announce(*(route(n) for n in range(1, 9)))
        self.wait_for()
        self.announce(route(9))
        pending, everything, _changes = self.made._wait()
        self.assertEqual({route(9).prefix, *(
            route(n).prefix for n in range(1, 9))}, set(pending))
        # FRR may have been late, so that all were to be checked once more.
        while self.made._again_due is not None:
            self.made._wait()
        self.announce(route(10))
        pending, everything, _changes = self.made._wait()
        self.assertEqual([route(10).prefix], list(pending))
        self.assertFalse(everything)
        base.wait_until(lambda: self.frr.learned() >= {
            route(10).prefix}, 'announced')
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        with programs.started() as started:
            self.made.look(pending, everything)
        self.assertEqual([], started)
        # One command to zebra, one to bgpd.
        asked = [line for line in self.frr.commands()
                 if 'json' in line]
        self.assertEqual(2, len(asked), asked)
        for line in asked:
            self.assertIn(route(10).prefix, line)


class TestThread(VerificationTestCase):
    """On its own thread, as in the agent."""

    def setUp(self):
        super().setUp()
        self.made.start(self.trigger)
        self.addCleanup(self.made.stop)

    def test_vanished_is_put_in_doubt(self):
        self.announce(route(1))
        self.frr.configure('no ip route 198.51.100.1/32 br-ex')
        base.wait_until(lambda: 'frr_static' in self.stale(), 'doubt')

    def test_hanging_zebra_holds_up_nobody(self):
        # Trap T44.
        self.root_side(vtysh_timeout=4)
        self.frr.signal('zebra', signal.SIGSTOP)
        self.addCleanup(self.frr.signal, 'zebra', signal.SIGCONT)
        self.made.after_pass(outcome.Outcome(
            applied=(('created', route(1)),)), self.tracker, False)
        started = time.monotonic()
        self.made.everything()
        self.assertLess(time.monotonic() - started, 3)
        base.wait_until(
            lambda: 'did not answer within 4 s' in ''.join(self.made.reasons),
            'reported')


class TestRead(base.FrrTestCase):

    def test_the_effect_of_both_families(self):
        four, six = '198.51.100.1/32', '2001:db8:1::1/128'
        self.frr.configure(
            f'ip route {four} br-ex', f'ipv6 route {six} br-ex',
            'router bgp 65001', 'address-family ipv6 unicast',
            'redistribute static')

        def there():
            active, known = bgp.read_effect('', [four, six], True)
            return active == {four: ['static'], six: ['static']} and (
                known.get(six) == [])

        base.wait_until(there, 'both routes are in zebra and in bgpd')

    def test_unknown_vrf(self):
        self.root_side(vrf_name='vrf-none')
        with self.assertRaisesRegex(OSError, 'VRF vrf-none not found'):
            bgp.read_effect('vrf-none', ['198.51.100.1/32'], True)

    def test_checked(self):
        for vrf, prefix in (('x y', '198.51.100.1/32'),
                            ('', '198.51.100.1/32 json\nconfigure'),
                            ('', '198.51.100.1')):
            with self.assertRaises(OSError):
                bgp.read_effect(vrf, [prefix], True)


class TestAllAtOnce(VerificationTestCase):
    """The same with a digest in the place of a question for each route."""

    def look(self, times=2, everything=True):
        for _time in range(times):
            self.made.look(dict(self.made._wanted), everything,
                           self.made._changes)
        return self.made.reasons

    def test_what_is_right_is_not_asked_for_again(self):
        self.announce(route(1), route(2))
        base.wait_until(lambda: self.look(1) == () and self.made._right,
                        'all is right')
        right = self.made._right
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        self.look(5)
        self.assertEqual(right, self.made._right)
        self.assertEqual([], [line for line in self.frr.commands()
                              if '198.51.100.1/32' in line])
        # Another route of bgpd counts as a change, and no fault is found.
        self.frr.configure('ip route 198.51.100.77/32 br-ex')
        self.addCleanup(self.frr.configure,
                        'no ip route 198.51.100.77/32 br-ex')
        base.wait_until(lambda: self.look(1) == () and
                        self.made._right not in (None, right), 'asked again')

    def test_one_for_another(self):
        """What is sent differs, and not how much."""
        outside = route(1, '203.0.113')
        words = (f'no ip prefix-list {base.LIST} seq 5',
                 f'ip prefix-list {base.LIST} seq 5 permit '
                 '203.0.113.0/24 ge 32')
        self.frr.configure('ip route 203.0.113.1/32 br-ex')
        self.addCleanup(self.frr.configure,
                        f'no ip route {outside.prefix} br-ex')
        self.announce(route(1))
        base.wait_until(lambda: self.look(1) == () and self.made._right,
                        'all is right')
        self.frr.configure(*words)
        self.wait_for('198.51.100.1/32 is in the table of BGP')
