# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever happens, the view is as if it were built afresh."""

import fixtures
import hypothesis
from hypothesis import strategies

from ovn_network_agent import ownership
from ovn_network_agent.ovn import queries
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import wanting
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import histories
from ovn_network_agent.tests.unit.ovn import history_steps

HERE = clouds.HERE


def _parts(seen):
    """The routers of a view, and their addresses, by name; {} for None."""
    return seen and {
        **{router.uuid: router for router in seen.routers},
        **{(uuid,): known for uuid, known in seen.addresses.items()},
        **{(uuid, name): each for uuid, known in seen.addresses.items()
           for name, each in known.items()}} or {}


class IncrementalTest(histories.Further, history_steps.Steps,
                      clouds.CloudTestCase):
    """Whatever happens, in any order: as if it were seen afresh."""

    names = ('a', 'b', 'c')

    def steps(self):
        """Strategy for one transaction, as (method, arguments)."""
        one, yes, number = (strategies.sampled_from, strategies.booleans(),
                            strategies.integers(0, 9))
        name = one(self.names)
        address = one([f'198.51.100.{n}' for n in range(10, 14)] +
                      ['198.51.100.254', 'bad'])
        tenant = one(['10.1.0.0/24', '10.2.0.0/24', 'fd00::/64'])
        where = one([HERE, HERE, cloud.OTHER, None])
        chassis = one([HERE, cloud.OTHER])
        tag = one([cloud.HOSTNAME, cloud.OTHER_HOSTNAME, ''])
        owner = tag | strategies.builds(ownership.Owner, tag, chassis)
        tunnels = strategies.lists(strategies.tuples(
            one(['geneve', 'vxlan', 'stt']), strategies.integers(2, 9)),
            min_size=1, max_size=3)
        return strategies.one_of(
            strategies.tuples(strategies.just(each), *arguments)
            for each, *arguments in (
                ('router', name, where, yes), ('port', name, where),
                ('no_router', name), ('move', name, where),
                ('nat', name, address), ('no_nat', name, address),
                ('change_nat', address, address), ('snat', name, tenant),
                ('no_snat', name, tenant), ('change_snat', tenant, tenant),
                ('translate', one(['snat', 'dnat_and_snat'])),
                ('balancer', name, address, yes), ('no_balancer', name),
                ('change_balancer', name, address),
                ('networks', name, strategies.integers(1, 9)),
                ('route', name, owner), ('retag', owner), ('prefix', yes),
                ('no_routes', name), ('priority', number),
                ('apply', name, strategies.dictionaries(chassis, number)),
                ('applied', number),
                ('mark', one(['shutdown', 'bad', '']), one(['7', '', '-1'])),
                ('encaps', tunnels), ('other', yes),
                *self.further_steps(name, address), ('owner', name, name),
                ('share', name, name), ('nat_addresses', name, address),
                ('localnet', yes), ('hostname', tag), ('compare',),
                ('look',), ('look',), ('look',)))

    def play(self, step):
        getattr(self, '_do_' + step[0])(*step[1:])

    def _do_compare(self):
        """From now on, each look is also a part of a comparison."""
        self.batches = queries.cut(self.look.view._builder.rows())

    def _do_look(self):
        batch = self.batches.pop(0) if self.batches else None
        before = _parts(self.look.view.last)
        seen = self.look.look(batch=batch)
        fresh = views.timeless(views.fresh(self.look))
        self.assertEqual(fresh, views.timeless(seen))
        # What is as it was is the same object.
        for name, part in _parts(seen).items():
            if part == before.get(name):
                self.assertIs(part, before[name])
        # So are the answers of the drivers, who remember former views.
        for one, other in zip(wanting.Wanted(self.drivers()).after(fresh),
                              self.wanted.after(seen), strict=True):
            self.assertEqual(one, other)

    def drivers(self):
        return [worlds.driver(name, self.look.view._conf)
                for name in ('fip_route', 'veth_leak')]

    def test_random_histories(self):
        self.look = self.eyes(further_bridges=['br-two'])
        self.wanted = wanting.Wanted(self.drivers())
        self.batches = []
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.BATCH_SIZE', 8))

        @hypothesis.settings(
            max_examples=budget.examples(60), deadline=None, database=None,
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(strategies.lists(self.steps(), min_size=5,
                                           max_size=25))
        # What goes has been given to, or is used by, another one.
        @hypothesis.example([('router', 'b', HERE, False),
                             ('port', 'a', HERE), ('owner', 'a', 'b'),
                             ('no_router', 'a'), ('look',),
                             ('router', 'a', HERE, False)])
        @hypothesis.example([('router', 'b', HERE, True),
                             ('share', 'a', 'b'), ('no_router', 'b')])
        @hypothesis.example([('other', False), ('move', 'a', cloud.OTHER)])
        # A router that gets its only port here, and one that loses it.
        @hypothesis.example([('router', 'b', cloud.OTHER, False), ('look',),
                             ('owner', 'a', 'b')])
        # The user of a virtual gateway loses its port on the network.
        @hypothesis.example([('router', 'b', HERE, False),
                             ('router', 'c', HERE, False),
                             ('nat', 'b', '198.51.100.254'), ('look',),
                             ('owner', 'b', 'c')])
        # A row changes after another change has made all routers anew.
        @hypothesis.example([('mappings', ''), ('look',), ('change_nat',
                              '198.51.100.10', '198.51.100.11')])
        # Rows change and go while a comparison looks at them again.
        @hypothesis.example([('nat', 'a', '198.51.100.11'), ('look',),
                             ('compare',), ('look',),
                             ('no_nat', 'a', '198.51.100.10'),
                             ('router', 'b', HERE, True), ('look',),
                             ('nat', 'b', '198.51.100.12'), ('look',),
                             ('no_router', 'a'), ('look',), ('look',)])
        @hypothesis.example([('snat', 'a', '10.1.0.0/24'), ('look',),
                             ('change_snat', '10.1.0.0/24', '10.2.0.0/24'),
                             ('look',), ('translate', 'dnat_and_snat'),
                             ('look',), ('translate', 'snat'), ('look',),
                             ('no_snat', 'a', '10.2.0.0/24')])
        def play(steps):
            # The database begins anew, the view goes on with what it has
            # seen.
            self.batches = []
            self.begin_anew()
            for step in [*(('no_router', name) for name in self.names),
                         ('localnet', True), ('hostname', cloud.HOSTNAME),
                         ('other', True), ('encaps', [('geneve', 2)]),
                         ('router', 'a', HERE, False),
                         ('nat', 'a', '198.51.100.10'),
                         ('route', 'a', cloud.HOSTNAME), ('look',),
                         *steps, ('look',)]:
                self.play(step)

        play()
