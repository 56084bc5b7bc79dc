# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses, ports and weights of rules that cannot be right."""

from ovn_network_agent.tests.unit.forward import documents


class AddressTest(documents.RulesTestCase):

    def vip_is(self, address):
        return f'''\
            port_forwards:
            - vip: {address}
              rules:
              - {{proto: udp, port: 53, dest_addr: 10.0.0.5}}
            '''

    def test_vips(self):
        """CFG-60, as far as IPv6 VIPs go: what is no address."""
        for text, why in (
                ('192.0.2', 'no IP address'), ('1.2', 'IP address'),
                ('192.0.2.053', 'no IP address'),
                ('192.0.2.53/32', 'without "/"'),
                ('dns.example.org', 'a name is not looked up'),
                ('224.0.0.1', 'multicast'), ('ff02::1', 'multicast'),
                ('0.0.0.0', 'not the address of a host'),
                ('"::"', 'not the address of a host'),
                ('255.255.255.255', 'not the address of a host'),
                ('0.1.2.3', 'not the address of a host'),
                ('127.0.0.1', 'loopback'), ('"::1"', 'loopback'),
                ('169.254.0.9', 'link-local'), ('fe80::1', 'link-local'),
                ('"::ffff:192.0.2.1"', 'write 192.0.2.1')):
            messages = self.bad(self.vip_is(text))
            self.assertIn('line 2: port_forwards[0].vip = ', messages[0])
            self.assertIn(text.strip('"'), messages[0])
            self.assertIn(why, messages[0])

    def test_backends(self):
        """CFG-68: what is no address, and families that differ."""
        for text, why in (
                ('10.0.0', 'no IP address'),
                ('127.0.0.1', 'nothing that came from outside'),
                ('224.0.0.1', 'multicast'), ('0.0.0.0', 'of a host'),
                ('fe80::1', 'cannot be given here'),
                ('fe80::1%eth0', 'cannot be given here'),
                ('2001:db8::1', 'its VIP is IPv4'),
                ('192.0.2.53', 'its own VIP')):
            self.says(self.rule('proto: tcp, port: 1, '
                                f'dest_addr: "{text}"'), 'line 5',
                      f'rules[0].dest_addr = "{text}"', why)
        self.says(self.rule('proto: tcp, port: 1, dest_addrs: [10.0.0.5, '
                            '{addr: "::1"}]'), 'dest_addrs[1].addr = "::1"',
                  'loopback')

    def test_a_backend_of_the_wrong_family(self):
        self.says('''\
            port_forwards:
            - vip: 2001:db8::53
              rules:
              - {proto: udp, port: 53, dest_addr: 10.0.0.5}
            ''', 'line 4', 'is IPv4 and its VIP is IPv6', 'same family')

    def test_a_vip_twice(self):
        """CFG-61, also in two spellings."""
        for second in ('2001:db8::53', '2001:DB8:0::53',
                       '2001:db8:0:0:0:0:0:53'):
            self.says(f'''\
                port_forwards:
                - vip: 2001:db8::53
                  rules: [{{proto: udp, port: 1, dest_addr: '2001:db8::5'}}]
                - vip: {second}
                  rules: [{{proto: udp, port: 2, dest_addr: '2001:db8::5'}}]
                ''', 'line 4', f'port_forwards[1].vip = "{second}"',
                'line 2', 'put all its rules there')

    def test_a_port_twice(self):
        """CFG-65."""
        self.says('''\
            port_forwards:
            - vip: 192.0.2.53
              rules:
              - {proto: tcp, port: 53, dest_addr: 10.0.0.5}
              - {proto: tcp, port: 53, dest_addr: 10.0.0.6}
            ''', 'line 5', 'rules[1].port = 53', 'line 4', 'dest_addrs')

    def test_one_way_to_name_backends(self):
        """CFG-66."""
        self.says(self.rule('proto: tcp, port: 1'), 'line 5', 'rules[0]',
                  'no destination')
        self.says(self.rule('proto: tcp, port: 1, dest_addr: 10.0.0.5, '
                            'dest_addrs: [10.0.0.6]'), 'line 5', 'both')
        self.says(self.rule('proto: tcp, port: 1, dest_addrs: []'),
                  'dest_addrs', 'is empty')

    def test_a_backend_twice(self):
        """CFG-68."""
        self.says(self.rule('proto: tcp, port: 1, dest_addrs: [10.0.0.5, '
                            '10.0.0.6, {addr: 10.0.0.5}]'),
                  'dest_addrs[2] = "10.0.0.5"', 'dest_addrs[0]', 'weight')

    def test_weights(self):
        def text(weight, others):
            return self.rule(
                'proto: tcp, port: 1, dest_addrs: '
                f'[{{addr: 10.0.0.5, weight: {weight}}}{others}]')

        found, = documents.vips(text(256, ', {addr: 10.0.0.6, weight: 0}'))
        self.assertEqual([256, 0],
                         [b.weight for b in found.rules[0].destinations])
        self.says(text(257, ', 10.0.0.6'), 'weight = 257', '0 to 256')
        self.says(text(-1, ', 10.0.0.6'), 'weight = -1', '0 to 256')
        self.says(text(0, ''), 'rules[0]', 'all its destinations have weight')

    def two(self, first, second):
        return f'''\
            port_forwards:
            - vip: 192.0.2.53
              rules:
              - {{proto: tcp, port: 53, dest_addr: 10.0.0.5, {first}}}
            - vip: 192.0.2.54
              masquerade: true
              rules:
              - {{proto: tcp, port: 80, dest_addr: 10.0.0.5, {second}}}
            '''

    def test_two_vips_before_one_backend(self):
        """CFG-71: masquerading is told by the backend."""
        self.says(self.two('dest_port: 99', 'dest_port: 99'), 'line 8',
                  'port_forwards[1].rules[0].dest_addr',
                  '10.0.0.5, tcp port 99, is masqueraded here', 'line 4',
                  'make them the same')
        for first, second in (
                ('dest_port: 99', 'dest_port: 98'),
                ('dest_port: 99', 'dest_port: 99, masquerade: false'),
                ('dest_port: 99, masquerade: true', 'dest_port: 99')):
            self.assertEqual(2, len(documents.vips(self.two(first, second))))

    def test_all_at_once(self):
        """One start shows everything, in the order of the file."""
        messages = self.bad('''\
            port_forwards:
            - vip: 192.0.2
              manage: true
              rules:
              - {proto: icmp, port: "53", dest_addr: 10.0.0}
              - {proto: tcp, port: 0}
            - vip: 192.0.2.1
              rules:
              - {proto: tcp, port: 1, dest_addrs: [{addr: "::1", weight: -1}]}
            ''')
        self.assertEqual(
            [2, 3, 5, 5, 5, 6, 6, 9, 9],
            [int(message.split()[1].strip(':')) for message in messages])
