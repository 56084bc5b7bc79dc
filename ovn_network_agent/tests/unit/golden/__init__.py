# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Golden files: what rules become as an nftables table, one for a feature.

After a change of the rendering that is meant::

    python -m ovn_network_agent.tests.unit.golden

writes them anew; read the difference before it is committed.
"""

import dataclasses
import pathlib

from ovn_network_agent import ownership
from ovn_network_agent.drivers import port_forward
from ovn_network_agent.model import port_forwards
from ovn_network_agent.nft import rendering

DIRECTORY = pathlib.Path(__file__).parent

IN_VRF = port_forward.Manner(64000, 'jhash', True)
NO_VRF = port_forward.Manner(64000, 'jhash', False)
BESIDE_VNIS = port_forward.Manner(64000, 'jhash', True, True)
CONSISTENT = port_forward.Manner(64000, 'consistent', True)


def backends(*weights, net='10.0.0.'):
    """Backends 10.0.0.1, 10.0.0.2, ... with these weights."""
    return tuple(port_forwards.Destination(f'{net}{number}', weight)
                 for number, weight in enumerate(weights, 1))


def rule(*weights, proto='udp', port=53, dest_port=1053, net='10.0.0.',
         **values):
    """A rule; without weights it has one backend."""
    return port_forwards.Rule(proto, port, dest_port,
                           backends(*(weights or (1,)), net=net), **values)


def without(of, *dead):
    """A rule whose backends at these places are dead."""
    return dataclasses.replace(of, destinations=tuple(
        dataclasses.replace(backend, alive=index not in dead)
        for index, backend in enumerate(of.destinations)))


def vip(*rules, address='192.0.2.53', **values):
    """A managed VIP; without rules it has the simplest one."""
    return port_forwards.Vip(address, managed=True, rules=rules or (rule(),),
                          **values)


def cases():
    """dict of name to (version, vips, manner)."""
    remote = rule(proto='tcp', port=443, dest_port=8443, net='10.0.1.',
                  masquerade=True)
    two = (vip(rule(1, 1), rule(1, 1, proto='tcp')),
           vip(rule(1, 1, dest_port=53), address='192.0.2.54'))
    return {
        'one_vip': (4, (vip(),), IN_VRF),
        'two_vips': (4, two, IN_VRF),
        'weights': (4, (vip(rule(3, 1, 0)),), NO_VRF),
        'consistent': (4, (vip(rule(1, 1, 1)),), CONSISTENT),
        'masquerade': (4, (vip(rule(), remote, hairpin_masquerade=True),),
                       IN_VRF),
        'hairpin': (4, (vip(hairpin_masquerade=True),), IN_VRF),
        'router': (4, (vip(router_masquerade=True),
                       vip(address='192.0.2.54')), IN_VRF),
        'ipv6': (6, (vip(rule(1, 1, net='fd00::', masquerade=True),
                         address='2001:db8::53', hairpin_masquerade=True),),
                 IN_VRF),
        'beside_vnis': (4, (vip(),), BESIDE_VNIS),
        'default_vrf': (4, (vip(hairpin_masquerade=True),), NO_VRF),
    }


def rendered(table):
    """What nft reads for a :class:`resources.NftTable`."""
    return rendering.text(table.content)


def text(version, vips, manner):
    """A whole table as nft reads it."""
    table = port_forward.wanted(version, vips, manner)
    return (f'table {table.family} {ownership.NFT_TABLE} {{\n'
            f'{rendered(table)}}}\n')
