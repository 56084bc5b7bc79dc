# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of the nftables table: python -m tools.bench.nft [VIPS]

Needs root; works in a network namespace of its own.  The table is rendered by
the driver's own functions, and the calls go through the forked privsep
daemon, as in the agent.
"""

import argparse
import ctypes
import socket
import statistics
import struct
import subprocess
import time

from oslo_config import cfg
from pyroute2 import netlink

from ovn_network_agent import port_forwards
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import nftables
from ovn_network_agent.conf import opts
from ovn_network_agent.drivers import nft_table
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.route_codec import attribute
from ovn_network_agent.nft import codec
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged import start

CLONE_NEWNET = 0x40000000
ZONE = 64000
OTHER_ZONE = 7
BACKENDS = 2


def vips(number, port=80):
    """VIPs with a TCP and a UDP rule each, of two backends."""
    return tuple(port_forwards.Vip(
        f'192.{i >> 8 & 255}.{i & 255}.1', rules=tuple(
            port_forwards.Rule(proto, port, 8080, tuple(
                port_forwards.Destination(f'10.{i >> 8 & 255}.{i & 255}.{b}')
                for b in range(1, BACKENDS + 1)))
            for proto in ('tcp', 'udp'))) for i in range(number))


def table(found, balance):
    """The table of these VIPs."""
    return nft_table.wanted(4, found, nft_table.Manner(ZONE, balance, True))


def timed(what, function, *args):
    """Run once, print milliseconds."""
    started = time.perf_counter()
    result = function(*args)
    print(f'{what:44} {(time.perf_counter() - started) * 1e3:9.1f} ms')
    return result


def applied(backend, **delta):
    """Have a backend make changes, all of which have to succeed.

    :param delta: create, update or delete, see :class:`backends.base.Delta`
    :raises SystemExit: with the failures
    """
    failures = backend.apply(base.Delta(**delta))
    if failures:
        raise SystemExit(f'{failures}')


def tables(backend, number, balance):
    """Loads, exchanges and readings of a table."""
    print(f'{number} VIPs, 2 rules of {BACKENDS} backends, {balance}')
    small, large = (table(vips(n), balance) for n in (number - 1, number))
    timed('one transaction of nft alone', nft.replace_table,
          codec.pack(large.content), {}, [])
    timed('load, list, comment', lambda: applied(backend, create=(small,)))
    timed('one VIP added', lambda: applied(
        backend, update=((small, large),)))
    timed('one VIP removed', lambda: applied(
        backend, update=((large, small),)))
    timed('read', backend.read, frozenset([small.ref]))
    times = []
    for i in range(20):
        element = resources.NftElement('ip', 'provider_networks',
                                       f'198.51.{i}.0/24')
        started = time.perf_counter()
        applied(backend, create=(element,))
        times.append((time.perf_counter() - started) * 1e3)
    print(f'{"an element":44} '
          f'{statistics.median(times):9.1f} ms')
    timed('removed', lambda: applied(backend, delete=(small,)))


def tracked(number, zone):
    """Make connections to VIPs with netlink; no packet is needed."""
    requests = []
    for i in range(number):
        client = struct.pack('>I', 0x64400000 + i)
        vip = i % 1000
        body = b''.join((
            bytes((socket.AF_INET, 0, 0, 0)),
            nested(1, _tuple(client, bytes((
                192, vip >> 8, vip & 255, 1)), 40000, 80)),
            *(() if zone != ZONE else (nested(2, _tuple(bytes((
                192, vip >> 8, vip & 255, 1)), client, 80, 40000)),)),
            # Its time, and its zone.
            attribute(7, struct.pack('>I', 600)),
            attribute(18, struct.pack('>H', zone))))
        if zone == ZONE:
            backend = bytes((10, vip >> 8, vip & 255, 1))
            port = struct.pack('>H', 8080)
            # CTA_NAT_DST with address and port.
            body += nested(
                13, attribute(1, backend), attribute(2, backend),
                nested(3, attribute(1, port), attribute(2, port)))
        else:
            body += nested(2, _tuple(bytes((
                10, vip >> 8, vip & 255, 1)), client, 8080, 40000))
        requests.append((0x100, 0x600, body))
    with connection.Connection(
            True, connection.NETLINK_NETFILTER) as kernel:
        failures = kernel.batch(requests)
    if failures:
        raise SystemExit(f'{len(failures)}: {failures[0]}')


def _tuple(source, destination, source_port, port):
    return nested(1, attribute(1, source), attribute(2, destination)) + nested(
        2, attribute(1, bytes((17,))),
        attribute(2, struct.pack('>H', source_port)),
        attribute(3, struct.pack('>H', port)))


def nested(kind, *attributes):
    """An attribute that holds others."""
    return attribute(kind | netlink.NLA_F_NESTED, b''.join(attributes))


def connections(ours, others):
    """What it takes to forget the connections to 1,000 targets."""
    targets = [['udp', f'192.{i >> 8}.{i & 255}.1', 80,
                f'10.{i >> 8}.{i & 255}.1', 8080] for i in range(1000)]
    print(f'{ours} connections of the zone, {others} of others')
    for of_one in (targets[:1], targets):
        count = timed(f'{len(of_one)} targets removed',
                      nft.delete_connections, 'ip', ZONE, of_one)
        print(f'{"  connections deleted":44} {count:9d}')


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('vips', nargs='?', type=int, default=1000)
    parser.add_argument('--balance', nargs='*',
                        default=['jhash', 'consistent'])
    parser.add_argument('--connections', type=int, default=20000)
    parser.add_argument('--others', type=int, default=100000)
    arguments = parser.parse_args()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise SystemExit('needs root')
    conf = cfg.CONF
    opts.register(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override('rules_file', '/rules', 'port_forward')
    conf.set_override('vrf_name', 'vrf-provider', 'frr')
    # As this process, too, fills the kernel's table.
    subprocess.run(['nft', 'add table ip probe; add chain ip probe c '
                    '{ type filter hook prerouting priority 0; }; '
                    'add rule ip probe c ct state new counter'], check=True)
    start.start(conf, (privileged.netfilter,), drop=False)
    backend = nftables.NftablesBackend(conf)
    for balance in arguments.balance:
        tables(backend, arguments.vips, balance)
    tracked(arguments.connections, ZONE)
    tracked(arguments.others, OTHER_ZONE)
    connections(arguments.connections, arguments.others)


if __name__ == '__main__':
    main()
