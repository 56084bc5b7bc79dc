# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port-forward-only mode: its condition, and the rules that it lacks."""

from collections.abc import Iterator
from collections.abc import Sequence
import typing

from oslo_config import cfg

from ovn_network_agent.model import port_forwards

FORWARDS_ONLY = 'port-forward-only'
# For the OTHER_OPTIONS of drivers.
DECISIVE = ('ovn.ovn_nb_remote', 'ovn.ovn_sb_remote')


def forwards_only(conf: typing.Any) -> bool:
    """Whether the agent only forwards ports, without OVN.

    :param conf: with all our options, or settings with :data:`DECISIVE`
    """
    return not (conf.ovn.ovn_nb_remote or conf.ovn.ovn_sb_remote)


def lacks(conf: cfg.ConfigOpts, vips: Sequence[port_forwards.Vip]
          ) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Settings of rules whose values only OVN, or the operator, knows.

    Such rules would never match.

    :returns: path in the rules file, and text with the remedy
    """
    if not forwards_only(conf):
        return
    if not vips:
        yield ('port_forwards',), (
            'has no VIP, and without [ovn] ovn_nb_remote and ovn_sb_remote '
            'there is nothing to do; add one, or set both remotes')
    for index, vip in enumerate(vips):
        path = 'port_forwards', index
        if vip.router_masquerade:
            yield (*path, 'router_masquerade'), (
                'needs the SNAT addresses of routers, and without [ovn] '
                'ovn_nb_remote and ovn_sb_remote none is known; remove it, '
                'or set both remotes')
        if vip.hairpin_masquerade and not conf.network_cidr:
            yield (*path, 'hairpin_masquerade'), (
                'needs the provider networks, and without [ovn] '
                'ovn_nb_remote and ovn_sb_remote they are not discovered; '
                'name them in [DEFAULT] network_cidr, or remove it')
