# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


import os
import socket

import fixtures

from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.diagnosis.node.bgp import frr
from ovn_network_agent.frr import setup
from ovn_network_agent.tests.unit.diagnosis.node import base

GOOD = setup.Setup(True, '65001', ('static',), True, True)
ENTRY = (5, 'permit', '198.51.100.0/24', 32, 32)
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


class SessionsTest(base.JudgeTestCase):

    def test_states(self):
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
