# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of netlink in Python: python -m tools.bench.netlink [NUMBER]

Three ways: our own codec of routes, pyroute2's message classes behind our
socket, and pyroute2's IPRoute.  Needs root; works in a network namespace of
its own.  Times are of the processor, the least of several runs, but where
the wall is named.
"""

import argparse
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import time

import pyroute2
from pyroute2.netlink.rtnl import rtmsg

from ovn_network_agent.netlink import addresses
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import conntrack
from ovn_network_agent.netlink import links
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import neighbours
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import rules
from ovn_network_agent.netlink import wire

CLONE_NEWNET = 0x40000000
TABLE = 200
RUNS = 7
CALLS = 300

# What an import costs a process that has the agent's other libraries.
IMPORT = '''
import asyncio, multiprocessing, os, time
import oslo_config.cfg, oslo_log.log, oslo_privsep.daemon, ovs.db.idl
def resident():
    with open('/proc/self/statm') as opened:
        return int(opened.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
before, started = resident(), time.process_time()
import ovn_network_agent.netlink.links
print('%-48s %9.1f ms' % ('import', (time.process_time() - started) * 1e3))
print('%-48s %9.1f MiB' % ('  memory', (resident() - before) / 2 ** 20))
print('%-48s %9d' % ('  threads', len(os.listdir('/proc/self/task'))))
'''


def each(what, function, *args):
    """Print microseconds of one call."""
    least = float('inf')
    for _run in range(RUNS):
        started = time.process_time()
        for _call in range(CALLS):
            function(*args)
        least = min(least, time.process_time() - started)
    print(f'{what:48} {least / CALLS * 1e6:9.1f} us')


def wall(what, function, *args, count=1):
    """Print microseconds of the wall for one of COUNT things."""
    least = float('inf')
    for _run in range(RUNS):
        started = time.perf_counter()
        function(*args)
        least = min(least, time.perf_counter() - started)
    print(f'{what:48} {least / count * 1e6:9.1f} us of the wall')


def encodings():
    """What it costs to make a message."""
    each('route: own codec', route_codec.encode, TABLE, '10.0.0.1/32', 1, '',
         44)
    each('route: pyroute2', whole_route)
    each('address', addresses.encode, 1, '10.0.0.1/32', 44)
    each('neighbour', neighbours.encode, 1, '10.0.0.1', '02:00:00:00:00:01',
         44)
    each('rule', rules.encode, rules.Rule(
        2000, TABLE, '10.0.0.0/24', None, None, None, 44))
    each('device up', links.encode_up, 1)
    each('veth pair', links.encode_veth, 'one', 'other')


def whole_route():
    """A route with the class of pyroute2 as it is."""
    message = rtmsg.rtmsg()
    message.update(family=socket.AF_INET, dst_len=32, table=TABLE, proto=44,
                   scope=253, type=1)
    message['attrs'] = [('RTA_DST', '10.0.0.1'), ('RTA_TABLE', TABLE),
                        ('RTA_OIF', 1)]
    message.encode()


def decodings(kernel):
    """What it costs to read a message, at first and again."""
    body = route_codec.encode(TABLE, '10.0.0.1/32', 1, '', 44)
    each('route: own codec', route_codec.decode, body, 0, len(body),
         {1: 'lo'})
    each('route: pyroute2', routes.decode, body, 0, len(body), {1: 'lo'})
    for what, module, kind, asked in (
            ('device', links, links.RTM_GETLINK, messages.encode(
                links.MESSAGE, [('IFLA_EXT_MASK', 8)])),
            ('address', addresses, addresses.RTM_GETADDR,
             messages.encode(addresses.MESSAGE)),
            ('rule', rules, rules.RTM_GETRULE,
             messages.encode(rules.MESSAGE))):
        data, start, end = kernel.dump(kind, asked)[-1]
        seen = data[start:end]
        each(f'{what}, seen for the first time',
             module._decode.__wrapped__, seen)
        each(f'{what}, seen before', module._decode, seen)
    body = neighbours.encode(1, '10.0.0.1', '02:00:00:00:00:01', 44)
    each('neighbour', neighbours._decode, body, 0, len(body))


def sockets(number):
    """Our socket and IPRoute, for one route and for many."""
    replace = wire.NLM_F_CREATE | wire.NLM_F_REPLACE
    items = [(routes.RTM_NEWROUTE, replace, route_codec.encode(
        TABLE, f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32', 1, '', 44))
        for i in range(number)]
    with connection.Connection(privileged=True) as kernel:
        if kernel.batch(items) or len(
                routes.read(kernel, 44, TABLE)) != number:
            raise SystemExit('not all routes could be set and read')
        wall('our socket: a route set', kernel.batch, items[:1])
        wall(f'our socket: one of {number} set', kernel.batch, items,
             count=number)
        wall(f'our socket: one of {number} read', routes.read, kernel, 44,
             TABLE, count=number)
        wall('our socket: all devices', links.read, kernel)
    wall('our socket: opened, all devices', links.read_all)
    threads = len(os.listdir('/proc/self/task'))
    with pyroute2.IPRoute() as iproute:
        print(f'{"IPRoute: threads more":48} '
              f'{len(os.listdir("/proc/self/task")) - threads:9}')
        wall('IPRoute: a route set', lambda: iproute.route(
            'replace', dst='10.0.0.0/32', oif=1, table=TABLE, proto=44))
        wall(f'IPRoute: one of {number} read', lambda: list(
            iproute.get_routes(family=socket.AF_INET, table=TABLE)),
            count=number)
        wall('IPRoute: all devices', lambda: list(iproute.get_links()))
    wall('IPRoute: opened, all devices', opened_devices)


def opened_devices():
    """The devices through a new IPRoute, which is closed afterwards.

    :returns: list of pyroute2 messages
    """
    with pyroute2.IPRoute() as iproute:
        return list(iproute.get_links())


def tracked():
    """A tracked connection, found and named for its deletion."""
    def one_way(source, port, to, to_port):
        return {'attrs': [
            ('CTA_TUPLE_IP', {'attrs': [('CTA_IP_V4_SRC', source),
                                        ('CTA_IP_V4_DST', to)]}),
            ('CTA_TUPLE_PROTO', {'attrs': [('CTA_PROTO_NUM', 17),
                                           ('CTA_PROTO_SRC_PORT', port),
                                           ('CTA_PROTO_DST_PORT', to_port)]})
        ]}
    body = messages.encode(conntrack.MESSAGE, [
        ('CTA_TUPLE_ORIG', one_way('10.0.0.1', 4000, '192.0.2.1', 53)),
        ('CTA_TUPLE_REPLY', one_way('10.0.1.1', 53, '10.0.0.1', 4000)),
        ('CTA_STATUS', 0x1ae), ('CTA_ID', 7), ('CTA_ZONE', 9)],
        nfgen_family=socket.AF_INET)

    def found():
        return conntrack._decode(socket.AF_INET, messages.attributes(
            messages.decode(conntrack.MESSAGE, body, 0, len(body))), 9)
    each('tracked connection, read', found)
    each('tracked connection, named', conntrack.deletion, found())


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('number', nargs='?', type=int, default=1000)
    number = parser.parse_args().number
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise SystemExit(f'unshare: {os.strerror(ctypes.get_errno())}')
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    print(f'pyroute2 {pyroute2.__version__}')
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run([sys.executable, '-c', IMPORT], check=True)
    print('-- encode')
    encodings()
    print('-- decode')
    with connection.Connection() as kernel:
        decodings(kernel)
    tracked()
    print('-- with the kernel')
    sockets(number)


if __name__ == '__main__':
    main()
