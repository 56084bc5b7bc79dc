# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the local switch and the kernel say about this node."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.conf import plugins
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import egress_links
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.watches import egress_links as watching

LOG = logging.getLogger(__name__)


class LocalState:
    """Reads the local database and the devices; see :class:`view.View`."""

    def __init__(self, conf: Any,
                 databases: Mapping[str, connection.Database],
                 look_at_ports: Callable[[str, Collection[str]], object],
                 wake: Callable[[str], object] = lambda reason: None
                 ) -> None:
        self._conf = conf
        self._databases = databases
        self._look_at_ports = look_at_ports
        self.kernel = links.Devices()
        self._links = (watching.EgressLinks(wake)
                       if plugins.requested(conf, plugins.LINKS) else None)
        self._alone = False  # whether this node may be cut off from all others
        self._tunnel = ''  # address that [evpn] local_device has or last had
        # Empty until the local database was read.
        self.wiring = Wiring()
        # Whether the wiring has what the last reading found.
        self.has_switch = self.has_devices = False

    def read_switch(self, ovs: Tables) -> None:
        """Read the local database."""
        self.has_switch = self.has_devices = False
        self.wiring = wiring.read(ovs, ())._replace(links=self.wiring.links)
        for bridge in bridges.served(self._conf):
            self._look_at_ports(bridge, wiring.ports(ovs, bridge))
        self.has_switch = True
        self._watch_relays()

    def read_devices(self) -> None:
        """Read the devices of the kernel."""
        # After a failure, the news from before it are gone.
        self.has_devices = False
        self.wiring = self.wiring._replace(
            devices=relevant_devices(
                self._conf, self.wiring.mappings, self.kernel.read),
            tunnel=self._read_tunnel())
        self.has_devices = True

    def read_links(self, hosts: Iterable[model.EgressHost],
                   force: bool) -> None:
        """Read the links for egress addresses, if a driver asks for them.

        :param force: without any news, too
        """
        if self._links is None:
            return
        chosen = egress_links.Chosen(
            frozenset((*bridges.served(self._conf), *(
                bridge for _net, bridge in self.wiring.mappings))),
            frozenset((*ownership.VETH_ENDS,
                       self._conf.port_forward.port_forward_dev)),
            frozenset(host.address for host in hosts))
        look = self._links.read if force else self._links.present
        self.wiring = self.wiring._replace(links=look(chosen))

    def lacks_routes(self, hosts: Iterable[model.EgressHost]) -> bool:
        """Whether the links were read for other egress addresses."""
        return self._links is not None and (
            frozenset(host.address for host in hosts) !=
            self._links.chosen.egress)

    def _read_tunnel(self) -> str:
        """The address of the device of tunnels.

        It counts until there is another: a reconfiguration shows none.
        """
        found = tunnel(self._conf)
        if found not in (self._tunnel, ''):
            LOG.info('The tunnels of EVPN come from %s, the first address of '
                     '%s', found, self._conf.evpn.local_device)
            self._tunnel = found
        return self._tunnel

    def close(self) -> None:
        """Close the socket of the kernel's news, and end the watch."""
        self.kernel.close()
        if self._links is not None:
            self._links.stop()

    def _watch_relays(self) -> None:
        """Ask the servers of OVN more often while this node may be cut off.

        BFD says so in seconds, and OVN may move its gateway ports.  After the
        silence TCP pauses up to minutes (RFC 6298, 5.5), and this node would
        announce for so long what another one has.
        """
        relays = self.wiring.relays
        alone = bool(relays) and not any(relay.alive for relay in relays)
        if alone is not self._alone:
            self._alone = alone
            LOG.info('No other gateway node can be reached through a relay; '
                     'the servers of OVN are asked more often' if alone else
                     'Another gateway node can be reached through a relay')
            for name in ('nb', 'sb'):
                self._databases[name].ask_often(alone)


def tunnel(conf: Any) -> str:
    """The address of the device of tunnels now, '' for none."""
    name = conf.evpn.local_device
    return addresses.read_first(name) if name and plugins.requested(
        conf, plugins.VNIS) else ''


def relevant_devices(
        conf: Any, mappings: Iterable[tuple[str, str]],
        read: Callable[[], Iterable[model.Device]] = links.read_devices
        ) -> tuple[model.Device, ...]:
    """The devices that drivers may ask for.

    A change of any of the hundreds of others would cost all routers.
    """
    names = {conf.frr.vrf_name, *ownership.VETH_ENDS}
    known = {*bridges.served(conf), *(bridge for _net, bridge in mappings)}
    return tuple(d for d in read()
                 if d.name in names or
                 bridges.is_segment_device(d.name, known))
