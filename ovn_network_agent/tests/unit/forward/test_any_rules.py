# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever is in a file: values, or messages about it."""

import copy
import ipaddress
import json

import hypothesis
from hypothesis import strategies

from ovn_network_agent.files import file_problems
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit.forward import documents

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

    def test_what_is_right(self):
        self.assertEqual(2, len(documents.vips(json.dumps(GOOD))))

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
