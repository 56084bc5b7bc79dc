# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Two tenants' routers that peer inside OVN, with traffic."""

import ipaddress
import time

from lab import node as nodes
from lab import plan
from lab import probe
from lab import routers
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import peered

MANY = 10000


class TestNetworkPeer(peered.PeeredTestCase):

    def test_machines_reach_each_other(self):
        self.reachable('tcp', 'udp')
        self.unreachable(self.here, self.third)
        # A peer of a peer is no peer, and gamma has one family.
        self.meanwhile(self.beta, third=self.gamma.uuid)
        self.meanwhile(self.gamma, web='beta')
        self.wait_rows(4, 6, 16, 8)
        self.reach(self.there.node, 'icmp', self.third.port.address)
        self.unreachable(self.here, self.third)
        self.unreachable(self.third, self.here)
        self.say(self.beta, web=None, third=None)
        self.wait_rows(*peered.NONE)
        self.unreachable(self.here, self.there)
        self.say(self.beta, web=self.alpha.uuid)
        self.wait_rows(*peered.ROWS)
        self.reachable()

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

    def test_a_new_subnet(self):
        made = self.cloud.neutron.add_interface(
            self.beta, ipaddress.ip_network('192.168.99.0/24'))
        self.addCleanup(self.cloud.neutron.remove_interface, made)
        new, _none = self.machine(made, fip=False)
        port = next(row for row in self.cloud.nb.rows('Logical_Router_Port')
                    if '192.168.99.1/24' in row.networks)
        name, mac = port.name, port.mac
        self.wait_rows(2, 5, 10, 4)
        self.central('ovn-nbctl', 'lrp-del', name)
        self.wait_rows(*peered.ROWS)
        with probe.Probe(self.here.node, 'icmp',
                                new.port.address) as running:
            begin = time.monotonic()
            self.central('ovn-nbctl', 'lrp-add', self.beta.row_name, name,
                         mac, '192.168.99.1/24')
            took = running.wait_answered(base.SETTLE, after=begin) - begin
        base.note(f'a new subnet answers after {took:.2f} s')

    def test_a_conflict_comes_and_goes(self):
        prefix = str(self.beta.internal.cidr)
        self.cloud.neutron.add_extra_route(self.alpha, prefix,
                                           self.here.port.address)
        self.wait_rows(*peered.NONE)
        status = self.cloud.agents['gw1'].ctl('status').stdout
        self.assertIn(f'the other router has, too, what {prefix} is in',
                      ' '.join(status.split()))
        self.cloud.neutron.remove_extra_route(self.alpha, prefix)
        self.wait_rows(*peered.ROWS)
        self.reachable()

    def test_a_router_that_is_deleted(self):
        delta = self.cloud.add_router('delta', ['gw1', 'gw2'])
        self.meanwhile(self.alpha, delta=delta.uuid)
        self.say(delta, web=self.alpha.uuid)
        self.wait_rows(4, 6, 16, 8)
        self.cloud.neutron.remove_router(delta)
        self.wait_rows(*peered.ROWS)

    def test_the_writer_dies(self):
        before = self.rows()
        begin = time.monotonic()
        self.damage()
        base.note(f'mended after {time.monotonic() - begin:.2f} s')
        first = self.writer()
        other, = set(self.cloud.agents) - {first}
        agent = self.cloud.agents[first]
        with self.probing(self.there.port.address,
                          node=self.here.node) as running:
            agent.kill()
            self.addCleanup(agent.wait_ready)
            self.addCleanup(agent.start)
            self.lossless(running)
        self.assertEqual(before, self.rows())
        begin = time.monotonic()
        self.damage()
        base.note(f'the next writer mended after '
                  f'{time.monotonic() - begin:.2f} s')
        self.assertEqual(other, self.writer())
        self.assertEqual(before, self.rows())

    def test_agents_stop_and_start_at_once(self):
        before = self.rows()
        agents = self.cloud.agents.values()
        for agent in agents:
            agent.stop()
        self.assertEqual(before, self.rows())
        self.reachable()
        self.take(before)
        self.wait_rows(*peered.NONE)
        written = self.transactions()
        for agent in agents:
            agent.start()
        for agent in agents:
            agent.wait_ready()
        self.wait_rows(*peered.ROWS)
        self.assertEqual(written + 1, self.transactions())
        self.reachable()

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
                self.cloud.wait_owner(router, 'gw1')
            agent.ctl('drain', '--wait')
            for router in both:
                self.assertEqual('gw2', self.cloud.neutron.owner(router))
            report = self.lossless(running)
        agent.ctl('undrain', '--wait')
        base.note(f'dead, back, and drained: {report}')

    def test_spoofed_sources(self):
        """From inside and from the uplink; only the policies stop them."""
        spoofed, port = '10.77.0.5', self.there.port
        for node, address, device in (
                (self.there.node, spoofed, 'eth0'),
                (self.client, port.address, 'lo')):
            node.run(['ip', 'addr', 'add', address + '/32', 'dev', device])
            self.addCleanup(node.run, ['ip', 'addr', 'del', address + '/32',
                                       'dev', device])
        self.cloud.neutron.set_addresses(
            port, port.address, self.six[self.there], pairs=[spoofed])
        self.addCleanup(self.cloud.neutron.set_addresses, port, port.address,
                        self.six[self.there])
        self.reach(self.client, 'icmp', self.fip.address, source=plan.CLIENT)
        self.central('ovn-nbctl', '--wait=hv', 'sync')
        ways = ((self.there.node, spoofed, self.here.port.address),
                (self.client, port.address, self.fip.address))
        self.assertEqual([0, 0], [self.arrived(*way) for way in ways])
        for agent in self.cloud.agents.values():
            agent.freeze()
            self.addCleanup(agent.thaw)
        for router in (self.alpha, self.beta):
            self.central('ovn-nbctl', '--wait=hv', 'lr-policy-del',
                         router.row_name)
        self.assertEqual([5, 5], [self.arrived(*way) for way in ways])

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
        said = ' '.join(self.cloud.agents['gw1'].ctl('status').stdout.split())
        for why in ('peering itself has no rows in OVN (error)',
                    r'peering a\\nb has no rows in OVN (error)'):
            self.assertIn(why, said)
