# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines of several routers with one address on one node."""

import random

from oslotest import base

from ovn_network_agent.tests.unit.ovn import egress


class SameAddressTest(base.BaseTestCase):

    CHASSIS = {'c1': '203.0.113.7/24', 'c2': '203.0.113.8/24'}
    ADDRESSES = {name: f'203.0.113.{number}' for number, name in
                 enumerate('abc', 50)}

    def setUp(self):
        super().setUp()
        self.cloud = egress.Cloud()
        self.objects = {}
        for router, (name, address) in zip(
                ('r1', 'r2', 'r3'), self.ADDRESSES.items(), strict=True):
            self.cloud.router(router, '10.0.1.1/24')
            self.cloud.machine(f'{router}-same', router, '10.0.1.5')
            self.objects[name] = {
                'name': name, 'mode': 'host', 'addresses': [address],
                'select': {'router': router}}
        for name, link in self.CHASSIS.items():
            self.cloud.node(name, link)
        self.gateway(r1='c1', r2='c1', r3='c2')
        self.file()

    def file(self, **changed):
        self.cloud.file(*({**entry, **changed.get(name, {})}
                          for name, entry in self.objects.items()))

    def gateway(self, **chassis):
        for router, name in chassis.items():
            self.cloud.node(name, gateways=[router])

    def row(self, router, name, chassis):
        self.cloud.ours(f'nat-{name}', router, name, self.ADDRESSES[name],
                        '10.0.1.5', chassis)

    def why(self):
        """By object the reasons of its machines with the address."""
        return {name: [each.why for each in found.machines
                       if each.address == '10.0.1.5']
                for name, found in self.cloud.look().items()}

    def left_out(self):
        return {name for name, why in self.why().items() if any(why)}

    def test_the_first_by_name(self):
        called = self.cloud.look()['a'].places[0].called
        self.assertEqual({
            'a': [''], 'c': [''],
            'b': ['egress address a has a machine with the same address '
                  f'behind another router ({called}) on the same node (c1), '
                  'which can translate one of them; give the objects '
                  'different nodes (gateways)']}, self.why())
        # Without a machine that counts, the router needs no address.
        self.assertEqual((), self.cloud.look()['b'].places)
        # Another machine of the same router is in nobody's way.
        self.cloud.machine('other', 'r2', '10.0.1.6')
        self.assertEqual([('other', '10.0.1.6')], self.cloud.machines('b'))
        self.assertEqual([('c1', self.ADDRESSES['b'])], self.cloud.places('b'))

    def test_who_has_none_is_in_nobodys_way(self):
        for change, back in (
                # Gone, moved, translated by OVN, named other nodes.
                (lambda: self.cloud.put('Logical_Switch_Port', 'r1-same'),
                 lambda: self.cloud.machine('r1-same', 'r1', '10.0.1.5')),
                (lambda: self.gateway(r2='c2', r3='c1'),
                 lambda: self.gateway(r2='c1', r3='c2')),
                (lambda: self.file(a={'mode': 'router'}), self.file),
                (lambda: self.file(a={'gateways': ['c2']}), self.file)):
            self.assertEqual({'b'}, self.left_out())
            change()
            self.assertNotIn('b', self.left_out())
            back()
        self.cloud.nat('fip', 'r1', type='dnat_and_snat',
                       external_ip='198.51.100.9', logical_ip='10.0.1.5')
        self.assertEqual({'a': True, 'b': False, 'c': False}, {
            name: any(why) for name, why in self.why().items()})

    def test_what_has_a_row_stays(self):
        self.row('r2', 'b', 'c1')
        self.assertEqual({'a'}, self.left_out())
        # The row of another node counts less, but more than none.
        self.row('r1', 'a', 'c2')
        self.assertEqual({'a'}, self.left_out())
        for row in 'nat-b', 'nat-a':
            self.cloud.put('NAT', row)
            self.assertEqual({'b'}, self.left_out())

    def test_a_gateway_that_moves_gives_way(self):
        self.row('r1', 'a', 'c1')
        self.row('r3', 'c', 'c2')
        self.gateway(r1='c2')
        self.assertEqual({'a'}, self.left_out())
        # Without a row of this node, any row counts.
        self.cloud.put('NAT', 'nat-a')
        self.row('r2', 'b', 'c1')
        self.gateway(r2='c2', r3='c1')
        self.assertEqual({'a'}, self.left_out())

    def test_two_routers_of_one_object(self):
        self.cloud.file({'name': 'a', 'mode': 'host', 'addresses': [
            *self.ADDRESSES.values()], 'select': {
                'ports': ['r1-same', 'r2-same', 'r3-same']}})
        one, two = sorted(['r1', 'r2'], key=egress.uuid_of)
        for first, change in ((one, lambda: None),
                              (two, lambda: self.row(two, 'a', 'c1'))):
            change()
            self.assertEqual(
                sorted([f'{first}-same', 'r3-same']),
                [port for port, _address in self.cloud.machines()])

    def test_in_any_order(self):
        """One machine of an address and node, and the one that had a row."""
        for seed in range(40):
            chance = random.Random(seed)
            wins = {}
            for _step in range(12):
                self._change(chance)
                found = self.cloud.look()
                self.assertEqual(found, self.cloud.look(whole=True), seed)
                places = [(each.chassis, machine.address)
                          for subject in found.values()
                          for each in subject.places if each.address
                          for machine in subject.machines
                          if machine.router == each.router and not machine.why]
                self.assertEqual(sorted(set(places)), sorted(places), seed)
                # Who is on the node still, and had its row, has won again.
                now = {each.chassis: name for name, subject in found.items()
                       for each in subject.places if each.address}
                for chassis, name in now.items():
                    former = wins.get(chassis, name)
                    self.assertTrue(
                        former == name or self.gateways[former] != chassis or
                        former not in self.there, (seed, former, name))
                wins = now
                self._write(now)

    gateways = there = None

    def _change(self, chance):
        self.gateways = self.gateways or {'a': 'c1', 'b': 'c1', 'c': 'c2'}
        self.there = self.there or {*'abc'}
        name = chance.choice('abc')
        router = self.objects[name]['select']['router']
        if chance.random() < .5:
            self.gateways[name] = chance.choice(['c1', 'c2'])
            self.gateway(**{router: self.gateways[name]})
        elif name in self.there and len(self.there) > 1:
            self.there.remove(name)
            self.cloud.put('Logical_Switch_Port', f'{router}-same')
        else:
            self.there.add(name)
            self.cloud.machine(f'{router}-same', router, '10.0.1.5')

    def _write(self, now):
        for name in 'abc':
            chassis = next((at for at, who in now.items() if who == name), '')
            if chassis:
                self.row(self.objects[name]['select']['router'], name, chassis)
            else:
                self.cloud.put('NAT', f'nat-{name}')
