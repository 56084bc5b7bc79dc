# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks beyond the type of one option, and warnings.

Each text has option, value and remedy; all are reported at once.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import os
import re
from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import mode
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf import relations
from ovn_network_agent.conf import tls
from ovn_network_agent.conf import unknown
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.conf.options import port_forward
from ovn_network_agent.conf.options import veth_leak

_OSLO_ERROR = re.compile(
    r"Value for option \S+ from LocationInfo\(.*?detail='(?P<source>.*?)'\) "
    r"is not valid: (?P<reason>.*)", re.DOTALL)
_L3MDEV_PRIORITY = 1000  # of the kernel's rule for VRFs, not configurable


class ConfigError(Exception):
    """The configuration cannot be used; ``messages`` of :func:`problems`."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__('\n'.join(self.messages))


def check(conf: cfg.ConfigOpts) -> None:
    """Raise :class:`ConfigError` if a configuration cannot be used."""
    messages = problems(conf)
    if messages:
        raise ConfigError(messages)


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """All problems against a start: "option = value: problem; remedy"."""
    messages = list(_bad_values(conf))
    for rule in (_drivers, _remotes, tls.problems, unknown.exposing_method,
                 *relations.RULES):
        try:
            messages.extend(list(rule(conf)))
        except (cfg.Error, ValueError):
            continue  # a bad value is reported already
    return messages


def _bad_values(conf: cfg.ConfigOpts) -> Iterator[str]:
    for name in sorted(conf):
        try:
            value = conf[name]
        except (cfg.Error, ValueError) as error:
            yield _bad_value('DEFAULT', name, error)
            continue
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            yield from bad_values_of(name, value)


def bad_values_of(group: str, values: Any) -> Iterator[str]:
    """Problems of the values of one group with a wrong type."""
    for name in sorted(values):
        try:
            values[name]
        except (cfg.Error, ValueError) as error:
            yield _bad_value(group, name, error)


def unset_in(group: str, options: Iterable[cfg.Opt],
             values: Any) -> Iterator[str]:
    """Problems of the required options of one group that are not set.

    oslo.config checks them before a plugin can register its own.
    """
    for option in options:
        if option.required and values[option.dest] is None:
            yield f'[{group}] {option.name} is not set, and has no default'


def _bad_value(group: str, name: str, error: Exception) -> str:
    match = _OSLO_ERROR.search(str(error))
    reason = match['reason'] if match else str(error)
    source = match['source'] if match else 'command line'
    # The environment wins over a file, which oslo.config would name.
    variable = opts.env_name(group, name.replace('-', '_'))
    original = original_options.variable_for(group, name.replace('-', '_'))
    if variable in os.environ:
        source = variable
    elif original:
        source, _value = original
    if reason.startswith('Unexpected boolean'):
        reason += '; use true or false'
    return f'[{group}] {name.replace("-", "_")}: {reason} (from {source})'


def _drivers(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not conf.drivers:
        yield relations.say('[DEFAULT] drivers', conf.drivers,
                   'there is nothing to do; name at least one driver, like '
                   'fip_route,veth_leak')
    twice = sorted({d for d in conf.drivers if conf.drivers.count(d) > 1})
    if twice:
        yield relations.say('[DEFAULT] drivers', conf.drivers,
                   f'names {", ".join(twice)} more than once; name each '
                   'driver once')


def _remotes(conf: cfg.ConfigOpts) -> Iterator[str]:
    if mode.forwards_only(conf):
        yield from _without_ovn(conf)
        return
    for name in ('ovn_nb_remote', 'ovn_sb_remote'):
        remotes = conf.ovn[name]
        if not remotes:
            port = '6641' if name == 'ovn_nb_remote' else '6642'
            yield (f'[ovn] {name} is not set; set it to the remotes of the '
                   f'database, like tcp:192.0.2.1:{port}: as {name} in '
                   'section [ovn] of the file, or in the environment as '
                   f'{opts.env_name("ovn", name)}')
        if {'tcp', 'ssl'} <= {each.partition(':')[0] for each in remotes}:
            yield relations.say('[ovn] ' + name, remotes,
                       'mixes tcp and ssl, so that a failover would drop '
                       'the encryption; use one of them for all')


def _without_ovn(conf: cfg.ConfigOpts) -> Iterator[str]:
    rules = conf.port_forward.rules_file
    if not rules:
        yield ('[ovn] ovn_nb_remote and ovn_sb_remote are not set, and '
               'neither is [port_forward] rules_file: there is nothing to do; '
               'set both remotes, like tcp:192.0.2.1:6641 and '
               'tcp:192.0.2.1:6642 (in section [ovn] of the file, or in the '
               f'environment as {opts.env_name("ovn", "ovn_nb_remote")} and '
               f'{opts.env_name("ovn", "ovn_sb_remote")}), or rules_file to '
               'have ports forwarded without OVN')
        return
    if 'port_forward' not in conf.drivers:
        yield relations.say(
            '[DEFAULT] drivers', conf.drivers,
            'lacks port_forward, and without [ovn] ovn_nb_remote and '
            'ovn_sb_remote the others have nothing to do; add it, or set '
            'both remotes')
    if conf.port_forward.vip_announce == 'with-gateway':
        yield relations.say(
            '[port_forward] vip_announce', 'with-gateway',
            'without [ovn] ovn_nb_remote and ovn_sb_remote there is no '
            'gateway here, so no VIP would ever be announced; set it to '
            'always, or set both remotes')


def warnings(conf: cfg.ConfigOpts) -> list[str]:
    """Settings that look unintended, without :func:`problems`."""
    return [*tls.warnings(conf), *_alone(conf), *_leak_problems(conf),
            *_port(conf), *_settling(conf), *_unused_files(conf),
            *_rootwrap(conf), *unknown.keys(conf), *unknown.variables(conf)]


def _alone(conf: cfg.ConfigOpts) -> Iterator[str]:
    if 'tenant_network' in conf.drivers and 'fip_route' not in conf.drivers:
        yield relations.say(
            '[DEFAULT] drivers', conf.drivers, 'tenant_network announces '
            'nothing without fip_route, which makes the devices, the flows '
            'and the default routes of routers; add fip_route')


def _leak_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    if (conf.frr.vrf_name and not mode.forwards_only(conf) and
            {'fip_route', 'provider_port', 'tenant_network'} &
            set(conf.drivers) and
            'veth_leak' not in conf.drivers):
        yield relations.say('[DEFAULT] drivers', conf.drivers,
                   'without veth_leak somebody else has to make the way from '
                   f'VRF {conf.frr.vrf_name} to the provider bridge, with '
                   f'{conf.veth_leak.veth_nexthop} as next hop')
    priority = conf.veth_leak.veth_leak_rule_priority
    if veth_leak.enabled(conf) and priority - 3 <= _L3MDEV_PRIORITY:
        yield relations.say(
            '[veth_leak] veth_leak_rule_priority', str(priority),
            'the rules of the leak do not come after the kernel\'s rule for '
            f'VRFs ({_L3MDEV_PRIORITY}), so what is in the VRF already may be '
            'sent through the pair again')


def _port(conf: cfg.ConfigOpts) -> Iterator[str]:
    if conf.gateway_port and not conf.gateway_port.startswith('cr-'):
        yield relations.say(
            '[DEFAULT] gateway_port', conf.gateway_port,
            'names of chassisredirect ports begin with "cr-"; unless this '
            'is one all the same, no router is followed')


def _unused_files(conf: cfg.ConfigOpts) -> Iterator[str]:
    for driver, option, effect in (
            (port_forward.GROUP, 'rules_file', 'nothing is forwarded'),
            (network_peer.GROUP, 'peers_file', 'no router peers'),
            (egress_ip.GROUP, 'file', 'no machine gets an egress address')):
        value = conf[driver][option]
        if value and driver not in conf.drivers:
            yield relations.say(
                f'[{driver}] {option}', value, f'without the driver {driver} '
                f'{effect}; add that to [DEFAULT] drivers, or leave {option} '
                'empty')


def _rootwrap(conf: cfg.ConfigOpts) -> Iterator[str]:
    if conf.agent.root_helper_daemon:
        yield relations.say(
            '[agent] root_helper_daemon', conf.agent.root_helper_daemon,
            'this has no effect, because the agent runs no commands through '
            'rootwrap; remove the option, and set root_helper if "sudo -n" '
            'is not right')


def _settling(conf: cfg.ConfigOpts) -> Iterator[str]:
    values = conf.gateway_drain
    if (relations.drains(conf) and
            values.drain_settle_delay >= values.drain_timeout):
        yield relations.say(
            '[gateway_drain] drain_settle_delay',
            f'{values.drain_settle_delay:g}',
            f'is not shorter than drain_timeout ({values.drain_timeout:g}), '
            'so no drain ever completes, each takes all of that time; choose '
            'a shorter one, like 0.5')
