# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tags from rows of OVN to the community that a BGP neighbour sees."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import tagged
from ovn_network_agent.tests.functional.ovn import cloud

FIP = '198.51.100.10/32'
ROUTER, NETWORK = (('Logical_Router', {'name': 'neutron-r1'}),
                   ('Logical_Switch', {'name': 'neutron-public'}))
ONE, TWO = tagged.ONE, tagged.TWO
FIRST, SECOND = (tagged.COMMUNITIES[tag] for tag in (ONE, TWO))


class StaticTest(agents.AnnouncingTestCase, tagged.TaggedTestCase):
    """The databases, the service and FRR are real."""

    make = tagged.Frr

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', FIP.partition('/')[0])
        self.cloud.add_switch()

    def say(self, row, value):
        self.cloud.say(*row, external_ids={
            ownership.EXT_ID_TAG: value and str(value)})

    def test_rows_change_the_community(self):
        agent = self.agent()
        self.frr.become(FIP, '')
        for row, tag, community in (
                (NETWORK, ONE, FIRST), (ROUTER, TWO, SECOND),
                (ROUTER, None, FIRST), (NETWORK, None, '')):
            self.say(row, tag)
            self.frr.become(FIP, community)
        self.assert_never_withdrawn(FIP)
        self.assertEqual((), agent.status.reasons)

    def test_over_a_restart(self):
        first = self.agent(announce__router_tags=[f'r1:{ONE}'],
                           cleanup_on_shutdown=False)
        self.frr.become(FIP, FIRST)
        self.cut_short(first)
        # Another one without the option: its routes are known all the same.
        second = self.agent(cleanup_on_shutdown=False)
        self.frr.become(FIP, '')
        self.cut_short(second)
        self.agent(announce__network_tags=[f'public:{TWO}'])
        self.frr.become(FIP, SECOND)
        self.assert_never_withdrawn(FIP)
        self.cloud.remove_nat('r1', FIP.partition('/')[0])
        base.wait_until(lambda: self.frr.community(FIP) is None, 'withdrawn')
