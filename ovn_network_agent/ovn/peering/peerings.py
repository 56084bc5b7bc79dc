# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From intents to peerings, as a source of the driver.  Pure.

Results are remembered per router, not computed for each of its peers.
"""

from collections.abc import Collection
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn.peering import peer_intents as intents
from ovn_network_agent.ovn.peering import peer_routers as routers
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.subjects import prefixes
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

_PENDING = 'the other router does not name this one'
_ITSELF = 'it names this router itself; name the other one'
_FEW = 5


class Peer(typing.NamedTuple):
    """The other router of a peering to which both agree."""

    pair: str
    router: str
    name: str  # of the peering at this router
    # What this router takes from the other one, by families of both.
    takes: tuple[ip_text.Network, ...]
    nexthops: tuple[tuple[int, str], ...]  # (family, address) of the other one


class Conflict(typing.NamedTuple):
    """Why a router cannot take what a peer gives."""

    own: frozenset[str]  # of this router
    others: frozenset[str]  # of the other one
    # Names of other peerings of this router that give the same.
    peers: frozenset[str] = frozenset()


def _intent_names(row: Row) -> list[str]:
    return [f'{row.uuid}/{name}'
            for name in intents.names(intents.options_of(row))]


def _pairs(row: Row) -> list[str]:
    pair = peering_rows.pair_of(row)
    ends = peering_rows.ends(columns.atom(row, 'name'))
    if not pair and ends:
        pair = ownership.peer_pair(*ends)
    return [pair] if pair else []


class Peerings(source.Source):
    """Makes a peering of each intent, '<UUID>/<name>' or a row of the file."""

    KIND = model.Peering
    INDEXES = {
        routers.ROUTER: {'intent': _intent_names,
                         'uuid': lambda row: [str(row.uuid)],
                         'called': routers.names},
        routers.PORT: {'uuid': lambda row: [row.uuid], 'pair': _pairs},
        routers.ROUTE: {'uuid': lambda row: [row.uuid]},
        routers.SET: {'name': lambda row: [columns.atom(row, 'name')]},
        intents.TABLE: {'intent': lambda end: [end.uuid],
                        'router': lambda end: [end.router]}}
    NAMES = (*routers.ROUTER, 'intent')
    MORE_NAMES = ((*intents.TABLE, 'intent'),)

    def build(self, name: str, find: source.Find) -> model.Peering | None:
        """The peering of one intent."""
        for end in find(*intents.TABLE, 'intent', name):
            return _of_end(find, end)
        uuid, _slash, own = name.partition('/')
        if own in find.ask(_of_file, uuid):
            return _error(find, uuid, own, 'the file of peerings has this '
                          'name for this router, too, and the file counts; '
                          'remove its keys from the row of the router')
        return _of_intent(find, uuid, own)


def _of_end(find: source.Find, end: intents.End) -> model.Peering | None:
    """The peering of an end in the file."""
    uuid = routers.at(find, end)
    if not uuid:
        return model.Peering(
            uuid, wording.one_line(end.router), end.name,
            model.PeerState.ERROR,
            'the file of peerings names this router, and OVN has none of the '
            'name, or several; use the UUID, or remove the entry')
    if find.ask(_of_file, uuid)[end.name] != end:
        return _error(find, uuid, end.name, 'the file of peerings has this '
                      'name for this router twice; choose another one')
    return _of_intent(find, uuid, end.name)


def _error(find: source.Find, uuid: str, name: str,
           why: str) -> model.Peering:
    return model.Peering(uuid, find.ask(routers.read, uuid).called,
                         wording.one_line(name),
                         model.PeerState.ERROR, why)


def _of_intent(find: source.Find, uuid: str,
               name: str) -> model.Peering | None:
    """The peering of an intent that counts."""
    intent = find.ask(_intents, uuid).get(name)
    if intent is None:
        return None
    state, why = _state(find, uuid, name, intent)
    router = find.ask(routers.read, uuid)
    peering = model.Peering(
        uuid, router.called, wording.one_line(name), state, why,
        target=wording.one_line(intent.target))
    if state is model.PeerState.ERROR:
        return peering
    if state is not model.PeerState.CREATED:
        return peering._replace(gives=tuple(
            str(net) for net in router.prefixes
            if intents.passes(net, intent.exports)))
    peer = find.ask(_peers, uuid)[name]
    back = find.ask(_peers, peer.router)[
        find.ask(_targets, peer.router)[uuid]]
    sides = sorted((_side(find, uuid, peer), _side(
        find, peer.router, back)), key=lambda side: side.router)
    return peering._replace(
        pair=peer.pair, sides=tuple(sides),
        gives=tuple(str(net) for net in back.takes))


def _state(find: source.Find, uuid: str, name: str, intent: intents.Intent
           ) -> tuple[model.PeerState, str]:
    """The state of an intent, and the reason."""
    target = routers.target(find, uuid, name, intent)
    why = (intent.problem or (_ITSELF if target == uuid else '') or
           find.ask(routers.read, uuid).objection)
    if why:
        return model.PeerState.ERROR, why
    first = find.ask(_targets, uuid).get(target)
    if first is None or uuid not in find.ask(_targets, target):
        return model.PeerState.PENDING, _PENDING
    if first != name:
        return model.PeerState.ERROR, (
            f'peering {first} is with the same router; remove one of both')
    peer = find.ask(_peers, uuid)[name]
    if not peer.nexthops:
        return model.PeerState.ERROR, (
            'the two routers have addresses of different families')
    here = find.ask(_conflicts, uuid).get(peer.pair)
    there = find.ask(_conflicts, peer.router).get(peer.pair)
    if here or there:
        return model.PeerState.CONFLICT, '; '.join(
            _conflict_texts(here, there))
    return model.PeerState.CREATED, ''


def _conflict_texts(here: Conflict | None,
                    there: Conflict | None) -> Iterator[str]:
    """A conflict, with the prefixes of this router alone."""
    if here and here.own:
        yield f'the other router has, too, what {_some(here.own)} is in'
    if here and here.peers:
        yield ('the other router has what the peerings '
               f'{_some(here.peers)} give')
    if there:
        yield f'the other router cannot take {_some(there.others)}'


def _some(texts: Collection[str]) -> str:
    return wording.first(sorted(texts), _FEW)


def twin(find: source.Find, uuid: str, name: str) -> str:
    """Another peering of a router with the router of this one, or ''."""
    known = find.ask(_intents, uuid)
    target = name in known and routers.target(find, uuid, name, known[name])
    return next((other for other, intent in known.items()
                 if target and other != name and
                 routers.target(find, uuid, other, intent) == target), '')


# -- of one router, for Find.ask ----------------------------------------------

def _of_file(find: source.Find, uuid: str) -> dict[str, intents.End]:
    """By name of the peering, the ends of a router in the file."""
    found: dict[str, intents.End] = {}
    for row in find(*routers.ROUTER, 'uuid', uuid):
        for text in sorted(routers.names(row)):
            for end in find(*intents.TABLE, 'router', text):
                if routers.at(find, end) == uuid:
                    found.setdefault(end.name, end)
    return found


def _intents(find: source.Find, uuid: str) -> dict[str, intents.Intent]:
    """All intents of a router, also bad ones, in the order of names."""
    found = {name: intent for row in find(*routers.ROUTER, 'uuid', uuid)
             for name, intent in intents.read(intents.options_of(row)).items()}
    found.update((name, end.intent) for name, end in find.ask(
        _of_file, uuid).items())
    return dict(sorted(found.items()))


def _targets(find: source.Find, uuid: str) -> dict[str, str]:
    """By UUID of another router, the first peering that names it.

    Those of the file come first.  A bad one counts for neither router.
    """
    found: dict[str, str] = {}
    ends = find.ask(_of_file, uuid)
    if not find.ask(routers.read, uuid).objection:
        for name, intent in sorted(find.ask(_intents, uuid).items(),
                                   key=lambda each: each[0] not in ends):
            target = '' if intent.problem else routers.target(
                find, uuid, name, intent)
            if target not in ('', uuid):
                found.setdefault(target, name)
    return found


def _peers(find: source.Find, uuid: str) -> dict[str, Peer]:
    """By name, the peerings to which both routers agree."""
    own = find.ask(routers.read, uuid)
    found = {}
    for target, name in find.ask(_targets, uuid).items():
        back = find.ask(_targets, target).get(uuid)
        if back is None:
            continue
        other = find.ask(routers.read, target)
        families = {family for family, _address in own.addresses}
        nexthops = tuple(each for each in other.addresses
                         if each[0] in families)
        known = {family for family, _address in nexthops}
        chosen = (find.ask(_intents, uuid)[name].imports,
                  find.ask(_intents, target)[back].exports)
        found[name] = Peer(
            ownership.peer_pair(uuid, target), target, name,
            tuple(net for net in other.prefixes if net.version in known and
                  intents.passes(net, *chosen)), nexthops)
    return found


def _conflicts_with_own(find: source.Find, uuid: str) -> dict[str, Conflict]:
    """By pair, conflicts with what a router has without its peers."""
    own = find.ask(routers.read, uuid)
    known = prefixes.Prefixes()
    texts = {prefixes.key(net): str(net)
             for net in (*own.prefixes, *own.others)}
    for key in texts:
        known.add(key)
    found = {}
    for peer in find.ask(_peers, uuid).values():
        # With filters, the next hop may be in no prefix of the other one.
        hops = (ip_text.network(address) for _family, address in peer.nexthops)
        clashes = {str(net): [texts[key] for key in known.overlapping(
            prefixes.key(net))] for net in (*peer.takes, *hops)}
        mine = frozenset(text for each in clashes.values() for text in each)
        if mine:
            found[peer.pair] = Conflict(mine, frozenset(
                prefix for prefix, each in clashes.items() if each))
    return found


def _conflicts(find: source.Find, uuid: str) -> dict[str, Conflict]:
    """By pair, all conflicts of a router.

    A peering with rows in OVN comes first, then one that wants nothing new of
    what another has, then the lower pair: all agents agree, and nothing that
    works is replaced.
    """
    found = dict(find.ask(_conflicts_with_own, uuid))
    sound = [peer for peer in find.ask(_peers, uuid).values()
             if peer.pair not in found and peer.pair not in find.ask(
                 _conflicts_with_own, peer.router)]
    late = _late(find, uuid, sound)
    taken, owners = prefixes.Prefixes(), dict[prefixes.Key, str]()
    for peer in sorted(sound, key=lambda each: (
            not find(*routers.PORT, 'pair', each.pair), each.pair in late,
            each.pair)):
        keys = [prefixes.key(net) for net in peer.takes]
        clashes = [[owners[other] for other in taken.overlapping(key)]
                   for key in keys]
        if any(clashes):
            found[peer.pair] = Conflict(
                frozenset(), frozenset(
                    str(net) for net, each in zip(peer.takes, clashes,
                                                  strict=True) if each),
                frozenset(name for each in clashes for name in each))
            continue
        for key in keys:
            taken.add(key)
            owners[key] = peer.name
    return found


def _late(find: source.Find, uuid: str,
          peers: Collection[Peer]) -> set[str]:
    """The pairs that want something new which overlaps what another has."""
    routed = find.ask(routers.held, uuid)
    old, new = prefixes.Prefixes(), list[tuple[prefixes.Key, str]]()
    for peer in peers:
        port = peering_rows.port_name(uuid, peer.router)
        for net in peer.takes:
            key = prefixes.key(net)
            if (port, str(net)) not in routed:
                new.append((key, peer.pair))
            elif key not in old:
                old.add(key)
    return {pair for key, pair in new if any(old.overlapping(key))}


def _side(find: source.Find, uuid: str, peer: Peer) -> model.Side:
    own, nexthops = find.ask(routers.read, uuid), dict(peer.nexthops)
    return model.Side(
        uuid, peering_rows.port_name(uuid, peer.router), own.mac,
        tuple(networks.host_prefix(address)
              for family, address in own.addresses if family in nexthops),
        own.uplinks, tuple(sorted((str(net), nexthops[net.version])
                                  for net in peer.takes)),
        tuple((family, routers.set_name(uuid, peer.name, family))
              for family in networks.VERSIONS))
