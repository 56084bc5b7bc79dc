# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for our nftables table and its connections.

None takes words of nft: values are checked (:mod:`nft.values`) and rendered
(:mod:`nft.rendering`) here, for our table of the families ip and ip6 alone.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import errno
import socket
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import multicast
from ovn_network_agent.nft import egress
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import transaction
from ovn_network_agent.nft import values
from ovn_network_agent.privileged.daemon import command
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks

# seconds; 1,000 VIPs take 0.2, other programs' transactions come before
_TIMEOUT = 30
# as JSON, and all numbers as numbers
_LIST = ('-j', '-n', 'list')
# elements by the name of a set
_Contents = dict[str, typing.Any]
_ABSENT = 'No such file or directory'

# seconds; nft only prints
_VERSION_TIMEOUT = 10


@privileged.netfilter.entrypoint
def read_tables(families: Sequence[str]) -> dict[str, str]:
    """Our tables that are there: JSON text by family."""
    # nft 1.0.6 would read all that is in them for "list tables"
    return present({family: ['table', *table(family)]
                     for family in checks.sequence(families)})


@privileged.netfilter.entrypoint
def read_sets(family: str, names: Sequence[str]) -> dict[str, str]:
    """Sets that are there: JSON by name; a table takes 100 times as long."""
    for name in checks.sequence(names):
        if not values.is_name(name):
            raise checks.invalid(f'{name!r} is no name of a set')
    return present({name: ['set', *table(family), name]
                     for name in names})


@privileged.netfilter.change
def replace_table(table: Sequence[typing.Any], contents: _Contents,
                  leaving: checks.Items) -> int:
    """Replace a table, in one transaction: a failure leaves the former one.

    :param table: see :func:`nft.values.pack`
    :param leaving: each [proto, VIP, port, destination, port], see
        :func:`nft.transaction.replacement`
    :returns: process id of nft, which notifications of the kernel carry
    """
    return _fill(transaction.replacement, _unpacked(table), contents,
                 leaving)


@privileged.netfilter.change
def extend_table(table: Sequence[typing.Any], contents: _Contents,
                 present: _Contents, leaving: checks.Items) -> int:
    """Add a table's rules, see :func:`nft.transaction.extension`."""
    return _fill(transaction.extension, _unpacked(table), contents, present,
                 leaving)


@privileged.netfilter.change
def prune_table(family: str, rules: checks.Items, chains: Sequence[str],
                sets: Sequence[str]) -> int:
    """Take rules [chain, handle], chains and sets out of our table."""
    return _fill(transaction.pruning, family, rules, chains, sets)


@privileged.netfilter.change
def stamp_table(family: str, digest: str, listing_digest: str) -> int:
    """Write into a table what it was loaded from: :func:`nft.rendering.digest`
    and the digest of its listing, 40 hex digits.
    """
    return _fill(transaction.stamp, family, digest, listing_digest)


@privileged.netfilter.change
def change_elements(family: str, deletes: _Contents, adds: _Contents) -> int:
    """Change elements of the sets, all at once."""
    return _fill(transaction.change, family, deletes, adds)


@privileged.netfilter.change
def delete_table(family: str) -> int:
    """Take our table away."""
    return load(rendering.removal, family)


@privileged.netfilter.change
def delete_connections(family: str, zone: int, targets: checks.Items) -> int:
    """Forget connections to [proto, VIP, port, destination, port]; how many.
    """
    if (type(family) is not str or family not in elements.FAMILIES or
            not 0 < checks.integer(zone, 'zone') < 65536):
        raise checks.invalid(f'no family and zone: {family!r}, {zone!r}')
    limits.current().check_zone(zone)
    # imported before the fork by privileged/daemon/start.py
    from ovn_network_agent.netlink.objects import conntrack
    try:
        wanted = {_target(*target) for target in checks.sequence(targets)}
    except TypeError as error:
        raise checks.invalid(f'refused: {error}') from error
    with connection.Connection(
            True, connection.NETLINK_NETFILTER) as kernel:
        return delete(kernel, [
            conntrack.deletion(one) for one
            in conntrack.read(kernel, family, zone, wanted)])


@privileged.netfilter.change
def subscribe(name: str) -> int:
    """Hand out a socket that gets the notifications of nftables, and can only
    receive: sending counts as the sender's.  The kernel wants CAP_NET_ADMIN.

    :returns: our process id, as the other end sees it
    """
    passed_sockets.check(name)
    allowed = limits.current()
    if not allowed.egress.loaded:
        allowed.check_forwards()
    with multicast.subscribe(
            multicast.NFTABLES,
            protocol=connection.NETLINK_NETFILTER) as watching:
        watching.setsockopt(socket.SOL_SOCKET, connection.SO_RCVBUFFORCE,
                            connection.RECEIVE_BUFFER)
        return passed_sockets.give(name, watching)


def delete(kernel: connection.Connection,
           deletions: list[tuple[int, int, bytes]]) -> int:
    """Delete connections, also those that are gone; returns how many."""
    failed = [(number, text) for _index, number, text
              in kernel.batch(deletions) if number != errno.ENOENT]
    if failed:
        raise OSError(*failed[0])
    return len(deletions)


def _unpacked(packed: Sequence[typing.Any]) -> values.Table:
    allowed = limits.current()
    allowed.check_forwards()
    try:
        table = values.unpack(packed)
    except ValueError as error:
        raise checks.invalid(f'refused: {error}') from error
    allowed.check_table(table.zone, table.vrf)
    return table


def _target(proto: str, address: str, port: int, destination: str,
            destination_port: int) -> tuple[int, str, int, str, int]:
    """As :func:`conntrack.read` has it."""
    if proto not in elements.PROTOCOLS:
        raise checks.invalid(f'{proto!r} is neither tcp nor udp')
    return (elements.PROTOCOLS[proto], checks.address(address), port,
            checks.address(destination), destination_port)


def table(family: str, name: str = ownership.NFT_TABLE) -> tuple[str, str]:
    """Words that name our table of a family."""
    if type(family) is not str or family not in elements.FAMILIES:
        raise checks.invalid(f'{family!r} is no family of ours')
    return family, name


def present(wanted: dict[str, list[str]]) -> dict[str, str]:
    """List things by their arguments, without what is not there."""
    found = {}
    for key, arguments in wanted.items():
        result = _run([*_LIST, *arguments])
        if not result.status or _ABSENT not in result.stderr:
            found[key] = _successful(result).stdout
    return found


def load(build: Callable[..., str], *args: typing.Any) -> int:
    """Build a transaction and have nft carry it out."""
    try:
        script = build(*args)
    except (AttributeError, TypeError, ValueError) as error:
        # AttributeError: something else in place of a dict of lists
        raise checks.invalid(f'refused: {error}') from error
    return _successful(_run(['-f', '-'], script)).pid


def _fill(build: Callable[..., str], *args: typing.Any) -> int:
    """Only for who forwards ports; a table that was left may go anyhow."""
    limits.current().check_forwards()
    return load(build, *args)


def _run(arguments: Iterable[str], stdin: str = '') -> command.Result:
    return command.run(['nft', *arguments], _TIMEOUT, stdin)


def _successful(result: command.Result) -> command.Result:
    if result.status != 0:
        raise OSError(errno.EIO, f'nft: {result.messages}')
    return result


@privileged.netfilter.entrypoint
def read_egress(families: Sequence[str]) -> dict[str, str]:
    """List our tables: JSON text by family, of those that are there."""
    return present({family: ['table', *table(family, egress.TABLE)]
                    for family in checks.sequence(families)})


@privileged.netfilter.change
def replace_egress(family: str, machines: checks.Items, sources: checks.Items,
                   held: Sequence[str]) -> int:
    """Put a table in the place of the one that is there, if any, at once.

    :param machines: each [machine, link]
    :param sources: each [machine, link, egress address]
    :param held: egress addresses
    :returns: process id of nft, which notifications of the kernel carry
    """
    return _fill_egress(egress.replacement, family, checks.sequence(machines),
                        checks.sequence(sources), checks.sequence(held))


@privileged.netfilter.change
def change_egress(family: str, removed: Sequence[Sequence[typing.Any]],
                  added: Sequence[Sequence[typing.Any]]) -> int:
    """Change elements, all at once; both [machines, sources, held]."""
    return _fill_egress(egress.change, family, *(
        [checks.sequence(each) for each in checks.sequence(pair)]
        for pair in (removed, added)))


@privileged.netfilter.change
def stamp_egress(family: str, listing_digest: str) -> int:
    """Write into a table the digest of its listing, 40 hex digits."""
    return _fill_egress(egress.stamp, family, listing_digest)


@privileged.netfilter.change
def delete_senders(family: str, machines: checks.Items) -> int:
    """Forget connections of [machine, egress address or ''] with another
    translation, which they keep while packets pass; returns how many.
    """
    limits.current().egress.check_loaded()
    table(family)
    refused, pairs = checks.items(('machine', _pair, machines))
    if refused:
        raise checks.invalid(f'refused: {refused[0][2]}')
    wanted = dict(pair for _name, _index, pair in pairs)
    # imported before the fork by privileged/daemon/start.py
    from ovn_network_agent.netlink.objects import conntrack
    with connection.Connection(
            True, connection.NETLINK_NETFILTER) as kernel:
        return delete(kernel, [
            conntrack.deletion(one) for one
            in conntrack.read_senders(kernel, family, wanted)
            if one.seen_as != wanted[one.address]])


@privileged.netfilter.change
def delete_egress(family: str) -> int:
    """Take our table away."""
    return load(rendering.removal, family, egress.TABLE)


def _pair(machine: object, address: object) -> tuple[str, str]:
    return (checks.address(machine),
            '' if address == '' else checks.address(address))


def _fill_egress(build: Callable[..., str], *args: typing.Any) -> int:
    limits.current().egress.check_loaded()
    return load(build, *args)


@privileged.netfilter.entrypoint
def read_version() -> str:
    """The version of nft, such as '1.0.6'."""
    result = command.run(['nft', '--version'], _VERSION_TIMEOUT)
    fields = result.stdout.split()
    if result.status or len(fields) < 2 or not fields[1].startswith('v'):
        raise OSError(errno.EPROTO, f'nft: {result.messages}')
    return fields[1].removeprefix('v')
