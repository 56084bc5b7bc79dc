# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which gateways announce VIPs, and how one takes over from another."""

import signal
import time

from lab import frr
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import forwarding as pf


class Announcers:
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def test_only_the_node_with_the_gateway(self):
        """vip_announce = with-gateway: dormant on the standby.

        The way of its packets is prepared there.
        """
        self.assertEqual(set(), self.vips_of('gw2'))
        self.assertIn(pf.PLAIN, self.table('gw2'))
        self.assertIn(f'permit {pf.PLAIN}/32 ge 32 le 32', frr.ask(
            self.cloud['gw2'], 'bgpd', 'show ip prefix-list'))
        self.assertEqual([plan.UPLINKS['gw1'][1]], self.hops(pf.PLAIN))
        self.cloud.move(self.alpha, 'gw2')
        self.addCleanup(self.cloud.wait_announced, self.fip.address, 'gw1',
                        base.SETTLE)
        self.addCleanup(self.cloud.move, self.alpha, 'gw1')
        nodes.wait_until('both announce it', lambda: len(
            self.hops(pf.PLAIN)) == 2, base.SETTLE)
        self.cloud.move(self.alpha, 'gw1')
        nodes.wait_until('gw1 announces it alone', lambda: self.hops(
            pf.PLAIN) == [plan.UPLINKS['gw1'][1]], base.SETTLE)
        self.assertEqual(set(), self.vips_of('gw2'))

    def test_a_stop_hands_vips_over(self):
        """A second gateway announces the VIPs, so no request is lost.

        The rule masquerades, so the source that the backend sees names the
        gateway.  A connection that lasts ends with its gateway: the other one
        does not know what was masqueraded.
        """
        self._announce('gw2', 'always')
        nodes.wait_until('both announce it', lambda: len(
            self.hops(pf.PLAIN)) == 2, base.SETTLE)
        agent = self.cloud.agents['gw1']
        *running, lasting = [
            self._through(kind, address) for kind, address in zip(
                ('udp', 'udp', 'tcp', 'stream'), self._clients_of('gw1', 4),
                strict=True)]
        self.assertEqual(0, agent.stop())
        try:
            self._taken_over(running)
            base.note(f'stop with a second VIP: {lasting.stop()}')
        finally:
            agent.start()
            agent.wait_ready()
            self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    def test_vips_move_with_the_gateway(self):
        """With-gateway: the VIPs stay until the next owner announces them."""
        self._announce('gw1', 'with-gateway')
        running = [self._through(kind, address) for kind, address in zip(
            ('udp', 'udp', 'tcp'), pf.clients(3), strict=True)]
        self.addCleanup(self.cloud.wait_announced, self.fip.address, 'gw1',
                        base.SETTLE)
        self.addCleanup(self.cloud.move, self.alpha, 'gw1')
        successor = self.cloud.agents['gw2']
        successor.freeze()
        self.addCleanup(successor.thaw)
        self.cloud.move(self.alpha, 'gw2')
        nodes.wait_until('gw1 hands over', lambda: (
            'handover: announce' in self.cloud.agents['gw1'].ctl(
                'status', '--verbose', check=False).stdout), base.SETTLE)
        for one in running:
            one.wait_answered(base.SETTLE, after=time.monotonic())
        self.assertEqual([plan.UPLINKS['gw1'][1]], self.hops(pf.PLAIN))
        successor.thaw()
        nodes.wait_until('gw2 announces it alone', lambda: self.hops(
            pf.PLAIN) == [plan.UPLINKS['gw2'][1]], base.SETTLE)
        self._taken_over(running)

    def _taken_over(self, running):
        """End probes through gw1, which gw2 has taken over without a loss.

        A TCP connection with packets before and after a change of the route
        is reset: gw2 does not know its translation.  The route changes twice
        (to both gateways, to gw2 alone).
        """
        # The kernel of the spine follows BGP later.
        nodes.wait_until('all probes go through gw2', lambda: all(
            plan.HOSTS['gw2'] in one.report().seen_sources
            for one in running), base.SETTLE)
        for one in running:
            one.wait_answered(base.SETTLE, after=time.monotonic())
        reports = [one.stop() for one in running]
        for report in reports:
            base.note(f'VIP: {report}')
        for report in reports:
            self.assertLessEqual(
                report.lost, 2 if report.kind == 'tcp' else 0, str(report))
            self.assertEqual({pf.LOCAL, plan.HOSTS['gw2']},
                             report.seen_sources, str(report))

    def _announce(self, name, when):
        """Another value of vip_announce, until the end."""
        agent = self.cloud.agents[name]

        def announce(when):
            agent.config['port_forward']['vip_announce'] = when
            agent.write_config()
            agent.process.send_signal(signal.SIGHUP)
        self.addCleanup(
            nodes.wait_until, 'gw1 announces it alone', lambda: self.hops(
                pf.PLAIN) == [plan.UPLINKS['gw1'][1]], base.SETTLE)
        self.addCleanup(announce,
                        agent.config['port_forward']['vip_announce'])
        announce(when)

    def _clients_of(self, name, count):
        """Addresses of clients whose requests go through a gateway."""
        found = []
        for address in pf.clients(40):
            report = probe.ping(self.client, pf.PLAIN, 1, 0.02, 'udp', port=82,
                                source=address, patience=base.SETTLE)
            if report.seen_sources == {plan.HOSTS[name]}:
                found.append(address)
            if len(found) == count:
                return found
        self.fail(f'of 40 clients {found} go through {name}')

    def _through(self, kind, address):
        """Probes of a client, answered already."""
        made = probe.Probe(self.client, kind, pf.PLAIN, 0.02, port=82,
                           source=address)
        self.addCleanup(made.__exit__)
        made.start()
        made.wait_answered(base.SETTLE)
        return made
