# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever happens, the view is as if it were built afresh."""

import fixtures
import hypothesis
from hypothesis import strategies

from ovn_network_agent import ownership
from ovn_network_agent.common import row_batches
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import histories
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import wanting

HERE = views.HERE


def _marks(tag):
    """external_ids of a managed route.

    :param tag: :class:`ownership.Owner`; a host name, of an earlier agent; ''
        for a route of somebody else
    """
    if isinstance(tag, ownership.Owner):
        return ownership.marks(tag)
    return tag and {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                    ownership.EXT_ID_CHASSIS: tag} or {}


def _parts(seen):
    """The routers of a view, and their addresses, by name; {} for None."""
    return seen and {
        **{router.uuid: router for router in seen.routers},
        **{(uuid,): known for uuid, known in seen.addresses.items()},
        **{(uuid, name): each for uuid, known in seen.addresses.items()
           for name, each in known.items()}} or {}


class IncrementalTest(histories.Further, base.OvsdbTestCase):
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

    def present(self, where):
        """The chassis, or None when it has gone: it claims nothing then."""
        return where if where and self.sb.rows(
            'Chassis', where=ovsdb.clauses({'name': where})) else None

    def _do_router(self, name, where, ha):
        if 'lrp-' + name not in self.cloud.ports:
            self.cloud.add_router(
                name, chassis=self.present(where),
                group='HA_Chassis_Group' if ha else 'Gateway_Chassis')

    def _do_port(self, name, where):
        if ('lrp-' + name in self.cloud.ports and
                f'lrp-{name}2' not in self.cloud.ports):
            self.cloud.add_port(name, name + '2', ['203.0.113.1/24'],
                                chassis=self.present(where))

    def _do_no_router(self, name):
        if 'lrp-' + name in self.cloud.ports:
            self._take_back(name)
            self.cloud.remove_balancers(name)
            self.cloud.remove_router(name)
            self.nb.transact(ovsdb.delete('HA_Chassis_Group', {
                'name': 'neutron-lrp-' + name}))
            lsp = self.cloud.ports.pop(f'lrp-{name}2', None)
            if lsp:
                self.sb.transact(*(
                    ovsdb.delete('Port_Binding', {'logical_port': port})
                    for port in (f'lrp-{name}2', f'cr-lrp-{name}2',
                                 lsp)))

    def _take_back(self, name):
        """What a router has given away goes with it."""
        for port in self._uuids('Logical_Router_Port', 'lrp-' + name):
            self.nb.transact(ovsdb.mutate('Logical_Router', {}, 'ports',
                                          'delete', port))
        for group in self._uuids('HA_Chassis_Group', 'neutron-lrp-' + name):
            self.nb.transact(ovsdb.mutate(
                'Logical_Router_Port', {}, 'ha_chassis_group', 'delete',
                group))

    def _do_move(self, name, where):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.move('lrp-' + name, self.present(where))

    def _do_nat(self, name, address):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_nat(name, address)

    def _do_no_nat(self, name, address):
        self.cloud.remove_nat(name, address)

    def _do_change_nat(self, old, new):
        self.cloud.change_nat(old, external_ip=new)

    def _do_snat(self, name, tenant):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_nat(name, '198.51.100.1', tenant, type='snat')

    def _do_no_snat(self, name, tenant):
        for row in self.nb.rows('NAT', '_uuid', where=ovsdb.clauses(
                {'logical_ip': tenant})):
            self.nb.transact(ovsdb.mutate(
                'Logical_Router', {'name': 'neutron-' + name}, 'nat',
                'delete', row['_uuid']))

    def _do_change_snat(self, old, new):
        self.nb.transact(ovsdb.update('NAT', {'logical_ip': old},
                                      logical_ip=new))

    def _do_translate(self, type):
        self.nb.transact(ovsdb.update('NAT', {'external_ip': '198.51.100.1'},
                                      type=type))

    def _do_balancer(self, name, address, group):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_balancer(name, address + ':22', group=group)

    def _do_no_balancer(self, name):
        self.cloud.remove_balancers(name)

    def _do_change_balancer(self, name, address):
        self.cloud.change_balancers(name, address + ':80')

    def _do_networks(self, name, number):
        last = number if number < 9 else 254
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': 'lrp-' + name},
            networks=ovsdb.ovsdb_set([f'198.51.100.{last:d}/24',
                                      'malformed'])))

    def _do_route(self, name, tag):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_static_route(name, external_ids=_marks(tag))

    def _do_retag(self, tag):
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            external_ids=ovsdb.ovsdb_dict(_marks(tag))))

    def _do_prefix(self, default):
        self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            ip_prefix='0.0.0.0/0' if default else '203.0.113.0/24'))

    def _do_no_routes(self, name):
        self.nb.transact(ovsdb.update(
            'Logical_Router', {'name': 'neutron-' + name},
            static_routes=ovsdb.ovsdb_set(())))

    def _do_priority(self, priority):
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.transact(ovsdb.update(table, {'chassis_name': HERE},
                                          priority=priority))

    def _do_apply(self, name, priorities):
        """A new order in SB."""
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.apply_order('lrp-' + name, {
                where: priority for where, priority in priorities.items()
                if self.present(where)})

    def _do_applied(self, priority):
        """Another priority in the same rows of SB."""
        self.sb.transact(ovsdb.update('HA_Chassis', {}, priority=priority))

    def _do_mark(self, why, earlier):
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.transact(ovsdb.update(
                table, {'chassis_name': cloud.OTHER},
                external_ids=ovsdb.ovsdb_dict({
                    ownership.EXT_ID_DRAINED: why,
                    ownership.EXT_ID_EARLIER: earlier})))

    def _do_encaps(self, tunnels):
        """The other chassis has these tunnels, if it is there."""
        unique = dict.fromkeys(tunnels)
        self.sb.transact(
            *(ovsdb.insert('Encap', f'encap{n}', type=type,
                           ip=f'192.0.2.{ip:d}', chassis_name=cloud.OTHER)
              for n, (type, ip) in enumerate(unique)),
            ovsdb.update('Chassis', {'name': cloud.OTHER},
                         encaps=ovsdb.ovsdb_set(
                             [['named-uuid', f'encap{n}']
                              for n, _each in enumerate(unique)])))

    def _do_other(self, there):
        """The other chassis comes or goes, and with it what it has."""
        present = self.sb.rows('Chassis', where=ovsdb.clauses(
            {'name': cloud.OTHER}))
        if there and not present:
            self.sb.transact(
                ovsdb.insert('Encap', 'encap', type='vxlan', ip='192.0.2.2',
                             chassis_name=cloud.OTHER),
                ovsdb.insert('Chassis', name=cloud.OTHER,
                             hostname=cloud.OTHER_HOSTNAME,
                             encaps=['named-uuid', 'encap']))
        elif present and not there:
            self.sb.transact(ovsdb.delete('Chassis', {'name': cloud.OTHER}))

    def _do_owner(self, name, other):
        """A port goes over to another router."""
        if not {'lrp-' + name, 'lrp-' + other} <= set(self.cloud.ports):
            return
        # It may be gone with a router that it went over to before.
        for port in self._uuids('Logical_Router_Port', 'lrp-' + name):
            self.nb.transact(
                ovsdb.mutate('Logical_Router', {'name': 'neutron-' + name},
                             'ports', 'delete', port),
                ovsdb.mutate('Logical_Router', {'name': 'neutron-' + other},
                             'ports', 'insert', port))

    def _do_share(self, name, other):
        """Two ports have one group."""
        if 'lrp-' + name not in self.cloud.ports:
            return
        for group in self._uuids('HA_Chassis_Group',
                                 'neutron-lrp-' + other):
            self.nb.transact(ovsdb.update(
                'Logical_Router_Port', {'name': 'lrp-' + name},
                ha_chassis_group=group))

    def _uuids(self, table, name):
        """The rows of that name, as JSON has them."""
        return [row['_uuid'] for row in self.nb.rows(
            table, '_uuid', where=ovsdb.clauses({'name': name}))]

    def _do_nat_addresses(self, name, address):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.set_nat_addresses(
                'lrp-' + name, f'fa:16:3e:00:00:01 {address}')

    def _do_localnet(self, there):
        self.sb.transact(ovsdb.delete('Port_Binding',
                                      {'type': 'localnet'}))
        if there:
            self.cloud._add_binding(
                self.cloud.network, 'provnet-1', 'localnet',
                options=ovsdb.ovsdb_map(network_name='physnet1'))

    def _do_hostname(self, name):
        self.sb.transact(ovsdb.update('Chassis', {'name': HERE},
                                      hostname=name))

    def _do_compare(self):
        """From now on, each look is also a part of a comparison."""
        self.pieces = row_batches.cut(self.look.view._builder.rows())

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
            'ovn_network_agent.common.row_batches.AT_MOST', 8))

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
