# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The facts that the judges get: what was read, or why it was not.  Pure."""

from collections.abc import Callable
from collections.abc import Sequence
import typing

from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import agent as agents
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.diagnosis.readers import kernel as kernels
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.frr import setup as setups
from ovn_network_agent.nft import filters as nft_filters

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.address import driver_subjects

# Clients for questions about the way back, unless the user names one.
EXAMPLES = frozenset(('192.0.2.1', '2001:db8::1'))


class Setup(typing.NamedTuple):
    """The options that the judges need."""

    bridges: tuple[str, ...] = ('br-ex',)
    vrf: str = 'vrf-provider'  # name of the VRF, '' for none
    pair: bool = True  # whether the agent makes the veth pair
    method: str = 'static'  # 'static' or 'kernel'
    # Name of FRR's prefix list, '' for none.
    prefix_list: str = 'ANNOUNCED-NETWORKS'
    bgp: bool = True  # whether BGP announces the addresses
    networks: tuple[str, ...] = ()  # configured provider networks
    gateway_port: str = ''  # the only port to follow, '' for all
    drivers: tuple[str, ...] = ('fip_route', 'veth_leak')
    # Address outside, for the questions about the way back.
    client: str = '192.0.2.1'
    vip_device: str = 'loopback1'  # device of managed VIPs
    frr: bool = True  # whether the agent announces through FRR
    zone: int = 64000  # the agent's zone of connection tracking


# Any, for a value of another type; judges ask verdicts.unread() first.
NOT_READ: typing.Any = readers.Unread('not read')

#: static MAC bindings: (port, IP address, MAC)
Bindings: typing.TypeAlias = tuple[tuple[str, str, str], ...]
#: what the agent says of the address in a VNI, 0 for none
StatusOf: typing.TypeAlias = Callable[
    [int], agents.Answer | readers.Unread | None]


def device(port: announcing.Place | None, bridges: Sequence[str]) -> str:
    """The device of the segment; the default bridge's if it is not here."""
    segment = port.segment if port else None
    return segment.device if segments.located(
        segment, bridges) else bridges[0]


class Facts(typing.NamedTuple):
    """Everything about one address; a part may be :class:`readers.Unread`."""

    setup: Setup
    subject: subject.Subject
    # Why OVN could not be read.
    databases: readers.Unread | None = None
    agent: agents.Answer | readers.Unread = NOT_READ
    # What the agent says of the address; None if it has nothing to do with it.
    status: agents.Answer | readers.Unread | None = NOT_READ
    # Of the router's gateway ports.
    bindings: Bindings = ()
    # What has the inner address of a floating IP.
    inner_address: northbound.InnerAddress | readers.Unread | None = None
    # What the judges ask verdicts.unread() about.
    flows: dict[resources.Flow, tuple[switch.Found, ...]] = NOT_READ
    packet_traces: tuple[packets.PacketTrace, ...] = NOT_READ
    kernel: kernels.Kernel = NOT_READ
    # The daemons of FRR that it needs and that do not run.
    missing_daemons: tuple[str, ...] | readers.Unread = ()
    zebra: tuple[frr.Route, ...] = NOT_READ
    lists: frr.Lists = NOT_READ
    path: frr.Path = NOT_READ
    neighbours: tuple[frr.Neighbour, ...] = NOT_READ
    # None when it was not needed.
    frr_setup: setups.Setup | readers.Unread | None = None
    filters: nft_filters.Found = NOT_READ  # those of other programs
    # For a VIP; None without the table.
    translation: kernels.Translation | None = NOT_READ
    # The subjects of sources of drivers that have the address.
    driver_subjects: 'tuple[driver_subjects.DriverSubject, ...]' = ()
    # The subjects that could not be made, and why.
    unmade: tuple[str, ...] = ()
    vni: evpn.Vni | None = None  # of a machine on a network with a VNI
    # The agent's rows about the address, by kind and key as text.
    rows: dict[tuple[str, str], agents.Answer] | readers.Unread = NOT_READ
    peerings: tuple[sources.Way, ...] | readers.Unread = ()
    # What the agent says of peerings.
    peers: agents.Answer | readers.Unread = NOT_READ
    # See egress.read().
    egress: agents.Answer | readers.Unread | None = None

    @property
    def device(self) -> str:
        """Name of the device that the address has to be behind."""
        if self.subject.end:
            return self.subject.end.name
        return device(self.subject.place, self.setup.bridges)

    @property
    def announces(self) -> bool:
        """Whether FRR has to have the address."""
        return self.setup.frr and not self.subject.silent

    @property
    def version(self) -> int:
        """IP version of the address, 4 or 6."""
        return networks.family(self.subject.address)
