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

"""Policy rules: struct fib_rule_hdr, linux/fib_rules.h, ip-rule(8)."""

import errno
import socket
import struct
import typing

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire

RTM_NEWRULE = 32
RTM_DELRULE = 33
RTM_GETRULE = 34

# family, destination length, source length, tos, table, two reserved,
# action, flags
RULE_HEADER = struct.Struct('=BBBBBBBBI')
FRA_DST = 1
FRA_SRC = 2
FRA_IIFNAME = 3
FRA_PRIORITY = 6
FRA_FWMARK = 10
FRA_SUPPRESS_PREFIXLEN = 14
FRA_TABLE = 15
FRA_FWMASK = 16
FRA_PAD = 18
FRA_PROTOCOL = 21
FR_ACT_TO_TBL = 1
FR_ACT_BLACKHOLE = 6
FIB_RULE_INVERT = 2
_NO_SUPPRESSION = 0xffffffff

# What a rule of ours has, or what every rule has.  A rule with anything
# else (l3mdev, an output device, ports, a tunnel) selects by more than we
# can say, so it is not taken for ours.
_EXPRESSIBLE = {FRA_DST, FRA_SRC, FRA_IIFNAME, FRA_PRIORITY, FRA_FWMARK,
                FRA_SUPPRESS_PREFIXLEN, FRA_TABLE, FRA_FWMASK, FRA_PAD,
                FRA_PROTOCOL}


class Rule(typing.NamedTuple):
    """A rule ``lookup table`` or ``blackhole`` as the kernel shows it.

    :ivar table: 0 for a blackhole
    :ivar src: source prefix or None
    :ivar dst: destination prefix or None
    :ivar iif: incoming device or None
    :ivar fwmark: (mark, mask) or None
    :ivar protocol: FRA_PROTOCOL, who made it; 0 when nobody said
    :ivar suppress: suppress_prefixlength or None
    :ivar ipv6: True for one of IPv6 although no prefix says so, else None
    """

    priority: int
    table: int
    src: str | None
    dst: str | None
    iif: str | None
    fwmark: tuple[int, int] | None
    protocol: int
    suppress: int | None = None
    ipv6: bool | None = None

    @property
    def what(self):
        """Everything but who made it."""
        return (*self[:6], self.suppress, self.ipv6)


def encode(rule):
    """Body of RTM_NEWRULE or RTM_DELRULE.

    In a deletion protocol 0 would match a rule of any protocol.

    :param rule: :class:`Rule`
    :raises ValueError: when a prefix is none, or the families differ
    """
    lengths = {FRA_DST: 0, FRA_SRC: 0}
    families = set()
    body = wire.u32(FRA_PRIORITY, rule.priority)
    for kind, prefix in ((FRA_SRC, rule.src), (FRA_DST, rule.dst)):
        if prefix is not None:
            family, packed, lengths[kind] = wire.parse_prefix(prefix)
            families.add(family)
            body += wire.attribute(kind, packed)
    if rule.ipv6:
        families.add(socket.AF_INET6)
    if len(families) > 1:
        raise ValueError(f'{rule} is of two families')
    if rule.iif is not None:
        body += wire.string(FRA_IIFNAME, rule.iif)
    if rule.fwmark is not None:
        body += wire.u32(FRA_FWMARK, rule.fwmark[0])
        body += wire.u32(FRA_FWMASK, rule.fwmark[1])
    if rule.table:
        body += wire.u32(FRA_TABLE, rule.table)
    if rule.suppress is not None:
        body += wire.u32(FRA_SUPPRESS_PREFIXLEN, rule.suppress)
    if rule.protocol:
        body += wire.attribute(FRA_PROTOCOL, bytes((rule.protocol,)))
    family = families.pop() if families else socket.AF_INET
    return RULE_HEADER.pack(
        family, lengths[FRA_DST], lengths[FRA_SRC], 0,
        rule.table if rule.table < 256 else 0, 0, 0,
        FR_ACT_TO_TBL if rule.table else FR_ACT_BLACKHOLE, 0) + body


def decode(data, start, end):
    """A :class:`Rule`, or None for one that we could not have made."""
    rule, exact = _decode(data, start, end)
    return rule if exact else None


def _decode(data, start, end):
    """(Rule, whether that is all that the rule says)."""
    (family, dst_length, src_length, tos, table, _res1, _res2, action,
     flags) = RULE_HEADER.unpack_from(data, start)
    found = wire.attributes(data, start + RULE_HEADER.size, end)
    exact = (action in (FR_ACT_TO_TBL, FR_ACT_BLACKHOLE) and not tos
             and not flags & FIB_RULE_INVERT
             and _EXPRESSIBLE.issuperset(found))
    suppress = wire.number(found.get(FRA_SUPPRESS_PREFIXLEN))
    mark = wire.number(found.get(FRA_FWMARK))
    mask = wire.number(found.get(FRA_FWMASK))
    prefixed = FRA_SRC in found or FRA_DST in found
    return Rule(
        wire.number(found.get(FRA_PRIORITY)) or 0,
        (wire.number(found.get(FRA_TABLE)) or table
         if action == FR_ACT_TO_TBL else 0),
        _prefix(found.get(FRA_SRC), src_length),
        _prefix(found.get(FRA_DST), dst_length),
        wire.text(found.get(FRA_IIFNAME)) or None,
        (mark or 0, mask) if mask else None,
        found.get(FRA_PROTOCOL, b'\0')[0],
        None if suppress == _NO_SUPPRESSION else suppress,
        family == socket.AF_INET6 and not prefixed or None), exact


def _prefix(payload, length):
    return f'{wire.address_text(payload)}/{length}' if payload else None


def read(kernel):
    """All rules that :class:`Rule` can express.

    :param kernel: :class:`connection.Connection`
    :raises OSError: when they cannot be read
    """
    return [rule for rule, exact in listed(kernel) if exact]


def listed(kernel):
    """All rules, in the order of the kernel, IPv4 first.

    :param kernel: :class:`connection.Connection`
    :returns: list of (:class:`Rule`, whether that is all the rule says)
    :raises OSError: when they cannot be read
    """
    rules = []
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            dump = kernel.dump(RTM_GETRULE, RULE_HEADER.pack(
                family, 0, 0, 0, 0, 0, 0, 0, 0))
        except OSError as error:
            # No IPv6, or no policy rules for it, in this kernel.
            if (family == socket.AF_INET or error.errno not in
                    (errno.EAFNOSUPPORT, errno.EOPNOTSUPP)):
                raise
            continue
        for message in dump:
            rules.append(_decode(*message))
    return rules


def read_all():
    """:func:`read` with a connection of its own."""
    with connection.Connection() as kernel:
        return read(kernel)
