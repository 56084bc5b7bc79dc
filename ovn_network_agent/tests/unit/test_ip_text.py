# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""No zone of an IPv6 address gets anywhere."""

import ast
import ipaddress

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import checks as forward_checks
from ovn_network_agent.forward import rules
from ovn_network_agent.frr import lines
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import transaction
from ovn_network_agent.nft import values
from ovn_network_agent.openflow import spec
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import addresses as of_routers
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.tests.unit import sources
from ovn_network_agent.tests.unit.ovn import atoms

# What makes a value of an address, and reads a zone.
FACTORIES = {'ip_address', 'ip_network', 'ip_interface', 'IPv6Address',
             'IPv6Network', 'IPv6Interface'}
# They have bytes, and no text.
OF_BYTES = {('netlink.texts', 'IPv6Address'), ('openflow.codec', 'ip_network')}

ATTACK = 'fe80::%x }\ninclude "/etc/passwd"\n#'

zones = strategies.sampled_from((
    '', 'eth0', ATTACK.partition('%')[2], 'x }\ndelete table ip filter\n#',
    ',actions=flood', '%')) | strategies.text()
addresses = strategies.builds(
    '{}%{}'.format, strategies.ip_addresses(v=6), zones)


def flow(prefix):
    """The fields of a flow that the agent would write to a prefix."""
    return (ownership.COOKIE_HAIRPIN, ownership.PRIORITY_HAIRPIN, 1, 6,
            prefix, None, None, spec.IN_PORT)


class AddressTest(base.BaseTestCase):
    """The quick way for IPv4 gives what the library gives."""

    def result(self, function, text):
        try:
            found = function(text)
        except ValueError:
            return 'refused'
        return type(found), found, str(found)

    @hypothesis.given(
        strategies.ip_addresses().map(str) |
        strategies.from_regex(r'[0-9.]{1,16}', fullmatch=True) |
        strategies.lists(strategies.integers(0, 300), min_size=3,
                         max_size=5).map(lambda some: '.'.join(
                             map(str, some))))
    @hypothesis.example('0.0.0.0')
    @hypothesis.example('255.255.255.255')
    @hypothesis.example('01.2.3.4')
    @hypothesis.example('1.2.3.4\n')
    @hypothesis.example('1.2.3.\u0664')
    def test_as_the_library(self, text):
        expected = self.result(ipaddress.ip_address, text)
        self.assertEqual(expected, self.result(ip_text.address, text))
        self.assertEqual(
            'refused' if expected == 'refused' else expected[2],
            self.result(ip_text.canonical, text)
            if expected == 'refused' else ip_text.canonical(text))

    def test_what_is_no_text(self):
        for value in (1, b'abcd', None):
            self.assertRaises(ValueError, ip_text.address, value)
            self.assertRaises(ValueError, ip_text.canonical, value)


class ZoneTest(base.BaseTestCase):

    def refused(self, function, *args, kind=ValueError):
        self.assertRaises(kind, function, *args)

    @hypothesis.given(addresses)
    @hypothesis.example(ATTACK)
    def test_by_who_reads_texts(self, address):
        prefix = address + '/64'
        for function in (ip_text.address, ip_text.network, ip_text.interface):
            self.refused(function, address)
            self.refused(function, prefix)
        self.refused(forward_checks.parse_address, address)

    @hypothesis.given(addresses)
    @hypothesis.example(ATTACK)
    def test_of_the_databases(self, address):
        valid, problems = rows.networks(atoms.made(
            '1', name='lrp', networks=['2001:db8::1/64', address + '/64']))
        self.assertEqual(('2001:db8::1/64',), valid)
        self.assertEqual(1, len(problems))
        self.refused(of_routers.nat, atoms.made('1', external_ip=address),
                     lambda port: False)

    @hypothesis.given(addresses)
    @hypothesis.example(ATTACK)
    def test_by_the_root_side_of_nft(self, address):
        prefix = address + '/64'
        for name, element in (
                (ownership.NFT_NETWORKS, prefix),
                (ownership.NFT_PREFIXES, prefix),
                (ownership.NFT_SNAT, address),
                (ownership.NFT_TARGETS, ['tcp', address, 1, '2001:db8::1', 1]),
                (ownership.NFT_TARGETS,
                 ['tcp', '2001:db8::1', 1, address, 1])):
            self.refused(elements.written, 'ip6', name, element)
        for deletes, adds in (({}, {ownership.NFT_NETWORKS: [prefix]}),
                              ({ownership.NFT_SNAT: [address]}, {})):
            self.refused(transaction.change, 'ip6', deletes, adds)
        for vip, destination in ((address, '2001:db8::1'),
                                 ('2001:db8::1', address)):
            self.refused(values.unpack, ('ip6', 1, True, ((
                vip, False, False, ((
                    'tcp', 1, 1, False, ((destination, True),),
                    ((0, 1),)),)),)))

    @hypothesis.given(addresses)
    @hypothesis.example(ATTACK)
    def test_by_the_root_side_of_open_vswitch(self, address):
        for length in ('/64', '/128'):
            self.refused(spec.check_flow, flow(address + length))
        # Not through the wall, which would start the root side here.
        self.refused(overlap.begin.__wrapped__, [address], kind=OSError)

    @hypothesis.given(addresses)
    @hypothesis.example(ATTACK)
    def test_by_the_root_side_of_the_kernel_and_frr(self, address):
        self.refused(checks.address, address, kind=OSError)
        for check in (checks.interface, checks.prefix, checks.selector):
            self.refused(check, address + '/64', kind=OSError)
        self.refused(lines.check_network, address + '/64')
        self.refused(lines.static_route, address + '/128', 'veth-default')

    def test_one_costs_no_other_forward(self):
        """The file is refused with the line, before nft has seen it."""
        error = self.assertRaises(file_problems.BadFile, rules.parse, b"""\
port_forwards:
- vip: "2001:db8:1::5%eth0"
  rules:
  - {proto: tcp, port: 53, dest_addr: "2001:db8::1"}
- vip: "2001:db8:1::6"
  rules:
  - {proto: tcp, port: 53, dest_addr: "2001:db8::1"}
""", 'rules.yaml')
        self.assertEqual(1, len(error.messages), error.messages)
        self.assertIn('line 2', error.messages[0])
        self.assertIn('zone', error.messages[0])

    def test_numbers_and_bytes_are_no_texts(self):
        for bad in (5, b'\x0a\0\0\x01', None, ['10.0.0.1']):
            for function in (ip_text.address, ip_text.network,
                             ip_text.interface):
                self.refused(function, bad)


class OnePlaceTest(base.BaseTestCase):

    def test_nobody_else_makes_addresses_of_texts(self):
        found = set()
        for name, path in sources.modules():
            with open(path) as source:
                tree = ast.parse(source.read(), path)
            annotations = {
                part for node in ast.walk(tree) for annotation in (
                    getattr(node, 'annotation', None),
                    getattr(node, 'returns', None)) if annotation
                for part in ast.walk(annotation)}
            found |= {(name, node.attr)
                      for node in {*ast.walk(tree)} - annotations
                      if isinstance(node, ast.Attribute)
                      and node.attr in FACTORIES}
        # ip_text has the classes, too, in the names of its types.
        self.assertLessEqual({
            ('common.ip_text', 'ip_address'), ('common.ip_text', 'ip_network'),
            ('common.ip_text', 'ip_interface')}, found)
        self.assertEqual(set(), {one for one in found - OF_BYTES
                                 if one[0] != 'common.ip_text'})
