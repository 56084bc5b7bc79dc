# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What zebra and bgpd made of an announcement."""

import json
import unittest

from ovn_network_agent.frr import effect
from ovn_network_agent.frr import output

A, B, C, D = (f'198.51.100.{n}/32' for n in range(1, 5))


def route(prefix, protocol='static', **values):
    return json.dumps({prefix: [{'protocol': protocol, 'selected': True,
                                 'installed': True, **values}]})


OURS = {'valid': True, 'sourced': True, 'bestpath': {'overall': True}}


def path(prefix, *neighbours, paths=(OURS,)):
    document = {'prefix': prefix, 'version': 3, 'paths': list(paths)}
    if neighbours:
        document['advertisedTo'] = {n: {'hostname': 'x'} for n in neighbours}
    return json.dumps(document)


def found(*documents):
    made = effect.Found({}, {})
    made.take('\n'.join(documents))
    return made


def around(connected=('169.254.0.0/30',),
           neighbours=(('10.0.0.2', 'Established'),)):
    return effect.Surroundings(list(connected), dict(neighbours))


class FoundTest(unittest.TestCase):

    def test_in_order_or_not_with_nothing_in_between(self):
        seen = found('{}', route(A), path(B, '10.0.0.3', '10.0.0.2'),
                     '{"warning":"View/Vrf is unknown"}', path(A), route(C))
        self.assertEqual({A: ['static'], C: ['static']}, seen.active)
        self.assertEqual({B: ['10.0.0.2', '10.0.0.3'], A: []}, seen.advertised)

    def test_what_is_not_in_effect_does_not_count(self):
        seen = found(route(A, selected=False), route(B, installed=False),
                     route('0.0.0.0/0', 'bgp'))
        self.assertEqual({'0.0.0.0/0': ['bgp']}, seen.active)

    def test_what_others_announce_does_not_count(self):
        # bgpd passes it on, also to where it has it from.
        learned = {'valid': True, 'bestpath': {'overall': True}}
        seen = found(path(A, '10.0.0.2', paths=[learned]),
                     path(B, '10.0.0.2', paths=[
                         learned, {'valid': True, 'sourced': True}]),
                     path(C, '10.0.0.2', paths=[{'valid': True}, OURS]))
        self.assertEqual({B: [], C: ['10.0.0.2']}, seen.advertised)

    def test_anything_else_is_unreadable(self):
        # Trap T40: text, or another shape, is no answer.
        for text in ('bgpd is not running', route(A) + 'x', '[]', '7',
                     '{"paths": []}', '{"1.2.3.4/32": [7]}'):
            with self.subTest(text), self.assertRaises(output.Unreadable):
                found(text)


class SurroundingsTest(unittest.TestCase):

    def test_read(self):
        read = effect.Surroundings(**effect.surroundings('\n'.join((
            json.dumps({'169.254.0.0/30': [
                {'protocol': 'connected', 'selected': True,
                 'installed': True}],
                '10.0.0.0/24': [{'protocol': 'connected'}]}),
            route('0.0.0.0/0', 'bgp'),
            json.dumps({'peers': {
                '10.0.0.2': {'state': 'Established'},
                '10.0.0.3': {'state': 'Active'}}}))), True))
        self.assertEqual(['169.254.0.0/30'], read.connected)
        self.assertEqual(['10.0.0.2'], read.established)
        self.assertTrue(read.reaches('169.254.0.1'))
        self.assertFalse(read.reaches('10.0.0.1'))

    def test_who_has_told_something(self):
        self.assertEqual(['10.0.0.2', '10.0.0.4'], effect.received(
            json.dumps({'peers': {
                '10.0.0.4': {'state': 'Established', 'pfxRcd': 1},
                '10.0.0.2': {'state': 'Established', 'pfxRcd': 700},
                '10.0.0.3': {'state': 'Established', 'pfxRcd': 0},
                '10.0.0.5': {'state': 'Active'}}})))
        self.assertEqual([], effect.received('{}'))
        with self.assertRaises(output.Unreadable):
            effect.received('[]')

    def test_the_sessions(self):
        self.assertEqual(
            [['10.0.0.2', 'ipv4', 'Established', 3600, 7, 2],
             ['eth1', 'ipv4', 'Active', None, None, 0]],
            effect.peers(json.dumps({'peers': {
                '10.0.0.2': {'state': 'Established', 'pfxRcd': 2,
                             'pfxSnt': 7, 'peerUptimeMsec': 3600999},
                'eth1': {'state': 'Active', 'pfxRcd': 0, 'pfxSnt': 'x',
                         'peerUptimeMsec': 0}}}), 'ipv4'))
        self.assertEqual([], effect.peers('{}', 'ipv6'))
        for text in ('[]', '{"peers": {"a": {}}}', '{"peers": [1]}'):
            with self.assertRaises(output.Unreadable):
                effect.peers(text, 'ipv4')

    def test_nothing_there(self):
        for bgp, neighbours in ((False, None), (True, {})):
            read = effect.Surroundings(**effect.surroundings(
                '{}{"0.0.0.0/0": []}{"warning": "View/Vrf is unknown"}', bgp))
            self.assertEqual(([], neighbours),
                             (read.connected, read.neighbours))


class ReasonsTest(unittest.TestCase):

    def problems(self, seen, bgp=True):
        return {prefix: kind for prefix in (A, B, C, D)
                if (kind := effect.problem(prefix, 'static', seen, bgp))}

    def test_each_kind(self):
        seen = found(route(A), route(B), route(C), route(D, 'connected'),
                     path(A, '10.0.0.2'), path(B), path(D, '10.0.0.2'))
        problems = self.problems(seen)
        self.assertEqual({B: effect.NOT_ADVERTISED, C: effect.NOT_IN_BGP,
                          D: effect.INACTIVE}, problems)
        inactive, missing, filtered = effect.reasons(
            problems, dict.fromkeys((A, B, C, D), 'static'), around(),
            'vrf-p', '169.254.0.1')
        self.assertIn(f'{D} is inactive', inactive)
        self.assertIn('better route', inactive)
        self.assertIn(f'{C} is not in the table of BGP in VRF vrf-p', missing)
        self.assertIn('redistribute static', missing)
        self.assertIn(f'{B} is in the table', filtered)
        self.assertIn('10.0.0.2', filtered)

    def test_bgp_was_not_asked(self):
        self.assertEqual({D: effect.INACTIVE}, self.problems(found(
            route(A), route(B), route(C)), bgp=False))

    def said(self, problems=(), wanted=(A,), surroundings=None,
             vrf='vrf-p', nexthop='169.254.0.1'):
        return effect.reasons(dict(problems), dict.fromkeys(
            wanted, 'static'), surroundings or around(), vrf, nexthop)

    def test_all_is_well(self):
        self.assertEqual((), self.said())

    def test_no_neighbour(self):
        for neighbours in ((), (('10.0.0.2', 'Active'),)):
            text, = self.said({A: effect.NOT_ADVERTISED},
                              surroundings=around(neighbours=neighbours))
            self.assertIn('no BGP neighbour', text)

    def test_a_missing_session_is_the_first_reason(self):
        first, second = self.said(
            {A: effect.NOT_IN_BGP}, surroundings=around(neighbours=()))
        self.assertIn('no BGP neighbour', first)
        self.assertIn('not in the table of BGP', second)

    def test_next_hop_that_zebra_does_not_know(self):
        text, = self.said({A: effect.INACTIVE},
                          surroundings=around(connected=()))
        self.assertIn('no connected network with 169.254.0.1', text)

    def test_many_are_not_all_named(self):
        many = {f'10.0.0.{n}/32': effect.INACTIVE for n in range(20)}
        text, = self.said(many, many)
        self.assertIn('and 15 more are inactive', text)
