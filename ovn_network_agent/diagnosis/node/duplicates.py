# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of addresses that several routers have."""

from collections.abc import Iterator
import typing

from ovn_network_agent import iptext
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns

# The most addresses that have a line of their own.
_NAMED = 5


class Duplicates(typing.NamedTuple):
    """The addresses that this node announces, and their routers."""

    addresses: int
    # (address, names of its routers), one for each address that
    # several routers have, sorted.
    several: tuple[tuple[iptext.Address, tuple[str, ...]], ...]


def read_duplicates(sources: sources.Sources) -> Duplicates:
    """Find the routers of each announced address in NB.

    The addresses of a router are those of its NAT rows and of its gateway
    ports.  Those of a VNI are elsewhere.

    :raises ovsdb.connection.Unavailable: without NB or SB
    """
    addresses = frozenset(sources.announceable(4))
    in_vnis = {port.lrp for group in sources.snapshot().groups
               for port in group.ports if port.vni}
    owners: dict[iptext.Address, dict[object, str]] = {}
    with sources.database('nb').rows() as nb:
        for key, router in nb['Logical_Router'].items():
            if any(port.name in in_vnis for port in router.ports):
                continue
            for address in _addresses(router) & addresses:
                owners.setdefault(address, {})[key] = _name(router)
    return Duplicates(len(addresses), tuple(
        (address, tuple(sorted(names.values())))
        for address, names in sorted(owners.items()) if len(names) > 1))


def _addresses(router: columns.Row) -> set[iptext.Address]:
    """The addresses of NAT and of the gateway ports."""
    found = {_address(nat.external_ip) for nat in router.nat}
    for port in router.ports:
        if rows.members(port)[2]:
            found |= {iptext.interface(text).ip
                      for text in rows.networks(port)[0]}
    return {each for each in found if each}


def _address(text: str) -> iptext.Address | None:
    """An address, or None for a text of OVN that is none."""
    try:
        return iptext.address(text)
    except ValueError:
        # Another check names such a row.
        return None


def _name(router: columns.Row) -> str:
    """The name of a router in Neutron, or of its row."""
    return directory.neutron_name(router) or router.name


def judge_duplicates(found: Duplicates) -> Iterator[check.Said]:
    """One finding for each address, up to some, with its routers."""
    for address, names in found.several[:_NAMED]:
        yield check.warn(
            f'{address} is an address of the routers {", ".join(names)}: the '
            'node of each router announces it, and the fabric shares the '
            'clients', f'"ovn-network-agent-ctl explain {address}" shows the '
            'row of each router; let one router have the address')
    more = len(found.several) - _NAMED
    if more > 0:
        yield check.warn(f'{more:d} more addresses have several routers',
                         'correct the addresses above, and check again')
    if not found.several:
        yield check.ok(f'each of {found.addresses:d} addresses has one '
                       'router')


CHECKS = (
    check.Check(
        'duplicate-addresses', 'OVN', 'no address of this node belongs to '
        'several routers', read_duplicates, judge_duplicates,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
