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

import json
import time

from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.backends import peering
from ovn_network_agent.tests.lab import base

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,network_peer'
TABLES = ('Logical_Router_Port', 'Logical_Router_Static_Route',
          'Logical_Router_Policy', 'Address_Set')
KINDS = ('icmp', 'tcp', 'udp')


class TestNetworkPeer(base.LabTestCase):
    """Routers alpha and beta with SNAT, and a machine of each."""

    CONFIG = {'DEFAULT': {'drivers': DRIVERS},
              'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cls.alpha, cls.beta = (cls.cloud.add_router(name, ['gw1', 'gw2'])
                               for name in ('alpha', 'beta'))
        cls.here, _none = cls.machine(cls.alpha, fip=False)
        cls.there, _none = cls.machine(cls.beta, fip=False)

    def nbctl(self, *args):
        return self.cloud['central'].out('ovn-nbctl', *args)

    def say(self, router, name, target):
        key = f'{ownership.EXT_ID_PEER_TARGET}{name}'.replace(':', '\\:')
        if target is None:
            self.nbctl('remove', 'Logical_Router', router.row_name,
                       'external_ids', key)
        else:
            self.nbctl('set', 'Logical_Router', router.row_name,
                       f'external_ids:{key}={target}')

    def rows(self):
        """By table, UUIDs of the rows of peerings."""
        mark = (f'external_ids:{ownership.EXT_ID_MANAGED}='
                f'{ownership.EXT_ID_MANAGED_VALUE}')
        found = {table: self.nbctl(
            '--bare', '--columns=_uuid,external_ids', 'find', table, mark)
            for table in TABLES}
        return {table: [block.split()[0] for block in text.split('\n\n')
                        if ownership.EXT_ID_PEER in block]
                for table, text in found.items()}

    def wait_rows(self, *numbers):
        wanted = dict(zip(TABLES, numbers, strict=True))
        nodes.wait_until(
            lambda: f'the rows of peerings are {wanted}: {self.rows()}',
            lambda: {table: len(rows) for table, rows in self.rows().items()
                     } == wanted, base.SETTLE)

    def peer(self):
        """Both routers agree, until the end of the test."""
        self.say(self.alpha, 'db', self.beta.uuid)
        self.addCleanup(self.wait_rows, 0, 0, 0, 0)
        self.addCleanup(self.say, self.alpha, 'db', None)
        self.say(self.beta, 'web', 'alpha')
        self.addCleanup(self.say, self.beta, 'web', None)
        # Each side: a port, a route, three policies, a set for each family.
        self.wait_rows(2, 2, 6, 4)

    def reachable(self):
        for one, other in ((self.here, self.there), (self.there, self.here)):
            for kind in KINDS:
                found = self.reach(one.node, kind, other.port.address)
                if kind == 'tcp':
                    # Neither router translates.
                    self.assertEqual({one.port.address}, found.seen_sources)

    def test_machines_reach_each_other(self):
        self.assertTrue(probe.unreachable(self.here.node, 'icmp',
                                          self.there.port.address))
        self.peer()
        self.reachable()
        self.say(self.beta, 'web', None)
        self.wait_rows(0, 0, 0, 0)
        self.assertTrue(probe.unreachable(self.here.node, 'icmp',
                                          self.there.port.address))
        self.say(self.beta, 'web', self.alpha.uuid)
        self.wait_rows(2, 2, 6, 4)
        self.reachable()

    def test_commands(self):
        """Written, shown, explained and removed by the programs alone."""
        agent = self.cloud.agents['gw2']
        for one, name, other in ((self.alpha, 'db', self.beta),
                                 (self.beta, 'web', self.alpha)):
            agent.ctl('peer', 'add', one.uuid, name, other.uuid)
            self.addCleanup(agent.ctl, 'peer', 'remove', one.uuid, name,
                            check=False)
        self.wait_rows(2, 2, 6, 4)
        self.reachable()
        self.assertIn('2 created', agent.ctl('peers').stdout)
        for client, verdict in ((self.here.port.address, 'OK'),
                                (plan.CLIENT, 'NOT CHECKED')):
            done = agent.look('explain', self.there.port.address, '--client',
                              client, '--json')
            said = json.loads(done.stdout)
            self.assertEqual((0, 'ok'), (done.returncode, said['outcome']),
                             said)
            verdicts = {each['check']: each['verdict']
                        for each in said['findings']}
            self.assertEqual(('OK', 'OK', verdict, 'OK'), tuple(
                verdicts.get(check) for check in (
                    'peering', 'peering-rows', 'peering-policies',
                    'peering-writer')), said)
        done = agent.look('doctor', 'peerings')
        self.assertIn('2 created, 0 pending', done.stdout)
        agent.ctl('peer', 'remove', self.alpha.uuid, 'db')
        self.wait_rows(0, 0, 0, 0)
        self.assertTrue(probe.unreachable(self.here.node, 'icmp',
                                          self.there.port.address))

    def test_a_damage_is_repaired(self):
        self.peer()
        before = self.rows()
        route = before['Logical_Router_Static_Route'][0]
        begin = time.monotonic()
        self.nbctl('set', 'Logical_Router_Static_Route', route,
                   'nexthop=10.99.0.1')
        self.wait_mended(route)
        base.note(f'mended after {time.monotonic() - begin:.2f} s')
        self.assertEqual(before, self.rows())
        self.reachable()

    def test_a_conflict_comes_and_goes(self):
        self.peer()
        prefix = str(self.beta.internal.cidr)
        self.cloud.neutron.add_extra_route(self.alpha, prefix,
                                           self.here.port.address)
        self.wait_rows(0, 0, 0, 0)
        status = self.cloud.agents['gw1'].ctl('status').stdout
        self.assertIn(f'the other router has, too, what {prefix} is in',
                      ' '.join(status.split()))
        self.cloud.neutron.remove_extra_route(self.alpha, prefix)
        self.wait_rows(2, 2, 6, 4)
        self.reachable()

    def test_a_router_that_is_deleted(self):
        gamma = self.cloud.add_router('gamma', ['gw1', 'gw2'])
        self.say(self.alpha, 'db', gamma.uuid)
        self.addCleanup(self.say, self.alpha, 'db', None)
        self.say(gamma, 'web', self.alpha.uuid)
        self.wait_rows(2, 2, 6, 4)
        self.cloud.neutron.remove_router(gamma)
        self.wait_rows(0, 0, 0, 0)

    def writer(self):
        """Name of the gateway whose agent writes the peerings."""
        held = f'{peering.LOCK} of OVN_Northbound: '
        last = {name: self.said(name).rpartition(held)[2][:4]
                for name in self.cloud.agents}
        name, = (name for name, state in last.items() if state == 'held')
        return name

    def wait_mended(self, route):
        nodes.wait_until('the route is mended', lambda: '10.99.0.1' not in
                         self.nbctl('get', 'Logical_Router_Static_Route',
                                    route, 'nexthop'), base.SETTLE)

    def test_the_writer_dies(self):
        self.peer()
        before, first = self.rows(), self.writer()
        route = before['Logical_Router_Static_Route'][0]
        agent = self.cloud.agents[first]
        with self.probing(self.there.port.address,
                          node=self.here.node) as running:
            agent.kill()
            self.addCleanup(agent.wait_ready)
            self.addCleanup(agent.start)
            self.assertEqual(before, self.rows())
            self.lossless(running)
        begin = time.monotonic()
        self.nbctl('set', 'Logical_Router_Static_Route', route,
                   'nexthop=10.99.0.1')
        self.wait_mended(route)
        base.note(f'the next writer mended after '
                  f'{time.monotonic() - begin:.2f} s')
        self.assertEqual(before, self.rows())
        other, = set(self.cloud.agents) - {first}
        self.assertIn(f'{peering.LOCK} of OVN_Northbound: held',
                      self.said(other))

    def test_a_stop_leaves_the_rows(self):
        self.peer()
        before = self.rows()
        for agent in self.cloud.agents.values():
            begin = time.monotonic()
            agent.stop()
            base.note(f'stopped after {time.monotonic() - begin:.2f} s')
        self.assertEqual(before, self.rows())
        for kind in KINDS:
            self.reach(self.here.node, kind, self.there.port.address)
        for agent in self.cloud.agents.values():
            agent.start()
        for agent in self.cloud.agents.values():
            agent.wait_ready()
        self.assertEqual(before, self.rows())

    def test_spoofed_sources(self):
        """A source of nobody's passes only without the policies."""
        self.peer()
        self.reachable()
        spoofed = '10.77.0.5'
        self.there.node.run(['ip', 'addr', 'add', spoofed + '/32', 'dev',
                             'eth0'])
        self.addCleanup(self.there.node.run, [
            'ip', 'addr', 'del', spoofed + '/32', 'dev', 'eth0'])
        port = self.there.port
        self.cloud.neutron.set_addresses(port, port.address, pairs=[spoofed])
        self.addCleanup(self.cloud.neutron.set_addresses, port, port.address)
        self.nbctl('--wait=hv', 'sync')
        self.assertEqual(0, self.arrived(spoofed))
        for agent in self.cloud.agents.values():
            agent.freeze()
            self.addCleanup(agent.thaw)
        for router in (self.alpha, self.beta):
            self.nbctl('--wait=hv', 'lr-policy-del', router.row_name)
        self.assertEqual(5, self.arrived(spoofed))

    def arrived(self, source):
        """How many of five pings with a source reach the other machine."""
        before = self.asked()
        self.there.node.run(
            ['ping', '-c', '5', '-i', '0.2', '-W', '1', '-I', source,
             self.here.port.address], check=False)
        return self.asked() - before

    def asked(self):
        """How many questions of ping the machine has got."""
        names, values = (
            line.split() for line in self.here.node.out(
                'cat', '/proc/net/snmp').splitlines()
            if line.startswith('Icmp:'))
        return int(dict(zip(names, values, strict=True))['InEchos'])
