# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The facts that the judges get: what was read, or why it was not.  Pure."""

import dataclasses

from ovn_network_agent import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.drivers import segments

# Clients for questions about the way back, unless the user names one.
EXAMPLES = frozenset(('192.0.2.1', '2001:db8::1'))


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """The options that the judges need.

    :ivar bridges: the provider bridges that the agent serves, a tuple
    :ivar vrf: name of the VRF, '' for none
    :ivar pair: whether the agent makes the veth pair
    :ivar method: 'static' or 'kernel'
    :ivar prefix_list: name of FRR's prefix list, '' for none
    :ivar bgp: whether BGP announces the addresses
    :ivar networks: configured provider networks, a tuple
    :ivar gateway_port: the only port to follow, '' for all
    :ivar drivers: names of the drivers
    :ivar client: address outside, for the questions about the way back
    :ivar vip_device: device of managed VIPs
    :ivar frr: whether the agent announces through FRR
    :ivar zone: the agent's zone of connection tracking
    """

    bridges: tuple = ('br-ex',)
    vrf: str = 'vrf-provider'
    pair: bool = True
    method: str = 'static'
    prefix_list: str = 'ANNOUNCED-NETWORKS'
    bgp: bool = True
    networks: tuple = ()
    gateway_port: str = ''
    drivers: tuple = ('fip_route', 'veth_leak')
    client: str = '192.0.2.1'
    vip_device: str = 'loopback1'
    frr: bool = True
    zone: int = 64000


NOT_READ = readers.Unread('not read')


def device(port, bridges):
    """The device that an address has to be behind.

    :param port: :class:`model.GroupPort`, or something else with a segment;
        None if not known
    :param bridges: names of the bridges that the agent serves
    :returns: name of the device of the segment; of the default bridge if the
        segment is not on this node
    """
    segment = port.segment if port else None
    return segment.device if segments.located(
        segment, bridges) else bridges[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """Everything about one address; each part may be an exception.

    :ivar setup: :class:`Setup`
    :ivar subject: :class:`subject.Subject`
    :ivar databases: why OVN could not be read, :class:`readers.Unread`, or
        None
    :ivar agent: the agent's status, a dict, or :class:`readers.Unread`
    :ivar standing: what the agent says of the address, a dict; None when it
        has nothing to do with it; or :class:`readers.Unread`
    :ivar bindings: static MAC bindings of the router's gateway ports, tuple
        of (port, IP address, MAC)
    :ivar inside: :class:`readers.northbound.Inside` of a floating IP's NAT
        row, or None
    :ivar flows: see :func:`readers.flows.read`
    :ivar journeys: see :func:`readers.packets.read`
    :ivar kernel: :class:`readers.kernel.Kernel`
    :ivar zebra: see :func:`readers.frr.read_zebra`
    :ivar lists: see :func:`readers.frr.read_lists`
    :ivar path: see :func:`readers.frr.read_path`
    :ivar neighbours: see :func:`readers.frr.read_neighbours`
    :ivar frr_setup: :class:`frr.setup.Setup`, None when it was not needed
    :ivar filters: :class:`nft.filters.Found`, the filters of other programs
    :ivar translation: for a VIP, see :func:`readers.nft.read`
    :ivar driver_subjects: tuple of :class:`driver_subjects.DriverSubject`,
        the subjects of sources of drivers that have the address
    :ivar unmade: tuple of texts: the subjects that could not be made
    :ivar vni: :class:`readers.evpn.Vni` of a machine on a network with a VNI
    :ivar peerings: tuple of :class:`readers.peerings.Way`, or
        :class:`readers.Unread`
    :ivar peers: what the agent says of peerings, a dict, or
        :class:`readers.Unread`
    :ivar egress: see :func:`egress.read`, or :class:`readers.Unread`
    :ivar rows: the agent's rows about the address, dict of (kind, key as
        text) to dict; or :class:`readers.Unread`
    """

    setup: Setup
    subject: subject.Subject
    databases: readers.Unread | None = None
    agent: object = NOT_READ
    standing: object = NOT_READ
    bindings: tuple = ()
    inside: object = None
    flows: object = NOT_READ
    journeys: object = NOT_READ
    kernel: object = NOT_READ
    zebra: object = NOT_READ
    lists: object = NOT_READ
    path: object = NOT_READ
    neighbours: object = NOT_READ
    frr_setup: object = None
    filters: object = NOT_READ
    translation: object = NOT_READ
    driver_subjects: tuple = ()
    unmade: tuple = ()
    vni: object = None
    rows: object = NOT_READ
    peerings: object = ()
    peers: object = NOT_READ
    egress: object = None

    @property
    def device(self):
        """Name of the device that the address has to be behind."""
        if self.subject.end:
            return self.subject.end.name
        return device(self.subject.place, self.setup.bridges)

    @property
    def announces(self):
        """Whether FRR has to have the address."""
        return self.setup.frr and not self.subject.silent

    @property
    def version(self):
        """IP version of the address, 4 or 6."""
        return networks.family(self.subject.address)
