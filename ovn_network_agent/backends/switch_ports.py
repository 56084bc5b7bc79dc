# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends relay_port, vni_port, overlap: objects of the local Open vSwitch.

A port is the agent's by its name and mark. What another program has under a
wanted name is never touched, and the resource fails. Both ends of a veth pair
have the agent's alias, too.

A separate program makes the overlap and undoes it even if the agent dies; see
:mod:`ovn_network_agent.privileged.overlap_keeper`.  During the overlap, the
program keeps a key in external_ids of the local Open_vSwitch database.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.common import wording
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.ovs import bridge_ports
from ovn_network_agent.ovs import commands
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.network import vni_links as privileged

# Seconds between two checks whether ovs-vswitchd has made a port.
_INTERVAL = 0.02


#: See SwitchPorts.made_ports
MadePorts: TypeAlias = tuple[set[Any], dict[Any, str]]

_RELAY_COMMANDS = {'set': commands.SetRelayPort,
                   'remove': commands.RemoveRelayPort}

_VNI_COMMANDS = {'set': commands.SetVniPort, 'remove': commands.RemoveVniPort}


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
            with self.tables() as ovs:
                made, errors = self.made_ports(ovs)
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


class RelayPortBackend(SwitchPorts):
    """Tunnel ports that lead to the bridges of other gateways."""

    name = 'relay_port'
    kinds = (resources.RelayPort,)
    doubted_by = (notices.INTERFACES, notices.SWITCH_PORTS)
    revived_by = (notices.connected('ovs'),)

    def read(self, known: base.Known) -> list[resources.RelayPort]:
        """Read the ports with the name and the mark of a relay.

        :raises base.BackendError: when the local database is not connected
        """
        with self.tables() as ovs:
            return list(bridge_ports.relays(ovs))

    def command(self, verb: str, resource: resources.RelayPort
                ) -> ovsdb_writer.Make:
        """The command that makes or removes a port."""
        return lambda api: _RELAY_COMMANDS[verb](api, resource)

    def made_ports(self, ovs: columns.Tables) -> MadePorts:
        """See :meth:`switch_ports.SwitchPorts.made_ports`."""
        return ({port.key for port in bridge_ports.relays(ovs) if port.encap},
                bridge_ports.relay_errors(ovs))


class VniPortBackend(SwitchPorts):
    """A veth pair and its port of Open vSwitch, as one object."""

    name = 'vni_port'
    kinds = (resources.VniPort,)
    doubted_by = (notices.kernel('link'), notices.INTERFACES,
                  notices.SWITCH_PORTS)
    revived_by = (notices.connected('ovs'),)
    uses_known = False
    invalidates = ('sysctl', 'address', 'neighbour', 'neighbour_proxy',
                   'route', 'rule')

    def read(self, known: base.Known) -> list[resources.VniPort]:
        """Read the pairs, and the ports, with the name and the mark.

        :returns: with ``mac`` '' for a wrong pair, ``bridge`` '' for a wrong
            port
        :raises base.BackendError: when the kernel or the local database does
            not answer
        """
        found, details = calls.reading('devices', vni_links.read_all)
        masters = {link.index: name for name, link in found.items()}
        with self.tables() as ovs:
            ports = {evpn_names.vrf_end_of(name): port for name, port
                     in bridge_ports.vni_ports(ovs).items()}
        ours = {name for name, link in found.items()
                if evpn_names.is_vrf_end(name) and _is_ours(link)}
        return [resources.VniPort(
            name, *_pair(found, details, masters, name if name in ours else
                         ''), *ports.get(name, ('', 0)))
            for name in sorted(ours | ports.keys())]

    def command(self, verb: str, resource: resources.VniPort
                ) -> ovsdb_writer.Make:
        """The command that makes or removes a port."""
        return lambda api: _VNI_COMMANDS[verb](api, resource)

    def made_ports(self, ovs: columns.Tables) -> MadePorts:
        """See :meth:`switch_ports.SwitchPorts.made_ports`."""
        ports = bridge_ports.vni_ports(ovs)
        return ({(evpn_names.vrf_end_of(name),)
                 for name, (bridge, _tag) in ports.items() if bridge},
                {(evpn_names.vrf_end_of(name),): reason
                 for name, reason in bridge_ports.vni_errors(ovs).items()})

    def apply(self, delta: base.Delta) -> base.Failures:
        """Make pairs, then all ports, then delete pairs."""
        wanted = resources.of_kind(resources.VniPort, delta.wanted)
        self._forget(_without_devices(
            new for _old, new in
            resources.updates_of(resources.VniPort, delta)))
        failures = calls.refused(
            privileged.set_ports, wanted,
            [[r.name, r.vni, r.mac, r.bridge] for r in wanted])
        failures.update(super().apply(base.Delta(
            create=tuple(r for r in wanted if r.ref not in failures),
            delete=delta.delete)))
        removed = [r for r
                   in resources.of_kind(resources.VniPort, delta.delete)
                   if r.ref not in failures]
        failures.update(calls.refused(
            privileged.delete_ports, removed, [r.name for r in removed]))
        return failures

    def _forget(self, ports: tuple[resources.VniPort, ...]) -> None:
        """Have Open vSwitch forget the devices of ports, which were deleted.

        In user space, it would go on with a deleted device when there is
        another of this name (3.1, seen). ovs-vswitchd may see two changes as
        one; but a port made again has an error while there is no device.
        """
        write = super(SwitchPorts, self).apply
        while ports:
            write(base.Delta(delete=ports))
            refused = write(base.Delta(create=ports))
            waiting, failed = self._not_made(
                [r for r in ports if r.ref not in refused])
            done = {**refused, **waiting, **failed}
            ports = tuple(r for r in ports if r.ref not in done)


def _without_devices(ports: Iterable[resources.VniPort]
                     ) -> tuple[resources.VniPort, ...]:
    """The ports of which neither end is there."""
    ports = tuple(ports)
    found = calls.reading('devices', links.read_all) if ports else {}
    return tuple(r for r in ports if found.keys().isdisjoint(
        (r.name, evpn_names.bridge_end(r.name))))


def _is_ours(link: links.Link) -> bool:
    return link.kind == 'veth' and link.alias == ownership.LINK_ALIAS


def _pair(found: dict[str, links.Link],
          details: Mapping[str, vni_links.Details], masters: Mapping[int, str],
          name: str) -> tuple[int, str]:
    """(VNI, MAC) of a pair by its VRF end; '' while it is not complete."""
    if not name:
        return 0, ''
    end, peer = found[name], found.get(evpn_names.bridge_end(name))
    complete = (peer is not None and _is_ours(peer) and end.up and peer.up and
                links.peers(found, name, peer.name) and
                details[name].silent and details[name].grouped)
    return (evpn_names.vni_of_vrf(masters.get(end.master, '')),
            end.mac if complete else '')


class OverlapBackend(base.Backend):
    """The pause of ovn-controller, in which two chassis own a port."""

    name = 'overlap'
    kinds = (resources.Overlap,)
    revived_by = (notices.connected('ovs'),)

    def attach(self, context: base.Context) -> None:
        """Receive the databases, of which 'ovs' is read."""
        self._context = context

    def read(self, known: base.Known) -> list[resources.Overlap]:
        """Read the overlap that the keeper has noted in the local database.

        :raises base.BackendError: when the local database is not connected
        """
        with ovsdb_writer.tables(self._context.databases['ovs']) as ovs:
            marks = [row.external_ids.get(ownership.EXT_ID_OVERLAP, '')
                     for row in ovs['Open_vSwitch'].values()]
        return [resources.Overlap(tuple(mark.split()))
                for mark in marks if mark]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Begin or end the overlap; an update changes nothing.

        :returns: the text of the privileged side
        """
        failures = {}
        for wanted in resources.of_kind(resources.Overlap, delta.create):
            try:
                overlap.begin(list(wanted.addresses))
            except context.FAILURES as e:
                failures[wanted.ref] = wording.error(e)
        # An update leaves the present overlap alone: it ends soon, when the
        # ports have left.
        if delta.delete:
            try:
                overlap.end()
            except context.FAILURES as e:
                failures.update({removed.ref: wording.error(e)
                                 for removed in delta.delete})
        return failures
