# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the node for things that may be in the way of the agent.

They prevent no start.  Each text has finding, effect and remedy; OSError when
the kernel or FRR cannot be asked.
"""

from collections.abc import Iterable
import socket
import threading

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import wording
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.frr import setup
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import bgp

LOG = logging.getLogger(__name__)

_IPV6_FORWARDING = '/proc/sys/net/ipv6/conf/all/forwarding'
_OWN_KINDS = ('openvswitch', 'tun')  # of its kernel and user-space data paths


def start_check(conf: cfg.ConfigOpts) -> threading.Thread:
    """Log the findings from a thread: a hanging FRR must delay no start."""
    thread = threading.Thread(target=_look, args=(conf,), daemon=True,
                              name='surroundings')
    thread.start()
    return thread


def _look(conf: cfg.ConfigOpts) -> None:
    for look, what in ((bridge_address, 'other owners of bridge_ip'),
                       (frr, 'the configuration of FRR'),
                       (ipv6_forwarding, 'forwarding of IPv6')):
        try:
            for text in look(conf):
                LOG.warning('%s', text)
        except context.FAILURES as error:
            LOG.warning('%s could not be checked: %s', what,
                        wording.error(error))


def frr(conf: cfg.ConfigOpts) -> list[str]:
    """The settings that FRR lacks for announcements."""
    names = conf.frr.vrf_name, conf.frr.frr_prefix_list
    found = setup.Setup(*bgp.read_setup(*names))
    return setup.lacks(found, names[0], conf.fip_route.announce_method,
                       names[1])


def bridge_address(conf: cfg.ConfigOpts) -> list[str]:
    """Other devices with the address bridge_ip, or with a route to it.

    Its default is also the address of the metadata service.
    """
    if not conf.bridge_ip:
        return []
    ours = bridges.served(conf)
    found = links.read_all()
    names = {link.index: name for name, link in found.items()}
    marked = {name for name in found if _is_marked(found, name)}
    owners = sorted(names.get(owner.index, '?')
                    for owner in addresses.read_all()
                    if owner.address.partition('/')[0] == conf.bridge_ip)
    ways = sorted(route.dev for route in _routes()
                  if route.dst == conf.bridge_ip + '/32')
    remedy = ('choose another address, one that nothing on this node '
              'talks to')
    return [
        f'[DEFAULT] bridge_ip = {conf.bridge_ip}: {what}; {remedy}'
        for what in (
            *(f'{dev} has this address, too' for dev in owners
              if dev not in marked and
              not bridges.is_segment_device(dev, ours)),
            *(f'there is a route to this address through {dev}'
              for dev in ways if not bridges.is_segment_device(dev, ours)))]


def _is_marked(found: dict[str, links.Link], name: str) -> bool:
    return found[name].alias == ownership.LINK_ALIAS


def ipv6_forwarding(conf: cfg.ConfigOpts) -> list[str]:
    """A warning if there are IPv6 VIPs and the node forwards no IPv6.

    The agent leaves the one switch for all devices alone: a forwarding node
    ignores router advertisements.
    """
    try:
        vips = rules.load(conf)
    except file_problems.BadFile:
        return []  # their user reports bad rules
    if all(vip.version == 4 for vip in vips):
        return []
    if forwards_ipv6():
        return []
    return ['there are IPv6 VIPs, and this node does not forward IPv6, so '
            'only destinations on the node itself can be reached; set '
            'net.ipv6.conf.all.forwarding = 1, and before it accept_ra = 2 '
            'for devices that take routes from router advertisements']


def forwards_ipv6() -> bool:
    """Whether the node forwards IPv6."""
    with open(_IPV6_FORWARDING, encoding='ascii') as opened:
        return opened.read().strip() != '0'


def _routes() -> list[route_codec.Route]:
    with connection.Connection() as kernel:
        return routes.read(kernel, table=resources.MAIN_TABLE,
                           families=(socket.AF_INET,))


def leading_out(bridge: str, ports: Iterable[str],
                found: dict[str, links.Link]) -> frozenset[str]:
    """The ports of the provider bridge that lead to other machines."""
    return frozenset(
        name for name in ports
        if name != bridge and name in found and
        found[name].kind not in _OWN_KINDS and not _is_marked(found, name))


def of_port(bridge: str, name: str) -> str:
    """The warning about one port of :func:`leading_out`."""
    return (f'provider bridge {bridge}: its port {name} leads out of '
            'this node, and the agent sets proxy_arp: there the node answers '
            'ARP requests for every address that it has a route to; '
            'take the port out of the bridge (the uplink belongs into '
            'the VRF), or filter ARP on it')


class BridgePorts:
    """Warns of ports that lead from provider bridges to other machines."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def look(self, bridge: str, ports: Iterable[str]) -> None:
        """Log such ports that a bridge did not have before."""
        found = links.read_all()
        outside = leading_out(bridge, ports, found)
        for name in sorted(outside - self._known.get(bridge, frozenset())):
            LOG.warning('%s', of_port(bridge, name))
        self._known[bridge] = outside
