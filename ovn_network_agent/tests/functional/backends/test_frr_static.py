# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Static routes that are announced."""

import json
import os

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.frr import output
from ovn_network_agent.frr import session
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests.functional.backends import static_routes
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import transactions

route = static_routes.route
# The operator's: other next hops, other lengths, other properties.
FOREIGN = (
    'ip route 203.0.113.0/24 br-ex',
    'ip route 203.0.113.1/32 192.0.2.9',
    'ip route 203.0.113.2/32 br-ex tag 5',
    'ip route 203.0.113.3/32 br-ex 20',
    'ip route 203.0.113.4/32 192.0.2.9 br-ex',
    'ip route 203.0.113.5/32 blackhole',
    'ip route 203.0.113.6/32 br-ex0')
# Seconds until the neighbour knows, as rows FIP-10 and T30 say.
_SOON = 2


class EachWay:
    """By the socket and by vtysh: writing, reading, refusals."""

    def test_twice_is_once(self):
        with self.assertNoLogs('ovn_network_agent', 'WARNING'):
            for _attempt in range(2):
                self.assertEqual({}, self.create(route(1), route(2)))
                self.assertEqual({route(1), route(2)}, self.read())
            for _attempt in range(2):
                self.assertEqual({}, self.delete(route(1), route(3)))
                self.assertEqual({route(2)}, self.read())

    def test_the_operators_routes_survive(self):
        self.frr.configure(*FOREIGN)
        before = self.frr.running()
        self.assertEqual(set(), self.read())
        # Beside one of the operator's for the same address.
        ours = [route(1)] + [route(n, '203.0.113') for n in (1, 4, 6)]
        self.assertEqual({}, self.create(*ours))
        self.assertEqual(set(ours), self.read())
        self.assertEqual({}, self.delete(*ours))
        self.assertEqual(before, self.frr.running())

    def test_rejected_by_frr_costs_only_itself(self):
        self.frr.configure(*FOREIGN)
        before = self.frr.running()
        # Not read yet, so nothing is known of the operator's blackhole.
        bad = route(5, '203.0.113')
        routes = [route(n) for n in range(100)] + [bad] + [
            route(n) for n in range(100, 150)]
        failed = self.create(*routes)
        self.assertIn('blackhole', failed.pop(bad.ref))
        self.assertEqual({}, failed)
        routes.remove(bad)
        self.assertEqual(set(routes), self.read())
        # Now it is known, and not tried.
        self.assertIn('the operator has', self.create(bad)[bad.ref])
        self.assertEqual({}, self.delete(*routes))
        self.assertEqual(before, self.frr.running())


class TestStatic(EachWay, static_routes.StaticTestCase):

    def test_batches(self):
        """Row FIP-07: each transaction has a bounded size."""
        # Since FRR 9 mgmtd has the static routes.
        path, = [path for name in ('mgmtd', 'staticd') if os.path.exists(
            path := f'{self.frr.rundir}/{name}.vty')][:1]
        relay = transactions.Relay(path)
        self.addCleanup(relay.close)
        # As of a daemon that has written nothing yet.
        vtysh.BATCH_SIZE.forget()
        routes = [route(n % 250, f'11.0.{n // 250}') for n in range(3200)]
        self.assertEqual({}, self.create(*routes))
        self.assertEqual([2500, 700], relay.sizes)
        with self.assertLogs(frr_static.__name__, 'INFO') as said:
            self.assertEqual(set(routes), self.read())
        self.assertIn('announce-method kernel', said.output[0])
        # Once is enough.
        with self.assertNoLogs(frr_static.__name__, 'INFO'):
            self.assertEqual(set(routes), self.read())
        self.assertEqual({}, self.delete(*routes))
        # By the speed of the first transaction, on a common machine all at
        # once.
        self.assertEqual(3200, sum(relay.sizes[2:]))
        self.assertLessEqual(2500, relay.sizes[2])
        self.assertEqual(set(), self.read())

    def test_announced_and_withdrawn(self):
        # Trap T30: no soft refresh together with the change.
        for attempt in range(20):
            wanted = {route(attempt * 2), route(attempt * 2 + 1)}
            prefixes = {r.prefix for r in wanted}
            self.assertEqual({}, self.create(*wanted))
            base.wait_until(lambda: self.frr.learned() == prefixes,
                            'announced', _SOON)
            self.assertEqual(wanted, self.read())
            self.assertEqual({}, self.delete(*wanted))
            base.wait_until(lambda: not self.frr.learned(), 'withdrawn',
                            _SOON)

    def test_the_operators_tag_and_distance_are_kept(self):
        self.frr.configure(*FOREIGN)
        before = self.frr.running()
        self.read()
        taken = [route(n, '203.0.113') for n in (2, 3)]
        failed = self.create(route(1), *taken)
        self.assertIn('tag 5', failed.pop(taken[0].ref))
        self.assertIn('br-ex 20', failed.pop(taken[1].ref))
        self.assertEqual({}, failed)
        self.delete(route(1), *taken)
        self.assertEqual(before, self.frr.running())

    def test_routes_to_a_former_nexthop_stay(self):
        """Row CLN-05: nobody can tell them from the operator's."""
        self.frr.configure('ip route 198.51.100.1/32 192.0.2.9')
        before = self.frr.running()
        self.assertEqual(set(), self.read())
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())
        self.assertEqual({}, self.delete(route(1)))
        self.assertEqual(before, self.frr.running())

    def test_inactive_can_be_withdrawn(self):
        # zebra does not know it, and staticd would bring it back.
        self.create(route(1), route(2))
        self.lose_bridge()
        self.assertEqual({route(1), route(2)}, self.read())
        self.assertEqual({}, self.delete(route(1)))
        self.assertEqual({route(2)}, self.read())

    def test_no_refresh_while_bgpd_has_the_route(self):
        self.create(route(1))
        self._wait_learned(route(1).prefix)
        before = self._updates()
        self.assertEqual([False, ''],
                         bgp.soft_refresh('', route(1).prefix, False))
        self.assertEqual([True, ''],
                         bgp.soft_refresh('', route(2).prefix, True))
        base.wait_until(lambda: self._updates() > before, 'an update')

    def test_the_operators_routes_of_ipv6_survive(self):
        taken = resources.Announcement('', '2001:db8:1::6/128', base.BRIDGE)
        self.frr.configure(
            f'ipv6 route 2001:db8:1::/64 {base.BRIDGE}',
            f'ipv6 route 2001:db8:1::5/128 fe80::7 {base.BRIDGE}',
            f'ipv6 route {taken.prefix} {base.BRIDGE} tag 5')
        before = self.frr.running()
        self.assertEqual(set(), self.read())
        self.assertIn('tag 5', self.create(taken)[taken.ref])
        self.assertIn('tag 5', self.delete(taken)[taken.ref])
        self.assertEqual(before, self.frr.running())

    def _wait_learned(self, prefix):
        base.wait_until(lambda: prefix in self.frr.learned(), 'learned')

    def _updates(self):
        shown = json.loads(self.frr.vtysh('show bgp neighbors json'))
        return shown['10.0.0.2']['messageStats']['updatesSent']

    def test_refresh_only_as_configured(self):
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        for when, expected in (('always', 2), ('on-removal', 1),
                               ('never', 0)):
            with self.subTest(when):
                self.conf.set_override('bgp_soft_refresh', when, 'frr')
                before = self.frr.refreshes()
                self.create(route(1))
                self.wait_refreshed()
                self.delete(route(1))
                self.wait_refreshed()
                self.assertEqual(expected, self.frr.refreshes() - before)

    def test_each_difference_is_found(self):
        """Drift right after an answer that nothing has changed."""
        self.create(route(1), route(2))
        line = 'ip route 198.51.100.1/32 br-ex'
        for change, back in (('no ' + line, line),
                             (line + ' tag 5', line),
                             (line.replace('.1/', '.3/'),
                              'no ' + line.replace('.1/', '.3/'))):
            found, mark = self.backend.reread(frozenset, None)
            self.assertEqual({route(1), route(2)}, set(found))
            self.assertEqual((None, mark),
                             self.backend.reread(frozenset, mark))
            self.frr.configure(change)
            found, other = self.backend.reread(frozenset, mark)
            self.assertNotEqual(mark, other)
            self.assertNotEqual({route(1), route(2)}, set(found))
            self.frr.configure(back)
            if change.endswith('tag 5'):
                self.frr.configure('no ' + line, line)
        self.delete(route(1), route(2))

    def test_what_frr_refused_is_not_left_in_its_way(self):
        # FRR 10.7 would refuse everybody's next change for it.
        self.frr.configure(*FOREIGN)
        before = self.frr.running()
        self.assertEqual(1, len(self.create(route(5, '203.0.113'))))
        self.frr.configure('ip route 203.0.113.7/32 br-ex0')
        self.frr.configure('no ip route 203.0.113.7/32 br-ex0')
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())
        self.assertEqual({}, self.delete(route(1)))
        self.assertEqual(before, self.frr.running())

    def test_bad_items_cost_only_themselves(self):
        bad = [resources.Announcement('', '198.51.100.0/24', base.BRIDGE),
               resources.Announcement('', '198.51.100.9/33', base.BRIDGE),
               resources.Announcement('', '1.2.3.4/32 blackhole\nip',
                                      base.BRIDGE),
               resources.Announcement('', '198.51.100.8/32', 'blackhole'),
               resources.Announcement('vrf-x', '198.51.100.7/32',
                                      base.BRIDGE)]
        before = self.frr.running()
        self.assertEqual({r.ref for r in bad},
                         set(self.create(*bad, route(1))))
        self.assertEqual({route(1)}, self.read())
        # Without the driver, a network may still be removed.
        self.assertEqual({r.ref for r in bad[1:]},
                         set(self.delete(*bad, route(1))))
        self.assertEqual(before, self.frr.running())

    def test_both_families(self):
        six = resources.Announcement('', '2001:db8:1::5/128', base.BRIDGE)
        self.assertEqual({}, self.create(route(1), six))
        self.assertEqual({route(1), six}, self.read())
        self.assertEqual({six.ref}, self.backend.in_effect([six]))
        with self.assertNoLogs('ovn_network_agent', 'WARNING'):
            self.assertEqual({}, self.delete(six))
            self.wait_refreshed()
        self.assertEqual({route(1)}, self.read())
        self.assertEqual(set(), self.backend.in_effect([six]))

    def test_in_a_vrf(self):
        """As the lab shows with traffic; here that it is one command."""
        add = [['198.51.100.1/32', '169.254.0.1']]
        self.root_side(vrf_name='red')
        # There is no such device, which FRR has something to say about.
        self.assertEqual([], vtysh.change_static('red', add, [])[0])
        self.addCleanup(self.frr.configure, 'no vrf red')
        self.assertEqual([['198.51.100.1/32', '169.254.0.1']],
                         self._configured('red'))
        self.assertEqual([], vtysh.change_static('red', [], add)[0])
        six = [['2001:db8:1::5/128', ownership.NEXT_HOP_6]]
        self.assertEqual([], vtysh.change_static('red', six, [])[0])
        self.assertEqual(six, self._configured('red'))
        self.assertEqual([], vtysh.change_static('red', [], six)[0])
        self.root_side(vrf_name='')
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual([], self._configured('red'))

    def _configured(self, vrf):
        return [list(r) for r in output.static_routes(
            self.frr.running(), vrf)]


class TestStaticByVtysh(EachWay, static_routes.StaticTestCase):
    """Where the sockets of the daemons are not to be used."""

    def setUp(self):
        super().setUp()
        self.root_side(vtysh_wrapper='env')

    def test_many(self):
        # Trap T42: they are no arguments of a program.
        routes = [route(n % 250, f'11.0.{n // 250}') for n in range(5000)]
        self.assertEqual({}, self.create(*routes))
        self.assertEqual(set(routes), self.read())
        self.assertEqual({}, self.delete(*routes))
        self.assertEqual(set(), self.read())


class TestSockets(static_routes.StaticTestCase):
    """Over the command sockets of the daemons."""

    def test_costs_no_process(self):
        add = [['198.51.100.1/32', base.BRIDGE]]
        before, os.environ['PATH'] = os.environ['PATH'], '/nonexistent'
        try:
            self.assertEqual([[], ''], vtysh.change_static('', add, []))
            self.assertLessEqual({'zebra', 'staticd', 'bgpd'},
                                 set(vtysh.read_daemons()))
            self.assertIn(add[0], vtysh.read_static(''))
        finally:
            os.environ['PATH'] = before
        self.assertEqual({route(1)}, self.read())

    def test_what_broke_off_has_no_effect(self):
        """The root side was killed while it wrote."""
        add = [['198.51.100.1/32', base.BRIDGE]]
        self.addCleanup(setattr, session.Session, 'ask', session.Session.ask)
        ask = session.Session.ask

        def until_the_end(session, command):
            if command == 'XFRR_end_configuration':
                raise ConnectionResetError(command)
            return ask(session, command)
        session.Session.ask = until_the_end
        with self.assertRaises(ConnectionResetError):
            vtysh.change_static('', add, [])
        session.Session.ask = ask
        before = self.read()
        self.assertEqual({}, self.create(route(2)))
        self.assertEqual(before | {route(2)}, self.read())

    def test_vtysh_where_there_are_none(self):
        self.root_side(frr_run_dir=self.frr.bindir)
        self.assertEqual({}, self.create(route(1)))
        self.assertEqual({route(1)}, self.read())
        self.assertEqual({}, self.delete(route(1)))
        self.assertEqual(set(), self.read())

    def test_nothing_is_withdrawn_beside_a_daemon_that_hangs(self):
        """zebra would go on forwarding and announcing."""
        self.assertEqual({}, self.create(route(1)))
        with self.wedged('zebra'):
            with self.assertRaisesRegex(backends.BackendError,
                                        'zebra of FRR did not answer'):
                self.delete(route(1))
        self.assertEqual({route(1)}, self.read())
