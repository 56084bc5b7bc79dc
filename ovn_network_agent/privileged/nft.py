# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for our nftables table and its connections.

No entry point takes words of nft: a table comes as values, which are checked
(:mod:`nft.codec`) and rendered here (:mod:`nft.rendering`).  Only the table
``ovn-network-agent`` of the families ip and ip6 can be read or changed.  Each
nft process has a time limit.
"""

import errno
import socket

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import multicast
from ovn_network_agent.nft import codec
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import names as known_names
from ovn_network_agent.nft import transaction
from ovn_network_agent.privileged import checks
from ovn_network_agent.privileged import command
from ovn_network_agent.privileged import giving
from ovn_network_agent.privileged import limits

# Seconds.  A load of 1,000 VIPs takes 0.2; the kernel may have to wait for
# the transaction of another program.
_TIMEOUT = 30
# As JSON, and all numbers as numbers.
_LIST = ('-j', '-n', 'list')
_ABSENT = 'No such file or directory'


@privileged.netfilter.entrypoint
def read_tables(families):
    """List our tables.

    :param families: list of 'ip' and 'ip6'
    :returns: dict of family to JSON text, of those that are there
    :raises OSError: when nft fails
    """
    # Not "list tables" before: nft 1.0.6 reads all that is in them for it.
    return present({family: ['table', *table(family)]
                     for family in checks.sequence(families)})


@privileged.netfilter.entrypoint
def read_sets(family, names):
    """List sets of our table; a large table takes 100 times as long.

    :param family: 'ip' or 'ip6'
    :param names: list of names
    :returns: dict of name to JSON text, of those that are there
    :raises OSError: when nft fails
    """
    for name in checks.sequence(names):
        if not known_names.is_name(name):
            raise checks.invalid(f'{name!r} is no name of a set')
    return present({name: ['set', *table(family), name]
                     for name in names})


@privileged.netfilter.change
def replace_table(table, contents, leaving):
    """Put a table in the place of the one that is there, if any.

    In one transaction: no packet sees neither of them, and after a failure
    the former one is there.

    :param table: see :func:`nft.codec.pack`
    :param contents: dict of the name of a set to a list of elements
    :param leaving: list of [proto, VIP, port, destination, port], see
        :func:`nft.transaction.replacement`
    :returns: process id of nft, which notifications of the kernel carry
    :raises OSError: when it is refused
    """
    return _fill(transaction.replacement, _unpacked(table), contents,
                 leaving)


@privileged.netfilter.change
def extend_table(table, contents, present, leaving):
    """Put the rules of a table behind those that are there.

    :param table: see :func:`nft.codec.pack`
    :param present: dict of the name of a set to a list of elements, see
        :func:`nft.transaction.extension`
    :returns: as :func:`replace_table`, the other parameters too
    """
    return _fill(transaction.extension, _unpacked(table), contents, present,
                 leaving)


@privileged.netfilter.change
def prune_table(family, rules, chains, sets):
    """Take rules, chains and sets out of our table.

    :param family: 'ip' or 'ip6'
    :param rules: list of [chain, handle]
    :param chains: list of names
    :param sets: likewise
    :returns: as :func:`replace_table`
    """
    return _fill(transaction.pruning, family, rules, chains, sets)


@privileged.netfilter.change
def stamp_table(family, digest, listing_digest):
    """Write into a table what it was loaded from.

    :param family: 'ip' or 'ip6'
    :param digest: of the table, see :func:`nft.rendering.digest`
    :param listing_digest: of its listing, 40 hex digits
    :returns: as :func:`replace_table`
    """
    return _fill(transaction.stamp, family, digest, listing_digest)


@privileged.netfilter.change
def change_elements(family, deletes, adds):
    """Change elements of the sets, all at once.

    :param family: 'ip' or 'ip6'
    :param deletes: dict of the name of a set to a list of elements
    :param adds: the same
    :returns: as :func:`replace_table`
    """
    return _fill(transaction.change, family, deletes, adds)


@privileged.netfilter.change
def delete_table(family):
    """Take our table away.

    :param family: 'ip' or 'ip6'
    :returns: as :func:`replace_table`
    """
    return load(transaction.removal, family)


@privileged.netfilter.change
def delete_connections(family, zone, targets):
    """Forget the tracked connections that were translated to these.

    :param family: 'ip' or 'ip6'
    :param zone: connection tracking zone, 1..65535
    :param targets: list of [proto, VIP, port, destination, port]
    :returns: how many there were
    :raises OSError: when the kernel does not let us
    """
    if (type(family) is not str or family not in elements.FAMILIES or
            not 0 < checks.integer(zone, 'zone') < 65536):
        raise checks.invalid(f'no family and zone: {family!r}, {zone!r}')
    limits.current().check_zone(zone)
    # privileged/start.py imports this before the fork if ports are forwarded.
    from ovn_network_agent.netlink import conntrack
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
def subscribe(name):
    """Hand out a socket that gets the notifications of nftables.

    The kernel gives them to nobody without CAP_NET_ADMIN.  The socket can
    only receive: what is sent over it counts as sent by who sends it.

    :param name: of an abstract Unix socket that waits for it, 32 hex digits
    :returns: our process id, as the other end sees it
    """
    giving.check(name)
    allowed = limits.current()
    if not allowed.egress.loaded:
        allowed.check_forwards()
    with socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC |
            socket.SOCK_NONBLOCK, connection.NETLINK_NETFILTER) as watching:
        watching.setsockopt(socket.SOL_SOCKET, connection.SO_RCVBUFFORCE,
                            connection.RECEIVE_BUFFER)
        watching.bind((0, 0))
        multicast.join(watching, multicast.NFTABLES)
        return giving.give(name, watching)


def delete(kernel, deletions):
    """Delete connections, also those that are gone already.

    :param kernel: netlink.connection.Connection
    :param deletions: list of :func:`conntrack.deletion`
    :returns: how many there were
    :raises OSError: when the kernel does not let us
    """
    failed = [(number, text) for _index, number, text
              in kernel.batch(deletions) if number != errno.ENOENT]
    if failed:
        raise OSError(*failed[0])
    return len(deletions)


def _unpacked(packed):
    """A table that the configuration allows.

    :param packed: see :func:`nft.codec.pack`
    :returns: :class:`nft.values.Table`
    :raises OSError: EINVAL when it is no table, EPERM for another zone
    """
    allowed = limits.current()
    allowed.check_forwards()
    try:
        table = codec.unpack(packed)
    except ValueError as error:
        raise checks.invalid(f'refused: {error}') from error
    allowed.check_table(table.zone, table.vrf)
    return table


def _target(proto, address, port, destination, destination_port):
    """A target as :func:`conntrack.read` has it."""
    return (elements.PROTOCOLS.get(proto), checks.address(address), port,
            checks.address(destination), destination_port)


def table(family, name=ownership.NFT_TABLE):
    """Words that name our table of a family."""
    if type(family) is not str or family not in elements.FAMILIES:
        raise checks.invalid(f'{family!r} is no family of ours')
    return family, name


def present(wanted):
    """List several things and leave out what is not there.

    :param wanted: dict of anything to arguments
    :returns: dict of the same to JSON text
    """
    found = {}
    for key, arguments in wanted.items():
        result = _run([*_LIST, *arguments])
        if not result.status or _ABSENT not in result.stderr:
            found[key] = _successful(result).stdout
    return found


def load(build, *args):
    """Build a transaction and have nft carry it out.

    :raises OSError: EINVAL when an argument is refused, EIO when nft fails
    """
    try:
        script = build(*args)
    except (AttributeError, TypeError, ValueError) as error:
        # AttributeError: what should be a dict of lists is something else.
        raise checks.invalid(f'refused: {error}') from error
    return _successful(_run(['-f', '-'], script)).pid


def _fill(build, *args):
    """Likewise, for what only those want who forward ports.

    A table that an earlier configuration has left may go anyhow.

    :raises OSError: EPERM, too
    """
    limits.current().check_forwards()
    return load(build, *args)


def _run(arguments, stdin=''):
    return command.run(['nft', *arguments], _TIMEOUT, stdin)


def _successful(result):
    """A result of a program that did what it was asked for.

    :raises OSError: when it did not
    """
    if result.status != 0:
        raise OSError(errno.EIO, f'nft: {result.messages}')
    return result
