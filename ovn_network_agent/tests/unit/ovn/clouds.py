# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A small cloud, and the view of it, without servers."""

import contextlib

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import view
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import base as functional
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import memory
from ovn_network_agent.tests.unit.ovn import memory_clients

HERE, AWAY = cloud.CHASSIS, cloud.OTHER


class Eyes(functional.Eyes):
    """The databases and the view, wired like the service."""

    def database(self, name, remote, timeout, probe):
        return memory_clients.Database(remote, self.handlers[name],
                                       events.objection)

    def look(self, full=False, phase=model.Phase.RUNNING, **options):
        """See :meth:`functional.ovn.base.Eyes.look`."""
        with contextlib.suppress(view.Incomplete):
            return self.view.snapshot(phase, full, **options)
        # The server has sent what the first one was waiting for.
        return self.view.snapshot(phase, full, **options)

    def rows(self, name, table):
        """The rows of a table that the server sends."""
        with self.databases[name].rows() as tables:
            return list(tables[table].values())


def flat(places):
    """What a view has by place and name, by name alone."""
    return {name: each for known in places.values()
            for name, each in known.items()}


class CloudTestCase(base.BaseTestCase):
    """With NB, SB and Open_vSwitch in memory, a small cloud in them."""

    schema_changes = {}

    def setUp(self):
        super().setUp()
        self.servers = {
            name: memory.Server(name, self.schema_changes.get(name))
            for name in ('nb', 'sb', 'ovs')}
        self.nb, self.sb, self.ovs = self.servers.values()
        self.cloud = cloud.Cloud(*self.servers.values())
        self.cloud.fill()

    def eyes(self, start=True, **options):
        """:class:`Eyes` on this cloud."""
        made = Eyes(self.servers, **options)
        self.addCleanup(made.stop)
        return made.start() if start else made

    eventually = staticmethod(waiting.eventually)

    def synchronise(self, eyes):
        """What is written is at once in the replicas."""

    def remotes(self):
        """Where the databases answer one-shot questions."""
        return {name: self.useFixture(memory_clients.Socket(server)).remote
                for name, server in self.servers.items()}

    def add_chassis(self, name=HERE, hostname=cloud.HOSTNAME,
                    address='192.0.2.1', kind='geneve'):
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', type=kind, ip=address,
                         chassis_name=name),
            ovsdb.insert('Chassis', name=name, hostname=hostname,
                         encaps=['named-uuid', 'encap']))

    def set_tunnels(self, chassis, *tunnels):
        """Other rows Encap of a chassis, if it is there: (type, address)."""
        self.sb.transact(
            *(ovsdb.insert('Encap', f'encap{n}', type=type, ip=address,
                           chassis_name=chassis)
              for n, (type, address) in enumerate(tunnels)),
            ovsdb.update('Chassis', {'name': chassis},
                         encaps=ovsdb.ovsdb_set(
                             [['named-uuid', f'encap{n}']
                              for n, _each in enumerate(tunnels)])))

    def tell(self, **external_ids):
        """Other external_ids of this node."""
        self.ovs.update('Open_vSwitch', {}, external_ids={
            name.replace('_', '-'): text
            for name, text in {'system_id': HERE, **external_ids}.items()})

    def as_new(self, eyes, like=lambda seen: seen):
        """The view, which is as somebody new would have it.

        :param like: what of a view is compared
        """
        seen = eyes.look()
        self.assertEqual(like(views.timeless(views.fresh(eyes))),
                         like(views.timeless(seen)))
        return seen
