# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The hosts on a link are told who has an IPv4 address now.

A socket for ARP needs a capability that the privileged side lacks. But before
a packet to an unknown neighbour, the kernel sends a request to all hosts with
the packet's source as the sender, and each host with an entry for it takes the
new MAC address (RFC 826; sysctl arp_announce of the link not 2). For IPv6, see
the sysctl ndisc_notify.
"""

import random
import socket

from oslo_log import log as logging

from ovn_network_agent.common import ip_text
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import neighbours

LOG = logging.getLogger(__name__)

# The service "discard" (RFC 863), if one of the hosts is there after all.
_PORT = 9
# Unknown neighbours to ask for, and attempts to find one.
_ASKED = 2
_TRIES = 64
_CHANCE = random.SystemRandom()


def tell(dev: str, address: str) -> None:
    """Have the kernel ask for unknown neighbours in an IPv4 address' name.

    A failure costs the hosts only time, until they ask themselves.
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
