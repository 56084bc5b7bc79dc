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

import time

from lab import node as nodes
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,network_peer'
TABLES = ('Logical_Router_Port', 'Logical_Router_Static_Route',
          'Logical_Router_Policy', 'Address_Set')
KINDS = ('icmp', 'tcp', 'udp')


class TestNetworkPeer(base.LabTestCase):
    """Routers alpha and beta with SNAT, and a machine of each."""

    CONFIG = {'DEFAULT': {'drivers': DRIVERS}}

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

    def test_a_damage_is_repaired(self):
        self.peer()
        before = self.rows()
        route = before['Logical_Router_Static_Route'][0]
        begin = time.monotonic()
        self.nbctl('set', 'Logical_Router_Static_Route', route,
                   'nexthop=10.99.0.1')
        nodes.wait_until('the route is mended', lambda: '10.99.0.1' not in
                         self.nbctl('get', 'Logical_Router_Static_Route',
                                    route, 'nexthop'), base.SETTLE)
        base.note(f'mended after {time.monotonic() - begin:.2f} s')
        self.assertEqual(before, self.rows())
        self.reachable()
