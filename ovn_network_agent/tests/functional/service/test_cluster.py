# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""NB and SB as real clusters whose members come and go, and behind relays."""

import itertools
import time

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import cluster
from ovn_network_agent.tests.functional.service import loss


class ClusterTestCase(loss.LossTestCase):

    def setUp(self):
        super().setUp()
        self._numbers = itertools.count(11)
        self._event = ''
        self._began = None

    def server(self, name):
        """NB and SB are clusters of three members."""
        if name == 'ovs':
            return super().server(name)
        return cluster.Cluster(name)

    @property
    def clusters(self):
        return self.nb, self.sb

    def follows(self, agent):
        """The agent reads both databases, and writes to NB.

        :param agent: the service
        """
        self.well(agent)
        before = self.announced()
        address = f'198.51.100.{next(self._numbers):d}'
        self.cloud.add_nat('r1', address)
        self.eventually(
            lambda: self.announced() == {*before, address + '/32'},
            self.announced)
        # What somebody else takes from NB comes back by a transaction.
        self.nb.transact(ovsdb.delete('Static_MAC_Binding', {}))
        self.eventually(lambda: self.nb.rows('Static_MAC_Binding'),
                        'written again')
        if self._event:
            print(f'{self.id()}: {self._event}: read and written '
                  f'{time.monotonic() - self._began:.1f} s after its begin')
            self._event = ''

    def stays(self, happens):
        """Nothing is withdrawn during and after an event.

        :param happens: function()
        """
        before = self.world.values()
        if not self._event:
            server = happens.__self__
            self._event = f'{happens.__name__} of {server.name}'
            self._began = time.monotonic()
        happens()
        self.assertEqual(before, self.world.values())


class MembersTest(ClusterTestCase):

    def test_each_leader_is_lost_and_comes_back(self):
        self.each_leader_goes('kill', 'start')

    def each_leader_goes(self, goes, returns):
        """The agent follows each cluster without and with its leader.

        :param goes: name of the method that takes a server away
        :param returns: name of the method that brings the server back
        """
        agent = self.running()
        for servers in self.clusters:
            leader = servers.leader()
            self.stays(getattr(leader, goes))
            self.stays(servers.leader)
            self.follows(agent)
            getattr(leader, returns)()
            self.follows(agent)

    def test_the_members_are_replaced_one_after_another(self):
        """The agent knows the addresses of all members that ever come."""
        for servers in self.clusters:
            for _new in range(2):
                servers.add()
        agent = self.running()
        for servers in self.clusters:
            for member in servers.members[:2]:
                self.stays(member.leave)
                self.stays(member.kill)
                self.follows(agent)

    def test_without_a_majority_nothing_is_withdrawn(self):
        agent = self.running()
        before = self.world.values()
        gone = [member for servers in self.clusters
                for member in servers.members[1:]]
        for member in gone:
            member.kill()
        self.degraded(agent, *(servers.members[0].database
                               for servers in self.clusters))
        waiting.lasts(lambda: self.assertEqual(
            before, self.world.values()), 2 * loss.PROBE / 1000)
        for member in gone:
            member.start()
        self.follows(agent)


class RelayTest(ClusterTestCase):

    def remotes(self):
        return {**super().remotes(),
                **{name: relay.remote
                   for name, relay in self.relays.items()}}

    def setUp(self):
        self.relays = {}
        super().setUp()
        for servers in self.clusters:
            relay = cluster.Relay(servers.name, [
                member.remote for member in servers.members])
            self.addCleanup(relay.close)
            self.relays[servers.name] = relay.start()

    def test_the_relays_and_the_members_behind_them(self):
        agent = self.running()
        self.follows(agent)
        for servers in self.clusters:
            leader = servers.leader()
            self.stays(leader.kill)
            self.stays(servers.leader)
            self.follows(agent)
            leader.start()
        for relay in self.relays.values():
            self.stays(relay.kill)
            self.degraded(agent, relay.database)
            relay.start()
            self.follows(agent)
