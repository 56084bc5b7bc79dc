#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cloud of the lab as a picture, drawn from the lab's plan.

Prints the picture (SVG); tools/lab_picture.py --write
doc/source/_static/lab.svg puts it into the documentation.
"""

import argparse
import ipaddress
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]

import drawing  # noqa: E402

from lab import plan  # noqa: E402

# What runs on the nodes of the management network that are no gateways.
_ROLES = {'central': ('OVN: NB, SB, northd',), 'cmp': ('virtual machines',),
          'backend': ('has forwarded ports',), 'sink': ('counts what leaks',)}
# Nodes that tools/quickstart leaves out.
_ON_DEMAND = ('gw3', 'cmp2')
# Heights of a gateway and of another node with the gap below, and the first.
_GATEWAY, _GAP, _TOP = 132, 18, 58
_BUS = 710


def _kind(name):
    return 'node!' if name in _ON_DEMAND else 'node'


def _role(name):
    return _ROLES.get(name) or _ROLES[name.rstrip('0123456789')]


def gateways():
    """Lines of the description for the gateways and their links."""
    for number, name in enumerate(plan.GATEWAY_AS):
        y = _TOP + number * (_GATEWAY + _GAP)
        link = ipaddress.ip_interface(plan.UPLINKS[name][1] + '/30').network
        yield (f'box {name} {_kind(name)} 424 {y} 232 {_GATEWAY} {name} | '
               f'{plan.HOSTS[name]}, {plan.LOOPBACKS[name]}')
        yield (f'box {name}-frr part 434 {y + 48} 212 32 FRR')
        yield (f'text node end 638 {y + 69} AS {plan.GATEWAY_AS[name]}, '
               f'{plan.VRF}')
        yield f'box {name}-agent agent 434 {y + 88} 104 32 the agent'
        yield f'box {name}-ovn part 546 {y + 88} 100 32 {plan.BRIDGE}'
        yield f'text node end 638 {y + 109} OVN'
        middle = y + _GATEWAY / 2
        yield f'line packets <> 308,{middle} {name}.left'
        yield f'text packets middle 366 {middle - 8} {link}'
        yield f'text packets middle 366 {middle + 18} BGP'
        yield f'line network - {name}.right {_BUS},{middle}'


def nodes():
    """Lines of the description for the other nodes, and the networks."""
    bottom = _TOP + len(plan.GATEWAY_AS) * (_GATEWAY + _GAP) - _GAP
    middle = (_TOP + bottom) / 2
    yield (f'box client node 20 {middle - 44} 128 88 client | {plan.CLIENT} | '
           'outside')
    yield (f'box spine node 206 {_TOP} 102 {bottom - _TOP} spine | '
           f'AS {plan.SPINE_AS} | FRR')
    yield f'line packets <> client.right 206,{middle}'
    yield f'line network - {_BUS},{_TOP} {_BUS},{bottom}'
    others = [name for name in plan.HOSTS if name not in plan.GATEWAY_AS]
    height = (bottom - _TOP - (len(others) - 1) * _GAP) / len(others)
    for number, name in enumerate(others):
        y = _TOP + number * (height + _GAP)
        lines = ' | '.join((plan.HOSTS[name], *_role(name)))
        yield (f'box {name} {_kind(name)} 764 {y:g} 176 {height:g} {name} | '
               f'{lines}')
        yield f'line network - {_BUS},{y + height / 2:g} {name}.left'


def description():
    """The description of the picture; see :mod:`drawing`."""
    bottom = _TOP + len(plan.GATEWAY_AS) * (_GATEWAY + _GAP)
    return '\n'.join([
        f'picture 960 {bottom + 62} The cloud of the lab',
        *gateways(), *nodes(),
        'text packets start 20 36 fabric: BGP announces each floating IP as '
        'a host route',
        'text network end 940 36 management network '
        f'{plan.MANAGEMENT}: databases, tunnels',
        f'text node start 20 {bottom + 18} Floating IPs are in '
        f'{plan.PROVIDER}, a provider network without a gateway; '
        f'{plan.VIPS} has anycast VIPs.',
        f'text node start 20 {bottom + 40} tools/quickstart starts all nodes '
        'with a solid edge. Each node is a host of its own, with real '
        'programs.'])


def main():
    """Draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', type=pathlib.Path, metavar='FILE')
    return drawing.show(description(), parser.parse_args().write)


if __name__ == '__main__':
    sys.exit(main())
