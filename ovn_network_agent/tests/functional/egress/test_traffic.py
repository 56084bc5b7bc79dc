# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines leave by a link of the node translated, or not at all."""

import select
import subprocess
import sys

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.egress import base
from ovn_network_agent.tests.unit import cloud

_CONNECT = '''
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 1)
except TimeoutError:
    print('silence')
except ConnectionRefusedError:
    print('refused')
'''
# The error of ICMP belongs to the connection.
_REFUSED = '''
import socket, sys
sock = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET,
                     socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 0))
sock.connect((sys.argv[2], 9))
sock.settimeout(5)
sock.send(b'x')
try:
    sock.recv(1)
except ConnectionRefusedError:
    print('refused')
'''
_SEND = '''
import socket, sys
socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET,
              socket.SOCK_DGRAM).sendto(b'x', (sys.argv[1], 7))
'''
# More than arrive in 20 seconds.
LINES = 400
# Sends all the time, from one port to one port.
ASKING = '''
import contextlib, socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 7000))
while True:
    with contextlib.suppress(OSError):
        sock.sendto(b'x', (sys.argv[2], 7000))
    time.sleep(0.05)
'''
# Says who has sent.
ANSWERING = '''
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(('203.0.114.1', 7000))
while True:
    print(sock.recvfrom(10)[1][0], flush=True)
'''


class TrafficTest(base.EgressTestCase):

    def test_both_families(self):
        """Whatever the kernel demands of the source of a packet."""
        for family, strict in ((4, '0'), (4, '1'), (4, '2'), (6, '0')):
            with self.subTest(family=family, strict=strict):
                self.filter_sources(strict)
                self.run_pass(self.host(family))
                for target in (base.NEAR[family], base.FAR[family]):
                    self.reaches(base.MACHINE[family], target)
        self.assertEqual(0, self.counted('untranslated'))
        self.assertGreater(self.counted('translated'), 0)

    def test_nothing_but_a_connection_leaves(self):
        """Packets of no connection, untracked ones, and those of others."""
        self.run_pass(self.host())
        self.reaches(base.MACHINE[4], base.FAR[4])
        subprocess.run(['nft', '-f', '-'], check=True, text=True, input='''
            table ip raw { chain pre {
                type filter hook prerouting priority raw;
                iifname "br-ex" notrack
            }
            }''')
        self.assertFalse(self.pings(base.MACHINE[4], base.FAR[4]))
        self.assertEqual(0, self.counted('untranslated'))

    def test_no_stranger_reaches_a_machine(self):
        """A host on the link takes the node for the way to tenants."""
        self.run_pass(self.host(), self.host(6))
        for family in (4, 6):
            self.reaches(base.MACHINE[family], base.NEAR[family])
            self.assertEqual('refused', self.router.run(
                sys.executable, '-c', _REFUSED, base.MACHINE[family],
                base.FAR[family]).strip())
        self.router.sh('''nft -f - <<END
            table inet judge {
                counter strangers { }
                chain seen {
                    type filter hook prerouting priority raw;
                    iifname uplink udp dport 7 counter name strangers
                }
            }
END
''')
        for family, node in ((4, '203.0.113.5'), (6, '2001:db8:7::5')):
            self.outside.run('ip', 'route', 'add', base.MACHINE[family],
                             'via', node)
            self.outside.run(sys.executable, '-c', _SEND,
                             base.MACHINE[family])
            # What comes behind has passed, so the other one would have.
            self.reaches(base.MACHINE[family], base.NEAR[family])
        self.assertIn('packets 0 ', self.router.sh(
            'nft list counter inet judge strangers'))

    def test_no_program_answers_at_the_address(self):
        """A reset would end a connection whose gateway has just moved."""
        self.run_pass(self.host(), self.host(6))
        for family, own in ((4, '203.0.113.5'), (6, '2001:db8:7::5')):
            self.outside.run('ping', '-c1', '-W2', base.EGRESS[family])
            for address, status in ((own, 'refused'),
                                    (base.EGRESS[family], 'silence')):
                self.assertEqual(status, self.outside.run(
                    sys.executable, '-c', _CONNECT, address).strip())

    def test_a_machine_with_an_address_of_the_node(self):
        """A tenant chose it; the packets of the node leave as before."""
        for family, node in ((4, '203.0.113.5'), (6, '2001:db8:7::5')):
            self.run_pass(self.host(), self.host(6))
            self.ip(f'address add {base.MACHINE[family]} dev lo')
            before = self.counted('untranslated')
            subprocess.run(['ping', '-c2', '-i0.2', '-W1', '-I',
                            base.MACHINE[family], base.NEAR[family]],
                           capture_output=True)
            self.assertEqual(before + 2, self.counted('untranslated'))
            # Likewise what arrives for the node.
            self.outside.run('ip', 'route', 'add', base.MACHINE[family],
                             'via', node)
            self.outside.run('ping', '-c1', '-W2', base.MACHINE[family])

    def test_connections_of_before(self):
        """What the kernel tracks already leaves with the present address."""
        ask = subprocess.Popen(self.router.inside(
            sys.executable, '-c', ASKING, base.MACHINE[4], base.FAR[4]),
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(ask.stdout.close)
        self.addCleanup(ask.wait)
        self.addCleanup(ask.kill)
        answers = self.outside.inside(sys.executable, '-c', ANSWERING)
        server = subprocess.Popen(answers, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.ip('route add 10.0.1.0/24 via 198.51.100.1 dev br-ex onlink')
        self.set_sysctl('net/ipv4/conf/out0/forwarding', '1')
        seen = [self.line(server)]
        for address in (base.EGRESS[4], '203.0.113.78'):
            self.run_pass(self.host(address=address))
            for _line in range(LINES):
                if seen[-1] == address:
                    break
                seen.append(self.line(server))
        self.assertEqual(
            [base.MACHINE[4], base.EGRESS[4], '203.0.113.78'],
            list(dict.fromkeys(seen)))
        self.run_pass()

    def line(self, process):
        """The next line of a process, within a time that is long enough."""
        ready = select.select([process.stdout], [], [], 30)[0]
        self.assertTrue(ready, self.failed('nothing arrives'))
        return process.stdout.readline().strip()

    def test_removal_under_traffic(self):
        """The machine still sends while the objects go, and afterwards."""
        other = self.host(machine=base.OTHER[4])
        self.run_pass(self.host(), other)
        self.reaches(base.MACHINE[4], base.FAR[4])
        flood = subprocess.Popen(self.router.inside(
            'ping', '-q', '-i0.002', '-I', base.MACHINE[4], base.FAR[4]),
            stdout=subprocess.DEVNULL)
        self.addCleanup(flood.wait)
        self.addCleanup(flood.kill)
        router = cloud.router(nats=(cloud.fip(
            base.GATEWAY[4], type='snat', logical_ip='10.0.1.0/24'),))
        for _repeat in range(5):
            self.run_pass(other, routers=[router])
            self.run_pass(self.host(), other, routers=[router])
        self.run_pass(routers=[router])
        self.assertFalse(self.pings(base.MACHINE[4], base.FAR[4]))
        self.assertEqual(0, self.counted('untranslated'))
        self.assertNotIn(base.MACHINE[4], self.ruleset())

    def test_the_stop_keeps_the_drop_of_a_row_that_is_left(self):
        self.run_pass(self.host())
        self.reaches(base.MACHINE[4], base.FAR[4])
        self.run_pass(self.host(), phase=model.Phase.STOPPED)
        self.assertFalse(self.pings(base.MACHINE[4], base.FAR[4]))
        self.assertEqual(0, self.counted('untranslated'))
        self.assertEqual([ownership.EGRESS_DROP], self.priorities())
        # The next start finds it; what is left are the rules of answers.
        self.agent()
        self.run_pass()
        self.assertEqual([ownership.EGRESS_BACK, ownership.EGRESS_DROP],
                         self.priorities())
        self.assertNotIn(base.MACHINE[4], self.ip('rule'))
        self.assertNotIn(base.EGRESS[4], self.ip('address'))

    def test_answers_to_a_machine_that_has_gone(self):
        """They are dropped, also while the kernel knows the connection."""
        for family in (4, 6):
            self.run_pass(self.host(family))
            self.assertIn('dev br-ex', self.way_of_answers(family).stdout)
            self.run_pass()
            self.assertNotEqual(0, self.way_of_answers(family).returncode)

    def way_of_answers(self, family):
        return subprocess.run(
            ['ip', 'route', 'get', base.MACHINE[family], 'mark',
             str(ownership.MARK_EGRESS)], text=True, capture_output=True)

    def priorities(self):
        return [each['priority'] for each in self.shown('rule show')
                if each['priority'] in ownership.EGRESS_PRIORITIES]

    def ruleset(self):
        return subprocess.run(['nft', 'list', 'ruleset'], check=True,
                              text=True, capture_output=True).stdout
