# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Flows through the management socket of a bridge."""

import dataclasses
import random
import re
import signal
import threading
import time

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import flow
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base

DST = '198.51.100.10/32'
# Ethernet and ICMP, from 192.0.2.1 to this address.
PACKET = ('ffffffffffff0200000000010800' '4500001c000000004001b2c8'
          'c0000201c633640a' '0800000000000000')
# What an operator may have: same match with another priority, same
# priority with another match, another table, our cookie as a substring.
FOREIGN = (
    'table=0,cookie=0x996,priority=900,in_port=4,ip,actions=NORMAL',
    'table=0,cookie=0x0,priority=901,in_port=3,ip,actions=drop',
    'table=0,cookie=0x9990,priority=910,in_port=3,ip,'
    'nw_dst=198.51.100.99,actions=IN_PORT',
    'table=7,cookie=0x1998,priority=910,in_port=3,ip,actions=drop')
STRAYS = (
    'table=5,cookie=0x998,priority=910,in_port=3,ip,actions=drop',
    'table=0,cookie=0x999,priority=77,tcp,tp_dst=80,reg3=0x5/0xff,'
    'ct_state=+trk-new,actions=drop',
    'table=0,cookie=0x999,priority=900,actions=drop',
    'table=0,cookie=0x998,priority=910,in_port=LOCAL,ip,actions=drop',
    'table=0,cookie=0x997,priority=920,in_port=LOCAL,ip,actions=drop',
    'table=0,cookie=0x997,priority=920,in_port=3,nw_dst=198.51.100.10,'
    'dl_type=0x800,dl_vlan=5,actions=output:7')


class EachWay:
    """By the socket and by ovs-ofctl: writing, reading, refusals."""

    def wanted(self):
        return [base.mac_tweak(4), base.mac_tweak(6), base.hairpin(DST),
                base.hairpin('2001:db8::10/128', in_port=0xfeff),
                base.relay(DST),
                base.relay('2001:db8::/64', output='ports:7,3'),
                base.relay('198.51.100.0/24', 7, 'ports:3', None)]

    def test_round_trip(self):
        wanted = self.wanted()
        self.assertEqual(
            {}, self.backend.apply(backends.Delta(create=tuple(wanted))))
        self.assertEqual(set(wanted), self.read())
        self.assertEqual({
            'cookie=0x999, priority=900,ip,in_port=3 actions='
            f'set_field:{base.MAC}->eth_dst,NORMAL',
            'cookie=0x999, priority=900,ipv6,in_port=3 actions='
            f'set_field:{base.MAC}->eth_dst,NORMAL',
            'cookie=0x998, priority=910,ip,in_port=3,nw_dst=198.51.100.10 '
            f'actions=set_field:{base.MAC}->eth_src,'
            f'set_field:{base.LRP_MAC}->eth_dst,IN_PORT',
            'cookie=0x998, priority=910,ipv6,in_port=65279,'
            f'ipv6_dst=2001:db8::10 actions=set_field:{base.MAC}->eth_src,'
            f'set_field:{base.LRP_MAC}->eth_dst,IN_PORT',
            'cookie=0x997, priority=920,ip,in_port=LOCAL,'
            'nw_dst=198.51.100.10 '
            f'actions=set_field:{base.LRP_MAC}->eth_dst,output:3,output:7',
            'cookie=0x997, priority=920,ipv6,in_port=LOCAL,'
            'ipv6_dst=2001:db8::/64 '
            f'actions=set_field:{base.LRP_MAC}->eth_dst,output:7,output:3',
            'cookie=0x997, priority=920,ip,in_port=7,'
            'nw_dst=198.51.100.0/24 actions=output:3'},
            self.ovs.flows())
        self.assertEqual(
            {}, self.backend.apply(backends.Delta(delete=tuple(wanted))))
        self.assertEqual(set(), self.ovs.flows())

    def test_twice_is_once(self):
        delta = backends.Delta(create=tuple(self.wanted()))
        self.assertEqual({}, self.backend.apply(delta))
        before = self.ovs.flows()
        self.assertEqual({}, self.backend.apply(delta))
        self.assertEqual(before, self.ovs.flows())
        delta = backends.Delta(delete=tuple(self.wanted()))
        self.assertEqual({}, self.backend.apply(delta))
        self.assertEqual({}, self.backend.apply(delta))

    def test_foreign_flow_with_our_match_is_not_replaced(self):
        for count in (1, 20):
            with self.subTest(count):
                self.ovs.ofctl('del-flows', base.BRIDGE)
                theirs = ('cookie=0x5,priority=910,in_port=3,ip,'
                          'nw_dst=198.51.100.10,actions=drop')
                self.ovs.add(theirs)
                ours = [base.hairpin(f'198.51.100.{10 + n}/32')
                        for n in range(count)]
                failed = self.backend.apply(
                    backends.Delta(create=tuple(ours)))
                self.assertEqual([ours[0].ref], list(failed))
                self.assertIn('cookie 0x5', failed[ours[0].ref])
                self.assertEqual(set(ours[1:]), self.read())
                self.assertIn('cookie=0x5, priority=910,ip,in_port=3,'
                              'nw_dst=198.51.100.10 actions=drop',
                              self.ovs.flows())
                # Deleting ours does not delete theirs either.
                self.backend.apply(backends.Delta(delete=(ours[0],)))
                self.assertEqual(count, len(self.ovs.flows()))

    def test_full_table_costs_only_what_does_not_fit(self):
        self.ovs.vsctl(
            '--no-wait', '--', '--id=@t', 'create', 'Flow_Table',
            'flow_limit=2', 'overflow_policy=refuse', '--', 'set', 'bridge',
            base.BRIDGE, 'flow_tables:0=@t')
        self.addCleanup(self.ovs.vsctl, '--no-wait', 'clear', 'bridge',
                        base.BRIDGE, 'flow_tables')
        self._wait_for_limit(2)
        wanted = [base.hairpin(f'198.51.100.{n}/32') for n in range(5)]
        failed = self.backend.apply(backends.Delta(create=tuple(wanted)))
        self.assertEqual([f.ref for f in wanted[2:]], sorted(
            failed, key=lambda ref: ref.key))
        self.assertIn('TABLE_FULL', failed[wanted[2].ref])
        self.assertEqual(set(wanted[:2]), self.read())

    def _wait_for_limit(self, limit):
        """Until the switch itself says that table 0 holds no more."""
        wanted = f'max_entries={limit}\n'
        waiting.eventually(lambda: wanted in self.ovs.ofctl(
            'dump-table-features', base.BRIDGE), wanted, 30)

    def test_invalid_items_cost_only_themselves(self):
        """Trap T49."""
        good = base.hairpin(DST)
        bad = [base.hairpin('198.51.100.0/24', in_port=0),
               base.hairpin('198.51.100.1/24'),
               base.mac_tweak(mac='0A:00:00:00:00:01'),
               base.mac_tweak(mac='x,actions=drop'),
               base.relay('203.0.113.0/24', output='normal'),
               base.relay('203.0.113.1/32', output='ports:3,3'),
               base.relay('203.0.113.2/32', in_port=3)]
        failed = self.backend.apply(backends.Delta(create=(*bad, good)))
        self.assertEqual({f.ref for f in bad}, set(failed))
        self.assertEqual({good}, self.read())

    def test_many(self):
        wanted = {base.hairpin(f'10.0.{n // 250}.{n % 250}/32')
                  for n in range(3000)}
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=tuple(wanted))))
        self.assertEqual(wanted, self.read())
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=tuple(wanted))))
        self.assertEqual(set(), self.ovs.flows())

    def test_missing_bridge(self):
        self.backend.conf.set_override('bridge_dev', 'br-none')
        with self.assertRaisesRegex(backends.BackendError, 'br-none'):
            self.backend.read(frozenset())


class TestFlow(EachWay, base.FlowTestCase):

    def changed(self, mark):
        """What a reading with a mark finds, None for what it had found."""
        found, now = self.backend.reread(frozenset, mark)
        self.assertEqual(found is None, mark is not None and mark == now)
        return None if found is None else set(found)

    def test_each_difference_is_found(self):
        """Drift right after an answer that nothing has changed, if any."""
        wanted = self.wanted()
        self.backend.apply(backends.Delta(create=tuple(wanted)))
        match = 'cookie=0x998,priority=910,in_port=3,ip,' \
            'nw_dst=198.51.100.10'
        others = set(wanted) - {base.hairpin(DST)}
        for change in (
                ('--strict', 'del-flows', base.BRIDGE,
                 match.replace('0x998', '0x998/-1')),
                ('add-flow', base.BRIDGE, match + ',actions=IN_PORT'),
                ('add-flow', base.BRIDGE, match.replace('.10', '.12') +
                 ',actions=IN_PORT')):
            found, mark = self.backend.reread(frozenset, None)
            self.assertEqual(set(wanted), set(found))
            if mark is not None:
                # Packets and time change nothing.
                self.ovs.ofctl('packet-out', base.BRIDGE, 'in_port=3,'
                               f'packet={PACKET},actions=TABLE')
                waiting.eventually(lambda: 'n_packets=1,' in self.ovs.ofctl(
                    'dump-flows', base.BRIDGE, match.replace(
                        'priority=910,', '').replace('0x998', '0x998/-1')),
                    'a packet')
                self.assertIsNone(self.changed(mark))
            self.ovs.ofctl(*change)
            self.assertLess(others, self.changed(mark) | {None})
            self.assertNotEqual(set(wanted), self.changed(mark))
            self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x998/-1')
            self.backend.apply(backends.Delta(create=tuple(wanted)))

    def fresh(self):
        """What a backend without any memory reads."""
        return set(flow.FlowBackend(configs.conf(
            bridge_dev=base.BRIDGE)).read(frozenset()))

    def test_a_memory_never_hides_a_change(self):
        """Changes by all, and readings of one backend in between."""
        dice = random.Random(35)
        for turn in range(12):
            some = [base.hairpin(f'198.51.{dice.randrange(3)}.'
                                 f'{dice.randrange(256)}/32',
                                 mac=dice.choice((base.MAC, base.LRP_MAC)))
                    for _flow in range(dice.choice((1, 1, 300)))]
            delta = (backends.Delta(delete=tuple(set(some))) if turn % 3 == 1
                     else backends.Delta(create=tuple(
                         {one.key: one for one in some}.values())))
            self.assertEqual({}, self.backend.apply(delta))
            if turn % 4 == 3:
                self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x998/-1,ip,'
                               f'nw_dst=198.51.{dice.randrange(3)}.0/25')
                self.ovs.add('cookie=0x998,priority=910,in_port=3,ip,'
                             f'nw_dst=198.51.0.{turn},actions=drop')
            self.assertEqual(self.fresh(), self.read())

    def test_changes_during_readings(self):
        """What others change meanwhile is in this reading or in the next."""
        keeps = {base.hairpin(f'198.51.100.{n}/32') for n in range(100)}
        comes = [base.hairpin(f'203.0.113.{n}/32') for n in range(100)]
        self.backend.apply(backends.Delta(create=tuple(keeps)))
        ended = threading.Event()

        def change():
            for part in range(0, 100, 5):
                match = ',priority=910,in_port=3,ip,nw_dst='
                self.ovs.add(*(f'cookie=0x998{match}203.0.113.{n},actions='
                               f'set_field:{base.MAC}->eth_src,set_field:'
                               f'{base.LRP_MAC}->eth_dst,IN_PORT'
                               for n in range(part, part + 5)))
            ended.set()
        changing = threading.Thread(target=change)
        changing.start()
        before, mark = set(), None
        while not ended.is_set():
            found, mark = self.backend.reread(frozenset, mark)
            if found is not None:
                self.assertLessEqual(keeps | before, set(found))
                self.assertLessEqual(set(found), keeps.union(comes))
                before = set(found)
        changing.join()
        self.assertEqual(keeps.union(comes), self.read())

    def test_additions_before_deletions(self):
        """Row OVS-09, as the switch tells it; nothing else is written."""
        stays, goes = base.mac_tweak(4), base.hairpin(DST)
        comes = base.hairpin(DST, in_port=7)
        self.backend.apply(backends.Delta(create=(stays, goes)))
        with self.ovs.monitor() as told:
            self.assertEqual({}, self.backend.apply(backends.Delta(
                create=(comes,), delete=(goes,))))
            events = [re.search(r'event=(\w+) .*in_port=(\w+)', line).groups()
                      for line in told() if '0x998' in line]
        self.assertEqual([('ADDED', '7'), ('DELETED', '3')], events)
        self.assertEqual({stays, comes}, self.read())

    def test_others_survive(self):
        self.ovs.add(*FOREIGN)
        before = self.ovs.flows()
        self.backend.apply(backends.Delta(create=tuple(self.wanted())))
        self.backend.apply(backends.Delta(delete=tuple(self.read())))
        self.assertEqual(before, self.ovs.flows())

    def test_a_flow_of_ovn_bgp_agent_is_replaced(self):
        """It does the same, and stays when ovn-bgp-agent has ended."""
        for family in ('ip', 'ipv6'):
            self.ovs.add(f'cookie=0x3e7,priority=900,in_port=3,{family},'
                         'actions=mod_dl_dst:0a:00:00:00:00:01,NORMAL')
        ours = {resources.Flow(
            base.BRIDGE, ownership.COOKIE_MAC_TWEAK,
            ownership.PRIORITY_MAC_TWEAK, 3, family,
            set_dst='0a:00:00:00:00:01') for family in (4, 6)}
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=tuple(ours))))
        self.assertEqual(ours, self.read())
        self.assertEqual(2, len(self.ovs.flows()))

    def test_strays_are_found_and_deleted(self):
        self.ovs.add(*FOREIGN)
        before = self.ovs.flows()
        self.ovs.add(*STRAYS)
        found = self.read()
        self.assertEqual({flow.StrayFlow.kind}, {f.kind for f in found})
        self.assertEqual(len(STRAYS), len(found))
        self.assertEqual(
            {}, self.backend.apply(backends.Delta(delete=tuple(found))))
        self.assertEqual(before, self.ovs.flows())

    def test_our_match_with_other_actions_is_repaired(self):
        flows = ('drop', 'mod_vlan_vid:5,NORMAL', 'IN_PORT,NORMAL',
                 f'set_field:{base.MAC}->eth_dst,resubmit(,3)',
                 f'set_field:{base.MAC}->eth_dst,goto_table:4')
        wanted = base.mac_tweak()
        for actions in flows:
            with self.subTest(actions):
                self.ovs.add('cookie=0x999,priority=900,in_port=3,ip,'
                             f'actions={actions}')
                found, = self.read()
                self.assertEqual(wanted.ref, found.ref)
                self.assertNotEqual(wanted, found)
                self.assertEqual({}, self.backend.apply(
                    backends.Delta(update=((found, wanted),))))
                self.assertEqual({wanted}, self.read())

    def test_our_relay_with_other_actions_is_repaired(self):
        wanted = base.relay(DST)
        for actions in ('NORMAL', 'output:3,output:3',
                        'output:3,output:LOCAL', 'output:3,dec_ttl,output:7',
                        'output:1,output:2,output:3,output:4,output:5,'
                        'output:6,output:7,output:8,output:9'):
            with self.subTest(actions):
                self.ovs.add('cookie=0x997,priority=920,in_port=LOCAL,ip,'
                             f'nw_dst=198.51.100.10,actions={actions}')
                found, = self.read()
                self.assertEqual((wanted.ref, 'other'),
                                 (found.ref, found.output))
                self.assertEqual({}, self.backend.apply(
                    backends.Delta(update=((found, wanted),))))
                self.assertEqual({wanted}, self.read())
                self.ovs.add('cookie=0x997,priority=920,in_port=LOCAL,ip,'
                             f'nw_dst=198.51.100.10,actions={actions}')
                found, = self.read()
                self.assertEqual({}, self.backend.apply(
                    backends.Delta(delete=(found,))))
                self.assertEqual(set(), self.read())

    def test_flow_with_a_timeout_is_not_ours_as_it_should_be(self):
        wanted = base.mac_tweak()
        self.ovs.add('cookie=0x999,priority=900,in_port=3,ip,hard_timeout=99,'
                     f'actions=set_field:{base.MAC}->eth_dst,NORMAL')
        found, = self.read()
        self.assertEqual('other', found.output)
        self.backend.apply(backends.Delta(update=((found, wanted),)))
        self.assertEqual({wanted}, self.read())

    def test_many_deletes_beside_a_similar_cookie(self):
        wanted = [base.hairpin(f'10.0.0.{n}/32') for n in range(200)]
        self.backend.apply(backends.Delta(create=tuple(wanted)))
        # Ours is gone, and somebody has put theirs in its place.
        self.ovs.add('cookie=0x8000000000000998,priority=910,in_port=3,ip,'
                     'nw_dst=10.0.0.7,actions=drop')
        self.backend.apply(backends.Delta(delete=tuple(wanted)))
        self.assertEqual({'cookie=0x8000000000000998, priority=910,ip,'
                          'in_port=3,nw_dst=10.0.0.7 actions=drop'},
                         self.ovs.flows())

    def test_a_missing_further_bridge_holds_up_no_other(self):
        self.backend.conf.set_override('further_bridges', ['br-none'])
        limits.fix(self.backend.conf)
        self.addCleanup(limits.forget)
        here = base.hairpin(DST)
        there = dataclasses.replace(here, bridge='br-none')
        self.assertEqual([], self.backend.read(frozenset()))
        failed = self.backend.apply(backends.Delta(create=(here, there)))
        self.assertEqual([there.ref], list(failed))
        self.assertEqual([here], self.backend.read(frozenset(failed)))


class TestStopped(base.FlowTestCase):
    """ovs-vswitchd hangs."""

    def test_stopped_open_vswitch(self):
        wanted = base.hairpin(DST)
        self.read()
        self.ovs.signal(signal.SIGSTOP)
        try:
            for attempt in ('open connection', 'new connection'):
                started = time.monotonic()
                with self.assertRaisesRegex(backends.BackendError,
                                            'does not answer'):
                    self.backend.apply(backends.Delta(create=(wanted,)))
                self.assertLess(time.monotonic() - started, 8, attempt)
        finally:
            self.ovs.signal(signal.SIGCONT)
        self.assertEqual(
            {}, self.backend.apply(backends.Delta(create=(wanted,))))
        self.assertEqual({wanted}, self.read())
