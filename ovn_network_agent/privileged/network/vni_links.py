# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the devices of EVPN and its veth pairs.

One with the agent's name but not its mark stays: EEXIST.  The mark comes in
the datagram that makes a device, so that a killed agent leaves none without.
"""

from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import errno
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links as plain
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.network import links

_Links = dict[str, plain.Link]
_Details = dict[str, vni_links.Details]
_Request = tuple[int, bytes]  # flags, body

_CREATE = wire.NLM_F_CREATE | wire.NLM_F_EXCL


@privileged.kernel.change
def set_devices(items: checks.Items, rested: bool = False
                ) -> list[channel.Failure]:
    """Make the devices of VNIs, or repair them; EAGAIN when all is right but
    for the bridge, which is down: call again soon.

    :param items: each the fields of :class:`resources.VniDevices`
    :param rested: whether bridges that are down were so for long enough
    """
    with channel.kernel() as kernel:
        found, details = vni_links.read(kernel)
        device = limits.current().evpn.device
        source = addresses.read_first(device) if device else ''
        return links.each(
            items, lambda *item: _set_devices(kernel, found, details, source,
                                              rested, *item))


@privileged.kernel.change
def delete_devices(vnis: Sequence[int]) -> list[channel.Failure]:
    """Delete the agent's devices of VNIs; other devices stay."""
    def delete(vni: int) -> None:
        checks.integer(vni, 'VNI')
        vrf = found.get(evpn_names.vrf(vni))
        if vrf is not None and _is_ours(vrf, 'vrf'):
            _lower_ends(kernel, found, vrf)
        for name, kind in reversed(_names(vni)):
            if name in found and _is_ours(found[name], kind):
                _delete(kernel, found[name])

    with channel.kernel() as kernel:
        found, _details = vni_links.read(kernel)
        return links.each([[vni] for vni in checks.sequence(vnis)], delete)


@privileged.kernel.change
def lower_bridges(vnis: Sequence[int]) -> list[channel.Failure]:
    """Set the agent's bridges of VNIs down; other devices stay."""
    def lower(vni: int) -> None:
        name = evpn_names.bridge(checks.integer(vni, 'VNI'))
        if name in found and _is_ours(found[name], 'bridge'):
            _send(kernel, [(0, vni_links.encode_flags(name, False))])

    with channel.kernel() as kernel:
        found, _details = vni_links.read(kernel)
        return links.each([[vni] for vni in checks.sequence(vnis)], lower)


@privileged.kernel.change
def set_ports(items: checks.Items) -> list[channel.Failure]:
    """Make veth pairs :class:`resources.VniPort`, or repair them."""
    with channel.kernel() as kernel:
        found, details = vni_links.read(kernel)
        return links.each(
            items, lambda *item: _set_port(kernel, found, details, *item))


@privileged.kernel.change
def delete_ports(names: Sequence[str]) -> list[channel.Failure]:
    """Delete the agent's veth pairs, by the ends in VRFs."""
    def delete(name: str) -> None:
        if not evpn_names.is_vrf_end(checks.device(name)):
            raise checks.invalid(f'veth pair {name!r} is not ours')
        found = plain.named(kernel, [name]).get(name)
        if found is not None and _is_ours(found, 'veth'):
            _delete(kernel, found)

    with channel.kernel() as kernel:
        return links.each([[name] for name in checks.sequence(names)], delete)


# -- the devices of a VNI -----------------------------------------------------

class _Wanted(typing.NamedTuple):
    table: int
    mac: str  # of the bridge
    mtu: int  # of the VXLAN device
    tunnel: vni_links.Tunnel


def _set_devices(kernel: connection.Connection, found: _Links,
                 details: _Details, source: str, rested: bool, vni: int,
                 table: int, mac: str, local: str, port: int, mtu: int,
                 underlay: str) -> None:
    """As :func:`set_devices`; ``found`` is kept up to date, and ``source`` is
    the address of [evpn] local_device, '' without one.
    """
    limits.current().evpn.check_devices(vni, table, local, port, mtu, underlay,
                                        source)
    checks.mac(mac)
    for name, kind in _names(vni):
        _check_ours(found, name, kind)
    _check_table(found, vni, table)
    wanted = _Wanted(table, mac, mtu, vni_links.Tunnel(
        vni, local, port, _index(found, underlay)))
    _delete_wrong(kernel, found, details, vni, wanted)
    missing = {name for name, _kind in _names(vni)} - found.keys()
    if missing:
        _send(kernel, _creations(vni, wanted, missing), vni)
        # a deleted VRF has let go the others, too
        vni_links.read_again(kernel, (name for name, _kind in _names(vni)),
                             found, details)
    requests = list(_repairs(found, details, vni, wanted))
    down, up = ((0, vni_links.encode_flags(evpn_names.bridge(vni), up))
                for up in (False, True))
    rests = up in requests and evpn_names.bridge(vni) not in missing and (
        down in requests or not rested)
    if rests:
        requests.remove(up)
    _send(kernel, requests, vni)
    if rests:
        # The daemon has other changes to make meanwhile.
        raise OSError(errno.EAGAIN, f'{evpn_names.bridge(vni)} is down for a '
                      'moment, so that FRR makes its neighbours again')


def _names(vni: int) -> tuple[tuple[str, str], ...]:
    """In the order of creation."""
    return ((evpn_names.vrf(vni), 'vrf'), (evpn_names.bridge(vni), 'bridge'),
            (evpn_names.vxlan(vni), 'vxlan'))


def _check_table(found: _Links, vni: int, table: int) -> None:
    for name, link in found.items():
        if link.vrf_table == table and name != evpn_names.vrf(vni):
            raise OSError(
                errno.EEXIST, f'routing table {table} is that of VRF {name}: '
                f'give that VRF another table, or set [evpn] table_base')


def _index(found: _Links, underlay: str) -> int:
    """ifindex of the VRF of the tunnels, 0 for the default VRF."""
    if not underlay:
        return 0
    if underlay not in found:
        raise OSError(errno.ENODEV, f'VRF {underlay} of the tunnels does not '
                      'exist; make it, or correct [frr] vrf_name')
    return found[underlay].index


def _delete_wrong(kernel: connection.Connection, found: _Links,
                  details: _Details, vni: int, wanted: _Wanted) -> None:
    """Delete the devices whose difference the kernel cannot change."""
    vrf, vxlan = evpn_names.vrf(vni), evpn_names.vxlan(vni)
    if vxlan in found and details[vxlan].tunnel != wanted.tunnel:
        _delete(kernel, found.pop(vxlan))
    if vrf in found and found[vrf].vrf_table != wanted.table:
        _lower_ends(kernel, found, found[vrf])
        _delete(kernel, found.pop(vrf))


def _lower_ends(kernel: connection.Connection, found: _Links, vrf: plain.Link
                ) -> None:
    """Outside of the VRF, tenants' gateways would be addresses of the node."""
    _send(kernel, [
        (0, vni_links.encode_flags(name, False))
        for name, link in found.items()
        if link.master == vrf.index and link.up and
        evpn_names.is_vrf_end(name) and _is_ours(link, 'veth')])


def _creations(vni: int, wanted: _Wanted, missing: Container[str]
               ) -> list[_Request]:
    vrf, bridge, vxlan = (name for name, _kind in _names(vni))
    bodies = {vrf: vni_links.encode_vrf(vrf, wanted.table),
              bridge: vni_links.encode_bridge(bridge, wanted.mac),
              vxlan: vni_links.encode_vxlan(vxlan, wanted.tunnel, wanted.mtu)}
    return [request for name, body in bodies.items() if name in missing
            for request in ((_CREATE, body), _mark(name))]


def _mark(name: str) -> _Request:
    return 0, vni_links.encode_change(name, (
        'IFLA_IFALIAS', ownership.LINK_ALIAS))


def _repairs(found: _Links, details: _Details, vni: int, wanted: _Wanted
             ) -> Iterator[_Request]:
    vrf, bridge, vxlan = (name for name, _kind in _names(vni))
    for name in vrf, bridge, vxlan:
        yield from _unless(details[name].grouped, name, vni_links.GROUP)
    if not found[vrf].up:
        yield 0, vni_links.encode_flags(vrf, True)
    # FRR has a bridge's neighbours again only when it goes down and up.
    change = [
        *_unless(details[bridge].silent, bridge, vni_links.SILENT),
        *([] if found[bridge].mac == wanted.mac else [
            (0, vni_links.encode_mac(bridge, wanted.mac))]),
        *_unless(found[bridge].master == found[vrf].index, bridge,
                 ('IFLA_MASTER', found[vrf].index))]
    yield from change
    if change and found[bridge].up:
        yield 0, vni_links.encode_flags(bridge, False)
    if change or not found[bridge].up:
        yield 0, vni_links.encode_flags(bridge, True)
    yield from _unless(details[vxlan].silent, vxlan, vni_links.SILENT)
    yield from _unless(details[vxlan].mtu == wanted.mtu, vxlan,
                       ('IFLA_MTU', wanted.mtu))
    attached = found[vxlan].master == found[bridge].index
    yield from _unless(attached, vxlan, ('IFLA_MASTER', found[bridge].index))
    yield from _unless(attached and details[vxlan].settled, vxlan,
                       vni_links.SETTLED)
    if not found[vxlan].up:
        yield 0, vni_links.encode_flags(vxlan, True)


def _unless(right: bool, name: str, attribute: tuple[str, typing.Any]
            ) -> list[_Request]:
    return [] if right else [(0, vni_links.encode_change(name, attribute))]


# -- veth pairs ---------------------------------------------------------------

def _set_port(kernel: connection.Connection, found: _Links, details: _Details,
              name: str, vni: int, mac: str, bridge: str) -> None:
    limits.current().evpn.check_port(name, vni, bridge)
    checks.mac(mac)
    vrf, peer = evpn_names.vrf(vni), evpn_names.bridge_end(name)
    if vrf not in found or not _is_ours(found[vrf], 'vrf'):
        raise OSError(errno.ENODEV, f'VRF {vrf} of the agent does not exist')
    for end in (name, peer):
        _check_ours(found, end, 'veth')
    if not plain.peers(found, name, peer):
        _make_pair(kernel, found, name, mac, bridge)
        vni_links.read_again(kernel, (name, peer), found, details)
    link = found[name]
    # The VRF first: to enslave, the kernel takes a device down and up, which
    # would lose its routes and neighbours.
    _send(kernel, [
        *_unless(details[name].grouped, name, vni_links.GROUP),
        *_unless(details[name].silent, name, vni_links.SILENT),
        *([] if link.mac == mac else [
            (0, vni_links.encode_mac(name, mac))]),
        *_unless(link.master == found[vrf].index, name,
                 ('IFLA_MASTER', found[vrf].index)),
        *((0, vni_links.encode_flags(end, True)) for end in (name, peer)
          if not found[end].up)])


def _make_pair(kernel: connection.Connection, found: _Links, name: str,
               mac: str, bridge: str) -> None:
    """Make a pair, in place of the rest of one.  It has the MTU of the bridge,
    because Open vSwitch gives a bridge the least MTU of its ports.
    """
    peer = evpn_names.bridge_end(name)
    for end in (name, peer):
        if end in found:
            _delete(kernel, found[end])
    mtu = vni_links.read_mtu(kernel, bridge)
    _send(kernel, [
        (_CREATE, vni_links.encode_veth(name, peer, mac, mtu)),
        _mark(name), _mark(peer), *_unless(False, name, vni_links.SILENT),
        *_unless(False, peer, vni_links.SILENT)])


# -- both ---------------------------------------------------------------------

def _is_ours(link: plain.Link, kind: str) -> bool:
    return link.kind == kind and link.alias == ownership.LINK_ALIAS


def _check_ours(found: _Links, name: str, kind: str) -> None:
    if name in found and not _is_ours(found[name], kind):
        raise checks.foreign(name)


def _delete(kernel: connection.Connection, link: plain.Link) -> None:
    links.request(kernel, 0, plain.encode_delete(link.index),
                  plain.RTM_DELLINK)


def _send(kernel: connection.Connection, requests: Iterable[_Request],
          vni: int = 0) -> None:
    for _index, number, text in kernel.batch([
            (plain.RTM_NEWLINK, flags, body) for flags, body in requests]):
        if number == errno.EADDRINUSE:
            text = (f'the UDP port of {evpn_names.vxlan(vni)} is in use, '
                    'such as by tunnels of Open vSwitch ("ovn-encap-type" '
                    'vxlan), or by a VXLAN device of another VRF: set [evpn] '
                    'udp_dstport to another one, on all nodes and in the '
                    'fabric')
        raise OSError(number, text)
