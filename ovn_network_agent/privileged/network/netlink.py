# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for routes, rules, addresses, neighbours, sysctls.

Each takes a list of items and returns the failures; to create what exists, or
delete what is missing, succeeds.  They set the agent's mark, so that the
caller can neither create an object without it nor delete an object of others.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import errno
import functools
import ipaddress
import os
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.privileged.limits import driver_limits
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks

_CREATE = wire.NLM_F_CREATE | wire.NLM_F_EXCL
_REPLACE = wire.NLM_F_CREATE | wire.NLM_F_REPLACE


@privileged.kernel.change
def port() -> int:
    """Port of the daemon's netlink socket, see :mod:`watches.kernel`."""
    with channel.kernel() as kernel:
        return kernel.port


# -- rules ----------------------------------------------------------------

def _rule(priority: object, table: object, src: str | None, dst: str | None,
          iif: str | None, fwmark: Sequence[int] | None,
          suppress: int | None = None, ipv6: bool | None = None) -> rules.Rule:
    if all(each is None for each in (src, dst, iif, fwmark)):
        raise checks.invalid('a rule without a selector matches everything')
    return rules.Rule(
        checks.priority(priority),
        # Table 0 is a blackhole, which only such a rule may have.
        0 if table == 0 and (fwmark or iif)
        else checks.table(table),
        None if src is None else checks.selector(src),
        None if dst is None else checks.selector(dst),
        None if iif is None else checks.device(iif),
        None if fwmark is None else checks.fwmark(*fwmark),
        ownership.RULE_PROTOCOL,
        None if suppress is None else checks.suppress(suppress),
        None if ipv6 is None else checks.boolean(ipv6))


def _check_ours(kernel: connection.Connection, dev: str) -> None:
    """Refuse others' device named as a VNI's: it would lose our packets."""
    found = links.named(kernel, [dev])
    if dev in found and found[dev].alias != ownership.LINK_ALIAS:
        raise checks.foreign(dev)


def _version(rule: rules.Rule) -> bool:
    """Whether a rule is in the kernel's list of IPv6 rules."""
    return rule.ipv6 or ':' in (rule.src or rule.dst or '')


@privileged.kernel.change
def set_rules(items: checks.Items) -> list[channel.Failure]:
    """Create rules of the agent's protocol.

    :param items: each [priority, table, src, dst, iif, fwmark as [mark, mask],
        suppress, ipv6 (an IPv6 rule without a prefix)]; table 0 is a blackhole
        for a packet mark, or for a device and a prefix
    """
    within = limits.current()

    def encode(*item: typing.Any) -> channel.Request:
        rule = _rule(*item)
        within.check_rule(rule)
        if within.evpn.is_device(rule.iif):
            _check_ours(kernel, rule.iif)
        return rules.RTM_NEWRULE, _CREATE, rules.encode(rule)

    with channel.kernel() as kernel:
        return channel.send(kernel, items, encode, done=(errno.EEXIST,))


@privileged.kernel.change
def delete_rules(items: checks.Items) -> list[channel.Failure]:
    """Delete rules of the agent's protocol, and rules of the Go program.

    Those have no protocol.  The kernel deletes the first rule with all
    attributes of a deletion, and neither protocol 0 nor an absent selector is
    one.  So such a deletion that would hit another rule fails with EBUSY.

    :param items: each [whether the rule is of the Go program, rule as in
        :func:`set_rules`]
    """
    with channel.kernel() as kernel:
        listed = rules.listed(kernel) if any(
            isinstance(item, list | tuple) and item and item[0] is True
            for item in checks.sequence(items)) else []
        within = limits.current()

        def encode(original: bool, item: Sequence[typing.Any]
                   ) -> channel.Request:
            rule = _rule(*item)
            unmarked = rule._replace(protocol=0)
            if original is True and (unmarked, True) in listed:
                within.check_removal(rule)
                _check_first(unmarked, listed)
                rule = unmarked
            return rules.RTM_DELRULE, 0, rules.encode(rule)

        return channel.send(kernel, items, encode, done=(errno.ENOENT,))


def _check_first(rule: rules.Rule, listed: Iterable[tuple[rules.Rule, bool]]
                 ) -> None:
    first = next(found for found in listed if all(
        getattr(rule, name) in (None, getattr(found[0], name))
        for name in ('priority', 'table', 'src', 'dst', 'iif', 'fwmark'))
        and _version(found[0]) == _version(rule))
    if first != (rule, True):
        raise OSError(
            errno.EBUSY, 'the kernel cannot tell the rule from a rule of '
            f'another program at priority {rule.priority}, which comes '
            'first; remove the rule that is not needed with ip rule')


# -- addresses and neighbours ---------------------------------------------

@privileged.kernel.change
def set_addresses(items: checks.Items) -> list[channel.Failure]:
    """Add addresses [dev, 'address/length'].

    The anchor has scope link, so that it is no source of connections or ICMP
    errors, to which no host could answer.  Outside of a VRF, a tenant's
    gateway would be an address of the node.
    """
    within = limits.current()
    in_vrfs = functools.cache(lambda: vni_links.names_in_vrfs(kernel))

    def encode(dev: str, address: str) -> channel.Request:
        within.check_address(dev, checks.interface(address))
        if within.evpn.is_port(dev):
            checks.permit(dev in in_vrfs(),
                          f'{address} on {dev}', 'in the VRF of a VNI')
        index = checks.index(dev)
        shared = dev not in within.others and within.is_egress_link(dev)
        if shared:
            driver_limits.check_in_network(
                addresses.read(kernel, index), address)
        return addresses.RTM_NEWADDR, _CREATE, addresses.encode(
            index, address, ownership.ADDRESS_PROTOCOL,
            addresses.RT_SCOPE_LINK if address == ownership.ANCHOR
            else addresses.RT_SCOPE_UNIVERSE, shared)

    with channel.kernel() as kernel:
        return channel.send(kernel, items, encode, done=(errno.EEXIST,))


@privileged.kernel.change
def delete_addresses(items: checks.Items) -> list[channel.Failure]:
    """Remove the agent's addresses [dev, 'address/length'].

    With a primary address, the kernel removes the secondary ones of its
    network; with a device's last IPv4 address, all its IPv4 routes
    (fib_disable_ip()).  Where these may be the operator's: EBUSY.  An address
    with another program's number silently stays; one without a number goes
    only if the configuration has it there: it is of the Go program, or of the
    agent on an old kernel.
    """
    within = limits.current()

    with channel.kernel() as kernel:
        def encode(dev: str, address: str) -> channel.Request:
            index = checks.index(dev)
            body = addresses.encode(index, checks.interface(address))
            present = addresses.read(kernel, index)
            marks = {a.protocol for a in present if a.address == address}
            if marks - {0, ownership.ADDRESS_PROTOCOL}:
                raise OSError(errno.EADDRNOTAVAIL, 'not ours')
            if 0 in marks:
                within.check_address(dev, address)
            _check_alone(kernel, dev, index, present, address)
            return addresses.RTM_DELADDR, 0, body

        # in turn: each removal decides whether the next address is the last
        failures: list[channel.Failure] = []
        for position, item in enumerate(checks.sequence(items)):
            failures.extend(
                (position, number, text) for _zero, number, text in
                channel.send(kernel, [item], encode)
                if number != errno.EADDRNOTAVAIL)
        return _unless_missing(failures)


def _check_alone(kernel: connection.Connection, dev: str, index: int,
                 present: list[addresses.Address], address: str) -> None:
    """Check that no object of others goes with an address."""
    lost = addresses.depending(present, address)
    if lost and not _promotes(dev):
        raise OSError(
            errno.EBUSY, f'with {address} the kernel would remove '
            f'{", ".join(lost)} from {dev}; remove that first, or '
            f'set sysctl promote_secondaries=1 for {dev}')
    if (dev in ownership.VETH_ENDS or evpn_names.is_vrf_end(dev) or
            [a.address for a in present if '.' in a.address] != [address]):
        # A veth pair goes as a whole.
        return
    lost = [route.dst for route in routes.read_on(kernel, index)
            if route.protocol not in (ownership.ROUTE_PROTOCOL,
                                      routes.RTPROT_KERNEL)]
    if lost:
        raise OSError(
            errno.EBUSY, f'{address} is the last address of {dev}, and with '
            f'it the kernel would remove routes that are not ours '
            f'({", ".join(lost[:5])}); give {dev} an address of your own, '
            f'or remove the routes, and then this address')


def _promotes(dev: str) -> bool:
    for name in ('all', dev):
        path = f'/proc/sys/net/ipv4/conf/{name}/promote_secondaries'
        with open(path, encoding='ascii') as opened:
            if opened.read().strip() != '0':
                return True
    return False


@privileged.kernel.change
def set_neighbours(items: checks.Items) -> list[channel.Failure]:
    """Make permanent neighbours [dev, dst, mac]; EEXIST for one of others."""
    with channel.kernel() as kernel:
        present = _permanent(kernel)
        within = limits.current()

        def encode(dev: str, dst: str, mac: str) -> channel.Request:
            within.check_neighbour(dev)
            index = checks.index(dev)
            body = neighbours.encode(index, checks.address(dst),
                                     checks.mac(mac),
                                     ownership.NEIGHBOUR_PROTOCOL)
            existing = present(index).get(_canonical(dst))
            if existing is not None and not _is_ours(dev, existing):
                raise OSError(
                    errno.EEXIST, f'a permanent neighbour with {existing.mac} '
                    f'and not {mac} exists which is not ours; remove it '
                    f'(ip neighbour del {dst} dev {dev})')
            return neighbours.RTM_NEWNEIGH, _REPLACE, body

        return channel.send(kernel, items, encode)


@privileged.kernel.change
def delete_neighbours(items: checks.Items) -> list[channel.Failure]:
    """Remove neighbour entries [dev, dst], except those of other programs."""
    with channel.kernel() as kernel:
        present = _permanent(kernel)

        def encode(dev: str, dst: str) -> channel.Request:
            index = checks.index(dev)
            body = neighbours.encode(index, checks.address(dst))
            entry = present(index).get(_canonical(dst))
            if entry is None or not _is_ours(dev, entry):
                raise OSError(errno.ENOENT, 'not ours')
            return neighbours.RTM_DELNEIGH, 0, body

        return [f for f in _unless_missing(channel.send(kernel, items, encode))
                if f[1] != errno.ENOENT]


def _permanent(kernel: connection.Connection
               ) -> Callable[[int], dict[str, neighbours.Neighbour]]:
    return functools.cache(lambda index: {
        entry.dst: entry
        for entry in neighbours.read(kernel, index, permanent=True)})


def _canonical(address: str) -> str:
    return texts.address_text(texts.parse_address(address)[1])


def _is_ours(dev: str, entry: neighbours.Neighbour) -> bool:
    """Whether a permanent neighbour may be changed; one without a protocol is
    of the Go program on an end of the veth pair, of the operator elsewhere.
    """
    return entry.protocol == ownership.NEIGHBOUR_PROTOCOL or (
        not entry.protocol and dev in ownership.VETH_ENDS)


def _unless_missing(failures: Iterable[channel.Failure]
                    ) -> list[channel.Failure]:
    return [f for f in failures if f[1] != errno.ENODEV]


# -- sysctls --------------------------------------------------------------

@privileged.kernel.change
def set_sysctls(items: checks.Items) -> list[channel.Failure]:
    """Write network sysctls [path below /proc/sys, value]."""
    failures = []
    within = limits.current()
    for position, item in enumerate(checks.sequence(items)):
        try:
            path = checks.sysctl(*checks.sequence(item, 'item'))
            within.check_sysctl(item[0])
            with open(path, 'w', encoding='ascii') as opened:
                opened.write(item[1])
        except (OSError, TypeError, ValueError) as error:
            _position, number, text = channel.failure(position, error)
            failures.append((position, number, text if number != errno.EROFS
                             else _in_container(*item)))
    return failures


def _in_container(path: str, value: str) -> str:
    return (f'/proc/sys is read-only here, as in a container: write the line '
            f'"{path} = {value}" into a file in /etc/sysctl.d/ of the host, '
            f'and run "sysctl --system" there')


@privileged.kernel.change
def renew_address(dev: str, address: str) -> bool:
    """Set an address, 'address/length' (IPv4, below 32), again in one batch; a
    host address keeps the device's routes and neighbours meanwhile.

    :returns: False when the device lacks the address; nothing is done then
    :raises OSError: when a change failed; the address may be missing
    """
    limits.current().check_renewal(checks.device(dev),
                                   checks.interface(address))
    index = checks.index(dev)
    stand_in = f'{ipaddress.IPv4Interface(address).ip}/32'
    create = wire.NLM_F_CREATE | wire.NLM_F_EXCL
    with channel.kernel() as kernel:
        present = {a.address: a.protocol
                   for a in addresses.read(kernel, index)}
        if address not in present:
            return False
        # its mark, by which the agent recognises it
        body = addresses.encode(index, checks.interface(address),
                                present[address])
        steps = [(addresses.RTM_DELADDR, 0, body),
                 (addresses.RTM_NEWADDR, create, body)]
        if stand_in not in present:
            other = addresses.encode(index, checks.interface(stand_in))
            steps = [(addresses.RTM_NEWADDR, create, other), *steps,
                     (addresses.RTM_DELADDR, 0, other)]
        for _index, number, text in kernel.batch(steps):
            raise OSError(number, f'{address} on {dev}: '
                                  f'{text or os.strerror(number)}')
    return True
