# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Nodes and agents with egress addresses end, hang and come back."""

import contextlib
import itertools
import os
import time

from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import beyond
from ovn_network_agent.tests.lab import egressed
from ovn_network_agent.tests.lab import judged

# Seconds of churn.
CHURN = float(os.environ.get('LAB_CHURN', '12'))
# Milliseconds: a gateway may move twice as slowly for one of two machines, as
# the chassis and the agents change over each by itself.
SLACK = 1000


class Faults:
    """A mixin of an EgressTestCase."""

    # -- gateways ---------------------------------------------------------

    def test_a_gateway_is_drained_and_dies(self):
        """With connections by all objects, and one of another machine."""
        agent = self.cloud.agents['gw1']
        with self.connected() as running:
            agent.ctl('drain', '--wait')
            try:
                self.compare('drained', running)
                self.wait_rows(self.rows_of('gw2'))
                self.assertFalse(self.has('gw1', egressed.FIRM))
            finally:
                agent.ctl('undrain', '--wait')
        for router in (self.alpha, self.gamma):
            self.cloud.move(router, 'gw1')
        self.wait_rows(self.rows_of('gw1'))
        self.wait_leaves(self.aside, beyond.NEAR, egressed.FIRM)
        self.cloud.wait_alone(egressed.WEB, 'gw1', base.SETTLE)
        with self.connected() as running:
            base.note(f'{self.writer()} writes, and gw1 dies')
            self.beyond.unplug('gw1')
            self.cloud.power_off('gw1')
            try:
                self.compare('dead', running)
                self.wait_rows(self.rows_of('gw2'))
                base.note(f'by one gateway: {self.spread()}')
            finally:
                self.cloud.power_on('gw1')
                self.beyond.plug('gw1')
                self.put(names=['gw1'])
                agent.start()
                agent.wait_ready()

    @contextlib.contextmanager
    def connected(self):
        """Probes of all machines, that are answered: {name: Probe}."""
        with contextlib.ExitStack() as stack:
            yield {f'{name} {kind}': stack.enter_context(probe.Probe(
                vm.node, kind, target, patience=base.SETTLE))
                for name, vm, target in (
                    ('web', self.here, plan.CLIENT),
                    ('none', self.other, plan.CLIENT),
                    ('crawl', self.third, plan.CLIENT),
                    ('firm', self.aside, beyond.NEAR))
                for kind in ('icmp', 'stream')}

    def compare(self, what, running):
        """End probes; an egress address costs what the move costs anyway."""
        after = time.monotonic()
        for each in running.values():
            each.wait_answered(2 * base.SETTLE, after=after)
        reports = {name: each.stop() for name, each in running.items()}
        for name, report in reports.items():
            base.note(f'{what}: {name}: {report}')
        for kind in ('icmp', 'stream'):
            self.assertLessEqual(
                reports[f'web {kind}'].longest_gap_ms,
                reports[f'none {kind}'].longest_gap_ms + SLACK)

    # -- agents -----------------------------------------------------------

    def test_the_writer_is_killed(self):
        first, second = self.writer(), self.standby()
        # A new address is reachable when the agent of the gateway announces
        # it, so that one has to live.
        self.cloud.move(self.alpha, second)
        self.wait_rows(self.rows_of(second))
        self.cloud.agents[first].kill()
        try:
            self.put({**self.web, 'addresses': ['198.51.100.54']}, self.crawl,
                     self.firm)
            begin = time.monotonic()
            took = self.wait_leaves(self.here, plan.CLIENT,
                                    '198.51.100.54') - begin
            base.note(f'the next one has written after {took:.2f} s')
            self.assertEqual(second, self.writer())
        finally:
            self.cloud.agents[first].start()
            self.cloud.agents[first].wait_ready()

    def test_an_agent_that_hangs_gets_no_address(self):
        """Its port is open: the kernel takes connections for it."""
        writer, hangs = self.writer(), self.standby()
        self.cloud.move(self.alpha, writer)
        self.wait_rows(self.rows_of(writer))
        mark, agent = self.mark(writer), self.cloud.agents[hangs]
        agent.freeze()
        try:
            self.wait_said(writer, 'does not answer', mark)
            doctor = self.cloud.agents[writer].look('doctor', 'egress-probe')
            base.note(' '.join(doctor.stdout.split()))
            self.assertIn(plan.system_id(hangs), doctor.stdout)
            self.cloud.move(self.alpha, hangs)
            self.wait_rows({row for row in self.rows_of(hangs)
                            if row[0] != 'firm'})
        finally:
            agent.thaw()
        self.wait_rows(self.rows_of(hangs))
        self.wait_leaves(self.aside, beyond.NEAR, egressed.FIRM)

    # -- nothing leaves untranslated --------------------------------------

    def judge(self):
        """The captures outside: of the other link, the uplinks, and the rest.
        """
        return judged.Judge((self.beyond.node, 'eth0'),
                            (self.cloud['spine'], 'any'),
                            (self.cloud['sink'], 'eth0'))

    def test_the_judge_sees_what_leaks(self):
        """The captures of the next test, with the agents' work undone."""
        own = str(plan.tenant(1, 4)[250])
        node, agent = self.cloud['gw1'], self.cloud.agents['gw1']
        with self.judge() as judge:
            agent.freeze()
            try:
                node.run(['nft', 'delete', 'table', 'ip',
                          'ovn-network-agent-egress'])
                node.batch(f'addr add {own}/32 dev loopback1\n')
                for sender, target, way in (
                        (self.aside.node, beyond.NEAR, {}),
                        (node, plan.CLIENT, {'source': own,
                                             'device': plan.VRF})):
                    probe.unreachable(sender, 'udp', target, 2, limit=0.5,
                                      **way)
            finally:
                node.batch(f'addr del {own}/32 dev loopback1\n')
                agent.thaw()
            found = judge.packets()
        for address in (self.aside.port.address, own):
            self.assertTrue(any(f' {address}.' in line for line in found),
                            f'{address}: {found}')
        self.wait_leaves(self.aside, beyond.NEAR, egressed.FIRM)

    def test_nothing_leaves_untranslated(self):
        """Selections, addresses and gateways change under traffic."""
        other = {**self.firm, 'addresses': [egressed.NEVER, egressed.FIRM6]}
        crawl = {**self.crawl, 'addresses': ['198.51.100.61', str(
            plan.FURTHER_PROVIDERS[61])]}
        changes = itertools.cycle((
            lambda: self.put(self.web, self.crawl),
            lambda: self.put(self.web, self.crawl, other),
            lambda: self.put(self.web, crawl, self.firm),
            lambda: self.cloud.move(self.gamma, 'gw2'),
            lambda: self.cloud.move(self.alpha, 'gw2'),
            lambda: self.put(),
            lambda: self.label('gw2', 'false'),
            lambda: self.cloud.move(self.alpha, 'gw1'),
            lambda: self.cloud.move(self.gamma, 'gw1'),
            lambda: self.put({**self.web, 'select': {
                'ports': [self.aside.port.uuid]}}, self.crawl),
            lambda: self.label('gw2', 'true'),
            self.put))
        self.addCleanup(self.label, 'gw2', 'true')
        # OVN goes on with a connection as it began, so the client gets new
        # ones only.
        senders = [(self.aside, 'tcp', plan.CLIENT),
                   (self.third, 'tcp', plan.CLIENT), *(
                       (self.aside, kind, target) for kind in egressed.KINDS
                       for target in (beyond.NEAR, beyond.NEAR6))]
        before, number = self.cloud.sink.untranslated(), 0
        with self.judge() as judge, contextlib.ExitStack() as stack:
            probes = [stack.enter_context(probe.Probe(
                vm.node, kind, target, 0.05, limit=1.0))
                for vm, kind, target in senders]
            end = time.monotonic() + CHURN
            while time.monotonic() < end:
                next(changes)()
                number += 1
                # Until the agents have followed, or are in the middle of it.
                self.central('ovn-nbctl', '--wait=hv', 'sync')
                time.sleep(0.1 * (number % 8))
            reports = [each.stop() for each in probes]
            self.assertEqual([], judge.packets())
        base.note(f'{number} changes: ' + '; '.join(map(str, reports)))
        self.assertEqual(before, self.cloud.sink.untranslated())
        self.assertGreater(min(each.received for each in reports), 0)
