# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A cluster of real ovsdb-servers, and a relay: ovsdb(7)."""

import re
import subprocess

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base


class _Program(base.Server):
    """An ovsdb-server that serves a database of other servers."""

    def _said(self, *words):
        """What the program answers to ovs-appctl, None without an answer."""
        ended = subprocess.run(
            ['ovs-appctl', '-T', '5', '-t', self._path('ctl'), *words],
            text=True, capture_output=True)
        return ended.stdout if ended.returncode == 0 else None


class Member(_Program):
    """One member of a cluster.

    :param name: 'nb' or 'sb'
    :param first: a :class:`Member` to join, None for a new cluster
    """

    def __init__(self, name, first=None):
        self._first = first
        super().__init__(name)

    def create(self, change_schema=None):
        """Make the file of the member; the first one has the schema."""
        self.address = 'unix:' + self._path('raft')
        if self._first is None:
            super().create(change_schema)
            self.create_cluster()
            return
        subprocess.run(
            ['ovsdb-tool', 'join-cluster', self.file, self.database,
             self.address, self._first.address],
            check=True, capture_output=True)

    def _greet(self):
        waiting.eventually(self.joined, 'the member is in the cluster')

    def status(self):
        """Role, leader and servers of the cluster as the member sees them.

        :returns: text, '' while the member does not answer
        """
        return self._said('cluster/status', self.database) or ''

    def joined(self):
        """Whether the member is in the cluster and knows a leader."""
        status = self.status()
        return ('\nStatus: cluster member\n' in status and
                '\nLeader: unknown\n' not in status)

    def leads(self):
        """Whether the member believes that it leads the cluster."""
        return '\nRole: leader\n' in self.status()

    def servers(self):
        """Number of servers that the member knows."""
        return len(re.findall(r'^    \w{4} \(\w{4} at ', self.status(), re.M))

    def leave(self):
        """Leave the cluster for ever: the server no longer serves it."""
        self._said('cluster/leave', self.database)
        waiting.eventually(
            lambda: self.database not in self._said('ovsdb-server/list-dbs'),
            'the member has left')


class Relay(_Program):
    """A server that hands the reads and writes of many clients to others.

    :param name: 'nb' or 'sb'
    :param sources: remotes of the servers behind the relay
    """

    def __init__(self, name, sources):
        self._sources = sources
        super().__init__(name)

    def create(self, change_schema=None):
        """A relay has no file."""
        self.file = f'relay:{self.database}:{",".join(self._sources)}'

    def _greet(self):
        waiting.eventually(self._serves, 'the relay has the database')

    def _serves(self):
        try:
            super()._greet()
        except (AssertionError, OSError):
            # The relay has no database before the servers behind it answer,
            # and then closes all connections.
            self._disconnect()
            return False
        return True


class Cluster:
    """Members with the same database; a test speaks to one that is there.

    The methods of :class:`base.Server` that write and read rows go to a
    member that a test has not taken away.

    :param name: 'nb' or 'sb'
    :param size: number of members at first
    """

    def __init__(self, name, size=3):
        self.name = name
        self.members = [Member(name)]
        self._size = size

    def start(self):
        """Start all members, which join one after another."""
        self.members[0].start()
        while len(self.members) < self._size:
            self.add()
        return self

    def add(self):
        """Add one member.

        :returns: :class:`Member`
        """
        member = Member(self.name, self.present()[0])
        self.members.append(member)
        return member.start()

    def present(self):
        """The members that run, a list."""
        return [member for member in self.members if member.runs]

    @property
    def remote(self):
        """The remotes of all members, as the option has them."""
        return ','.join(member.remote for member in self.members)

    def leader(self):
        """The member that leads, as soon as there is one."""
        return waiting.eventually(
            lambda: next((member for member in self.present()
                          if member.leads()), None), 'a leader')

    def transact(self, *operations):
        """See :meth:`base.Server.transact`."""
        return self.leader().transact(*operations)

    def rows(self, *args, **kwargs):
        """See :meth:`base.Server.rows`."""
        return self.leader().rows(*args, **kwargs)

    def close(self):
        """End all members and leave nothing behind."""
        for member in self.members:
            member.close()
