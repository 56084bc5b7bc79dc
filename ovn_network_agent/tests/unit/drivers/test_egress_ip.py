# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the driver egress_ip wants."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

A, B = '11111111-1111-4111-8111-111111111111', '2' * 8 + '-2222-4222-8222-' + (
    '2' * 12)
E, E2, M, M2 = '198.51.100.50', '203.0.113.50', '10.0.1.5', '10.0.1.6'
SET = 'ona_egress_shop_1_{}_{}_ip4'


def set_name(what, router=A):
    return SET.format(router.replace('-', '_'), what)


def place(router=A, address=E, **values):
    return model.EgressPlace(**{
        'router': router, 'called': f'r-{router[0]}', 'port': '',
        'chassis': '', 'family': 6 if ':' in address else 4,
        'address': address, **values})


def subject(*places, machines=((M, A), (M2, A)), mode='router', **values):
    return model.EgressIp(**{
        'name': 'shop-1', 'mode': model.EgressMode(mode), 'addresses': (E,),
        'places': places, 'machines': tuple(
            model.EgressMachine('port', address, router, *why)
            for address, router, *why in machines), **values})


class EgressIpTest(base.BaseTestCase):

    def wanted(self, found, phase=model.Phase.RUNNING, **options):
        driver = world.driver('egress_ip', world.conf(**{
            'drivers': ['egress_ip'], **options}))
        return list(driver.resources(found, cloud.node(phase=phase)))

    def test_mode_router(self):
        nat = resources.EgressNat
        self.assertEqual(
            [resources.EgressRows('shop-1', A, (nat(M, E), nat(M2, E)))],
            self.wanted(subject(place(), machines=[
                (M, A), (M2, A), (M, B), ('10.0.1.7', A, 'it is so')])))
        # Another family, another router, and one of several ports.
        v6 = '2001:db8::50'
        self.assertEqual(
            [resources.EgressRows('shop-1', A, (nat(M, E), nat('fd00::5',
                                                               v6))),
             resources.EgressRows('shop-1', B, (nat(M, E2, 'lrp-2'),))],
            self.wanted(subject(
                place(), place(address=v6),
                place(B, E2, port='lrp-2'),
                machines=[('fd00::5', A), (M, A), (M, B)])))

    def test_destinations(self):
        found, = self.wanted(subject(place(), destinations=(
            '203.0.113.0/24', '192.0.2.0/24', '2001:db8::/32')))
        self.assertEqual(
            ((set_name('to'), ('192.0.2.0/24', '203.0.113.0/24')),),
            found.address_sets)
        self.assertEqual({set_name('to')},
                         {nat.destinations for nat in found.nats})

    def test_mode_ecmp(self):
        inside = ('10.0.1.0/24', '198.51.100.0/24')
        places = [place(port='lrp-1', nexthop='198.51.100.254',
                        inner_networks=inside),
                  place(address=E2, port='lrp-2', nexthop='203.0.113.254',
                        inner_networks=inside),
                  place(address='', family=4, port='lrp-3', why='it is so')]
        problem, found = self.wanted(subject(*places, mode='ecmp'),
                                     egress_ip__policy_priority=70)
        self.assertEqual('egress address shop-1: router r-1 (lrp-3) has none '
                         'of IPv4: it is so', problem.text)
        self.assertEqual([(M, E, 'lrp-1'), (M, E2, 'lrp-2'),
                          (M2, E, 'lrp-1'), (M2, E2, 'lrp-2')], [
            (nat.machine, nat.external, nat.port) for nat in found.nats])
        self.assertEqual(((set_name('from'), (M, M2)),), found.address_sets)
        match = f'ip4.src == ${set_name("from")}'
        self.assertEqual((
            resources.EgressPolicy(69, match, ('198.51.100.254',
                                               '203.0.113.254')),
            resources.EgressPolicy(70, f'{match} && ip4.dst == '
                                   '{10.0.1.0/24, 198.51.100.0/24}')),
            found.policies)
        found, = self.wanted(subject(*places[:2], mode='ecmp',
                                     destinations=('192.0.2.0/24',)))
        self.assertEqual(f'{match} && ip4.dst == ${set_name("to")}',
                         found.policies[0].match)

    def test_mode_host(self):
        found, = self.wanted(subject(place(chassis='c1'), mode='host'))
        self.assertEqual([(M, M, E, 'c1'), (M2, M2, E, 'c1')], [
            (nat.machine, nat.external, nat.address, nat.chassis)
            for nat in found.nats])

    def test_problems(self):
        for found, part in (
                (subject(why='it is so'), 'egress address shop-1: it is so'),
                (subject(problems=('one', 'two')), 'shop-1: one')):
            problem = self.wanted(found)[0]
            self.assertIn(part, problem.text)
        problem, = self.wanted(subject(place(address='', why='it is so')))
        self.assertEqual(A, problem.router)

    def test_a_stop_leaves_the_rows(self):
        stopped = model.Phase.STOPPED
        node = cloud.node(phase=stopped).chassis
        for found in (subject(place()),
                      subject(place(chassis='other'), mode='host')):
            ref = self.wanted(found)[0].ref
            self.assertEqual([resources.Keep(ref, foreign=True)],
                             self.wanted(found, stopped))
            gone, = self.wanted(found, stopped,
                                egress_ip__cleanup_on_stop=True)
            self.assertEqual(ref, gone.ref)
        # What this node translates ends with it.
        own = self.wanted(subject(place(chassis=node), mode='host'), stopped)
        self.assertIsInstance(own[0], resources.EgressRows)
