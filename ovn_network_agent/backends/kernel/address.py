# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend address: IP addresses on the bridge, the veth ends, and of VIPs.

IFA_PROTO marks the agent's. Addresses of the Go program (see the glossary),
and all on kernels before 5.18, have no number, and count as the agent's if
wanted on their device.

Each of the agent's on ``port_forward_dev`` is a VIP, whose removal is a
withdrawal, before all other changes. Only the anchor is none: it keeps a VIP
from being the last address of the device.
"""

import errno
import random
import socket
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import notices
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.privileged.network import netlink

LOG = logging.getLogger(__name__)

# The service "discard" (RFC 863), if one of the hosts is there after all.
_PORT = 9
# Unknown neighbours to ask for, and attempts to find one.
_ASKED = 2
_TRIES = 64
_CHANCE = random.SystemRandom()


class AddressBackend(base.KernelBackend):
    """IP addresses that the agent sets, and addresses of VIPs."""

    name = 'address'
    kinds = (resources.Address, resources.VipAddress,
             resources.EgressAddress)
    doubted_by = (notices.kernel('link'), notices.kernel('address'))
    # With its last address a device loses its routes and neighbours.
    invalidates = ('neighbour', 'route')

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # The keys of egress addresses that were set here.
        self._egress: set[object] = set()

    def read(self, known: base.Known) -> list[resources.Address]:
        """Read the marked addresses, and the wanted ones without a mark.

        :raises base.BackendError: when the kernel does not answer
        """
        keys = {ref.key for ref in known}
        names = {link.index: name for name, link in calls.reading(
            'devices', links.read_all).items()}
        # A wanted address of another program counts as present; the
        # privileged side never deletes it.
        return [self._kind(dev, address.address, known)(dev, address.address)
                for address in calls.reading('addresses',
                                             addresses.read_all)
                if (dev := names.get(address.index)) and (
                    address.protocol == ownership.ADDRESS_PROTOCOL or
                    (dev, address.address) in keys)]

    def _kind(self, dev: str, address: str, known: base.Known
              ) -> type[resources.Address]:
        """The resource class of an address on a device."""
        if resources.Ref(resources.EgressAddress.kind,
                         (dev, address)) in known:
            return resources.EgressAddress
        return (resources.VipAddress
                if dev == self.conf.port_forward.port_forward_dev and
                address != ownership.ANCHOR else resources.Address)

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set and delete addresses.

        One that the privileged side does not recognise as the agent's (EBUSY)
        is :class:`base.Kept`, but for a VIP that is a failure.
        """
        wanted = resources.of_kind(resources.Address, delta.wanted)
        # Before OVN was seen, one of a former run was read as another kind,
        # and that one is not there any more.
        self._egress -= {r.key for r in delta.delete if _is_egress(r)}
        self._egress |= {r.key for r in wanted if _is_egress(r)}
        vips = [r for r in delta.delete
                if r.kind == resources.VipAddress.kind]
        others = [r for r in delta.delete
                  if r not in vips and r.key not in self._egress]
        failures = calls.refused(netlink.set_addresses, wanted,
                                 [list(r.key) for r in wanted])
        for each in wanted:
            own, _slash, _length = each.address.partition('/')
            if (_is_egress(each) and each.ref not in failures and
                    ':' not in own):
                tell_neighbours(each.dev, own)
        return {
            **failures,
            # A VIP that stays attracts its clients, so this is a failure.
            **calls.refused(netlink.delete_addresses, vips,
                            [list(r.key) for r in vips]),
            **calls.refused(netlink.delete_addresses, others,
                            [list(r.key) for r in others],
                            kept=(errno.EBUSY,))}


def _is_egress(resource: resources.Resource) -> bool:
    return isinstance(resource, resources.EgressAddress)


def tell_neighbours(dev: str, address: str) -> None:
    """Tell the hosts on a link who has an IPv4 address now.

    A socket for ARP needs a capability that the privileged side lacks. But
    before a packet to an unknown neighbour, the kernel sends a request to all
    hosts with the packet's source as the sender, and each host with an entry
    for it takes the new MAC address (RFC 826; sysctl arp_announce of the link
    not 2). For IPv6, see the sysctl ndisc_notify. A failure costs the hosts
    only time, until they ask themselves.
    """
    try:
        targets = _unknown(socket.if_nametoindex(dev),
                           ip_text.address(address))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM |
                           socket.SOCK_CLOEXEC) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE,
                            dev.encode())
            sock.bind((address, 0))
            for target in targets:
                sock.sendto(b'', socket.MSG_DONTWAIT, (target, _PORT))
    except OSError as error:
        LOG.warning('The hosts on %s get no notice of %s: %s', dev, address,
                    error)
    else:
        LOG.info('The hosts on %s got a notice of %s', dev, address)


def _unknown(index: int, own: ip_text.Address) -> list[str]:
    """A few addresses of a link's network that the kernel knows no MAC of."""
    with connection.Connection() as kernel:
        present = [ip_text.interface(each.address)
                   for each in addresses.read(kernel, index)]
        known = {each.dst for each in neighbours.read(kernel, index)
                 if each.mac} | {str(each.ip) for each in present}
    found: list[str] = []
    for network in {each.network for each in present
                    if own in each.network and each.network.prefixlen < 32}:
        size = network.num_addresses
        ends = 1 if size > 2 else 0
        for _try in range(_TRIES):
            target = str(network[_CHANCE.randint(ends, size - 1 - ends)])
            if target not in known and len(found) < _ASKED:
                found.append(target)
                known.add(target)
    return found
