# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent.diagnosis.node import power
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.ovn.chassis import bfd
from ovn_network_agent.tests.unit.diagnosis.node import base

FAST = {'bfd-min-rx': '200', 'bfd-min-tx': '200', 'bfd-mult': '3'}
UP = power.Session('192.0.2.2', FAST, 'up', 'No Diagnostic')
NUMBERS = (200, 200, 3)


def tunnels(**values):
    return power.Tunnels(**{
        'wanted': True, 'southbound': FAST, 'sessions': (UP,),
        'fleet': bfd.Fleet(FAST, FAST, {'gw1': NUMBERS, 'gw2': NUMBERS}),
        **values})


class TunnelsTest(base.JudgeTestCase):

    def judge(self, *verdicts, **values):
        return self.judged(power.judge_tunnels, tunnels(**values), *verdicts)

    def test_as_the_agents_want_it(self):
        said = self.judge(base.OK)
        self.assertIn('without power after 0.6 s', said)
        self.assertIn('BFD is up in 1 tunnel', said)

    def test_the_defaults(self):
        said = self.judge(base.OK, wanted=False, southbound={},
                          fleet=bfd.Fleet({}, {}, {}),
                          sessions=(UP._replace(timers={}),))
        self.assertIn('after 3.0 s (the defaults', said)
        self.assertIn('[ovn] bfd_min_rx', said)

    def test_no_tunnel_has_bfd(self):
        self.assertIn('0 tunnels', self.judge(base.OK, sessions=()))

    def test_somebody_else_has_set_them(self):
        theirs = {**FAST, 'bfd-mult': '5'}
        said = self.judge(base.WARN, southbound=theirs,
                          fleet=bfd.Fleet(theirs, FAST, {'gw1': NUMBERS}),
                          sessions=(UP._replace(timers=theirs),))
        self.assertIn('bfd-mult is 5 and not 3', said)
        self.assertIn('ovn-nbctl remove', said)

    def test_requests_differ(self):
        said = self.judge(base.WARN, fleet=bfd.Fleet(
            FAST, FAST, {'gw1': NUMBERS, 'gw2': (100, 100, 3), 'gw3': None}))
        self.assertIn('gw1 200/200/3, gw2 100/100/3', said)

    def test_nobody_has_requested_them(self):
        self.assertIn('no agent has requested', self.judge(
            base.WARN, southbound={}, fleet=bfd.Fleet({}, {}, {}),
            sessions=()))

    def test_northd_has_not_copied_them(self):
        self.assertIn('ovn-northd', self.judge(
            base.WARN, southbound={}, sessions=(UP._replace(timers={}),)))

    def test_a_tunnel_has_others(self):
        self.assertIn('tunnels to 192.0.2.2 have other timers', self.judge(
            base.WARN, sessions=(UP._replace(timers={}),)))

    def test_a_tunnel_is_down(self):
        said = self.judge(base.WARN, sessions=(UP, UP._replace(
            remote='192.0.2.3', state='down',
            diagnostic='Control Detection Time Expired')))
        self.assertIn('to 192.0.2.3 (Control Detection Time Expired)', said)

    def test_too_short(self):
        short = {'bfd-min-rx': '50', 'bfd-min-tx': '50', 'bfd-mult': '3'}
        self.assertIn('a short pause of ovs-vswitchd', self.judge(
            base.WARN, southbound=short, wanted=False,
            fleet=bfd.Fleet(short, {}, {}),
            sessions=(UP._replace(timers=short),)))

    def test_no_number(self):
        wrong = {'bfd-mult': 'x'}
        self.assertIn('no number', self.judge(
            base.WARN, southbound=wrong, wanted=False,
            fleet=bfd.Fleet(wrong, {}, {}), sessions=()))


class FabricTest(base.JudgeTestCase):

    def judge(self, *found, verdicts):
        return self.judged(power.judge_fabric, found, *verdicts)

    def test_hold_times(self):
        said = self.judge(frr.Timers('10.0.0.1', 9.0), verdicts=[base.OK])
        self.assertIn('9 s by the hold time', said)
        said = self.judge(frr.Timers('10.0.0.1', 180.0), verdicts=[base.WARN])
        self.assertIn('10.0.0.1 has no BFD and a hold time of 180 s', said)

    def test_bfd(self):
        said = self.judge(frr.Timers('10.0.0.1', 180.0, 'Up', 0.9),
                          verdicts=[base.OK])
        self.assertIn('after 0.9 s by BFD', said)
        said = self.judge(frr.Timers('10.0.0.1', 180.0, 'Down', 0.9),
                          verdicts=[base.WARN])
        self.assertIn('bfdd=yes', said)

    def test_no_neighbour(self):
        self.judge(verdicts=[base.NOT_CHECKED])


class AnswerTest(base.JudgeTestCase):

    def test_the_column_of_a_tunnel(self):
        self.assertEqual([power.Session('192.0.2.2', FAST, 'up', '')], list(
            power.sessions([[{
                'options': ['map', [['key', 'flow'],
                                    ['remote_ip', '192.0.2.2']]],
                'bfd': ['map', [['enable', 'true'], ['min_rx', '200'],
                                ['min_tx', '200'], ['mult', '3']]],
                'bfd_status': ['map', [['state', 'up']]]}]])))
