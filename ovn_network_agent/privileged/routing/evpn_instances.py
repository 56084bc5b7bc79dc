# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the VNIs of FRR; nothing else of the running
configuration is passed on, which has passwords.
"""

from collections.abc import Container
from collections.abc import Iterable
import socket
import time
import typing

from ovn_network_agent import privileged
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import evpn
from ovn_network_agent.frr import evpn_steps
from ovn_network_agent.model import evpn_names
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh

_NEEDED = ('zebra', 'bgpd')
_DAEMONS = (vty.MGMTD, *_NEEDED)
# seconds for receivers to lose a VNI, see frr.evpn: 1 s was no trouble
_SETTLE = 1.0
# seconds for which FRR 10's bgpd knows, and keeps, what zebra has lost
_TIMEOUT = 5.0
# for each second of [frr] vtysh_timeout: a busy machine took 10 s for 200
_EACH_SECOND = 2.5


@privileged.frr.entrypoint
def read() -> list[typing.Any]:
    """Read the AS number of the sessions (or 0), and the agent's instances:
    [VNI, AS number, router ID, route distinguisher, imports, exports, whether
    complete], without BGP as in :func:`evpn.value`.
    """
    lines = _lines()
    return [_underlay(lines), [
        [*shown, complete] for vni, found in sorted(evpn.read(lines).items())
        for shown, complete in filter(None, [evpn.value(vni, found)])]]


@privileged.frr.change
def change(adds: checks.Items, deletes: checks.Items) -> list[typing.Any]:
    """Write instances with their VNIs, then remove others that have a mark.

    :param adds: each :class:`evpn.Wanted`; AS number 0 for the sessions'
    :param deletes: each [VNI]
    :returns: as :func:`vtysh.change_static`
    """
    refused, fitting = checks.items(('adds', _wanted, adds),
                                    ('deletes', _unwanted, deletes))
    steps: list[evpn_steps.Steps] = []
    removed = []
    lines = _lines() if fitting else []
    underlay, there = _underlay(lines), evpn.read(lines)
    devices = _devices()
    for name, index, item in fitting:
        found = there.get(item.vni, evpn.Found())
        try:
            if name == 'adds':
                steps.append(_addition(item, underlay, found))
            else:
                steps.append(_removal(item, found, devices))
                removed.append(item.vni)
        except (OSError, ValueError) as error:
            refused.append([name, index, str(error)])
    output = [_configured(each.down for each in steps)]
    if any(each.settle for each in steps):
        time.sleep(_SETTLE)
    left = [f'no interface {name}' for name
            in evpn.left_interfaces(lines, devices)] if removed else []
    output += [_configured(each.change for each in steps),
               _configured([*(each.up for each in steps), left]),
               *_remove_left(removed)]
    return [refused, '\n'.join(filter(None, output))]


@privileged.frr.entrypoint
def read_lacks() -> list[str]:
    """The lines that the operator's own BGP instance lacks for VNIs."""
    return evpn.lacks(_lines(), limits.current().vrf)


def _lines() -> list[str]:
    return vtysh.running_lines(_DAEMONS, _NEEDED)


def _underlay(lines: list[str]) -> int:
    return evpn.underlay(lines, limits.current().vrf)


def _wanted(*fields: typing.Any) -> evpn.Wanted:
    wanted = evpn.Wanted(*fields)
    for targets in wanted.imports, wanted.exports:
        checks.sequence(targets, 'targets')
    evpn_steps.check(wanted)
    limits.current().check_frr_vnis()
    return wanted


def _unwanted(vni: int) -> evpn.Wanted:
    evpn_steps.check_vni(vni)
    return evpn.Wanted(vni, 0, '', '', (), ())


def _addition(wanted: evpn.Wanted, underlay: int, found: evpn.Found
              ) -> evpn_steps.Steps:
    if not (wanted.asn or underlay):
        vrf = limits.current().vrf
        of_vrf = f' vrf {vrf}' if vrf else ''
        raise ValueError(
            f'FRR has no "router bgp ASN{of_vrf}", whose AS number it is to '
            'have; write this instance with its neighbours, or set [evpn] '
            'bgp_as')
    return evpn_steps.added(wanted._replace(asn=wanted.asn or underlay), found)


def _removal(unwanted: evpn.Wanted, found: evpn.Found, devices: Container[str]
             ) -> evpn_steps.Steps:
    """What has a mark may go in any case."""
    if not found.ours:
        limits.current().check_frr_vnis()
    return _removed(unwanted.vni, found, devices)


def _removed(vni: int, found: evpn.Found, devices: Container[str]
             ) -> evpn_steps.Steps:
    """What FRR can do of :func:`evpn_steps.removed` by now: FRR 10 lets an
    empty VRF go only after its device; mgmtd 10.3 has died after some
    refusals.
    """
    steps = evpn_steps.removed(vni, found)
    return steps._replace(up=[]) if evpn_names.vrf(vni) in devices else steps


def _devices() -> set[str]:
    return {name for _index, name in socket.if_nameindex()}


def _remove_left(vnis: Iterable[int]) -> list[str]:
    """Remove again what FRR did not let go at once; returns messages."""
    output: list[str] = []
    until = time.monotonic() + _TIMEOUT
    while vnis:
        there, devices = evpn.read(_lines()), _devices()
        left = [_removed(vni, there[vni], devices)
                for vni in vnis if vni in there]
        again = [each.change for each in left]
        output += [_configured(again), _configured(each.up for each in left)]
        if not any(again) or time.monotonic() > until:
            break
    return output


def _configured(blocks: Iterable[list[str]]) -> str:
    """Pass the lines for each VNI to FRR; returns its messages."""
    full = [block for block in blocks if block]
    batch_size = int(_EACH_SECOND * registered.group(options).vtysh_timeout)
    return '\n'.join(filter(None, (
        vtysh.configure([line for block in full[first:first + batch_size]
                         for line in block], _DAEMONS)
        for first in range(0, len(full), batch_size))))
