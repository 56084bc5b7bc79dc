# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The steps that write a VNI into FRR, or remove one.  Pure.

They avoid traps of FRR 8 (:doc:`adr/0043-evpn`): ``vni`` comes last, because
with the instance after it some VNIs lacked neighbours for good; ``route-target
both`` is never written, because bgpd ends at its removal; route targets and
the like do not change while the VNI is up.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import re
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import evpn
from ovn_network_agent.model import evpn_names

# FRR has no form with "no" for what follows.
_ADVERTISED = re.compile(r'advertise ipv[46] unicast')
# A change of these lines while the VNI is up leaves receivers of FRR 8, or
# this node, without neighbours for good.
_IDENTITY = (evpn.ROUTER_ID, evpn.RD, 'route-target ')
# FRR 8 writes a former route distinguisher again only after another one
_OTHER_RD = evpn.RD + '0:0'
_LARGEST_AS = (1 << 32) - 1


class Steps(typing.NamedTuple):
    """Lines of calls of vtysh, one after the other."""

    down: list[str]  # take the VNI out of FRR
    change: list[str]  # the BGP instance
    up: list[str]  # Put the VNI into FRR, or remove what is left of its VRF.
    # whether withdrawals have to arrive before the change
    settle: bool = False


def check(wanted: evpn.Wanted) -> None:
    """Check what becomes a part of lines; ValueError for something else."""
    check_vni(wanted.vni)
    if type(wanted.asn) is not int or not 0 <= wanted.asn <= _LARGEST_AS:
        raise ValueError(f'{wanted.asn!r} is no AS number')
    if not isinstance(wanted.router_id, str) or ip_text.address(
            wanted.router_id).version != 4:
        raise ValueError(f'{wanted.router_id!r} is no router ID')
    for text in ([] if wanted.rd == '' else [wanted.rd]), wanted.imports, (
            wanted.exports):
        for each in text:
            if not isinstance(each, str) or not evpn_names.is_target(each):
                raise ValueError(
                    f'{each!r} is neither AS:NUMBER nor ADDRESS:NUMBER')


def check_vni(vni: int) -> None:
    """Check a VNI; ValueError for something else."""
    if type(vni) is not int or vni not in evpn_names.VNIS:
        raise ValueError(f'{vni!r} is no VNI')


def added(wanted: evpn.Wanted, found: evpn.Found) -> Steps:
    """The steps to an instance with an AS number; ValueError as :func:`check`,
    and for an object of somebody else in the way.
    """
    check(wanted)
    vrf = evpn_names.vrf(wanted.vni)
    _check_others(wanted.vni, vrf, found)
    change: list[str] = []
    asn, present = found.asn or f'{wanted.asn:d}', found
    if evpn.as_number(asn) != wanted.asn:
        change.append(f'no router bgp {asn} vrf {vrf}')
        asn, present = f'{wanted.asn:d}', evpn.Found()
    undone, missing = evpn.difference(evpn.lines_of(wanted), present)
    if undone or missing:
        if present.asn and wanted.rd and not present.values(evpn.RD):
            missing.insert(0, (evpn.L2VPN, _OTHER_RD))
        change += [f'router bgp {asn} vrf {vrf}', *_changed(undone, missing),
                   'exit']
    settle = bool(found.vnis) and (not found.has_vni(wanted.vni) or any(
        line.startswith(_IDENTITY) for _family, line in (*undone, *missing)))
    return Steps(_without(vrf, wanted.vni) if settle else [], change,
                 [f'vrf {vrf}', f'vni {wanted.vni:d}', 'exit-vrf']
                 if settle or not found.vnis else [], settle)


def _changed(undone: Sequence[evpn.Line],
             missing: Sequence[evpn.Line]) -> Iterator[str]:
    """Lines inside of an instance, each in its family; the marks first."""
    for family in evpn.FAMILIES:
        lines = [*(_undone(line) for where, line in undone
                   if where == family),
                 *(line for where, line in missing if where == family)]
        if not lines or not family:
            yield from lines
        else:
            yield f'address-family {family}'
            yield from lines
            yield 'exit-address-family'


def _undone(line: str) -> str:
    advertised = _ADVERTISED.match(line)
    return 'no ' + (advertised[0] if advertised else line)


def _without(vrf: str, vni: int) -> list[str]:
    return [f'vrf {vrf}', f'no vni {vni:d}', 'exit-vrf']


def _check_others(vni: int, vrf: str, found: evpn.Found) -> None:
    """ValueError for what somebody else has, with the remedy."""
    if found.asn and not found.ours:
        section = f'router bgp {found.asn} vrf {vrf}'
        raise ValueError(
            f'FRR has "{section}", which is not ours (it lacks '
            f'"{evpn.MARKS[0][1]}"); remove it in vtysh with "configure '
            f'terminal", "vrf {vrf}", "no vni {vni:d}", "exit-vrf", '
            f'"no {section}", or give the network another VNI')
    others = [line for line in found.vnis if evpn.vni_of(line) != vni]
    if others:
        raise ValueError(
            f'FRR has "{others[0]}" in "vrf {vrf}", which is not ours; remove '
            f'it in vtysh with "configure terminal", "vrf {vrf}", '
            f'"no {others[0]}"')
    if found.elsewhere:
        line = f'vrf {found.elsewhere}'
        raise ValueError(
            f'FRR has "vni {vni:d}" in "{line}", which is not ours; remove it '
            f'in vtysh with "configure terminal", "{line}", '
            f'"no vni {vni:d}", or give the network another VNI')


def removed(vni: int, found: evpn.Found) -> Steps:
    """The steps that remove an instance of the agent, and its VNI."""
    check_vni(vni)
    if evpn.value(vni, found) is None:
        return Steps([], [], [])
    vrf = evpn_names.vrf(vni)
    return Steps(
        _without(vrf, vni) if vni in map(evpn.vni_of, found.vnis) else [],
        [f'no router bgp {found.asn} vrf {vrf}'] if found.asn else [],
        [f'no vrf {vrf}'] if found.of_vrf == () else [])
