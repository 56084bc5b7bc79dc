# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Default routes and MAC bindings in a database, for their tests."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit import world

HERE = cloud.CHASSIS
MAC = '0a:00:00:00:00:01'
OTHER_MAC = '0a:00:00:00:00:02'
GATEWAY = '198.51.100.254'
OURS = ownership.marks(cloud.OWNER)
THEIRS = ownership.marks(cloud.OTHER_OWNER)
PROOF = ownership.EXT_ID_ADVERTISED


class Rows:
    """Mix-in for a test case with a cloud."""

    eventually = staticmethod(waiting.eventually)

    def setUp(self):
        super().setUp()
        self.router = self.cloud.add_router('r1', chassis=HERE)
        self.eyes_ = self.eyes()
        self.backend = self.agent(cloud.OWNER)

    def agent(self, owner, eyes=None, timeout=5):
        """The backend of an agent on some chassis."""
        made = router_rows.NorthboundBackend(world.conf(
            ovn__transaction_timeout=timeout))
        made.attach(backends.Context((eyes or self.eyes_).databases,
                                     lambda: frozenset((
                                         owner, owner._replace(chassis='')))))
        return made

    def route(self, router=None, owner=cloud.OWNER, **values):
        return resources.DefaultRoute(**{
            'router': router or self.router, 'lrp': 'lrp-r1',
            'nexthop': GATEWAY, 'owner': owner, **values})

    def binding(self, mac=MAC, **values):
        return resources.MacBinding(**{
            'lrp': 'lrp-r1', 'ip': GATEWAY, 'mac': mac, **values})

    def create(self, *wanted, backend=None):
        return (backend or self.backend).apply(
            backends.Delta(create=wanted))

    def delete(self, *unwanted, backend=None):
        return (backend or self.backend).apply(
            backends.Delta(delete=unwanted))

    def routes(self):
        """Default routes as (router, nexthop, port, external_ids)."""
        by_uuid = {row['_uuid'][1]: row for row in
                   self.nb.rows('Logical_Router_Static_Route')}
        found = []
        for router in self.nb.rows('Logical_Router'):
            refs = router['static_routes']
            refs = refs[1] if refs[0] == 'set' else [refs]
            for _kind, reference in refs:
                row = by_uuid.pop(reference)
                found.append((router['name'], row['nexthop'],
                              row['output_port'] if isinstance(
                                  row['output_port'], str) else '',
                              dict(row['external_ids'][1])))
        self.assertEqual({}, by_uuid)
        return found

    def bindings(self):
        return {(row['logical_port'], row['ip']): row['mac']
                for row in self.nb.rows('Static_MAC_Binding')}

    def read_until(self, *wanted, known=(), backend=None):
        """The replica follows the server; read until it has."""
        backend = backend or self.backend
        self.eventually(
            lambda: set(backend.read(frozenset(known))) == set(wanted),
            lambda: backend.read(frozenset(known)))

    def foreign(self, nexthop='198.51.100.9', **row):
        self.cloud.add_static_route('r1', nexthop=nexthop, **row)
        self.seen(lambda nb: any(
            r.nexthop == nexthop
            for r in nb['Logical_Router_Static_Route'].values()))

    def seen(self, condition, eyes=None):
        """Wait until the replica has what another client wrote."""
        def look():
            with (eyes or self.eyes_).databases['nb'].rows() as nb:
                return condition(nb)
        self.eventually(look, 'the replica follows')


class NorthboundTestCase(Rows, base.OvsdbTestCase):
    """With real servers."""
