# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The limits that the configuration sets for the privileged side.

An attacker may control the agent.  So each request is compared with the
configuration of the start: the bridge, the devices, the routing tables, the
VRF and the prefix list.  A forked daemon has the limits of its parent.  A
daemon of a helper command reads the files that the command names.  A reload
does not change the limits, except for the prefix list, because no other option
here can change while the agent runs: :func:`permit_prefix_list` reads the name
from the configuration files themselves, which the agent cannot choose.

An object with the agent's mark may be removed anywhere, because an earlier
configuration may have made it there.
"""

import dataclasses
import errno

from oslo_config import cfg

from ovn_network_agent import iptext
from ovn_network_agent import ownership
from ovn_network_agent import vlans
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import fip_route
from ovn_network_agent.conf import frr
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import veth_leak
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.privileged import checks
from ovn_network_agent.privileged import evpn_limits
from ovn_network_agent.privileged import reach as reaches

_DEFAULT = '0.0.0.0/0'
_DEFAULT6 = '::/0'
_EVPN = 'evpn'
_FORWARD = 'port_forward'
_PREFIX_LIST = 'frr_prefix_list'
_LEAK = 'veth_leak'
_ONLINK = ' onlink'
_ENDS = ownership.VETH_ENDS
# The two sysctls of port_forward_l3mdev_accept.
_L3MDEV = ('net/ipv4/tcp_l3mdev_accept', 'net/ipv4/udp_l3mdev_accept')
_permit = checks.permit
_fixed = None
# The configuration of the limits; files and directories are of the start.
_source = None
# Names of prefix lists that the files have had at reloads.
_lists = set()


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The values of the configuration that limit changes.

    :ivar bridges: names of the provider bridges and of their devices, a tuple
    :ivar bridge_ip: address of the devices of segments, '' for none
    :ivar vrf: name of FRR's VRF, '' for the default VRF
    :ivar prefix_list: name of the list in FRR at the start, '' for none
    :ivar frr_vnis: whether VNIs are written into FRR
    :ivar vip_device: device of VIPs
    :ivar others: frozenset of the devices that external drivers change
    :ivar pair: addresses of veth-default and of veth-provider
    :ivar host_tables: frozenset of the tables of host routes to the bridge
    :ivar gateways: frozenset of (table, prefix, gateway) of the default
        routes that lead through the veth pair
    :ivar reach: :class:`reach.Reach`, the allowed prefixes of routes
    :ivar rules: frozenset of :class:`reach.Shape`, the policy rules
    :ivar frames: frozenset of :func:`reach.frame` of the rules of all
        drivers, loaded or not
    :ivar forwards: whether ports are forwarded
    :ivar leak: (priority, table) of the rules of the veth leak
    :ivar zone: connection tracking zone of forwarded connections
    :ivar l3mdev: whether the two sysctls of sockets in VRFs are set
    :ivar evpn: :class:`evpn_limits.EvpnLimits`
    """

    bridges: tuple
    bridge_ip: str
    vrf: str
    prefix_list: str
    frr_vnis: bool
    vip_device: str
    others: frozenset
    pair: tuple
    host_tables: frozenset
    gateways: frozenset
    reach: reaches.Reach
    rules: frozenset
    frames: frozenset
    forwards: bool
    leak: tuple
    zone: int
    l3mdev: bool
    evpn: evpn_limits.EvpnLimits

    def check_bridge(self, name):
        """Check a bridge whose flows are read and written."""
        _permit(name in self.bridges, f'bridge {name!r}',
                self._named_bridges())

    def check_vrf(self, name):
        """Check a VRF of a question to FRR, or of the veth pair."""
        _permit(name == self.vrf, f'VRF {name!r}',
                f'[frr] vrf_name = {self.vrf}')

    def check_prefix_list(self, name):
        """Check a prefix list, of the start or of a reload."""
        names = {self.prefix_list, *_lists} - {''}
        _permit(name in names, f'prefix list {name!r}',
                f'[frr] frr_prefix_list = {", ".join(sorted(names))}')

    def check_frr_vnis(self):
        """Check that the agent writes VNIs into FRR."""
        _permit(self.frr_vnis, 'a VNI of FRR', 'asked for by [DEFAULT] '
                'drivers and [evpn] manage_frr')

    def check_static(self, prefix, hop, added=True):
        """Check the prefix and the next hop of a static route of FRR.

        :param added: False for a removal, which other drivers may have left
        """
        if not _is_host(prefix) or hop.endswith(_ONLINK):
            _permit(self.reach.routed(prefix) if added else
                    self.reach.narrow(prefix), f'static route {prefix!r}',
                    'the route of one host')
        if not self.vrf and hop.endswith(_ONLINK):
            via, _blank, hop = hop.removesuffix(_ONLINK).partition(' ')
            _permit(self.reach.host(_host(via)), f'next hop {via!r}',
                    'a gateway port')
        self.check_next_hop(hop)

    def check_next_hop(self, hop):
        """Check the next hop of a static route of one host."""
        hops = ((self.pair[0], ownership.NEXT_HOP_6) if self.vrf else
                (*self.bridges, *self._vips()))
        _permit(hop in hops or not self.vrf and self._is_segment(hop),
                f'next hop {hop!r}',
                'a next hop of this agent: ' + ', '.join(hops))

    def check_advertisement(self, dev, prefixes):
        """Check a device on which FRR advertises this node, and prefixes."""
        if self.evpn.is_port(dev):
            return self.evpn.check_advertised(prefixes)
        if not self._is_segment(dev):
            self._check_device(dev)
        for prefix in prefixes:
            _permit(self.reach.part(prefix), f'advertised prefix {prefix}',
                    'a part of a provider network')

    def check_forwards(self):
        """Check that the agent forwards ports."""
        _permit(self.forwards, 'what forwards ports', 'asked for by [DEFAULT] '
                'drivers and [port_forward] rules_file')

    def check_zone(self, number):
        """Check a zone of connection tracking."""
        _permit(number == self.zone, f'zone {number!r}',
                f'[port_forward] port_forward_ct_zone = {self.zone}')

    def check_table(self, zone, vrf):
        """Refuse a table of forwarded ports for another zone or VRF.

        :param zone: connection tracking zone
        :param vrf: whether the table leads replies back into a VRF
        """
        self.check_zone(zone)
        _permit(vrf == bool(self.vrf),
                f'a table {"with" if vrf else "without"} a VRF',
                f'one for [frr] vrf_name = {self.vrf}')

    def check_up(self, dev):
        """Check a device that is brought up."""
        self._check_device(dev, self.bridges)

    def check_vlan(self, name, bridge, tag):
        """Check the device of a VLAN that is made."""
        _permit(bridge in self.bridges and self._is_segment(name) and
                name == vlans.device(bridge, tag) != bridge,
                f'VLAN device {name!r}', 'the device of a VLAN on '
                + self._named_bridges())

    def check_neighbour(self, dev):
        """Check a device of a permanent neighbour."""
        if not (self._is_segment(dev) or self.evpn.is_port(dev)):
            self._check_device(dev, _ENDS)

    def check_proxy(self, dev, dst):
        """Check a neighbour that the kernel answers for.

        :param dst: IPv6 address
        """
        if self.evpn.is_port(dev):
            return self.evpn.check_host(f'{dst}/128')
        if not self._is_segment(dev):
            self._check_device(dev)
        _permit(self.reach.host(f'{dst}/128'), f'neighbour proxy {dst}',
                'an address of a provider network')

    def check_address(self, dev, text):
        """Check an address that is set, or removed without a mark.

        :param dev: name of the device
        :param text: 'address/length'
        """
        if dev in self.others:
            return
        if self.evpn.is_port(dev):
            self.evpn.check_address(text)
        elif self._is_segment(dev):
            _permit(text in (f'{self.bridge_ip}/32',
                             f'{ownership.SEGMENT_LINK_LOCAL}/64'),
                    f'{text} on {dev}',
                    f'[DEFAULT] bridge_ip = {self.bridge_ip}')
        elif dev in _ENDS:
            end = _ENDS.index(dev)
            _permit(text in (f'{self.pair[end]}/30',
                             f'{ownership.VETH_LINK_LOCAL[end]}/64'),
                    f'{text} on {dev}', 'an address of the veth pair')
        elif dev in self._vips():
            _permit(_is_host(text) and not iptext.interface(text).is_loopback,
                    f'{text} on {dev}', 'an address of a VIP')
        else:
            self._check_device(dev)

    def check_renewal(self, dev, text):
        """Check an address that is removed and set again."""
        if dev not in self.others:
            _permit(dev == ownership.VETH_PROVIDER,
                    f'to renew an address of {dev!r}',
                    f'the device {ownership.VETH_PROVIDER}')
            self.check_address(dev, text)

    def check_route(self, table, dst, dev, via, vrf_table):
        """Check a route that is set.

        :param via: gateway, '' for a route of scope link
        :param vrf_table: table of the VRF, 0 while there is no VRF
        :raises ValueError: when the gateway is no address
        """
        reach = self.reach
        if dev in self.others:
            fits = table not in self._tables(vrf_table) or reach.narrow(dst)
        elif dev == ownership.VETH_DEFAULT:
            fits = (table, dst, via) in self.gateways
        elif dev == ownership.VETH_PROVIDER:
            own = (ownership.VETH_LINK_LOCAL if ':' in dst else self.pair)[0]
            fits = table == vrf_table and via == own and reach.beyond(dst)
        elif via:
            fits = (self._is_segment(dev) and table in self.host_tables and
                    reach.routed(dst) and reach.host(_host(via)))
        else:
            fits = (
                self._is_segment(dev) and table in self.host_tables and
                reach.host(dst) or
                dev in self._vips() and table == route_codec.MAIN_TABLE and
                reach.address(dst))
        fits = fits or self.evpn.is_route(table, dst, dev, via)
        _permit(fits, f'route {dst} through {dev} in table {table}',
                'a route of this agent')

    def check_tagged(self, dst):
        """Check the destination of a route with a tag."""
        _permit(self.reach.host(dst) or self.reach.routed(dst),
                f'a tag of route {dst}', 'the route of one host')

    def check_rule(self, rule):
        """Check a policy rule that is set.

        :param rule: :class:`rules.Rule`
        """
        _permit(rule.iif in self.others or any(
            shape.fits(self._as_of_bridge(rule), self.reach)
            for shape in self.rules),
                f'rule {rule.priority} to table {rule.table}',
                'a rule of this agent')

    def check_removal(self, rule):
        """Check a policy rule that is removed without a mark.

        The rule may be of another configuration, so its networks do not
        count.
        """
        _permit(rule.iif in self.others or
                reaches.frame(self._as_of_bridge(rule)) in self.frames,
                f'rule {rule.priority} to table {rule.table}',
                'a rule of this agent')

    def check_sysctl(self, path):
        """Check a path of :func:`checks.sysctl`."""
        if path in _L3MDEV:
            _permit(self.l3mdev and self.forwards, path, '[port_forward] '
                    'port_forward_l3mdev_accept')
        elif path.endswith('/send_redirects'):
            # Destinations may be behind any device, and change by a reload.
            self.check_forwards()
        else:
            dev = path.split('/')[3]
            if not (self._is_segment(dev) or self.evpn.is_device(dev)):
                self._check_device(dev, _ENDS)

    def is_provider(self, dev):
        """Whether the agent alone makes routes through a provider device."""
        return dev not in self.others and (
            self._is_segment(dev) or self.evpn.is_port(dev))

    def _is_segment(self, dev):
        """Whether a device is named like that of a provider segment."""
        return isinstance(dev, str) and vlans.is_device(dev, self.bridges)

    def _as_of_bridge(self, rule):
        """A rule as it would be for the default bridge.

        The rules for packets out of OVN are alike for all segments.  So are
        those of all devices of VNIs.
        """
        if self.evpn.is_device(rule.iif):
            return rule._replace(iif=reaches.ANY_VNI)
        return rule._replace(iif=self.bridges[0]) if self._is_segment(
            rule.iif) else rule

    def _named_bridges(self):
        first, *further = self.bridges
        return f'[DEFAULT] bridge_dev = {first}' + (
            f', further_bridges = {",".join(further)}' if further else '')

    def _vips(self):
        """Names of the devices of VIPs, a tuple of at most one."""
        return (self.vip_device,) if self.forwards else ()

    def _tables(self, vrf_table):
        """Tables that the agent uses, which external drivers may not use."""
        return {route_codec.MAIN_TABLE, vrf_table, *self.host_tables,
                *(table for table, _dst, _via in self.gateways)}

    def _check_device(self, dev, ours=()):
        _permit(dev in ours or dev in self.others, f'device {dev!r}',
                'a device that the configuration names for this; a driver '
                'of somebody else needs it in [DEFAULT] driver_devices')


def from_conf(conf):
    """The limits of a configuration.

    :param conf: the oslo.config ConfigOpts
    :returns: :class:`Limits`
    """
    leak, forward = conf.veth_leak, conf.port_forward
    pair = leak.veth_nexthop, veth_leak.provider_ip(conf)
    loaded = _loaded(conf)
    rules = list(reaches.shapes(conf))
    return Limits(
        bridges.served(conf), conf.bridge_ip, conf.frr.vrf_name,
        conf.frr.frr_prefix_list, _EVPN in loaded and conf.evpn.manage_frr,
        forward.port_forward_dev,
        frozenset(conf.driver_devices), pair, _host_tables(conf),
        frozenset(tuple(route) for driver, *route in _gateways(conf, pair)
                  if driver in loaded),
        reaches.from_conf(conf, loaded),
        frozenset(shape for shape in rules if shape.driver in loaded),
        frozenset(map(reaches.frame, rules)), _FORWARD in loaded,
        (leak.veth_leak_rule_priority, leak.veth_leak_table_id),
        forward.port_forward_ct_zone, forward.port_forward_l3mdev_accept,
        evpn_limits.from_conf(conf, 'evpn' in loaded))


def _loaded(conf):
    """Names of the drivers that may want resources.

    A reload can change the rules of port forwards, but not whether ports are
    forwarded at all.
    """
    found = set(conf.drivers)
    if mode.forwards_only(conf):
        found &= {_FORWARD, _LEAK}
    if not conf.port_forward.rules_file:
        found.discard(_FORWARD)
    if not (conf.frr.vrf_name and conf.veth_leak.veth_leak_enabled):
        found.discard(_LEAK)
    return found


def _host_tables(conf):
    own, _priority = fip_route.own_table(conf)
    return frozenset({own} - {0} | (
        set() if own and conf.frr.vrf_name else {route_codec.MAIN_TABLE}))


def _gateways(conf, pair):
    """(driver, table, prefix, gateway) of each default route."""
    if not conf.frr.vrf_name:
        return ()
    table = conf.port_forward.port_forward_table_id
    leak = conf.veth_leak.veth_leak_table_id
    return ((_LEAK, leak, _DEFAULT, pair[1]),
            (_LEAK, leak, _DEFAULT6, ownership.VETH_LINK_LOCAL[1]),
            (_FORWARD, table, _DEFAULT, pair[1]),
            (_FORWARD, table, _DEFAULT6, ownership.VETH_LINK_LOCAL[1]))


def fix(conf):
    """Fix the limits of this process and of processes that it forks.

    :param conf: the oslo.config ConfigOpts
    """
    global _fixed, _source
    _fixed, _source = from_conf(conf), conf
    _lists.clear()


def forget():
    """Undo :func:`fix`, for tests."""
    global _fixed, _source
    _fixed = _source = None
    _lists.clear()


def permit_prefix_list():
    """Permit the prefix list that the configuration files name now.

    The lists of earlier times stay permitted, for the removal of the entries
    there.  A name on the command line stays as it was.

    :returns: the name
    :raises OSError: when a file cannot be read or used
    """
    source = _source or cfg.CONF
    name = current().prefix_list
    if not opts.on_command_line(source, frr.GROUP, _PREFIX_LIST):
        aside = cfg.ConfigOpts()
        aside.register_opts(frr.OPTS, group=frr.GROUP)
        try:
            aside(args=[], project=opts.PROJECT, prog=opts.PROJECT,
                  default_config_files=source.config_file,
                  default_config_dirs=source.config_dir)
            name = aside[frr.GROUP][_PREFIX_LIST]
        except (cfg.Error, ValueError) as error:
            raise OSError(errno.EINVAL, f'[frr] frr_prefix_list: {error}'
                          ) from error
    _lists.add(name)
    return name


def current():
    """The limits of this process.

    A daemon that a helper command has started reads its configuration files.

    :returns: :class:`Limits`
    """
    if _fixed is not None:
        return _fixed
    for module in opts.MODULES:
        group = None if module.GROUP == 'DEFAULT' else module.GROUP
        cfg.CONF.register_opts(module.OPTS, group=group)
    return from_conf(cfg.CONF)


def _host(address):
    """The host prefix of an address that is not checked yet."""
    ip = iptext.address(address)
    return f'{ip}/{ip.max_prefixlen:d}'


def _is_host(prefix):
    address, _slash, length = prefix.partition('/')
    return length == ('128' if ':' in address else '32')
