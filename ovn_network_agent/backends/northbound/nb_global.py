# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends bfd_timers and egress_networks: entries of nodes in NB_Global.

The object of an agent is its own entry: its request for timers of BFD, or the
links of its node. The fleet's options of BFD follow from all requests
(decision record 0022). An agent writes them when its own request changes, in
the same transaction, and when the row is astray: an option is missing, or the
chassis of a request is gone for good. Of several agents that notice, the
server lets one write.
"""

import abc
from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.ovn.chassis import bfd
from ovn_network_agent.ovn.egress import egress_rows

LOG = logging.getLogger(__name__)


class _Entry(ovsdb_writer.NbWriter):
    """The entry of this chassis; a change also removes those of the gone."""

    revived_by = (notices.connected('nb'),)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._deleted = frozenset[str]()

    @abc.abstractmethod
    def present(self) -> Collection[str]:
        """Names of the chassis that have an entry."""

    def of_deleted(self, present: Collection[str]) -> frozenset[str]:
        """Names of chassis with an entry that are gone for good."""
        return frozenset(present) & {
            each.chassis for each in self._context.dead()} - {
                self._context.chassis()}

    def apply(self, delta: base.Delta) -> base.Failures:
        """Change the entry, and remove those of chassis that are gone.

        The Southbound server confirms first; without its answer, they stay,
        which is no failure.

        :raises base.BackendError: when NB does not answer
        """
        try:
            deleted = self.of_deleted(self.present())
        except base.BackendError:
            # The transaction says so.
            deleted = frozenset()
        self._deleted = ovsdb_writer.confirm_deleted(self._context, self.conf,
                                                     deleted)
        return super().apply(delta)


class BfdTimersBackend(_Entry):
    """The request of this chassis for timers of BFD."""

    name = 'bfd_timers'
    kinds = (resources.BfdTimers,)
    doubted_by = (notices.BFD_TIMERS, notices.CHASSIS_DELETED,
                  notices.IDENTITY)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # The text that the log has about requests that differ.
        self._logged = ''

    def read(self, known: base.Known) -> list[resources.BfdTimers]:
        """Read the request of this chassis, and log requests that differ.

        :returns: at most one, in milliseconds; zeros, never wanted, if
            unreadable
        :raises base.BackendError: when the replica of NB is not usable
        """
        with self.tables() as nb:
            fleets = [bfd.read(row) for row in nb.get(
                'NB_Global', {}).values()]
        chassis = self._context.chassis()
        found = [self._found(fleet, chassis) for fleet in fleets
                 if chassis in fleet.requests]
        for fleet in fleets:
            self._say(fleet, chassis)
        return found

    def _found(self, fleet: bfd.Fleet, chassis: str) -> resources.BfdTimers:
        rx, tx, mult = fleet.requests[chassis] or (0, 0, 0)
        return resources.BfdTimers(chassis, rx, tx, mult,
                                   self._difference(fleet))

    def _difference(self, fleet: bfd.Fleet) -> str | None:
        """Why the row of NB is not as the requests want it, or None."""
        deleted = self.of_deleted(fleet.requests)
        if deleted:
            return f'{", ".join(sorted(deleted))} is gone, and has a request'
        foreign = bfd.in_the_way(fleet)
        if foreign:
            return foreign
        if fleet.decided() != fleet:
            return 'the options differ from the requests'
        return None

    def _say(self, fleet: bfd.Fleet, chassis: str) -> None:
        """Warn of requests that differ, once."""
        own = fleet.requests.get(chassis)
        others = [f'{name} {_shown(values)}' for name, values in sorted(
            fleet.requests.items()) if values not in (None, own)]
        text = ''
        if own and others:
            shown = _shown(fleet.wanted.values())
            text = (f'this one {_shown(own)}, {", ".join(others)}; the '
                    f'slowest values count, {shown}')
        if text and text != self._logged:
            LOG.warning(
                'Agents request different timers of BFD ([ovn] bfd_min_rx, '
                'bfd_min_tx, bfd_mult): %s; give all of them the same values',
                text)
        elif self._logged and not text:
            LOG.info('No other agent requests other timers of BFD any more')
        self._logged = text

    def command(self, verb: str, resource: resources.BfdTimers
                ) -> ovsdb_writer.Make:
        """The command that writes or removes the request of this chassis."""
        values = None if verb == 'remove' else (
            resource.min_rx, resource.min_tx, resource.mult)
        deleted = self._deleted
        return lambda api: bfd.Request(api, resource.chassis, values,
                                       deleted)

    def present(self) -> Collection[str]:
        """Names of the chassis that have a request."""
        with self.tables() as nb:
            return {name for row in nb.get('NB_Global', {}).values()
                    for name in bfd.read(row).requests}


def _shown(values: Iterable[object]) -> str:
    rx, tx, mult = values
    return f'{rx}/{tx} ms x {mult}'


class EgressNetworksBackend(_Entry):
    """The entry of this chassis: the links of this node.

    An entry of a chassis that is gone for good makes the own entry count as
    another one, so its next change removes both.  An agent that has none, and
    wants none, then counts as one that has, so the entry of the last node goes
    as well.
    """

    name = 'egress_networks'
    kinds = (resources.EgressNetworks,)
    doubted_by = (notices.EGRESS_NETWORKS, notices.CHASSIS_DELETED,
                  notices.IDENTITY)

    def read(self, known: base.Known) -> list[resources.EgressNetworks]:
        """Read the entry of this chassis.

        :raises base.BackendError: when the replica of NB is not usable
        """
        chassis, found = self._context.chassis(), self.present()
        deleted = tuple(sorted(self.of_deleted(found)))
        return [resources.EgressNetworks(
            chassis, found.get(chassis, ()), deleted
        )] if chassis in found or deleted else []

    def command(self, verb: str, resource: resources.EgressNetworks
                ) -> ovsdb_writer.Make:
        """The command that writes or removes the entry of this chassis."""
        addresses = None if verb == 'remove' else resource.addresses
        deleted = self._deleted
        return lambda api: egress_rows.SetNetworks(
            api, resource.chassis, addresses, deleted)

    def present(self) -> dict[str, tuple[str, ...]]:
        """The addresses by name of chassis."""
        with self.tables() as nb:
            return {chassis: addresses
                    for row in nb.get('NB_Global', {}).values()
                    for chassis, addresses in egress_rows.read_networks(
                        row).items()}
