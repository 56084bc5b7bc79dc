# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""ovn-northd and the ovn-controllers: gateway ports follow the priorities.

A thread follows NB and SB, and writes the owners to SB.  It also says how far
the agents are, without a question to the servers.
"""

from collections import abc
import threading

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica as replicas
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

_PAUSE = 0.01
_TABLES = {
    'nb': {'Logical_Router_Port': ('name', 'gateway_chassis'),
           'Gateway_Chassis': ('chassis_name', 'priority'),
           'NB_Global': ('external_ids',),
           'Logical_Router_Static_Route': ('output_port', 'external_ids')},
    'sb': {'Chassis': ('name', 'hostname'),
           'Port_Binding': ('logical_port', 'type', 'chassis')}}
_TAGS = ('ovn-network-agent-chassis', 'ovn-network-agent-advertised')


class Ovn:
    """Plays OVN for a cloud.

    As a context manager, it ends its connections.
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self._handlers, self._databases = [], {}
        for name, tables in _TABLES.items():
            handler = replicas.Handler()
            made = connection.Database(
                name, getattr(cloud, name).remote, handler, 60, 0)
            for table, columns in tables.items():
                made.require(table, columns)
            if name == 'sb':
                made.only('Port_Binding', [['type', '==', 'chassisredirect']])
            made.start()
            self._handlers.append(handler)
            self._databases[name] = made
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        """End the thread and the connections."""
        self._ended.set()
        self._thread.join()
        for database in self._databases.values():
            database.stop()
        for handler in self._handlers:
            handler.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def owners(self):
        """The chassis that has each gateway port, dict of lrp to row."""
        with self._databases['sb'].rows() as sb:
            return {row.logical_port.removeprefix('cr-'): row.chassis[0]
                    for row in sb['Port_Binding'].values() if row.chassis}

    def missing(self):
        """The gateway ports whose owner has not proved yet, a set."""
        with self._databases['sb'].rows() as sb:
            owners = {row.logical_port.removeprefix('cr-'):
                      row.chassis[0].hostname
                      for row in sb['Port_Binding'].values() if row.chassis}
        with self._databases['nb'].rows() as nb:
            proved = {
                (row.output_port[0], *map(row.external_ids.get, _TAGS))
                for row in nb['Logical_Router_Static_Route'].values()
                if row.output_port}
        return {lrp for lrp, host in owners.items()
                if (lrp, host, host) not in proved}

    def tagged(self, host):
        """How many routes have the tag of a host."""
        with self._databases['nb'].rows() as nb:
            return sum(row.external_ids.get(_TAGS[0]) == host for row in
                       nb['Logical_Router_Static_Route'].values())

    def owned(self, name):
        """How many gateway ports a chassis has."""
        return sum(row.name == name for row in self.owners().values())

    def priorities(self, name):
        """The set of priorities of a chassis."""
        with self._databases['nb'].rows() as nb:
            return {row.priority for row in nb['Gateway_Chassis'].values()
                    if row.chassis_name == name}

    def requests(self):
        """The external_ids of NB_Global, a dict."""
        with self._databases['nb'].rows() as nb:
            return dict(next(iter(nb['NB_Global'].values())).external_ids)

    def settle(self, condition: abc.Callable[[], object], what: str,
               limit=400):
        """Wait for a condition, and for the proofs of all owners."""
        waiting.eventually(
            lambda: condition() and not self.missing(),
            lambda: f'{what}; {len(self.missing())} proofs missing', limit)

    def _run(self):
        while not self._ended.wait(_PAUSE):
            try:
                if any(database.dirty.take() for database
                       in self._databases.values()):
                    self._follow()
            except connection.Unavailable:
                continue

    def _follow(self):
        """Write the owners that follow from the priorities."""
        with self._databases['sb'].rows() as sb:
            living = {row.name: row.uuid for row in sb['Chassis'].values()}
        best = {}
        with self._databases['nb'].rows() as nb:
            for port in nb['Logical_Router_Port'].values():
                best[port.name] = max(
                    ((row.priority, row.chassis_name)
                     for row in port.gateway_chassis
                     if row.chassis_name in living), default=(0, ''))[1]
        now = {lrp: row.name for lrp, row in self.owners().items()}
        changes = [
            ovsdb.update(
                'Port_Binding', {'logical_port': 'cr-' + lrp},
                chassis=['uuid', str(living[name])] if name
                else ovsdb.ovsdb_set(()))
            for lrp, name in best.items() if now.get(lrp, '') != name]
        if changes:
            self._cloud.sb.transact(*changes)
