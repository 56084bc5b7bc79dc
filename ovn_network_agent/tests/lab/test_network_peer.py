# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Two tenants' routers that peer inside OVN, with traffic."""

import json
import time

from lab import node as nodes
from lab import northbound
from lab import plan
from lab import probe
from lab import routers
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import peered

MANY = 1000


class TestNetworkPeer(peered.PeeredTestCase):

    def test_machines_reach_each_other(self):
        self.reachable('tcp', 'udp')
        # A peer of a peer is no peer, and gamma has one family.
        self.meanwhile(self.beta, third=self.gamma.uuid)
        self.meanwhile(self.gamma, web='beta')
        self.wait_rows(4, 6, 16, 8)
        self.reach(self.there.node, 'icmp', self.third.port.address)
        self.unreachable(self.here, self.third)
        self.say(self.beta, web=None, third=None)
        self.wait_rows(*peered.NONE)
        self.unreachable(self.here, self.there)
        self.say(self.beta, web=self.alpha.uuid)
        self.wait_rows(*peered.ROWS)
        self.reachable()

    def test_commands(self):
        """Removed, written, shown and explained by the programs alone."""
        agent = self.cloud.agents['gw2']
        intents = ((self.alpha, 'db', self.beta),
                   (self.beta, 'web', self.alpha))
        for router, name, _other in intents:
            agent.ctl('peer', 'remove', router.uuid, name)
        self.wait_rows(*peered.NONE)
        self.unreachable(self.here, self.there)
        for router, name, other in intents:
            agent.ctl('peer', 'add', router.uuid, name, other.uuid)
        self.wait_rows(*peered.ROWS)
        self.reachable()
        self.assertIn('2 created', agent.ctl('peers').stdout)
        # This agent reads a moment later what the other has written.
        nodes.wait_until('doctor finds the rows', lambda: (
            '2 created, 0 pending' in agent.look('doctor', 'peerings').stdout),
            base.SETTLE)
        for client, verdict in ((self.here.port.address, 'OK'),
                                (plan.CLIENT, 'NOT CHECKED')):
            done = agent.look('explain', self.there.port.address, '--client',
                              client, '--json')
            said = json.loads(done.stdout)
            verdicts = {each['check']: each['verdict']
                        for each in said['findings']}
            self.assertEqual(
                (0, 'ok', 'OK', 'OK', verdict, 'OK'),
                (done.returncode, said['outcome'], *(
                    verdicts.get(check) for check in (
                        'peering', 'peering-rows', 'peering-policies',
                        'peering-writer'))), said)

    def test_neutron_updates_a_router(self):
        """It replaces external_ids; ovn-northd ignores unknown options."""
        before, flows = self.rows(), self.flows_of_northd()
        self.meanwhile(self.beta, misspelt='nobody')
        self.assertEqual(flows, self.flows_of_northd())
        self.say(self.beta, 'external_ids', web='alpha')
        self.say(self.beta, web=None)
        self.neutron_updates(self.alpha)
        self.reachable()
        self.assertEqual(before, self.rows())
        self.neutron_updates(self.beta)
        self.wait_rows(*peered.NONE)
        # Alpha's intent has been in its options.
        self.say(self.beta, web='alpha')
        self.wait_rows(*peered.ROWS)

    def flows_of_northd(self):
        self.central('ovn-nbctl', '--wait=sb', 'sync')
        return sorted(self.central('ovn-sbctl', 'lflow-list').splitlines())

    def neutron_updates(self, router):
        def write(_txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            row.enabled = True
            row.external_ids = {
                key: text for key, text in row.external_ids.items()
                if key.startswith('neutron:')} | {
                    'neutron:revision_number': '9'}

        self.cloud.nb.transact(write)

    def test_without_uplinks(self):
        self.reach(self.here.node, 'icmp', plan.CLIENT)
        self.addCleanup(probe.wait_reachable, self.here.node, 'icmp',
                        plan.CLIENT, base.SETTLE)
        for name in self.cloud.gateways:
            self.cloud[name].batch('link set eth1 down\n')
            self.addCleanup(self.cloud[name].batch, 'link set eth1 up\n')
        nodes.wait_until('the uplinks are cut', lambda: probe.unreachable(
            self.here.node, 'icmp', plan.CLIENT, 2, limit=0.5))
        self.reachable('icmp', 'tcp')

    def test_a_conflict_comes_and_goes(self):
        prefix = str(self.beta.internal.cidr)
        self.cloud.neutron.add_extra_route(self.alpha, prefix,
                                           self.here.port.address)
        self.wait_rows(*peered.NONE)
        status = self.cloud.agents['gw1'].ctl('status', '--verbose').stdout
        self.assertIn(f'the other router has, too, what {prefix} is in',
                      ' '.join(status.split()))
        self.cloud.neutron.remove_extra_route(self.alpha, prefix)
        self.wait_rows(*peered.ROWS)
        self.reachable()

    def test_agents_end_and_start(self):
        """The writer is killed, the next one stops, both start at once."""
        before, first = self.rows(), self.mended()
        agents = dict(self.cloud.agents)
        with self.probing(self.there.port.address,
                          node=self.here.node) as running:
            agents[first].kill()
            self.lossless(running)
        self.assertEqual(before, self.rows())
        self.assertNotEqual(first, self.mended())
        agents[self.writer()].stop()
        self.assertEqual(before, self.rows())
        self.reachable()
        self.take(before)
        self.wait_rows(*peered.NONE)
        written = self.transactions()
        for agent in agents.values():
            agent.start()
        for agent in agents.values():
            agent.wait_ready()
        self.wait_rows(*peered.ROWS)
        self.assertEqual(written + 1, self.transactions())
        self.reachable()

    def mended(self):
        """Damage a row; returns who has mended it."""
        before, begin = self.rows(), time.monotonic()
        self.damage()
        took = time.monotonic() - begin
        base.note(f'mended after {took:.2f} s')
        self.assertLess(took, peered.SOON)
        self.assertEqual(before, self.rows())
        return self.writer()

    def test_the_gateway_is_drained_and_dies(self):
        """Both routers have their gateways there."""
        agent, both = self.cloud.agents['gw1'], (self.alpha, self.beta)
        for router in both:
            self.cloud.move(router, 'gw1')
        with self.probing(self.there.port.address,
                          node=self.here.node) as running:
            self.cloud.power_off('gw1')
            for router in both:
                self.cloud.wait_owner(router, 'gw2')
            self.cloud.power_on('gw1')
            agent.start()
            agent.wait_ready()
            for router in both:
                self.cloud.move(router, 'gw1')
            agent.ctl('drain', '--wait')
            for router in both:
                self.assertEqual('gw2', self.cloud.neutron.owner(router))
            report = self.lossless(running)
        agent.ctl('undrain', '--wait')
        base.note(f'dead, back, and drained: {report}')

    def test_spoofed_sources(self):
        """From inside and from the uplink; only the policies stop them.

        Policies with the priorities of other projects stay as they are.
        """
        spoofed, port = ('10.77.0.5', 'fd00:77::5'), self.there.port
        true = port.address, self.six[self.there]
        for node, addresses, device in (
                (self.there.node, spoofed, 'eth0'), (self.client, true, 'lo')):
            for address in addresses:
                words = (f'{address}/{128 if ":" in address else 32}', 'dev',
                         device)
                node.run(['ip', 'addr', 'add', *words, 'nodad'])
                self.addCleanup(node.run, ['ip', 'addr', 'del', *words])
        self.cloud.neutron.set_addresses(port, *true, pairs=spoofed)
        self.addCleanup(self.cloud.neutron.set_addresses, port, *true)
        outside = self.fip.address, self.fip6
        for address in outside:
            self.reach(self.client, 'icmp', address, source=(
                plan.CLIENT6 if ':' in address else plan.CLIENT))
        others = self.policies_of_others()
        self.reachable()
        ways = [*zip([self.there.node] * 2, spoofed, (
            self.here.port.address, self.six[self.here]), strict=True),
            *zip([self.client] * 2, true, outside, strict=True)]
        self.assertEqual([0] * 4, [self.arrived(*way) for way in ways])
        self.assertEqual(others, self.unmarked_policies())
        for agent in self.cloud.agents.values():
            agent.freeze()
            self.addCleanup(agent.thaw)
        for router in (self.alpha, self.beta):
            self.central('ovn-nbctl', '--wait=hv', 'lr-policy-del',
                         router.row_name)
        self.assertEqual([5] * 4, [self.arrived(*way) for way in ways])

    def policies_of_others(self):
        """Add some as ovn-kubernetes has them; returns them.

        The agent mends a policy of its own beside them.
        """
        spare = plan.PROVIDER[200]

        def write(txn, tables):
            for router in (self.alpha, self.beta):
                row = routers.find_one(tables, 'Logical_Router',
                                       name=router.row_name)
                for priority, match, action, *nexthops in (
                        (1004, f'ip4.dst == {spare}', 'reroute',
                         str(plan.PROVIDER[1])),
                        (501, f'ip4.dst == {spare}', 'allow'),
                        (103, 'ip4.dst == 100.64.0.0/16', 'allow'),
                        (102, 'ip4 || ip6', 'allow'),
                        (100, f'ip4.src == {spare}', 'drop')):
                    row.addvalue('policies', northbound.insert(
                        txn, tables, 'Logical_Router_Policy', match=match,
                        priority=priority, action=action,
                        nexthops=nexthops).uuid)

        self.cloud.nb.transact(write)
        found = self.unmarked_policies()
        self.assertEqual(10, len(found))
        self.take({'Logical_Router_Policy': self.rows()[
            'Logical_Router_Policy'][:1]})
        self.wait_rows(*peered.ROWS)
        self.central('ovn-nbctl', '--wait=hv', 'sync')
        return found

    def unmarked_policies(self):
        return {(row.uuid, row.priority, row.match, row.action)
                for row in self.cloud.nb.rows('Logical_Router_Policy')
                if not row.external_ids}

    def test_a_router_that_is_bound_to_a_chassis(self):
        """As Neutron does it for a tunnelled external network."""
        mark = self.mark('gw1')
        self.addCleanup(self.write, self.alpha, 'options', {'chassis': None})
        self.write(self.alpha, 'options', {'chassis': plan.system_id('gw1')})
        self.wait_rows(*peered.NONE)
        self.wait_said('gw1', 'peering db has no rows in OVN (error): this '
                       'router is bound to a chassis', mark)
        self.assertNotIn('peering web has no rows', self.said('gw1', mark))
        self.write(self.alpha, 'options', {'chassis': None})
        self.wait_rows(*peered.ROWS)
        self.reachable()

    def test_a_file_takes_over(self):
        """The same peering: from options to the file, without a loss."""
        before = self.rows()
        marks = {name: self.mark(name) for name in self.cloud.agents}
        self.addCleanup(self.file)
        with self.probing(self.there.port.address,
                          node=self.here.node) as running:
            self.file({'routers': [
                {'router': self.alpha.uuid, 'name': 'db'},
                {'router': self.beta.uuid, 'name': 'web'}]})
            for name, mark in marks.items():
                self.wait_said(name, 'network-peers.yaml has 1 peering', mark)
            self.say(self.alpha, db=None)
            self.say(self.beta, web=None)
            self.lossless(running)
        self.damage()
        self.assertEqual(before, self.rows())
        self.file()
        self.wait_rows(*peered.NONE)
        self.unreachable(self.here, self.there)

    def test_bad_intents_cost_themselves(self):
        """Many of one router, and a cycle of three in which two overlap."""
        before, overlap = self.rows(), self.cloud.neutron.add_interface(
            self.gamma, next(self.alpha.internal.cidr.subnets(1)))
        self.addCleanup(self.cloud.neutron.remove_interface, overlap)
        self.meanwhile(self.alpha, third='gamma', itself='alpha', **{
            'a\nb': 'gamma', 'lines': 'gam\nma'})
        self.meanwhile(self.beta, third='gamma')
        marks = {name: self.mark(name) for name in self.cloud.agents}
        self.meanwhile(self.gamma, web='beta', **{
            f'p{number}': self.alpha.uuid for number in range(MANY)})
        for name, mark in marks.items():
            self.wait_said(name, f'peering p{MANY - 1} ', mark)
        # What has rows stays, and gamma comes when alpha has gone.
        self.assertEqual(before, self.rows())
        self.reachable()
        for targets, rows in (({'web': None}, (2, 3, 6, 4)),
                              ({'web': 'alpha', 'third': None}, peered.ROWS)):
            begin = time.monotonic()
            self.say(self.beta, **targets)
            self.wait_rows(*rows)
            base.note(f'beside {MANY} bad intents: '
                      f'{time.monotonic() - begin:.2f} s')
        said = self.cloud.agents['gw1'].ctl('status', '--verbose').stdout
        for name in ('itself', r'a\nb'):
            self.assertIn(f'peering {name} has no rows in OVN (error)',
                          ' '.join(said.split()))
        for line in said.splitlines():
            if ' changes ' in line:
                base.note(line.strip())
