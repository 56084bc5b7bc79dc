# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The netlink watch on the real kernel."""

import os
import queue
import threading

from ovn_network_agent.privileged.network import kernel_routes
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.watches import kernel
from ovn_network_agent.watches import notifications

# Seconds to wait for something that must come, and for what must not.
SOON = 5.0
NEVER = 0.2

MAIN = 254
OURS = (MAIN, '198.51.100.10/32')


def is_ours(*key):
    return key == OURS


def is_silent(told):
    """Whether nothing comes to a queue for a while."""
    try:
        told.get(timeout=NEVER)
    except queue.Empty:
        return True
    return False


class WatchTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.kinds = queue.SimpleQueue()
        self.said = []

    def watch(self, callback=None, **kwargs):
        self.settle()
        started = kernel.LinkWatch(callback or self.note, **kwargs)
        started.start()
        self.addCleanup(started.stop)
        return started

    def note(self, kind, by):
        self.kinds.put(kind)
        self.said.append(by)

    def settle(self):
        """Wait until the kernel has told all that setUp caused."""
        told = queue.SimpleQueue()
        first = kernel.LinkWatch(lambda kind, _by: told.put(kind))
        first.start()
        try:
            waiting.eventually(lambda: is_silent(told), 'silence', SOON)
        finally:
            first.stop()

    def expect(self, kind):
        """Wait for a notice of this kind; others may come before it."""
        seen = []
        while kind not in seen:
            try:
                seen.append(self.kinds.get(timeout=SOON))
            except queue.Empty:
                self.fail(f'no notice of {kind}, only {seen}')

    def _waiting(self):
        kinds = []
        while not self.kinds.empty():
            kinds.append(self.kinds.get())
        return kinds

    def quiet(self):
        waiting.lasts(lambda: self.assertEqual([], self._waiting()), NEVER)

    def test_each_kind(self):
        self.watch(neighbour_devices=['br-ex'])
        entry = '198.51.100.77 dev br-ex'
        for command, kind in (
                (f'neighbour add {entry} lladdr 02:00:00:00:00:01 '
                 f'nud permanent', kernel.NEIGHBOUR),
                (f'neighbour del {entry}', kernel.NEIGHBOUR),
                ('address add 203.0.113.1/24 dev br-ex', kernel.ADDRESS),
                ('address del 203.0.113.1/24 dev br-ex', kernel.ADDRESS),
                ('rule add pref 77 table 77', kernel.RULE),
                ('rule del pref 77 table 77', kernel.RULE),
                ('link set br-ex down', kernel.LINK),
                ('link del br-ex', kernel.LINK)):
            with self.subTest(command):
                self.ip(command)
                self.expect(kind)

    def test_devices_of_machines(self):
        """A machine that starts costs no reading."""
        tap = 'tap1a2b3c4d-5e'
        self.watch()
        self.ip(f'link add {tap} type veth peer name tap1a2b3c4d-51')
        self.ip(f'link set {tap} up')
        self.ip(f'address add 203.0.113.1/24 dev {tap}')
        self.set_sysctl(f'net/ipv4/conf/{tap}/proxy_arp', '1')
        self.quiet()
        self.ip(f'link del {tap}')
        self.quiet()
        self.ip('link add tap1 type veth peer name tap2')
        self.expect(kernel.LINK)

    def test_sysctl(self):
        self.watch()
        for path in ('ipv4/conf/br-ex/proxy_arp', 'ipv6/conf/br-ex/proxy_ndp'):
            with self.subTest(path):
                self.set_sysctl('net/' + path, '1')
                self.expect(kernel.SYSCTL)

    def test_route_of_ours_replaced_by_a_foreign_one(self):
        self.ip('route add 198.51.100.10/32 dev br-ex proto 44')
        self.watch(owned=is_ours)
        self.ip('route replace 198.51.100.10/32 dev br-ex proto static')
        self.expect(kernel.ROUTE)
        self.assertRegex(
            self.said[-1], r'^route 198\.51\.100\.10/32 of table 254 was '
            r'replaced with protocol 4 by netlink port \d+')

    def test_static_route_of_frr(self):
        """zebra deletes the route of a static route that FRR has lost."""
        route = '198.51.100.10/32 dev br-ex proto 196'
        other = '198.51.100.11/32 dev br-ex proto 196'
        for text in (route, other):
            self.ip('route add ' + text)
        self.watch(announced=lambda dst: dst == '198.51.100.10/32')
        self.ip('route del ' + other)
        self.ip('route del ' + route)
        self.expect(kernel.STATIC)
        # Notices keep the order of the changes.
        self.assertIn('198.51.100.10/32', ' '.join(self.said))
        self.assertNotIn('198.51.100.11/32', ' '.join(self.said))

    def test_default_route(self):
        """BGP takes the way out of the VRF, and brings it back."""
        self.watch(owned=is_ours)
        for verb in 'add', 'del':
            self.ip(f'route {verb} default dev br-ex table 77 proto bgp')
            self.expect(kernel.DEFAULT)
        self.assertRegex(self.said[-1],
                         r'^a default route was changed by netlink port \d+')

    def test_two_kinds_of_deleted_routes_at_once(self):
        address = '198.51.100.10/32'
        for text in ('203.0.113.9/32 dev br-ex proto 44',
                     f'{address} dev br-ex proto 196'):
            self.ip('route add ' + text)
        go_on = threading.Event()

        def hold(kind, by):
            self.note(kind, by)
            go_on.wait()

        self.watch(hold, announced=lambda dst: dst == address)
        self.addCleanup(go_on.set)
        self.ip('rule add pref 77 table 77')
        self.expect(kernel.RULE)
        # These two wait in the socket, and are read together.
        self.ip('route del 203.0.113.9/32')
        self.ip('route del ' + address)
        go_on.set()
        self.expect(kernel.STATIC)

    def test_other_routes_are_not_reported(self):
        self.watch(owned=is_ours)
        self.ip('route add 198.51.100.10/32 dev br-ex proto static')
        self.ip('route del 198.51.100.10/32 dev br-ex proto static')
        self.ip('route add 198.51.100.11/32 dev br-ex')
        self.ip('route replace 198.51.100.11/32 dev br-ex proto static')
        self.ip('route add 198.51.100.12/32 dev br-ex proto 44')
        self.ip('route replace 198.51.100.12/32 dev br-ex-peer proto 44')
        self.quiet()

    def test_other_neighbours_are_not_reported(self):
        self.watch(neighbour_devices=['lo'])
        self.ip('neighbour add 198.51.100.77 lladdr 02:00:00:00:00:01 '
                'dev br-ex nud permanent')
        self.quiet()

    def test_neighbours_in_the_vrf_of_a_vni(self):
        """Its devices come and go while the agent runs."""
        self.watch()
        name = 'vrf01234567-89'
        self.ip(f'link add {name} type veth peer name ovs01234567-89')
        self.expect(kernel.LINK)
        self.ip('neighbour add 198.51.100.77 lladdr 02:00:00:00:00:01 '
                f'dev {name} nud permanent')
        self.expect(kernel.NEIGHBOUR)

    def test_our_own_changes_are_not_reported(self):
        """Trap T65: what we create, replace and remove is no drift."""
        self.watch(own_ports=lambda: {netlink.port()},
                   neighbour_devices=['br-ex'])
        route = [*OURS, 'br-ex', '']
        rule = [2000, 200, '203.0.113.0/24', None, 'br-ex', None]
        address = ['br-ex', '203.0.113.1/32']
        for change, item in (
                (netlink.set_addresses, address),
                (netlink.set_neighbours,
                 ['br-ex', '198.51.100.77', '02:00:00:00:00:01']),
                (kernel_routes.set_routes, route),
                (kernel_routes.set_routes, [*route[:2], 'br-ex-peer', '']),
                (kernel_routes.delete_routes, route[:2]),
                (netlink.delete_addresses, address),
                (netlink.set_rules, rule),
                (netlink.delete_rules, [False, rule])):
            self.assertEqual([], change([item]))
        self.quiet()

    def test_an_overflow_is_reported_as_a_change_of_everything(self):
        go_on = threading.Event()

        def wait(kind, by):
            self.note(kind, by)
            go_on.wait()

        self.watch(wait)
        # 20,000 changes may take long.
        self.addCleanup(go_on.set)
        self.ip('rule add pref 77 table 77')
        self.expect(kernel.RULE)
        items = [[200, f'10.0.{i >> 8}.{i & 255}/32', 'br-ex', '']
                 for i in range(10000)]
        self.assertEqual([], kernel_routes.set_routes(items))
        self.assertEqual([], kernel_routes.delete_routes(
            [item[:2] for item in items]))
        go_on.set()
        self.expect(kernel.SYSCTL)

    def test_a_failing_callback_does_not_end_it(self):
        def fail(kind, by):
            self.note(kind, by)
            raise ValueError('on purpose')

        started = self.watch(fail)
        with self.assertLogs(notifications.__name__, 'ERROR'):
            for pref in (77, 78):
                self.ip(f'rule add pref {pref} table 77')
                self.expect(kernel.RULE)
            started.stop()

    def test_a_broken_socket_is_replaced(self):
        started = self.watch()
        with (open('/dev/null') as null, self.assertLogs(
                notifications.__name__, 'WARNING')):
            os.dup2(null.fileno(), started._socket.fileno())
            self.ip('rule add pref 77 table 77')
            # Nothing may have been missed, so everything is reported.
            self.expect(kernel.SYSCTL)
        self.ip('address add 203.0.113.1/24 dev br-ex')
        self.expect(kernel.ADDRESS)
