# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What values the option types take, and what they say of others."""

from hypothesis import given
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.conf import types


class TypesTest(base.BaseTestCase):

    def accepts(self, type_, table):
        for value, expected in table.items():
            self.assertEqual(expected, type_(value), value)

    def rejects(self, type_, values):
        for value in values:
            error = self.assertRaises(ValueError, type_, value)
            # The operator has to see what was rejected.
            self.assertIn(repr(str(value))[1:-1].strip(), str(error))

    def test_names(self):
        self.accepts(types.Name(), {'ANNOUNCED-NETWORKS': 'ANNOUNCED-NETWORKS',
                                    ' a_b.c ': 'a_b.c'})
        self.rejects(types.Name(), ['a b', 'a;b', 'a\nexit', 'ä', "a'b", ''])
        self.assertEqual('', types.Name(empty=True)(' '))

    def test_interface_names(self):
        self.accepts(types.InterfaceName(), {
            'br-ex': 'br-ex', 'bond0.100': 'bond0.100', 'a' * 15: 'a' * 15})
        self.rejects(types.InterfaceName(), ['a' * 16, 'br/ex', '.', '..',
                                             'all', 'default', ''])

    def test_commands(self):
        self.accepts(types.Command(), {
            ' sudo -n ': 'sudo -n', "env A='b c'": "env A='b c'"})
        for value, said in (('sudo "', 'close its quotation marks'),
                            (' ', 'name a program')):
            error = self.assertRaises(ValueError, types.Command(), value)
            self.assertIn(said, str(error))

    def test_socket_paths(self):
        longest = '/' + 'a' * 106
        self.accepts(types.SocketPath(), {
            ' /run/a/b.ctl ': '/run/a/b.ctl', '': '', longest: longest})
        self.rejects(types.SocketPath(), ['run/a.ctl', '/run/', longest + 'a',
                                          '/' + 'ä' * 54])

    def test_listen_addresses(self):
        self.accepts(types.ListenAddress(), {
            '': '', ' 127.0.0.1:9132 ': '127.0.0.1:9132',
            '9132': '127.0.0.1:9132', '0.0.0.0:1': '0.0.0.0:1',
            '[::1]:65535': '[::1]:65535', '[::]:09132': '[::]:9132',
            '[2001:DB8::1]:9132': '[2001:db8::1]:9132'})
        self.rejects(types.ListenAddress(), [
            'localhost:9132', ':9132', '127.0.0.1', '127.0.0.1:0',
            '127.0.0.1:65536', '127.0.0.1:x', '::1:9132', '[127.0.0.1]:9132',
            '224.0.0.1:9132', '[ff02::1]:9132', '[fe80::1%eth0]:9132',
            '127.0.0.1:\u0669', 'http://127.0.0.1:9132', '-1', '[]:9132'])

    def test_addresses(self):
        self.accepts(types.IPv4Address(), {' 169.254.0.1': '169.254.0.1'})
        self.rejects(types.IPv4Address(),
                     ['169.254.0.1/30', '::1', 'host', '0.0.0.0',
                      '224.0.0.1', '1.2.3', '', '1.2.3.04'])
        self.assertEqual('', types.IPv4Address(empty=True)(''))

    def test_ipv6_addresses(self):
        self.accepts(types.IPv6Host(), {'2001:DB8:0::1': '2001:db8::1'})
        self.rejects(types.IPv6Host(), [
            '192.0.2.1', '2001:db8::/64', 'fe80::1', 'ff02::1', '::', '::1',
            '2001:db8::1%eth0', ''])

    def test_networks(self):
        self.accepts(types.IPNetwork(), {
            '198.51.100.0/24': '198.51.100.0/24',
            '198.51.100.7/24': '198.51.100.0/24',
            '2001:DB8:0::7/64': '2001:db8::/64', '0.0.0.0/0': '0.0.0.0/0'})
        self.rejects(types.IPNetwork(), ['198.51.100.0', '10.0.0.0/33',
                                         'fe80::%eth0/64', 'net', ''])

    def test_remotes(self):
        self.accepts(types.OvsdbRemote(), {
            'tcp:192.0.2.1:6641': 'tcp:192.0.2.1:6641',
            ' SSL:host.example:6641 ': 'ssl:host.example:6641',
            'tcp:[2001:db8::1]:6642': 'tcp:[2001:db8::1]:6642',
            'ssl:[fe80::1%eth0]:6642': 'ssl:[fe80::1%eth0]:6642',
            'unix:/run/ovn/ovnnb_db.sock': 'unix:/run/ovn/ovnnb_db.sock'})
        self.rejects(types.OvsdbRemote(), [
            '192.0.2.1:6641', 'http:192.0.2.1:80', 'tcp:192.0.2.1',
            'tcp:192.0.2.1:0', 'tcp:192.0.2.1:65536', 'tcp::6641',
            'tcp:2001:db8::1:6641', 'tcp:[192.0.2.1]:6641', 'unix:run.sock',
            'tcp:a b:1', 'tcp:[fe80::1%]:1', 'tcp:[fe80::1%a b]:1', ''])

    def test_uuids(self):
        text = '1111AAAA-2222-4333-8444-555555555555'
        self.accepts(types.Uuid(), {f' {text} ': text.lower()})
        self.rejects(types.Uuid(), ['', 'shared-v4', text[1:], text + '0',
                                    text.replace('-', '')])

    def test_lists_name_the_part_that_is_wrong(self):
        remotes = types.CommaList(types.OvsdbRemote())
        self.accepts(remotes, {
            ' tcp:a:1 , tcp:b:2,, ': ['tcp:a:1', 'tcp:b:2'],
            '': [], ' , ': []})
        self.assertEqual(['tcp:a:1'], remotes(['TCP:a:1']))
        error = self.assertRaises(ValueError, remotes, 'tcp:a:1,bogus,tcp:b:2')
        self.assertTrue(str(error).startswith("'bogus' is not"), error)

    def test_whole_numbers(self):
        self.accepts(types.Integer(1, 5), {' 5 ': 5, 1: 1})
        self.rejects(types.Integer(1, 5), ['60s', '0', '6', '1.5', '', -1])

    def test_seconds(self):
        self.accepts(types.Seconds(max=60), {'0.05': 0.05, 0: 0.0, '60': 60})
        self.rejects(types.Seconds(max=60), ['50ms', 'nan', 'inf', '-1',
                                             '60.1', ''])

    @given(strategies.text(max_size=40))
    def test_no_text_gets_past_a_name(self, text):
        # These end up in the input of vtysh and ovs-ofctl.
        try:
            value = types.InterfaceName()(text)
        except ValueError:
            return
        self.assertRegex(value, r'\A[A-Za-z0-9_.-]{1,15}\Z')
