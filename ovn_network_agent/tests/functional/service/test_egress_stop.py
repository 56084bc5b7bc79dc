# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents that stop while their nodes translate to egress addresses.

Each agent has a kernel that is a world; its links and the rows are real.
"""

import copy
import subprocess
import time

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends.northbound import locked_rows as backend
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import test_lock
from ovn_network_agent.tests.functional.service import egress
from ovn_network_agent.tests.unit import world as worlds

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
SHOP = {'name': 'shop', 'mode': 'host', 'select': {'ports': ['a', 'c']},
        'addresses': ['203.0.113.50', '203.0.113.51']}
# Less than what a stop waits for the agent that writes.
SOON = 4


def ip(command):
    subprocess.run(['ip', *command.split()], check=True)


def chassis(nb):
    """Which nodes translate, by the rows; sorted."""
    found = [dict(row['external_ids'][1]) for row in nb.rows('NAT')]
    return sorted(each[ownership.EXT_ID_EGRESS_CHASSIS] for each in found
                  if ownership.EXT_ID_EGRESS_CHASSIS in each)


class World(worlds.World):
    """Notes which nodes the rows name at the end of a translation here.

    :ivar ended: list of them, for each end
    """

    def __init__(self, nb):
        super().__init__()
        # The agent has a thread of its own, so it needs a connection, too.
        self.nb = copy.copy(nb)
        self.nb._client = None
        self.ended = []

    def refusal(self, ref):
        if ref.kind == resources.EgressSource.kind and ref in self.objects:
            self.ended.append(chassis(self.nb))
        return super().refusal(ref)


class StopTest(egress.EgressTestCase):

    real = {'egress': backend.EgressBackend,
            'egress_networks': nb_global.EgressNetworksBackend}

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        ip('link add eth1 type veth peer name other')
        ip('link set eth1 up')
        ip('link set other up')
        ip('address add 203.0.113.5/24 dev eth1')
        self.nb.transact(ovsdb.insert('NB_Global'))
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.cloud.add_ports('net2', c=['10.0.2.5'])
        self.cloud.move('lrp-r1', HERE)
        self.cloud.move('lrp-r2', OTHER)
        other = ovsdb.Server('ovs')
        self.addCleanup(other.close)
        other.start()
        cloud.Cloud(self.nb, self.sb, other).fill_ovs()
        self.local = {HERE: self.ovs, OTHER: other}
        self.worlds = {}
        for chassis, server in self.local.items():
            server.transact(ovsdb.update(
                'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                    'system-id': chassis, ownership.EXT_ID_EGRESS_NODE: 'true',
                    'ovn-bridge-mappings': f'physnet1:{cloud.BRIDGE}'})))
        self.put(SHOP)

    def on(self, chassis):
        """The agent of a node, with a kernel of its own."""
        self.world = self.worlds[chassis] = World(self.nb)
        self.addCleanup(self.world.nb._disconnect)
        return self.agent(
            ovs__ovsdb_connection=self.local[chassis].remote,
            egress_ip__probe_port=0)

    def translate(self, *nodes):
        """Wait for rows and objects of exactly these nodes."""
        def found():
            return chassis(self.nb), sorted(
                each for each, world in self.worlds.items()
                if world.found(resources.EgressSource))
        wanted = [*nodes]
        self.eventually(lambda: found() == (wanted, wanted),
                        lambda: f'{found()} is {wanted}')

    def both(self, writer, other):
        """The agents of both nodes, the first of which writes."""
        agents = [self.on(writer)]
        self.translate_rows(writer)
        agents.append(self.on(other))
        self.translate(HERE, OTHER)
        return agents

    def translate_rows(self, *nodes):
        self.eventually(lambda: chassis(self.nb) == [*nodes],
                        lambda: chassis(self.nb))

    def ends(self, agent, within=SOON):
        """A stop that is complete, and its seconds."""
        began = time.monotonic()
        self.stop(agent)
        took = time.monotonic() - began
        self.assertTrue(agent.complete)
        self.assertLess(took, within)
        return took

    def test_the_writer_removes_its_own(self):
        """And the next writer stops as well."""
        writer, other = self.both(HERE, OTHER)
        self.ends(writer)
        self.assertEqual([[OTHER]], self.worlds[HERE].ended)
        # It does not wait for the end of the process.
        self.cloud.add_ports('net2', b=['10.0.2.6'])
        self.put({**SHOP, 'select': {'ports': ['a', 'b', 'c']}})
        self.translate_rows(OTHER, OTHER)
        self.assertEqual([], self.worlds[OTHER].ended)
        self.ends(other)
        self.assertEqual([], self.worlds[OTHER].ended[-1])
        self.translate()
        writer.close()

    def test_the_writer_removes_those_of_another_node(self):
        writer, other = self.both(HERE, OTHER)
        self.ends(other)
        self.assertEqual([[HERE]], self.worlds[OTHER].ended)
        self.translate(HERE)
        self.assertEqual([], self.worlds[HERE].ended)

    def test_both_at_once(self):
        writer, other = self.both(HERE, OTHER)
        began = time.monotonic()
        for agent in writer, other:
            agent.stop()
        for agent in writer, other:
            self.assertTrue(agent.wait(ovsdb.DEADLINE))
            self.assertTrue(agent.complete)
        self.assertLess(time.monotonic() - began, SOON)
        self.translate()
        for world in self.worlds.values():
            # Neither waits for the other one's row.
            for nodes in world.ended:
                self.assertLess(len(nodes), 2)

    def test_nobody_writes(self):
        """An agent that has had nothing to write writes now."""
        first = self.on(HERE)
        self.translate_rows(HERE)
        self.cut_short_without_clean_up(first)
        agent = self.on(HERE)
        self.translate(HERE)
        self.ends(agent)
        self.assertEqual([[]], self.worlds[HERE].ended)
        self.translate()

    def test_a_writer_that_does_nothing(self):
        first = self.on(HERE)
        self.translate_rows(HERE)
        self.cut_short_without_clean_up(first)
        test_lock.Holder(self, self.nb.remote, backend.EGRESS_LOCK)
        agent = self.on(HERE)
        self.translate(HERE)
        # The row stays, and the node drops what it no longer translates.
        self.assertGreater(self.ends(agent, ovsdb.DEADLINE), 5)
        self.assertEqual([[HERE]], self.worlds[HERE].ended)

    def cut_short_without_clean_up(self, agent):
        agent._conf.set_override('cleanup_on_shutdown', False)
        self.stop(agent)
        agent.close()
