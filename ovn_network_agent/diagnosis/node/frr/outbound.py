# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the filters between this node's routes and its BGP neighbours."""

from collections.abc import Iterator
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.kernel import families
from ovn_network_agent.diagnosis.readers import frr_filters
from ovn_network_agent.forward import rules
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import setup

#: the filters that routes pass: (kind, name)
Passed: typing.TypeAlias = tuple[tuple[str, str], ...]


class Outbound(typing.NamedTuple):
    """The outbound filters, and the addresses that have to pass."""

    addresses: tuple[ip_text.Address, ...]
    own: str  # name of the agent's prefix list, '' for none
    # By name, with the filters of each.
    neighbours: tuple[tuple[str, Passed], ...]
    filters: filters.Filters
    version: int = 4  # 4 or 6, the family


def read_outbound(sources: sources.Sources, version: int = 4) -> Outbound:
    """Read the outbound filters of the neighbours."""
    vips = [ip_text.address(vip.address) for vip in rules.load(sources.conf)
            if vip.managed and vip.version == version]
    known = sources.announceable(version)
    addresses = tuple(sorted({*known, *vips}))
    # Without the privileges, this names them.
    sources.daemons()
    own = sources.conf.frr.frr_prefix_list
    try:
        found = frr_filters.read(sources.vrf, own, version)
    except readers.Unread as error:
        raise check.NotChecked(str(error)) from error
    return Outbound(addresses, own, tuple(
        (each.name, tuple(_split(text) for text in each.filters))
        for each in found.neighbours), found.filters, version)


def _split(text: str) -> tuple[str, str]:
    kind, _space, name = text.partition(' ')
    return kind, name


def judge_outbound(found: Outbound) -> Iterator[check.Result]:
    """One finding for each line, list or map that keeps addresses back."""
    kept: dict[filters.Denial, dict[str, list[ip_text.Address]]] = {}
    denials: dict[Passed, list[tuple[ip_text.Address, filters.Denial]]] = {}
    for name, passed in [('', _own(found)), *found.neighbours]:
        # Neighbours often have the same filters.
        if passed not in denials:
            denials[passed] = [(address, denial)
                               for address in found.addresses if (denial := (
                                   _denial(found.filters, passed, address)))]
        for address, denial in denials[passed]:
            kept.setdefault(denial, {}).setdefault(name, []).append(address)
    yield from (_result(denial, of, found) for denial, of in kept.items())
    if not kept:
        yield check.ok(f'{len(found.addresses):d} addresses pass to '
                       f'{len(found.neighbours):d} neighbours')


def _own(found: Outbound) -> Passed:
    """The agent's list, which a redistribution may use, too."""
    return ((filters.LIST, found.own),) if found.own else ()


def _denial(known: filters.Filters, passed: Passed, address: ip_text.Address
            ) -> filters.Denial | None:
    for kind, name in passed:
        try:
            denial = known.denial(kind, name, address)
        except filters.Undecided:
            # FRR goes by more than the address, so this may be as wanted.
            continue
        if denial:
            return denial
    return None


def _result(denial: filters.Denial, of: dict[str, list[ip_text.Address]],
            found: Outbound) -> check.Result:
    """The finding about one denial; the neighbour '' stands for all."""
    addresses = {address for some in of.values() for address in some}
    peers = sorted(set(of) - {''})
    everybody = '' in of or len(peers) == len(found.neighbours)
    what = (f'{denial.kind} {denial.name}: {denial.text}' if denial.line
            else f'{denial.kind} {denial.name} {denial.text}')
    evidence = (f'{what}, so {check.named(addresses)} is kept back from '
                f'{"all neighbours" if everybody else ", ".join(peers)}')
    if everybody and addresses == set(found.addresses):
        return check.broken(evidence, _remedy(denial, found.version))
    return check.warn(evidence, _remedy(denial, found.version))


def _remedy(denial: filters.Denial, version: int) -> str:
    if denial.line and denial.kind == filters.LIST:
        return ('the line is none of the agent, which leaves it alone; in '
                f'vtysh "no {setup.WORDS[version]} prefix-list '
                f'{denial.name} {denial.text}" '
                'removes the line')
    if denial.line:
        return (f'narrow the entry with a "match", or remove it in vtysh: '
                f'"no route-map {denial.name} {denial.text}"')
    return ('let the addresses pass there, or take the filter away: "no '
            f'neighbor ADDRESS {denial.kind} {denial.name} out"')


CHECKS = (
    *families.of_both('outbound-ipv6', check.Check(
        'outbound-filters', 'BGP', 'no line of another program in the prefix '
        'list, and no other outbound filter of a neighbour, keeps addresses '
        'of this node back', read_outbound, judge_outbound,
        ('frr-daemons', 'bgp-instance', 'ovs-database', 'nb-database',
         'sb-database'))),
)
