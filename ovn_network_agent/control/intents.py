# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peerings and egress addresses: their state, and intents of operators."""

import argparse
import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import json
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import table as tables
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
from ovn_network_agent.ovn.peering import peer_changes
from ovn_network_agent.ovn.peering import peer_intents
from ovn_network_agent.ovn.peering import peer_routers
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import lock_state as states
from ovn_network_agent.runtime import questions

LOG = logging.getLogger(__name__)

_KIND = resources.Peering.kind
_ROWS = resources.EgressRows.kind
# Made by the node of mode "host" for each machine or address.
_ON_NODE = frozenset(each.kind for each in (
    resources.EgressTable, resources.EgressMachine, resources.EgressSource,
    resources.EgressDrop, resources.EgressRoute, resources.EgressAddress,
    resources.EgressHeld, resources.EgressNetworks))


class Intents:
    """The commands about peerings and egress addresses."""

    def __init__(self, conf: cfg.ConfigOpts, internals: questions.Internals,
                 ask: questions.Ask,
                 snapshot: Callable[[], model.Snapshot | None],
                 databases: Mapping[str, connection.Database]) -> None:
        self._conf = conf
        self._internals = internals
        self._ask = ask
        self._snapshot = snapshot
        self._databases = databases

    @property
    def commands(self) -> dict[str, commands.Command]:
        """The commands, see :class:`commands.Table`, a dict."""
        return {'peers': ('[--json]', self._peers),
                'peer-add': ('ROUTER NAME TARGET [--json]', self._add),
                'peer-remove': ('ROUTER NAME [--json]', self._remove),
                'egress': ('[--json]', self._egress)}

    def _peers(self, arguments: argparse.ArgumentParser, argv: list[str]
               ) -> str:
        arguments.parse_args(argv)
        self._need(network_peer.GROUP, 'peerings')
        snapshot, table = self._look()
        return json.dumps({
            'lock': lock_state(self._internals, resources.Peering),
            'peerings': [_peering(each, table) for each in sorted(
                of_view(snapshot, model.Peering), key=lambda each: (
                    each.called, each.router, each.name))]})

    def _add(self, arguments: argparse.ArgumentParser, argv: list[str]) -> str:
        for name in ('router', 'name', 'target'):
            arguments.add_argument(name)
        args = arguments.parse_args(argv)
        self._may_write()
        if not args.target.isprintable():
            raise commands.Refused(
                f'{args.target!r} is the name of no router; give the UUID '
                'of one')
        with self._rows() as nb:
            router = _find(nb, args.router)
            called = peer_routers.called(router)
            _refuse(called, peer_changes.there_already(router, args.name))
            made, conflict = peer_changes.trial(
                nb, router, args.name, args.target, self._file())
            _refuse(called, conflict)
        if made.state is model.PeerState.ERROR:
            _refuse(called, made.why)
        self._write(called, lambda api: peer_changes.ChangeIntent(
            api, made.router, args.name, args.target))
        LOG.info('Peering %s of %s with %s was asked for (%s)', args.name,
                 called, made.target, made.state.value)
        return json.dumps(_intent(made))

    def _remove(self, arguments: argparse.ArgumentParser, argv: list[str]
                ) -> str:
        for name in ('router', 'name'):
            arguments.add_argument(name)
        args = arguments.parse_args(argv)
        self._may_write()
        with self._rows() as nb:
            router = _find(nb, args.router)
            called = peer_routers.called(router)
            uuid = str(router.uuid)
            _refuse(called, peer_changes.unknown(router, args.name))
        self._write(called, lambda api: peer_changes.ChangeIntent(
            api, uuid, args.name))
        name = wording.one_line(args.name)
        LOG.info('The end of peering %s of %s was asked for', name, called)
        return json.dumps({'router': uuid, 'router_name': called,
                           'name': name, 'state': 'removed'})

    def _egress(self, arguments: argparse.ArgumentParser, argv: list[str]
                ) -> str:
        arguments.parse_args(argv)
        self._need(egress_ip.GROUP, 'egress addresses')
        snapshot, table = self._look()
        return json.dumps({
            'chassis': snapshot.node.chassis if snapshot else '',
            'lock': lock_state(self._internals, resources.EgressRows),
            'egress_ips': [_egress_ip(each, table) for each in sorted(
                of_view(snapshot, model.EgressIp),
                key=lambda each: each.name)],
            # Not as wanted on this node, also of former objects.
            'node': [resource_rows.build(row) for row in table.rows(
                lambda ref: ref.kind in _ON_NODE)
                if row.state is not ledger.State.IN_PLACE]})

    # -- the parts --------------------------------------------------------

    def _look(self) -> tuple[model.Snapshot | None, tables.Table]:
        found: tuple[model.Snapshot | None, tables.Table] = self._ask(
            lambda: (self._snapshot(), self._internals.reconciler.table()))
        return found

    def _need(self, driver: str, what: str) -> None:
        """Refuse a command without the driver that knows of something."""
        if driver not in self._conf.drivers:
            raise commands.Refused(
                f'this agent has no driver {driver}, which knows of {what}; '
                'ask an agent that has it in [DEFAULT] drivers')

    def _may_write(self) -> None:
        self._need(network_peer.GROUP, 'peerings')
        if self._conf.dry_run:
            raise commands.Refused('this is a dry run, which writes nothing')

    def _file(self) -> reading.Content[peer_intents.End]:
        try:
            return peer_intents.load(self._conf)
        except file_problems.BadFile as e:
            raise commands.Refused(f'not written: {e}') from e

    @contextlib.contextmanager
    def _rows(self) -> Iterator[columns.Tables]:
        try:
            with self._databases['nb'].rows() as nb:
                yield nb
        except connection.Unavailable as e:
            raise commands.Refused(f'not written: {e}') from e

    def _write(self, called: str, make: Callable[[Any], Any]) -> None:
        try:
            done = command.write(
                self._databases['nb'], 'OVN_Northbound', make,
                self._conf.ovn.transaction_timeout, 'peers')
        except command.NotWritten as e:
            raise commands.Refused(f'options of router {called}: {e}'
                                   ) from e
        _refuse(called, done.refused)


def of_view(snapshot: model.Snapshot | None, kind: type) -> list[Any]:
    """The subjects of a kind in a view."""
    return [each for alone in (snapshot.subjects.get(
        kind, {}) if snapshot else {}).values() for each in alone.values()]


def lock_state(internals: questions.Internals, kind: type[resources.Resource]
               ) -> str:
    """Who writes the resources of a kind: a state of the lock."""
    found = next((each.lock for each in internals.reconciler.backends.all
                  if kind in each.kinds), None)
    return (found.state.value if found and found.started else
            states.NOT_ASKED)


def _intent(peering: model.Peering) -> dict[str, Any]:
    return {'router': peering.router, 'router_name': peering.called,
            'name': peering.name, 'target': peering.target,
            'state': peering.state.value, 'why': peering.why,
            'gives': list(peering.gives), 'takes': list(peering.takes)}


def _peering(peering: model.Peering, table: tables.Table) -> dict[str, Any]:
    row = (table.row(resources.Ref(_KIND, (peering.pair,)))
           if peering.pair else None)
    return {**_intent(peering), **_rows_of(row)}


def _rows_of(row: tables.Row | None) -> dict[str, str]:
    return {'rows': row.state.value if row else '',
            'rows_why': row.reason if row else ''}


def _find(nb: columns.Tables, name: str) -> Any:
    """The only row of Logical_Router that a name means.

    :raises commands.Refused: when there is not exactly one
    """
    found = [row for row in nb['Logical_Router'].values()
             if name in peer_routers.names(row)]
    if not found:
        raise commands.Refused(
            f'there is no router "{name}"; looked for it as the UUID or the '
            'name of a Logical_Router, and as the UUID or the name of a '
            'router in Neutron')
    if len(found) > 1:
        uuids = ', '.join(sorted(str(row.uuid) for row in found))
        raise commands.Refused(
            f'"{name}" is the name of {len(found)} routers; give the UUID '
            f'of one router: {uuids}')
    return found[0]


def _refuse(called: str, why: str) -> None:
    if why:
        raise commands.Refused(f'router {called}: {why}')


def _egress_ip(found: model.EgressIp, table: tables.Table
               ) -> dict[str, Any]:
    by_place: dict[tuple[str, int], list[str]] = collections.defaultdict(list)
    for place in found.places:
        if place.address:
            by_place[place.router, place.family].append(place.address)
    return {
        'name': found.name, 'mode': found.mode.value,
        'addresses': list(found.addresses),
        'destinations': list(found.destinations), 'why': found.why,
        'problems': list(found.problems),
        'places': [_place(found.name, each, table) for each in found.places],
        'machines': [{
            'port': each.port, 'address': each.address, 'router': each.router,
            'leaves_with': [] if each.why else by_place[
                each.router, 6 if ':' in each.address else 4],
            'why': each.why} for each in found.machines]}


def _place(name: str, place: model.EgressPlace, table: tables.Table
           ) -> dict[str, Any]:
    row = (table.row(resources.Ref(_ROWS, (name, place.router)))
           if place.address else None)
    return {'router': place.router, 'router_name': place.called,
            'port': place.port, 'chassis': place.chassis,
            'family': place.family, 'address': place.address,
            'why': place.why, **_rows_of(row)}
