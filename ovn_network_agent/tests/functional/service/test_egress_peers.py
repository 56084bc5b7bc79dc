# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers that peer and have egress addresses of the mode "ecmp"."""

import itertools

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.drivers import egress_ip
from ovn_network_agent.drivers import network_peer
from ovn_network_agent.tests.functional.service import egress
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds

TARGET = ownership.EXT_ID_PEER_TARGET
POLICY = 'Logical_Router_Policy'


class PeersTest(egress.EgressTestCase):

    drivers = {'network_peer': network_peer.NetworkPeerDriver,
               'egress_ip': egress_ip.EgressIpDriver}
    real = {'peering': locked_rows.PeeringBackend,
            'egress': locked_rows.EgressBackend}
    names = ('network_peer', 'egress_ip')

    def agree(self, agreed=True):
        """Both routers peer, or do not."""
        for one, other in (('r1', 'r2'), ('r2', 'r1')):
            self.cloud.say(
                'Logical_Router', {'name': f'neutron-{one}'}, external_ids={
                    TARGET + 'x': self.routers[other] if agreed else None})

    def policies(self):
        """The policies that let packets pass before others reroute."""
        return [row for (table, _uuid), row in self.ours().items()
                if table == POLICY and row['action'] == 'allow']

    def stays(self, prefix, wanted=True):
        """Wait until packets to a prefix are not rerouted, or are."""
        def found():
            return [row['match'] for row in self.policies()]
        self.eventually(
            lambda: [(prefix in match.partition(' && ip4.dst == ')[2])
                     for match in found()] == [wanted], found)

    def test_packets_to_peers_stay(self):
        self.cloud.add_port('r1', 'second', ['203.0.113.1/24'])
        self.cloud.add_ports('net1', a=['10.0.1.5'])
        self.put({'name': 'shop', 'mode': 'ecmp', 'select': {'ports': ['a']},
                  'addresses': ['198.51.100.50', '203.0.113.50']})
        agent = self.agent()
        self.stays('10.0.1.0/24')
        self.stays('10.0.2.0/24', False)
        self.agree()
        self.stays('10.0.2.0/24')
        self.well(agent)
        # What comes from a peer is judged first.
        router = self.nb.rows('Logical_Router', 'policies', where=[
            ['name', '==', 'neutron-r1']])[0]['policies'][1]
        actions = [row['action'] for row in sorted(
            self.nb.rows(POLICY), key=lambda row: -row['priority'])
            if row['_uuid'] in router]
        self.assertEqual(['allow', 'drop', 'allow', 'reroute'],
                         [each for each, _same in itertools.groupby(actions)])
        # No finding of "explain" is about it.
        conf = agent._conf
        way, = (way for way in sources.read_peerings(conf, [worlds.driver(
            'network_peer', conf)], '10.0.2.5', cloud.node())
            if way.peering.router == self.routers['r1'])
        self.assertEqual(((), (), (), ()), (
            way.missing, way.others, way.foreign, way.detours))
        self.agree(False)
        self.stays('10.0.2.0/24', False)
        self.well(agent)
