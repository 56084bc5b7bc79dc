# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What rows say about VNIs."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.tests.unit.ovn import atoms

OURS, THEIRS = 'ovn-network-agent:evpn-', 'neutron_bgpvpn:'


def row(**keys):
    return atoms.made('1', external_ids={
        key.replace('ours_', OURS).replace('theirs_', THEIRS): value
        for key, value in keys.items()})


class VnisTest(base.BaseTestCase):

    def only(self, **keys):
        found, = vnis.read(row(**keys))
        return found

    def test_what_neutron_writes(self):
        self.assertEqual(model.Vni(1001), self.only(
            theirs_type='l3', theirs_vni='1001'))
        self.assertEqual(
            model.Vni(1001, '65011:7', ('1:2', '3:4'), ('1:2', '5:6')),
            self.only(theirs_type='l3', theirs_vni='1001',
                      theirs_rd="['65011:7', '65011:8']",
                      theirs_rt="['1:2']", theirs_it='3:4',
                      theirs_et="('5:6',)"))

    def test_who_has_none(self):
        for keys in ({}, {'theirs_vni': '1001'}, {'theirs_type': 'l3'},
                     {'theirs_type': 'l2', 'theirs_vni': '1001'}):
            self.assertEqual((), vnis.read(row(**keys)))

    def test_ours_wins(self):
        self.assertEqual(model.Vni(7, '', ('1:2',), ('1:2',)), self.only(
            ours_vni='7', ours_rt='1:2', theirs_type='l3', theirs_vni='8',
            theirs_rt='3:4'))

    def test_numbers_that_are_no_vni(self):
        for text in ('', '0', '-1', '16777216', '1e3', 'x', '１', '9' * 5000):
            found = self.only(ours_vni=text)
            self.assertEqual(0, found.number)
            self.assertIn(f'{OURS}vni = {text!r} is not a VNI', found.problem)

    def test_texts_that_are_no_list(self):
        for text in ('both', '1', '1:', '65536:65536', '4294967296:1',
                     '10.0.0.1:65536', '10.0.0.256:1', '065011:1', '65011:01',
                     '2001:db8::1.2.3.4:1', '1:2\nvni 5',
                     '__import__("os")', '1:2 3'):
            found = self.only(ours_vni='7', ours_rt=text)
            self.assertEqual(7, found.number)
            self.assertIn('is no route target', found.problem, text)
            self.assertEqual((), found.imports)

    def test_targets_of_both_forms(self):
        for text in ('65535:4294967295', '4294967295:65535', '10.0.0.1:65535'):
            self.assertEqual((text,), vnis.targets(text))

    def test_a_network_with_a_problem_does_not_decide(self):
        other, bad = model.Vni(7, '', ('1:3',)), model.Vni(7, problem='x')
        self.assertEqual(other, vnis.agreed(other, [('a', bad), ('b', other)]))

    def test_gateways(self):
        for cidr, router, wanted in (
                ('192.168.50.0/24', '192.168.50.1', ('192.168.50.1',)),
                ('192.168.50.0/24', '192.168.51.1', ()),
                ('192.168.50.0/24', '2001:db8::1', ()),
                ('192.168.50.0/24', '', ()), ('x', '192.168.50.1', ()),
                ('2001:db8::/64', '', ())):
            self.assertEqual(wanted, vnis.gateway(atoms.made(
                '1', cidr=cidr, options={'router': router} if router else {})))
