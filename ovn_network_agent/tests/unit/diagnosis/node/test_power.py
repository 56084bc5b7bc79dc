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

    def test_timers(self):
        plain, none = UP._replace(timers={}), bfd.Fleet({}, {}, {})
        theirs, short, wrong = {**FAST, 'bfd-mult': '5'}, {
            'bfd-min-rx': '50', 'bfd-min-tx': '50', 'bfd-mult': '3'}, {
                'bfd-mult': 'x'}
        self.judged_each(
            power.judge_tunnels,
            (tunnels(), base.OK, 'without power after 0.6 s',
             'BFD is up in 1 tunnel'),
            (tunnels(wanted=False, southbound={}, fleet=none,
                     sessions=(plain,)), base.OK,
             'after 3.0 s (the defaults', '[ovn] bfd_min_rx'),
            (tunnels(sessions=()), base.OK, '0 tunnels'),
            (tunnels(southbound=theirs, sessions=(UP._replace(timers=theirs),),
                     fleet=bfd.Fleet(theirs, FAST, {'gw1': NUMBERS})),
             base.WARN, 'bfd-mult is 5 and not 3', 'ovn-nbctl remove'),
            (tunnels(fleet=bfd.Fleet(FAST, FAST, {
                'gw1': NUMBERS, 'gw2': (100, 100, 3), 'gw3': None})),
             base.WARN, 'gw1 200/200/3, gw2 100/100/3'),
            (tunnels(southbound={}, fleet=none, sessions=()), base.WARN,
             'no agent has requested'),
            (tunnels(southbound={}, sessions=(plain,)), base.WARN,
             'ovn-northd'),
            (tunnels(sessions=(plain,)), base.WARN,
             'tunnels to 192.0.2.2 have other timers'),
            (tunnels(sessions=(UP, UP._replace(
                remote='192.0.2.3', state='down',
                diagnostic='Control Detection Time Expired'))), base.WARN,
             'to 192.0.2.3 (Control Detection Time Expired)'),
            (tunnels(southbound=short, wanted=False,
                     fleet=bfd.Fleet(short, {}, {}),
                     sessions=(UP._replace(timers=short),)), base.WARN,
             'a short pause of ovs-vswitchd'),
            (tunnels(southbound=wrong, wanted=False, sessions=(),
                     fleet=bfd.Fleet(wrong, {}, {})), base.WARN, 'no number'))

    def test_how_soon_the_fabric_notices(self):
        self.judged_each(
            power.judge_fabric,
            ((frr.Timers('10.0.0.1', 9.0),), base.OK, '9 s by the hold time'),
            ((frr.Timers('10.0.0.1', 180.0),), base.WARN,
             '10.0.0.1 has no BFD and a hold time of 180 s'),
            ((frr.Timers('10.0.0.1', 180.0, 'Up', 0.9),), base.OK,
             'after 0.9 s by BFD'),
            ((frr.Timers('10.0.0.1', 180.0, 'Down', 0.9),), base.WARN,
             'bfdd=yes'),
            ((), base.NOT_CHECKED))

    def test_the_column_of_a_tunnel(self):
        self.assertEqual([power.Session('192.0.2.2', FAST, 'up', '')], list(
            power.sessions([[{
                'options': ['map', [['key', 'flow'],
                                    ['remote_ip', '192.0.2.2']]],
                'bfd': ['map', [['enable', 'true'], ['min_rx', '200'],
                                ['min_tx', '200'], ['mult', '3']]],
                'bfd_status': ['map', [['state', 'up']]]}]])))
