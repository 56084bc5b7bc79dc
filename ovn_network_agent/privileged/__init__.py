# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wall: the only code of the agent that runs with capabilities.

It imports configuration, codecs (``frr``, ``netlink``, ``nft``, ``openflow``)
and the names that the agent owns, but nothing that decides what is wanted.

Each context is a daemon with few capabilities.  Submodules decorate narrow
functions with ``kernel.entrypoint`` (which only reads) or ``kernel.change``
(refused in a dry run); the agent's calls run in the daemon.  Arguments and
results are msgpack; a failure is an OSError for the operator; VRF '' is the
default VRF; nftables families are 'ip' and 'ip6'.  A submodule with a
context's name would replace it, by which the helper finds it.
"""

from oslo_privsep import capabilities

from ovn_network_agent.privileged.daemon import context

# links, addresses, neighbours, routes, rules and sysctls below net/
kernel = context.Context(
    'kernel', [capabilities.CAP_NET_ADMIN], timeout=60, reads=False,
    without_ovn=True)

# the bridge's management socket, of ovs-vswitchd's user, and ovs-ofctl
ovs = context.Context('ovs', [capabilities.CAP_DAC_OVERRIDE], timeout=120)

# vtysh, and the daemons' sockets below /run/frr, of the user frr
frr = context.Context('frr', [capabilities.CAP_DAC_OVERRIDE], timeout=300)

# nft, connection tracking, nftables' notifications: a dry run needs this
# daemon, and not the context kernel.
netfilter = context.Context(
    'netfilter', [capabilities.CAP_NET_ADMIN], timeout=120, without_ovn=True)

CONTEXTS = (kernel, ovs, frr, netfilter)
