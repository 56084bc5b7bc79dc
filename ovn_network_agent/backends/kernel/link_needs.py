# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The devices that the operator makes: the bridge and the VRF.

The start of the agent and "ovn-network-agent-ctl doctor" ask for them.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ovn_network_agent.conf import mode
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.netlink.objects import links


def bridge(conf: Any, found: Mapping[str, links.Link]) -> Iterator[str]:
    """Messages about the provider bridges that are missing."""
    if mode.forwards_only(conf):
        return
    for name in bridges.served(conf):
        option = ('bridge_dev' if name == conf.bridge_dev
                  else 'further_bridges')
        if name not in found:
            yield (f'[DEFAULT] {option} = {name}: there is no such '
                   f'device; create the provider bridge in Open vSwitch '
                   f'(ovs-vsctl add-br {name}) or name the right one')


def vrf(conf: Any, found: Mapping[str, links.Link]) -> Iterator[str]:
    """Messages about what is missing or wrong of the VRF."""
    name = conf.frr.vrf_name
    if not name:
        return
    link = found.get(name)
    if link is None:
        yield (f'[frr] vrf_name = {name}: there is no such device; create '
               f'the VRF (ip link add {name} type vrf table ID; ip link '
               f'set {name} up), or set it to nothing to announce from '
               f'the default VRF')
    elif link.kind != 'vrf':
        yield (f'[frr] vrf_name = {name}: this device is no VRF but '
               f'"{link.kind or "hardware"}"; name the VRF of the uplink')
    else:
        yield from _tables(conf, name, link.vrf_table)


def _tables(conf: Any, name: str, table: int) -> Iterator[str]:
    """The agent's routes in the table of the VRF would make a loop."""
    options = [('[fip_route] route_table_id', conf.fip_route.route_table_id)]
    if veth_leak.enabled(conf):
        options.append(('[veth_leak] veth_leak_table_id',
                        conf.veth_leak.veth_leak_table_id))
    for option, number in options:
        if number == table:
            yield (f'{option} = {number}: this is the table of VRF '
                   f'{name}; choose another one between 1 and 252')
