# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.subjects import addresses
from ovn_network_agent.tests import budget
from ovn_network_agent.tests import calls
from ovn_network_agent.tests.unit.ovn import atoms

ROUTERS = 'ab'
NAT, ROUTER = ('nb', 'NAT'), ('nb', 'Logical_Router')


class Rows:
    """Tables of routers and NAT rows, whose changes are taken in."""

    def __init__(self):
        self.tables = {'NAT': {}, 'Logical_Router': {}}
        self.queries = queries.Queries(indexes.make())
        self.queries.replace({'nb': self.tables, 'sb': {}})
        self.addresses = addresses.Addresses(self.queries, inputs.Inputs())

    def set(self, place, uuid, row):
        """A row comes, changes or, with None, goes."""
        self.tables[place[1]].pop(uuid, None)
        if row is not None:
            self.tables[place[1]][uuid] = row
        self.addresses.note_change(
            place[1], uuid, self.queries.apply_change(place, uuid))

    def nat(self, uuid, address, **values):
        self.set(NAT, uuid, atoms.made(uuid, **{
            'type': 'dnat_and_snat', 'external_ip': address,
            'logical_ip': '10.0.0.5', **values}) if address else None)

    def router(self, uuid, references):
        self.set(ROUTER, uuid, atoms.made(uuid, name=uuid, nat=references))

    def found(self, router):
        """What is known of the NAT rows of a router."""
        self.addresses.read()
        of = self.addresses.of(router)
        return (of.facts(), {address: of.sources(address).nats
                             for address in of._by_address},
                self.queries.ask(addresses.tenants, self.queries, router))


class AddressesTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from(ROUTERS), strategies.sampled_from('uvwxyz'),
        strategies.sampled_from(['198.51.100.10', '198.51.100.11', 'bad',
                                 '', None]),
        strategies.sampled_from(['snat', 'dnat_and_snat']))))
    def test_it_equals_one_that_is_read_afresh(self, changes):
        """Rows come, change and go; a row may come after its reference."""
        kept = Rows()
        references = {router: [] for router in ROUTERS}
        for router in ROUTERS:
            kept.router(router, [])
        for router, each, address, kind in changes:
            before = references[router]
            if address is not None:
                kept.nat(each, address, type=kind, logical_ip='10.0.0.0/24')
                references[router] = [*dict.fromkeys((*before, each))]
            else:
                references[router] = [other for other in before
                                      if other != each]
            if references[router] != before:
                kept.router(router, references[router])
            fresh = Rows()
            for each in ROUTERS:
                fresh.router(each, references[each])
            for uuid, row in kept.tables['NAT'].items():
                fresh.set(NAT, uuid, row)
            for each in ROUTERS:
                self.assertEqual(fresh.found(each), kept.found(each))

    def test_only_what_has_changed_is_read(self):
        kept, many = Rows(), [f'{number:04d}' for number in range(1000)]
        for number, each in enumerate(many):
            kept.nat(each, '198.51.100.1', type='snat',
                     logical_ip=f'10.{number >> 8}.{number & 255}.0/24')
        kept.router('a', many[1:])
        self.assertEqual(999, len(kept.found('a')[2]))
        kept.router('a', many[:-1])
        kept.nat(many[5], '198.51.100.1', type='snat', logical_ip='10.9.9.9')
        with calls.made(addresses.nat) as read:
            facts, by_address, tenants = kept.found('a')
        self.assertEqual(999, len(facts.tenants))
        self.assertEqual(999, len(by_address['198.51.100.1']))
        self.assertIn('10.9.9.9/32', tenants)
        self.assertEqual([many[0], many[5]],
                         sorted(each['row'].uuid for each in read))

    def test_a_machine_that_keeps_its_address(self):
        """Its address is none outside, also without the marks of a row."""
        kept = Rows()
        kept.router('a', ['u'])
        for address, kind, external, tenants in (
                ('10.0.0.5', 'snat', [], set()),
                ('198.51.100.10', 'snat', ['198.51.100.10'], {'10.0.0.5/32'}),
                ('10.0.0.5', 'dnat_and_snat', ['10.0.0.5'], set())):
            kept.nat('u', address, type=kind)
            _facts, by_address, found = kept.found('a')
            self.assertEqual(external, list(by_address))
            self.assertEqual(tenants, found)

    def test_a_router_that_is_gone_is_forgotten(self):
        kept = Rows()
        kept.nat('u', '198.51.100.10')
        kept.router('a', ['u'])
        before = kept.addresses.of('a')
        kept.addresses.drop('a')
        self.assertIsNot(before, kept.addresses.of('a'))
        self.assertEqual(['198.51.100.10'], list(kept.found('a')[1]))
