# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The common part of the backends that make ports of Open vSwitch."""

from collections.abc import Callable
from collections.abc import Sequence
import time
from typing import Any
from typing import TypeAlias
from typing import TypeVar

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.northbound import ovsdb_writer
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection

# Seconds between two checks whether ovs-vswitchd has made a port.
_INTERVAL = 0.02


#: See SwitchPorts.made_ports
MadePorts: TypeAlias = tuple[set[Any], dict[Any, str]]
_T = TypeVar('_T')


class SwitchPorts(ovsdb_writer.Writer):
    """A backend whose rows become ports when ovs-vswitchd has made them."""

    database = 'ovs'

    def made_ports(self, ovs: columns.Tables) -> MadePorts:
        """Keys of the ports that ovs-vswitchd has made; by key, its failures.
        """
        raise NotImplementedError

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write the rows, and wait until ovs-vswitchd has made the ports.

        At most ``[ovn] transaction_timeout`` seconds; a failed port is tried
        once more.

        :raises base.BackendError: when the local database does not answer
        """
        failures = super().apply(delta)
        wanted = [*delta.create, *(new for _old, new in delta.update)]
        not_made, refused = self._not_made(
            [r for r in wanted if r.ref not in failures])
        return {**failures, **not_made, **self._again(
            [r for r in wanted if r.ref in refused])}

    def _again(self, refused: Sequence[resources.Resource]) -> base.Failures:
        """Have ovs-vswitchd try once more to make ports.

        It (3.1, seen with its user-space data path) cannot make a port while
        the same change removes one of this name from another bridge: 'File
        exists'.
        """
        if not refused:
            return {}
        failures = super().apply(base.Delta(create=tuple(refused)))
        not_made, reasons = self._not_made(
            [r for r in refused if r.ref not in failures])
        return {**failures, **not_made, **reasons}

    def _not_made(self, wanted: Sequence[resources.Resource]
                  ) -> tuple[base.Failures, base.Failures]:
        """Wait for ports: those not looked at in time, and those that failed.
        """
        deadline = time.monotonic() + self.conf.ovn.transaction_timeout
        while True:
            made, errors = self.rows(self.made_ports)
            left = [r for r in wanted if r.key not in made]
            failures = {r.ref: errors[r.key] for r in left if r.key in errors}
            waiting = [r.ref for r in left if r.ref not in failures]
            if not waiting:
                return {}, failures
            if time.monotonic() > deadline:
                return {ref: (
                    'ovs-vswitchd has not made the port within '
                    f'{self.conf.ovn.transaction_timeout:d} s; is it running?')
                    for ref in waiting}, failures
            time.sleep(_INTERVAL)

    def rows(self, function: Callable[[columns.Tables], _T]) -> _T:
        """Call a function with the rows of the local database.

        :raises BackendError: when the database is not available
        """
        try:
            with self._context.databases[self.database].rows() as ovs:
                return function(ovs)
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e
