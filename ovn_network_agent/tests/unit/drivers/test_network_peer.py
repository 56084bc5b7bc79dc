# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

A, B = '11111111-1111-4111-8111-111111111111', '2' * 8 + '-2222-4222-8222-' + (
    '2' * 12)


def side(router=A, **values):
    return model.Side(**{
        'router': router, 'port': f'peer-{router[0]}',
        'mac': 'fa:16:3e:00:00:01', 'addresses': ('10.0.1.1/32',),
        'uplinks': ('lrp-"1',), 'routes': (('10.0.2.0/24', '10.0.2.1'),),
        'address_sets': ((4, 'set4'), (6, 'set6')), **values})


def peering(state=model.PeerState.CREATED, **values):
    return model.Peering(**{
        'router': A, 'called': 'r1 (neutron-1)', 'name': 'db', 'state': state,
        **({'pair': f'{A}~{B}', 'sides': (side(), side(B, uplinks=()))}
           if state is model.PeerState.CREATED else {'why': 'it is so'}),
        **values})


class NetworkPeerTest(base.DriverTestCase):

    name, options = 'network_peer', {'drivers': ['network_peer']}

    def test_rows(self):
        found, = self.wanted(peering(), network_peer__drop_priority=400)
        self.assertEqual(f'{A}~{B}', found.pair)
        one, other = found.sides
        policy = resources.PeerPolicy
        self.assertEqual(resources.PeerSide(
            A, 'peer-1', 'fa:16:3e:00:00:01', ('10.0.1.1/32',),
            (('10.0.2.0/24', '10.0.2.1'),),
            (policy(400, 'inport == "lrp-\\"1" && ip4.src == $set4', 'drop'),
             policy(400, 'inport == "peer-1"', 'drop'),
             policy(600, 'inport == "peer-1" && ip4.src == $set4', 'allow')),
            (('set4', ('10.0.2.0/24',)), ('set6', ()))), one)
        self.assertEqual(2, len(other.policies))

    def test_both_families(self):
        found, = self.wanted(peering(sides=(side(routes=(
            ('10.0.2.0/24', '10.0.2.1'), ('2001:db8::/64', '2001:db8::1'))),
            side(B))))
        matches = [(each.action, each.match)
                   for each in found.sides[0].policies
                   if 'ip6' in each.match]
        self.assertEqual([
            ('drop', 'inport == "lrp-\\"1" && ip6.src == $set6'),
            ('allow', 'inport == "peer-1" && ip6.src == $set6')], matches)

    def test_states(self):
        self.assertEqual([], self.wanted(peering(model.PeerState.PENDING)))
        for state in (model.PeerState.CONFLICT, model.PeerState.ERROR):
            problem, = self.wanted(peering(state))
            self.assertEqual(A, problem.router)
            for part in ('r1 (neutron-1)', 'db', state.value, 'it is so'):
                self.assertIn(part, problem.text)

    def test_a_stop_leaves_the_rows(self):
        ref = self.wanted(peering())[0].ref
        stopped = cloud.node(phase=model.Phase.STOPPED)
        kept, = self.wanted(peering(), stopped)
        self.assertEqual(resources.Keep(ref, foreign=True), kept)
        found, = self.wanted(peering(), stopped,
                             network_peer__cleanup_on_stop=True)
        self.assertEqual(ref, found.ref)
