# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's flows in fields and actions of OpenFlow 1.3, both ways.

:func:`decode` reads whatever :func:`encode_match` produces as a FlowSpec, so
    that a stray flow never has the match of a wanted flow.
"""

from collections.abc import Callable
import ipaddress
import struct
from typing import Any

from ovn_network_agent.common import ip_text
from ovn_network_agent.openflow import spec as specs
from ovn_network_agent.openflow import wire

# OpenFlow 1.3.5, A.2.3.7: OFPXMC_OPENFLOW_BASIC, field numbers and sizes.
_BASIC = 0x8000
_IN_PORT = 0
_ETH_DST = 3
_ETH_SRC = 4
_ETH_TYPE = 5
_IPV4_SRC = 11
_IPV4_DST = 12
_ARP_SPA = 22
_ARP_TPA = 23
_IPV6_DST = 27
_ETHER_TYPES = {4: 0x0800, 6: 0x86dd}
_FAMILIES = {value: key for key, value in _ETHER_TYPES.items()}
_DST_FIELDS = {4: _IPV4_DST, 6: _IPV6_DST}

_OXM = struct.Struct('!HBB')
_WORD = struct.Struct('!I')
_HALF = struct.Struct('!H')
# A.2.4, A.2.5
_INSTRUCTION = struct.Struct('!HH4x')
_APPLY_ACTIONS = 4
_ACTION = struct.Struct('!HH')
_OUTPUT = 0
_SET_FIELD = 25
_OUTPUT_ACTION = struct.Struct('!HHIH6x')
_PORTS = {specs.NORMAL: wire.PORT_NORMAL, specs.IN_PORT: wire.PORT_IN_PORT}
_OUTPUTS = {value: key for key, value in _PORTS.items()}


def encode_match(spec: specs.FlowSpec) -> bytes:
    """ofp_match of a flow."""
    fields = (_oxm(_IN_PORT, _WORD.pack(spec.in_port)) +
              _oxm(_ETH_TYPE, _HALF.pack(_ETHER_TYPES[spec.family])))
    if spec.dst is not None:
        network = ip_text.network(spec.dst)
        mask = (b'' if network.prefixlen == network.max_prefixlen
                else network.netmask.packed)
        fields += _oxm(_DST_FIELDS[spec.family],
                       network.network_address.packed, mask)
    return wire.match(fields)


def encode_actions(spec: specs.FlowSpec) -> bytes:
    """The instructions of a flow."""
    actions = b''
    for field, mac in ((_ETH_SRC, spec.set_src), (_ETH_DST, spec.set_dst)):
        if mac is not None:
            oxm = _oxm(field, bytes.fromhex(mac.replace(':', '')))
            length = _ACTION.size + len(oxm)
            padding = -length % 8
            actions += _ACTION.pack(_SET_FIELD, length + padding) + oxm
            actions += bytes(padding)
    for port in ([_PORTS[spec.output]] if spec.output in _PORTS
                 else specs.ports_of(spec.output)):
        actions += _OUTPUT_ACTION.pack(
            _OUTPUT, _OUTPUT_ACTION.size, port, 0)
    return _INSTRUCTION.pack(
        _APPLY_ACTIONS, _INSTRUCTION.size + len(actions)) + actions


def encode_stray(match: str) -> bytes:
    """ofp_match of a stray flow's 'oxm:' and hex digits, else ValueError."""
    tag, _colon, digits = match.partition(':')
    if tag != 'oxm':
        raise ValueError(f'{match!r} was not read through OpenFlow')
    return wire.match(bytes.fromhex(digits))


def decode(entry: wire.Entry) -> specs.FlowSpec | specs.StraySpec:
    """Decode an entry of :func:`wire.flow_entries`; may raise Malformed."""
    table, priority, plain, cookie, match, instructions = entry
    fields = _decode_match(cookie, match)
    if (fields is None or table != 0 or
            priority != specs.PRIORITIES.get(cookie)):
        return specs.StraySpec(cookie, table, priority, 'oxm:' + match.hex())
    set_src = set_dst = None
    output = specs.OTHER
    if plain:
        set_src, set_dst, output = _decode_instructions(instructions)
    return specs.as_found(cookie, priority, *fields, set_src, set_dst,
                          output)


def decode_selection(data: bytes) -> specs.Selection:
    """The ports and IPv4 addresses in any OXM fields; may raise Malformed."""
    fields: dict[int, Any] = {}
    narrow, offset = False, 0
    while offset < len(data):
        oxm_class, field, value, mask, offset = _parse_oxm(data, offset)
        text = _SELECTED.get(field, _nothing)(value, mask) if (
            oxm_class == _BASIC) else None
        narrow = narrow or text is None
        fields[field] = text
    return specs.Selection(
        fields.get(_IN_PORT), fields.get(_ETH_TYPE),
        fields.get(_IPV4_SRC) or fields.get(_ARP_SPA),
        fields.get(_IPV4_DST) or fields.get(_ARP_TPA), narrow)


def is_drop(instructions: bytes) -> bool:
    """Whether a flow drops: no instruction, or a list without actions."""
    return not instructions or instructions == _INSTRUCTION.pack(
        _APPLY_ACTIONS, _INSTRUCTION.size)


def _nothing(_value: bytes, _mask: bytes) -> None:
    return None


def _number(value: bytes, mask: bytes) -> int | None:
    """None when a mask leaves bits out."""
    return None if mask else int.from_bytes(value)


def _network(value: bytes, mask: bytes) -> str | None:
    """None when the mask is none of a prefix."""
    try:
        return str(ipaddress.IPv4Network(
            (value, str(ipaddress.IPv4Address(mask or b'\xff' * 4)))))
    except ValueError:
        return None


_SELECTED: dict[int, Callable[[bytes, bytes], int | str | None]] = {
    _IN_PORT: _number, _ETH_TYPE: _number, _IPV4_SRC: _network,
    _IPV4_DST: _network, _ARP_SPA: _network, _ARP_TPA: _network}


def _oxm(field: int, value: bytes, mask: bytes = b'') -> bytes:
    return _OXM.pack(_BASIC, field << 1 | bool(mask),
                     len(value) + len(mask)) + value + mask


def _parse_oxm(data: bytes, offset: int) -> tuple[int, int, bytes, bytes, int]:
    """(class, field, value, mask, next offset)."""
    if offset + _OXM.size > len(data):
        raise wire.Malformed('short match field')
    oxm_class, field, length = _OXM.unpack_from(data, offset)
    start = offset + _OXM.size
    end = start + length
    if end > len(data):
        raise wire.Malformed('match field exceeds the match')
    middle = start + length // 2 if field & 1 else end
    return oxm_class, field >> 1, data[start:middle], data[middle:end], end


def _decode_match(cookie: int, data: bytes) -> specs.Match | None:
    fields = {}
    offset = 0
    while offset < len(data):
        oxm_class, field, value, mask, offset = _parse_oxm(data, offset)
        if oxm_class != _BASIC or field in fields:
            return None
        fields[field] = value, mask
    in_port, port_mask = fields.pop(_IN_PORT, (b'', b''))
    ether_type, type_mask = fields.pop(_ETH_TYPE, (b'', b''))
    if (len(in_port) != _WORD.size or len(ether_type) != _HALF.size or
            port_mask or type_mask):
        return None
    family = _FAMILIES.get(_HALF.unpack(ether_type)[0])
    if family is None:
        return None
    dst = None
    if fields:
        dst = _decode_dst(fields, family)
        if dst is None:
            return None
    return _our_match(cookie, _WORD.unpack(in_port)[0], family, dst)


def _our_match(cookie: int, in_port: int, family: int, dst: str | None
               ) -> specs.Match | None:
    try:
        specs.check_match(cookie, in_port, family, dst)
    except ValueError:
        return None
    return in_port, family, dst


def _decode_dst(fields: dict[int, tuple[bytes, bytes]], family: int
                ) -> str | None:
    """None for other fields."""
    value, mask = fields.pop(_DST_FIELDS[family], (b'', b''))
    size = 4 if family == 4 else 16
    if fields or len(value) != size or len(mask) not in (0, size):
        return None
    bits = int.from_bytes(mask or b'\xff' * size)
    length = bits.bit_count()
    if bits != (1 << length) - 1 << size * 8 - length:
        return None
    return str(ipaddress.ip_network((value, length), strict=False))


def _decode_instructions(data: bytes) -> specs.Actions:
    """:data:`spec.OTHER` is the output for what the agent never writes."""
    nothing = None, None, specs.OTHER
    if len(data) < _INSTRUCTION.size:
        return nothing
    kind, length = _INSTRUCTION.unpack_from(data)
    if kind != _APPLY_ACTIONS or length != len(data):
        return nothing
    macs: dict[int, str] = {}
    ports: list[int] = []
    offset = _INSTRUCTION.size
    while offset + _ACTION.size <= length:
        kind, size = _ACTION.unpack_from(data, offset)
        action = data[offset:offset + size]
        offset += size
        if size < 8 or offset > length:
            raise wire.Malformed('action with a wrong length')
        if kind == _OUTPUT and size == _OUTPUT_ACTION.size:
            ports.append(_OUTPUT_ACTION.unpack(action)[2])
        elif (ports or kind != _SET_FIELD or
              not _decode_mac(action, macs)):
            return nothing
    if offset != length:
        return nothing
    return macs.get(_ETH_SRC), macs.get(_ETH_DST), _decode_ports(ports)


def _decode_ports(ports: list[int]) -> str:
    if len(ports) == 1 and ports[0] in _OUTPUTS:
        return _OUTPUTS[ports[0]]
    return specs.ports_text(ports)


def _decode_mac(action: bytes, macs: dict[int, str]) -> bool:
    """Note a set_field of a MAC; False for any other action."""
    oxm_class, field, value, mask, _end = _parse_oxm(action, _ACTION.size)
    if (oxm_class != _BASIC or field not in (_ETH_SRC, _ETH_DST) or mask or
            len(value) != 6 or field in macs):
        return False
    macs[field] = value.hex(':')
    return True
