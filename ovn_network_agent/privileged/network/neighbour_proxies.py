# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged proxies of IPv6, as :mod:`privileged.network.netlink`."""

import errno
import socket

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks


@privileged.kernel.change
def set_proxies(items: checks.Items) -> list[channel.Failure]:
    """Make entries [dev, dst]; EEXIST for another program's, to which the
    kernel would give the agent's mark (pneigh_create()).
    """
    with channel.kernel() as kernel:
        protocols = _protocols(kernel)
        within = limits.current()

        def encode(dev: str, dst: str) -> channel.Request:
            index = checks.index(dev)
            within.check_proxy(dev, checks.address6(dst))
            if protocols.get((index, dst)) not in (
                    None, ownership.NEIGHBOUR_PROTOCOL):
                raise OSError(
                    errno.EEXIST, f'a neighbour proxy {dst} on {dev} exists '
                    'which is not ours; remove it (ip -6 neighbour del proxy '
                    f'{dst} dev {dev})')
            return (neighbours.RTM_NEWNEIGH, wire.NLM_F_CREATE,
                    neighbours.encode_proxy(index, dst,
                                            ownership.NEIGHBOUR_PROTOCOL))

        return channel.send(kernel, items, encode)


@privileged.kernel.change
def delete_proxies(items: checks.Items) -> list[channel.Failure]:
    """Remove proxy entries [dev, dst], except those of other programs."""
    with channel.kernel() as kernel:
        protocols = _protocols(kernel)

        def encode(dev: str, dst: str) -> channel.Request:
            index = checks.index(dev)
            if protocols.get((index, checks.address6(dst))
                             ) != ownership.NEIGHBOUR_PROTOCOL:
                raise OSError(errno.ENOENT, 'not ours')
            return (neighbours.RTM_DELNEIGH, 0,
                    neighbours.encode_proxy(index, dst))

        return [failure for failure in channel.send(kernel, items, encode)
                if failure[1] not in (errno.ENOENT, errno.ENODEV)]


def _protocols(kernel: connection.Connection) -> dict[tuple[int, str], int]:
    """Protocol of each entry, by (ifindex, address)."""
    return {(entry.index, entry.dst): entry.protocol for entry
            in neighbours.read_proxies(kernel, socket.AF_INET6)}
