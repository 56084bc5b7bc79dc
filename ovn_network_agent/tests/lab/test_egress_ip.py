# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines leave with egress addresses, with traffic."""

import collections
import json
import time

from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import beyond
from ovn_network_agent.tests.lab import dry_runs
from ovn_network_agent.tests.lab import egress_faults
from ovn_network_agent.tests.lab import egressed

SECURITY_GROUP = '5a1f3c52-70f4-4a8e-9d0c-2f6be1d7c903'
GROUP = 'pg_' + SECURITY_GROUP.replace('-', '_')
# Another address of the host outside.
NEXT = str(plan.CLIENT_NET[11])
# New connections of a machine with several gateway ports.
MANY = 24


class TestEgressIp(dry_runs.DryRuns, egress_faults.Faults,
                   egressed.EgressTestCase):

    # -- mode router ------------------------------------------------------

    def test_by_the_router(self):
        for vm, target, source in (
                (self.here, plan.CLIENT, egressed.WEB),
                (self.here, plan.CLIENT6, egressed.WEB6),
                (self.other, plan.CLIENT, self.alpha.address),
                (self.other, plan.CLIENT6, self.both.address)):
            self.leaves(vm, target, source)
        self.fragmented(self.here, plan.CLIENT, plan.CLIENT6)
        for vm in (self.other, self.inner):
            found = self.reach(self.here.node, 'tcp', vm.port.address)
            self.assertEqual({self.here.port.address}, found.seen_sources)
        fip = self.cloud.neutron.add_fip(self.alpha, self.here.port)
        try:
            self.wait_rows({row for row in self.rows_of('gw1')
                            if row[2] != egressed.WEB})
            self.wait_leaves(self.here, plan.CLIENT, fip.address)
        finally:
            self.cloud.neutron.remove_fips(self.alpha, [fip])
        self.wait_leaves(self.here, plan.CLIENT, egressed.WEB)

    def test_a_machine_joins_and_leaves(self):
        """A port group of a security group, which a row or the file names."""
        self.central('ovn-nbctl', 'pg-add', GROUP, self.here.port.uuid)
        self.addCleanup(self.central, 'ovn-nbctl', 'pg-del', GROUP)
        self.addCleanup(self.put)
        by_file = {**self.web, 'select': {'security_group': SECURITY_GROUP}}
        for web, command in ((self.web, 'set'), (by_file, 'remove')):
            self.central('ovn-nbctl', command, 'Port_Group', GROUP, *(
                [f'external_ids:"{egressed.SELECT}"=web'] if command == 'set'
                else ['external_ids', f'"{egressed.SELECT}"']))
            self.put(web, self.crawl, self.firm)
            for ports, source in (
                    ([self.here, self.other], egressed.WEB),
                    ([self.here], self.alpha.address)):
                self.central('ovn-nbctl', 'pg-set-ports', GROUP, *(
                    vm.port.uuid for vm in ports))
                begin = time.monotonic()
                took = self.wait_leaves(self.other, plan.CLIENT,
                                        source) - begin
                base.note(f'{command}: {source} after {took:.2f} s')
            self.leaves(self.here, plan.CLIENT, egressed.WEB)

    def test_a_network_and_some_destinations(self):
        self.outside.batch(f'addr add {NEXT}/24 dev eth0\n')
        self.addCleanup(self.outside.batch, f'addr del {NEXT}/24 dev eth0\n')
        self.addCleanup(self.put)
        self.put({**self.web, 'destinations': [plan.CLIENT],
                  'select': {'network': self.alpha.internal.name}},
                 {**self.crawl, 'destinations': [plan.CLIENT]}, self.firm)
        sources = [(vm, target, source) for target, source in (
            (plan.CLIENT, egressed.WEB), (NEXT, self.alpha.address))
            for vm in (self.here, self.other)]
        # OVN first has the row, then restricts it, then has the destinations.
        for each in sources * 2:
            self.wait_leaves(*each)
        for each in sources:
            self.leaves(*each)
        self.assertNotIn(self.inner.port.address,
                         {machine for _name, machine, *_ in self.rows()})
        for target, sources in (
                (plan.CLIENT, {*egressed.CRAWL}),
                (NEXT, {self.gamma.address, self.second.address})):
            self.assertEqual(set(), self.seen(
                self.third, 'tcp', target, self.client) - sources)

    def test_two_objects_and_an_address_in_use(self):
        api = {'name': 'api', 'addresses': ['198.51.100.51'],
               'select': {'ports': [self.here.port.uuid]}}
        self.meanwhile(api)
        self.wait_leaves(self.here, plan.CLIENT, '198.51.100.51')
        self.assertIn('egress address api has it, too', self.told())
        # In use: by the router, and by a link of the node itself.
        second = {**api, 'name': 'near', 'mode': 'host', 'addresses': [
            str(beyond.NETWORK[11])], 'select': {
                'ports': [self.other.port.uuid]}}
        self.put({**api, 'addresses': [self.alpha.address], 'select': {
            'ports': [self.inner.port.uuid]}}, second, self.web, self.crawl,
            self.firm)
        self.wait_leaves(self.here, plan.CLIENT, egressed.WEB)
        for text in (f'{self.alpha.address}: it is the address of port',
                     f'{beyond.NETWORK[11]}: it is an address of links of'):
            nodes.wait_until(f'"{text}" is told',
                             lambda t=text: t in self.told(), base.SETTLE)
        self.assertEqual(self.rows_of('gw1'), self.rows())

    def told(self):
        """All words of an agent about machines and places."""
        agent = self.cloud.agents['gw1']
        return ' '.join(word for words in (
            agent.look('egress'), agent.look('egress', '--machines'))
            for word in words.stdout.split())

    def test_commands(self):
        agent, wanted = self.cloud.agents['gw1'], {
            ('web', 'router', 2), ('crawl', 'ecmp', 2), ('firm', 'host', 2)}

        def listed():
            return json.loads(agent.look('egress', '--json').stdout)

        def placed():
            return {(each['name'], each['mode'], sum(
                place['rows'] == 'in place' for place in each['places']))
                for each in listed()['egress_ips']}
        nodes.wait_until(lambda: f'all is in place: {listed()}',
                         lambda: placed() == wanted, base.SETTLE)
        said = listed()
        self.assertEqual([], said['node'])
        for address in (self.here.port.address, egressed.WEB, egressed.WEB6,
                        self.aside.port.address, egressed.FIRM,
                        self.third.port.address, egressed.CRAWL[1]):
            done = agent.look('explain', address, '--json')
            found = [each for each in json.loads(done.stdout)['findings']
                     if each['check'].startswith('egress')]
            self.assertEqual({'OK'}, {each['verdict'] for each in found},
                             f'{address}: {done.stdout}')
        for name in self.cloud.gateways:
            for check in ('egress', 'egress-probe'):
                done = self.cloud.agents[name].look('doctor', check)
                self.assertEqual(0, done.returncode, done.stdout)
                base.note(' '.join(done.stdout.split()))

    # -- mode ecmp --------------------------------------------------------

    def test_by_several_ports(self):
        for address, router, name in (
                (egressed.CRAWL[0], self.gamma, 'gw1'),
                (egressed.CRAWL[1], self.second, 'gw2')):
            self.cloud.wait_alone(address, name, base.SETTLE)
        base.note(f'{MANY} connections: {self.spread()}')
        for kind in egressed.KINDS:
            seen = self.seen(self.third, kind, plan.CLIENT, self.client)
            self.assertNotEqual(set(), seen)
            self.assertEqual(set(), seen - {*egressed.CRAWL}, kind)
        self.fragmented(self.third, plan.CLIENT)
        one = {**self.crawl, 'name': 'one', 'addresses': ['198.51.100.53'],
               'select': {'ports': [self.other.port.uuid]}}
        self.meanwhile(one)
        text = 'mode ecmp needs two gateway ports of the router, and 1 is'
        nodes.wait_until(f'"{text}" is told', lambda: text in self.told(),
                         base.SETTLE)

    def spread(self, count=MANY):
        """How many new connections leave with each address of "crawl"."""
        found = collections.Counter()
        for _number in range(count):
            report = self.reach(self.third.node, 'tcp', plan.CLIENT, 1,
                                patience=0)
            found.update(report.seen_sources)
        self.assertEqual({*egressed.CRAWL}, {*found})
        return dict(found)

    # -- mode host --------------------------------------------------------

    def test_by_the_host(self):
        self.on_host('gw1')
        # Neither the provider network nor another link has it.
        self.assertTrue(probe.unreachable(self.aside.node, 'icmp',
                                          plan.CLIENT, 3, limit=0.5))
        self.leaves(self.here, plan.CLIENT, egressed.WEB)
        with self.probing(beyond.NEAR, node=self.aside.node) as running:
            self.cloud.move(self.alpha, 'gw2')
            running.wait_answered(base.SETTLE)
            self.wait_rows(self.rows_of('gw2'))
            self.wait_leaves(self.aside, beyond.NEAR, egressed.FIRM)
            running.wait_answered(base.SETTLE, after=time.monotonic())
            base.note(f'the gateway moved: {running.stop()}')
        self.on_host('gw2')
        nodes.wait_until('gw1 has nothing of it', lambda: not any(
            self.has('gw1', address)
            for address in (egressed.FIRM, egressed.FIRM6)), base.SETTLE)

    def on_host(self, name):
        """All that a machine reaches by a node."""
        for targets, source in (
                ((beyond.NEAR, beyond.FAR), egressed.FIRM),
                ((beyond.NEAR6, beyond.FAR6), egressed.FIRM6)):
            for target in targets:
                self.leaves(self.aside, target, source, self.beyond.node)
            self.assertTrue(self.has(name, source))
            self.assertIn(self.mac(name, beyond.LINK), self.beyond.node.out(
                'ip', 'neigh', 'show', source))
        self.fragmented(self.aside, beyond.NEAR, beyond.NEAR6)
