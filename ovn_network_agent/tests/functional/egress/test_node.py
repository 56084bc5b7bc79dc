# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend egress_nft and the other objects on a node: drift, and repair."""

import queue
import subprocess
import threading

from lab import waiting
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import egress_nft
from ovn_network_agent.common import notices
from ovn_network_agent.nft import egress
from ovn_network_agent.tests.functional.egress import base

TABLE = resources.EgressTable('ip', egress.digest('ip'))
MACHINE = resources.EgressMachine('ip', base.MACHINE[4], 'out0')
SOURCE = resources.EgressSource('ip', base.MACHINE[4], 'out0', base.EGRESS[4])
ALL = (TABLE, MACHINE, SOURCE)


def nft(text):
    subprocess.run(['nft', '-f', '-'], input=text, text=True, check=True)


class TableTest(base.EgressTestCase):

    def setUp(self):
        super().setUp()
        self.backend = egress_nft.EgressNftBackend(self.conf)
        self.addCleanup(self.backend.close)

    def found(self):
        return set(self.backend.read(frozenset(r.ref for r in ALL)))

    def test_life(self):
        self.create(self.backend, TABLE, MACHINE)
        self.create(self.backend, SOURCE)
        self.assertEqual(set(ALL), self.found())
        self.create(self.backend, *ALL)
        self.assertEqual(set(ALL), self.found())
        other = resources.EgressSource(*SOURCE.key, '203.0.113.78')
        self.change(self.backend, update=((SOURCE, other),))
        self.assertEqual({TABLE, MACHINE, other}, self.found())
        self.change(self.backend, delete=(other,))
        self.assertEqual({TABLE, MACHINE}, self.found())
        self.change(self.backend, delete=(MACHINE, TABLE))
        self.change(self.backend, delete=(MACHINE, TABLE))
        self.assertEqual(set(), self.found())

    def test_a_changed_table_is_loaded_anew(self):
        self.create(self.backend, *ALL)
        for change in (f'add rule ip {egress.TABLE} sources counter',
                       f'flush chain ip {egress.TABLE} untranslated',
                       f'flush chain ip {egress.TABLE} loaded'):
            nft(change)
            altered, = self.found() - {MACHINE, SOURCE}
            self.assertNotEqual(TABLE, altered)
            self.change(self.backend, update=((altered, TABLE),))
            self.assertEqual(set(ALL), self.found(), change)

    def test_elements_of_others(self):
        self.create(self.backend, *ALL)
        nft(f'add element ip {egress.TABLE} machines {{ 10.9.9.9 . "x" }}')
        stray, = self.found() - set(ALL)
        self.change(self.backend, delete=(stray,))
        self.assertEqual(set(ALL), self.found())

    def test_a_bad_item_costs_only_itself(self):
        bad = resources.EgressSource('ip', base.OTHER[4], 'out0', 'x')
        failed = self.backend.apply(backends.Delta(
            create=(TABLE, MACHINE, SOURCE, bad)))
        self.assertEqual([bad.ref], list(failed))
        self.assertEqual(set(ALL), self.found())

    def test_the_watch_of_a_table_of_a_former_run(self):
        """It is read before anybody wants it, and then in place."""
        self.create(self.backend, *ALL)
        woken, again = queue.SimpleQueue(), egress_nft.EgressNftBackend(
            self.conf)
        self.addCleanup(again.close)
        again.attach(backends.Context(
            wake=lambda by, stale: woken.put(stale)))
        self.assertNotEqual([], again.read(frozenset()))
        nft(f'delete table ip {egress.TABLE}')
        self.assertEqual((notices.EGRESS_NFT,), woken.get(timeout=10))


class NodeTest(base.EgressTestCase):

    def test_drift(self):
        """What another program removes is there again after a pass."""
        self.run_pass(self.host(), self.host(6))
        before = self.node()
        for change in (
                ['nft', 'delete', 'table', 'ip', egress.TABLE],
                ['ip', 'rule', 'del', 'pref', str(ownership.EGRESS_OUT)],
                ['ip', '-6', 'rule', 'del', 'pref',
                 str(ownership.EGRESS_DROP)],
                ['ip', 'route', 'flush', 'table',
                 str(ownership.EGRESS_BACK_TABLE)],
                ['ip', 'address', 'del', base.EGRESS[4] + '/32', 'dev',
                 'out0']):
            subprocess.run(change, check=True)
            self.assertNotEqual(before, self.node(), change)
            self.run_pass(self.host(), self.host(6))
            self.assertEqual(before, self.node(), change)

    def test_routes_follow_the_link(self):
        self.run_pass(self.host())
        table = ownership.EGRESS_TABLES[
            self.shown('link show out0')[0]['ifindex']]
        before = self.routes(table)
        self.ip('route add 198.18.0.0/24 via 203.0.113.1')
        self.ip('route del 203.0.114.0/24')
        self.run_pass(self.host())
        self.assertEqual({*before, '198.18.0.0/24'} - {'203.0.114.0/24'},
                         set(self.routes(table)))

    def test_the_hosts_on_the_link_hear_of_it(self):
        """They send to the new node without a question of their own."""
        wrong = '02:00:00:00:00:99'
        self.outside.sh(f'''
            ip neighbour add {base.EGRESS[4]} lladdr {wrong} dev outside \\
                nud reachable
            ip neighbour add {base.EGRESS[6]} lladdr {wrong} dev outside \\
                nud reachable
            echo 1 > /proc/sys/net/ipv4/neigh/outside/locktime''')
        self.run_pass(self.host(), self.host(6))
        mac = self.shown('link show out0')[0]['address']
        for address in base.EGRESS.values():
            waiting.wait_until(
                f'{address} has {mac}', lambda address=address: mac in
                self.outside.run('ip', 'neighbour', 'show', address))

    def test_the_node_does_not_use_the_address(self):
        self.run_pass(self.host(), self.host(6))
        waiting.wait_until('no duplicate was found', lambda: 'tentative' not
                           in self.ip('-6 address show dev out0'))
        for target in base.NEAR.values():
            source = self.shown(f'route get {target}')[0]['prefsrc']
            self.assertNotIn(source, base.EGRESS.values())

    def test_a_machine_that_comes_back_while_it_goes(self):
        """nft still removes its drop: there must be no way out yet."""
        self.run_pass(self.host(), self.host(machine=base.OTHER[4]))
        backend = self.backends[-1]
        apply, gate = backend.apply, threading.Event()
        self.addCleanup(gate.set)

        def slow(delta):
            if any(isinstance(r, resources.EgressMachine)
                   for r in delta.delete):
                gate.wait(60)
            return apply(delta)
        backend.apply = slow
        other = self.host(machine=base.OTHER[4])
        waiting.wait_until('nft removes the drop', lambda: self.one_pass(
            other) and any(
                isinstance(r, resources.EgressMachine)
                for delta in self.threads.changing().values()
                for r in delta.delete))
        self.one_pass(self.host(), other)
        self.assertNotIn(f'from {base.MACHINE[4]} iif br-ex lookup',
                         self.ip('rule'))
        gate.set()
        self.run_pass(self.host(), other)
        self.reaches(base.MACHINE[4], base.FAR[4])

    def test_a_restart_leaves_the_address(self):
        """The first reading is before OVN has said what is wanted."""
        self.run_pass(self.host(), self.host(6))
        self.agent()
        backend, = (each for each in self.backends if each.name == 'address')
        key = 'out0', f'{base.EGRESS[4]}/32'
        read = resources.Address(*key)
        self.assertIn(read, backend.read(frozenset()))
        wanted = resources.EgressAddress(*key)
        for delta, there in (
                (resources.Delta(create=(wanted,)), True),
                (resources.Delta(delete=(read,)), True),
                (resources.Delta(delete=(wanted,)), False)):
            self.assertEqual({}, backend.apply(delta))
            self.assertIs(there, base.EGRESS[4] in self.ip(
                '-4 address show dev out0'), delta)

    def test_stale_objects_of_a_former_run_go(self):
        """Also with an agent without the driver."""
        before = self.node()
        self.run_pass()
        bare = self.node()
        self.run_pass(self.host(), self.host(6))
        self.agent()
        self.run_pass()
        self.assertEqual(bare, self.node())
        self.run_pass(self.host(), self.host(6))
        self.conf.set_override('drivers', ['provider_port'])
        self.fix_limits(self.conf)
        self.agent('provider_port')
        self.run_pass()
        self.assertEqual(before, self.node())

    def node(self):
        """Addresses, rules and routes of the node, and its tables of nft."""
        return [*(sorted(line.strip() for line in self.ip(
            command).splitlines() if 'table 255' not in line) for command in (
                '-N rule show', '-6 -N rule show',
                '-4 -N route show table all', '-6 -N route show table all',
                '-4 -o address show dev out0')),
            sorted(subprocess.run(
                ['nft', '-s', 'list', 'ruleset'], check=True, text=True,
                capture_output=True).stdout.split('\n}\n'))]
