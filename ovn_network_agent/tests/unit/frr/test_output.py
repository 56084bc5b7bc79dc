# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What vtysh prints."""

import json
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.frr import output

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
                ('FRR 10, by vtysh', f'{{"zebra":{LIST}\n}}',
                 '{"zebra":}\n')):
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
            self.assertEqual(documents,
                             list(output.json_documents(text)))
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
