# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend neighbour_proxy: addresses that the kernel answers NDP for.

NDA_PROTOCOL, which the kernel keeps from 5.0 on, marks the agent's. The kernel
drops all entries of a device that goes down or loses IPv6, and says nothing
about entries at all.
"""

import socket

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.kernel import kernel_base
from ovn_network_agent.common import notices
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.privileged.network import neighbour_proxies


class NeighbourProxyBackend(kernel_base.KernelBackend):
    """Entries of the agent in the kernel's table of proxies."""

    name = 'neighbour_proxy'
    kinds = (resources.NeighbourProxy,)
    # Without IPv6, a device loses its addresses, too.
    doubted_by = (notices.kernel('link'), notices.kernel('address'))
    uses_known = False

    def read(self, known: base.Known) -> list[resources.NeighbourProxy]:
        """Read the marked entries.

        :raises base.BackendError: when the kernel does not answer
        """
        found = [entry for entry in kernel_base.reading(
            'neighbour proxies', neighbours.read_all_proxies, socket.AF_INET6)
            if entry.protocol == ownership.NEIGHBOUR_PROTOCOL]
        if not found:
            return []
        names = {link.index: name for name, link in kernel_base.reading(
            'devices', links.read_all).items()}
        return [resources.NeighbourProxy(names[entry.index], entry.dst)
                for entry in found if entry.index in names]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Make and delete entries, see :meth:`base.Backend.apply`."""
        wanted, unwanted = delta.wanted, delta.delete
        return {
            **kernel_base.refused(neighbour_proxies.set_proxies, wanted,
                                  [list(r.key) for r in wanted]),
            **kernel_base.refused(neighbour_proxies.delete_proxies, unwanted,
                                  [list(r.key) for r in unwanted])}
