# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What vtysh prints, and what is read of FRR's configuration."""

import json
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup

CONFIGURATION = '''\
!
frr version 8.4.4
!
ip route 203.0.113.0/24 br-ex
ip route 198.51.100.1/32 br-ex
!
vrf vrf-provider
 ip route 198.51.100.2/32 169.254.0.1
 ip route 198.51.100.3/32 169.254.0.1 tag 5
 ip route 198.51.100.4/32 169.254.0.1 veth-provider
exit-vrf
!
vrf vrf-provider2
 ip route 198.51.100.5/32 169.254.0.1
exit-vrf
!
router bgp 65001 vrf vrf-provider
 password ip route 1.2.3.4/32 169.254.0.1
exit
!
'''
WHOLE = ('% Can\'t open configuration file /etc/frr/vtysh.conf\n'
         ' zebra bgpd watchfrr staticd\n'
         'Building configuration...\n\nCurrent configuration:\n'
         + CONFIGURATION + 'end\n')
# FRR 8.4: one document for each daemon, one after the other.
LIST = '''{
    "AN":{"addressFamily":"IPv4","entries":[
      {"sequenceNumber":5,"type":"permit","prefix":"198.51.100.0/24",
       "minimumPrefixLength":32,"maximumPrefixLength":32},
      {"sequenceNumber":5,"type":"permit","prefix":"198.51.100.0/24",
       "minimumPrefixLength":32,"maximumPrefixLength":32},
      {"sequenceNumber":10,"type":"deny","prefix":"10.0.0.0/8"}]}}
'''

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(('BGP', 'AN', 'entries', 'type', 'prefix', 'x')),
        inner, max_size=3), max_leaves=12)


class TestRunningConfiguration(unittest.TestCase):

    def test_split(self):
        daemons, lines = output.split(WHOLE)
        self.assertEqual({'zebra', 'bgpd', 'watchfrr', 'staticd'}, daemons)
        self.assertEqual([('203.0.113.0/24', 'br-ex'),
                          ('198.51.100.1/32', 'br-ex')],
                         output.static_routes(lines, ''))
        self.assertEqual([('198.51.100.2/32', '169.254.0.1'),
                          ('198.51.100.3/32', '169.254.0.1 tag 5'),
                          ('198.51.100.4/32', '169.254.0.1 veth-provider')],
                         output.static_routes(lines, 'vrf-provider'))
        self.assertEqual([], output.static_routes(lines, 'vrf'))

    def test_holders(self):
        """Of FRR 9 and later mgmtd shows the routes, or nobody does."""
        for version, holders in (
                ('8.4.4', ('zebra', 'staticd')),
                ('9.0', ('mgmtd', 'zebra', 'staticd')),
                ('10.4-dev', ('mgmtd', 'zebra', 'staticd'))):
            self.assertEqual(holders, output.holders(
                ['!', f'frr version {version}', 'frr defaults datacenter']))
        self.assertEqual(('zebra', 'staticd'), output.holders([]))

    @given(st.integers(0, len(WHOLE) - len('\nend\n')))
    def test_cut_short_is_unreadable(self, length):
        with self.assertRaises(output.Unreadable):
            output.split(WHOLE[:length])

    @given(st.text())
    def test_anything_else_is_unreadable(self, text):
        with self.assertRaises(output.Unreadable):
            output.split(text)


class TestJson(unittest.TestCase):

    def test_prefix_list(self):
        expected = [(5, 'permit', '198.51.100.0/24', 32, 32),
                    (10, 'deny', '10.0.0.0/8', 0, 0)]
        for version, one, none in (
                ('FRR 8, over the socket and by vtysh',
                 f'{{\n  "ZEBRA":{LIST}}}\n', '{\n  "ZEBRA":{\n  }\n}\n'),
                ('FRR 10, over the socket', LIST, ''),
                ('FRR 10, by vtysh', f'{{"zebra":{LIST}\n}}', '{"zebra":}\n')):
            with self.subTest(version):
                self.assertEqual(expected, output.prefix_list(one, 'AN'))
                self.assertIsNone(output.prefix_list(none, 'AN'))
                # Trap T34: of both families, one document after the other.
                self.assertEqual(
                    2 * expected, output.prefix_list(one + one, 'AN'))
                self.assertEqual(
                    expected, output.prefix_list(none + one, 'AN'))
                # Trap T40: a format that changed is no empty answer.
                with self.assertRaises(output.Unreadable):
                    output.prefix_list(one, 'OTHER')
        with self.assertRaises(output.Unreadable):
            output.prefix_list('{"zebra":,"bgpd":}', 'AN')

    def test_prefix_list_with_the_name_of_a_daemon(self):
        for name in 'zebra', 'entries', 'addressFamily':
            text = LIST.replace('AN', name)
            for said in text, f'{{"zebra":{text}}}':
                self.assertEqual(2, len(output.prefix_list(said, name)))

    def test_named_in_all_versions(self):
        rules = {'rules': [{'sequenceNumber': 10}]}
        for document in {'OUT': rules}, {'BGP': {'OUT': rules}}, {
                'bgpd': {'OUT': rules}}, {'OUT': {'OUT': rules}}:
            self.assertEqual([('OUT', rules)],
                             list(output.named(document, 'rules')))
        for document in {}, {'BGP': {}}:
            self.assertEqual([], list(output.named(document, 'rules')))

    def test_documents_come_one_by_one(self):
        found = output.json_documents('{"a": 1} junk')
        self.assertEqual({'a': 1}, next(found))
        self.assertRaises(output.Unreadable, next, found)

    @given(st.lists(json_values, max_size=3))
    def test_documents_there_and_back(self, documents):
        text = '\n'.join(json.dumps(document) for document in documents)
        if all(isinstance(document, dict) for document in documents):
            self.assertEqual(documents, list(output.json_documents(text)))
        else:
            self.assertRaises(output.Unreadable, list,
                              output.json_documents(text))

    @given(st.lists(st.dictionaries(st.text(max_size=5), json_values,
                                    max_size=3), max_size=3))
    def test_objects_there_and_back(self, documents):
        text = '\n'.join(map(json.dumps, documents))
        self.assertEqual(documents, list(output.json_documents(text)))

    @given(st.lists(json_values, max_size=3), st.text())
    def test_other_shapes_are_unreadable(self, documents, junk):
        text = '\n'.join(map(json.dumps, documents)) + junk
        try:
            output.prefix_list(text, 'AN')
        except output.Unreadable:
            pass


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
                self.assertEqual(('65001', ('static',), True, True), (
                    found.asn, found.redistributes, found.neighbours,
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
                         (found.redistributes, found.undefined, found.mapped))
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
        self.assertIn('no ipv6 prefix-list L description', found[setup.FILTER])
