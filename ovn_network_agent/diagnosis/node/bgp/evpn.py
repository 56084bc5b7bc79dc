# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of EVPN, for the driver evpn: tunnels, BGP, and each VNI."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.conf import plugins
from ovn_network_agent.diagnosis.address import evpn as of_address
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.diagnosis.readers import evpn
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.frr import evpn as of_evpn
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.privileged.routing import evpn_instances

_ESTABLISHED = 'Established'
# Devices that no packet leaves by.
_LOOPBACK, _VIRTUAL_KINDS = 'lo', ('dummy', 'vrf')
# The kernel's device of the VXLAN ports of Open vSwitch, with the UDP port.
_OF_SWITCH = 'vxlan_sys_{:d}'


def _with_driver(sources: sources.Sources) -> None:
    """Raise check.NotChecked without the driver evpn."""
    if not plugins.requested(sources.conf, plugins.VNIS):
        raise check.NotChecked('[DEFAULT] drivers has no evpn')


# -- the tunnels --------------------------------------------------------------

class Local(typing.NamedTuple):
    """The source of the tunnels."""

    address: str  # [evpn] local_ip, or that of local_device, '' without one
    device: str  # name of the device that has it, '' for none
    domain: str = ''  # name of the VRF of this device, '' for the default VRF
    vrf: str = ''
    port: int = 4789  # [evpn] udp_dstport
    # Name of the device of Open vSwitch with this UDP port, or ''.
    port_device: str = ''
    up: bool = True  # whether the device is up
    wanted: str = ''  # [evpn] local_device


def read_local(sources: sources.Sources) -> Local:
    """Find the device of local_ip, and who has the port."""
    _with_driver(sources)
    links, chosen = sources.links(), sources.conf.evpn
    names = {link.index: name for name, link in links.items()}
    known, wanted = sources.addresses(), chosen.local_device
    if wanted:
        device = wanted if wanted in links else ''
        address = addresses.first(known, links[device].index) if device else ''
    else:
        address = chosen.local_ip
        device = next((names.get(each.index, '') for each in known
                       if each.address.startswith(f'{address}/')), '')
    master = names.get(links[device].master, '') if device else ''
    name = _OF_SWITCH.format(chosen.udp_dstport)
    return Local(address, device,
                 master if master and links[master].kind == 'vrf' else
                 device if device and links[device].kind == 'vrf' else '',
                 sources.vrf, chosen.udp_dstport,
                 name if name in links else '',
                 device not in links or links[device].up, wanted)


def judge_local(found: Local) -> Iterator[check.Result]:
    """A tunnel without its own address, or its port, is broken."""
    if not found.address:
        yield check.broken(
            f'{found.wanted} of [evpn] local_device has no IPv4 address for '
            'the tunnels', f'"ip address add ADDRESS/32 dev {found.wanted}", '
            'or correct [evpn] local_device')
    elif not found.device:
        yield check.broken(
            f'no device here has {found.address}, the source of the tunnels',
            f'"ip address add {found.address}/32 dev DEVICE", with a device '
            f'of {_domain(found.vrf)}, or correct [evpn] local_ip')
    elif found.domain != found.vrf:
        yield check.broken(
            f'{found.address} is on {found.device} in '
            f'{_domain(found.domain)}, and the tunnels are in '
            f'{_domain(found.vrf)}', 'correct [evpn] local_ip or local_device '
            'or [frr] vrf_name, or move the address to the other VRF')
    elif not found.up:
        yield check.broken(f'{found.device}, which has {found.address}, is '
                           f'down', f'"ip link set {found.device} up"')
    if found.port_device:
        yield check.broken(
            f'Open vSwitch has UDP port {found.port:d} '
            f'({found.port_device}), so the tunnels of EVPN cannot be up',
            'set [evpn] udp_dstport to another port on all nodes and in the '
            'fabric, or have OVN use geneve (ovn-encap-type)')
    elif (found.address and found.device and found.domain == found.vrf and
          found.up):
        yield check.ok(f'{found.address} on {found.device}, UDP port '
                       f'{found.port:d}')


def _domain(vrf: str) -> str:
    return f'VRF {vrf}' if vrf else 'the default VRF'


class Sizes(typing.NamedTuple):
    """The MTU of the devices that tunnels leave by."""

    wanted: int  # [evpn] underlay_mtu
    devices: dict[str, int]  # bytes by name


def read_sizes(sources: sources.Sources) -> Sizes:
    """Find the devices on the way to the other ends."""
    _with_driver(sources)
    links, found = sources.links(), read_local(sources)
    names = {found.device} - {''}
    names -= {name for name in names
              if name == _LOOPBACK or links[name].kind in _VIRTUAL_KINDS}
    ends = {str(getattr(address, 'ipv4_mapped', None) or address)
            for address in (ip_text.address(hop.via)
                            for hop in evpn.read_hops(sources.conf))}
    vrf = links.get(sources.vrf)
    with connection.Connection() as kernel:
        for end in sorted(ends):
            way = lookups.look_up(kernel, end, '', 0, vrf.index if vrf else 0)
            names |= {way.dev} - {''}
    return Sizes(sources.conf.evpn.underlay_mtu, routing.sizes(sorted(names)))


def judge_sizes(found: Sizes) -> Iterator[check.Result]:
    """A device with a smaller MTU than the option loses large packets."""
    if not found.devices:
        yield check.not_checked('no other node announces anything, so no '
                                'device on the way is known')
        return
    small = {name: size for name, size in found.devices.items()
             if size < found.wanted}
    for name, size in small.items():
        yield check.broken(
            f'{name} has an MTU of {size:d} bytes, and [evpn] underlay_mtu '
            f'is {found.wanted:d}: large packets of tenants are lost',
            f'"ip link set {name} mtu {found.wanted:d}" here and in the '
            f'fabric, or set [evpn] underlay_mtu to {size:d}')
    if not small:
        yield check.ok(', '.join(
            f'{name} {size:d} bytes' for name, size
            in found.devices.items()) + f'; tunnels need {found.wanted:d}')


# -- BGP ----------------------------------------------------------------------

def read_instance(sources: sources.Sources) -> list[str]:
    """Read what the operator's BGP instance lacks."""
    _with_driver(sources)
    sources.privileged()
    return evpn_instances.read_lacks()


def judge_instance(found: Iterable[str]) -> list[check.Result]:
    """Each missing line is broken."""
    return check.of_messages(check.Verdict.BROKEN, (
        text.replace('; add ', '; in "configure terminal" of vtysh, add ')
        for text in found), 'it announces VNIs, and has neighbours for them')


def read_sessions(sources: sources.Sources) -> tuple[evpn.Session, ...]:
    """Read the neighbours for EVPN."""
    _with_driver(sources)
    return evpn.read_sessions(sources.vrf)


def judge_sessions(found: Sequence[evpn.Session]) -> Iterator[check.Result]:
    """Broken without an established neighbour, a warning with some others."""
    up = [each for each in found if each.state == _ESTABLISHED]
    for each in found:
        if each.state != _ESTABLISHED:
            yield (check.warn if up else check.broken)(
                f'{each.name} is {each.state}', 'see bgp-sessions, and the '
                'log of bgpd; the neighbour has to activate EVPN, too')
    if up:
        yield check.ok(', '.join(
            f'{each.name}: {wording.count(each.sent, "route")} sent, '
            f'{each.received:d} received' for each in up))
    if not found:
        yield check.not_checked('no neighbour is activated for EVPN; see '
                                'evpn-instance')


# -- VNIs ---------------------------------------------------------------------

class Vnis(typing.NamedTuple):
    """The VNIs of networks with machines here, and what FRR has of them."""

    problems: tuple[tuple[str, str], ...]  # (network, why it is left out)
    wanted: tuple[int, ...]
    mac: str = ''  # the router MAC of this node
    # Prefixes that this node announces in each VNI.
    anchors: tuple[str, ...] = ()
    states: dict[int, of_evpn.State] = {}
    rds: dict[int, str] = {}
    sent: dict[int, dict[str, tuple[str, ...]]] = {}


def read_vnis(sources: sources.Sources) -> Vnis:
    """Compare the view with zebra and bgpd."""
    _with_driver(sources)
    view, conf = sources.snapshot(), sources.conf
    found = [(each, each.vni) for each in view.networks.values() if each.vni]
    wanted = tuple(sorted({
        vni.number for each, vni in found
        if not vni.problem and segments.usable(
            each.segment, bridges.served(conf))}))
    rds = evpn.read_rds() if wanted else {}
    return Vnis(
        tuple((each.called, vni.problem) for each, vni in found
              if vni.problem), wanted,
        evpn_names.router_mac(view.node.chassis),
        evpn_names.anchors(conf.evpn.local_ip or view.node.tunnel),
        evpn.read_states() if wanted else {}, rds,
        {vni: evpn.read_routes(rds[vni])
         for vni in wanted if vni in rds})


def judge_vnis(found: Vnis) -> Iterator[check.Result]:
    """A VNI that zebra does not have as up, or bgpd does not send, is broken.

    A network whose VNI cannot be used is a warning.
    """
    for called, why in found.problems:
        yield check.of_message(check.Verdict.WARN,
                               f'network {called} is left out: {why}')
    faults: dict[tuple[str, str], list[int]] = {}
    for vni in found.wanted:
        fault = _fault(vni, found)
        if fault:
            faults.setdefault(fault, []).append(vni)
    for (why, remedy), vnis in faults.items():
        yield check.broken(f'VNI {check.named(vnis)}: {why}', remedy)
    if not found.problems and not faults:
        yield check.ok(wording.count(len(found.wanted), 'VNI is', 'VNIs are') +
                       ' up and announced' if found.wanted
                       else 'no network here has a VNI')


def _fault(vni: int, found: Vnis) -> tuple[str, str] | None:
    """(what is wrong with a VNI, remedy), or None."""
    state, sent = found.states.get(vni), found.sent.get(vni)
    again = ('"ovn-network-agent-ctl resync" has the agent write it again; '
             'with [evpn] manage_frr = false, write it yourself')
    if state is None or state.vrf != evpn_names.vrf(vni):
        return 'zebra does not have it in its VRF', again
    if not state.up:
        return 'it is down in zebra', ('see evpn-instance, which names the '
                                       'lines, and "objects" for the devices')
    if state.router_mac != found.mac:
        return f'its router MAC in zebra is not {found.mac}', again
    if sent is None:
        return 'bgpd does not have it', again
    lacking = [prefix for prefix in found.anchors if prefix not in sent]
    if lacking:
        return f'bgpd has no type 5 route {", ".join(lacking)}', again
    if not all(sent[prefix] for prefix in found.anchors):
        return 'its type 5 routes are sent to no neighbour', (
            'see evpn-sessions, and the outbound filters of the neighbours')
    return None


def read_hops(sources: sources.Sources) -> tuple[vni_links.Hop, ...]:
    """Read the next hops behind the tunnels, see :func:`evpn.read_hops`."""
    _with_driver(sources)
    return evpn.read_hops(sources.conf)


def judge_hops(found: Sequence[vni_links.Hop]) -> Iterator[check.Result]:
    """A next hop without neighbour or tunnel loses each packet."""
    lost: dict[int, list[str]] = {}
    for hop in found:
        if hop.lacks:
            lost.setdefault(hop.vni, []).append(f'{hop.via} (no {hop.lacks})')
    for vni, hops in lost.items():
        yield check.broken(
            f'VNI {vni:d}: packets to {check.named(hops)} are lost',
            of_address.repair(evpn_names.bridge(vni)))
    if not lost:
        vnis = len({hop.vni for hop in found})
        yield check.ok(f'{wording.count(len(found), "next hop")} of '
                       f'{wording.count(vnis, "VNI")}')


CHECKS = (
    check.Check(
        'evpn-local', 'kernel', 'with the driver evpn: this node has the '
        'address of the tunnels, and Open vSwitch does not have their port',
        read_local, judge_local, ('vrf',)),
    check.Check(
        'evpn-mtu', 'kernel', 'with the driver evpn: the devices on the way '
        'of the tunnels take packets of [evpn] underlay_mtu', read_sizes,
        judge_sizes, ('evpn-local',)),
    check.Check(
        'evpn-instance', 'BGP', 'with the driver evpn: the BGP instance of '
        'the operator has the lines for EVPN', read_instance, judge_instance,
        ('frr-daemons', 'bgp-instance')),
    check.Check(
        'evpn-sessions', 'BGP', 'with the driver evpn: the neighbours for '
        'EVPN are established', read_sessions, judge_sessions,
        ('frr-daemons', 'bgp-instance', 'evpn-instance')),
    check.Check(
        'evpn-vnis', 'FRR', 'with the driver evpn: each VNI of a machine '
        'here is up in zebra, and its type 5 routes are sent', read_vnis,
        judge_vnis, (*check.VIEW, 'frr-daemons', 'evpn-local',
                     'evpn-instance', 'evpn-sessions')),
    check.Check(
        'evpn-next-hops', 'kernel', 'with the driver evpn: the kernel can '
        'send to the next hops of all VNIs', read_hops, judge_hops,
        ('frr-daemons',)),
)
