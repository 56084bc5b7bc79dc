# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the spine knows: its BGP, and its kernel's routes.

The kernel's tables are read without a process, because tests that wait read
them again and again.
"""

import json
import socket
import struct

from lab import families
from lab import frr
from lab import node as nodes
from lab import plan

# RTF_GATEWAY of linux/route.h; the other host routes are the spine's own.
_THROUGH_A_GATEWAY = 2


class Fabric:
    """A part of the :class:`lab.cloud.Cloud`."""

    def ensure_bgp(self):
        """As :meth:`wait_fabric`, unless that was awaited once."""
        if not self._waits_for_bgp:
            self.wait_fabric()

    def wait_fabric(self):
        """Wait until BGP has brought what it brings without agents."""
        self._waits_for_bgp = True
        running = [name for name in self.gateways if self[name].pid]
        nodes.wait_until('the spine has heard of all gateways', lambda: all(
            self.route(plan.LOOPBACKS[name]) is not None
            for name in running), 60)
        if self._ipv6:
            nodes.wait_until(
                'the gateways have heard of the client',
                lambda: all(map(self._way_out6, running)), 60, 0.2)

    def _way_out6(self, name):
        return 'default' in self[name].out(
            'ip', '-6', 'route', 'show', 'table',
            str(plan.VRF_TABLE) if self.VRF else 'main', 'proto', 'bgp')

    def route(self, address) -> str | None:
        """Next hop of the spine's host route to an IPv4 address.

        The route is read from the kernel's table, without a process.
        """
        return self.host_routes().get(address)

    def host_routes(self):
        """IPv4 host routes of the spine: dict of address to next hop, text."""
        path = f'/proc/{self["spine"].pid}/net/route'
        with open(path, encoding='ascii') as opened:
            rows = [line.split() for line in opened.readlines()[1:]]
        return {_address(row[1]): _address(row[2]) for row in rows
                if row[7] == 'FFFFFFFF'}

    def served(self, version=4) -> dict[str, str]:
        """The gateways to which the spine's kernel sends addresses."""
        read, name = _TABLES[version]
        with open(f'/proc/{self["spine"].pid}/net/{name}',
                  encoding='ascii') as opened:
            return {address: device.removeprefix('to-')
                    for address, device in map(read, opened.readlines())
                    if address}

    def announcers(self, address):
        """Names of the gateways that announce an address or prefix, sorted.
        """
        family = families.of(address)
        found = json.loads(frr.ask(
            self['spine'], 'bgpd', f'show bgp {family.afi} unicast '
            f'{address if "/" in address else family.prefix(address)} json'))
        # A session over link-local addresses has the name of its device.
        peers = {path['peer'].get('interface', path['peer']['peerId'])
                 for path in found.get('paths', ())}
        return sorted(name for name in self.gateways if peers.intersection(
            (plan.UPLINKS[name][1], plan.uplink6(name)[1], 'to-' + name)))

    def wait_alone(self, address, by, timeout=30):
        """Wait until one gateway alone announces an address."""
        nodes.wait_until(
            lambda: f'{address} is announced by {by}: '
                    f'{self.announcers(address)}',
            lambda: self.announcers(address) == [by], timeout)

    announcers6, wait_announced6 = announcers, wait_alone

    def announcer(self, address):
        """Name of the gateway whose announcement the spine uses, or ''."""
        return self.served(families.of(address).version).get(address, '')

    def wait_announced(self, address, by, timeout=30):
        """Wait until the spine sends an address to a gateway."""
        nodes.wait_until(
            f'{address} is announced by {by}',
            lambda: self.announcer(address) == by, timeout, interval=0.005)

    def wait_all_announced(self, addresses, by, timeout=30):
        """Wait until the spine sends all addresses to a gateway."""
        wanted = dict.fromkeys(addresses, by)
        version = families.of(next(iter(wanted), '')).version
        nodes.wait_until(
            f'{len(wanted)} addresses are announced by {by}',
            lambda: wanted.items() <= self.served(version).items(), timeout,
            interval=0.01)

    def wait_withdrawn(self, address, timeout=30):
        """Wait until the spine has no route to an address."""
        nodes.wait_until(f'{address} is withdrawn',
                         lambda: not self.announcer(address), timeout,
                         interval=0.005)

    def bgp_table(self, version=4):
        """BGP prefixes of the spine: dict of prefix to list of next hops."""
        table = json.loads(frr.ask(
            self['spine'], 'bgpd', 'show bgp '
            f'{families.FAMILIES[version].afi} unicast json'))
        return {prefix: [hop['ip'] for path in paths
                         for hop in path['nexthops']]
                for prefix, paths in table['routes'].items()}


def _address(word):
    return socket.inet_ntoa(struct.pack('=I', int(word, 16)))


def _route4(line):
    """(address or '', device) of a line of /proc/net/route."""
    words = line.split()
    if words[7] != 'FFFFFFFF':
        return '', ''
    return _address(words[1]), words[0]


def _route6(line):
    """(address or '', device) of a line of /proc/net/ipv6_route."""
    words = line.split()
    if words[1] != '80' or not int(words[8], 16) & _THROUGH_A_GATEWAY:
        return '', ''
    return (socket.inet_ntop(socket.AF_INET6, bytes.fromhex(words[0])),
            words[9])


_TABLES = {4: (_route4, 'route'), 6: (_route6, 'ipv6_route')}
