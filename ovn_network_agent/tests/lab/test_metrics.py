# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an operator sees in Prometheus when a gateway leaves or dies."""

import os
import shutil
import signal
import sys
import time
import unittest

from lab import node as nodes
from lab import plan
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import prometheus
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving

PORT = 9132
SERVER = 'central'
_DIRECTORY = '/var/lib/prometheus'
_LISTEN = '127.0.0.1', 9090
# A minute of the alert rules takes two seconds here: longer than a takeover,
# and a handover with two nodes that announce stays below its five minutes.
FASTER = 30
# Seconds until an alert fires, or is clear.
ALERTED = 40
# Alerts about the speed of the agent: the test shares its processor.
_SPEED = {'SlowReconcile', 'SlowFailoverAnnounce'}
# Where the picture of the dashboard goes, outside and inside of the node.
PICTURE = os.path.join(tools.ROOT, 'build', 'dashboard.svg')
_PICTURE = os.path.join(_DIRECTORY, 'dashboard.svg')
# Panels of the dashboard that stay empty, and the reason.
EMPTY = {'Destinations that are dead': 'no port is forwarded'}


def ask(path):
    """The answer of Prometheus to a program on its node: (status, text)."""
    return http_get.get(*_LISTEN, path)


@needs.needs(shutil.which('prometheus'), 'prometheus is not installed')
class TestMetrics(leaving.LeavingTestCase):
    """A real Prometheus on the management network scrapes both gateways."""

    GATEWAYS = 2
    METHOD = 'static'
    CONFIG = {'metrics': {'listen': f'0.0.0.0:{PORT:d}'}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        node = cls.cloud[SERVER]
        for name, text in prometheus.files(
                {name: f'{plan.HOSTS[name]}:{PORT:d}'
                 for name in cls.cloud.gateways}, FASTER).items():
            node.write(os.path.join(_DIRECTORY, name), text)
        node.spawn('prometheus', prometheus.command(
            _DIRECTORY, '{}:{:d}'.format(*_LISTEN)))
        cls.addClassCleanup(node.stop, 'prometheus', signal.SIGKILL)
        cls.since = time.monotonic()
        cls.server = prometheus.Server(lambda path: node.call(ask, path))

    def test_a_drain_a_kill_and_a_power_failure(self):
        owner = self.settled()
        self.sees('both are scraped', lambda: self.server.nodes(
            'up == 1') == set(self.cloud.gateways))
        self.fires()
        for leave in (self._drained, self._killed, self._switched_off):
            other, = set(self.cloud.gateways) - {owner}
            leave(owner, other)
            self.fires()
            owner = self.settled()
        self.assertEqual(set(EMPTY), self.drawn())
        fired = self.server.fired()
        base.note(f'alerts: {sorted(fired)}')
        self.assertFalse({'DrainFailed', 'PortServedTwice'} & {
            name for name, _about in fired}, fired)

    def _drained(self, owner, other):
        """No packet is missed, and no port: only the agent itself."""
        with self.both_ways() as running:
            self.assertEqual(0, self.cloud.agents[owner].stop())
            self.fires(('Down', owner))
            report = self.finished(running)
        base.note(f'{owner} drained: {report}')
        self.assert_gap(report)
        self.assertEqual({owner}, self.server.nodes(
            'max_over_time(ovn_network_agent_phase{phase="draining"}[10m]) '
            '== 1'))
        self.sees(f'{other} has taken over', lambda: {other} == self.served()
                  == self.server.nodes('ovn_network_agent_takeovers_total > '
                                       '0'))
        self.start(owner)

    def _killed(self, owner, _other):
        """Packets go on; nobody looks after the port, or drains it."""
        before = self._candidates()
        with self.both_ways() as running:
            self.cloud.agents[owner].kill()
            self.fires(('Down', owner),
                       ('PortServedByNobody', self.alpha.lrp))
            report = self.finished(running)
            self.cloud.wait_announced(self.fip.address, owner)
        self.assertEqual(before, self._candidates())
        base.note(f'agent of {owner} killed: {report}')
        self.assertEqual(0, report.lost, report)
        self.start(owner)

    def _candidates(self):
        """Owner, priorities and marks of alpha's gateways."""
        return (self.owner(), self.priorities(),
                self.cloud.neutron.marks(self.alpha))

    def _switched_off(self, owner, other):
        """Packets are lost, and the other node takes over."""
        with self.both_ways() as running:
            self.cloud.power_off(owner)
            self.fires(('Down', owner))
            report = self.finished(running)
        base.note(f'{owner} switched off: {report}')
        self.assertGreater(report.longest_gap_ms, leaving.DEATH_MS)
        self.sees(f'{other} has taken over',
                  lambda: self.served() == {other})
        self.cloud.power_on(owner)
        self.start(owner)

    def drawn(self):
        """Draw the dashboard; gives the titles of its empty panels, a set."""
        node = self.cloud[SERVER]
        drawn = node.run(
            [sys.executable, os.path.join(tools.ROOT, 'tools',
                                          'dashboard.py'),
             '--prometheus', 'http://{}:{:d}'.format(*_LISTEN),
             '--last', f'{time.monotonic() - self.since:.0f}',
             '--scrape', str(prometheus.EVERY), '--write', _PICTURE],
            check=False)
        self.assertEqual('', drawn.stderr)
        with open(PICTURE, 'w', encoding='utf-8') as opened:
            opened.write(node.read(_PICTURE))
        lines = [line.split(maxsplit=1) for line in drawn.stdout.splitlines()]
        return {title for count, title in lines if count == '0'}

    # -- looking ----------------------------------------------------------

    def served(self):
        """Names of the nodes that say that they announce alpha's port."""
        return self.server.nodes(
            'ovn_network_agent_gateway_port_served == 1')

    def sees(self, what, check):
        """Wait until Prometheus sees something."""
        nodes.wait_until(what, check, ALERTED)

    def fires(self, *alerts):
        """Wait until these alerts fire, and no other."""
        def firing():
            found = self.server.firing()
            return None if found is None else {
                one for one in found if one[0] not in _SPEED}

        self.sees(lambda: f'{firing()} and not {set(alerts)}',
                  lambda: firing() == set(alerts))


if __name__ == '__main__':
    unittest.main()
