# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wall: the only code of the agent that runs with capabilities.

It imports configuration, codecs (``frr``, ``netlink``, ``nft``, ``openflow``)
and the names that the agent owns, but nothing that decides what is wanted.

Each context below is one privileged daemon with the few capabilities that it
needs.  A submodule decorates narrow functions with ``kernel.entrypoint``
(which only reads) or ``kernel.change`` (which writes, and is refused in a dry
run).  A call of such a function in the agent runs in the daemon.  Arguments
and results are msgpack: None, bool, int, str, bytes, list, tuple, dict.  A
failure is an OSError with a text for the operator.  A VRF is given by its
name, '' for the default VRF; a family of nftables is 'ip' or 'ip6'.

A submodule must not have the name of a context: its import would replace the
context, which the helper finds by this name.
"""

from oslo_privsep import capabilities

from ovn_network_agent.privileged.daemon import context

# Links, addresses, neighbours, routes, rules and sysctls below net/.
kernel = context.Context(
    'kernel', [capabilities.CAP_NET_ADMIN], timeout=60, reads=False,
    without_ovn=True)

# The bridge's management socket and ovs-ofctl.  The socket belongs to the
# user of ovs-vswitchd, which need not be root.
ovs = context.Context('ovs', [capabilities.CAP_DAC_OVERRIDE], timeout=120)

# vtysh and the daemons' sockets below /run/frr belong to the user frr.
frr = context.Context('frr', [capabilities.CAP_DAC_OVERRIDE], timeout=300)

# nft, connection tracking, and the notifications of nftables.  This is not
# the context kernel, because a dry run needs this daemon and not that one.
netfilter = context.Context(
    'netfilter', [capabilities.CAP_NET_ADMIN], timeout=120, without_ovn=True)

CONTEXTS = (kernel, ovs, frr, netfilter)
