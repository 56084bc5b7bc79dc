# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The configuration of FRR that the agent needs, and its missing parts.  Pure:
the agent writes static routes and a prefix list, the operator the rest.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from ovn_network_agent.frr import output

#: in the names of lists and routes
WORDS = {4: 'ip', 6: 'ipv6'}
_BGP = 'router bgp '
# with the AS number
_BGP_WORDS = 3
_ROUTE_MAP = 'route-map '
# the most other instances that are named
_NAMED = 3
# the parts whose lack :func:`faults` names
VRF, INSTANCE, REDISTRIBUTION, FILTER = (
    'vrf', 'instance', 'redistribution', 'filter')


class Setup(typing.NamedTuple):
    """The parts of FRR's configuration that the agent needs."""

    vrf: bool  # whether zebra has the VRF, and its device
    asn: str  # AS number of the BGP instance of the VRF, '' without one
    redistributes: tuple[str, ...]  # sources, like 'static', of the family
    neighbours: bool  # whether the instance has neighbours
    filters: bool  # whether a filter uses the prefix list
    described: bool = False  # whether the prefix list has a description
    # Source and route map of redistributions whose map does not exist; FRR
    # lets no route pass such a map.
    undefined: tuple[tuple[str, str], ...] = ()
    bfd: bool = False  # whether a neighbour has BFD, which bfdd does
    version: str = ''  # of FRR, '' when it is not shown
    # source and route map of redistributions through a route map
    mapped: tuple[tuple[str, str], ...] = ()
    family: int = 4  # 4 or 6, of the redistribution and of the filters
    # first lines of the BGP instances, if none is of the VRF
    others: tuple[str, ...] = ()


def read(text: str, vrf: str, prefix_list: str, version: int = 4) -> Setup:
    """Parse the output of 'show vrf' and 'show running-config'.

    :param vrf: '' for the default VRF
    :param prefix_list: '' for none
    :param version: 4 or 6, the family of the announced routes
    :raises frr.output.Unreadable: when the configuration is not complete
    """
    before, lines = output.parts(text)
    try:
        return _read(before, lines, vrf, prefix_list, version)
    except IndexError as error:
        raise output.Unreadable('a line of the running configuration has '
                                'fewer words than FRR writes') from error


def _read(before: Sequence[str], lines: Sequence[str], vrf: str,
          prefix_list: str, version: int) -> Setup:
    asn, section = bgp_instance(lines, vrf)
    words = [line.split() for line in section]
    unicast = list(_unicast(words, version))
    return Setup(
        not vrf or any(line.startswith(f'vrf {vrf} ') and
                       'inactive' not in line for line in before),
        asn,
        tuple(sorted({line[1] for line in unicast
                      if line[0] == 'redistribute'})),
        any(line[0] == 'neighbor' or line[:2] == ['bgp', 'listen']
            for line in words),
        any(line[0] == 'neighbor' and line[-3:] == [
            'prefix-list', prefix_list, 'out'] for line in unicast) or
        not _route_maps(lines, prefix_list, version).isdisjoint(
            _passed(unicast)),
        any(line.startswith(f'{WORDS[version]} prefix-list {prefix_list} '
                            'description ') for line in lines),
        tuple(_undefined(unicast, {line.split()[1] for line in lines
                                 if line.startswith(_ROUTE_MAP)})),
        any(line[0] == 'neighbor' and 'bfd' in line[2:3] for line in words),
        next((line.split()[2] for line in lines
              if line.startswith('frr version ')), ''),
        tuple(_mapped(unicast)),
        version,
        () if asn else tuple(line for line in lines
                             if line.startswith(_BGP))[:_NAMED])


def _undefined(unicast: Iterable[list[str]],
               defined: set[str]) -> Iterator[tuple[str, str]]:
    """Source and route map of redistributions through a missing map."""
    for source, name in _mapped(unicast):
        if name not in defined:
            yield source, name


def _mapped(unicast: Iterable[list[str]]) -> Iterator[tuple[str, str]]:
    """Source and route map of redistributions through a route map."""
    for line in unicast:
        if line[0] == 'redistribute' and 'route-map' in line[:-1]:
            yield line[1], line[line.index('route-map') + 1]


def _route_maps(lines: Sequence[str], prefix_list: str,
                version: int) -> set[str]:
    """Names of the route maps that use a prefix list, also by a call."""
    uses: set[str] = set()
    calls: set[tuple[str, str]] = set()
    name = ''
    match = ['match', WORDS[version], 'address', 'prefix-list', prefix_list]
    for words in map(str.split, lines):
        if words[:1] == ['route-map']:
            name = words[1]
        elif words == match:
            uses.add(name)
        elif words[:1] == ['call']:
            calls.add((name, words[1]))
    while more := {by for by, called in calls if called in uses} - uses:
        uses |= more
    return uses


def _passed(unicast: Iterable[list[str]]) -> Iterator[str]:
    for line in unicast:
        if line[0] == 'redistribute' and 'route-map' in line[:-1]:
            yield line[line.index('route-map') + 1]
        elif line[0] == 'neighbor' and line[2:3] == ['route-map'] and (
                line[-1] == 'out'):
            yield line[3]


def bgp_instance(lines: Sequence[str], vrf: str) -> tuple[str, list[str]]:
    """AS number ('' without an instance) and lines of a VRF's instance."""
    section: list[str] = []
    asn, in_section = '', False
    of_vrf = ['vrf', vrf] if vrf else []
    for line in lines:
        if not line.startswith(' '):
            words = line.split()
            # FRR 9 and later may add "as-notation dot".
            in_section = (
                line.startswith(_BGP) and len(words) >= _BGP_WORDS and
                words[3:] in (of_vrf, [*of_vrf, 'as-notation', words[-1]]))
            asn = words[2] if in_section else asn
        elif in_section and line.strip():
            section.append(line)
    return asn, section


def _unicast(words: Iterable[list[str]], version: int) -> Iterator[list[str]]:
    """A family's unicast lines; those outside of all families are IPv4's."""
    in_family = version == 4
    for line in words:
        if line[0] == 'address-family':
            in_family = line[1:3] == [f'ipv{version:d}', 'unicast']
        elif line[0] == 'exit-address-family':
            in_family = version == 4
        elif in_family:
            yield line


def lacks(setup: Setup, vrf: str, method: str, prefix_list: str) -> list[str]:
    """The missing parts of announcing ``method`` ('static', 'kernel') routes,
    each with the lines that add it.
    """
    return ['FRR: ' + text
            for _part, text in faults(setup, vrf, method, prefix_list)]


def faults(setup: Setup, vrf: str, method: str,
           prefix_list: str) -> list[tuple[str, str]]:
    """The missing parts, as :func:`lacks`, with their part: :data:`VRF`,
    :data:`INSTANCE`, :data:`REDISTRIBUTION` or :data:`FILTER`.
    """
    where = f'VRF {vrf}' if vrf else 'the default VRF'
    of_vrf = f' vrf {vrf}' if vrf else ''
    instance = f'{_BGP}{setup.asn or "ASN"}{of_vrf}'
    return [*_instance_faults(setup, where, instance),
            *_redistribution_faults(setup, where, instance, method),
            *_filter_faults(setup, where, instance, prefix_list)]


def family_line(version: int) -> str:
    """The lines of FRR between an instance and a line of a family, quoted."""
    return f'" / "address-family ipv{version:d} unicast" / "'


def _instance_faults(setup: Setup, where: str,
                     instance: str) -> Iterator[tuple[str, str]]:
    if not setup.vrf:
        yield VRF, (
            f'zebra does not know {where}, so it takes no routes for '
            'it; run FRR in the network namespace of this device and '
            'restart zebra')
    if not setup.asn:
        yield INSTANCE, (
            f'there is no BGP instance for {where}, so nothing is '
            f'announced{_elsewhere(setup)}; add "{instance}" with its '
            'neighbours')
    elif not setup.neighbours:
        yield INSTANCE, (
            f'the BGP instance of {where} has no neighbours, so '
            f'no neighbour learns a route; add "{instance}" / "neighbor '
            'ADDRESS remote-as ASN"')


def _elsewhere(setup: Setup) -> str:
    if not setup.others:
        return ''
    return (f': {", ".join(setup.others)} is of another VRF, and takes no '
            'routes of this one')


def _redistribution_faults(setup: Setup, where: str, instance: str,
                           method: str) -> Iterator[tuple[str, str]]:
    if method not in setup.redistributes:
        yield REDISTRIBUTION, (
            f'BGP of {where} does not redistribute {method} routes'
            f'{_of_ipv6(setup)}, so nothing is announced; add '
            f'"{instance}{family_line(setup.family)}redistribute {method}"')
    for source, name in setup.undefined:
        if source == method:
            yield REDISTRIBUTION, (
                f'BGP of {where} redistributes {source} routes'
                f'{_of_ipv6(setup)} through the '
                f'route map {name}, which does not exist, so nothing passes; '
                f'add "route-map {name} permit 10", or take the map out of '
                f'"{instance}"')


def _filter_faults(setup: Setup, where: str, instance: str,
                   prefix_list: str) -> Iterator[tuple[str, str]]:
    if prefix_list and setup.asn and not setup.filters:
        yield FILTER, (
            f'no neighbour in {where} is filtered by the prefix list '
            f'{prefix_list}{_of_ipv6(setup)}, so it may learn more than the '
            f'floating IPs; add "{instance}{family_line(setup.family)}'
            'neighbor ADDRESS '
            f'prefix-list {prefix_list} out", or set [frr] '
            'frr_prefix_list to nothing')
    if setup.described:
        yield FILTER, (
            f'the prefix list {prefix_list}{_of_ipv6(setup)} has a '
            'description, and '
            'FRR lets everything pass such a list as long as it has '
            'no entry, which is so on a node without routers; remove '
            f'it with "no {WORDS[setup.family]} prefix-list {prefix_list} '
            'description"')


def _of_ipv6(setup: Setup) -> str:
    return ' of IPv6' if setup.family == 6 else ''
