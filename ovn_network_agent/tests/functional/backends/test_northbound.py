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

"""Backend northbound on a real database."""

import contextlib
import dataclasses
import json
import subprocess
import threading
import time
import uuid

from ovsdbapp.backend.ovs_idl import event

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import northbound
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

HERE = cloud.CHASSIS
MAC = '0a:00:00:00:00:01'
OTHER_MAC = '0a:00:00:00:00:02'
GATEWAY = '198.51.100.254'
OURS = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
        ownership.EXT_ID_CHASSIS: cloud.HOSTNAME}
THEIRS = {**OURS, ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME}
PROOF = ownership.EXT_ID_ADVERTISED


class NorthboundTestCase(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        self.router = self.cloud.add_router('r1', chassis=HERE)
        self.eyes_ = self.eyes()
        self.backend = self.agent(cloud.HOSTNAME)

    def agent(self, hostname, eyes=None, timeout=5):
        """The backend of an agent on some chassis."""
        made = northbound.NorthboundBackend(world.conf(
            ovn__transaction_timeout=timeout))
        made.attach(backends.Context((eyes or self.eyes_).databases,
                                     lambda: hostname))
        return made

    def route(self, router=None, chassis=cloud.HOSTNAME, **values):
        return resources.DefaultRoute(**{
            'router': router or self.router, 'lrp': 'lrp-r1',
            'nexthop': GATEWAY, 'chassis': chassis, **values})

    def binding(self, mac=MAC, **values):
        return resources.MacBinding(**{
            'lrp': 'lrp-r1', 'ip': GATEWAY, 'mac': mac, **values})

    def create(self, *wanted, backend=None):
        return (backend or self.backend).apply(
            backends.Delta(create=wanted))

    def delete(self, *unwanted, backend=None):
        return (backend or self.backend).apply(
            backends.Delta(delete=unwanted))

    def routes(self):
        """Default routes as (router, nexthop, port, external_ids)."""
        by_uuid = {row['_uuid'][1]: row for row in
                   self.nb.rows('Logical_Router_Static_Route')}
        found = []
        for router in self.nb.rows('Logical_Router'):
            refs = router['static_routes']
            refs = refs[1] if refs[0] == 'set' else [refs]
            for _kind, reference in refs:
                row = by_uuid.pop(reference)
                found.append((router['name'], row['nexthop'],
                              row['output_port'] if isinstance(
                                  row['output_port'], str) else '',
                              dict(row['external_ids'][1])))
        self.assertEqual({}, by_uuid)
        return found

    def bindings(self):
        return {(row['logical_port'], row['ip']): row['mac']
                for row in self.nb.rows('Static_MAC_Binding')}

    def read_until(self, *wanted, known=(), backend=None):
        """The replica follows the server; read until it has."""
        backend = backend or self.backend
        self.eventually(
            lambda: set(backend.read(frozenset(known))) == set(wanted),
            lambda: backend.read(frozenset(known)))

    def foreign(self, nexthop='198.51.100.9', **row):
        self.cloud.add_static_route('r1', nexthop=nexthop, **row)
        self.seen(lambda nb: any(
            r.nexthop == nexthop
            for r in nb['Logical_Router_Static_Route'].values()))

    def seen(self, condition, eyes=None):
        """Wait until the replica has what another client wrote."""
        def look():
            with (eyes or self.eyes_).databases['nb'].rows() as nb:
                return condition(nb)
        self.eventually(look, 'the replica follows')


class WriteTest(NorthboundTestCase):

    def test_route_and_binding_come_and_go(self):
        # Trap T1: a real server refuses names of rows that have hyphens.
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())
        row = self.nb.rows('Static_MAC_Binding')[0]
        self.assertTrue(row['override_dynamic_mac'])
        self.read_until(self.route(), self.binding())
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual(([], {}), (self.routes(), self.bindings()))
        self.assertEqual([], self.nb.rows('Logical_Router_Static_Route'))
        self.read_until()

    def test_nothing_in_it_looks_like_neutrons(self):
        # Its database sync deletes rows with such keys.
        self.create(self.route())
        for key in self.routes()[0][3]:
            self.assertFalse(key.startswith('neutron'))

    def test_what_was_written_is_read_back_at_once(self):
        # The reconciler reads after an apply and must not see the past.
        for number in range(2, 30):
            changed = self.route(nexthop=f'198.51.100.{number}')
            self.assertEqual({}, self.create(changed))
            self.assertEqual([changed], self.backend.read(frozenset()))

    def test_a_second_time_writes_nothing(self):
        self.create(self.binding(), self.route())
        before = self.nb.content()
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual(before, self.nb.content())
        self.delete(self.binding(), self.route())
        before = self.nb.content()
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual(before, self.nb.content())

    def test_an_update_is_made_in_place(self):
        self.create(self.route(nexthop='198.51.100.253', lrp='lrp-old'),
                    self.binding(OTHER_MAC))
        rows = [self.nb.rows(table, '_uuid') for table in (
            'Logical_Router_Static_Route', 'Static_MAC_Binding')]
        self.assertEqual({}, self.backend.apply(backends.Delta(update=(
            (self.route(nexthop='198.51.100.253'), self.route()),
            (self.binding(OTHER_MAC), self.binding())))))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())
        self.assertEqual(rows, [self.nb.rows(table, '_uuid') for table in (
            'Logical_Router_Static_Route', 'Static_MAC_Binding')])

    def test_a_binding_that_does_not_override_is_mended(self):
        self.create(self.route(), self.binding())
        before = self.nb.rows('Static_MAC_Binding')[0]['_uuid']
        self.nb.transact(ovsdb.update('Static_MAC_Binding', {},
                                      override_dynamic_mac=False))
        self.read_until(self.route(), self.binding(''))
        self.delete(self.binding(OTHER_MAC))
        self.assertEqual(1, len(self.bindings()))
        self.assertEqual({}, self.backend.apply(backends.Delta(
            update=((self.binding(''), self.binding()),))))
        self.read_until(self.route(), self.binding())
        row, = self.nb.rows('Static_MAC_Binding')
        self.assertEqual((before, MAC, True), (
            row['_uuid'], row['mac'], row['override_dynamic_mac']))
        # It goes as well as it is.
        self.nb.transact(ovsdb.update('Static_MAC_Binding', {},
                                      override_dynamic_mac=False))
        self.read_until(self.route(), self.binding(''))
        self.delete(self.binding(''))
        self.assertEqual({}, self.bindings())

    def others_have_the_rows(self):
        self.foreign(GATEWAY, output_port='lrp-r1',
                     external_ids={**THEIRS, 'note': 'kept'})
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port='lrp-r1', ip=GATEWAY,
            mac=OTHER_MAC, override_dynamic_mac=True))
        self.seen(lambda nb: nb['Static_MAC_Binding'])

    def test_without_southbound_nothing_is_taken_over(self):
        self.others_have_the_rows()
        self.sb.kill()
        self.eventually(lambda: self.eyes_.databases['sb'].trouble, 'a loss')
        refused = self.create(self.binding(), self.route())
        self.assertIn('OVN_Southbound is not', refused[self.route().ref])
        self.assertIn('OVN_Southbound is not', refused[self.binding().ref])
        self.assertEqual({**THEIRS, 'note': 'kept'}, self.routes()[0][3])
        self.assertEqual({('lrp-r1', GATEWAY): OTHER_MAC}, self.bindings())

    def test_a_take_over_is_made_in_place(self):
        self.others_have_the_rows()
        self.assertEqual([], self.backend.read(frozenset(
            {self.route().ref, self.binding().ref})))
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1',
                           {**OURS, 'note': 'kept'})], self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())

    def test_many_at_once_are_one_transaction(self):
        routers = [self.cloud.add_router(f'm{n}', chassis=HERE)
                   for n in range(50)]
        self.seen(lambda nb: len(nb['Logical_Router']) == 51)
        wanted = [self.route(router, lrp=f'lrp-m{n}')
                  for n, router in enumerate(routers)]
        self.foreign('198.51.100.9')
        monitor = self.watched('Logical_Router_Static_Route')
        self.assertEqual({}, self.create(*wanted))
        self.assertEqual(51, len(self.routes()))
        self.read_until(*wanted)
        # The server tells of each transaction by itself.
        self.assertEqual(50, len(json.loads(monitor.readline())['data']))

    def watched(self, table):
        """What the server tells of a table that has a row, a line each."""
        monitor = subprocess.Popen(
            ['ovsdb-client', '--format=json', 'monitor', self.nb.remote,
             self.nb.database, table, 'nexthop'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(monitor.stdout.close)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)
        # What is there already comes first, so now it watches.
        self.assertIn('initial', monitor.stdout.readline())
        return monitor.stdout


class ProofTest(NorthboundTestCase):
    """The mark of who announces a route goes with its owner."""

    def present(self, external_ids):
        self.foreign(GATEWAY, external_ids=external_ids,
                     output_port='lrp-r1')

    def test_a_take_over_removes_any_of_an_earlier_owner(self):
        """Trap T26: also one of this chassis, from before the other."""
        for mark in (cloud.OTHER_HOSTNAME, cloud.HOSTNAME, 'gw3'):
            self.present({**THEIRS, PROOF: mark})
            self.assertEqual({}, self.create(self.route()))
            self.assertEqual([OURS], [ids for *_, ids in self.routes()])
            self.delete(self.route())

    def test_in_the_very_transaction(self):
        """Trap T26: nobody ever sees our tag with a mark on the route."""
        self.present({**THEIRS, PROOF: cloud.OTHER_HOSTNAME})
        seen = []

        class Watch(event.RowEvent):
            def run(self, _event, row, _old):
                seen.append(dict(row.external_ids))

        eyes = self.eyes(start=False)
        eyes.handlers['nb'].watch_event(Watch(
            ('update',), 'Logical_Router_Static_Route', ()))
        eyes.start()
        self.create(self.route())
        self.eventually(lambda: seen, 'the change')
        self.synchronise(eyes)
        self.assertEqual([OURS], seen)

    def test_ours_stays(self):
        self.present({**OURS, PROOF: cloud.HOSTNAME})
        self.read_until(self.route())
        update = (self.route(nexthop='198.51.100.253'), self.route())
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=(update,))))
        self.assertEqual([{**OURS, PROOF: cloud.HOSTNAME}],
                         [ids for *_, ids in self.routes()])

    def test_anothers_on_a_route_of_ours_is_a_difference(self):
        """Trap T26: an agent that leaves marks as they are was here."""
        self.present({**OURS, PROOF: cloud.OTHER_HOSTNAME, 'note': 'kept'})
        found = self.route(outdated=cloud.OTHER_HOSTNAME)
        self.read_until(found)
        self.assertNotEqual(self.route(), found)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((found, self.route()),))))
        self.assertEqual([{**OURS, 'note': 'kept'}],
                         [ids for *_, ids in self.routes()])
        self.read_until(self.route())

    def test_that_of_another_owner_is_its_own(self):
        self.present({**THEIRS, PROOF: cloud.OTHER_HOSTNAME})
        self.assertEqual([], self.backend.read(frozenset()))

    def test_of_two_routes_the_one_with_our_tag_is_ours(self):
        self.present(THEIRS)
        self.present(OURS)
        self.present(THEIRS)
        self.assertEqual({}, self.create(self.route(
            nexthop='198.51.100.253')))
        self.assertEqual(
            [('198.51.100.253', cloud.HOSTNAME)],
            [(nexthop, ids[ownership.EXT_ID_CHASSIS])
             for _r, nexthop, _p, ids in self.routes()
             if nexthop != GATEWAY])


class ForeignTest(NorthboundTestCase):

    def test_a_foreign_default_route_is_left_alone(self):
        """Trap T25, the default route itself."""
        self.foreign()
        before = self.nb.content()
        failures = self.create(self.route())
        self.assertIn('198.51.100.9', failures[self.route().ref])
        self.assertEqual(before, self.nb.content())
        self.assertEqual({}, self.delete(self.route()))
        self.assertEqual(before, self.nb.content())
        self.assertEqual([], self.backend.read(frozenset()))

    def test_it_costs_only_its_router(self):
        second = self.cloud.add_router('r2', chassis=HERE)
        self.foreign()
        self.seen(lambda nb: len(nb['Logical_Router']) == 2)
        failures = self.create(self.route(), self.route(second,
                                                        lrp='lrp-r2'))
        self.assertEqual([self.route().ref], list(failures))
        self.assertIn(('neutron-r2', GATEWAY, 'lrp-r2', OURS),
                      self.routes())

    def test_other_routes_do_not_count(self):
        self.foreign('198.51.100.5', route_table='other')
        self.foreign('198.51.100.6', policy='src-ip')
        self.assertEqual({}, self.create(self.route()))
        self.assertEqual(3, len(self.routes()))
        self.delete(self.route())
        self.assertEqual({'198.51.100.5', '198.51.100.6'},
                         {nexthop for _r, nexthop, _p, _e in self.routes()})

    def test_a_managed_route_of_another_chassis_is_not_ours(self):
        self.foreign(GATEWAY, external_ids=THEIRS, output_port='lrp-r1')
        before = self.nb.content()
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual({}, self.delete(self.route()))
        self.assertEqual(before, self.nb.content())

    def test_foreign_bindings_survive(self):
        """Trap T24."""
        foreign = {'logical_port': 'lrp-r1', 'ip': '198.51.100.200',
                   'mac': OTHER_MAC}
        self.nb.transact(ovsdb.insert('Static_MAC_Binding', **foreign))
        self.create(self.binding(), self.route())
        self.read_until(self.route(), self.binding())
        self.delete(self.binding(), self.route())
        self.assertEqual({('lrp-r1', '198.51.100.200'): OTHER_MAC},
                         self.bindings())

    def test_the_binding_goes_with_the_route_to_its_new_owner(self):
        # What this agent still believes to have must not be removed.
        self.create(self.binding(), self.route())
        known = {self.binding().ref, self.route().ref}
        self.read_until(self.route(), self.binding(), known=known)
        self.nb.transact(
            ovsdb.update('Logical_Router_Static_Route', {},
                         external_ids=ovsdb.ovsdb_dict(THEIRS)),
            ovsdb.update('Static_MAC_Binding', {}, mac=OTHER_MAC))
        self.read_until(known=known)
        before = self.nb.content()
        # A pass may have been decided just before.
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual(before, self.nb.content())

    def test_the_binding_of_a_router_that_is_gone_is_ours(self):
        # It is a row of its own that nobody else would ever collect.
        self.create(self.binding(), self.route())
        known = {self.binding().ref, self.route().ref}
        self.read_until(self.route(), self.binding(), known=known)
        self.cloud.remove_router('r1')
        self.read_until(self.binding(), known=known)
        self.delete(self.binding())
        self.assertEqual({}, self.bindings())


class TroubleTest(NorthboundTestCase):

    def test_a_refused_operation_costs_only_its_item(self):
        """Trap T2: one operation fails, and the reply as such is none."""
        second = self.cloud.add_router('r2', chassis=HERE)
        self.seen(lambda nb: len(nb['Logical_Router']) == 2)
        bad = self.binding(ip='10.0.0.1', lrp='bad')
        with self.breaking(bad):
            failures = self.create(
                bad, self.route(), self.route(second, lrp='lrp-r2'))
        self.assertEqual([bad.ref], list(failures))
        self.assertIn('constraint violation', failures[bad.ref])
        self.assertEqual({'neutron-r1', 'neutron-r2'},
                         {name for name, *_rest in self.routes()})

    @contextlib.contextmanager
    def breaking(self, binding):
        """The row is there, but this replica has not heard of it.

        So it is inserted a second time, and the server refuses that at the
        end of the transaction, when every operation has succeeded.
        """
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port=binding.lrp, ip=binding.ip,
            mac=OTHER_MAC))
        self.seen(lambda nb: nb['Static_MAC_Binding'])
        with self.eyes_.databases['nb'].rows() as nb:
            table = nb['Static_MAC_Binding']
            hidden = dict(table)
            table.clear()
        try:
            yield
        finally:
            with self.eyes_.databases['nb'].rows():
                for key, row in hidden.items():
                    table[key] = row

    def test_a_router_deleted_meanwhile(self):
        wanted = self.route(router=str(uuid.uuid4()))
        self.assertEqual({wanted.ref: 'the router is gone'},
                         self.create(wanted))
        self.assertEqual({}, self.delete(wanted))
        self.assertEqual([], self.nb.rows('Logical_Router_Static_Route'))

    def test_a_router_deleted_before_the_replica_hears_of_it(self):
        for _attempt in range(10):
            router = self.cloud.add_router('gone', chassis=HERE)
            self.seen(lambda nb, r=router: uuid.UUID(r) in
                      nb['Logical_Router'])
            wanted = self.route(router, lrp='lrp-gone')
            failures = {}
            writer = threading.Thread(
                target=lambda w=wanted, f=failures: f.update(
                    self.create(w)))
            with self.eyes_.databases['nb'].rows():
                # The replica stands still while the router goes.
                self.cloud.remove_router('gone')
                writer.start()
            writer.join(ovsdb.DEADLINE)
            self.assertFalse(writer.is_alive())
            self.assertIn(failures, ({}, {wanted.ref: 'the router is gone'}))
            self.assertEqual([], self.nb.rows(
                'Logical_Router_Static_Route'))

    def test_two_agents_race(self):
        # Whoever wins: one route, one tag, and the loser knows.
        other_eyes = self.eyes()
        other = self.agent(cloud.OTHER_HOSTNAME, other_eyes)
        for number in range(20):
            name = f'race{number}'
            router = self.cloud.add_router(name, chassis=HERE)
            for eyes in (self.eyes_, other_eyes):
                self.seen(lambda nb: any(
                    r.name == 'neutron-' + name
                    for r in nb['Logical_Router'].values()), eyes)
            together = threading.Barrier(2)
            failures = []

            def write(backend, hostname, mac):
                together.wait(ovsdb.DEADLINE)
                failures.append(self.create(
                    self.binding(mac, lrp='lrp-' + name),
                    self.route(router, hostname, lrp='lrp-' + name),
                    backend=backend))

            writers = [threading.Thread(target=write, args=args) for args in (
                (self.backend, cloud.HOSTNAME, MAC),
                (other, cloud.OTHER_HOSTNAME, OTHER_MAC))]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join(ovsdb.DEADLINE)
            self.assertEqual([{}, {}], failures)
            routes = [r for r in self.routes() if r[0] == 'neutron-' + name]
            self.assertEqual(1, len(routes))
            owner = routes[0][3][ownership.EXT_ID_CHASSIS]
            self.assertEqual(
                {cloud.HOSTNAME: MAC, cloud.OTHER_HOSTNAME: OTHER_MAC}[
                    owner], self.bindings()['lrp-' + name, GATEWAY])

    def test_a_foreign_route_that_comes_while_we_decide(self):
        for number in range(10):
            name = f'late{number}'
            router = self.cloud.add_router(name, chassis=HERE)
            self.seen(lambda nb, r=router: uuid.UUID(r) in
                      nb['Logical_Router'])
            wanted = self.route(router, lrp='lrp-' + name)
            failures = {}
            writer = threading.Thread(
                target=lambda w=wanted, f=failures: f.update(
                    self.create(w)))
            with self.eyes_.databases['nb'].rows():
                self.cloud.add_static_route(name)
                writer.start()
            writer.join(ovsdb.DEADLINE)
            self.assertEqual([wanted.ref], list(failures))
            self.assertEqual(
                [{}], [ids for r, _n, _p, ids in self.routes()
                       if r == 'neutron-' + name])

    def test_not_connected(self):
        self.nb.kill()
        self.eventually(lambda: not self.eyes_.databases['nb'].connected,
                        'the loss is noticed')
        self.assertRaises(backends.BackendError, self.create, self.route())
        # Reading goes on with what was seen last.
        self.assertEqual([], self.backend.read(frozenset()))

    def test_a_server_that_does_not_answer_costs_one_time_limit(self):
        backend = self.agent(cloud.HOSTNAME, timeout=1)
        self.nb.pause()
        started = time.monotonic()
        errors = []

        def write():
            try:
                self.create(self.binding(), self.route(), backend=backend)
            except backends.BackendError as e:
                errors.append(e)

        writer = threading.Thread(target=write)
        writer.start()
        # Whoever looks meanwhile is not held up.
        looks = 0
        while writer.is_alive():
            looked = time.monotonic()
            self.eyes_.look(full=True)
            self.assertLess(time.monotonic() - looked, 0.9)
            looks += 1
        writer.join()
        self.assertLess(time.monotonic() - started, 4)
        self.assertGreater(looks, 5)
        self.assertEqual(1, len(errors))
        self.assertIn('answer', str(errors[0]))
        self.nb.resume()
        # What was sent may have happened; either way it comes right.
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())

    def test_what_was_sent_too_late_does_no_harm(self):
        backend = self.agent(cloud.HOSTNAME, timeout=1)
        self.nb.pause()
        for _attempt in range(3):
            self.assertRaises(backends.BackendError, self.create,
                              self.route(), backend=backend)
        self.nb.resume()
        self.eventually(self.routes, 'the late transactions')
        self.assertEqual({}, self.create(self.route()))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.read_until(self.route())


class OlderNorthboundTest(NorthboundTestCase):

    @staticmethod
    def _without(tables):
        del tables['Static_MAC_Binding']

    schema_changes = {'nb': _without}

    def test_without_the_table_of_bindings(self):
        failures = self.create(self.binding(), self.route())
        self.assertEqual([self.binding().ref], list(failures))
        self.assertIn('Static_MAC_Binding', failures[self.binding().ref])
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.read_until(self.route())
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual([], self.routes())


class HostnameTest(NorthboundTestCase):

    def test_without_a_host_name_nothing_is_ours(self):
        self.foreign(GATEWAY, external_ids={
            **OURS, ownership.EXT_ID_CHASSIS: ''})
        nameless = self.agent('')
        self.assertEqual([], nameless.read(frozenset()))

    def test_values_follow_the_resource(self):
        wanted = dataclasses.replace(self.route(), chassis='gw1')
        self.create(wanted)
        self.assertEqual('gw1',
                         self.routes()[0][3][ownership.EXT_ID_CHASSIS])
