# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of the original program, and its values in the form of Go.

It names one ``bridge_dev`` in its YAML file, ``OVN_NETWORK_BRIDGE_DEV`` in the
environment, ``--bridge-dev`` on the command line.
"""

from collections.abc import Callable
import os
import re
import typing

_UNITS = {'ns': 1e-9, 'us': 1e-6, '\u00b5s': 1e-6, '\u03bcs': 1e-6,
          'ms': 1e-3, 's': 1, 'm': 60, 'h': 3600}
# Without the look-behind, a search takes time with the cube of the digits.
_PART = re.compile(r'(?<![\d.])(\d+(?:\.\d*)?|\.\d+)'
                   r'(ns|us|\u00b5s|\u03bcs|ms|s|m|h)')
_TRUE = ('1', 't', 'T', 'TRUE', 'true', 'True')
_FALSE = ('0', 'f', 'F', 'FALSE', 'false', 'False')


def text(value: str | int) -> str:
    """A text, or a number, as it is."""
    return str(value)


def seconds(value: str | int) -> str:
    """A duration, like ``1m30s`` or ``500ms``, as seconds, like '90' or '0.5'.

    :raises ValueError: when the text is no duration of Go
    """
    text = str(value).strip()
    rest = text.removeprefix('+')
    parts = _PART.findall(rest)
    if rest == '0':
        return '0'
    if not parts or ''.join(number + unit for number, unit in parts) != rest:
        raise ValueError(f'{text!r} is not a duration of at least 0; write '
                         'it like 60s, 500ms or 1m30s')
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return f'{total:.9f}'.rstrip('0').rstrip('.')


def boolean(value: str | bool) -> str:
    """'true' or 'false'; ValueError for no boolean of Go."""
    text = str(value).strip()
    if text in _TRUE:
        return 'true'
    if text in _FALSE:
        return 'false'
    raise ValueError(f'{text!r} is not a boolean; use true or false')


def listen(value: str | int) -> str:
    """An address to listen on, whose host may be missing, or localhost."""
    text = str(value).strip()
    host, colon, port = text.rpartition(':')
    if colon and host in ('', 'localhost'):
        return f'{"127.0.0.1" if host else "0.0.0.0"}:{port}'  # noqa: S104
    return text


PREFIX = 'OVN_NETWORK_'
# Not options, in its YAML file, environment or command line.
CONFIG = 'config'
RULES = 'port_forwards'
RESTART_ON_UPGRADE = 'restart_on_upgrade'
_BFD = ('the agent has [ovn] bfd_min_rx, bfd_min_tx and bfd_mult for the '
        'tunnels of OVN, "ovn-network-agent-ctl doctor" looks at all timers '
        'of BFD, and the operator sets those of FRR')


class Option(typing.NamedTuple):
    """One option of the original."""

    name: str  # key of the YAML file
    section: str = ''  # of the counterpart here, '' without one
    option: str = ''  # name of the counterpart here, '' without one
    convert: Callable[..., str] = text
    why: str = ''  # For an option without a counterpart: what is here instead.

    @property
    def variable(self) -> str:
        """Name of its variable of the environment."""
        return PREFIX + self.name.upper()

    @property
    def here(self) -> str:
        """The counterpart, like "[ovn] ovn_nb_remote", or ''."""
        return f'[{self.section}] {self.option}' if self.option else ''


def _same(section: str, *names: str,
          convert: Callable[..., str] = text) -> list[Option]:
    return [Option(name, section, name, convert) for name in names]


OPTIONS = (
    *_same('DEFAULT', 'bridge_dev', 'bridge_ip', 'network_cidr',
           'gateway_port', 'log_level'),
    *_same('DEFAULT', 'reconcile_interval', convert=seconds),
    *_same('DEFAULT', 'cleanup_on_shutdown', 'dry_run',
           convert=boolean),
    *_same('ovn', 'ovn_nb_remote', 'ovn_sb_remote', 'ovn_ssl_ca',
           'ovn_ssl_cert', 'ovn_ssl_key'),
    *_same('ovs', 'ovs_wrapper'),
    *_same('frr', 'vrf_name', 'frr_prefix_list'),
    *_same('frr', 'frr_watch', convert=boolean),
    *_same('fip_route', 'route_table_id'),
    *_same('veth_leak', 'veth_leak_enabled', convert=boolean),
    *_same('veth_leak', 'veth_nexthop', 'veth_provider_ip',
           'veth_leak_table_id', 'veth_leak_rule_priority'),
    *_same('gateway_drain', 'drain_on_shutdown', convert=boolean),
    *_same('gateway_drain', 'drain_timeout', 'drain_settle_delay',
           'stale_chassis_grace_period', convert=seconds),
    *_same('port_forward', 'port_forward_dev', 'port_forward_table_id',
           'port_forward_ct_zone'),
    *_same('port_forward', 'port_forward_l3mdev_accept',
           convert=boolean),
    Option('metrics_listen', 'metrics', 'listen', listen),
    Option('route_watch', convert=boolean,
           why='the kernel\'s routes, rules, addresses and sysctls and '
               'static routes of FRR are always watched'),
    Option('ovs_flow_watch', convert=boolean,
           why='flows are always watched, except with [ovs] ovs_wrapper'),
    Option('bfd_check_enabled', convert=boolean, why=_BFD),
    Option('bfd_check_max_detect', why=_BFD),
    Option('ovn_bfd_manage', convert=boolean, why=_BFD),
    Option('frr_bfd_manage', convert=boolean, why=_BFD),
)
BY_NAME = {option.name: option for option in OPTIONS}
_BY_HERE = {(option.section, option.option): option
            for option in OPTIONS if option.option}


def counterpart(section: str, name: str) -> Option | None:
    """The option of the original that is an option here."""
    return _BY_HERE.get((section, name))


def variable_for(section: str, name: str) -> tuple[str, str] | None:
    """The original's variable and its value in this agent's form, if any.

    An empty variable counts as missing, as in the original.
    """
    option = counterpart(section, name)
    if option is None or not os.environ.get(option.variable):
        return None
    value = os.environ[option.variable]
    try:
        return option.variable, option.convert(value)
    except ValueError:
        # The type refuses it, with its own words.
        return option.variable, value
