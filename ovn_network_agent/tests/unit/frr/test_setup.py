# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What is read of FRR's configuration; FRR 8.4 cannot say all of it."""

import unittest

from ovn_network_agent.frr import setup


def configuration(instance):
    return f'''vrf blue inactive (configured)
Building configuration...

Current configuration:
!
frr version 10.0
{instance}
 neighbor 10.0.0.2 remote-as 65002
 !
 address-family ipv4 unicast
  redistribute static
  neighbor 10.0.0.2 prefix-list L out
 exit-address-family
exit
!
end
'''


class SetupTest(unittest.TestCase):

    def read(self, instance, vrf):
        return setup.read(configuration(instance), vrf, 'L')

    def test_instance_of_the_vrf(self):
        for notation in ('', ' as-notation dot', ' as-notation dot+'):
            for vrf, of_vrf in (('', ''), ('red', ' vrf red')):
                found = self.read(f'router bgp 65001{of_vrf}{notation}', vrf)
                self.assertEqual(
                    ('65001', ('static',), True, True),
                    (found.asn, found.redistributes, found.neighbours,
                     found.filters))

    def test_instance_of_somebody_else(self):
        for instance, vrf in (('router bgp 65001', 'red'),
                              ('router bgp 65001 vrf blue', 'red'),
                              ('router bgp 65001 vrf red', ''),
                              ('router bgp 65001 view red', ''),
                              ('router bgp 65001 view red', 'red')):
            found = self.read(instance, vrf)
            self.assertEqual(('', (instance,)), (found.asn, found.others))
            said = [text for part, text in setup.faults(
                found, vrf, 'static', 'L') if part == setup.INSTANCE]
            self.assertIn(f'{instance} is of another VRF', said[0])
        self.assertEqual((), self.read('router bgp 65001', '').others)

    def test_route_maps_of_redistributions(self):
        with_map = configuration('router bgp 65001').replace(
            'redistribute static', 'redistribute static route-map M')
        found = setup.read(with_map, '', 'L')
        self.assertEqual((('static',), (('static', 'M'),), (('static', 'M'),)),
                         (found.redistributes, found.undefined,
                          found.mapped))
        self.assertEqual((), self.read('router bgp 65001', '').mapped)
        text, = [text for part, text in setup.faults(found, '', 'static', 'L')
                 if part == setup.REDISTRIBUTION]
        self.assertIn('route-map M permit 10', text)
        defined = with_map.replace(
            '\nend\n', '\nroute-map M permit 10\nexit\n!\nend\n')
        self.assertEqual((), setup.read(defined, '', 'L').undefined)

    def test_bfd_and_the_version(self):
        found = self.read('router bgp 65001', '')
        self.assertEqual((False, '10.0'), (found.bfd, found.version))
        found = self.read('router bgp 65001\n neighbor 10.0.0.2 bfd', '')
        self.assertTrue(found.bfd)


OF_IPV6 = """Building configuration...

Current configuration:
!
router bgp 65001
 neighbor eth1 interface remote-as external
 !
 address-family ipv4 unicast
  redistribute static
  neighbor eth1 prefix-list L out
 exit-address-family
 !
 address-family ipv6 unicast
  redistribute kernel route-map M
  neighbor eth1 activate
  neighbor eth1 route-map OUT out
 exit-address-family
exit
!
ipv6 prefix-list L description of the operator
!
route-map OUT permit 10
 match ipv6 address prefix-list L
exit
!
end
"""


class FamilyTest(unittest.TestCase):

    def test_each_family_has_its_own_lines(self):
        four, six = (setup.read(OF_IPV6, '', 'L', version)
                     for version in (4, 6))
        self.assertEqual((('static',), True, False, ()), (
            four.redistributes, four.filters, four.described, four.undefined))
        self.assertEqual((('kernel',), True, True, (('kernel', 'M'),)), (
            six.redistributes, six.filters, six.described, six.undefined))

    def test_a_filter_of_one_family_is_none_of_the_other(self):
        for version, line in ((4, '  neighbor eth1 prefix-list L out\n'),
                              (6, '  neighbor eth1 route-map OUT out\n'),
                              (6, ' match ipv6 address prefix-list L\n')):
            self.assertIn(line, OF_IPV6)
            text = OF_IPV6.replace(line, '')
            self.assertEqual({version: False, 10 - version: True}, {
                each: setup.read(text, '', 'L', each).filters
                for each in (4, 6)})

    def test_the_remedies_name_the_family(self):
        found = dict(setup.faults(
            setup.read(OF_IPV6, '', 'L', 6), '', 'static', 'L'))
        self.assertIn('"address-family ipv6 unicast" / "redistribute static"',
                      found[setup.REDISTRIBUTION].replace('" / "', '" / "'))
        self.assertIn('no ipv6 prefix-list L description',
                      found[setup.FILTER])
