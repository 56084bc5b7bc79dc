# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend northbound: refusals, races and servers that do not answer."""

import contextlib
import threading
import time

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import northbound_rows
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, MAC = northbound_rows.HERE, northbound_rows.MAC
OTHER_MAC, GATEWAY = northbound_rows.OTHER_MAC, northbound_rows.GATEWAY
OURS = northbound_rows.OURS


class TroubleTest(northbound_rows.NorthboundTestCase):

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

    def test_two_agents_race(self):
        # Whoever wins: one route, one tag, and the loser knows.
        other_eyes = self.eyes()
        other = self.agent(cloud.OTHER_OWNER, other_eyes)
        for number in range(20):
            name = f'race{number}'
            router = self.cloud.add_router(name, chassis=HERE)
            for eyes in (self.eyes_, other_eyes):
                self.seen(lambda nb: any(
                    r.name == 'neutron-' + name
                    for r in nb['Logical_Router'].values()), eyes)
            together = threading.Barrier(2)
            failures = []

            def write(backend, owner, mac):
                together.wait(ovsdb.DEADLINE)
                failures.append(self.create(
                    self.binding(mac, lrp='lrp-' + name),
                    self.route(router, owner, lrp='lrp-' + name),
                    backend=backend))

            writers = [threading.Thread(target=write, args=args) for args in (
                (self.backend, cloud.OWNER, MAC),
                (other, cloud.OTHER_OWNER, OTHER_MAC))]
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

    def test_not_connected(self):
        self.nb.kill()
        self.eventually(lambda: not self.eyes_.databases['nb'].connected,
                        'the loss is noticed')
        self.assertRaises(backends.BackendError, self.create, self.route())
        # Reading goes on with what was seen last.
        self.assertEqual([], self.backend.read(frozenset()))

    def test_a_server_that_does_not_answer_costs_one_time_limit(self):
        backend = self.agent(cloud.OWNER, timeout=1)
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
        backend = self.agent(cloud.OWNER, timeout=1)
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
