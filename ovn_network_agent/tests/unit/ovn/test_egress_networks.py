# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend egress_networks."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.tests.functional.backends import bfd
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ovn import clouds

HERE, OTHER, DEAD = bfd.HERE, bfd.OTHER, bfd.DEAD
KEY = ownership.EXT_ID_EGRESS_NETWORKS
NETWORKS = ('2001:db8:7::5/64', '203.0.113.5/24')
TEXT = ' '.join(NETWORKS)


class BackendTest(bfd.Row, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.dead = set()

    def agent(self, chassis=HERE):
        made = nb_global.EgressNetworksBackend(world.conf(
            ovn__transaction_timeout=5))
        made.attach(backends.Context(
            self.eyes_.databases, frozenset, lambda: chassis,
            lambda: frozenset(ownership.Owner(chassis=name)
                              for name in self.dead)))
        return made

    def wanted(self, chassis=HERE, networks=NETWORKS):
        return resources.EgressNetworks(chassis, networks)

    def create(self, agent, *wanted):
        self.assertEqual({}, agent.apply(backends.Delta(create=wanted)))

    def delete(self, agent, *unwanted):
        self.assertEqual({}, agent.apply(backends.Delta(delete=unwanted)))

    def update(self, agent, *before_and_after):
        self.assertEqual({}, agent.apply(backends.Delta(
            update=(before_and_after,))))

    def found(self, agent):
        return agent.read(frozenset())

    def test_two_agents(self):
        self.add_row()
        one, two = self.agent(), self.agent(OTHER)
        self.create(one, self.wanted())
        self.create(two, self.wanted(OTHER, NETWORKS[:1]))
        self.assertEqual({KEY + HERE: TEXT, KEY + OTHER: NETWORKS[0]},
                         self.marks())
        self.assertEqual([self.wanted()], self.found(one))
        self.assertEqual([self.wanted(OTHER, NETWORKS[:1])], self.found(two))
        fewer = self.wanted(networks=NETWORKS[1:])
        self.update(one, self.wanted(), fewer)
        self.assertEqual([fewer], self.found(one))
        for _twice in range(2):
            self.delete(one, self.wanted())
        self.assertEqual({KEY + OTHER: NETWORKS[0]}, self.marks())
        self.assertEqual([], self.found(one))

    def test_without_the_row(self):
        failed = self.agent().apply(backends.Delta(create=(self.wanted(),)))
        self.assertIn('NB_Global', failed[self.wanted().ref])

    def test_words_that_are_no_networks(self):
        self.add_row()
        self.set_marks({KEY + HERE: 'x ' + TEXT + ' 10.0.0.0/33'})
        self.assertEqual([self.wanted()], self.found(self.agent()))

    def test_a_chassis_that_is_gone_for_good(self):
        """Its entry goes with the next change of another one."""
        self.add_row()
        self.set_marks({KEY + DEAD: TEXT, KEY + OTHER: TEXT})
        agent = self.agent()
        self.create(agent, self.wanted())
        self.dead = {DEAD, OTHER}
        found, = self.found(agent)
        self.assertEqual({DEAD, OTHER}, set(found.gone))
        self.assertNotEqual(self.wanted(), found)
        # The server has the row of one of them.
        self.update(agent, found, self.wanted())
        self.assertEqual({KEY + HERE: TEXT, KEY + OTHER: TEXT}, self.marks())

    def set_marks(self, marks):
        """External_ids as somebody else has written them."""
        self.nb.update('NB_Global', {}, external_ids={
            **bfd.ALSO_KEPT, **marks})
