# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Checks of EVPN: the tunnels, and the VNIs in FRR."""

import typing

from ovn_network_agent import evpn_names
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.privileged import evpn_instances


class Tunnels(typing.NamedTuple):
    """The address of the tunnels of VNIs.

    :ivar address: [evpn] local_ip
    :ivar devices: tuple of (name, whether it is up) that have it
    """

    address: str
    devices: tuple


def read_tunnels(sources):
    """Look for the address of the tunnels: :class:`Tunnels`.

    :raises check.NotChecked: without the driver evpn
    """
    _with_driver(sources)
    address = sources.conf.evpn.local_ip
    links = {link.index: link for link in sources.links().values()}
    return Tunnels(address, tuple(
        (links[found.index].name, links[found.index].up)
        for found in sources.addresses() if found.index in links and
        found.address.partition('/')[0] == address))


def judge_tunnels(found):
    """Broken unless a device that is up has the address.

    :param found: :class:`Tunnels`
    """
    names = [name for name, up in found.devices if up]
    if names:
        yield check.ok(f'{names[0]} has {found.address}')
        return
    down = ', '.join(name for name, _up in found.devices)
    yield check.broken(
        f'{found.address}, [evpn] local_ip: ' + (
            f'{down} has it and is down' if down else 'no device has it'),
        f'"ip link set {down} up"' if down else 'give the address to a '
        'loopback or dummy device, and announce it, or set [evpn] local_ip '
        'to an address of this node that the fabric has a route to')


class Vnis(typing.NamedTuple):
    """The VNIs in FRR.

    :ivar lacks: tuple of texts, what the operator's instance lacks
    :ivar wanted: tuple of the VNIs of networks with machines here
    :ivar up: frozenset of the VNIs that are up in their VRF
    """

    lacks: tuple
    wanted: tuple
    up: frozenset


def read_vnis(sources):
    """Read what FRR has and lacks for VNIs: :class:`Vnis`.

    :raises check.NotChecked: without the driver evpn, or root
    :raises OSError: or another of :data:`context.FAILURES`, when FRR does
        not answer
    """
    _with_driver(sources)
    sources.privileged()
    return Vnis(
        tuple(evpn_instances.read_lacks()),
        tuple(sorted({each.vni.number
                      for each in sources.snapshot().networks.values()
                      if each.vni and not each.vni.problem})),
        frozenset(vni for vni, vrf, up, _mac in evpn_instances.read_states()
                  if up and vrf == evpn_names.vrf(vni)))


def judge_vnis(found):
    """A missing line of the operator, and a VNI that is not up, is broken.

    :param found: :class:`Vnis`
    """
    for text in found.lacks:
        yield check.of_message(check.Verdict.BROKEN, text)
    down = [f'{vni:d}' for vni in found.wanted if vni not in found.up]
    if down:
        yield check.broken(
            f'zebra does not have VNI {words.named(down)} up, so nothing of '
            'it is announced', '"show vrf vni" in vtysh says which device it '
            'lacks, and "ovn-network-agent-ctl status" why')
    if not found.lacks and not down:
        yield check.ok(f'{len(found.wanted):d} VNIs are up')


def _with_driver(sources):
    sources.ovn()
    if not plugins.asked(sources.conf, plugins.VNIS):
        raise check.NotChecked('[DEFAULT] drivers has no evpn')


CHECKS = (
    check.Check(
        'evpn-tunnels', 'EVPN', 'a device that is up has the address of the '
        'tunnels of VNIs', read_tunnels, judge_tunnels, ('prerequisites',)),
    check.Check(
        'evpn-vnis', 'EVPN', 'the BGP instance of the sessions announces '
        'VNIs to a neighbour, and those of machines here are up in zebra',
        read_vnis, judge_vnis, ('frr-daemons',)),
)
