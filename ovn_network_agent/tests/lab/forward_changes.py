# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What changes while VIPs are in use: rules, tables, agents, backends."""

import time

from lab import dump
from lab import echo
from lab import frr
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import crowd
from ovn_network_agent.tests.lab import forwarding as pf

# Seconds; 1.2 and 1.5 were measured with seven times as much to do as the
# processors can.
AT_ONCE = 5
_DATABASES = ('nb', 'sb')
_CHECK = {'type': 'tcp', 'port': echo.PORT, 'interval': 0.2, 'rise': 1,
          'fall': 2}


class Changes:
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def busy(self):
        """Connections through VIPs and to a floating IP, a list.

        One of each is a connection that lasts, so that its packets are
        counted as such.  A test before may have moved the gateway: its former
        owner announces for some more seconds, and a move costs packets.
        """
        nodes.wait_until('gw1 announces the floating IP alone', lambda: (
            self.hops(self.fip.address) == [plan.UPLINKS['gw1'][1]]),
            base.SETTLE)
        found = [self.running_probe(pf.PLAIN, 80, 'udp'),
                 self.running_probe(pf.PLAIN, 81, 'udp'),
                 self.running_probe(pf.PLAIN, 81, 'stream'),
                 self.running_probe(pf.PLAIN6, 81, 'stream'),
                 probe.Probe(self.client, 'icmp', self.fip.address)]
        for one in found:
            self.addCleanup(one.__exit__)
            one.start()
        return found

    def undisturbed(self, running):
        """End them; nothing may have been lost."""
        for one in running:
            self.lossless(one)

    # -- rules ------------------------------------------------------------

    def test_reload_disturbs_nobody(self):
        """A VIP comes and goes; the connections of others go on.

        Row PF-25 and trap T36: it is announced by the address alone, without
        a static route, which could never be used.
        """
        running = self.busy()
        self.other_rules('gw1', [*pf.VIPS, pf.vip(
            pf.OTHER, pf.both(80, pf.LOCAL))])
        self.cloud.wait_announced(pf.OTHER, 'gw1', base.SETTLE)
        self.asked(pf.OTHER, 80)
        self.assertEqual(set(), {
            line for line in self.statics('gw1') if '198.18.0.' in line})
        self.usual_rules('gw1')
        self.cloud.wait_withdrawn(pf.OTHER, base.SETTLE)
        self.undisturbed(running)

    def test_broken_rules_change_nothing(self):
        """They are said, with file and line, and the old ones stay."""
        before = self.state('gw1'), self.table(), self.generation()
        running = self.busy()
        text = 'port_forwards:\n- vip: 192.0.2.300\n  rules: []\n'
        self.addCleanup(self.usual_rules, 'gw1')
        mark = self.mark('gw1')
        self.reload('gw1', text, said='stay as they were')
        self.assertIn(f'{pf.RULES}, line 2', self.said('gw1', mark))
        self.assertIn('192.0.2.300', self.said('gw1', mark))
        nodes.wait_until('the status has it', lambda: '192.0.2.300' in (
            self.cloud.agents['gw1'].ctl(
                'status', '--verbose', check=False).stdout),
            base.SETTLE)
        after = self.state('gw1'), self.table(), self.generation()
        self.assertEqual([], dump.difference(before[0], after[0]))
        self.assertEqual(before[1:], after[1:])
        self.undisturbed(running)

    def test_another_backend_takes_connections_over(self):
        """A backend that is taken out takes its connections along."""
        with self.running_probe(pf.PLAIN, 81, 'udp') as running:
            self.other_rules('gw1', [pf.vip(
                pf.PLAIN, pf.both(81, pf.SEVERAL[0])), *pf.VIPS[1:]])
            nodes.wait_until('the new one answers', lambda: (
                pf.SEVERAL[0] in running.report().responders), base.SETTLE)
            report = running.stop()
        self.assertEqual({pf.REMOTE, pf.SEVERAL[0]}, report.responders)
        self.assertEqual({plan.CLIENT}, report.seen_sources)
        base.note(f'one backend replaced by another: {report}')

    # -- the table --------------------------------------------------------

    def test_flushed_table_is_repaired(self):
        """Row PF-29: after "nft flush ruleset", and "nft delete chain"."""
        before = pf.words(self.table())
        with self.running_probe(pf.PLAIN, 81, 'tcp') as running:
            for argv in (('flush', 'ruleset'),
                         ('flush', 'chain', 'ip', ownership.NFT_TABLE,
                          'prerouting_dnat')):
                self.cloud['gw1'].run(['nft', *argv])
                started = time.monotonic()
                nodes.wait_until(
                    'the table is back',
                    lambda: pf.words(self.table()) == before, AT_ONCE)
                base.note(f'nft {" ".join(argv)}: repaired after '
                          f'{time.monotonic() - started:.2f} s')
            running.wait_answered(base.SETTLE, after=time.monotonic())
            base.note(f'meanwhile: {running.stop()}')
        # Without the table nobody translates answers that are under way.
        self.untranslated_on_purpose()
        self.assertEqual((pf.REMOTE6, plan.CLIENT6),
                         self.asked(pf.PLAIN6, 81))

    def test_restart_without_ovn_loses_nothing(self):
        """Trap T63: the guard does not drop what nobody has asked about.

        The agent is killed, OVN does not answer, the rules have changed
        meanwhile: so the new agent loads a table before it knows a router.
        """
        running = self.busy()
        agent = self.cloud.agents['gw1']
        agent.kill()
        for name in _DATABASES:
            self.cloud['central'].pause(name)
        try:
            generation = self.generation()
            self.addCleanup(self.usual_rules, 'gw1')
            self.write_rules('gw1', [*pf.VIPS, pf.vip(
                pf.OTHER, pf.both(80, pf.REMOTE))])
            mark = self.mark('gw1')
            agent.start()
            # The time of a start, which is not that of a change.
            self.wait_said('gw1', 'created vip_address', mark, 60)
            self.asked(pf.OTHER, 80)
            self.assertNotEqual(generation, self.generation())
            self.assertIn(str(plan.PROVIDER), self.table())
            for one in running:
                one.wait_answered(base.SETTLE, after=time.monotonic())
        finally:
            for name in _DATABASES:
                self.cloud['central'].resume(name)
        agent.wait_ready()
        self.undisturbed(running)
        base.note('restart without OVN: nothing lost')

    # -- health -----------------------------------------------------------

    def test_dead_backends(self):
        """One leaves the map; with the last one the VIP is withdrawn."""
        self.other_rules('gw1', [*pf.VIPS, pf.vip(
            pf.CHECKED, pf.both(80, *pf.SEVERAL[:2], health_check=_CHECK))])
        self.cloud.wait_announced(pf.CHECKED, 'gw1', base.SETTLE)
        backend = self.cloud['backend']
        first, second = pf.SEVERAL[:2]
        self.assertEqual({first, second}, self._responders())
        started = time.monotonic()
        backend.stop('echo-' + first)
        self.addCleanup(self._again, first)
        nodes.wait_until('only the other one answers', lambda: (
            self._responders() == {second}), base.SETTLE)
        base.note('a dead backend left after '
                  f'{time.monotonic() - started:.2f} s')
        started = time.monotonic()
        backend.stop('echo-' + second)
        self.addCleanup(self._again, second)
        self.cloud.wait_withdrawn(pf.CHECKED, base.SETTLE)
        base.note('the last one died: withdrawn after '
                  f'{time.monotonic() - started:.2f} s')
        self.assertNotIn(pf.CHECKED, self.vips_of('gw1'))
        self._again(second)
        self.cloud.wait_announced(pf.CHECKED, 'gw1', base.SETTLE)
        self._again(first)
        nodes.wait_until('both answer again', lambda: (
            self._responders() == {first, second}), base.SETTLE)

    def _responders(self):
        """Who answers forty clients, if all of them are answered."""
        try:
            answers = crowd.ask(self.client, pf.CHECKED, pf.clients(40), 80)
        except nodes.NodeError:
            return set()
        return {backend for _seen, backend in answers.values()}

    def _again(self, address):
        backend = self.cloud['backend']
        if 'echo-' + address not in backend.services:
            echo.start(backend, name='echo-' + address, address=address)

    # -- addresses of others ----------------------------------------------

    def test_vip_that_no_device_has(self):
        """Resolution A-09: announced by a route, as the method has it.

        What nobody forwards goes nowhere, in particular not to the
        management network.
        """
        self.other_rules('gw1', [*pf.VIPS, pf.vip(
            pf.FOREIGN, pf.both(80, pf.LOCAL), pf.both(81, pf.REMOTE),
            manage_vip=False)])
        for method in ('kernel', 'static'):
            self.reconfigure('gw1', 'fip_route', announce_method=method)
            nodes.wait_until(
                'announced by one method alone', lambda m=method:
                self.methods('gw1', pf.FOREIGN) == {m}, base.SETTLE)
            self.cloud.wait_announced(pf.FOREIGN, 'gw1', base.SETTLE)
            # To those that a device has, the method makes no difference.
            self.assertEqual('gw1', self.cloud.announcer(pf.PLAIN))
            self.assertEqual((pf.LOCAL, plan.CLIENT),
                             self.asked(pf.FOREIGN, 80))
            self.assertEqual((pf.REMOTE, plan.CLIENT),
                             self.asked(pf.FOREIGN, 81, 'udp'))
            for kind, port in (('icmp', 0), ('udp', 99)):
                self.silent(pf.FOREIGN, port, kind, self.client)

    def test_vip_that_the_operator_has(self):
        """Row PF-26, trap T37: its line of the prefix list announces it.

        The address alone, the negative control, does not: it is in no
        provider network.  It stays when the rule goes.
        """
        node = self.cloud['gw1']
        node.batch(f'addr add {pf.OPERATORS}/32 dev loopback1\n')
        self.addCleanup(node.batch,
                        f'addr del {pf.OPERATORS}/32 dev loopback1\n')
        self.enterContext(frr.soon(node))
        own = pf.vip(pf.OTHER, pf.both(80, pf.LOCAL))
        self.other_rules('gw1', [*pf.VIPS, own])
        self.cloud.wait_announced(pf.OTHER, 'gw1', base.SETTLE)
        self.assertEqual([], self.hops(pf.OPERATORS))
        self.reload('gw1', [*pf.VIPS, own, pf.vip(
            pf.OPERATORS, pf.both(80, pf.LOCAL), manage_vip=False)])
        self.cloud.wait_announced(pf.OPERATORS, 'gw1', base.SETTLE)
        self.assertEqual((pf.LOCAL, plan.CLIENT), self.asked(pf.OPERATORS, 80))
        self.assertEqual(set(), self.methods('gw1', pf.OPERATORS))
        self.reload('gw1', [*pf.VIPS, own])
        self.cloud.wait_withdrawn(pf.OPERATORS, base.SETTLE)
        self.assertIn(pf.OPERATORS, self.vips_of('gw1'))

    # -- many, and the end ------------------------------------------------

    def test_thousand_vips_in_one_transaction(self):
        """As many transactions as for one VIP, and no device's address.

        On the standby: there none of them is announced.
        """
        many = [pf.vip(f'198.19.{n // 250}.{n % 250}', pf.rule(
            'tcp', 80, pf.REMOTE)) for n in range(1000)]
        counts = []
        for vips in ([*pf.VIPS, many[0]], [*pf.VIPS, *many]):
            before = self.generation('gw2')
            started = time.monotonic()
            mark = self.mark('gw2')
            self.other_rules('gw2', vips)
            self.wait_said('gw2', 'updated nft_table', mark, 60)
            base.note(f'{len(vips) - len(pf.VIPS)} VIPs more: loaded after '
                      f'{time.monotonic() - started:.2f} s')
            self.assertIn(vips[-1]['vip'], self.table('gw2'))
            counts.append(self.generation('gw2') - before)
        self.assertEqual(counts[0], counts[1])

    def test_stop_leaves_nothing(self):
        """Row CLN-01 for VIPs: SIGTERM takes all of it away."""
        for name in self.cloud.gateways:
            self.assertEqual(0, self.cloud.agents[name].stop())
        try:
            for address in (pf.PLAIN, pf.MANY):
                self.cloud.wait_withdrawn(address, base.SETTLE)
            for name, before in self.before.items():
                self.assertEqual([], dump.difference(
                    before, self.state(name)), name)
        finally:
            for name in self.cloud.gateways:
                self.cloud.agents[name].start()
                self.cloud.agents[name].wait_ready()
            self.cloud.wait_announced(pf.PLAIN, 'gw1', base.SETTLE)
            self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
            # In between nobody translated what backends still had to say.
            self.untranslated_on_purpose()
