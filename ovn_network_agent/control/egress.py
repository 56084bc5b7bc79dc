# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command "egress": egress addresses, and how machines leave."""

import argparse
import collections
from collections.abc import Callable
import json
from typing import Any

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.control import peers
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import table as tables
from ovn_network_agent.runtime import agent_parts as insides
from ovn_network_agent.runtime import questions

_ROWS = resources.EgressRows.kind
# Made by the node of mode "host" for each machine or address.
_ON_NODE = frozenset(each.kind for each in (
    resources.EgressTable, resources.EgressMachine, resources.EgressSource,
    resources.EgressDrop, resources.EgressRoute, resources.EgressAddress,
    resources.EgressHeld, resources.EgressNetworks))


class Egress:
    """The command about egress addresses; see :class:`peers.Peers`."""

    def __init__(self, conf: cfg.ConfigOpts, inside: insides.Inside,
                 ask: questions.Ask,
                 snapshot: Callable[[], model.Snapshot | None]) -> None:
        self._conf = conf
        self._inside = inside
        self._ask = ask
        self._snapshot = snapshot

    @property
    def commands(self) -> dict[str, commands.Command]:
        """The commands, see :class:`commands.Table`, a dict."""
        return {'egress': ('[--json]', self._egress)}

    def _egress(self, arguments: argparse.ArgumentParser, argv: list[str]
                ) -> str:
        # JSON for the program, which makes a table of it.
        arguments.add_argument('--json', action='store_true')
        arguments.parse_args(argv)
        peers.need_the_driver(self._conf, egress_ip.GROUP, 'egress addresses')
        snapshot, table = self._ask(lambda: (
            self._snapshot(), self._inside.reconciler.table()))
        return json.dumps({
            'chassis': snapshot.node.chassis if snapshot else '',
            'lock': peers.lock_state(self._inside, resources.EgressRows),
            'egress_ips': [_build(each, table) for each in sorted(
                peers.of_view(snapshot, model.EgressIp),
                key=lambda each: each.name)],
            # Not as wanted on this node, also of former objects.
            'node': [resource_rows.build(row) for row in table.rows(
                lambda ref: ref.kind in _ON_NODE)
                if row.state is not ledger.State.IN_PLACE]})


def _build(found: model.EgressIp, table: tables.Table) -> dict[str, Any]:
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
            'why': place.why, 'rows': row.state.value if row else '',
            'rows_why': row.reason if row else ''}
