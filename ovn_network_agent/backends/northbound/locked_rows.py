# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends egress and peering: rows of NB that belong to no node.

A named lock of NB decides which agent writes; it is asked for at the first
change, so neither a dry run nor an agent without the driver has it. All agents
read, so a successor goes on where the last writer has ended.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.ovn.egress import egress_rows
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import lock
from ovn_network_agent.ovsdb import lock_state

_TIMEOUT = 3.0
# A peering has some twenty rows, and takes 20 ms of the processor.
_BATCH_SIZE = 100


def lock_name(driver: str) -> str:
    """The name of the lock of a driver."""
    return f'ovn_network_agent_{driver}'


class Backend(ovsdb_writer.NbWriter):
    """The rows of each resource, as one object."""

    revived_by = (notices.connected('nb'),)
    uses_known = False
    reads_only_rows = True
    # The driver whose agents write.
    driver: str
    # A function: the resources in the tables of NB.
    rows: Any
    # Classes, by verb.
    commands: Mapping[str, Callable[[Any, Any], command.Command]]

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        remotes = conf.ovn.ovn_nb_remote
        self.lock = lock.Lock(
            'nb', remotes if isinstance(remotes, str) else ','.join(remotes),
            lock_name(self.driver), conf.ovn.ovsdb_probe_interval,
            self._has_the_lock,
            lambda: self._context.databases['nb'].problem)

    def read(self, known: base.Known) -> list[resources.Resource]:
        """Read all resources in NB, none without the driver.

        :raises base.BackendError: when the replica of NB is not usable
        """
        if self.driver not in self.conf.drivers:
            # The agents with the driver want them.
            return []
        with self.tables() as nb:
            return list(type(self).rows(nb))

    def command(self, verb: str, resource: resources.Resource
                ) -> ovsdb_writer.Make:
        """The command that writes or removes a resource."""
        return lambda api: self.commands[verb](api, resource)

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write with the lock; see :class:`ovsdb_writer.Writer`.

        :returns: as there; everything while another agent has the lock
        :raises base.BackendError: as there, and when the lock cannot be asked
            for
        """
        state = (lock_state.State.WAITING if self.lock.released
                 else self.lock.ask(_TIMEOUT))
        if state is lock_state.State.HELD:
            try:
                return self._in_parts(delta)
            except base.BackendError:
                # Another agent may reach a server that this one does not.
                self.lock.pass_on()
                raise
        if state is lock_state.State.NOT_CONNECTED:
            raise base.BackendError(self.lock.problem)
        why = base.LeftToAnother(
            'the agent that has the lock of OVN_Northbound writes it')
        return {resource.ref: why for _verb, resource in delta.steps}

    def _in_parts(self, delta: base.Delta) -> base.Failures:
        """Write all changes, at most :data:`_BATCH_SIZE` in a transaction.

        Each resource is whole by itself, and too many would never end within
        ``[ovn] transaction_timeout``.
        """
        failures = {}
        for start in range(0, len(delta), _BATCH_SIZE):
            kinds: list[Any] = []
            end = start + _BATCH_SIZE
            for part in (delta.create, delta.update, delta.delete):
                kinds.append(part[max(start, 0):max(end, 0)])
                start, end = start - len(part), end - len(part)
            failures.update(super().apply(base.Delta(*kinds)))
        return failures

    def taken_over(self, lost: list[resources.Ref]) -> set[resources.Ref]:
        """See :meth:`base.Backend.taken_over`: the writer restores it."""
        return set() if self.lock.is_held else set(lost)

    def close(self) -> None:
        """Give the lock back."""
        self.lock.close()

    def _has_the_lock(self) -> None:
        """The changes that were left to another agent are for this one."""
        if self._context.wake is not None:
            self._context.wake(f'this agent writes for {self.driver}',
                               revived=(self.name,))


_MOVES = 'egress_ip_failovers_total'
EGRESS_LOCK = lock_name(egress_ip.GROUP)


class EgressBackend(Backend):
    """The rows of each egress address at a router, as one object."""

    name = 'egress'
    kinds = (resources.EgressRows,)
    doubted_by = (notices.EGRESS,)
    driver = egress_ip.GROUP
    rows = egress_rows.read
    commands = {'set': egress_rows.set_rows,
                'remove': egress_rows.remove_rows}

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self.counts = {_MOVES: 0} if self.driver in conf.drivers else {}

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write, and count the addresses that move; see the base.

        :raises base.BackendError: as there
        """
        failures = super().apply(delta)
        changes: list[tuple[Any, Any]] = [
            *((each, None) for each in delta.delete), *delta.update,
            *((None, each) for each in delta.create)]
        done = [(old, new) for old, new in changes
                if (old or new).ref not in failures]
        self.counts = {_MOVES: self.counts.get(_MOVES, 0) + egress_rows.moves(
            *(filter(None, each) for each in zip(*done, strict=True)))
            } if done else self.counts
        return failures


PEERING_LOCK = lock_name(network_peer.GROUP)


class PeeringBackend(Backend):
    """The rows of each peering, as one object."""

    name = 'peering'
    kinds = (resources.Peering,)
    doubted_by = (notices.PEERINGS,)
    driver = network_peer.GROUP
    rows = peering_rows.read
    commands = {'set': peering_rows.set_rows,
                'remove': peering_rows.remove_rows}
