# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What becomes of egress addresses, as a source of the driver.  Pure."""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.egress import egress_routers as routers
from ovn_network_agent.ovn.egress import egress_selection as selection
from ovn_network_agent.ovn.peering import peer_routers
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

_MODE = model.EgressMode
_SELECT = ownership.EXT_ID_EGRESS_SELECT


class Spot(typing.NamedTuple):
    """A place that needs an address of one family."""

    key: str
    valid: frozenset[str]  # what it can have
    # What it has, normally one; and what its routers have at any place.
    present: frozenset[str] = frozenset()
    of_routers: frozenset[str] = frozenset()
    load: int = 0  # the number of addresses that other objects have there
    accepts: bool = True  # whether it may get an address that it does not have


def assign(spots: Collection[Spot],
           addresses: Sequence[str]) -> dict[str, str]:
    """The addresses of places by their keys.

    What is valid stays; else a free one of its routers (gateways move), or the
    first.  The place with the fewest is the first.
    """
    made: dict[str, str] = {}
    free = list(addresses)

    def give(spot: Spot, wanted: Iterable[str]) -> None:
        address = next((each for each in wanted
                        if each in free and each in spot.valid), None)
        if spot.key not in made and address is not None:
            made[spot.key] = address
            free.remove(address)
    in_order = sorted(spots, key=lambda each: (each.load, each.key))
    for spot in in_order:
        give(spot, sorted(spot.present))
    in_order = [spot for spot in in_order if spot.accepts]
    for spot in in_order:
        give(spot, sorted(spot.of_routers))
    for spot in in_order:
        give(spot, addresses)
    return made


class _Place(typing.NamedTuple):
    """A place, what it can have, and of whom it is the key."""

    key: str
    place: model.EgressPlace
    # 'address/len', and what these are of.
    networks: tuple[str, ...] = ()
    of: str = ''
    refused: str = ''  # why it gets no address beside one that it has, or ''
    # Where the address decides on the port, the ports.
    gateways: tuple[routers.Gateway, ...] = ()

    def port(self, address: str) -> str:
        """The gateway port of an address, where rows have to say it."""
        return self.place.port or next(
            (gateway.name for gateway in self.gateways
             if address and networks.inside(address, networks.of_version(
                 self.place.family, gateway.networks))), '')


def _names(row: Row) -> list[str]:
    found = (columns.entry(row, 'options', _SELECT) or
             columns.entry(row, 'external_ids', _SELECT) or '').strip()
    return [found] if found else []


def _of_ours(key: str) -> Callable[[Row], list[str]]:
    def keys(row: Row) -> list[str]:
        entries = columns.entries(row, 'external_ids')
        return [entries[key]] if key in entries and is_ours(entries) else []
    return keys


def is_ours(external_ids: dict[str, str]) -> bool:
    """Whether a row is one of an egress address."""
    return (external_ids.get(ownership.EXT_ID_MANAGED) ==
            ownership.EXT_ID_MANAGED_VALUE and
            ownership.EXT_ID_EGRESS in external_ids)


def _external(row: Row) -> list[str]:
    return ([] if is_ours(columns.entries(row, 'external_ids'))
            else _address(row, 'external_ip'))


def _address(row: Row, column: str) -> list[str]:
    found = networks.parse_interface(columns.atom(row, column))
    return [str(found.ip)] if found else []


def _translated(row: Row) -> list[str]:
    return (_address(row, 'logical_ip')
            if columns.atom(row, 'type') != 'dnat' and
            routers.is_host(columns.atom(row, 'logical_ip')) and
            not is_ours(columns.entries(row, 'external_ids')) else [])


def _behind(prefix: str) -> Callable[[Row], list[str]]:
    return lambda row: [key.removeprefix(prefix)
                        for key in columns.entries(row, 'external_ids')
                        if key.startswith(prefix)]


def _redirect(row: Row) -> list[str]:
    return ([columns.atom(row, 'logical_port').removeprefix(model.REDIRECT)]
            if columns.atom(row, 'type') == 'chassisredirect' else [])


def _vips(row: Row) -> set[str]:
    return {rows.vip_address(key) for key in columns.entries(row, 'vips')}


def _uuid(row: Row) -> list[str]:
    return [str(row.uuid)]


def _name(row: Row) -> list[str]:
    return [columns.atom(row, 'name')]


class EgressIps(source.Source):
    """Makes what has become of each object, also if only rows have it."""

    KIND = model.EgressIp
    INDEXES = {
        egress_file.TABLE: {'name': lambda entry: [entry.uuid],
                            'all': lambda _entry: [True]},
        routers.ROUTER: {
            'uuid': _uuid, 'called': peer_routers.names, 'egress': _names,
            'port': lambda row: columns.referenced(row, 'ports'),
            'nat': lambda row: columns.referenced(row, 'nat')},
        routers.PORT: {
            'uuid': lambda row: [row.uuid], 'name': _name,
            'address': indexes.address_keys, 'subnet': selection.subnets,
            'uplink': routers.uplink},
        routers.ROUTE: {'uuid': lambda row: [row.uuid]},
        routers.NAT: {
            'translated': _translated, 'external': _external,
            'egress': _of_ours(ownership.EXT_ID_EGRESS),
            'chassis': _of_ours(ownership.EXT_ID_EGRESS_CHASSIS)},
        routers.BALANCER: {'vip': _vips},
        routers.GLOBAL: {'egress': _behind(ownership.EXT_ID_EGRESS_NETWORKS)},
        routers.TABLE: {'chassis': lambda row: [row.uuid]},
        routers.BINDING: {'redirect': _redirect},
        routers.CHASSIS: {'uuid': lambda row: [row.uuid], 'name': _name},
        selection.SWITCH: {
            'uuid': _uuid, 'called': indexes.network_names, 'egress': _names,
            'port': lambda row: columns.referenced(row, 'ports')},
        selection.MACHINE: {
            'uuid': lambda row: [row.uuid], 'called': selection.port_names,
            'leads to': selection.router_port},
        selection.GROUP: {'called': _name, 'egress': _names},
        selection.DHCP: {'subnet': selection.subnet}}
    NAMES = (*egress_file.TABLE, 'name')
    MORE_NAMES = tuple((*place, 'egress') for place in selection.NAMING)

    def build(self, name: str, find: source.Find) -> model.EgressIp | None:
        """The object of a name, of the file or of rows."""
        for entry in find(*egress_file.TABLE, 'name', name):
            return _made(find, entry)
        return model.EgressIp(
            wording.one_line(name), _MODE.ROUTER, (),
            why=f'rows of OVN have {_SELECT}={wording.one_line(name)}, '
            'and the file has no such name; add it there, or remove the key '
            'from these rows')


def _made(find: source.Find, entry: egress_file.Entry) -> model.EgressIp:
    name = entry.uuid
    selected = find.ask(selection.selected, name)
    machines = find.ask(selection.judged, name)
    needed = sorted({(machine.router, networks.family(machine.address))
                     for machine in machines if not machine.why})
    found = [place for router, family in needed
             for place in _places(find, entry, router, family)]
    places = _assigned(find, entry, found)
    lacking: dict[tuple[str, int], str] = {}
    for place in places:
        key = place.router, place.family
        if place.address:
            lacking[key] = ''
        else:
            lacking.setdefault(key, place.why)
    return model.EgressIp(
        name, entry.mode, entry.addresses, places,
        tuple(machine if machine.why else machine._replace(
            why=lacking.get((
                machine.router, networks.family(machine.address)), ''))
            for machine in machines),
        tuple(map(str, entry.destinations)), problems=selected.problems)


# -- places ---------------------------------------------------------------

def _places(find: source.Find, entry: egress_file.Entry, uuid: str,
            family: int) -> Iterator[_Place]:
    """The places of an object at a router, which has machines of it."""
    router = find.ask(routers.read, uuid)
    if router is None:
        return
    place = model.EgressPlace(uuid, router.called, '', '', family, '')
    if entry.mode is _MODE.ROUTER:
        yield _Place(uuid, place, tuple(
            net for gateway in router.gateways for net in gateway.networks),
            'gateway ports of the router',
            gateways=router.gateways if len(router.gateways) > 1 else ())
    elif entry.mode is _MODE.ECMP:
        yield from _of_ports(entry, router, place)
    else:
        yield _of_node(find, entry, router, place)


def _of_ports(entry: egress_file.Entry, router: routers.Router,
              place: model.EgressPlace) -> Iterator[_Place]:
    gateways = [each for each in router.gateways
                if not entry.gateways or each.name in entry.gateways]
    if len(gateways) < 2:
        yield _Place('', place._replace(
            why=f'mode ecmp needs two gateway ports of the router, and '
            f'{len(gateways):d} '
            f'{"of those in gateways is" if entry.gateways else "is"} there; '
            'add one in another provider network, or take mode router'))
        return
    inner_networks = tuple(net for net in router.inner_networks
                           if networks.family_of_valid(net) == place.family)
    for gateway in gateways:
        nexthop = router.nexthop(gateway, place.family)
        made = place._replace(port=gateway.name, nexthop=nexthop,
                              inner_networks=inner_networks)
        if not nexthop or ip_text.address(nexthop).is_link_local:
            yield _Place('', made._replace(
                why=f'port {gateway.name} has no next hop of '
                f'IPv{place.family:d} that OVN can tell from those of other '
                'ports; add a default route by it, with an address that is '
                'not link-local'))
        else:
            yield _Place(gateway.name, made, gateway.networks,
                         f'port {gateway.name}')


def _of_node(find: source.Find, entry: egress_file.Entry,
             router: routers.Router, place: model.EgressPlace) -> _Place:
    if len(router.gateways) != 1:
        return _Place('', place._replace(
            why='mode host needs a router with one gateway port, and '
            f'it has {len(router.gateways):d}; take another mode'))
    port = router.gateways[0].name
    chassis = find.ask(selection.chassis_of, entry.uuid, router.uuid)
    place = place._replace(port=port, chassis=chassis)
    if not chassis:
        return _Place('', place._replace(
            why=f'no chassis has the gateway port {port}'))
    host = find.ask(routers.hostname, chassis)
    called = f'{host} ({chassis})' if host else chassis
    if not find.ask(selection.usable, entry.uuid, router.uuid):
        return _Place('', place._replace(
            why=f'{called} has the gateway, and is not in gateways'))
    published = find.ask(routers.published, chassis)
    if not published:
        return _Place('', place._replace(
            why=f'{called} has the gateway, and offers no networks: it '
            'has no running agent with the driver egress_ip, or lacks '
            f'{ownership.EXT_ID_EGRESS_NODE}=true in its local database'))
    return _Place(chassis, place, published, f'links of {called}',
                  find.ask(routers.failed, chassis))


# -- addresses ------------------------------------------------------------

def _assigned(find: source.Find, entry: egress_file.Entry,
              found: list[_Place]) -> tuple[model.EgressPlace, ...]:
    return tuple(sorted(
        (made for family in networks.VERSIONS for made in _of_family(
            find, entry,
            [each for each in entry.addresses
             if networks.family(each) == family],
            [each for each in found if each.place.family == family])),
        key=lambda each: (each.called, each.router, each.port, each.family)))


def _of_family(find: source.Find, entry: egress_file.Entry,
               addresses: list[str],
               places: list[_Place]) -> Iterator[model.EgressPlace]:
    by_key = {each.key: each for each in places if each.key}
    objections = {(key, address): _objection(find, address, each)
                  for key, each in by_key.items() for address in addresses}
    present: dict[str, set[str]] = collections.defaultdict(set)
    previous: dict[str, set[str]] = collections.defaultdict(set)
    for each in places:
        for port, chassis, address in find.ask(
                selection.there, entry.uuid, each.place.router):
            previous[each.key].add(address)
            present[{_MODE.ROUTER: '' if chassis else each.place.router,
                     _MODE.ECMP: port, _MODE.HOST: chassis}[entry.mode]
                    ].add(address)
    chosen = assign([Spot(
        key, frozenset(address for address in addresses
                       if not objections[key, address]),
        frozenset(present[key]), frozenset(previous[key]),
        find.ask(_load, entry.uuid, key), not each.refused)
        for key, each in by_key.items()], addresses)
    for each in places:
        address = chosen.get(each.key, '')
        yield each.place._replace(
            address=address, port=each.port(address),
            why='' if address else (
                each.place.why or each.refused or _why(addresses, [
                    objections[each.key, one] for one in addresses])))


def _objection(find: source.Find, address: str, place: _Place) -> str:
    """Why a place cannot have an address, or ''."""
    ip = ip_text.address(address)
    held = find.ask(routers.holder, address, place.place.router)
    if held:
        return held
    own = [*map(ip_text.interface, place.networks)]
    if any(ip == each.ip for each in own):
        return f'it is an address of {place.of} itself'
    for net in (each.network for each in own):
        if net.version != ip.version or ip not in net:
            continue
        if ip.version == 4 and net.prefixlen < 31 and (
                ip in (net.network_address, net.broadcast_address)):
            return f'no host can have it in {net}'
        return ''
    return (f'it is in no network of {place.of} '
            f'({", ".join(place.networks) or "none"})')


def _why(addresses: Iterable[str], objections: Iterable[str]) -> str:
    """Why a place has no address."""
    bad = [f'{address}: {objection}' for address, objection in zip(
        addresses, objections, strict=True) if objection]
    used = len(objections := [*objections]) > len(bad)
    return '; '.join([*bad, *(
        ['all others are in use at other places; add an address to the file']
        if used else [])])


def _load(find: source.Find, name: str, chassis: str) -> int:
    """The number of addresses of other objects that a node has."""
    return len({
        columns.entry(row, 'external_ids', ownership.EXT_ID_EGRESS_ADDRESS)
        for row in find(*routers.NAT, 'chassis', chassis)
        if columns.entry(row, 'external_ids',
                         ownership.EXT_ID_EGRESS) != name})
