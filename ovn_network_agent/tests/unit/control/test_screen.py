# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The first screen of "status", as on the pages."""

import os
import re

from ovn_network_agent import model
from ovn_network_agent.control.reports import report
from ovn_network_agent.control.reports import screen
from ovn_network_agent.control.reports import situation
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.runtime.process import mode
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.unit.control import test_control as base

PAGES = os.path.join(tools.ROOT, 'doc', 'source')
PROMPT = '# ovn-network-agent-ctl status\n'
PEER = {'peer': '172.31.1.1', 'family': 'ipv4', 'state': 'Established',
        'since': '2026-01-28T12:00:00Z', 'seconds': 259200, 'sent': 212,
        'received': 14}


def screens():
    """What follows the prompt of "status" on each page, a dict."""
    found = {}
    for folder, _folders, names in os.walk(PAGES):
        for name in names:
            if not name.endswith('.rst'):
                continue
            with open(os.path.join(folder, name)) as opened:
                text = opened.read()
            for block in re.findall(
                    rf'( +){re.escape(PROMPT)}((?:\1.+\n)+)', text):
                indent, lines = block
                shown = ''.join(line.removeprefix(indent) + '\n'
                                for line in lines.splitlines())
                if not shown.startswith('#'):
                    found.setdefault(name, []).append(shown)
    return found


class ScreenTestCase(base.ReportTestCase):

    def told(self, *groups, state=report.READY, reasons=(), counts=(),
             problem='', bgp='', sessions=(PEER,), repairs=(), up=273600,
             databases=('nb', 'ovs', 'sb')):
        node = model.Node(base.HERE, 'gw1', model.Phase.RUNNING, ())
        names = directory.Directory(
            {base.R1: directory.Router(base.R1, 'neutron-r1', 'router1', ())},
            {base.HERE: 'gw1', base.THERE: 'gw2'})
        found = report.build(
            model.Snapshot(node, groups=groups), (),
            dict.fromkeys(databases, base.WELL), names, mode.FULL,
            verdict={'state': state, 'reasons': list(reasons)},
            situation={'addresses': {'counts': dict(counts),
                                     'problem': problem},
                       'bgp': {'sessions': list(sessions), 'problem': bgp},
                       'stuck': []})
        return {**found, 'version': '1.0.0', 'up_seconds': up,
                'repairs': list(repairs)}

    def group(self):
        return model.GatewayGroup(
            'Gateway_Chassis', 'p1', 'p1',
            (model.Candidate(base.HERE, 2), model.Candidate(base.THERE, 1)),
            (model.GroupPort(model.REDIRECT + 'p1', base.HERE, 'p1',
                             ('198.51.100.10/24',)),), (base.R1,),
            state=model.GatewayState.SERVING)



class ScreenTest(ScreenTestCase):

    def well(self):
        return self.told(self.group(), counts={'announced': 212}, repairs=[
            {'kind': 'flow', 'backend': 'flow', 'count': 2, 'last': ''}])

    def test_the_pages_show_it(self):
        said = screen.of_status(self.well())
        found = screens()
        self.assertIn('ctl.rst', found)
        for page, blocks in found.items():
            for block in blocks:
                self.assertEqual(said, block, page)

    def test_one_problem_and_one_repair(self):
        said = screen.of_status(self.told(
            state=report.DEGRADED, reasons=['route: down'],
            repairs=[{'count': 1}]))
        self.assertIn('  1 problem, 1 repair since the start\n', said)

    def test_what_is_not_well_comes_first(self):
        said = screen.of_status(self.told(
            state=report.DEGRADED, reasons=['route: down', 'NB is away'],
            counts={'announced': 1, 'failed': 2, 'withheld': 3},
            bgp='bgpd cannot be asked: gone', sessions=()))
        self.assertEqual(
            'gw1  DEGRADED   1.0.0  up 3d 4h   2 problems, 0 repairs since '
            'the start\n'
            'problems    route: down\n'
            '            NB is away\n'
            'addresses   1 announced   0 waiting   2 failed   3 withheld'
            '          (addresses --state STATE)\n'
            'databases   nb ok  ovs ok  sb ok\n'
            'bgp         bgpd cannot be asked: gone\n', said)

    def test_colours_do_not_move_a_column(self):
        found = self.told(self.group(), sessions=[
            PEER, {**PEER, 'peer': 'eth1', 'state': 'Active', 'sent': None,
                   'family': 'ipv6', 'seconds': None}])
        painted = []

        def paint(text, state):
            painted.append(state)
            return f'<{text}>'
        plain = screen.of_status(found)
        self.assertEqual(plain, re.sub('[<>]', '',
                                       screen.of_status(found, paint=paint)))
        for state in ('ready', 'Established', 'failed', 'serving', 'ok'):
            self.assertIn(state, painted)
        self.assertIn('eth1        Active ', plain)
        self.assertIn('- sent / 14 received', plain)

    def test_durations(self):
        for seconds, text in ((0, '0s'), (59.9, '59s'), (3600, '1h 0m'),
                              (90061, '1d 1h'), (125, '2m 5s')):
            self.assertEqual(text, screen.duration(seconds))

    def test_the_layer_where_an_address_is_stuck(self):
        rows = [{'backend': 'rule', 'kind': 'ip_rule', 'state': 'in place'},
                {'backend': 'route', 'kind': 'kernel_route',
                 'state': 'refused'}]
        self.assertEqual('route: kernel_route', situation.layer(rows))
        self.assertEqual('', situation.layer(rows[:1]))
