# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of kernel routes: python tools/bench/routes.py [NUMBER]

Needs root; works in a network namespace of its own.  The calls go through
the forked privsep daemon, as in the agent.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import time

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.netlink import links
from ovn_network_agent.netlink import routes
from ovn_network_agent.privileged import kernel_routes
from ovn_network_agent.privileged import start

CLONE_NEWNET = 0x40000000
TABLE = 200
SINGLES = 1000


def timed(function, *args):
    """(result, seconds)."""
    started = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - started


def bulk(what, count, function, *args):
    """Run once and print microseconds for each route."""
    result, seconds = timed(function, *args)
    print(f'{what:32} {seconds * 1e3:9.1f} ms '
          f'{seconds / count * 1e6:8.1f} us/route')
    return result


def each(what, function, items):
    """Run once for each item; print median and 99th percentile."""
    times = sorted(timed(function, item)[1] * 1e6 for item in items)
    print(f'{what:32} median {statistics.median(times):7.0f} us '
          f' p99 {times[len(times) * 99 // 100]:7.0f} us')


def must(failures):
    """End the program if changes have failed.

    :param failures: answer of an entry point, empty without a failure
    :raises SystemExit: with the number of failures and the first one
    """
    if failures:
        raise SystemExit(f'{len(failures)} items failed: {failures[0]}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('number', nargs='?', type=int, default=10000)
    count = parser.parse_args().number
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise SystemExit(f'unshare: {os.strerror(ctypes.get_errno())}')
    for command in ('link add br-ex type veth peer name peer',
                    'link set br-ex up', 'link set peer up'):
        subprocess.run(['ip', *command.split()], check=True)
    opts.register(cfg.CONF)
    cfg.CONF([], default_config_files=[], default_config_dirs=[])
    # The privileged side sets routes through devices of the configuration.
    cfg.CONF.set_override('driver_devices', ['br-ex', 'peer'])
    start.start(cfg.CONF, [privileged.kernel])

    items = [[TABLE, f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32', 'br-ex', '']
             for i in range(count)]
    keys = [item[:2] for item in items]
    moved = [[*key, 'peer', ''] for key in keys]
    must(bulk('add', count, kernel_routes.set_routes, items))
    must(bulk('add what is there', count, kernel_routes.set_routes, items))
    must(bulk('replace', count, kernel_routes.set_routes, moved))
    found = bulk('dump and decode', count, routes.read_ours,
                 ownership.ROUTE_PROTOCOL)
    if len(found) != count:
        raise SystemExit(f'{len(found)} routes instead of {count}')
    singles = [[TABLE, f'172.16.{i >> 8}.{i & 255}/32', 'br-ex', '']
               for i in range(SINGLES)]
    each(f'add one beside {count}', lambda item: must(
        kernel_routes.set_routes([item])), singles)
    each('replace one', lambda item: must(
        kernel_routes.set_routes([[*item[:2], 'peer', '']])), singles[:100])
    each('delete one', lambda item: must(
        kernel_routes.delete_routes([item[:2]])), singles)
    must(bulk('delete', count, kernel_routes.delete_routes, keys))
    must(bulk('delete what is gone', count, kernel_routes.delete_routes, keys))
    each('read_devices()', lambda _item: links.read_devices(), range(SINGLES))


if __name__ == '__main__':
    main()
