# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Backend relay_port, on a real Open vSwitch."""

from concurrent import futures
import dataclasses
import signal
import time

from oslotest import base as oslotest

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovs import base
from ovn_network_agent.tests.unit import world as worlds

NAME = ownership.relay_name(base.address(2))
MARK = 'external_ids:ovn-network-agent=managed'


@openflow.needs_open_vswitch
class RelayPortTestCase(oslotest.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.ovs = openflow.OpenVSwitch()
        self.addCleanup(self.ovs.stop)
        self.local = self.database()
        self.backend = self.local.backend()

    def database(self):
        made = base.LocalDatabase(self.ovs.remote)
        self.addCleanup(made.stop)
        return made

    def read(self):
        return self.backend.read(frozenset())

    def create(self, *wanted):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=wanted)))

    def delete(self, *unwanted):
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=unwanted)))

    def add_bridge(self, name):
        self.ovs.vsctl('--no-wait', 'add-br', name, '--', 'set', 'bridge',
                       name, 'datapath_type=netdev')
        self.eventually(lambda: self.local.has_bridge(name), 'replicated')

    def names(self, bridge=base.BRIDGE):
        """What Open vSwitch has made, not only what is in the database."""
        shown = self.ovs.ofctl('show', bridge)
        return {line.split('(')[1].split(')')[0]
                for line in shown.splitlines() if '): addr' in line}

    eventually = staticmethod(waiting.eventually)


class RelayPortTest(RelayPortTestCase):

    def test_it_is_made_and_removed(self):
        wanted = base.relay()
        self.assertEqual([], self.read())
        self.create(wanted)
        # It is there when apply() says so.
        self.assertIn(NAME, self.names())
        self.assertEqual([wanted], self.read())
        self.assertEqual(
            {'remote_ip': base.address(2), 'csum': 'true',
             'df_default': 'false', 'key': '16777028'},
            self.column('interface', 'options'))
        self.assertEqual('geneve', self.ovs.vsctl(
            'get', 'interface', NAME, 'type').strip())
        self.create(wanted)
        self.delete(wanted)
        self.assertEqual([], self.read())
        self.eventually(lambda: NAME not in self.names(), 'removed')
        self.delete(wanted)
        self.assertNotIn(NAME, self.ovs.vsctl('list', 'interface'))

    def column(self, table, column):
        """A map column of the relay."""
        text = self.ovs.vsctl('get', table, NAME, column).strip()
        pairs = text.strip('{}').split(', ')
        return {key: value.strip('"') for key, _equal, value in
                (pair.partition('=') for pair in pairs)}

    def test_each_bridge_has_its_own_to_the_same_node(self):
        """Open vSwitch refuses a second tunnel with the same number."""
        self.add_bridge('br-two')
        one = base.relay()
        same = base.relay(bridge='br-two', name='ona-same')
        other = dataclasses.replace(
            same, name=ownership.relay_name(base.address(2), 'physnet2'),
            tunnel=ownership.relay_key('physnet2'))
        self.create(one, other)
        self.assertCountEqual([one, other], self.read())
        self.assertIn(other.name, self.names('br-two'))
        failed = self.backend.apply(backends.Delta(create=(same,)))
        self.assertEqual([same.ref], list(failed))
        self.delete(one, other, same)
        self.assertEqual([], self.read())

    def test_an_agent_that_has_just_started_knows_it(self):
        wanted = [base.relay(), base.relay('2001:db8::2', 'vxlan')]
        self.create(*wanted)
        after = self.database()
        backend = after.backend()
        self.assertCountEqual(wanted, backend.read(frozenset()))
        self.assertEqual({}, backend.apply(backends.Delta(
            delete=tuple(wanted))))
        self.assertEqual([], backend.read(frozenset()))
        self.eventually(lambda: self.names() == {base.BRIDGE}, self.names)

    def test_a_changed_one_is_repaired(self):
        wanted = base.relay()
        self.create(wanted)
        for change in (
                ('clear', 'port', NAME, 'trunks'),
                ('clear', 'port', NAME, 'vlan_mode'),
                ('set', 'port', NAME, 'protected=false'),
                ('clear', 'port', NAME, 'other_config'),
                ('set', 'interface', NAME, 'options:key=flow'),
                ('set', 'interface', NAME, 'options:remote_ip=192.0.2.7'),
                ('set', 'interface', NAME, 'options:dst_port=7777'),
                ('set', 'interface', NAME, 'type=vxlan'),
                ('clear', 'interface', NAME, 'external_ids')):
            self.ovs.vsctl(*change)
            found, = self.eventually(
                lambda: [r for r in self.read() if r != wanted], change)
            self.assertEqual(wanted.ref, found.ref)
            self.assertEqual({}, self.backend.apply(
                backends.Delta(update=((found, wanted),))))
            self.assertEqual([wanted], self.read())

    def test_a_change_of_others_wakes_and_is_read_again(self):
        self.create(base.relay())
        for change in (('clear', 'port', NAME, 'trunks'),
                       ('clear', 'interface', NAME, 'options'),
                       ('del-port', NAME)):
            while self.local.trigger.wait(0.2):
                pass
            self.ovs.vsctl(*change)
            self.eventually(self.is_in_doubt, change)

    def is_in_doubt(self):
        wake = self.local.trigger.wait(0.1)
        return 'relay_port' in worlds.doubted(wake)

    def test_others_ports_survive(self):
        wanted = base.relay()
        theirs = (('add-port', base.BRIDGE, 'ona-theirs', '--', 'set',
                   'interface', 'ona-theirs', 'type=internal'),
                  ('add-port', base.BRIDGE, 'marked', '--', 'set', 'port',
                   'marked', MARK, '--', 'set', 'interface', 'marked',
                   'type=internal', MARK))
        for args in theirs:
            self.ovs.vsctl(*args)
        self.create(wanted)
        self.assertEqual([wanted], self.read())
        self.delete(wanted, base.relay(name='marked'),
                    base.relay(name='ona-theirs'))
        self.eventually(lambda: NAME not in self.names(), 'removed')
        self.assertLess({'marked', 'ona-theirs'}, self.names())

    def test_a_port_of_others_with_our_name_is_reported(self):
        wanted, good = base.relay(), base.relay('192.0.2.3')
        self.ovs.vsctl('add-port', base.BRIDGE, NAME, '--', 'set',
                       'interface', NAME, 'type=internal')
        self.eventually(lambda: NAME in self.names(), 'made')
        before = self.ovs.vsctl('list', 'port', NAME)
        failed = self.backend.apply(backends.Delta(create=(wanted, good)))
        self.assertEqual([wanted.ref], list(failed))
        self.assertIn('not ours', failed[wanted.ref])
        self.assertIn(NAME, failed[wanted.ref])
        self.delete(wanted)
        self.assertEqual(before, self.ovs.vsctl('list', 'port', NAME))
        self.assertEqual([good], self.read())

    def test_one_on_another_bridge_is_ours_and_goes(self):
        # [DEFAULT] bridge_dev was changed.
        self.add_bridge('br-old')
        old, new = base.relay(bridge='br-old'), base.relay()
        self.create(old)
        self.assertEqual([old], self.read())
        self.assertIn('another bridge', self.backend.apply(
            backends.Delta(create=(new,)))[new.ref])
        self.delete(old)
        self.create(new)
        self.assertEqual([new], self.read())

    def test_ovs_vswitchd_sees_it_leave_and_come_at_once(self):
        self.add_bridge('br-old')
        old, new = base.relay(bridge='br-old'), base.relay()
        self.create(old)
        self.ovs.signal(signal.SIGSTOP)
        self.delete(old)
        with futures.ThreadPoolExecutor(1) as beside:
            made = beside.submit(self.create, new)
            try:
                self.eventually(lambda: NAME in self.ovs.vsctl(
                    'list-ports', base.BRIDGE), 'in the database')
            finally:
                self.ovs.signal(signal.SIGCONT)
            made.result()
        self.assertEqual([new], self.read())

    def test_what_open_vswitch_cannot_make_is_a_failure(self):
        # '' where SB does not say it; OVN knows stt, too.
        for refused, reason in (
                *((base.relay(encap=encap), 'geneve or vxlan')
                  for encap in ('', 'stt', 'system')),
                (base.relay(bridge='br-none'), 'no bridge br-none')):
            self.assertIn(reason, self.backend.apply(
                backends.Delta(create=(refused,)))[refused.ref])
            self.assertEqual([], self.read())
        bad, good = base.relay('no address', name=NAME), base.relay(
            '192.0.2.3')
        failed = self.backend.apply(backends.Delta(create=(bad, good)))
        self.assertEqual([bad.ref], list(failed))
        self.assertIn(NAME, failed[bad.ref])
        self.assertCountEqual(
            [good, base.relay('no address', '', name=NAME)], self.read())
        self.assertEqual(1, len(self.local.wiring().relays))

    def test_the_view_has_what_a_flow_can_name(self):
        self.assertEqual((), self.local.wiring().relays)
        self.create(base.relay('192.0.2.3'), base.relay())
        self.ovs.vsctl('add-port', base.BRIDGE, 'tun', '--', 'set',
                       'interface', 'tun', 'type=geneve',
                       'options:remote_ip=192.0.2.9')
        self.assertEqual(tuple(
            model.Relay(base.BRIDGE, remote, self.number(remote),
                        name=ownership.relay_name(remote))
            for remote in ('192.0.2.2', '192.0.2.3')),
            self.local.wiring().relays)

    def test_a_spanning_tree_leaves_it_out(self):
        self.create(base.relay())
        self.ovs.vsctl('add-port', base.BRIDGE, 'other', '--', 'set',
                       'interface', 'other', 'type=geneve',
                       'options:remote_ip=192.0.2.9')
        for option in ('stp', 'rstp'):
            self.ovs.vsctl('set', 'bridge', base.BRIDGE,
                           option + '_enable=true')
            shown = self.eventually(
                lambda o=option: 'other' in self.tree(o) and self.tree(o),
                option)
            self.assertNotIn(NAME, shown)
            self.ovs.vsctl('set', 'bridge', base.BRIDGE,
                           option + '_enable=false')

    def tree(self, option):
        return self.ovs.appctl(option + '/show', base.BRIDGE)

    def number(self, remote):
        return int(self.ovs.vsctl('get', 'interface',
                                  ownership.relay_name(remote), 'ofport'))


class HangingTest(RelayPortTestCase):

    def test_without_ovs_vswitchd_it_is_not_there(self):
        self.ovs.kill()
        wanted = base.relay()
        backend = self.local.backend(timeout=1)
        self.assertIn('ovs-vswitchd has not made the port', backend.apply(
            backends.Delta(create=(wanted,)))[wanted.ref])
        found, = self.read()
        self.assertNotEqual(wanted, found)
        self.assertEqual((), self.local.wiring().relays)
        self.ovs.start()
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((found, wanted),))))
        self.assertEqual([wanted], self.read())

    def test_a_server_that_hangs_holds_nothing_up(self):
        backend = self.local.backend(timeout=2)
        self.ovs.pause_database()
        started = time.monotonic()
        self.assertRaises(backends.BackendError, backend.apply,
                          backends.Delta(create=(base.relay(),)))
        self.assertLess(time.monotonic() - started, 10)
        # The loop can read meanwhile, and does.
        self.assertEqual((), self.local.wiring().relays)
        self.ovs.resume_database()
        # What was sent before may be carried out at this very moment; the
        # next attempt, as the loop makes it, finds it there.
        self.eventually(lambda: self.backend.apply(backends.Delta(
            create=(base.relay(),))) == {}, 'made')
        self.assertEqual([base.relay()], self.read())
