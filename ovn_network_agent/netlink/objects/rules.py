# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Policy rules: struct fib_rule_hdr, linux/fib_rules.h, ip-rule(8)."""

import errno
import functools
import socket
import typing

from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl import fibmsg

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts

RTM_NEWRULE = rtnl.RTM_NEWRULE
RTM_DELRULE = rtnl.RTM_DELRULE
RTM_GETRULE = rtnl.RTM_GETRULE

# Of the agent's rules, and of every rule. One with another (l3mdev, an output
# device, ports, a tunnel) selects by more than :class:`Rule` has, so it is not
# the agent's.
MESSAGE = messages.narrow(
    fibmsg.fibmsg, 'FRA_DST', 'FRA_SRC', 'FRA_IIFNAME', 'FRA_PRIORITY',
    'FRA_FWMARK', 'FRA_SUPPRESS_PREFIXLEN', 'FRA_TABLE', 'FRA_FWMASK',
    (18, 'FRA_PAD', 'none'), 'FRA_PROTOCOL')
FIB_RULE_INVERT = 2
_NO_SUPPRESSION = 0xffffffff
_ACTIONS = (fibmsg.FR_ACT_TO_TBL, fibmsg.FR_ACT_BLACKHOLE)


class Rule(typing.NamedTuple):
    """A rule ``lookup table`` or ``blackhole`` as the kernel shows it."""

    priority: int
    table: int  # 0 for a blackhole
    src: str | None
    dst: str | None
    iif: str | None
    fwmark: tuple[int, int] | None  # (mark, mask) or None
    # FRA_PROTOCOL, the program that made the rule; 0 without a number.
    protocol: int
    suppress: int | None = None
    # True for an IPv6 rule without a prefix, else None.
    ipv6: bool | None = None

    @property
    def selector(self) -> tuple[typing.Any, ...]:
        """All fields except the protocol."""
        return (*self[:6], self.suppress, self.ipv6)


def encode(rule: Rule) -> bytes:
    """Body of RTM_NEWRULE or RTM_DELRULE.

    In a deletion, the protocol 0 would match a rule of any protocol.

    :raises ValueError: when a prefix is malformed, or the families differ
    """
    lengths = {'FRA_DST': 0, 'FRA_SRC': 0}
    families: set[int] = {socket.AF_INET6} if rule.ipv6 else set()
    for name, prefix in (('FRA_SRC', rule.src), ('FRA_DST', rule.dst)):
        if prefix is not None:
            family, _packed, lengths[name] = texts.parse_prefix(prefix)
            families.add(family)
    if len(families) > 1:
        raise ValueError(f'{rule} is of two families')
    return messages.encode(
        MESSAGE, _attributes(rule),
        family=families.pop() if families else socket.AF_INET,
        dst_len=lengths['FRA_DST'], src_len=lengths['FRA_SRC'],
        table=rule.table if rule.table < 256 else 0,
        action=(fibmsg.FR_ACT_TO_TBL if rule.table
                else fibmsg.FR_ACT_BLACKHOLE))


def _attributes(rule: Rule) -> list[tuple[str, typing.Any]]:
    """The fields of a rule as attributes, without the unset fields."""
    mark, mask = rule.fwmark or (None, None)
    return [(name, value) for name, value in (
        ('FRA_PRIORITY', rule.priority),
        ('FRA_SRC', rule.src and rule.src.partition('/')[0]),
        ('FRA_DST', rule.dst and rule.dst.partition('/')[0]),
        ('FRA_IIFNAME', rule.iif), ('FRA_FWMARK', mark),
        ('FRA_FWMASK', mask), ('FRA_TABLE', rule.table or None),
        ('FRA_SUPPRESS_PREFIXLEN', rule.suppress),
        ('FRA_PROTOCOL', rule.protocol or None)) if value is not None]


def decode(data: bytes, start: int, end: int) -> Rule | None:
    """A :class:`Rule`, or None for a rule with other attributes."""
    rule, exact = _decode(data[start:end])
    return rule if exact else None


@functools.lru_cache(maxsize=messages.REMEMBERED)
def _decode(body: bytes) -> tuple[Rule, bool]:
    """(Rule, whether the kernel's rule has no other attributes)."""
    message = messages.decode(MESSAGE, body, 0, len(body))
    found = messages.attributes(message)
    action = message['action']
    exact = (action in _ACTIONS and not message['tos']
             and not message['flags'] & FIB_RULE_INVERT
             and messages.is_narrow(message))
    suppress = found.get('FRA_SUPPRESS_PREFIXLEN')
    mask = found.get('FRA_FWMASK')
    prefixed = 'FRA_SRC' in found or 'FRA_DST' in found
    return Rule(
        found.get('FRA_PRIORITY', 0),
        (found.get('FRA_TABLE') or message['table']
         if action == fibmsg.FR_ACT_TO_TBL else 0),
        _prefix(found.get('FRA_SRC'), message['src_len']),
        _prefix(found.get('FRA_DST'), message['dst_len']),
        texts.text(found.get('FRA_IIFNAME')) or None,
        (found.get('FRA_FWMARK', 0), mask) if mask else None,
        found.get('FRA_PROTOCOL', 0),
        None if suppress == _NO_SUPPRESSION else suppress,
        message['family'] == socket.AF_INET6 and not prefixed or None), exact


def _prefix(address: str | bytes | None, length: int) -> str | None:
    return f'{texts.canonical(address)}/{length}' if address else None


def read(kernel: connection.Connection) -> list[Rule]:
    """All rules that :class:`Rule` can express."""
    return [rule for rule, exact in listed(kernel) if exact]


def listed(kernel: connection.Connection) -> list[tuple[Rule, bool]]:
    """All rules, in the order of the kernel, IPv4 first.

    :returns: with whether the kernel's rule has no other attributes
    """
    rules: list[tuple[Rule, bool]] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            dump = kernel.dump(RTM_GETRULE, messages.encode(
                MESSAGE, family=family))
        except OSError as error:
            # The kernel lacks IPv6, or policy rules of IPv6.
            if (family == socket.AF_INET or error.errno not in
                    (errno.EAFNOSUPPORT, errno.EOPNOTSUPP)):
                raise
            continue
        rules.extend(_decode(data[start:end]) for data, start, end in dump)
    return rules


def read_all() -> list[Rule]:
    """All rules, read on a new connection; see :func:`read`."""
    with connection.Connection() as kernel:
        return read(kernel)
