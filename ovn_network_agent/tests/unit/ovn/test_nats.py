# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


import uuid

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.ovn import nats
from ovn_network_agent.tests import budget
from ovn_network_agent.tests import calls
from ovn_network_agent.tests.unit.ovn import atoms

ROUTERS = 'ab'
ROWS = [uuid.UUID(int=number) for number in range(6)]


def row(number, address):
    """A row of NAT; its address may be no address."""
    return atoms.made(ROWS[number], type='dnat_and_snat', external_ip=address,
                logical_ip='10.0.0.5')


class NatsTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(200), deadline=None,
                         database=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from(ROUTERS), strategies.integers(0, 5),
        strategies.sampled_from(['198.51.100.10', '198.51.100.11', 'bad',
                                 '', None]), strategies.booleans())))
    def test_it_equals_one_that_is_read_afresh(self, changes):
        """Rows come, change and go; a row may come after its reference."""
        kept, table = nats.Nats(), {}
        references = {router: [] for router in ROUTERS}
        for router, number, address, copied in changes:
            each = ROWS[number]
            if address is None:
                references[router] = [
                    other for other in references[router] if other != each]
            elif each not in references[router]:
                references[router] = [*references[router], each]
            if address is not None:
                kept.changed(each, ROUTERS)
                table.pop(each, None)
                if address:
                    table[each] = row(number, address)
            if copied:
                # Equal references need not be the same objects.
                references[router] = [uuid.UUID(int=other.int)
                                      for other in references[router]]
            for each in ROUTERS:
                found = kept.of_router(each, references[each], table)
                self.assertEqual(nats.Nats().of_router(
                    each, references[each], table)[:2], found[:2])

    def test_only_what_has_changed_is_read(self):
        many = [uuid.UUID(int=number) for number in range(1000)]
        table = {each: atoms.made(
            each, type='snat', external_ip='198.51.100.1',
            logical_ip=f'10.{number >> 8}.{number & 255}.0/24')
            for number, each in enumerate(many)}
        kept = nats.Nats()
        self.assertEqual(999, len(kept.of_router('a', many[1:], table)[0]))
        kept.changed(many[5], ['a'])
        with calls.made(nats.nat) as read:
            found = kept.of_router('a', many[:-1], table)
        self.assertEqual(999, len(found[0]))
        self.assertEqual({many[0], many[5]}, found[2])
        self.assertEqual([many[0], many[5]],
                         sorted(each['row'].uuid for each in read))

    def test_a_router_that_is_gone_is_forgotten(self):
        kept = nats.Nats()
        table = {ROWS[0]: row(0, '198.51.100.10')}
        kept.of_router('a', ROWS[:1], table)
        kept.drop('a')
        self.assertEqual({ROWS[0]}, kept.of_router('a', ROWS[:1], table)[2])
