# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The VNIs of provider networks, by external_ids and options.  Pure.

Neutron's BGPVPN driver writes ``neutron_bgpvpn:*``; the agent's own prefix
wins.  Lists: "65011:1001,65011:1002" or "['65011:1001']", never evaluated.
"""

from collections.abc import Iterable
import re

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

_BGPVPN = 'neutron_bgpvpn:'
# The keys of external_ids that have a VNI.
KEYS = (ownership.EXT_ID_VNI, f'{_BGPVPN}vni')
# Where the row of a router says which VNI its network has to have.
ASSERTED = {'external_ids': {ownership.EXT_ID_VNI}}
# By the key in both prefixes: imports, exports.
_LISTS = {'rt': (True, True), 'it': (True, False), 'et': (False, True)}


def read(row: Row) -> tuple[model.Vni, ...]:
    """What the row of a switch says, at most one."""
    own = columns.entry(row, 'external_ids', ownership.EXT_ID_VNI)
    if own is not None:
        return (_vni(row, ownership.EXT_ID_EVPN, own,
                     ownership.EXT_ID_VNI),)
    text = columns.entry(row, 'external_ids', KEYS[1])
    kind = columns.entry(row, 'external_ids', f'{_BGPVPN}type')
    if text is None or kind != 'l3':
        return ()
    return (_vni(row, _BGPVPN, text, KEYS[1]),)


def named(row: Row, number: int) -> model.Vni:
    """The VNI that options give a switch, with the lists of its row."""
    return _vni(row, ownership.EXT_ID_EVPN, str(number), ownership.EXT_ID_VNI)


def asserted(row: Row) -> model.Vni:
    """What the row of a router says that has this key."""
    own = columns.entry(row, 'external_ids', ownership.EXT_ID_VNI) or ''
    return _vni(row, ownership.EXT_ID_EVPN, own, ownership.EXT_ID_VNI)


def checked(wanted: model.Vni, found: model.Vni | None) -> model.Vni:
    """The VNI of a router's gateway port.

    Routers share a network's segment, so one only says what it has to be.
    """
    if wanted.problem:
        return model.Vni(0, problem=wanted.problem)
    if found and found.problem:
        return found
    lists = (wanted.rd, wanted.imports, wanted.exports)
    if found is None or found.number != wanted.number:
        has = (f'the VNI {found.number:d}' if found and found.number
               else 'no VNI')
        return model.Vni(0, problem=(
            f'external_ids:{ownership.EXT_ID_VNI} of the router is '
            f'{wanted.number:d}, and its provider network has {has}; give the '
            'network that VNI, or take it off the router'))
    if any(lists) and lists != (found.rd, found.imports, found.exports):
        return model.Vni(0, problem=(
            'the router has other route targets or another route '
            'distinguisher than its provider network; give both the same, or '
            'take them off the router'))
    return found


def _vni(row: Row, prefix: str, text: str, key: str) -> model.Vni:
    number = evpn_names.vni(text.strip())
    if not number:
        return model.Vni(0, problem=(
            f'external_ids:{key} = {text!r} is not a VNI; use a number from '
            f'{evpn_names.VNIS[0]} to {evpn_names.VNIS[-1]}'))
    lists: dict[str, tuple[str, ...]] = {}
    for name in ('rd', *_LISTS):
        value = columns.entry(row, 'external_ids', prefix + name) or ''
        found = targets(value)
        if found is None:
            return model.Vni(number, problem=(
                f'external_ids:{prefix}{name} = {value!r} has something that '
                'is no route target; write it like 65011:1001, with commas '
                'between several'))
        lists[name] = found
    imports, exports = (tuple(sorted({
        target for name, both in _LISTS.items() if both[side]
        for target in lists[name]})) for side in (0, 1))
    # The original writes a list of route distinguishers, and uses the first.
    return model.Vni(number, next(iter(lists['rd']), ''), imports, exports)


def targets(text: str) -> tuple[str, ...] | None:
    """The route targets or distinguishers in a text, None when malformed."""
    parts = [word for word in re.split(r'[\s,\[\]()"\']+', text) if word]
    return tuple(parts) if all(map(evpn_names.is_target, parts)) else None


def agreed(vni: model.Vni, others: Iterable[tuple[str, model.Vni]]
           ) -> model.Vni:
    """The VNI of a network, beside others that have the same one.

    One VRF: the first network decides on route targets, on all nodes.

    :param others: (name, VNI) of all its networks, the first one first
    """
    for name, first in others:
        if not first.problem:
            return vni if (vni.rd, vni.imports, vni.exports) == (
                first.rd, first.imports, first.exports) else (
                vni._replace(problem=(
                    f'network {name} has the VNI {vni.number:d} with other '
                    'route targets or another route distinguisher; give both '
                    'the same, or this one another VNI')))
    return vni


def gateway(row: Row) -> tuple[str, ...]:
    """The gateway in a row of DHCP_Options, at most one."""
    try:
        subnet = ip_text.network(columns.atom(row, 'cidr'))
        address = ip_text.address(
            columns.entry(row, 'options', 'router') or '')
    except ValueError:
        return ()
    return (str(address),) if address in subnet else ()
