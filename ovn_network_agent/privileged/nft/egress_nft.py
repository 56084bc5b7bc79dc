# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for our nftables table of egress addresses; as in
:mod:`privileged.nft.nft`, none takes words of nft.
"""

from collections.abc import Callable
from collections.abc import Sequence
import typing

from ovn_network_agent import privileged
from ovn_network_agent.netlink import connection
from ovn_network_agent.nft import egress
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.nft import nft


@privileged.netfilter.entrypoint
def read_egress(families: Sequence[str]) -> dict[str, str]:
    """List our tables: JSON text by family, of those that are there."""
    return nft.present({family: ['table', *nft.table(family, egress.TABLE)]
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
    return _fill(egress.replacement, family, checks.sequence(machines),
                 checks.sequence(sources), checks.sequence(held))


@privileged.netfilter.change
def change_egress(family: str, gone: Sequence[Sequence[typing.Any]],
                  come: Sequence[Sequence[typing.Any]]) -> int:
    """Change elements, all at once; both [machines, sources, held]."""
    return _fill(egress.change, family, *(
        [checks.sequence(each) for each in checks.sequence(pair)]
        for pair in (gone, come)))


@privileged.netfilter.change
def stamp_egress(family: str, listing_digest: str) -> int:
    """Write into a table the digest of its listing, 40 hex digits."""
    return _fill(egress.stamp, family, listing_digest)


@privileged.netfilter.change
def delete_senders(family: str, machines: checks.Items) -> int:
    """Forget connections of [machine, egress address or ''] with another
    translation, which they keep while packets pass; returns how many.
    """
    limits.current().egress.check_loaded()
    nft.table(family)
    refused, pairs = checks.items(('machine', _pair, machines))
    if refused:
        raise checks.invalid(f'refused: {refused[0][2]}')
    wanted = dict(pair for _name, _index, pair in pairs)
    # imported before the fork by privileged/daemon/start.py
    from ovn_network_agent.netlink.objects import conntrack
    with connection.Connection(
            True, connection.NETLINK_NETFILTER) as kernel:
        return nft.delete(kernel, [
            conntrack.deletion(one) for one
            in conntrack.read_senders(kernel, family, wanted)
            if one.seen_as != wanted[one.address]])


@privileged.netfilter.change
def delete_egress(family: str) -> int:
    """Take our table away."""
    return nft.load(egress.removal, family)


def _pair(machine: object, address: object) -> tuple[str, str]:
    return (checks.address(machine),
            '' if address == '' else checks.address(address))


def _fill(build: Callable[..., str], *args: typing.Any) -> int:
    limits.current().egress.check_loaded()
    return nft.load(build, *args)
