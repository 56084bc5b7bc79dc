# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which machines of a selection count.  Pure."""

import collections
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.egress import egress_routers as routers
from ovn_network_agent.ovn.egress import egress_selection as selection
from ovn_network_agent.ovsdb import columns


def judged(find: source.Find, name: str) -> tuple[model.EgressMachine, ...]:
    """The machines of an object, with reasons why some do not count."""
    others = find.ask(_translated_for_others)
    return tuple(
        machine if machine.why else dataclasses.replace(
            machine, why=others.get((machine.router, machine.address), ''))
        for machine in find.ask(_by_router, name))


def _by_router(find: source.Find,
               name: str) -> tuple[model.EgressMachine, ...]:
    """As :func:`judged`, without the machines of other routers."""
    return tuple(
        _judged(find, entry, machine)
        for entry in find(*egress_file.TABLE, 'name', name)
        for machine in find.ask(selection.selected, name).machines)


def _judged(find: source.Find, entry: egress_file.Entry,
            machine: model.EgressMachine) -> model.EgressMachine:
    winner = find.ask(selection.contested).get(
        (machine.router, machine.address), entry.uuid)
    family = networks.family(machine.address)
    why = ''
    if winner != entry.uuid:
        why = f'egress address {winner} has it, too, and is first by its name'
    elif not any(networks.family(each) == family for each in entry.addresses):
        why = f'no address of IPv{family:d} is in the file'
    else:
        why = find.ask(routers.translated, machine.router, machine.address,
                       entry.addresses)
    if not why and entry.mode is model.EgressMode.HOST:
        why = find.ask(routers.outside, machine.address)
    return dataclasses.replace(machine, why=why) if why else machine


# -- machines of several routers with one address on one node -------------

def _translated_for_others(find: source.Find) -> dict[tuple[str, str], str]:
    """By router and address of machines that their node cannot translate, why.

    The kernel sees no router, so two machines with one address look alike.
    One with a row stays, at best of this node; else the first by object, UUID.
    """
    first: dict[tuple[str, str], tuple[bool, bool, str, str]] = {}
    claims = []
    for entry in find(*egress_file.TABLE, 'all', True):
        if entry.mode is not model.EgressMode.HOST:
            continue
        name = entry.uuid
        for machine in find.ask(_by_router, name):
            node = '' if machine.why else find.ask(
                usable, name, machine.router)
            if node:
                chassis = find.ask(_rows, name, machine.router).get(
                    machine.address, set())
                claim = (node not in chassis, not chassis, name,
                         machine.router)
                place = node, machine.address
                first[place] = min(first.get(place, claim), claim)
                claims.append((place, claim))
    return {
        (claim[3], place[1]):
        f'egress address {first[place][2]} has a machine with the same '
        f'address behind another router ({_called(find, first[place][3])}) '
        f'on the same node ({place[0]}), which can translate one of them; '
        'give the objects different nodes (gateways)'
        for place, claim in claims if claim != first[place]}


def _called(find: source.Find, router: str) -> str:
    found = find.ask(routers.read, router)
    return found.called if found else router


def usable(find: source.Find, name: str, router: str) -> str:
    """The chassis that may translate for a router, or ''."""
    found = find.ask(chassis_of, name, router)
    for entry in find(*egress_file.TABLE, 'name', name):
        if not entry.gateways or found and {
                found, find.ask(routers.hostname, found)} & {*entry.gateways}:
            return found
    return ''


def chassis_of(find: source.Find, name: str, router: str) -> str:
    """The chassis of a router's only gateway port, '' while it moves."""
    found = find.ask(routers.read, router)
    if found is None or len(found.gateways) != 1:
        return ''
    return find.ask(routers.chassis, found.gateways[0].name) or next(
        (chassis for _port, chassis, _address in find.ask(
            there, name, router) if chassis), '')


# -- rows -----------------------------------------------------------------

def there(find: source.Find, name: str,
          router: str) -> tuple[tuple[str, str, str], ...]:
    """Sorted (port or '', chassis or '', address) of an object's rows."""
    return tuple(sorted({(port, chassis, address) for
                         port, chassis, address, _machine
                         in _rows_of(find, name, router)}))


def _rows(find: source.Find, name: str, router: str) -> dict[str, set[str]]:
    """The chassis of an object's rows of a router, by machine."""
    found: dict[str, set[str]] = {}
    for _port, chassis, _address, machine in _rows_of(find, name, router):
        if chassis:
            found.setdefault(machine, set()).add(chassis)
    return found


def _rows_of(find: source.Find, name: str, router: str
             ) -> tuple[tuple[str, str, str, str], ...]:
    """(port or '', chassis or '', address, machine) of each row, sorted."""
    return find.ask(_everywhere, name).get(router, ())


def _everywhere(find: source.Find, name: str
                ) -> dict[str, tuple[tuple[str, str, str, str], ...]]:
    """As :func:`_rows_of`, by router."""
    found = collections.defaultdict(list)
    for row in find(*routers.NAT, 'egress', name):
        entries = columns.entries(row, 'external_ids')
        values = (
            next((str(columns.atom(each, 'name')) for each in
                  columns.rows(row, 'gateway_port')), ''),
            entries.get(ownership.EXT_ID_EGRESS_CHASSIS, ''),
            str(entries.get(ownership.EXT_ID_EGRESS_ADDRESS) or
                columns.atom(row, 'external_ip')),
            str(columns.atom(row, 'logical_ip')))
        for router in find(*routers.ROUTER, 'nat', row.uuid):
            found[str(router.uuid)].append(values)
    return {router: tuple(sorted(values)) for router, values in found.items()}
