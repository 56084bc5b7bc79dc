# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is no usable YAML, has another shape than rules, or cannot be right."""

from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.tests.unit.forward import documents


class ShapeTest(documents.RulesTestCase):

    def test_a_typing_error_is_not_passed_over(self):
        self.says(self.vip('mange_vip: true'), 'line 3',
                  'port_forwards[0].mange_vip: this key is not known',
                  'did you mean "manage_vip"?')
        self.says(self.rule('proto: tcp, port: 1, dest_addr: 10.0.0.5, '
                            'foo: 1'), 'rules[0].foo', 'known are dest_addr,')

    def test_the_file_of_the_original(self):
        self.says('ovn_nb_remote: tcp:192.0.2.1:6641\nport_forwards: []\n',
                  'line 1', 'ovn_nb_remote', 'one key "port_forwards"',
                  'configuration of the agent')

    def test_a_key_twice_whose_first_value_is_of_another_type(self):
        """The schema leaves such a key out, and nothing may use its value."""
        for key, value in (('port', '"9 0"'), ('dest_port', 'x'),
                           ('proto', '[]'), ('dest_addr', '{}')):
            messages = self.bad(self.rule(
                f'{key}: {value}, {key}: {value}, ' + ', '.join(
                    f'{k}: {v}' for k, v in (
                        ('proto', 'tcp'), ('port', 53),
                        ('dest_addr', '10.0.0.5')) if k != key)))
            self.assertTrue(any('twice' in text for text in messages),
                            messages)

    def test_a_key_twice(self):
        self.says(self.vip('vip: 192.0.2.54'), 'line 3',
                  'port_forwards[0].vip', 'twice', 'line 2')

    def test_protocols(self):
        """CFG-63."""
        self.says(self.rule('proto: icmp, port: 1, dest_addr: 10.0.0.5'),
                  'line 5', 'rules[0].proto = "icmp"', 'tcp or udp')

    def test_ports(self):
        """CFG-64."""
        for value, shown, why in (
                ('0', '0', '1 to 65535'), ('65536', '65536', '1 to 65535'),
                ('-1', '-1', '1 to 65535'), ('1.5', '1.5', '1 to 65535'),
                ('"53"', '"53"', 'remove the quotes'),
                ('0o53', '"0o53"', 'no decimal number'),
                ('053', '"053"', 'no decimal number'),
                ('0x35', '"0x35"', 'no decimal number'),
                ('1:30', '"1:30"', 'no decimal number'),
                ('true', 'true', '1 to 65535'), ('', 'null', 'is empty')):
            self.says(f'''\
                port_forwards:
                - vip: 192.0.2.53
                  rules:
                  - proto: tcp
                    port: {value}
                    dest_addr: 10.0.0.5
                ''', 'line 5',
                f'port_forwards[0].rules[0].port = {shown}', why)
        self.says(self.rule('proto: tcp, port: 1, dest_addr: 10.0.0.5, '
                            'dest_port: 65536'), 'dest_port = 65536')

    def test_switches(self):
        self.says(self.vip('manage_vip: "yes"'), 'manage_vip = "yes"',
                  'true or false', 'remove the quotes')
        self.says(self.vip('manage_vip: 1'), 'manage_vip = 1', 'true or false')

    def test_what_is_missing(self):
        self.says('port_forwards: [{rules: [{proto: tcp, port: 1, '
                  'dest_addr: 10.0.0.5}]}]', 'port_forwards[0].vip',
                  'missing')
        self.says(self.rule('port: 1, dest_addr: 10.0.0.5'),
                  'rules[0].proto', 'missing', 'tcp or udp')

    def test_a_vip_without_rules(self):
        """CFG-62."""
        for rest in ('', '\n  rules:', '\n  rules: []'):
            self.says('port_forwards:\n- vip: 192.0.2.53' + rest,
                      'port_forwards[0].rules', 'list of one or more rules')

    def test_other_shapes(self):
        for text, parts in (
                ('- 1', ('line 1', 'mapping with the one key')),
                ('port_forwards: 1', ('port_forwards = 1', 'list of VIPs')),
                ('port_forwards: [1]', ('port_forwards[0] = 1', '"rules"')),
                ('port_forwards: [null]', ('[0] = null', 'is empty')),
                ('port_forwards: {vip: 192.0.2.53}',
                 ('port_forwards = a mapping', 'list of VIPs'))):
            self.says(text, *parts)

    def test_health_checks(self):
        def text(kind, value):
            return self.rule('proto: tcp, port: 1, dest_addr: 10.0.0.5, '
                             f'health_check: {{type: {kind}, {value}}}')

        for value, parts in (
                ('interval: 0', ('interval = 0', '0.1 to 3600')),
                ('interval: 1, timeout: 2', ('timeout = 2', 'interval (1)')),
                ('rise: 0', ('rise = 0', '1 to 100')),
                ('fall: 101', ('fall = 101', '1 to 100')),
                ('port: 70000', ('port = 70000',)),
                ('path: up', ('path = "up"', 'begins with "/"')),
                ('path: "/a b"', ('path = "/a b"', '%20')),
                ('host: "a\\r\\nb"', ('host = ',)),
                ('expect: []', ('expect = a list', 'one or more')),
                ('expect: [99]', ('expect[0] = 99', '200')),
                ('expect: ["2xx"]', ('expect[0] = "2xx"', '200-299')),
                ('expect: ["299-200"]', ('expect[0] = "299-200"', '200-299')),
                ('intervall: 1', ('intervall', '"interval"'))):
            self.says(text('http', value), 'health_check.', *parts)
        self.says(text('ping', 'rise: 1'),
                  'health_check.type = "ping"', 'tcp or http')
        self.says(text('tcp', 'path: /up'),
                  'health_check.path = "/up"', 'of type http')

    def test_a_check_of_udp_needs_a_port(self):
        def text(port):
            return self.rule('proto: udp, port: 53, dest_addr: 10.0.0.5, '
                             f'health_check: {{type: tcp{port}}}')

        self.says(text(''), 'rules[0]', 'TCP port', 'health_check: null')
        self.assertEqual(
            53, documents.vips(text(', port: 53'))[0].rules[0].check.port)


class YamlTest(documents.RulesTestCase):

    def test_what_is_no_yaml(self):
        self.says('port_forwards:\n- vip: [1\n- b', 'line 4', 'no YAML')
        self.says('a: 1\nb: \x01\n', 'line 2', 'no YAML')
        self.says('port_forwards: []\n---\nport_forwards: []\n', 'line 2',
                  'another document')
        error = self.assertRaises(
            file_problems.BadFile, rules.parse, b'# caf\xc3\xa9\n# caf\xe9\n',
            documents.NAME)
        self.assertIn('line 2', str(error))
        self.assertIn('UTF-8', str(error))

    def test_nothing_is_made_from_a_tag(self):
        self.says(self.vip('masquerade: !!python/object/apply:os.getcwd []'),
                  'line 3', 'port_forwards[0].masquerade',
                  '!!python/object/apply:os.getcwd has no meaning here')

    def test_aliases_without_end(self):
        self.assertIn('without end', self.bad(
            'port_forwards: &all\n- *all\n')[0])
        self.assertIn('into itself', self.bad('&all\n<<: *all\n')[0])
        levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
        for n in range(1, 9):
            lower = ', '.join([f'*a{n - 1}'] * 10)
            levels.append(f'a{n}: &a{n} [{lower}]')
        self.assertIn('without end', ''.join(self.bad('\n'.join(levels))))

    def test_a_merge_of_nothing(self):
        self.says(self.vip('<<: 5'), 'line 3', 'takes a mapping')

    def test_nested_too_deeply(self):
        self.assertTrue(self.bad('[' * 5000 + ']' * 5000))


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
