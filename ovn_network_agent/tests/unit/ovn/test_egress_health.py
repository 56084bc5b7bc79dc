# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the health probe makes of the agents of chassis."""

from types import SimpleNamespace as row

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.ovn.egress import egress_routers

_DEAD, _WELL = 'no answer', ''
# The answers of one chassis, round by round, and whether it counts as dead.
HISTORIES = (
    ('an answer', [(_WELL, False)]),
    ('never an answer', [(_DEAD, True), (_DEAD, True)]),
    ('the first failure after an answer is forgiven, the second is not',
     [(_WELL, False), (_DEAD, False), (_DEAD, True), (_DEAD, True)]),
    ('failures that are not in a row',
     [(_WELL, False), (_DEAD, False), (_WELL, False), (_DEAD, False)]),
    ('the first answer counts at once, and what comes after is forgiven',
     [(_DEAD, True), (_WELL, False), (_DEAD, False), (_DEAD, True),
      (_WELL, False)]),
)


class HealthTest(base.BaseTestCase):

    def test_what_is_forgiven(self):
        for about, history in HISTORIES:
            health = egress_routers.Health()
            for number, (why, dead) in enumerate(history):
                health = health.after({'gw1': why, 'gw2': _WELL})
                self.assertEqual({'gw1'} if dead else set(),
                                 health.unreachable.keys(), (about, number))

    def test_a_chassis_that_comes_back_has_never_answered(self):
        health = egress_routers.Health().after({'gw1': _WELL})
        health = health.after({})
        self.assertEqual({}, health.failures)
        self.assertIn('gw1', health.after({'gw1': _DEAD}).unreachable)

    def test_rows_that_stay_are_the_same(self):
        first = egress_routers.Health().after({'gw1': 'a', 'gw2': 'b'})
        self.assertEqual(
            {'gw1': egress_routers.Unreachable('gw1', 'a'),
             'gw2': egress_routers.Unreachable('gw2', 'b')}, first.unreachable)
        self.assertIs(first.unreachable,
                      first.after({'gw1': 'a', 'gw2': 'b'}).unreachable)
        self.assertEqual('c', first.after(
            {'gw1': 'c', 'gw2': 'b'}).unreachable['gw1'].why)


class TargetsTest(base.BaseTestCase):

    def test_chassis_with_networks(self):
        prefix = ownership.EXT_ID_EGRESS_NETWORKS
        nb = {'NB_Global': {1: row(external_ids={
            prefix + 'gw1': '192.0.2.0/24', prefix + 'gw2': '192.0.2.0/24',
            prefix + 'gone': '192.0.2.0/24',
            ownership.EXT_ID_BFD_REQUEST + 'gw3': 'x'})}}
        sb = {'Encap': dict(enumerate(
            row(chassis_name=name, ip=ip) for name, ip in (
                ('gw1', '10.1.0.2'), ('gw1', '10.1.0.2'),
                ('gw1', '10.1.0.1'), ('gw2', 'fd00::2'), ('gw2', 'gw2.test'),
                ('gw3', '10.1.0.3'))))}
        self.assertEqual(
            {'gone': (), 'gw1': ('10.1.0.1', '10.1.0.2'),
             'gw2': ('fd00::2',)}, egress_routers.targets(nb, sb))
        self.assertEqual({}, egress_routers.targets({'NB_Global': {}}, sb))
