# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Backend relay_port: tunnel ports between the bridges of gateway nodes.

A port on any bridge is the agent's if it has both the name and the mark.  The
backend never touches a port with the name of a wanted relay and without the
mark; the relay is then reported as failed.
"""

import time

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.ovs import commands
from ovn_network_agent.ovs import relay
from ovn_network_agent.ovsdb import connection

_COMMANDS = {'set': commands.SetRelayPort,
             'remove': commands.RemoveRelayPort}
# Seconds between two checks whether ovs-vswitchd has made a port.
_INTERVAL = 0.02


class RelayPortBackend(ovsdb_writer.Writer):
    """Tunnel ports that lead to the bridges of other gateways."""

    name = 'relay_port'
    kinds = (resources.RelayPort,)
    doubted_by = (notices.INTERFACES, notices.RELAY_PORTS)
    revived_by = (notices.connected('ovs'),)
    database = 'ovs'

    def read(self, known):
        """Read the ports with the name and the mark of a relay.

        :param known: not needed, because the ports carry a mark
        :returns: list of :class:`resources.RelayPort`
        :raises base.BackendError: when the local database is not connected
        """
        return self._rows(lambda ovs: list(relay.ports(ovs)))

    def command(self, verb, resource):
        """The command that makes or removes a port.

        :param verb: 'set' or 'remove', see :class:`ovsdb_writer.Writer`
        :param resource: :class:`resources.RelayPort`
        """
        return lambda api: _COMMANDS[verb](api, resource)

    def apply(self, delta):
        """Write the rows, and wait until ovs-vswitchd has made the ports.

        The wait ends after ``[ovn] transaction_timeout`` seconds.  A port that
        ovs-vswitchd could not make is tried once more.

        :param delta: :class:`base.Delta`
        :returns: dict of :class:`resources.Ref` to reason
        :raises base.BackendError: when the local database does not answer
        """
        failures = super().apply(delta)
        wanted = [*delta.create, *(new for _old, new in delta.update)]
        not_made, refused = self._not_made(
            [r for r in wanted if r.ref not in failures])
        return {**failures, **not_made, **self._again(
            [r for r in wanted if r.ref in refused])}

    def _again(self, refused):
        """Have ovs-vswitchd try once more to make ports.

        ovs-vswitchd (3.1, seen with its user-space data path) cannot make a
        port while the same change removes a port of this name from another
        bridge: 'File exists'.

        :returns: dict of Ref to reason, for the ports that it has not made
        """
        if not refused:
            return {}
        failures = super().apply(base.Delta(create=tuple(refused)))
        not_made, reasons = self._not_made(
            [r for r in refused if r.ref not in failures])
        return {**failures, **not_made, **reasons}

    def _not_made(self, wanted):
        """Wait until ovs-vswitchd has made the ports of the database.

        :returns: two dicts of Ref to reason: ports that ovs-vswitchd has not
            looked at within the time limit, and those it could not make
        """
        deadline = time.monotonic() + self.conf.ovn.transaction_timeout
        while True:
            waiting, failures = self._rows(lambda ovs: _state(ovs, wanted))
            if not waiting:
                return {}, failures
            if time.monotonic() > deadline:
                return {ref: (
                    'ovs-vswitchd has not made the port within '
                    f'{self.conf.ovn.transaction_timeout:d} s; is it running?')
                    for ref in waiting}, failures
            time.sleep(_INTERVAL)

    def _rows(self, function):
        """Call a function with the rows of the local database.

        :raises BackendError: when the database is not available
        """
        try:
            with self._context.databases[self.database].rows() as ovs:
                return function(ovs)
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e


def _state(ovs, wanted):
    """(refs of ports to wait for, dict of Ref to the reason of a failure)."""
    made = {port.key for port in relay.ports(ovs) if port.encap}
    errors = relay.errors(ovs)
    left = [r for r in wanted if r.key not in made]
    failed = {r.ref: errors[r.key] for r in left if r.key in errors}
    return [r.ref for r in left if r.ref not in failed], failed
