# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Router advertisements of a real zebra."""

import signal
import socket
import struct

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import marked_lines
from ovn_network_agent.privileged.routing import router_advertisements
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import daemons

DEV = base.BRIDGE
NET, OTHER_NET = '2001:db8:1::/64', '2001:db8:2::/64'
WANTED = resources.RouterAdvertisement(DEV, (NET, OTHER_NET))
ROUTER = ownership.SEGMENT_LINK_LOCAL
LINES = [f'ipv6 nd prefix {NET} off-link no-autoconfig',
         f'ipv6 nd prefix {OTHER_NET} off-link no-autoconfig',
         'ipv6 nd ra-interval msec 30044', 'ipv6 nd ra-lifetime 1844',
         'no ipv6 nd suppress-ra']


class Zebra(daemons.Daemons):
    """zebra, and a machine behind the device of a segment."""

    def __init__(self):
        super().__init__()
        self.machine = namespaces.Namespace()
        try:
            # The operator's, see doctor.  With it the kernel is in the group
            # of all routers, while zebra joins it once for a name.
            self.namespace.sh('echo 1 > /proc/sys/net/ipv6/conf/all/'
                              'forwarding')
            if daemons.holder() == 'mgmtd':
                self.start('mgmtd')
            self.make_device()
            self.start('zebra')
        except BaseException:
            self.stop()
            raise

    def make_device(self):
        for command in (
                f'link add {DEV} type veth peer name eth0 netns '
                f'{self.machine.pid}', f'link set {DEV} addrgenmode none up',
                f'address add {ROUTER}/64 dev {DEV} nodad'):
            self.ip(*command.split())
        self.machine.run('ip', 'link', 'set', 'eth0', 'up')

    def stop(self):
        self.machine.close()
        super().stop()


class AdvertisementTestCase(base.FrrTestCase):

    make = Zebra

    def setUp(self):
        super().setUp()
        self.backend = marked_lines.RouterAdvertisementBackend(
            self.conf)
        self.before = self.frr.running()

    def clear(self):
        """What a test has left."""
        if self.block():
            self.operator(*map(undone, self.block()))

    def operator(self, *lines):
        """Change the interface, as the operator would."""
        self.frr.configure(f'interface {DEV}', *lines)

    def block(self):
        """Lines of the interface, a sorted list."""
        found, inside = [], False
        for line in self.frr.running():
            if not line.startswith(' '):
                inside = line == f'interface {DEV}'
            elif inside:
                found.append(line.strip())
        return sorted(found)

    def read(self):
        return self.backend.read(frozenset([WANTED.ref]))

    def apply(self, **delta):
        return self.backend.apply(backends.Delta(**delta))


def undone(line):
    if line.endswith('suppress-ra'):
        return line.removeprefix('no ')
    words = line.split()
    return 'no ' + ' '.join(words[:4] if words[2] == 'prefix' else words[:3])


class EachWay:
    """By the socket and by vtysh: writing, reading, a restart."""

    def test_twice_each(self):
        self.assertEqual([], self.read())
        for _attempt in range(2):
            self.assertEqual({}, self.apply(create=(WANTED,)))
            self.assertEqual([WANTED], self.read())
            self.assertEqual(LINES, self.block())
        for _attempt in range(2):
            self.assertEqual({}, self.apply(delete=(WANTED,)))
            self.assertEqual(self.before, self.frr.running())

    def test_a_restarted_zebra_has_forgotten_it(self):
        self.apply(create=(WANTED,))
        self.frr.kill('zebra')
        with self.assertRaisesRegex(backends.BackendError, 'running|zebra'):
            self.read()
        self.frr.start('zebra')
        self.assertEqual([], self.read())
        self.assertEqual({}, self.apply(create=(WANTED,)))
        self.assertEqual([WANTED], self.read())


class TestConfiguration(EachWay, AdvertisementTestCase):

    def test_the_operators_own_are_not_touched(self):
        for lines in (['no ipv6 nd suppress-ra'],
                      ['ipv6 nd ra-interval 5'], [f'ipv6 nd prefix {NET}'],
                      ['ipv6 nd ra-lifetime 700', 'no ipv6 nd suppress-ra']):
            with self.subTest(lines):
                self.operator(*lines)
                there = self.frr.running()
                self.assertEqual([], self.read())
                reason = self.apply(create=(WANTED,))[WANTED.ref]
                for part in (DEV, *lines, *map(undone, lines)):
                    self.assertIn(f'{part}', reason)
                self.assertEqual({}, self.apply(delete=(WANTED,)))
                self.assertEqual(there, self.frr.running())
                self.clear()

    def test_a_bad_item_fails_alone(self):
        bad = [resources.RouterAdvertisement(dev, prefixes)
               for dev, prefixes in (
                   ('lo', (NET,)), ('br ex', ()), ('eth0\nend', ()),
                   (DEV, ('192.0.2.0/24',)), (DEV, ('::/0',)),
                   (DEV, ('fe80::/64',)), (DEV, ('2001:db8::1/64',)))]
        for resource in bad:
            self.assertEqual([resource.ref],
                             list(self.apply(create=(resource,))))
        self.assertEqual(self.before, self.frr.running())
        self.assertEqual([bad[0].ref], list(self.apply(
            create=(bad[0], WANTED))))
        self.assertEqual(LINES, self.block())

    def test_other_prefixes(self):
        for prefixes in ((OTHER_NET,), (), (NET, '2001:db8::/32')):
            new = resources.RouterAdvertisement(DEV, prefixes)
            self.assertEqual({}, self.apply(update=((WANTED, new),)))
            self.assertEqual([new], self.read())
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.assertEqual(self.before, self.frr.running())

    def test_flags(self):
        former = WANTED
        for flags in ((True, False), (True, True), (False, True)):
            new = resources.RouterAdvertisement(DEV, (NET,), *flags)
            self.assertEqual({}, self.apply(update=((former, new),)))
            self.assertEqual([new], self.read())
            self.assertEqual(flags, tuple(
                f'ipv6 nd {word}-config-flag' in self.block()
                for word in ('managed', 'other')))
            former = new
        self.assertEqual({}, self.apply(delete=(former,)))
        self.assertEqual(self.before, self.frr.running())

    def test_each_lost_line_is_seen_and_written_again(self):
        self.apply(create=(WANTED,))
        for change in (*map(undone, LINES), f'ipv6 nd prefix {NET}',
                       'ipv6 nd ra-interval 1800', 'ipv6 nd ra-lifetime 40'):
            with self.subTest(change):
                self.operator(change)
                found, = self.read()
                self.assertEqual(WANTED.ref, found.ref)
                self.assertNotEqual(WANTED, found)
                self.assertEqual({}, self.apply(update=((found, WANTED),)))
                self.assertEqual(LINES, self.block())

    def test_further_lines_of_the_operator_stay(self):
        further = ['ipv6 nd managed-config-flag',
                   'ipv6 nd prefix 2001:db8:9::/64']
        self.operator(further[0])
        self.assertEqual({}, self.apply(create=(WANTED,)))
        self.operator(further[1])
        self.assertEqual([WANTED], self.read())
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.assertEqual(further, self.block())

    def test_the_device_has_gone(self):
        self.apply(create=(WANTED,))
        self.frr.ip('link', 'del', DEV)
        self.addCleanup(self.frr.make_device)
        self.assertEqual([WANTED], self.read())
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.assertEqual(self.before, self.frr.running())

    def test_without_frr(self):
        """It is missed only by who wants something of it."""
        self.root_side(vtysh_wrapper='/nonexistent')
        self.assertEqual([], self.backend.read(frozenset()))
        with self.assertRaisesRegex(backends.BackendError, 'nonexistent'):
            self.read()

    def test_frr_hangs(self):
        """What it has is unknown, also to who wants nothing of it."""
        self.root_side(vtysh_timeout=1)
        self.frr.signal('zebra', signal.SIGSTOP)
        self.addCleanup(self.frr.signal, 'zebra', signal.SIGCONT)
        self.assertRaises(backends.BackendError, self.backend.read,
                          frozenset())


class TestConfigurationByVtysh(EachWay, AdvertisementTestCase):
    """Where the sockets of the daemons are not to be used."""

    def setUp(self):
        super().setUp()
        self.root_side(vtysh_wrapper='env')


class TestSocket(AdvertisementTestCase):

    def test_a_reading_costs_no_process(self):
        self.apply(create=(WANTED,))
        self.path('/nonexistent')
        self.assertEqual([[DEV, True, [NET, OTHER_NET], [False, False]]],
                         router_advertisements.read())


class TestMachine(AdvertisementTestCase):
    """What arrives at the other end (RFC 4861, 4.2)."""

    def setUp(self):
        super().setUp()
        with namespaces.entered(self.frr.machine.path):
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                                        socket.IPPROTO_ICMPV6)
        self.addCleanup(self.socket.close)
        self.socket.settimeout(20)

    def heard(self):
        """(source, flags, lifetime, options) of the next advertisement."""
        while True:
            data, source = self.socket.recvfrom(2048)
            if data[0] == 134:
                _hops, flags, lifetime = struct.unpack_from('!BBH', data, 4)
                return (source[0].partition('%')[0], flags, lifetime,
                        dict(options(data[16:])))

    def routes(self):
        """IPv6 routes of the machine, without those of link-local."""
        return [' '.join(line.split()[:5]) for line in
                self.frr.machine.run('ip', '-6', 'route').splitlines()
                if not line.startswith('fe80::/')]

    def test_a_default_router_and_nothing_else(self):
        self.apply(create=(WANTED,))
        source, flags, lifetime, found = self.heard()
        # Neither M nor O, and no preference.
        self.assertEqual((ROUTER, 0, 1844), (source, flags, lifetime))
        # Prefix length; neither L nor A.
        self.assertEqual(
            {(NET, 64, 0), (OTHER_NET, 64, 0)}, found['prefixes'])
        base.wait_until(self.routes, 'a default route')
        self.assertEqual([f'default via {ROUTER} dev eth0'], self.routes())
        self.assertNotIn('2001:db8', self.frr.machine.run(
            'ip', '-6', 'address', 'show', 'dev', 'eth0'))

    def test_the_end_is_said(self):
        self.apply(create=(WANTED,))
        base.wait_until(self.routes, 'a default route')
        self.apply(delete=(WANTED,))
        while self.heard()[2]:
            pass
        base.wait_until(lambda: not self.routes(), 'no default route')

    def test_a_device_that_is_made_again(self):
        self.apply(create=(WANTED,))
        self.frr.ip('link', 'del', DEV)
        self.frr.make_device()
        base.wait_until(self.routes, 'a default route')


def options(data):
    """The prefixes of an advertisement (RFC 4861, 4.6.2)."""
    prefixes = set()
    while data:
        kind, length = data[0], data[1] * 8
        if kind == 3:
            prefixes.add((f'{socket.inet_ntop(socket.AF_INET6, data[16:32])}'
                          f'/{data[2]}', data[2], data[3]))
        data = data[length:]
    yield 'prefixes', prefixes
