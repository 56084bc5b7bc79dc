# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of announced routes in zebra and bgpd, from JSON documents.  Pure.

A document is known by its content, not its place: a daemon without a result
prints ``{}`` or a warning.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import typing
from typing import Any

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.frr import output

# the most addresses that one reason names
_NAMED = 5


class Found(typing.NamedTuple):
    """The state of some host routes in zebra and bgpd."""

    # by prefix, the protocols whose route zebra has selected and installed
    active: dict[str, list[str]]
    # by prefix that bgpd has from this node, its neighbours with it
    advertised: dict[str, list[str]]

    def take(self, text: str) -> None:
        """Add a stream of documents of FRR; may raise output.Unreadable."""
        try:
            for document in output.json_documents(text):
                self._take(document)
        except (AttributeError, KeyError, TypeError) as error:
            raise output.Unreadable(f'JSON of FRR: {error!r}') from error

    def _take(self, document: Mapping[str, Any]) -> None:
        if 'paths' in document:
            self._take_paths(document)
            return
        for prefix, entries in _routes(document):
            protocols = [entry['protocol'] for entry in entries
                         if _in_effect(entry)]
            if protocols:
                self.active[prefix] = protocols

    def _take_paths(self, document: Mapping[str, Any]) -> None:
        """Note the neighbours of this node's routes, not of learned ones."""
        prefix = document['prefix']
        own = [path for path in document['paths'] if path.get('sourced')]
        if own:
            best = any(path.get('bestpath', {}).get('overall')
                       for path in own)
            self.advertised[prefix] = sorted(
                document.get('advertisedTo', ()) if best else ())


class Surroundings(typing.NamedTuple):
    """The prerequisites of announcements."""

    connected: list[str]  # the networks that zebra is connected to
    # State ('Established') by BGP neighbour for routes of IPv4, or of IPv6
    # where there are none; None when bgpd was not asked.
    neighbours: dict[str, str] | None

    @property
    def established(self) -> list[str]:
        """Names of the neighbours with an established session."""
        return [peer for peer, state in (self.neighbours or {}).items()
                if state == 'Established']

    def reaches(self, address: str) -> bool:
        """Whether zebra is connected to the network of an address."""
        wanted = ip_text.address(address)
        return any(wanted in ip_text.network(network)
                   for network in self.connected)


def surroundings(text: str, bgp: bool) -> dict[str, Any]:
    """:class:`Surroundings` fields of 'show ip route connected' and, if asked
        for, 'show bgp summary', ``{}`` without neighbours; may raise
        Unreadable.
    """
    found: dict[str, Any] = {'connected': [],
                             'neighbours': {} if bgp else None}
    try:
        for document in output.json_documents(text):
            if 'peers' in document and not found['neighbours']:
                found['neighbours'] = {
                    peer: values['state']
                    for peer, values in document['peers'].items()}
            for network, entries in _routes(document):
                if any(_in_effect(e) and e['protocol'] == 'connected'
                       for e in entries):
                    found['connected'].append(str(ip_text.network(network)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise output.Unreadable(f'JSON of FRR: {error!r}') from error
    return found


def received(text: str) -> list[str]:
    """Neighbours with prefixes in 'show bgp summary'; may raise Unreadable."""
    try:
        return sorted(
            peer for document in output.json_documents(text)
            for peer, values in document.get('peers', {}).items()
            if values.get('pfxRcd'))
    except AttributeError as error:
        raise output.Unreadable(f'JSON of FRR: {error!r}') from error


def peers(text: str, family: str) -> list[list[Any]]:
    """The rows of 'show bgp summary' of one family; may raise Unreadable.

    :returns: each [neighbour, family, state, seconds in it or None, prefixes
        sent or None, prefixes received or None]
    """
    try:
        return [[str(peer), family, str(values['state']),
                 (_number(values.get('peerUptimeMsec')) or 0) // 1000 or None,
                 _number(values.get('pfxSnt')), _number(values.get('pfxRcd'))]
                for document in output.json_documents(text)
                for peer, values in document.get('peers', {}).items()]
    except (AttributeError, KeyError, TypeError) as error:
        raise output.Unreadable(f'JSON of FRR: {error!r}') from error


def _number(value: object) -> int | None:
    """A number of FRR, None for anything else."""
    return value if type(value) is int and value >= 0 else None


def _routes(document: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Prefixes and entries of a document of zebra; [] of another one."""
    return [(prefix, entries) for prefix, entries in document.items()
            if '/' in prefix and isinstance(entries, list)]


def _in_effect(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get('selected') and entry.get('installed'))


INACTIVE = 'inactive'
NOT_IN_BGP = 'not in BGP'
NOT_ADVERTISED = 'not advertised'


def problem(prefix: str, protocol: str, found: Found, bgp: bool) -> str | None:
    """INACTIVE, NOT_IN_BGP, NOT_ADVERTISED, or None."""
    if protocol not in found.active.get(prefix, ()):
        return INACTIVE
    if not bgp:
        return None
    if prefix not in found.advertised:
        return NOT_IN_BGP
    return None if found.advertised[prefix] else NOT_ADVERTISED


def reasons(problems: Mapping[str, str], wanted: Mapping[str, str],
            bgp: Surroundings, vrf: str, nexthop: str) -> tuple[str, ...]:
    """The faults in words for the operator, with the remedies.

    :param problems: the result of :func:`problem` by prefix
    :param wanted: the protocol of each announced prefix
    :param nexthop: address or device that the routes lead to
    """
    where = f'VRF {vrf}' if vrf else 'the default VRF'
    by_kind: dict[str, list[str]] = {}
    for prefix in sorted(problems):
        by_kind.setdefault(problems[prefix], []).append(prefix)
    texts: list[str] = []
    if wanted and bgp.neighbours is not None and not bgp.established:
        texts.append(f'no BGP neighbour of {where} is established '
                     f'({len(bgp.neighbours)} configured); nothing can '
                     'be announced')
    if INACTIVE in by_kind:
        texts.append(
            f'{_named(by_kind[INACTIVE])} inactive: configured, but not '
            f'selected and installed by zebra in {where}, so not announced; '
            f'{_why_inactive(nexthop, bgp)}')
    if NOT_IN_BGP in by_kind:
        protocols = sorted({wanted[p] for p in by_kind[NOT_IN_BGP]
                            if p in wanted})
        texts.append(
            f'{_named(by_kind[NOT_IN_BGP])} not in the table of BGP in '
            f'{where}; its router bgp needs "redistribute '
            f'{" or ".join(protocols)}", with a route map, if any, that '
            'lets them pass')
    if NOT_ADVERTISED in by_kind and bgp.established:
        texts.append(
            f'{_named(by_kind[NOT_ADVERTISED])} in the table of BGP in '
            f'{where} and advertised to no neighbour; look at the outbound '
            f'prefix lists and route maps of '
            f'{", ".join(bgp.established[:_NAMED])}')
    return tuple(texts)


def _why_inactive(nexthop: str, bgp: Surroundings) -> str:
    if nexthop[:1].isdigit() and not bgp.reaches(nexthop):
        return f'zebra has no connected network with {nexthop} in it'
    return (f'is {nexthop} reachable there, and is there no better route '
            'for them?')


def _named(prefixes: Sequence[str]) -> str:
    return (f'{wording.first(prefixes, _NAMED)} '
            f'{"is" if len(prefixes) == 1 else "are"}')
