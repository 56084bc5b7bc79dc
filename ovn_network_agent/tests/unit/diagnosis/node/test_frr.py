# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import os
import socket

import fixtures

from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node.bgp import frr
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.readers import frr as readers
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.tests.unit.diagnosis.node import base

GOOD = setup.Setup(True, '65001', ('static',), True, True)
ENTRY = (5, 'permit', '198.51.100.0/24', 32, 32)
FIRST, SECOND = map(ip_text.address, ('198.51.100.10', '198.51.100.11'))
OWN = 'LIST'
PEERS = tuple((f'172.31.1.{number}', (('prefix-list', OWN),))
              for number in (1, 2))
PLAIN = readers.NextHop('2001:db8:5::2', '10.0.0.1', False, True)
EXTENDED = readers.NextHop('eth2', '10.0.0.1', True, True)
CHECKS = {one.name: one for one in examination.CHECKS}


def configured(found=GOOD, method='static'):
    return frr.Configured(tuple(setup.faults(found, 'blue', method, 'LIST')),
                          found.asn, 'VRF blue')


class DaemonsTest(base.JudgeTestCase):

    def test_daemons(self):
        running = frozenset(('zebra', 'bgpd', 'staticd'))
        facts = frr.Daemons(('zebra',), frozenset())
        closed = facts._replace(closed='/run/frr/zebra.vty: Permission denied')
        self.judged_each(
            frr.judge_daemons,
            (frr.Daemons(('zebra', 'bgpd'), running), base.OK),
            (frr.Daemons(('zebra', 'bfdd', 'mgmtd'), running), base.BROKEN,
             'bfdd and mgmtd'),
            # In a container without the directory, or behind a policy.
            (facts._replace(folder='/run/frr'), base.BROKEN,
             'there is no directory /run/frr', 'mount /run/frr of the host'),
            (closed, base.BROKEN, 'not accessible: /run/frr/zebra.vty: '))
        self.assertNotIn('/etc/frr/daemons', self.judged(
            frr.judge_daemons, closed, base.BROKEN))

    def test_refusals(self):
        folder = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(folder, 'zebra.vty')
        self.assertEqual('', frr.refusal(path))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            # Bound and without a listener, as a killed daemon leaves it.
            self.assertEqual('', frr.refusal(path))
            listening.listen()
            self.assertEqual('', frr.refusal(path))
        self.assertIn('Not a directory', frr.refusal(path + '/x'))

    def test_major(self):
        self.assertEqual([8, 10, 0, 0], [frr.major(text) for text in (
            '8.4.4', '10.3', '', 'dev')])


class SetupTest(base.JudgeTestCase):

    names = ('frr-vrf', 'bgp-instance', 'bgp-redistribution', 'bgp-filter')

    def assert_only(self, name, facts):
        for other in self.names:
            self.judged(CHECKS[other].judge, facts,
                        base.BROKEN if other == name else base.OK)

    def test_each_fault_is_that_of_one_check(self):
        self.assert_only('bgp-redistribution', configured(method='kernel'))
        for name, values in (
                ('', {}), ('frr-vrf', {'vrf': False}),
                ('bgp-instance', {'neighbours': False}),
                ('bgp-redistribution', {'undefined': (('static', 'MAP'),)}),
                # The map of another source does not matter.
                ('', {'undefined': (('connected', 'MAP'),)}),
                ('bgp-filter', {'filters': False}),
                ('bgp-filter', {'described': True})):
            self.assert_only(name, configured(GOOD._replace(**values)))


class AnnouncedTest(base.JudgeTestCase):

    def test_many_static_routes_are_no_fault(self):
        many = frr_static.MANY + 1
        self.judged_each(
            frr.judge_announced,
            (frr.Announced('static', frr_static.MANY), base.OK),
            (frr.Announced('static', many), base.WARN, str(many)),
            (frr.Announced('kernel', 0), base.OK))


class ListsTest(base.JudgeTestCase):

    def lists(self, zebra=(ENTRY,), bgpd=(ENTRY,)):
        return frr.Lists('LIST', frozenset(zebra), frozenset(bgpd))

    def test_what_the_daemons_have(self):
        self.judged_each(
            frr.judge_lists, (self.lists(), base.OK),
            (self.lists((), ()), base.OK), (frr.Lists(''), base.NOT_CHECKED),
            (self.lists(bgpd=()), base.BROKEN, 'only zebra'),
            (self.lists(zebra=((7, 'deny', '10.0.0.0/8', 0, 0),)),
             (base.BROKEN, base.BROKEN),
             'only zebra has these entries of LIST: 10.0.0.0/8',
             'only bgpd has these entries of LIST: 198.51.100.0/24'))

    def test_states_of_sessions(self):
        up, down = 'Established', 'Active'
        self.judged_each(frr.judge_sessions, *(
            (frr.Sessions(neighbours, heard), *said)
            for neighbours, heard, *said in (
                ({'a': up}, ('a',), base.OK),
                ({'a': up, 'b': down}, ('a',), base.WARN, 'b is Active'),
                ({'a': down, 'b': down}, (), base.BROKEN,
                 'a is Active, b is Active'), ({}, (), base.WARN),
                # Nothing was heard.
                ({'a': up}, (), base.WARN, 'prefix-list LIST in'))))


class OutboundTest(base.JudgeTestCase):

    def found(self, *denied, neighbours=PEERS, **lists):
        own = tuple(output.Entry(number, 'deny', prefix, 0, 32)
                    for number, prefix in enumerate(denied, 5))
        return sessions.Outbound((FIRST, SECOND), OWN, neighbours,
                                 filters.Filters(OWN, {OWN: own, **lists}, {}))

    def test_what_passes(self):
        gone = ('prefix-list', 'GONE'),
        peers = (PEERS[0], ('172.31.1.2', gone))
        self.judged_each(
            sessions.judge_outbound,
            (self.found('10.0.0.0/8'), base.OK,
             '2 addresses pass to 2 neighbours'),
            # Once for all neighbours, with the line that removes the line.
            (self.found('198.51.100.10/32'), base.WARN,
             '198.51.100.10 is kept back from all neighbours',
             '"no ip prefix-list LIST seq 5 deny 198.51.100.10/32 le 32"'),
            (self.found('198.51.100.0/24'), base.BROKEN),
            # Two lines, of which none alone keeps everything back.
            (self.found('198.51.100.10/32', '198.51.100.11/32'),
             (base.WARN, base.WARN)),
            (self.found(neighbours=peers, GONE=None), base.WARN,
             'prefix-list GONE does not exist', 'kept back from 172.31.1.2'),
            (self.found(neighbours=tuple((name, gone) for name, _ in PEERS),
                        GONE=None), base.BROKEN, 'all neighbours'),
            # What goes by more is left alone.
            (self.found(neighbours=(
                ('172.31.1.1', (('distribute-list', '7'),)),)), base.OK))


class NextHopsTest(base.JudgeTestCase):

    def test_next_hops(self):
        """An address of an uplink, of a loopback, and of nobody."""
        def facts(**values):
            return sessions.NextHops(**{
                'sessions': (PLAIN,), 'devices': {}, 'loopbacks': {'lo'},
                'vrf': 'vrf-provider', 'asn': '65001', **values})

        judge = sessions.judge_next_hops
        self.judged_each(
            judge, (facts(sessions=()), base.OK),
            (facts(sessions=(EXTENDED,)), base.OK,
             'eth2 gets next hops of IPv6'),
            # Another session has the routes.
            (facts(sessions=(EXTENDED, PLAIN)), base.WARN),
            (facts(others=1), base.WARN),
            (facts(devices={'10.0.0.1': 'eth1'}), base.OK,
             'gets the next hop 10.0.0.1'),
            (facts(devices={'10.0.0.1': 'lo'}), base.WARN,
             'of lo, and needs a route'))
        said = self.judged(judge, facts(), base.BROKEN)
        self.assertIn('the next hop 10.0.0.1, which no device', said)
        self.assertIn('"router bgp 65001 vrf vrf-provider" / "neighbor '
                      '2001:db8:5::2 capability extended-nexthop" here', said)
        self.assertNotIn('the same line', said)
        # The side that lacks the capability is named.
        said = self.judged(judge, facts(sessions=(
            PLAIN._replace(offered=True, taken=False),)), base.BROKEN)
        self.assertNotIn(' here', said.partition('add ')[2])
        self.assertIn('add the same line', said)
