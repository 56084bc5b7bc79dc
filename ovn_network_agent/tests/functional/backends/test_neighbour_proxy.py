# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend neighbour_proxy on the real kernel."""

import errno
import socket

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.privileged.network import neighbour_proxies
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.netlink import base

MACHINE, OTHER = '2001:db8::10', '2001:db8::11'
WANTED = resources.NeighbourProxy('br-ex', MACHINE)


class ProxyTestCase(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.backend = neighbour.NeighbourProxyBackend(self.conf)

    def entries(self):
        """[(device, address, number of the program)] as ip(8) shows them."""
        found = [line.split() for line in
                 self.ip('-6 -N -d neighbour show proxy').splitlines()]
        return sorted((words[2], words[0],
                       words[words.index('proto') + 1]
                       if 'proto' in words else '') for words in found)

    def proxy(self, command):
        """Do something to an entry, as the operator would."""
        self.ip(f'-6 neighbour {command}')


class ProxyTest(ProxyTestCase):

    def test_twice_each(self):
        for _repeat in range(2):
            self.assertEqual([WANTED], self.create(self.backend, WANTED))
        self.assertEqual([('br-ex', MACHINE, '44')], self.entries())
        for _repeat in range(2):
            self.assertEqual([], self.change(self.backend, delete=(WANTED,)))
        self.assertEqual([], self.entries())

    def test_a_fresh_agent_knows_them_on_any_device(self):
        two = (WANTED, resources.NeighbourProxy('br-ex-peer', OTHER))
        self.create(self.backend, *two)
        fresh = neighbour.NeighbourProxyBackend(self.conf)
        self.assertCountEqual(two, fresh.read(frozenset()))
        self.assertEqual([], self.change(fresh, delete=two))

    def test_the_operators_own_is_neither_taken_nor_removed(self):
        for protocol in ('', ' protocol static'):
            self.proxy(f'replace proxy {MACHINE} dev br-ex{protocol}')
            before = self.entries()
            self.assertEqual([], self.backend.read(frozenset([WANTED.ref])))
            failed = self.backend.apply(backends.Delta(create=(WANTED,)))
            self.assertIn(f'ip -6 neighbour del proxy {MACHINE} dev br-ex',
                          failed[WANTED.ref])
            self.change(self.backend, delete=(WANTED,))
            self.assertEqual(before, self.entries())

    def test_another_entry_there_stays(self):
        self.proxy(f'add proxy {OTHER} dev br-ex')
        before = self.entries()
        self.assertEqual([WANTED], self.create(self.backend, WANTED))
        self.change(self.backend, delete=(WANTED,))
        self.assertEqual(before, self.entries())

    def test_gone_with_the_link_and_with_ipv6(self):
        """Each of these is a notice; the entries themselves are none."""
        for lose, undo in (
                (lambda: self.ip('link set br-ex down'),
                 lambda: self.ip('link set br-ex up')),
                (lambda: self.write('disable_ipv6', '1'),
                 lambda: self.write('disable_ipv6', '0'))):
            self.assertEqual([WANTED], self.create(self.backend, WANTED))
            lose()
            self.assertEqual([], self.backend.read(frozenset()))
            undo()
            self.assertEqual([WANTED], self.create(self.backend, WANTED))

    def write(self, name, value):
        self.set_sysctl(f'net/ipv6/conf/br-ex/{name}', value)

    def test_what_the_daemon_refuses(self):
        for bad in ('192.0.2.1', '2001:DB8::10', 'fe80::1', 'fe80::1%br-ex',
                    'ff02::1', '::1', '2001:db8::/64', '', None, 7):
            (_index, number, _text), = neighbour_proxies.set_proxies(
                [['br-ex', bad]])
            self.assertIn(number, (errno.EINVAL, errno.EPERM), bad)
        (_index, number, _text), = neighbour_proxies.set_proxies(
            [['lo', MACHINE]])
        self.assertEqual(errno.EPERM, number)
        self.assertEqual([], self.entries())


class AnswerTest(ProxyTestCase):
    """A machine behind br-ex asks for an address of another node."""

    def setUp(self):
        super().setUp()
        self.machine = namespaces.hold(self)
        self.ip(f'link set br-ex-peer netns {self.machine.pid}')
        self.machine.sh('ip link set br-ex-peer up; ip address add '
                        '2001:db8::1/64 dev br-ex-peer nodad; echo 100 > '
                        '/proc/sys/net/ipv6/neigh/br-ex-peer/retrans_time_ms')
        # The operator's, see doctor.
        self.set_sysctl('net/ipv6/conf/all/forwarding', '1')

        self.mac, = (link['address'] for link in
                     self.shown('link show dev br-ex'))
        backend = link.SysctlBackend(self.conf)
        wanted = [resources.Sysctl(f'net/ipv6/{path}', value)
                  for path, value in (('conf/br-ex/proxy_ndp', '1'),
                                      ('neigh/br-ex/proxy_delay', '0'))]
        self.assertCountEqual(wanted, self.create(backend, *wanted))

    def asks(self, address):
        """MAC address that the machine gets for an address, '' for none."""
        self.machine.run('ip', '-6', 'neighbour', 'flush', 'dev',
                         'br-ex-peer')
        with (namespaces.entered(self.machine.path), socket.socket(
                socket.AF_INET6, socket.SOCK_DGRAM) as sender):
            sender.sendto(b'x', (address, 9))
        words = waiting.eventually(lambda: self.answer(address),
                                   'an answer or none')
        return words[words.index('lladdr') + 1] if 'lladdr' in words else ''

    def answer(self, address):
        """Words of the entry of the machine, while unresolved None."""
        words = self.machine.run('ip', '-6', 'neighbour', 'show', address,
                                 'dev', 'br-ex-peer').split()
        return words if {'lladdr', 'FAILED'} & set(words) else None

    def test_answered_with_an_entry(self):
        self.assertEqual('', self.asks(MACHINE))
        self.create(self.backend, WANTED)
        self.assertEqual(self.mac, self.asks(MACHINE))
        self.assertEqual('', self.asks(OTHER))
        self.change(self.backend, delete=(WANTED,))
        self.assertEqual('', self.asks(MACHINE))

    def test_not_without_forwarding(self):
        self.create(self.backend, WANTED)
        self.set_sysctl('net/ipv6/conf/br-ex/forwarding', '0')
        self.assertEqual('', self.asks(MACHINE))

    def test_no_machine_behind_the_device_may_have_the_address(self):
        """It would find a duplicate (RFC 4862, 5.4)."""
        self.create(self.backend, WANTED)
        self.machine.sh(f'ip address add {MACHINE}/64 dev br-ex-peer')
        waiting.eventually(
            lambda: 'dadfailed' in self.machine.run(
                'ip', '-6', 'address', 'show', 'dev', 'br-ex-peer'),
            'a duplicate')
