# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Files of rules: values, or messages about them."""

import copy
import ipaddress
import json
import os

import fixtures
import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
from ovn_network_agent.forward import rules
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit.forward import documents

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *[os.pardir] * 4))
OPTION = '[port_forward] rules_file'


class ValuesTest(documents.RulesTestCase):

    def test_everything(self):
        found = documents.vips('''\
            port_forwards:
            - vip: 192.0.2.53
              manage_vip: true
              masquerade: true
              hairpin_masquerade: true
              router_masquerade: true
              rules:
              - proto: udp
                port: 53
                dest_addr: 10.0.0.5
                dest_port: 1053
                masquerade: false
              - proto: tcp
                port: 53
                dest_addrs: [10.0.0.5, {addr: 10.0.0.6, weight: 2}]
                health_check: {type: http, interval: 5, timeout: 0.5,
                  rise: 1, fall: 4, port: 8080, path: /up, host: dns.test,
                  expect: [200, "300-399"]}
            - vip: 2001:db8::53
              rules:
              - {proto: tcp, port: 80, dest_addr: 2001:DB8:0::5}
            ''')
        check = port_forwards.HealthCheck('http', 5.0, 0.5, 1, 4, 8080, '/up',
                                          'dns.test', ((200, 200), (300, 399)))
        self.assertEqual((
            port_forwards.Vip('192.0.2.53', True, True, True, (
                port_forwards.Rule('udp', 53, 1053, (
                    port_forwards.Destination('10.0.0.5'),), False),
                port_forwards.Rule('tcp', 53, 53, (
                    port_forwards.Destination('10.0.0.5'),
                    port_forwards.Destination('10.0.0.6', 2)), True, check))),
            port_forwards.Vip('2001:db8::53', rules=(
                port_forwards.Rule('tcp', 80, 80, (
                    port_forwards.Destination('2001:db8::5'),)),))), found)

    def test_nothing(self):
        """CFG-34: without an entry nothing is forwarded."""
        for text in ('', '# nothing yet\n', '{}', 'port_forwards:',
                     'port_forwards: []'):
            self.assertEqual((), documents.vips(text), text)

    def test_defaults(self):
        """CFG-70."""
        found, = documents.vips(self.vip('masquerade: false'))
        self.assertEqual((False, False, False), (
            found.managed, found.hairpin_masquerade, found.router_masquerade))

    def masqueraded(self, *lines):
        found, = documents.vips(self.vip(*lines))
        return found.rules[0].masquerade

    def test_masquerade_is_inherited(self):
        """CFG-69."""
        rule = 'proto: tcp, port: 1, dest_addr: 10.0.0.5'
        self.assertFalse(self.masqueraded('manage_vip: true', rule))
        self.assertTrue(self.masqueraded('masquerade: true', rule))
        self.assertFalse(self.masqueraded('masquerade: true',
                                          rule + ', masquerade: false'))
        self.assertTrue(self.masqueraded('masquerade: false',
                                         rule + ', masquerade: true'))

    def test_ports(self):
        """CFG-64: 0, or none, is the same as that of the rule."""
        for given, meant in (('', 53), (', dest_port: 0', 53),
                             (', dest_port: 65535', 65535)):
            found, = documents.vips(self.rule(
                'proto: udp, port: 53, dest_addr: 10.0.0.5' + given))
            self.assertEqual(meant, found.rules[0].dest_port)

    def test_most_backends(self):
        """CFG-67."""
        def text(addresses):
            return self.rule('proto: tcp, port: 1, '
                             f'dest_addrs: [{", ".join(addresses)}]')

        many = [f'10.0.{n // 250}.{n % 250 + 1}' for n in range(257)]
        found, = documents.vips(text(many[:256]))
        self.assertEqual(256, len(found.rules[0].destinations))
        self.says(text(many), 'line 5', 'dest_addrs = a list',
                  'has 257 items', '1 to 256')

    def test_the_check_of_a_vip_is_that_of_its_rules(self):
        def text(check):
            return self.vip('health_check: {type: tcp, interval: 0.5}',
                            f'proto: tcp, port: 1, dest_addr: 10.0.0.5{check}')

        found, = documents.vips(text(''))
        self.assertEqual(port_forwards.HealthCheck('tcp', 0.5, 0.5),
                         found.rules[0].check)
        found, = documents.vips(text(', health_check: null'))
        self.assertIsNone(found.rules[0].check)
        found, = documents.vips(text(', health_check: {type: http}'))
        self.assertEqual(port_forwards.HealthCheck('http'),
                         found.rules[0].check)

    def test_anchors_and_merges(self):
        first, second = documents.vips('''\
            port_forwards:
            - &dns
              vip: 192.0.2.53
              manage_vip: true
              rules: &rules
              - {proto: udp, port: 53, dest_addr: 10.0.0.5}
            - <<: *dns
              vip: 192.0.2.54
              manage_vip: false
            ''')
        self.assertEqual('192.0.2.54', second.address)
        self.assertFalse(second.managed)
        self.assertEqual(first.rules, second.rules)

    def test_an_address_is_no_number_of_base_60(self):
        found, = documents.vips('''\
            port_forwards:
            - vip: 2001:5:0:0:0:0:0:1
              rules:
              - {proto: udp, port: 53, dest_addr: '2001:db8::5'}
            ''')
        self.assertEqual('2001:5::1', found.address)

    def test_words_for_true(self):
        """The original took them, too."""
        for word in ('true', 'True', 'yes', 'on'):
            vip, = documents.vips(self.vip('manage_vip: ' + word))
            self.assertTrue(vip.managed)


class FileTest(documents.RulesTestCase):

    def test_what_cannot_be_read(self):
        for path, why in (('/nowhere/rules.yaml', 'No such file'),
                          ('/', 'directory')):
            error = self.assertRaises(file_problems.BadFile, reading.read,
                                      path, OPTION)
            self.assertIn(path, str(error))
            self.assertIn(why, str(error))
            self.assertIn('rules_file', str(error))

    def test_what_is_far_too_large(self):
        self.useFixture(fixtures.MockPatchObject(reading, '_LARGEST', 10))
        path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        with open(path, 'w') as opened:
            opened.write('#' * 11)
        error = self.assertRaises(file_problems.BadFile, reading.read, path,
                                  OPTION)
        self.assertIn('more than 10 bytes', str(error))


class SampleTest(base.BaseTestCase):

    def test_the_sample_can_be_used_as_it_is(self):
        path = os.path.join(ROOT, 'etc', 'ovn-network-agent',
                            'port-forwards.yaml.sample')
        found = rules.parse(reading.read(path, OPTION), path)
        self.assertEqual(['192.0.2.53', '192.0.2.80', '2001:db8:53::53'],
                         [vip.address for vip in found])
        self.assertEqual([3, 1, 0],
                         [b.weight for b in found[1].rules[0].destinations])


# All keys, and all of it right.
GOOD = {'port_forwards': [
    {'vip': '192.0.2.53', 'manage_vip': True, 'masquerade': True,
     'hairpin_masquerade': True, 'router_masquerade': False,
     'health_check': {'type': 'tcp', 'interval': 2, 'timeout': 1, 'port': 53},
     'rules': [
         {'proto': 'udp', 'port': 53, 'dest_addr': '10.0.0.5',
          'dest_port': 1053, 'masquerade': False},
         {'proto': 'tcp', 'port': 53, 'dest_addrs': [
             '10.0.0.5', {'addr': '10.0.0.6', 'weight': 2}],
          'health_check': {
              'type': 'http', 'rise': 1, 'fall': 2, 'path': '/up',
              'host': 'a.test', 'expect': [200, '300-399']}}]},
    {'vip': '2001:db8::53', 'rules': [
        {'proto': 'udp', 'port': 53, 'dest_addr': '2001:db8::5'}]}]}
REMOVED = object()
JUNK = strategies.one_of(
    strategies.just(REMOVED), strategies.none(), strategies.booleans(),
    strategies.integers(-2, 70000), strategies.integers(),
    strategies.floats(-5, 70000), strategies.sampled_from([1.0, 200.0, 53.0]),
    strategies.sampled_from([
        'tcp', 'udp', 'http', '192.0.2.53', '10.0.0.5', '2001:db8::5', '::',
        'fe80::1%eth0', '/x', '200-299', '299-200', '53', 'yes', 'x: y', '',
        [], {}, {'x': 1}, [[]], [None], {'addr': '10.0.0.7'}, [200.0]]),
    strategies.text(max_size=8))


def places(value):
    """Every (container, key) in a value."""
    for key in (list(value) if isinstance(value, dict) else
                range(len(value)) if isinstance(value, list) else ()):
        yield value, key
        yield from places(value[key])


def damaged(changes):
    """What is right, but for some changes (where, what)."""
    value = copy.deepcopy(GOOD)
    for number, junk in changes:
        found = list(places(value))
        if not found:
            break
        container, key = found[number % len(found)]
        if junk is REMOVED:
            del container[key]
        else:
            container[key] = copy.deepcopy(junk)
    return value


class AnyTest(documents.RulesTestCase):
    """Whatever is in a file: values, or what is wrong with it."""

    def look(self, text):
        try:
            found = documents.vips(text)
        except file_problems.BadFile as error:
            self.assertTrue(error.messages)
            for message in error.messages:
                self.assertTrue(message.startswith(documents.NAME + ', line '))
            return
        for vip in found:
            for rule in vip.rules:
                self.assertIs(int, type(rule.port))
                self.assertIs(int, type(rule.dest_port))
                self.assertTrue(rule.usable)
                self.assertEqual({vip.version}, {
                    ipaddress.ip_address(b.address).version
                    for b in rule.destinations})

    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.integers(0, 100), JUNK), max_size=4))
    @hypothesis.settings(max_examples=budget.examples(300),
                         deadline=None, database=None)
    @hypothesis.example([(29, [200.0]), (14, 53.0)])
    def test_any_value(self, changes):
        self.look(json.dumps(damaged(changes)))

    @hypothesis.given(strategies.text(
        alphabet='port_fwads: -[]{}&*<!\n"\'#,|>%@`~\t01', max_size=60))
    @hypothesis.settings(deadline=None, database=None)
    def test_any_text(self, text):
        self.look(text)
