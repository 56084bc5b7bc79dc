# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which place gets which egress address."""

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.ovn.egress import egress as assignment
from ovn_network_agent.ovn.egress import egress_rows
from ovn_network_agent.tests import budget

ADDRESSES = [f'192.0.2.{number}' for number in range(1, 6)]
_SETS = strategies.frozensets(strategies.sampled_from(ADDRESSES))
SPOTS = strategies.lists(strategies.builds(
    assignment.Spot, strategies.sampled_from('abcdef'), _SETS, _SETS, _SETS,
    strategies.integers(0, 3), strategies.booleans()),
    unique_by=lambda spot: spot.key)
OF_OBJECT = strategies.lists(strategies.sampled_from(ADDRESSES), unique=True)


def spot(key, valid=ADDRESSES, **values):
    return assignment.Spot(key, frozenset(valid), **{
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in values.items()})


class AssignmentTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(300), deadline=None)
    @hypothesis.given(SPOTS, OF_OBJECT)
    def test_properties(self, spots, addresses):
        made = assignment.assign(spots, addresses)
        by_key = {each.key: each for each in spots}
        # No address is at two places, or where it is not valid.
        self.assertEqual(len(made), len(set(made.values())))
        for key, address in made.items():
            self.assertIn(address, addresses)
            self.assertIn(address, by_key[key].valid)
            self.assertTrue(by_key[key].accepts or
                            address in by_key[key].present)
        # A place is without one only if none is left for it.
        for each in spots:
            if each.key not in made and each.accepts:
                self.assertFalse(each.valid & {*addresses} - {*made.values()})
        # The order in which rows were read does not count.
        self.assertEqual(made, assignment.assign(spots[::-1], addresses))
        # What is there and valid never moves, whoever comes and goes.
        there = [spot(each.key, each.valid, present=[made[each.key]]
                      if each.key in made else [], load=each.load,
                      accepts=each.accepts) for each in spots]
        self.assertEqual(made, assignment.assign(there, addresses))
        for left in range(len(there)):
            some = [each for number, each in enumerate(there)
                    if number != left]
            found = assignment.assign(some, addresses[::-1])
            for each in some:
                if each.key in made:
                    self.assertEqual(made[each.key], found[each.key])

    def test_the_order(self):
        one, two, three = ADDRESSES[:3]
        for spots, wanted in (
                ([spot('b'), spot('a')], {'a': one, 'b': two}),
                # Fewest first.
                ([spot('a', load=2), spot('b', load=1), spot('c', load=1)],
                 {'b': one, 'c': two}),
                ([spot('a', load=2), spot('b', load=1)], {'b': one, 'a': two}),
                # What is there comes before all.
                ([spot('a'), spot('b', load=9, present=[one])],
                 {'b': one, 'a': two}),
                # Then what moves with a gateway.
                ([spot('a'), spot('b', load=9, of_routers=[one])],
                 {'b': one, 'a': two}),
                ([spot('a', present=[one]), spot('b', of_routers=[one])],
                 {'a': one, 'b': two}),
                # Two writers at once have written.
                ([spot('a', present=[two, one])], {'a': one}),
                ([spot('a', present=[one]), spot('b', present=[one])],
                 {'a': one, 'b': two}),
                # It is no address of the object any more, or not valid.
                ([spot('a', present=[three])], {'a': one}),
                ([spot('a', [two], present=[one])], {'a': two}),
                ([spot('a', [], present=[one])], {}),
                # In doubt: what is there stays, and nothing comes.
                ([spot('a', accepts=False, present=[two])], {'a': two}),
                ([spot('a', accepts=False, of_routers=[one])], {})):
            self.assertEqual(wanted, assignment.assign(spots, [one, two]),
                             spots)


E, E2 = '198.51.100.50', '198.51.100.51'


def rows(*nats, name='a', router='r1'):
    return resources.EgressRows(name, router, tuple(nats))


def host(address, chassis, machine='10.0.0.5'):
    return resources.EgressNat(machine, machine, address=address,
                               chassis=chassis)


def nat(address, port='', machine='10.0.0.5'):
    return resources.EgressNat(machine, address, port)


class MovesTest(base.BaseTestCase):

    def test_moves(self):
        for number, before, after in (
                (1, [rows(host(E, 'c1'))], [rows(host(E, 'c2'))]),
                # One for all machines.
                (1, [rows(host(E, 'c1'), host(E, 'c1', '10.0.0.6'))],
                 [rows(host(E, 'c2'), host(E, 'c2', '10.0.0.6'))]),
                (2, [rows(host(E, 'c1')), rows(host(E2, 'c2'), router='r2')],
                 [rows(host(E, 'c2')), rows(host(E2, 'c1'), router='r2')]),
                # Between routers, and between gateway ports.
                (1, [rows(nat(E))], [rows(nat(E), router='r2')]),
                (1, [rows(nat(E, 'lrp-1'))], [rows(nat(E, 'lrp-2'))]),
                # A machine more, a router more on the same node.
                (0, [rows(nat(E))],
                 [rows(nat(E), nat(E, machine='10.0.0.6'))]),
                (0, [rows(host(E, 'c1'))],
                 [rows(host(E, 'c1')), rows(host(E, 'c1'), router='r2')]),
                # New, gone, another address, another object.
                (0, [], [rows(nat(E))]), (0, [rows(nat(E))], []),
                (0, [rows(nat(E))], [rows(nat(E2))]),
                (0, [rows(nat(E))], [rows(nat(E), name='b', router='r2')])):
            self.assertEqual(number, egress_rows.moves(before, after),
                             (before, after))
