# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever happens, the view is as if it were built afresh."""

import fixtures
import hypothesis
from hypothesis import strategies

from ovn_network_agent import ownership
from ovn_network_agent.ovn import queries
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import histories
from ovn_network_agent.tests.functional.ovn import history_steps
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import wanting

HERE = views.HERE


def _parts(seen):
    """The routers of a view, and their addresses, by name; {} for None."""
    return seen and {
        **{router.uuid: router for router in seen.routers},
        **{(uuid,): known for uuid, known in seen.addresses.items()},
        **{(uuid, name): each for uuid, known in seen.addresses.items()
           for name, each in known.items()}} or {}


class IncrementalTest(histories.Further, history_steps.Steps,
                      base.OvsdbTestCase):
    """Whatever happens, in any order: as if it were seen afresh."""

    names = ('a', 'b', 'c')

    def steps(self):
        """Strategy for one transaction, as (method, arguments)."""
        name = strategies.sampled_from(self.names)
        address = strategies.sampled_from(
            [f'198.51.100.{n}' for n in range(10, 14)] +
            ['198.51.100.254', 'bad'])
        tenant = strategies.sampled_from(['10.1.0.0/24', '10.2.0.0/24',
                                          'fd00::/64'])
        where = strategies.sampled_from([HERE, HERE, cloud.OTHER, None])
        tag = strategies.sampled_from([cloud.HOSTNAME, cloud.OTHER_HOSTNAME,
                                       ''])
        owner = strategies.builds(
            ownership.Owner, tag, strategies.sampled_from([HERE, cloud.OTHER]))
        return strategies.one_of(
            strategies.tuples(strategies.just('router'), name, where,
                              strategies.booleans()),
            strategies.tuples(strategies.just('port'), name, where),
            strategies.tuples(strategies.just('no_router'), name),
            strategies.tuples(strategies.just('move'), name, where),
            strategies.tuples(strategies.just('nat'), name, address),
            strategies.tuples(strategies.just('no_nat'), name, address),
            strategies.tuples(strategies.just('change_nat'), address,
                              address),
            strategies.tuples(strategies.just('snat'), name, tenant),
            strategies.tuples(strategies.just('no_snat'), name, tenant),
            strategies.tuples(strategies.just('change_snat'), tenant,
                              tenant),
            strategies.tuples(strategies.just('translate'), strategies.
                              sampled_from(['snat', 'dnat_and_snat'])),
            strategies.tuples(strategies.just('balancer'), name, address,
                              strategies.booleans()),
            strategies.tuples(strategies.just('no_balancer'), name),
            strategies.tuples(strategies.just('change_balancer'), name,
                              address),
            strategies.tuples(strategies.just('networks'), name,
                              strategies.integers(1, 9)),
            strategies.tuples(strategies.just('route'), name, tag | owner),
            strategies.tuples(strategies.just('retag'), tag | owner),
            strategies.tuples(strategies.just('prefix'),
                              strategies.booleans()),
            strategies.tuples(strategies.just('no_routes'), name),
            strategies.tuples(strategies.just('priority'),
                              strategies.integers(0, 9)),
            strategies.tuples(
                strategies.just('apply'), name, strategies.dictionaries(
                    strategies.sampled_from([HERE, cloud.OTHER]),
                    strategies.integers(0, 9))),
            strategies.tuples(strategies.just('applied'),
                              strategies.integers(0, 9)),
            strategies.tuples(strategies.just('mark'), strategies.
                              sampled_from(['shutdown', 'bad', '']),
                              strategies.sampled_from(['7', '', '-1'])),
            strategies.tuples(strategies.just('encaps'), strategies.lists(
                strategies.tuples(strategies.sampled_from(
                    ['geneve', 'vxlan', 'stt']), strategies.integers(2, 9)),
                min_size=1, max_size=3)),
            strategies.tuples(strategies.just('other'),
                              strategies.booleans()),
            *self.further_steps(name, address),
            strategies.tuples(strategies.just('owner'), name, name),
            strategies.tuples(strategies.just('share'), name, name),
            strategies.tuples(strategies.just('nat_addresses'), name,
                              address),
            strategies.tuples(strategies.just('localnet'),
                              strategies.booleans()),
            strategies.tuples(strategies.just('hostname'), tag),
            strategies.tuples(strategies.just('compare')),
            strategies.tuples(strategies.just('look')),
            strategies.tuples(strategies.just('look')),
            strategies.tuples(strategies.just('look')))

    def play(self, step):
        getattr(self, '_do_' + step[0])(*step[1:])

    def _do_compare(self):
        """From now on, each look is also a part of a comparison."""
        self.pieces = queries.cut(self.look.view._builder.rows())

    def _do_look(self):
        self.synchronise(self.look)
        piece = self.pieces.pop(0) if self.pieces else None
        before = _parts(self.look.view.last)
        seen = self.look.look(piece=piece)
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
        self.pieces = []
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.ROWS_OF_PIECE', 8))

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
            self.pieces = []
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
