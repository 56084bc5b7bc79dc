#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Draws the pictures of the documentation with graphviz.

The cloud of the lab follows from lab/plan.py, the others from the files *.dot
in doc/source.
"""

import ipaddress
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lab import plan  # noqa: E402

SOURCE = ROOT / 'doc' / 'source'
# What runs on the nodes of the management network that are no gateways.
_ROLES = {'central': 'OVN: NB, SB, northd', 'cmp': 'virtual machines',
          'backend': 'has forwarded ports', 'sink': 'counts what leaks'}
# Nodes that tools/quickstart leaves out.
_ON_DEMAND = ('gw3', 'cmp2')
_LAB = r'''digraph lab {{
    label="The cloud of the lab. Each node is a host of its own with real \
programs; tools/quickstart starts those with a solid edge.\n\
Floating IPs are in {provider}, a provider network without a gateway; \
{vips} has anycast VIPs."
    rankdir=LR nodesep=0.15 ranksep=1.1 fontname="sans-serif" fontsize=12
    node [shape=box style="rounded,filled" fillcolor="#f7fafc"
          fontname="sans-serif" fontsize=11]
    edge [fontname="sans-serif" fontsize=10 arrowhead=none]
    client [label="client\n{client}\noutside"]
    spine [label="spine\nAS {spine}, FRR\nhas a host route\nfor each floating \
IP"]
    management [label="management network\n{management}\ndatabases, tunnels"
                shape=plaintext style=""]
    client -> spine
{lines}
}}
'''


def _node(name, *lines):
    style = 'style="rounded,filled,dashed" ' if name in _ON_DEMAND else ''
    label = r'\n'.join((name, *lines))
    return f'    {name} [{style}label="{label}"]'


def lab():
    """The cloud of the lab, text in the language of graphviz."""
    lines = []
    for name, address in plan.HOSTS.items():
        number = plan.GATEWAY_AS.get(name)
        if number is None:
            role = _ROLES.get(name) or _ROLES[name.rstrip('0123456789')]
            lines += [_node(name, address, role), f'    management -> {name}']
            continue
        link = ipaddress.ip_interface(plan.UPLINKS[name][1] + '/30').network
        lines += [
            _node(name, f'{address}, {plan.LOOPBACKS[name]}',
                  f'FRR: AS {number}, {plan.VRF}',
                  f'the agent; OVN: {plan.BRIDGE}'),
            f'    spine -> {name} [label="BGP\\n{link}"]',
            f'    {name} -> management']
    return _LAB.format(
        provider=plan.PROVIDER, vips=plan.VIPS, client=plan.CLIENT,
        spine=plan.SPINE_AS, management=plan.MANAGEMENT,
        lines='\n'.join(lines))


def descriptions():
    """Dict from the name of a picture to its text."""
    return {'lab': lab(), **{path.stem: path.read_text()
                             for path in sorted(SOURCE.glob('*.dot'))}}


def main():
    for name, text in descriptions().items():
        drawn = subprocess.run(
            ['dot', '-Tsvg'], input=text, capture_output=True, check=True,
            text=True).stdout
        (SOURCE / '_static' / f'{name}.svg').write_text(drawn)


if __name__ == '__main__':
    main()
