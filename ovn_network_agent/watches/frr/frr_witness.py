# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The announced addresses, from the best source of each configuration.

That is bgpd with [frr] bgp_check, else zebra; none with announce_method kernel
and no FRR tools, as another program announces the kernel's routes.
"""

from collections.abc import Iterable
import shutil

from oslo_config import cfg

from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.watches.frr import frr_verification


def tools(conf: cfg.ConfigOpts) -> bool:
    """Whether the node has vtysh, or its wrapper, so that FRR can be asked."""
    return bool(shutil.which(
        (conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]))


def announced(conf: cfg.ConfigOpts, prefixes: Iterable[str]) -> set[str]:
    """The addresses known to be announced; runs processes, not for the loop.

    :raises OSError: or others of :data:`context.FAILURES`, when FRR fails
    """
    vrf = conf.frr.vrf_name
    if conf.frr.bgp_check:
        return frr_verification.advertised(vrf, prefixes)
    method = conf.fip_route.announce_method
    if method == 'kernel' and not tools(conf):
        return set(prefixes)
    active, _known = bgp.read_effect(vrf, sorted(prefixes), False)
    return {prefix for prefix in prefixes
            if method in active.get(prefix, ())}


def witness(conf: cfg.ConfigOpts) -> str:
    """The begin of a message about an address that is not announced."""
    return 'BGP does not advertise' if conf.frr.bgp_check else (
        'zebra has not selected and installed')
