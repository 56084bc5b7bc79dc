# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The port of a machine that has an address, and what follows.  Pure."""

import typing

from ovn_network_agent import diagnosis
from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovsdb import columns

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.address import subject as subjects

# Types of ports that are not announced: why not, and the remedy.
_LEFT_OUT = {
    'external': ('its packets do not pass Open vSwitch of its host (SR-IOV, '
                 'for example)',
                 'give the machine a port of another type, or a floating IP'),
    'localport': ('each chassis has such a port, for DHCP and metadata',
                  'nothing is wrong with that')}
_OF_TENANT = ('its network has no localnet port, so it is a network of a '
              'tenant', 'give the machine a floating IP')
_PAIR = ('it is an allowed address pair, and [provider_port] '
         'allowed_address_pairs is off',
         'set [provider_port] allowed_address_pairs to true')
_WITHOUT_VNI = (
    'its network has no VNI, and the driver provider_port is off',
    'give the network a VNI ([evpn] vnis, or external_ids:'
    f'{ownership.EXT_ID_VNI} in its row of Logical_Switch), or add '
    'provider_port to [DEFAULT] drivers')
_NOT_CHOSEN = ('its network is none of [provider_port] networks',
               'add the network to [provider_port] networks')


class Port(typing.NamedTuple):
    """A port of a machine with an address, as SB has it."""

    name: str  # name of the logical port
    type: str = ''  # type of the port, '' for an ordinary one
    network: str = ''  # name of the network that a person knows
    mac: str = ''  # MAC that answers for the address, '' if unknown
    host: str = ''  # host name of the chassis that has the port, '' for none
    # Hosts of the chassis that get the port by a live migration under way.
    further: tuple[str, ...] = ()
    here: bool = False  # whether this chassis has the port
    up: bool = True  # whether its flows are installed
    # Of type virtual: the port of the machine that has it, '' for none.
    parent: str = ''
    # None if the options leave its network out.
    of: model.ProviderNetwork | None = None
    unused: int = 0  # VNI that OVN has of the network without the driver evpn
    # (why no agent announces the address, remedy).
    left_out: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """The port for people, with its host."""
        return f'port {self.name} on {self.host or "no chassis"}'

    def not_chosen(self, without_vni: bool) -> 'Port':
        """The port, on a network that the options do not choose."""
        return self._replace(
            left_out=_NOT_CHOSEN if without_vni else _WITHOUT_VNI)


def read(row: columns.Row, address: str, nb: columns.Tables,
         sb: columns.Tables, chassis: str, pairs: bool,
         network: model.ProviderNetwork | None) -> Port:
    """The :class:`Port` of a row of Port_Binding."""
    names, kind = directory.hostnames(sb), columns.atom(row, 'type')
    parent = columns.atom(row, 'virtual_parent')
    own, switch = rows.chassis_name(row), _switch(row, nb)
    vni = network.domain if network else 0
    return Port(
        columns.atom(row, 'logical_port'), kind,
        directory.network_name(switch) if switch else '',
        _mac(row, address, sb, parent), names.get(own, own), tuple(
            names.get(name, name) for name in sorted(
                each.name for each in columns.rows(
                    row, 'additional_chassis'))),
        own == chassis, bool(columns.atom(row, 'up', True)), parent, network,
        next((each.number for each in vnis.read(switch) if not vni), 0)
        if switch else 0,
        _left_out(row, address, sb, pairs))


def _switch(row: columns.Row, nb: columns.Tables) -> columns.Row | None:
    names = [columns.entry(datapath, 'external_ids', 'logical-switch')
             for datapath in columns.rows(row, 'datapath')]
    return next((switch for uuid, switch in nb['Logical_Switch'].items()
                 if str(uuid) in names), None)


def _mac(row: columns.Row, address: str, sb: columns.Tables, parent: str
         ) -> str:
    """The MAC of a port; of a virtual one, that of the machine's own port."""
    if columns.atom(row, 'type') != 'virtual':
        return rows.machine(row, True)[0][address]
    return next((mac for each in sb['Port_Binding'].values()
                 if columns.atom(each, 'logical_port') == parent
                 for mac in rows.machine(each, False)[0].values()), '')


def _left_out(row: columns.Row, address: str, sb: columns.Tables, pairs: bool
              ) -> tuple[str, str] | None:
    datapath = columns.referenced(row, 'datapath')
    if not any(columns.atom(each, 'type') == 'localnet' and
               columns.referenced(each, 'datapath') == datapath
               for each in sb['Port_Binding'].values()):
        return _OF_TENANT
    if not pairs and address not in rows.machine(row, False)[0]:
        return _PAIR
    return _LEFT_OUT.get(columns.atom(row, 'type'))


def judge(subject: 'subjects.Subject') -> list[diagnosis.Finding]:
    """The findings about the port of a machine and its chassis."""
    port = subject.binding
    if port is None:
        return []
    return [_port(port, subject.also)] + (
        [] if port.left_out else [_chassis(port)])


def _port(port: Port, also: tuple['Port | model.TenantPrefix', ...]
          ) -> diagnosis.Finding:
    text = (f'{port.name} on network {port.network or "(unknown)"}' +
            (f', {port.mac}' if port.mac else '') +
            (f' (VNI {port.unused:d} of the network does not count, because '
             'the driver evpn is off)' if port.unused else '') +
            (f', type {port.type}' if port.type else ''))
    if port.left_out:
        why, remedy = port.left_out
        return verdicts.warn(
            'port', f'{text}: not announced, because {why}', remedy)
    others = ', '.join(each.text for each in also if isinstance(each, Port))
    if others:
        return verdicts.warn(
            'port', f'{text}; {others} has the address, too',
            'give one of them another address')
    return verdicts.ok('port', text)


def _chassis(port: Port) -> diagnosis.Finding:
    remedy = (f'"openstack port show {port.name}" names the machine: look at '
              'it, and at ovn-controller on its node')
    migration = (f'; a live migration to {", ".join(port.further)} is under '
                 'way') if port.further else ''
    if port.type == 'virtual' and not (port.host and port.parent):
        return verdicts.broken(
            'binding', 'no machine has the virtual port' + migration,
            'have the machine that is to have the address send a gratuitous '
            'ARP: look at its keepalived, for example')
    of = f', with port {port.parent}' if port.parent else ''
    if not port.host:
        return verdicts.broken(
            'binding', f'bound to no chassis{migration}', remedy)
    if not port.here:
        return verdicts.ok(
            'binding', f'on {port.host}{of}, whose agent has to announce the '
            f'address; ask there{migration}')
    if not port.up:
        return verdicts.broken('binding', f'here{of}, and not up{migration}',
                               remedy)
    return verdicts.ok('binding', f'here ({port.host}){of}{migration}')
