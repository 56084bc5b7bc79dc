# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""pyroute2's message classes, as we narrow them."""

from importlib import metadata
import pathlib
import re
import socket
import subprocess
import sys
import unittest

from pyroute2.netlink.rtnl import ifaddrmsg

import ovn_network_agent
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours

# linux/if_addr.h, linux/neighbour.h, linux/if_link.h
IFADDRMSG, IFA_PROTO = 8, 11
NDMSG, NDA_PROTOCOL = 12, 12
IFLA_ADDRESS = 1

# Prints what an import of some modules brings along.
IMPORT = '''
import importlib, os, sys
for name in sys.argv[1:]:
    importlib.import_module('ovn_network_agent.' + name)
asyncio = sys.modules.get('asyncio')
print('pyroute2.netlink' in sys.modules, 'pyroute2.ndb' in sys.modules,
      len(os.listdir('/proc/self/task')),
      asyncio is None or asyncio._get_running_loop() is None)
'''


class NarrowTest(unittest.TestCase):

    def test_the_class_of_pyroute2_was_used_before(self):
        """Else its table would be taken over, without our mark in 0.8."""
        ifaddrmsg.ifaddrmsg()
        made = messages.narrow(ifaddrmsg.ifaddrmsg, 'IFA_LOCAL',
                               (77, 'IFA_OURS', 'uint8'))
        body = messages.encode(made, [('IFA_OURS', 5)])
        self.assertEqual({77: b'\5'}, route_codec.attributes(body, IFADDRMSG))
        found = messages.decode(made, body, 0, len(body))
        self.assertEqual({'IFA_OURS': 5}, messages.attributes(found))

    def test_what_is_left_out_is_seen(self):
        body = (messages.encode(addresses.MESSAGE, family=socket.AF_INET) +
                route_codec.u32(9, 1))
        found = messages.decode(addresses.MESSAGE, body, 0, len(body))
        self.assertEqual({}, messages.attributes(found))
        self.assertFalse(messages.is_narrow(found))

    def test_an_unknown_name(self):
        with self.assertRaises(KeyError):
            messages.narrow(ifaddrmsg.ifaddrmsg, 'IFA_NONSENSE')


class TrapsTest(unittest.TestCase):
    """Where the lines of pyroute2 differ, or differ from the kernel."""

    def test_marks_that_0_8_does_not_know(self):
        for body, header, number in (
                (addresses.encode(7, '10.0.0.1/32', 44), IFADDRMSG, IFA_PROTO),
                (neighbours.encode(7, '10.0.0.1', '02:00:00:00:00:01', 44),
                 NDMSG, NDA_PROTOCOL)):
            self.assertEqual(
                b'\x2c', route_codec.attributes(body, header)[number])

    def test_a_device_without_a_mac_address(self):
        """A tunnel has an IP address there."""
        for size, mac in ((4, ''), (6, '00:01:02:03:04:05'), (16, ''),
                          (20, '')):
            body = links.encode_up(7) + route_codec.attribute(
                IFLA_ADDRESS, bytes(range(size)))
            self.assertEqual(mac, links.decode(body, 0, len(body)).mac)

    def test_ipv4_inside_ipv6(self):
        for text in ('::ffff:a00:1', '::102:304'):
            packed = texts.parse_address(text)[1]
            self.assertEqual(text, texts.address_text(packed))
            self.assertEqual(text, texts.canonical(
                socket.inet_ntop(socket.AF_INET6, packed)))

    def test_what_is_no_address(self):
        with self.assertRaisesRegex(ValueError, '5 bytes'):
            texts.canonical(bytes(5))


# Prints how a driver of somebody else finds pyroute2 afterwards.
WHOLE = '''
import ovn_network_agent.netlink.objects.links
import pyroute2
from pyroute2 import netns
with pyroute2.IPRoute() as iproute:
    print(pyroute2.__version__, netns.__name__, len(iproute.get_links()) > 0,
          type(pyroute2).__name__)
'''


class ImportTest(unittest.TestCase):
    """Of pyroute2 is loaded what is used, where it is; it starts nothing."""

    def imported(self, *modules):
        return subprocess.run(
            [sys.executable, '-c', IMPORT, *modules], check=True,
            capture_output=True, text=True).stdout.split()

    def test_others_find_all_of_it(self):
        said = subprocess.run(
            [sys.executable, '-c', WHOLE], check=True, capture_output=True,
            text=True).stdout.split()
        self.assertEqual([metadata.version('pyroute2'), 'pyroute2.netns',
                          'True', 'module'], said)

    def test_only_this_package_imports_it(self):
        """Others would load all of it, if they came first."""
        top = pathlib.Path(ovn_network_agent.__file__).parent
        self.assertEqual([], [
            str(path) for path in top.rglob('*.py')
            if not {'netlink', 'tests'} & set(path.relative_to(top).parts)
            and re.search(r'^ *(from|import) pyroute2', path.read_text(),
                          re.MULTILINE)])

    def test_before_the_daemons_are_forked(self):
        self.assertEqual(['True', 'False', '1', 'True'],
                         self.imported('cmd.agent'))

    def test_not_where_it_is_of_no_use(self):
        """Each of them is a process of its own, which has to start."""
        self.assertEqual('False', self.imported(
            'cmd.ctl', 'privileged.daemon.start', 'privileged.network.checks',
            'privileged.switch.openflow', 'privileged.routing.vtysh',
            'privileged.routing.bgp')[0])
