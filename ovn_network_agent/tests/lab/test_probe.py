# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Probes and responder of the lab, between two nodes joined by a cable."""

import os
import subprocess
import threading
import time
import unittest

from lab import echo
from lab import node as nodes
from lab import probe
from ovn_network_agent.tests import needs

NEAR, FAR, LOOPBACK = '192.0.2.1', '192.0.2.2', '198.51.100.1'
NOBODY = '192.0.2.99'
NEAR6, FAR6, NOBODY6 = '2001:db8::1', '2001:db8::2', '2001:db8::99'
# Far more than a probe takes here, far less than an outage of the tests.
SLACK_MS = 150
# Between two probes, unless a test says otherwise.
INTERVAL_MS = 20


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts: needs the lab machine')
class ProbeTestCase(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.near = self.node('near')
        self.far = self.node('far')
        subprocess.run(
            ['ip', 'link', 'add', 'eth0', 'netns', str(self.near.pid),
             'type', 'veth', 'peer', 'name', 'eth0', 'netns',
             str(self.far.pid)], check=True)
        self.near.batch(f'link set eth0 up\naddr add {NEAR}/24 dev eth0\n')
        self.far.batch(f'link set eth0 up\naddr add {FAR}/24 dev eth0\n'
                       f'addr add {LOOPBACK}/32 dev lo\n')
        echo.start(self.far)

    def node(self, name):
        made = nodes.Node(name)
        self.addCleanup(made.close)
        return made

    def fix_neighbour(self):
        """Packets for a dead link are dropped now, not kept for later."""
        self.near.run(['ip', 'neighbour', 'replace', FAR, 'dev', 'eth0',
                       'lladdr', self.far.out(
                           'cat', '/sys/class/net/eth0/address').strip(),
                       'nud', 'permanent'])

    def outage(self, seconds):
        """Take the link down for a while.

        :returns: between which lengths in ms the outage was
        """
        # `ip -batch` would not wait; one process without any start-up in
        # between keeps the outage close to what is asked for.
        script = (f'ip link set eth0 down; sleep {seconds:g}; ip link '
                  'set eth0 up')
        started = time.monotonic()
        self.far.run(['sh', '-c', script])
        # A gap begins and ends with a probe.
        return (seconds * 1000 - INTERVAL_MS,
                (time.monotonic() - started) * 1000)


class TestAccounting(ProbeTestCase):

    def test_nothing_lost(self):
        for kind in probe.KINDS:
            with self.subTest(kind):
                with probe.Probe(self.near, kind, FAR, 0.01) as running:
                    running.wait_answered(5)
                    nodes.wait_until('50 probes', lambda: (
                        running.report().received >= 50))
                    report = running.stop()
                self.assertEqual((0, 0), (report.lost, report.pending))
                self.assertEqual(report.sent, report.received)
                self.assertEqual(0, report.longest_gap_ms)
                # Answers may be late, and that is no loss.
                self.assertLess(report.longest_silence_ms, 1000)
                self.assertIsNone(report.first_loss)
                self.assertIsNone(report.last_loss)
                self.assertLessEqual(report.rtt_median_ms,
                                     report.rtt_max_ms)
                self.assertEqual(set() if kind == 'icmp' else {NEAR},
                                 report.seen_sources)
                self.assertEqual('', report.error)

    def test_outage(self):
        self.fix_neighbour()
        for kind in ('icmp', 'udp'):
            with self.subTest(kind):
                with probe.Probe(self.near, kind, FAR, 0.01,
                                 limit=1.0) as running:
                    running.wait_answered(5)
                    before = time.monotonic()
                    shortest, longest = self.outage(0.5)
                    running.wait_answered(10, after=time.monotonic())
                    report = running.stop()
                self.assertEqual(report.sent, report.received + report.lost)
                # Taking a link down and up is part of it.
                self.assertGreater(report.longest_gap_ms, shortest)
                self.assertLess(report.longest_gap_ms, longest + SLACK_MS)
                self.assertGreater(report.longest_silence_ms, shortest)
                self.assertAlmostEqual(report.longest_gap_ms / 10,
                                       report.lost, delta=SLACK_MS / 10)
                self.assertGreaterEqual(report.first_loss,
                                        before - report.started)
                self.assertAlmostEqual(
                    report.longest_gap_ms / 1000 + report.first_loss,
                    report.last_loss, delta=SLACK_MS / 1000)

    def test_delay_is_no_loss(self):
        with probe.Probe(self.near, 'udp', FAR, limit=5.0) as running:
            running.wait_answered(5)
            self.far.pause(echo.NAME)
            paused = time.monotonic()
            nodes.wait_until('20 probes wait', lambda: (
                running.report().pending >= 20))
            shortest = (time.monotonic() - paused) * 1000
            self.far.resume(echo.NAME)
            running.wait_answered(10, after=time.monotonic())
            report = running.stop()
        self.assertEqual((0, 0), (report.lost, report.longest_gap_ms))
        self.assertGreater(report.longest_silence_ms, shortest - SLACK_MS)
        self.assertIn('silent for', str(report))


class TestTargets(ProbeTestCase):

    def test_source(self):
        self.near.batch('addr add 192.0.2.77/24 dev eth0\n')
        for kind in ('tcp', 'udp'):
            report = probe.ping(self.near, FAR, 2, 0.01, kind,
                                source='192.0.2.77')
            self.assertEqual({'192.0.2.77'}, report.seen_sources, kind)

    def test_answer_from_elsewhere_does_not_count(self):
        # A router that forgets to translate the answers back.
        self.far.run(['nft', '-f', '-'], input=(
            'table ip t {\n'
            'chain in { type filter hook prerouting priority raw;\n'
            f' ip daddr {NOBODY} ip daddr set {FAR}\n}}\n}}\n'))
        self.near.run(['ip', 'neighbour', 'replace', NOBODY, 'dev', 'eth0',
                       'lladdr', self.far.out(
                           'cat', '/sys/class/net/eth0/address').strip()])
        for kind in ('icmp', 'udp'):
            self.assertTrue(probe.unreachable(
                self.near, kind, NOBODY, 3, 0.01, 0.5), kind)

    def test_unreachable(self):
        for kind in probe.KINDS:
            self.assertTrue(probe.unreachable(
                self.near, kind, NOBODY, 2, 0.01, 0.3), kind)
            self.assertFalse(probe.unreachable(
                self.near, kind, FAR, 2, 0.01, 5), kind)

    def test_errors_are_losses_with_a_reason(self):
        report = probe.ping(self.near, '203.0.113.1', 2, 0.01)
        self.assertEqual((2, 2), (report.sent, report.lost))
        self.assertEqual('Network is unreachable', report.error)
        report = probe.ping(self.near, FAR, 2, 0.01, 'tcp', port=9)
        self.assertEqual((2, 2), (report.sent, report.lost))
        self.assertEqual('Connection refused', report.error)

    def test_what_is_sent_before_the_first_answer_does_not_count(self):
        """Neither as sent nor as lost; also where it is refused at first."""
        with self.assertRaisesRegex(nodes.NodeError, 'not within 0.2 s'):
            probe.ping(self.near, NOBODY, 3, 0.01, patience=0.2)
        for number, kind in enumerate(probe.KINDS):
            new = f'192.0.2.6{number:d}'
            later = threading.Timer(0.3, self.far.batch, (
                f'addr add {new}/24 dev eth0\n',))
            later.start()
            report = probe.ping(self.near, new, 20, 0.01, kind, patience=10)
            later.join()
            self.assertEqual((20, 20, 0, ''), (
                report.sent, report.received, report.lost, report.error))
            self.assertLess(report.longest_silence_ms, SLACK_MS)

    def test_ipv6(self):
        """An answer of another address does not count, either."""
        for node, address in ((self.near, NEAR6), (self.far, FAR6)):
            node.batch(f'addr add {address}/64 dev eth0 nodad\n')
        for kind in probe.KINDS:
            report = probe.ping(self.near, FAR6, 5, 0.01, kind, patience=10)
            self.assertEqual((5, 0), (report.received, report.lost), report)
            self.assertTrue(probe.unreachable(
                self.near, kind, NOBODY6, 2, 0.01, 0.3), kind)


class TestFailures(ProbeTestCase):

    def test_probe_that_cannot_be(self):
        with self.assertRaises(ValueError):
            probe.Probe(self.near, 'sctp', FAR)
        with self.assertRaisesRegex(probe.ProbeError, 'assign requested'):
            probe.Probe(self.near, 'udp', FAR, source='10.9.9.9').start()
        with self.assertRaisesRegex(probe.ProbeError, 'no probes'):
            probe.Probe(self.near, 'udp', FAR).report()

    def test_node_dies(self):
        with probe.Probe(self.near, 'icmp', FAR) as running:
            running.wait_answered(5)
            self.near.kill()
            with self.assertRaises(probe.ProbeError):
                running.stop()


if __name__ == '__main__':
    unittest.main()
