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

"""The whole service: real databases and northbound, the rest a world."""

import logging
import os
import re
import threading
import time

import fixtures
from oslo_config import cfg

from ovn_network_agent import backoff
from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent import service
from ovn_network_agent.backends import northbound
from ovn_network_agent.backends import stale_route
from ovn_network_agent.conf import opts
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.drivers import veth_leak
from ovn_network_agent.engine import contributions
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds

HERE = cloud.CHASSIS


class Passes(logging.Handler):
    """When the passes of a service were made."""

    def __init__(self, case):
        super().__init__()
        self.times = []
        logger = logging.getLogger(contributions.__name__)
        logger.addHandler(self)
        case.addCleanup(logger.removeHandler, self)
        case.addCleanup(logger.setLevel, logger.level)
        logger.setLevel(logging.DEBUG)

    def emit(self, record):
        if record.msg.startswith('Computed'):
            self.times.append(time.monotonic())


class ServiceTestCase(base.OvsdbTestCase):

    drivers = {'fip_route': fip_route.FipRouteDriver,
               'veth_leak': veth_leak.VethLeakDriver}
    # Backends that are no world.
    real = {'northbound': northbound.NorthboundBackend,
            'stale_route': stale_route.StaleRouteBackend}

    def setUp(self):
        super().setUp()
        # In this process: there is no daemon, and nothing is changed.
        for context in privileged.kernel, privileged.ovs:
            context.set_client_mode(False)
            self.addCleanup(context.set_client_mode, True)
        self.world = worlds.World()
        # A world of their own: they are last, and there to stay.
        self.proofs = worlds.World()

    def agent(self, start=True, conf=None,
              backend_class=worlds.WorldBackend, **options):
        """The service on this cloud, its kernel and FRR a world."""
        remotes = self.remotes()
        conf = conf or worlds.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            bridge_dev=cloud.BRIDGE,
            **{'ovs__ovsdb_connection': remotes['ovs'],
               'ovn__transaction_timeout': 2,
               'ovn__ovsdb_connection_timeout': 5,
               'ovn__retry_max_interval': 1, 'shutdown_timeout': 15,
               **options})
        backends = [
            backend_class(name, self.proofs if name == 'advertised'
                          else self.world)
            for name in worlds.BACKENDS if name not in self.real]
        backends += [made(conf) for made in self.real.values()]
        made = service.AgentService(
            conf, [made(name, conf) for name, made in self.drivers.items()],
            backends)
        self.addCleanup(made.close)
        if start:
            made.start()
            self.addCleanup(self.cut_short, made, conf)
        return made

    def cut_short(self, agent, conf):
        """End an agent that may wait for what a test has taken away."""
        if not agent.wait(0):
            conf.set_override('shutdown_timeout', 1)
            agent.stop()
            agent.stop()
            self.assertTrue(agent.wait(ovsdb.DEADLINE))

    def announced(self):
        return {key[1] for key in self.world.of(resources.Announcement)}

    def routes(self):
        """Tags of the managed default routes in NB."""
        return [dict(row['external_ids'][1]).get(ownership.EXT_ID_CHASSIS)
                for row in self.nb.rows('Logical_Router_Static_Route')]

    def stop(self, agent):
        agent.stop()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))


class LifeTest(ServiceTestCase):

    def test_from_nothing_to_nothing(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        agent = self.agent()
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.10/32'} and
            self.routes() == [cloud.HOSTNAME] and
            self.nb.rows('Static_MAC_Binding'), 'all is there')
        self.cloud.add_nat('r1', '198.51.100.11')
        self.eventually(lambda: '198.51.100.11/32' in self.announced(),
                        'a new one')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' not in self.announced(),
                        'the old one goes')
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual([], self.routes())
        self.assertEqual([], self.nb.rows('Static_MAC_Binding'))
        self.assertEqual({'sysctl', 'link_up'},
                         {r.kind for r in self.world.values()})

    def test_the_time_of_a_takeover_is_logged_once(self):
        # Trap T20.
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        agent = self.agent()
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        log = self.useFixture(fixtures.FakeLogger())
        began = time.monotonic()
        self.cloud.move('lrp-r1', HERE)
        self.eventually(lambda: 'Took over' in log.output, self.announced)
        took = time.monotonic() - began
        said = re.findall(r'Took over neutron-r1: 1 addresses announced '
                          r'after (\d+) ms', log.output)
        self.assertEqual(1, len(said), log.output)
        self.assertTrue(0 < int(said[0]) <= took * 1000 + 1, said)
        # A floating IP that comes later is none.
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        self.announced)
        self.stop(agent)
        self.assertEqual(1, log.output.count('Took over'))

    def test_without_clean_up_all_stays(self):
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent(cleanup_on_shutdown=False)
        self.eventually(lambda: self.announced() and self.routes(), 'there')
        before = self.world.values()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual(before, self.world.values())
        self.assertEqual([cloud.HOSTNAME], self.routes())

    def test_what_moved_away_is_left_to_its_new_owner(self):
        # Trap T13.
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent()
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'there')
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: not self.announced(), 'withdrawn')
        self.stop(agent)
        self.assertEqual([cloud.HOSTNAME], self.routes())
        self.assertEqual(1, len(self.nb.rows('Static_MAC_Binding')))

    def test_what_is_malformed_is_said_and_costs_only_itself(self):
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent()
        self.cloud.add_nat('r1', 'not-an-ip')
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        'its neighbour')
        self.eventually(lambda: any(
            "'not-an-ip'" in reason for reason in agent.status.reasons or ()),
            'it is said')
        self.cloud.remove_nat('r1', 'not-an-ip')
        self.eventually(lambda: not agent.status.reasons, 'all is well')

    def test_the_node_is_set_up_before_ovn_is_reached(self):
        for server in self.servers.values():
            server.kill()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'lo')
        self.world.put(stray)
        agent = self.agent()
        self.eventually(lambda: self.world.of(resources.VethPair), 'a pair')
        self.assertIn(stray, self.world.values())
        # Databases that come late, one after the other.
        for server in self.servers.values():
            self.assertIn(stray, self.world.values())
            server.start()
        self.eventually(lambda: stray not in self.world.values(),
                        'the first complete pass')
        self.stop(agent)

    def test_what_fails_before_ovn_is_reached_is_tried_again(self):
        self.sb.kill()
        self.world.down.add('address')
        self.agent()
        self.eventually(lambda: self.world.of(resources.VethPair), 'a pair')
        self.world.down.clear()
        self.eventually(lambda: self.world.of(resources.Address), 'healed')

    def test_waiting_for_ovn_costs_no_time(self):
        # Retries of what failed come due although no pass is complete.
        for server in self.servers.values():
            server.kill()
        self.world.down.add('address')
        passes = Passes(self)
        self.agent()
        self.eventually(lambda: len(passes.times) >= 6, 'six passes')
        # The first ones come from the start.
        self.assertGreater(passes.times[5] - passes.times[2], 2.5)

    def test_what_a_former_run_left(self):
        """It is adopted if it is wanted, and goes otherwise."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        former = self.agent(cleanup_on_shutdown=False)
        self.eventually(lambda: len(self.announced()) == 2 and
                        self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'all is there')
        self.stop(former)
        former.close()
        adopted = self.world.values()
        rows = self.nb.rows('Logical_Router_Static_Route', '_uuid')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r1', '198.51.100.11')
        del self.world.journal[:]
        self.agent()
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.11/32'}, 'what is wanted now')
        self.eventually(lambda: not [
            r for r in self.world.values()
            if '198.51.100.10' in str(r)], 'what is not wanted any more')
        for verb, ref in self.world.journal:
            self.assertIn('198.51.100.1%d' % (verb == 'create'), str(ref))
        self.assertEqual({r for r in adopted if '100.10' not in str(r)},
                         {r for r in self.world.values()
                          if '100.11' not in str(r)})
        self.assertEqual(rows, self.nb.rows(
            'Logical_Router_Static_Route', '_uuid'))

    def test_the_node_is_prepared_before_the_first_full_pass(self):
        """Bridge, addresses, pair; then OVN; then what is announced."""
        self.cloud.add_router('r1', chassis=HERE)
        self.sb.kill()
        self.agent()
        self.eventually(lambda: self.world.of(resources.Rule), 'prepared')
        self.assertEqual(
            ['link_up', 'veth_pair', 'sysctl', 'address', 'neighbour',
             'kernel_route', 'rule'], self.world.order('create'))
        self.assertEqual([], self.routes())
        del self.world.journal[:]
        self.sb.start()
        self.eventually(self.announced, 'the first complete pass')
        self.assertNotIn('veth_pair', self.world.order('create'))
        self.assertEqual('announcement', self.world.order('create')[-1])


class ReloadTest(ServiceTestCase):
    """SIGHUP, with a file of its own."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'agent.conf')

    def write(self, text):
        with open(self.path, 'w') as opened:
            opened.write(
                '[DEFAULT]\nbridge_dev = %s\n%s[frr]\nvrf_name =\n'
                '[ovn]\novn_nb_remote = %s\novn_sb_remote = %s\n'
                '[ovs]\novsdb_connection = %s\n' % (
                    cloud.BRIDGE, text, *self.remotes().values()))

    def running(self):
        """The service, announcing, on what is in the file."""
        self.write('')
        conf = cfg.ConfigOpts()
        opts.load(conf, ['--config-file', self.path])
        self.gate = gate = threading.Event()
        self.held = held = threading.Event()
        gate.set()

        class Gated(worlds.WorldBackend):
            def read(self, known):
                found = super().read(known)
                if not gate.is_set():
                    held.set()
                gate.wait(10)
                return found

        agent = self.agent(conf=conf, backend_class=Gated)
        self.eventually(lambda: self.announced() and self.routes() and
                        agent.status.reasons == (), 'there')
        return agent

    def test_the_announce_method_changes_while_it_runs(self):
        agent = self.running()
        del self.world.journal[:]
        self.write('[fip_route]\nannounce_method = kernel\n')
        agent.reset()
        self.eventually(lambda: self.world.of(resources.AnnouncedRoute) and
                        not self.announced(), 'the other method')
        self.assertEqual(
            [('create', 'announced_route'), ('delete', 'announcement')],
            [(verb, ref.kind) for verb, ref in self.world.journal])

    def test_what_comes_right_before_the_stop_counts(self):
        agent = self.running()
        before = self.world.values()
        self.write('cleanup_on_shutdown = false\n')
        # It is in the middle of a pass, be it an earlier one.
        self.gate.clear()
        self.addCleanup(self.gate.set)
        agent.trigger.fire('test', stale=('rule',))
        self.eventually(self.held.is_set, 'a pass')
        agent.reset()
        agent.stop()
        self.gate.set()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual(before, self.world.values())

    def test_a_mistake_changes_nothing(self):
        agent = self.running()
        before = self.world.values()
        log = self.useFixture(fixtures.FakeLogger())
        self.write('reconcile_interval = often\n'
                   '[fip_route]\nannounce_method = kernel\n')
        agent.reset()
        self.eventually(lambda: 'often' in log.output, 'it is said')
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        'it goes on as before')
        self.assertLess(before, self.world.values())


class LoadTest(ServiceTestCase):
    """How often and when it works."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('far', chassis=cloud.OTHER, networks=[
            '203.0.113.1/24'])

    def running(self, **options):
        agent = self.agent(**options)
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'running')
        return agent

    def test_one_added_and_one_removed_in_one_transaction(self):
        self.cloud.add_nat('r1', '198.51.100.10')
        self.running()
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        'the first')
        old = self.nb.rows('NAT', '_uuid')[0]['_uuid']
        router = {'name': 'neutron-r1'}
        self.nb.transact(
            ovsdb.insert('NAT', 'nat', type='dnat_and_snat',
                         external_ip='198.51.100.11',
                         logical_ip='10.0.0.5'),
            ovsdb.mutate('Logical_Router', router, 'nat', 'insert',
                         ['named-uuid', 'nat']),
            ovsdb.mutate('Logical_Router', router, 'nat', 'delete', old))
        wanted = {'198.51.100.1/32', '198.51.100.11/32'}
        self.eventually(lambda: self.announced() == wanted, 'the second')
        self.eventually(lambda: wanted == {
            r.subject for r in self.world.values()
            if r.kind in ('kernel_route', 'flow') and r.subject},
            'and nothing else of them')

    def test_a_stream_of_events_neither_floods_nor_starves(self):
        """At most one pass in each interval, and one in each."""
        passes = Passes(self)
        self.running(event_coalesce=1.0)
        stop = threading.Event()

        def stream():
            number = 0
            while not stop.is_set():
                number += 1
                self.cloud.change_nat('203.0.113.9',
                                      logical_ip='10.0.0.%d' % (
                                          number % 200 + 1))

        self.cloud.add_nat('far', '203.0.113.9')
        writer = threading.Thread(target=stream)
        writer.start()
        try:
            count = len(passes.times)
            self.eventually(lambda: len(passes.times) >= count + 4,
                            'four passes under load')
        finally:
            stop.set()
            writer.join()
        gaps = [after - before for before, after in zip(
            passes.times[count:count + 3], passes.times[count + 1:],
            strict=False)]
        # It waits that long after each; measured where drivers are asked,
        # so with a little more or less of what comes before.
        self.assertGreater(min(gaps[1:]), 0.8, gaps)

    def test_ten_thousand_events(self):
        """Trap T68: no thread for each, no pass for each."""
        passes = Passes(self)
        agent = self.running()
        most = threading.active_count()
        started = time.monotonic()
        before = len(passes.times)
        self.nb.transact(*(
            operation for number in range(10000) for operation in (
                ovsdb.insert(
                    'NAT', 'n%d' % number, type='dnat_and_snat',
                    external_ip='203.0.%d.%d' % (
                        113 + number // 250, number % 250 + 1),
                    logical_ip='10.0.0.5'),)),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-far'}, 'nat',
                         'insert', ovsdb.ovsdb_set(
                             ['named-uuid', 'n%d' % number]
                             for number in range(10000))))
        self.cloud.add_nat('r1', '198.51.100.10')
        while '198.51.100.10/32' not in self.announced():
            most = max(most, threading.active_count())
            self.assertLess(time.monotonic() - started, 60)
            threading.Event().wait(0.005)
        # Besides those that were there: one for a write to OVN.
        self.assertLessEqual(most, threading.active_count() + 1)
        self.assertLessEqual(
            len(passes.times) - before,
            2 + (time.monotonic() - started) /
            agent._conf.event_coalesce)
        self.stop(agent)

    def test_it_never_runs_beside_itself(self):
        """Wake-ups from many threads, and a world that takes its time."""
        inside, together = [], []

        class Slow(worlds.WorldBackend):
            def read(self, known):
                inside.append(self.name)
                together.append(len(inside))
                threading.Event().wait(0.001)
                try:
                    return super().read(known)
                finally:
                    inside.remove(self.name)

        agent = self.agent(backend_class=Slow, event_coalesce=0.0)
        self.eventually(self.announced, 'running')
        passes = Passes(self)

        stop = threading.Event()

        def fire(number):
            turn = 0
            while not stop.wait(0.002):
                turn += 1
                agent.trigger.fire('storm %d %d' % (number, turn),
                                   urgent=bool(turn % 2),
                                   stale=tuple(worlds.BACKENDS))

        threads = [threading.Thread(target=fire, args=(n,))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        try:
            self.eventually(lambda: len(passes.times) > 10, 'ten passes')
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual({1}, set(together))

    def test_a_full_comparison_at_the_interval(self):
        """What nobody reports is found; no event is needed for it."""
        self.running(reconcile_interval=1)
        for _turn in range(2):
            lost = next(iter(self.world.of(resources.Announcement).values()))
            del self.world.objects[lost.ref]
            self.eventually(lambda gone=lost: gone.ref in
                            self.world.objects, 'it is back')


class TroubleTest(ServiceTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER, networks=[
            '203.0.113.1/24'])

    def running(self, **options):
        agent = self.agent(**options)
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'running')
        return agent

    def test_databases_that_go_withdraw_nothing(self):
        agent = self.running(reconcile_interval=1)
        before = self.world.values()
        for server in self.servers.values():
            server.kill()
        self.eventually(lambda: not any(
            d.connected for d in agent._databases.values()), 'all are lost')
        full = agent._loop._next_full
        self.eventually(lambda: agent._loop._next_full > full + 1,
                        'full passes')
        self.assertEqual(before, self.world.values())
        for server in self.servers.values():
            server.start()
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        'it goes on')
        self.assertLess(before, self.world.values())

    def test_a_northbound_that_hangs_delays_nothing_else(self):
        """Trap T31: slow writes to NB do not hold up an announcement."""
        self.running(ovn__transaction_timeout=6)
        self.nb.pause()
        # It has to write, and gets no answer; it waits, and waits again.
        started = time.monotonic()
        for chassis, announced in ((HERE, True), (cloud.OTHER, False),
                                   (HERE, True), (cloud.OTHER, False)):
            moved = time.monotonic()
            self.cloud.move('lrp-r2', chassis)
            self.eventually(
                lambda wanted=announced: (
                    '203.0.113.1/32' in self.announced()) == wanted,
                'the other planes follow')
            # Held up, it would be for as long as a transaction may take.
            self.assertLess(time.monotonic() - moved, 5)
        self.cloud.move('lrp-r2', HERE)
        self.assertLess(time.monotonic() - started, 18)
        self.nb.resume()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)

    def test_a_stop_while_northbound_hangs_is_bounded(self):
        agent = self.running(shutdown_timeout=4)
        self.nb.pause()
        started = time.monotonic()
        self.stop(agent)
        self.assertFalse(agent.complete)
        self.assertEqual(set(), self.announced())
        agent.close()
        self.assertLess(time.monotonic() - started, 10)

    def test_a_second_request_cuts_the_stop_short(self):
        agent = self.running(shutdown_timeout=60)
        self.nb.pause()
        agent.stop()
        self.eventually(lambda: not self.announced(), 'withdrawn')
        agent.stop()
        self.assertTrue(agent.wait(10))
        self.assertFalse(agent.complete)
        self.nb.resume()

    def test_what_waited_for_northbound_follows_at_once(self):
        # The pauses grow to a minute, and an outage may be long.
        self.useFixture(fixtures.MockPatchObject(backoff, 'FIRST', 60.0))
        agent = self.running()
        self.nb.kill()
        self.eventually(lambda: not agent._databases['nb'].connected, 'lost')
        self.cloud.move('lrp-r2', HERE)
        self.eventually(lambda: any('northbound' in reason for reason
                                    in agent.status.reasons), 'it failed')
        self.nb.start()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)
        self.eventually(lambda: not agent.status.reasons, 'all is well')

    def test_a_backend_that_fails_heals(self):
        self.world.down.add('frr_static')
        self.agent()
        self.eventually(self.routes, 'the other planes')
        self.assertEqual(set(), self.announced())
        self.world.down.clear()
        self.eventually(self.announced, 'healed')

    def test_any_backend_may_fail_and_heals(self):
        """The others go on; it is said which one, and that it is over."""
        agent = self.running()
        for number, name in enumerate(('rule', 'route', 'flow', 'frr_static',
                                       'frr_prefix_list')):
            self.world.down.add(name)
            agent.trigger.fire('test', stale=(name,))
            self.eventually(lambda n=name: any(
                n in reason for reason in agent.status.reasons), name)
            self.cloud.add_router('n%d' % number, chassis=HERE, networks=[
                '192.0.%d.1/24' % number])
            address = '192.0.%d.1/32' % number
            # The planes that do not depend on it follow.
            self.eventually(
                lambda n=number: len(self.routes()) == n + 2, name)
            if name != 'route':
                self.eventually(lambda a=address: (254, a) in self.world.of(
                    resources.KernelRoute), name)
            self.world.down.clear()
            self.eventually(lambda a=address: a in self.announced(),
                            '%s is healed' % name)
            self.eventually(lambda: not agent.status.reasons, 'all is well')


class DryRunTest(ServiceTestCase):

    def test_it_writes_nothing_and_tells_all(self):
        """Trap T22: least of all to the databases."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.nb.transact(ovsdb.update('Gateway_Chassis', {}, priority=0))
        before = [server.content() for server in self.servers.values()]
        agent = self.agent(start=False)
        steps, outcome = agent.plan(ovsdb.DEADLINE)
        self.assertTrue(outcome.settled, outcome)
        self.assertLess(
            {('create', 'announcement'), ('create', 'default_route'),
             ('create', 'advertised'),
             ('create', 'mac_binding'), ('create', 'kernel_route')},
            {(verb, resource.kind) for verb, resource in steps})
        self.assertEqual(set(), self.world.values())
        self.assertEqual(before, [server.content()
                                  for server in self.servers.values()])
