# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The FRR backends where BGP runs in a VRF.

Needs nothing of the lab but its kernel: network namespaces and a run
directory of its own.  Skipped on a kernel without VRF devices.
"""

import contextlib
import os
import signal
import socket
import subprocess
import unittest

from lab import syscalls
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.watches.frr import frr_verification

# asm-generic/socket.h
_SO_RCVBUFFORCE = 33
VRF = 'vrf-provider'
NEXTHOP = '169.254.0.1'
BGP = base.BGP.replace('router bgp 65001', f'router bgp 65001 vrf {VRF}')
FOREIGN = ('ip route 198.51.100.0/24 169.254.0.1',
           'ip route 203.0.113.1/32 10.0.0.2',
           'ip route 203.0.113.2/32 169.254.0.1 tag 5',
           'ip route 203.0.113.4/32 blackhole')


class VrfFrr(base.Frr):
    """BGP in a VRF that a veth pair connects with the default VRF."""

    bgp = BGP

    def make_links(self):
        super().make_links()
        for command in (
                f'link add {VRF} type vrf table 1001', f'link set {VRF} up',
                f'link set uplink master {VRF}',
                'link add veth-default type veth peer name veth-provider',
                f'link set veth-provider master {VRF}',
                'address add 169.254.0.1/30 dev veth-default',
                'address add 169.254.0.2/30 dev veth-provider',
                'link set veth-default up', 'link set veth-provider up'):
            self.ip(*command.split())


def route(last, network='198.51.100'):
    return resources.Announcement(VRF, f'{network}.{last}/32', NEXTHOP)


class VrfTestCase(base.FrrTestCase):
    """With the backends, and the prefix list filled."""

    make = VrfFrr
    vrf = VRF

    @classmethod
    def setUpClass(cls):
        probe = subprocess.run(
            ['unshare', '-n', 'ip', 'link', 'add', 'v', 'type', 'vrf',
             'table', '5'], capture_output=True)
        if probe.returncode != 0:
            raise unittest.SkipTest('no VRF devices here')
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.static = frr_static.StaticBackend(self.conf)
        self.addCleanup(self.static.close)
        self.prefixes = frr_prefix_list.PrefixListBackend(self.conf)
        self.entry = resources.PrefixListEntry(base.LIST, '198.51.100.0/24')
        self.apply(self.prefixes, create=(self.entry,))

    def clear(self):
        self.frr.configure(f'vrf {VRF}', *(
            'no' + line for line in self.in_vrf()))
        super().clear()

    def in_vrf(self):
        """Static routes in the VRF, lines of the running configuration."""
        return [line for line in self.frr.running()
                if line.startswith(' ip route ')]

    def apply(self, backend, **delta):
        self.assertEqual({}, backend.apply(backends.Delta(**delta)))

    def read(self):
        return set(self.static.read(frozenset()))


class VrfTest(VrfTestCase):

    def test_announced_and_withdrawn(self):
        for last in range(10):
            self.apply(self.static, create=(route(last),))
            self.assertEqual({route(last)}, self.read())
            base.wait_until(
                lambda: self.frr.learned() == {route(last).prefix},
                'announced', 5)
            self.apply(self.static, delete=(route(last),))
            self.assertEqual(set(), self.read())
            base.wait_until(lambda: not self.frr.learned(), 'withdrawn', 5)

    def test_prefix_list_decides(self):
        self.apply(self.static, create=(route(1),))
        base.wait_until(self.frr.learned, 'announced')
        self.apply(self.prefixes, delete=(self.entry,))
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn')

    def test_the_operators_routes_survive(self):
        self.frr.configure(f'vrf {VRF}', *FOREIGN, 'exit-vrf',
                           'ip route 198.51.100.1/32 169.254.0.2')
        before = self.frr.running()
        self.assertEqual(set(), self.read())
        self.apply(self.static, create=(route(1), route(2)))
        for taken in (2, 4):
            taken = route(taken, '203.0.113')
            self.assertEqual({taken.ref}, set(self.static.apply(
                backends.Delta(create=(taken,)))))
        self.assertEqual({route(1), route(2)}, self.read())
        self.apply(self.static, delete=(route(1), route(2)))
        self.assertEqual(before, self.frr.running())

    def test_inactive_can_be_withdrawn(self):
        self.apply(self.static, create=(route(1),))
        self.frr.ip('link', 'set', 'veth-provider', 'down')
        self.addCleanup(self.frr.ip, 'link', 'set', 'veth-provider', 'up')
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn')
        self.assertEqual({route(1)}, self.read())
        self.apply(self.static, delete=(route(1),))
        self.assertEqual(set(), self.read())

    def test_many(self):
        routes = {route(n % 250, f'11.0.{n // 250}') for n in range(500)}
        self.apply(self.static, create=tuple(routes))
        self.assertEqual(routes, self.read())
        self.apply(self.static, delete=tuple(routes))
        self.assertEqual(set(), self.read())

    def test_vrf_that_does_not_exist(self):
        before = self.frr.running()
        self.conf.set_override('vrf_name', 'vrf-none', 'frr')
        self.root_side(vrf_name='vrf-none')
        self.assertEqual(set(), self.read())
        missing = resources.Announcement('vrf-none', '198.51.100.1/32',
                                         NEXTHOP)
        # FRR keeps it until the VRF appears, and it can be withdrawn.
        self.apply(self.static, create=(missing,))
        self.assertEqual({missing}, self.read())
        self.apply(self.static, delete=(missing,))
        self.assertEqual(set(), self.read())
        self.frr.configure('no vrf vrf-none')
        self.assertEqual(before, self.frr.running())


@contextlib.contextmanager
def lost_notifications(pid):
    """The kernel's notifications to a process do not fit, for the block.

    The process is stopped.  With small buffers for ever, zebra sometimes ends:
    it survives a loss before it reads, and no loss while it reads.
    """
    with contextlib.ExitStack() as stack:
        for one in _netlink_sockets(pid):
            stack.enter_context(one)
            # The kernel doubles a value that is set.
            size = one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
            stack.callback(one.setsockopt, socket.SOL_SOCKET,
                           _SO_RCVBUFFORCE, size)
            one.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 0)
        yield


def _netlink_sockets(pid):
    """Duplicates of the netlink sockets of a process, a list."""
    pidfd, found = os.pidfd_open(pid), []
    try:
        for name in os.listdir(f'/proc/{pid:d}/fd'):
            if os.readlink(f'/proc/{pid:d}/fd/{name}').startswith('socket:'):
                one = socket.socket(fileno=syscalls.pidfd_getfd(
                    pidfd, int(name)))
                if one.family == socket.AF_NETLINK:
                    found.append(one)
                else:
                    one.close()
    finally:
        os.close(pidfd)
    return found


class MissedTest(VrfTestCase):
    """Trap T39: zebra does not know what the next hop is connected to."""

    def setUp(self):
        super().setUp()
        self.enter_namespace()
        self.trigger = trigger.Trigger(0)
        self.clock = 1000.0
        self.made = frr_verification.Verification(
            self.conf, lambda: self.clock, self.trigger)

    def connected(self):
        return bgp.read_surroundings(VRF, True)['connected']

    def miss(self):
        """zebra misses that the address came back."""
        self.frr.ip('address', 'del', '169.254.0.2/30', 'dev',
                    'veth-provider')
        base.wait_until(lambda: '169.254.0.0/30' not in self.connected(),
                        'gone in zebra')
        self.frr.signal('zebra', signal.SIGSTOP)
        try:
            with lost_notifications(self.frr.pid('zebra')):
                for _time in range(100):
                    self.frr.ip('address', 'add', '192.0.2.200/32', 'dev',
                                'lo')
                    self.frr.ip('address', 'del', '192.0.2.200/32', 'dev',
                                'lo')
                self.frr.ip('address', 'add', '169.254.0.2/30', 'dev',
                            'veth-provider')
        finally:
            self.frr.signal('zebra', signal.SIGCONT)

    def look(self):
        self.made.look({route(1).prefix: 'static'})
        self.clock += 1
        return ' '.join(self.made.reasons)

    def test_told_again_at_most_once_a_minute(self):
        self.apply(self.static, create=(route(1),))
        self.made.after_pass(outcome.Outcome(
            applied=(('created', route(1)),)), None, False)
        self.miss()
        self.frr.ip('route', 'add', '192.0.2.128/25', 'via', NEXTHOP,
                    'dev', 'veth-provider', 'table', '1001')
        self.assertNotIn('169.254.0.0/30', self.connected())
        self.look()
        self.assertIn('no connected network with 169.254.0.1', self.look())
        self.assertEqual(1, self.made.repairs)
        base.wait_until(lambda: '169.254.0.0/30' in self.connected(),
                        'zebra knows it again')
        base.wait_until(lambda: 'inactive' not in self.look(), 'active')
        # Nothing else went with the address, and it stands as it was.
        self.assertIn('192.0.2.128/25', self.shown('route show table 1001'))
        addresses = self.shown('-4 address show dev veth-provider')
        self.assertIn('169.254.0.2/30', addresses)
        self.assertNotIn('169.254.0.2/32', addresses)
        self.miss()
        for _time in range(3):
            self.look()
        self.assertEqual(1, self.made.repairs)
        self.clock += 60
        self.look()
        self.assertEqual(2, self.made.repairs)

    def shown(self, command):
        return subprocess.run(['ip', *command.split()], check=True,
                              capture_output=True, text=True).stdout
