# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's flows as plain values, and their checks on the privileged side.
They are tuples, because a privileged call passes tuples unchanged.
"""

from collections.abc import Hashable
from collections.abc import Sequence
import re
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text

NORMAL = 'normal'
IN_PORT = 'in_port'
#: prefix of an output to the ports of a relay
PORTS = 'ports:'
ADD = 'add'
DELETE = 'delete'
DELETE_STRAY = 'delete stray'
#: output of a flow with an action list that the agent never writes
OTHER = 'other'

# include/openvswitch/ofp-util.h: ports of a bridge end below OFPP_MAX of
# OpenFlow 1.0, which Open vSwitch keeps internally.
_MAX_PORT = 0xff00
# A relay sends to the integration bridge and the other candidates; OVN has at
# most 5, so more outputs than this are an error.
_MAX_OUTPUTS = 8
_PORT_LIST = re.compile(r'ports:[1-9][0-9]*(?:,[1-9][0-9]*)*')
_MAC = re.compile(r'[0-9a-f]{2}(?::[0-9a-f]{2}){5}')
# IFNAMSIZ less the terminating zero; a bridge is a device
_BRIDGE = re.compile(r'[A-Za-z0-9_.-]{1,15}')
PRIORITIES = {ownership.COOKIE_MAC_TWEAK: ownership.PRIORITY_MAC_TWEAK,
              ownership.COOKIE_HAIRPIN: ownership.PRIORITY_HAIRPIN,
              ownership.COOKIE_RELAY: ownership.PRIORITY_RELAY}


#: (in_port, family, dst) of a FlowSpec
Match: TypeAlias = tuple[int, int, str | None]
#: (set_src, set_dst, output) of a FlowSpec
Actions: TypeAlias = tuple[str | None, str | None, str]


class FlowSpec(NamedTuple):
    """A flow of table 0, see :class:`resources.Flow` for the fields."""

    cookie: int
    priority: int
    in_port: int
    family: int
    dst: str | None
    set_src: str | None
    set_dst: str | None
    output: str


class StraySpec(NamedTuple):
    """A flow with the agent's cookie and a match that it never writes."""

    cookie: int
    table: int
    priority: int
    # 'oxm:' and hex digits, or 'text:' and the notation of ovs-ofctl
    match: str


class Selection(NamedTuple):
    """The part of a match that names ports and addresses of IPv4."""

    in_port: int | None = None
    # as 0x0800; None for each, likewise the others
    ether_type: int | None = None
    # IPv4 prefix of the sender (of ARP, too)
    src: str | None = None
    dst: str | None = None
    # whether the match has more than that
    narrow: bool = False


class Step(NamedTuple):
    """One item of a change."""

    # the caller's name for the step
    ref: Hashable
    # ADD, DELETE or DELETE_STRAY
    verb: str
    # a StraySpec with DELETE_STRAY
    spec: FlowSpec | StraySpec


def check_bridge(name: object) -> str:
    """Check a bridge's name, a part of a path; ValueError for another."""
    if (not isinstance(name, str) or not _BRIDGE.fullmatch(name) or
            name in ('.', '..')):
        raise ValueError(f'{name!r} is not the name of a bridge')
    return name


def check_flow(item: Sequence[Any], deleting: bool = False) -> FlowSpec:
    """Check a flow from the unprivileged side.

    :param deleting: whether to accept one that the agent never writes
    :raises ValueError: when the agent never writes the value of a field
    """
    try:
        spec = FlowSpec(*item)
    except TypeError as error:
        raise ValueError(f'{item!r} is not a flow: {error}') from error
    _check_ownership(spec)
    check_match(spec.cookie, spec.in_port, spec.family, spec.dst)
    for mac in (spec.set_src, spec.set_dst):
        if mac is not None and not (isinstance(mac, str) and
                                    _MAC.fullmatch(mac)):
            raise ValueError(f'{mac!r} is not a MAC address in lower case')
    if not (deleting and spec.output == OTHER):
        _check_output(spec)
    return spec


def check_match(cookie: Any, in_port: Any, family: Any, dst: Any) -> None:
    """Check a match; ValueError for one that the agent never writes.  Only a
    relay's flow may match the node's own packets, but not all packets.
    """
    relay = cookie == ownership.COOKIE_RELAY
    if not (relay and in_port == resources.LOCAL):
        _integer(in_port, 'in_port', 1, _MAX_PORT - 1)
    if relay and dst is None:
        raise ValueError('a relay without a destination')
    if family not in (4, 6) or type(family) is not int:
        raise ValueError(f'family {family!r} is neither 4 nor 6')
    if dst is not None:
        _check_prefix(dst, family)


def check_stray(item: Sequence[Any]) -> StraySpec:
    """Check a stray flow to delete, but its match; ValueError for others."""
    try:
        spec = StraySpec(*item)
    except TypeError as error:
        raise ValueError(f'{item!r} is not a flow: {error}') from error
    _check_cookie(spec.cookie)
    _integer(spec.table, 'table', 0, 254)
    _integer(spec.priority, 'priority', 0, 0xffff)
    if not isinstance(spec.match, str):
        raise ValueError(f'{spec.match!r} is not a match')
    return spec


def ports_of(output: object) -> list[int]:
    """The numbers in 'ports:3,7'; ValueError unless one to eight different."""
    if not isinstance(output, str) or not _PORT_LIST.fullmatch(output):
        raise ValueError(f'{output!r} is not a list of ports')
    numbers = [int(word) for word in output[len(PORTS):].split(',')]
    return _check_ports(numbers)


def ports_text(numbers: list[int]) -> str:
    """'ports:3,7', or :data:`OTHER` for what the agent never writes."""
    try:
        _check_ports(numbers)
    except ValueError:
        return OTHER
    return PORTS + ','.join(map(str, numbers))


def as_found(*fields: Any) -> FlowSpec:
    """A flow that was read, whose match the agent writes; its output is
    :data:`OTHER` if the agent never writes the found one with this cookie.
    """
    spec = FlowSpec(*fields)
    try:
        _check_output(spec)
    except ValueError:
        return spec._replace(set_src=None, set_dst=None, output=OTHER)
    return spec


def foreign_text(priority: int, cookie: int) -> str:
    """The reason not to add a flow: another program has its match."""
    return (f'a flow with this match and priority {priority} but cookie '
            f'{cookie:#x} exists, which is not ours; remove that one')


def _check_ownership(spec: FlowSpec) -> None:
    _check_cookie(spec.cookie)
    if spec.priority != PRIORITIES[spec.cookie] or isinstance(
            spec.priority, bool):
        raise ValueError(f'priority {spec.priority!r} does not belong to '
                         f'cookie {spec.cookie:#x}')


def _check_output(spec: FlowSpec) -> None:
    if spec.cookie == ownership.COOKIE_RELAY:
        if spec.in_port in ports_of(spec.output):
            raise ValueError(f'{spec.output}: port {spec.in_port} is where '
                             'it comes from')
    elif spec.output not in (NORMAL, IN_PORT):
        raise ValueError(f'output {spec.output!r} is not one of '
                         f'{NORMAL}, {IN_PORT}')


def _check_ports(numbers: list[int]) -> list[int]:
    if not 0 < len(numbers) <= _MAX_OUTPUTS:
        raise ValueError(f'{len(numbers)} ports are not between 1 and '
                         f'{_MAX_OUTPUTS}')
    for number in numbers:
        _integer(number, 'port', 1, _MAX_PORT - 1)
    if len(set(numbers)) != len(numbers):
        raise ValueError(f'ports {numbers} are not all different')
    return numbers


def _check_cookie(cookie: Any) -> None:
    if type(cookie) is not int or cookie not in ownership.FLOW_COOKIES:
        raise ValueError(f'cookie {cookie!r} is not one of ours')


def _check_prefix(text: object, family: int) -> None:
    if not isinstance(text, str) or '/' not in text:
        raise ValueError(f'{text!r} is not a prefix')
    network = ip_text.network(text)
    if network.version != family:
        raise ValueError(f'{text} is not of family {family}')
    if network.prefixlen == 0:
        # Open vSwitch would drop the field: another match.
        raise ValueError(f'{text} is everything: leave the prefix out')
    if str(network) != text:
        raise ValueError(f'{text} is not the usual notation of {network}')


def _integer(value: object, what: str, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f'{what} {value!r} is not between {low} and {high}')
