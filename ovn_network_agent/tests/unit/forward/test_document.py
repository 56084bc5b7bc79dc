# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is no usable YAML, or has another shape than rules."""

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
        self.says(self.vip('manage_vip: 1'), 'manage_vip = 1',
                  'true or false')

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
                ('expect: ["299-200"]', ('expect[0] = "299-200"',
                                         '200-299')),
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
