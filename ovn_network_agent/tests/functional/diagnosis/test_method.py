# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A change of the announce method, as FRR sees it."""

import json

from ovn_network_agent import ownership
from ovn_network_agent.ctl import announce_method
from ovn_network_agent.ctl import program
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.bgp import method
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base

ADDRESSES = ('198.51.100.10', '198.51.100.11')
PREFIXES = {f'{address}/32' for address in ADDRESSES}
NOWHERE = '198.51.100.12'
SIX = '2001:db8::1/128'
TAG, OTHER_TAG = ownership.TAGS.start + 1, ownership.TAGS.start + 2


class MethodTest(doctor.Looks, base.FrrTestCase):
    """The agent is this test: it makes the routes of both methods."""

    def setUp(self):
        super().setUp()
        self.conf = self.of_frr_alone(base.BRIDGE)
        self.in_this_process()
        self.frr.restart_bgpd()
        self.frr.wait_for_session()
        self.frr.configure(f'ip prefix-list {base.LIST} seq 5 permit '
                           '198.51.100.0/24 ge 32')
        self.static()
        base.wait_until(lambda: self.frr.learned() == PREFIXES, 'announced',
                        10)
        self.sources = sources.Sources(self.conf, [])
        self.addCleanup(self.sources.close)

    def static(self, no=''):
        self.frr.configure(*(f'{no}ip route {prefix} {base.BRIDGE}'
                             for prefix in sorted(PREFIXES)))

    def kernel(self, verb, *prefixes):
        for prefix in prefixes:
            self.route(verb, prefix, 5)

    def route(self, verb, prefix, metric):
        self.frr.ip('route', verb, prefix, 'dev', base.BRIDGE, 'metric',
                    str(metric))

    def ready(self, wanted='kernel', *more):
        """The readiness, as a new process would find it."""
        return method.readiness(sources.Sources(self.conf, []), wanted,
                                {*PREFIXES, *more})

    def test_what_is_typed_in_is_what_was_missing(self):
        """And then the method changes without a gap."""
        self.assertEqual(((), ()), self.ready('static')[:2])
        found = self.ready()
        self.assertIn('does not redistribute kernel', ' '.join(found.lacks))
        self.frr.configure(*found.lines[1:-1])
        self.assertEqual(((), ()), self.ready()[:2])
        # Where IPv6 is announced, its routes are redistributed, too.
        found = self.ready('kernel', SIX)
        self.assertIn('ipv6 unicast', ' '.join(found.lacks))
        self.assertIn('  redistribute kernel route-map KERNEL6', found.lines)
        self.assertNotIn(' address-family ipv4 unicast', found.lines)
        self.frr.configure(*found.lines[1:-1])
        self.assertEqual((), self.ready('kernel', SIX).lines)
        change = method.Change(self.sources, 'kernel', [*ADDRESSES, NOWHERE])
        # An address that nothing announces is no part of the change.
        self.assertEqual(PREFIXES, change.before)
        self.assertEqual([f'{NOWHERE}/32'], change.unannounced)
        self.kernel('add', *PREFIXES)
        self.addCleanup(self.kernel, 'del', *PREFIXES)
        change.look()
        # Both methods are there.
        self.assertEqual(sorted(PREFIXES), change.due)
        self.static('no ')
        self.assertIsNotNone(change.follow(10))
        self.assertEqual(([], {}), (change.due, change.gaps))

    def test_other_routes_and_a_default_route_of_the_kernel(self):
        self.kernel('add', '203.0.113.0/24', '0.0.0.0/0')
        self.addCleanup(self.kernel, 'del', '203.0.113.0/24', '0.0.0.0/0')
        self.frr.configure('router bgp 65001', 'address-family ipv4 unicast',
                           'redistribute kernel')
        base.wait_until(lambda: '0.0.0.0/0' in self.ready().effects,
                        'the routes are in BGP', 10)
        found = self.ready()
        self.assertEqual(('0.0.0.0/0', '203.0.113.0/24'), found.others)
        self.assertEqual([], list(found.effects['203.0.113.0/24']))
        self.assertIn('default route 0.0.0.0/0', ' '.join(found.lacks))
        # The route map of the advice mends this.
        self.frr.configure(*method.lines(
            '65001', '', 'kernel', {4: ()})[1:-1])
        base.wait_until(lambda: not self.ready().lacks, 'mended', 10)
        self.assertEqual({'203.0.113.0/24'}, set(self.ready().effects))

    def test_a_route_map_that_denies(self):
        self.frr.configure('router bgp 65001', 'address-family ipv4 unicast',
                           'redistribute kernel route-map X')
        for lines, part in (
                (('route-map X permit 10', 'match tag 4400001'),
                 'route-map X has no entry'),
                (('no route-map X', 'route-map X deny 10'),
                 'route-map X deny 10')):
            self.frr.configure(*lines)
            base.wait_until(lambda part=part: part in ' '.join(
                self.ready().lacks), part, 10)
        # What cannot be judged is no lack.
        self.frr.configure('no route-map X', 'route-map X permit 10',
                           'match metric 5')
        base.wait_until(lambda: not self.ready().lacks, 'no lack', 10)
        self.assertIn('route map X', ' '.join(self.ready().cautions))
        self.frr.configure('no route-map X', 'route-map X permit 10')
        base.wait_until(lambda: not self.ready().cautions, 'permitted', 10)
        self.assertEqual((), self.ready().lacks)

    # -- tags ------------------------------------------------------------

    def attributes(self, prefix):
        """(MED, community) of a route in bgpd, None while it lacks it."""
        family = 'ipv6' if ':' in prefix else 'ipv4'
        paths = json.loads(self.frr.ask(
            'bgpd', f'show bgp {family} unicast {prefix} json')).get('paths')
        return paths and (paths[0].get('metric'), paths[0].get(
            'community', {}).get('string', ''))

    def map_static(self, *more):
        """A route map for tags, as an operator has it."""
        self.frr.configure(
            'route-map TAGGED permit 10', f'match tag {TAG}',
            'set community 65001:1', 'exit', *more,
            'route-map TAGGED permit 100', 'exit', 'router bgp 65001',
            'address-family ipv4 unicast',
            'redistribute static route-map TAGGED')

    def test_the_printed_map_announces_no_tag_as_med(self):
        """And each tag keeps the community of the other method."""
        self.map_static('route-map TAGGED deny 20', f'match tag {OTHER_TAG}',
                        'exit')
        said, = self.ready().cautions
        self.assertIn('the route map TAGGED of "redistribute static"', said)
        self.assertIn(': deny 20', said)
        self.frr.configure('no route-map TAGGED deny 20')
        found = self.ready('kernel', SIX)
        self.assertEqual((), found.cautions)
        self.frr.configure(*found.lines[1:-1])
        # The command understands its own map.
        self.assertEqual((), self.ready('kernel', SIX).cautions)
        announced = {'198.51.100.20/32': (TAG, (0, '65001:1')),
                     '198.51.100.21/32': (OTHER_TAG, (0, '')),
                     '198.51.100.22/32': (5, (0, '')),
                     SIX: (OTHER_TAG, (0, ''))}
        for prefix, (metric, _wanted) in announced.items():
            self.route('add', prefix, metric)
        try:
            self.have({prefix: each for prefix, (_metric, each)
                       in announced.items()})
        finally:
            for prefix, (metric, _wanted) in announced.items():
                self.route('del', prefix, metric)
        self._the_way_back_keeps_the_community()

    def have(self, wanted):
        """Wait for the attributes of routes, a dict."""
        base.wait_until(
            lambda: {each: self.attributes(each) for each in wanted} ==
            wanted, lambda: {each: self.attributes(each) for each in wanted})

    def _the_way_back_keeps_the_community(self):
        self.frr.configure('router bgp 65001', 'address-family ipv4 unicast',
                           'no redistribute static', 'exit', 'exit',
                           'no route-map TAGGED')
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn', 10)
        found = self.ready('static')
        self.frr.configure(*found.lines[1:-1])
        prefix = f'{ADDRESSES[0]}/32'
        self.frr.configure(f'ip route {prefix} {base.BRIDGE} tag {TAG}')
        self.have({prefix: (0, '65001:1')})

    def test_a_gap_is_seen(self):
        change = method.Change(self.sources, 'kernel', ADDRESSES)
        self.static('no ')
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn', 10)
        self.assertIsNone(change.follow(0))
        self.assertEqual(sorted(PREFIXES), change.due)
        self.assertEqual(PREFIXES, set(change.gaps))
        # The agent has given up one address, and waits for the other.
        still = announce_method.wanted({ADDRESSES[0]: {'omitted'},
                                        ADDRESSES[1]: {'waiting'}})
        self.assertEqual(program.WAITED, announce_method.result(
            'kernel', change, None, still))
        self.assertEqual(program.OK, announce_method.result(
            'kernel', change, None, set()))
