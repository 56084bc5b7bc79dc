# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits that the configuration sets for the privileged side.

An attacker may control the agent, so each request is compared with the
configuration of the start: a fork has its parent's, a helper's daemon reads
the files of its command.  A reload changes only the prefix list, the one
option here that can change: :func:`permit_prefix_list` reads it from those
files, which the agent cannot choose.
"""

import errno

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import opts
from ovn_network_agent.conf.options import fip_route
from ovn_network_agent.conf.options import frr
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.privileged.limits import driver_limits
from ovn_network_agent.privileged.limits import permitted
from ovn_network_agent.privileged.limits import prefix_limits as reaches
from ovn_network_agent.privileged.network import checks

_DEFAULT = '0.0.0.0/0'
_DEFAULT6 = '::/0'
_EGRESS = 'egress_ip'
_EVPN = 'evpn'
_FORWARD = 'port_forward'
_PREFIX_LIST = 'frr_prefix_list'
_LEAK = 'veth_leak'
_fixed: permitted.Limits | None = None
# the configuration of the limits, with the files of the start
_source: cfg.ConfigOpts | None = None
# prefix lists that the files have had at reloads
_lists: set[str] = set()


def from_conf(conf: cfg.ConfigOpts) -> permitted.Limits:
    """The limits of a configuration."""
    leak, forward = conf.veth_leak, conf.port_forward
    pair = leak.veth_nexthop, veth_leak.provider_ip(conf)
    loaded = _loaded(conf)
    rules = list(reaches.shapes(conf))
    return permitted.Limits(
        bridges.served(conf), conf.bridge_ip, conf.frr.vrf_name,
        conf.frr.frr_prefix_list, _EVPN in loaded and conf.evpn.manage_frr,
        forward.port_forward_dev,
        frozenset(conf.driver_devices), pair, _host_tables(conf),
        frozenset(route for driver, route in _gateways(conf, pair)
                  if driver in loaded),
        reaches.from_conf(conf, loaded),
        frozenset(shape for shape in rules if shape.driver in loaded),
        frozenset(map(reaches.frame, rules)), _FORWARD in loaded,
        (leak.veth_leak_rule_priority, leak.veth_leak_table_id),
        forward.port_forward_ct_zone, forward.port_forward_l3mdev_accept,
        driver_limits.evpn_from_conf(conf, _EVPN in loaded),
        driver_limits.egress_from_conf(conf, _EGRESS in loaded,
                                       bridges.served(conf)))


def _loaded(conf: cfg.ConfigOpts) -> set[str]:
    """Drivers that may want resources; a reload changes port forwards' rules,
    but not whether there are any.
    """
    found = set(conf.drivers)
    if mode.forwards_only(conf):
        found &= {_FORWARD, _LEAK}
    if not conf.port_forward.rules_file:
        found.discard(_FORWARD)
    if not (conf.frr.vrf_name and conf.veth_leak.veth_leak_enabled):
        found.discard(_LEAK)
    return found


def _host_tables(conf: cfg.ConfigOpts) -> frozenset[int]:
    own, _priority = fip_route.own_table(conf)
    return frozenset({own} - {0} | (
        set() if own and conf.frr.vrf_name else {route_codec.MAIN_TABLE}))


def _gateways(conf: cfg.ConfigOpts, pair: tuple[str, str]
              ) -> tuple[tuple[str, tuple[int, str, str]], ...]:
    """Driver, and (table, prefix, gateway) of each default route."""
    if not conf.frr.vrf_name:
        return ()
    table = conf.port_forward.port_forward_table_id
    leak = conf.veth_leak.veth_leak_table_id
    return ((_LEAK, (leak, _DEFAULT, pair[1])),
            (_LEAK, (leak, _DEFAULT6, ownership.VETH_LINK_LOCAL[1])),
            (_FORWARD, (table, _DEFAULT, pair[1])),
            (_FORWARD, (table, _DEFAULT6, ownership.VETH_LINK_LOCAL[1])))


def fix(conf: cfg.ConfigOpts) -> None:
    """Fix the limits of this process and of processes that it forks."""
    global _fixed, _source
    _fixed, _source = from_conf(conf), conf
    _lists.clear()


def forget() -> None:
    """Undo :func:`fix`, for tests."""
    global _fixed, _source
    _fixed = _source = None
    _lists.clear()


def permit_prefix_list() -> str:
    """Permit the prefix list of the files now; earlier ones stay, for
    removals, and so does that of the command line.
    """
    source = _source or cfg.CONF
    name = current().prefix_list
    if not opts.on_command_line(source, frr.GROUP, _PREFIX_LIST):
        own_conf = cfg.ConfigOpts()
        own_conf.register_opts(frr.OPTS, group=frr.GROUP)
        try:
            own_conf(args=[], project=opts.PROJECT, prog=opts.PROJECT,
                     default_config_files=source.config_file,
                     default_config_dirs=source.config_dir)
            name = own_conf[frr.GROUP][_PREFIX_LIST]
        except (cfg.Error, ValueError) as error:
            raise OSError(errno.EINVAL, f'[frr] frr_prefix_list: {error}'
                          ) from error
    _lists.add(name)
    return name


def check_prefix_list(name: str) -> None:
    """Check a prefix list, of the start or of a reload."""
    names = {current().prefix_list, *_lists} - {''}
    checks.permit(name in names, f'prefix list {name!r}',
                  f'[frr] frr_prefix_list = {", ".join(sorted(names))}')


def current() -> permitted.Limits:
    """The limits of this process; a helper's daemon reads its files."""
    if _fixed is not None:
        return _fixed
    for group, options in opts.SECTIONS:
        cfg.CONF.register_opts(options, None if group == 'DEFAULT' else group)
    return from_conf(cfg.CONF)
