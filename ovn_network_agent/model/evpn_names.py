# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A VNI, and the names and numbers of its objects.  Pure.

From VNI and network alone, so the same after a restart; those of VRF, bridge
and VXLAN device are ovn-bgp-agent's.
"""

import re
import typing
import zlib

from ovn_network_agent.common import ip_text

VNIS = range(1, 1 << 24)  # a VNI has 24 bits (RFC 7348, 5); 0 is none
OVERHEAD = 50  # bytes: Ethernet 14, VXLAN 8, UDP 8, IPv4 20
_DIGITS = 9
_VRF = 'vrf-'
_SUBJECT = 'VNI '
# Of a network's UUID in the names of a veth pair: IFNAMSIZ allows 15.
_PART = 11
_VRF_END = re.compile(r'vrf[0-9a-f]{8}-[0-9a-f]{2}')
_NUMBER = re.compile(r'0|[1-9][0-9]{0,9}', re.ASCII)
_TWO_BYTES, _FOUR_BYTES = 1 << 16, 1 << 32
# Locally administered: the first byte differs, so they never meet.
_ANYCAST_MAC = 0x02 << 40
_ROUTER_MAC = 0x066f << 32
_OWN_MAC = 0x0a6f << 32
# Shared addresses of RFC 6598, and unique local ones (RFC 4193).
_ANCHORS = (ip_text.network('100.64.0.0/10'),
            ip_text.network('fd6f:766e:6e61::/96'))


class Vni(typing.NamedTuple):
    """A VNI, with what BGP needs to know of it."""

    number: int  # one of evpn_names.VNIS; 0 with a problem
    # As FRR writes them ('65011:1001'); empty: by the node or the AS.
    rd: str = ''
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    problem: str = ''  # why the network is left out, or ''


def vni(text: str) -> int:
    """The VNI that a text is, 0 for another text."""
    short = text.isascii() and text.isdigit() and len(text) < _DIGITS
    return int(text) if short and int(text) in VNIS else 0


def is_target(text: str) -> bool:
    """Whether a text is a route target or distinguisher, as FRR shows it.

    AS:NUMBER or ADDRESS:NUMBER (RFC 4364, 4.2); FRR drops further zeros.
    """
    administrator, _colon, number = text.partition(':')
    if '.' in administrator:
        try:
            short = ip_text.address(administrator).version == 4
        except ValueError:
            return False
        limit = _TWO_BYTES if short else 0
    elif _usual(administrator) and int(administrator) < _FOUR_BYTES:
        limit = (_FOUR_BYTES if int(administrator) < _TWO_BYTES
                 else _TWO_BYTES)
    else:
        return False
    return _usual(number) and int(number) < limit


def _usual(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def vrf(vni: int) -> str:
    """Name of the VRF device, also in FRR."""
    return f'{_VRF}{vni:d}'


def bridge(vni: int) -> str:
    """Name of the bridge between VRF and VXLAN device."""
    return f'br-{vni:d}'


def vxlan(vni: int) -> str:
    """Name of the VXLAN device."""
    return f'vxlan-{vni:d}'


def vrf_end(network: str) -> str:
    """Name of the VRF's veth end, by the UUID of the logical switch."""
    return f'vrf{network[:_PART]}'


def bridge_end(name: str) -> str:
    """Name of the end on the provider bridge of an end in the VRF."""
    return f'ovs{name.removeprefix("vrf")}'


def is_vrf_end(name: str) -> bool:
    """Whether a device has the name of a veth end in a VRF."""
    return _VRF_END.fullmatch(name) is not None


def vrf_end_of(name: str) -> str:
    """The name of the other end of the one on the bridge, '' for none."""
    end = f'vrf{name.removeprefix("ovs")}'
    return end if name == bridge_end(end) and is_vrf_end(end) else ''


def table(base: int, vni: int) -> int:
    """Routing table of a VNI, by the option table_base."""
    return base + vni


def vni_of_table(base: int, number: int) -> int:
    """The VNI that has a table, 0 for another table."""
    return number - base if number - base in VNIS else 0


def vni_of_vrf(name: str) -> int:
    """The VNI that has a VRF, 0 for another name."""
    found = vni(name.removeprefix(_VRF))
    return found if name == vrf(found) else 0


def vni_of_device(name: str) -> int:
    """The VNI whose VRF, bridge or VXLAN device has a name, or 0."""
    found = vni(name.rpartition('-')[2])
    return found if name in (vrf(found), bridge(found), vxlan(found)) else 0


def is_device(name: str) -> bool:
    """Whether a device has the name of one of a VNI; not the bridges' ends."""
    return is_vrf_end(name) or vni_of_device(name) > 0


def anycast_mac(vni: int, tag: int) -> str:
    """MAC of the VRF's end on all nodes, as ovn-bgp-agent; 0 for flat."""
    return _mac(_ANYCAST_MAC | vni << 16 | tag)


def own_mac(chassis: str) -> str:
    """MAC of the VRF's ends of a node, which differ by chassis name."""
    return _mac(_OWN_MAC | zlib.crc32(chassis.encode()))


def router_mac(chassis: str) -> str:
    """MAC of the bridges of a node, one for all VNIs.

    FRR confuses several where routes are leaked (FRR issue 18190).
    """
    return _mac(_ROUTER_MAC | zlib.crc32(chassis.encode()))


def anchors(local: str) -> tuple[str, ...]:
    """A node's own prefixes in each VNI, by its tunnels' IPv4 address."""
    if not local:
        return ()
    number = int(ip_text.address(local))
    first, second = (net[number % net.num_addresses] for net in _ANCHORS)
    return f'{first}/32', f'{second}/128'


def subject(vni: int, prefix: str) -> str:
    """What a resource of one address is about; VNI 0 for the underlay."""
    return f'{_SUBJECT}{vni:d} {prefix}' if vni else prefix


def subject_of_host(vni: int, address: str) -> str:
    """Likewise of one that is about an IP address."""
    return subject(vni, f'{address}/{128 if ":" in address else 32:d}')


def vni_of_subject(text: str) -> int:
    """The VNI of a subject, 0 for one of no VNI."""
    start, _space, _prefix = text.rpartition(' ')
    return vni(start.removeprefix(_SUBJECT)) if start else 0


def prefix_of(text: str) -> str:
    """The prefix in a subject, also in one of no VNI."""
    return text.rpartition(' ')[2]


def _mac(number: int) -> str:
    return number.to_bytes(6).hex(':')
