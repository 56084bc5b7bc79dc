#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of static routes in FRR: python3 -m tools.bench.frr, as root.

Against FRR daemons of its own in the default VRF, with one BGP neighbour.
"until known" ends when the neighbour has learned or lost the route, asked
every 20 ms with a process.  --vty compares with the command socket of
staticd, which the agent does not use.
"""

import argparse
import os
import socket
import time

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.conf.options import fip_route
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.tests.functional.frr import base
from tools.bench import timing

report, timed = timing.report, timing.timed


def route(number, first=11):
    """An announcement through the bridge, in the default VRF.

    :param number: of the address, up to 2 ** 24
    :param first: first number of the address
    """
    return resources.Announcement(
        '', f'{first}.{number >> 16}.{number >> 8 & 255}.{number & 255}/32',
        base.BRIDGE)


def configuration():
    """The options of the backends with their defaults, without a VRF.

    :returns: oslo.config ConfigOpts
    """
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('bridge_dev', default=base.BRIDGE))
    for module in (options, veth_leak, fip_route):
        conf.register_opts(module.OPTS, group=module.GROUP)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override('vrf_name', '', 'frr')
    return conf


def apply(backend, **delta):
    """Have a backend make changes, all of which have to succeed.

    :param delta: create, update or delete, see :class:`backends.base.Delta`
    :returns: milliseconds
    """
    spent, failed = timed(backend.apply, backends.Delta(**delta))
    assert not failed, failed
    return spent


def singles(frr, backend, repeat, what):
    """One route added and removed, and when the neighbour knows."""
    one = route(1, 198)
    spent = {'add one': [], 'add one, until known': [],
             'remove one': [], 'remove one, until known': []}
    for _n in range(repeat):
        for verb, delta, known in (('add', 'create', True),
                                   ('remove', 'delete', False)):
            started = time.perf_counter()
            spent[f'{verb} one'].append(apply(backend, **{delta: (one,)}))
            base.wait_until(
                lambda known=known: (one.prefix in frr.learned()) == known,
                'at the neighbour', 60)
            spent[f'{verb} one, until known'].append(
                (time.perf_counter() - started) * 1000)
    for verb, samples in spent.items():
        report(f'{what}: {verb}', samples)


def over_vty(frr, repeat, what):
    """One route through the command socket of staticd, unwrapped."""
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(os.path.join(frr.rundir, 'staticd.vty'))
    with connected:
        def command(text):
            connected.sendall(text.encode() + b'\0')
            answer = b''
            # Text, three zero bytes and a status byte.
            while answer[-4:-1] != b'\0\0\0':
                answer += connected.recv(65536)
        command('enable')
        command('configure terminal')
        for verb in ('', 'no '):
            samples = []
            for number in range(repeat):
                line = f'{verb}ip route 198.18.0.{number}/32 {base.BRIDGE}'
                samples.append(timed(command, line)[0])
            report(f'{what}, vty socket: {verb or "add "}one', samples)


def measure(frr, args):
    """Print the times of readings and changes beside present routes.

    :param frr: a running FRR with a BGP neighbour
    :param args: Namespace with ``repeat``, the numbers of present routes
        ``counts``, and ``vty``: whether to measure staticd's socket, too
    """
    conf = configuration()
    backend = frr_static.StaticBackend(conf)
    prefixes = frr_prefix_list.PrefixListBackend(conf)
    apply(prefixes, create=tuple(
        resources.PrefixListEntry(base.LIST, network)
        for network in ('11.0.0.0/8', '198.0.0.0/8')))
    for count in args.counts:
        many = tuple(route(n) for n in range(count))
        what = f'{count} present'
        if many:
            report(f'add {count}', [apply(backend, create=many)])
        report(f'{what}: read', [
            timed(backend.read, frozenset())[0] for _n in range(5)])
        for when in ('never', 'always'):
            conf.set_override('bgp_soft_refresh', when, 'frr')
            singles(frr, backend, args.repeat, f'{what}, refresh {when}')
        if args.vty:
            over_vty(frr, args.repeat, what)
        if many:
            report(f'remove {count}', [apply(backend, delete=many)])
    report('prefix list: read', [timed(prefixes.read, frozenset())[0]
                                 for _n in range(args.repeat)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--repeat', type=int, default=20)
    parser.add_argument('--counts', type=int, nargs='*',
                        default=[0, 100, 1000, 5000])
    parser.add_argument('--vty', action='store_true')
    args = parser.parse_args()
    privileged.frr.set_client_mode(False)
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    frr = base.Frr()
    try:
        os.environ['PATH'] = frr.bindir + ':' + os.environ['PATH']
        measure(frr, args)
    finally:
        frr.stop()


if __name__ == '__main__':
    main()
