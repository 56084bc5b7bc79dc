# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The tags of the ports of a router, from rows of OVN and from options."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.unit.ovn import clouds

ROUTER = ('Logical_Router', {'name': 'neutron-r1'})
NETWORK = ('Logical_Switch', {'name': 'neutron-public'})
ONE, TWO, THREE = (ownership.TAGS.start + n for n in (1, 2, 3))


class TagsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=clouds.HERE)
        self.cloud.add_switch()

    def say(self, row, value):
        self.cloud.say(*row, external_ids={
            ownership.EXT_ID_TAG: None if value is None else str(value)})

    def become(self, eyes, tag, **others):
        """Compare the tags, and the view with a new one."""
        self.assertEqual({'lrp-r1': tag, **others}, {
            port.lrp: port.tag for port in eyes.router('r1').ports})
        self.as_new(eyes, lambda seen: seen.routers)

    def test_rows(self):
        eyes = self.eyes()
        self.become(eyes, None)
        for row, value, tag in (
                (NETWORK, ONE, ONE), (ROUTER, TWO, TWO), (NETWORK, THREE, TWO),
                (ROUTER, 0, None), (ROUTER, None, THREE),
                (NETWORK, None, None)):
            self.say(row, value)
            self.become(eyes, tag)

    def test_a_tag_that_cannot_be_read(self):
        eyes = self.eyes()
        self.say(NETWORK, ONE)
        self.say(ROUTER, 5)
        self.become(eyes, ONE)
        problem, = eyes.router('r1').problems
        self.assertIn("router neutron-r1: external_ids:ovn-network-agent:tag "
                      "= '5' is not a tag", problem)

    def test_options(self):
        for option, value in (('router_tags', f'r1:{ONE}'),
                              ('router_tags', f'neutron-r1:{ONE}'),
                              ('network_tags', f'public:{ONE}')):
            eyes = self.eyes(**{'announce__' + option: [value]})
            for word, tag in ((None, ONE), (TWO, TWO), (None, ONE)):
                self.say(NETWORK, word)
                self.become(eyes, tag)

    def test_each_network_its_own(self):
        second = self.cloud.add_network()
        self.cloud.add_switch('second', second)
        self.cloud.add_port('r1', 'two', ['203.0.113.1/24'], clouds.HERE,
                            network=second)
        eyes = self.eyes(announce__network_tags=[f'second:{TWO}'])
        self.say(NETWORK, ONE)
        self.become(eyes, ONE, **{'lrp-two': TWO})
