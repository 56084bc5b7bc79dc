# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The reload: changed options take effect while the agent runs.

A mistake in any file refuses the whole reload, before a value changes.  An
option that needs a restart waits, while others take effect.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import typing
from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import effective
from ovn_network_agent.conf import log_levels
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import settings
from ovn_network_agent.conf import validate

_ATTEMPTS = 5  # readings of files that change meanwhile
_RULES = 'port_forward', 'rules_file'
_LOG = 'DEFAULT', 'log_config_append'
_START = 'is read at the start only'
_WALL = ('the privileged side keeps to the values with which it was started')
_CONNECTED = 'the connections are made at the start'
_LOADED = 'plugins are loaded at the start'
_WATCHED = 'what the agent watches and prepares is chosen at the start'

REASONS: dict[tuple[str, ...], str] = {
    ('DEFAULT', 'drivers'): _LOADED,
    ('DEFAULT', 'bridge_dev'): _WALL,
    ('DEFAULT', 'further_bridges'): _WALL,
    ('DEFAULT', 'bridge_ip'): _WALL,
    ('DEFAULT', 'driver_devices'): _WALL,
    ('DEFAULT', 'network_cidr'): _WALL,
    ('DEFAULT', 'gateway_port'): _WATCHED,
    ('DEFAULT', 'event_coalesce'): 'the loop is made at the start',
    ('DEFAULT', 'dry_run'): 'a dry run is one pass, and ends after that',
    ('DEFAULT', 'control_socket'): 'the socket is made at the start',
    ('announce', 'advertised_routes'): _WATCHED,
    ('agent',): 'a privileged daemon starts once',
    ('frr', 'vrf_name'): _WALL,
    ('frr', 'vtysh_wrapper'): _WALL,
    ('frr', 'vtysh_timeout'): _WALL,
    ('frr', 'frr_run_dir'): _WALL,
    ('frr', 'bgp_check'): _WATCHED,
    ('frr', 'frr_watch'): _WATCHED,
    ('fip_route', 'route_table_id'): _WALL,
    ('fip_route', 'route_rule_priority'): _WALL,
    ('ovn',): _CONNECTED,
    ('ovs', 'ovs_rundir'): _WALL,
    ('ovs', 'ovn_rundir'): _WALL,
    ('ovs', 'ovs_wrapper'): _WALL,
    ('ovs',): _CONNECTED,
    ('gateway_drain',): _WATCHED,
    ('metrics',): 'the listener is made at the start',
    ('port_forward', 'rules_file'): (
        'only a start looks whether the node can forward ports; the name of '
        'the file may change, but port forwarding begins and ends at a start'),
    ('port_forward',): _WALL,
    ('tenant_network', 'advertisement_method'): _WATCHED,
    ('tenant_network', 'extra_routes'): _WATCHED,
    ('evpn',): _WALL,
    ('egress_ip',): 'all agents of a cloud have to agree',
    ('network_peer',): 'all agents of a cloud have to agree',
    ('veth_leak',): _WALL,
}


class Change(typing.NamedTuple):
    """A changed option."""

    section: str
    option: str
    before: str  # the former value as in a file, without secrets
    after: str
    reason: str = ''  # why the change waits for a restart, '' when in force

    def __str__(self) -> str:
        text = (f'[{self.section}] {self.option}: {self.before or "(empty)"} '
                f'-> {self.after or "(empty)"}')
        return f'{text} ({self.reason})' if self.reason else text


class Result(typing.NamedTuple):
    """A successful reload."""

    prepared: Any  # what ``prepare`` made
    changed: tuple[Change, ...]  # in force
    # Differences that need a restart, of earlier reloads, too.
    waiting: tuple[Change, ...]


def reload(conf: cfg.ConfigOpts,
           prepare: Callable[[settings.Reader], object] = lambda read: None,
           problems: Callable[[cfg.ConfigOpts],
                              Iterable[str]] = lambda files: ()) -> Result:
    """Apply the options that can change without a restart, or nothing.

    oslo.config would apply a bad value and raise at its use, in the middle of
    a pass.  So another object reads the files, checked as at a start.

    :param conf: filled by :func:`opts.load`
    :param prepare: makes what depends on the options; raises to refuse
    :param problems: further reasons to refuse the values of the files
    :raises validate.ConfigError: when the files cannot be used; the values
        stay as they were
    """
    new_conf = cfg.ConfigOpts()
    opts.register(new_conf)
    opts.register_daemons(new_conf)
    for group, options in plugins.options(conf):
        new_conf.register_opts(options, group=group)
    try:
        for _attempt in range(_ATTEMPTS):
            new_conf.clear()
            new_conf(args=[], project=opts.PROJECT, prog=opts.PROJECT,
                     default_config_files=conf.config_file,
                     default_config_dirs=conf.config_dir)
            validate.check(new_conf)
            wrong = list(problems(new_conf))
            if wrong:
                raise validate.ConfigError(wrong)
            prepared = prepare(_read(conf, new_conf))
            changed = _apply(conf, new_conf)
            if changed is not None:
                return Result(prepared, changed,
                              tuple(_waiting(conf, new_conf)))
    except (OSError, UnicodeError) as error:
        raise validate.ConfigError([
            f'a configuration file cannot be read: {error}']) from error
    except cfg.Error as error:
        raise validate.ConfigError([str(error)]) from error
    raise validate.ConfigError([
        'the configuration files change while they are read; reload again '
        'once they are written'])


def _read(conf: cfg.ConfigOpts, new_conf: cfg.ConfigOpts) -> settings.Reader:
    """As :func:`settings.after`, without what waits for a restart."""
    now, then = settings.live(conf), settings.after(conf, new_conf)

    def read(section: str, option: str) -> Any:
        held = (section, option) == _RULES and _begins_or_ends(conf, new_conf)
        return (now if held else then)(section, option)
    return read


def _apply(conf: cfg.ConfigOpts,
           new_conf: cfg.ConfigOpts) -> tuple[Change, ...] | None:
    """Take over the values of the files.

    :returns: None, with all values as before, when the files are no longer
        what was checked
    :raises validate.ConfigError: likewise, when the log cannot be set up
    """
    watched = [(section, option) for section, option in effective.options(conf)
               if option.mutable and (
                   (section, option.dest) == _RULES or
                   not opts.on_command_line(conf, section, option.dest))]
    before = _values(conf, watched)
    previous, held = opts.reloaded(conf), _held(conf)
    _hold(conf, _begins_or_ends(conf, new_conf), before.get(_RULES))
    try:
        conf.mutate_config_files()
        after = _values(conf, watched)
        same = all(after[key] == value for key, value
                   in _values(new_conf, watched).items()
                   if key != _RULES or not _held(conf))
    except (cfg.Error, ValueError):
        same = False
    if not same:
        _back(conf, previous, held, before)
        return None
    try:
        log_levels.set_up(conf, before[_LOG])
    except Exception as error:
        # Whatever the file makes the standard library raise.
        _back(conf, previous, held, before)
        raise validate.ConfigError([
            f'[DEFAULT] log_config_append = {after[_LOG]}: '
            f'{" ".join(str(error).split())}; correct the file, or name '
            'another one']) from error
    return tuple(
        Change(section, option.dest,
               effective.masked(option, before[section, option.dest]),
               effective.masked(option, after[section, option.dest]))
        for section, option in watched
        if before[section, option.dest] != after[section, option.dest])


def _back(conf: cfg.ConfigOpts, previous: Any, held: bool,
          before: dict[tuple[str, str], Any]) -> None:
    opts.take_back(conf, previous)
    _hold(conf, held, before.get(_RULES))
    # This clears the library's cache, too.
    conf.clear_default(_RULES[1], group=_RULES[0])


# -- port forwarding begins and ends at a start ---------------------------

def _begins_or_ends(conf: cfg.ConfigOpts, new_conf: cfg.ConfigOpts) -> bool:
    return (bool(conf.port_forward.rules_file) !=
            bool(new_conf.port_forward.rules_file))


def _held(conf: cfg.ConfigOpts) -> bool:
    """Whether a former reload holds the rules file of the start."""
    return opts.on_command_line(conf, *_RULES)


def _hold(conf: cfg.ConfigOpts, hold: bool, value: str | None) -> None:
    section, option = _RULES
    if hold:
        conf.set_override(option, value, group=section)
    else:
        conf.clear_override(option, group=section)


# -- differences ----------------------------------------------------------

def _values(conf: cfg.ConfigOpts, options: Iterable[tuple[str, cfg.Opt]]
            ) -> dict[tuple[str, str], Any]:
    return {(section, option.dest): (
        conf if section == 'DEFAULT' else conf[section])[option.dest]
        for section, option in options}


def _waiting(conf: cfg.ConfigOpts, new_conf: cfg.ConfigOpts
             ) -> Iterator[Change]:
    for section, option in effective.options(conf):
        rules = (section, option.dest) == _RULES
        if opts.on_command_line(conf, section, option.dest) and not rules:
            continue
        before, after = (_values(c, [(section, option)])[section, option.dest]
                         for c in (conf, new_conf))
        if before != after:
            yield Change(section, option.dest,
                         effective.masked(option, before),
                         effective.masked(option, after),
                         reason(section, option))


# -- why an option needs a restart, in words -------------------------------


def reason(section: str, option: cfg.Opt) -> str:
    """Why a change of an option waits for a restart."""
    return (REASONS.get((section, option.dest)) or
            REASONS.get((section,), _START))
