# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend rule on the real kernel."""

import dataclasses
import json
import re
import subprocess

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.tests import monitors
from ovn_network_agent.tests.functional.netlink import base

LEAK = resources.Rule(2000, 200, src='198.51.100.0/24')
INGRESS = resources.Rule(1999, 254, iif='veth-default')
ROUTE = resources.Rule(1000, 100, dst='198.51.100.10/32')
MARKS = (resources.Rule(150, 254, fwmark=(0x100, 0x100)),
         resources.Rule(151, 201, fwmark=(0x200, 0x200)))
REPLY_GUARD = resources.Rule(152, resources.BLACKHOLE, fwmark=(0x200, 0x200))
ALL = (LEAK, INGRESS, ROUTE, *MARKS)


class RuleTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.conf = self.configure('vrf-provider', route_table_id=100)
        self.backend = rule.RuleBackend(self.conf)

    def restart_with(self, table):
        """The root side of an agent with another table of the leak."""
        later = self.configure('vrf-provider', route_table_id=100)
        later.set_override('veth_leak_table_id', table, 'veth_leak')
        self.fix_limits(later)

    def rules(self):
        """Rules but the kernel's three, as ip(8) prints them."""
        return [line.split('\t')[0] + line.split('\t')[1]
                for line in self.ip('-N rule show').splitlines()
                if line.split(':')[0] not in ('0', '32766', '32767')]

    def test_all_shapes_are_created_with_our_protocol(self):
        self.assertCountEqual(ALL, self.create(self.backend, *ALL))
        self.assertCountEqual(
            ['150:from all fwmark 0x100/0x100 lookup 254 proto 44',
             '151:from all fwmark 0x200/0x200 lookup 201 proto 44',
             '1000:from all to 198.51.100.10 lookup 100 proto 44',
             '1999:from all iif veth-default [detached] lookup 254 proto 44',
             '2000:from 198.51.100.0/24 lookup 200 proto 44'],
            self.rules())

    def test_twice_makes_no_duplicates_and_deleting_twice_is_success(self):
        self.create(self.backend, *ALL)
        self.create(self.backend, *ALL)
        self.assertEqual(5, len(self.rules()))
        self.assertEqual([], self.change(self.backend, delete=ALL))
        self.assertEqual([], self.change(self.backend, delete=ALL))
        self.assertEqual([], self.rules())

    def test_a_rule_for_everything_is_refused_and_costs_only_itself(self):
        """Trap T19: it would come before the main table for all packets."""
        bad = [resources.Rule(2000, 200, src='0.0.0.0/0'),
               resources.Rule(1000, 100, dst='0.0.0.0/0'),
               resources.Rule(2001, resources.BLACKHOLE, src='0.0.0.0/0',
                              iif='br-ex')]
        failures = self.backend.apply(backends.Delta(create=(*bad, LEAK)))
        self.assertEqual({r.ref for r in bad}, failures.keys())
        self.assertIn('matches everything', failures[bad[0].ref])
        self.assertEqual(
            ['2000:from 198.51.100.0/24 lookup 200 proto 44'], self.rules())

    def test_no_packet_of_a_device_of_somebody_else_is_lost(self):
        """The operator's bridge may have the name of one of a VNI."""
        self.conf.set_override('drivers', ['evpn'])
        self.fix_limits(self.conf)
        theirs, ours = (resources.VniRule(
            ownership.EVPN_RULE_PRIORITY, resources.BLACKHOLE,
            iif=f'br-{vni:d}') for vni in (1001, 1002))
        for each in theirs, ours:
            self.ip(f'link add {each.iif} type veth')
        self.ip(f'link set {ours.iif} alias {ownership.LINK_ALIAS}')
        failures = self.backend.apply(backends.Delta(create=(theirs, ours)))
        self.assertEqual([theirs.ref], list(failures))
        self.assertIn('a device br-1001 exists which is not ours; give the '
                      'network another VNI', failures[theirs.ref])
        self.assertEqual([ours], self.backend.read(frozenset()))

    def _original(self):
        """The rules as the original program leaves them: protocol 0."""
        self.ip('link add veth-default type veth peer name veth-provider')
        self.ip('link set veth-provider up')
        for text in ('198.51.100.0/24 dev veth-provider table 10',
                     '198.51.100.10/32 dev veth-provider table 100'):
            self.ip(f'route add {text} proto 44')
        for text in ('pref 2000 from 198.51.100.0/24 table 200',
                     'pref 1999 iif veth-default table 254',
                     'pref 1000 to 198.51.100.10 table 100',
                     'pref 150 fwmark 0x100/0x100 table 254',
                     'pref 151 fwmark 0x200/0x200 table 201'):
            self.ip(f'rule add {text} protocol 0')

    def test_rules_of_the_original_are_adopted(self):
        self._original()
        self.assertCountEqual(ALL, self.backend.read(frozenset()))
        self.assertEqual([], self.change(self.backend, delete=ALL))
        self.assertEqual([], self.rules())

    def test_what_stands_beside_ours_is_not_the_originals(self):
        self._original()
        self.create(rule.RuleBackend(self.conf), *ALL)
        self.assertCountEqual(ALL, self.backend.read(frozenset()))
        self.assertEqual([], self.change(self.backend, delete=ALL))
        self.assertEqual(5, len(self.rules()))

    def test_what_the_kernel_takes_for_the_originals_survives(self):
        """A deletion cannot say "without an iif", and takes the first."""
        foreign = ('pref 2000 from 198.51.100.0/24 iif lo table 200 '
                   'protocol 0')
        self.ip('rule add ' + foreign)
        self._original()
        self.assertCountEqual(ALL, self.backend.read(frozenset()))
        failed = self.backend.apply(backends.Delta(delete=ALL))
        self.assertEqual([LEAK.ref], list(failed))
        self.assertIsInstance(failed[LEAK.ref], backends.Kept)
        self.assertEqual(['2000:from 198.51.100.0/24 iif lo lookup 200',
                          '2000:from 198.51.100.0/24 lookup 200'],
                         self.rules())
        # The other way round it is no question.
        self.ip('rule del pref 2000')
        self.ip('rule add ' + foreign)
        self.backend = rule.RuleBackend(self.conf)
        self.assertEqual([LEAK], self.backend.read(frozenset()))
        self.assertEqual([], self.change(self.backend, delete=(LEAK,)))
        self.assertEqual(['2000:from 198.51.100.0/24 iif lo lookup 200'],
                         self.rules())

    def test_look_alikes_survive(self):
        foreign = [
            # ours in all but the origin
            'pref 2000 from 198.51.100.0/24 table 200 protocol 4',
            # just like the original's, but there is no route of it
            'pref 2000 from 198.51.100.0/24 table 200 protocol 0',
            'pref 1000 to 198.51.100.10 table 100 protocol 0',
            # no origin, but not our shape
            'pref 2000 from 198.51.100.0/24 table 201 protocol 0',
            'pref 2001 from 198.51.100.0/24 table 200 protocol 0',
            'pref 2000 from 198.51.100.0/24 iif lo table 200 protocol 0',
            'pref 2000 from 198.51.100.0/24 ipproto tcp table 200 '
            'protocol 0',
            'pref 1000 to 198.51.100.0/24 table 100 protocol 0',
            'pref 150 fwmark 0x100/0x300 table 254 protocol 0',
            'not pref 2000 from 198.51.101.0/24 table 200 protocol 0']
        for text in foreign:
            self.ip('rule add ' + text)
        before = self.rules()
        self.assertEqual([], self.backend.read(frozenset()))
        self.change(self.backend, delete=ALL)
        self.assertEqual(before, self.rules())

    def test_an_equal_rule_of_the_operator_counts_as_present(self):
        self.ip('rule add pref 2000 from 198.51.100.0/24 table 200 '
                'protocol 4')
        self.assertEqual([LEAK], self.create(self.backend, LEAK))
        self.change(self.backend, delete=(LEAK,))
        self.assertEqual(
            ['2000:from 198.51.100.0/24 lookup 200 proto 4'], self.rules())

    def test_one_without_an_origin_gets_ours_beside_it(self):
        """What we make must not turn a rule of the operator into ours."""
        self.ip('rule add pref 2000 from 198.51.100.0/24 table 200 '
                'protocol 0')
        self.assertEqual([], self.backend.read(frozenset([LEAK.ref])))
        self.create(self.backend, LEAK)
        self.ip('link add veth-default type veth peer name veth-provider')
        self.ip('link set veth-provider up')
        self.ip('route add 198.51.100.0/24 dev veth-provider proto 44')
        self.backend.apply(backends.Delta(delete=(LEAK,)))
        self.assertEqual(['2000:from 198.51.100.0/24 lookup 200'],
                         self.rules())

    def test_ours_beside_an_equal_one_of_the_operator(self):
        self.create(self.backend, LEAK)
        self.ip('rule add pref 2000 from 198.51.100.0/24 table 202 '
                'protocol 4')
        self.assertEqual([LEAK], self.backend.read(frozenset([LEAK.ref])))
        self.change(self.backend, delete=(LEAK,))
        self.assertEqual(
            ['2000:from 198.51.100.0/24 lookup 202 proto 4'], self.rules())

    def test_a_leftover_of_an_update_is_seen(self):
        self.create(self.backend, LEAK)
        self.restart_with(222)
        new = resources.Rule(2000, 222, src=LEAK.src)
        self.create(self.backend, new)
        self.assertEqual([LEAK], self.backend.read(frozenset([new.ref])))
        self.assertEqual([new], self.change(
            self.backend, update=((LEAK, new),)))

    def test_marks_of_both_families(self):
        """Equal but for the family: no prefix says which one it is."""
        six = [dataclasses.replace(r, ipv6=True) for r in MARKS]
        self.assertCountEqual([*MARKS, *six],
                              self.create(self.backend, *MARKS, *six))
        self.assertEqual(
            ['0x100', '0x200'],
            [r['fwmark'] for r in self.shown('-6 rule show')
             if r['priority'] in (150, 151)])
        self.assertCountEqual(MARKS, self.change(self.backend, delete=six))
        self.assertEqual(2, len(self.rules()))
        self.assertNotIn('fwmark', self.ip('-6 rule show'))

    def _marked(self, family, destination):
        """The device that a marked answer leaves by, '' for a dropped one."""
        done = subprocess.run(
            ['ip', family, '-j', 'route', 'get', destination, 'mark',
             '0x200'], capture_output=True, text=True)
        return json.loads(done.stdout)[0]['dev'] if not done.returncode else ''

    def test_an_answer_without_its_route_is_dropped(self):
        """Only a marked one, of each family; the rule survives a restart."""
        for command in (
                'link add veth-default type veth peer name veth-provider',
                'address add 169.254.0.1/30 dev veth-default',
                'address add fe80::a9fe:1/64 dev veth-default nodad',
                'link set veth-default up', 'link set veth-provider up',
                'link add eth0 type veth peer name office',
                'address add 10.9.9.9/24 dev eth0',
                'address add fd00::9/64 dev eth0 nodad',
                'link set eth0 up', 'link set office up',
                'route add default via 10.9.9.1',
                '-6 route add default via fd00::1'):
            self.ip(command)
        wanted = [dataclasses.replace(each, ipv6=ipv6)
                  for each in (*MARKS, REPLY_GUARD) for ipv6 in (None, True)]
        self.assertCountEqual(wanted, self.create(self.backend, *wanted))
        for family, client, route in (
                ('-4', '203.0.113.9', 'via 169.254.0.2 dev veth-default'),
                ('-6', '2001:db8::9', 'via fe80::a9fe:2 dev veth-default')):
            with self.subTest(family):
                self.assertEqual('', self._marked(family, client))
                self.ip(f'{family} route add default {route} table 201')
                self.assertEqual('veth-default', self._marked(family, client))
                self.ip(f'{family} route del default table 201')
                self.assertEqual('', self._marked(family, client))
                self.assertIn('dev eth0',
                              self.ip(f'{family} route get {client}'))
        later = rule.RuleBackend(self.conf)
        self.assertCountEqual(wanted, later.read(frozenset()))
        self.assertEqual([], self.change(later, delete=wanted))
        self.assertEqual('eth0', self._marked('-4', '203.0.113.9'))

    def test_the_last_rule_goes_first(self):
        """What drops is gone before what finds a way."""
        self.create(self.backend, *MARKS, REPLY_GUARD)
        with monitors.telling(
                ['ip', 'monitor', 'rule'],
                lambda number: self.ip(f'rule add pref {number:d} '
                                       'from 192.0.2.1 table 7'),
                re.compile(r'^(\d+):\tfrom 192', re.MULTILINE)) as told:
            self.change(self.backend, delete=(*MARKS, REPLY_GUARD))
            gone = [line.split()[1] for line in told()
                    if line.startswith('Deleted')]
        self.assertEqual(['152:', '151:', '150:'], gone)

    def test_an_equal_one_of_ipv6_is_not_the_originals(self):
        self.ip('-6 rule add pref 150 fwmark 0x100/0x100 table 254 '
                'protocol 0')
        self.assertEqual([], self.backend.read(frozenset()))
        self.create(self.backend, *MARKS)
        self.change(self.backend, delete=MARKS)
        self.assertIn('0x100', self.ip('-6 rule show'))

    def test_a_bad_item_costs_only_itself(self):
        bad = (resources.Rule(0, 200, src='198.51.100.0/24'),
               resources.Rule(32766, 200, src='198.51.100.0/24'),
               resources.Rule(2000, 255, src='198.51.101.0/24'),
               resources.Rule(2000, 200),
               resources.Rule(2000, 200, fwmark=(1, 0)),
               resources.Rule(2000, 200, fwmark=(1, 1), ipv6=1),
               resources.Rule(2000, 200, dst='198.51.100.0/24', ipv6=True),
               resources.Rule(2000, 200, src='198.51.100.1/24'),
               resources.Rule(2000, 200, iif='a-name-of-16-byt'))
        failed = self.backend.apply(backends.Delta(create=(*bad, LEAK)))
        self.assertCountEqual([r.ref for r in bad], failed)
        self.assertEqual(1, len(self.rules()))

    def test_the_kernels_rules_cannot_be_deleted(self):
        failed = self.backend.apply(backends.Delta(delete=(
            resources.Rule(32766, 254), resources.Rule(32767, 253))))
        self.assertEqual(2, len(failed))
        self.assertIn('32766', subprocess.getoutput('ip rule show'))
