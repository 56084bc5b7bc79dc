# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All options: registered, listed, and read from their sources.

The command line comes first, then the environment (``OS_<GROUP>__<OPTION>``,
then the original's names), ``--config-dir`` and ``--config-file``, defaults.

Only here are its private names in use (library_internals.py).
"""

from collections.abc import Callable
from collections.abc import Iterator
import copy
import functools
from importlib import metadata
from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import command_line
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf.options import announce
from ovn_network_agent.conf.options import base
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import evpn
from ovn_network_agent.conf.options import fip_route
from ovn_network_agent.conf.options import frr
from ovn_network_agent.conf.options import gateway_drain
from ovn_network_agent.conf.options import metrics
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.conf.options import ovn
from ovn_network_agent.conf.options import ovs
from ovn_network_agent.conf.options import port_forward
from ovn_network_agent.conf.options import tenants
from ovn_network_agent.conf.options import veth_leak

PROJECT = base.PROJECT
# Sections of the privileged daemons, which oslo.privsep registers.
DAEMONS = tuple('privsep_' + name for name in (
    'kernel', 'ovs', 'frr', 'netfilter'))
# Section and options; the order is that of the sample file.
SECTIONS: tuple[tuple[str, list[cfg.Opt]], ...] = (
    (base.GROUP, [*base.OPTS, *base.CLI_OPTS]),
    (base.AGENT_GROUP, base.AGENT_OPTS), (ovn.GROUP, ovn.OPTS),
    (ovs.GROUP, ovs.OPTS), (frr.GROUP, frr.OPTS),
    (fip_route.GROUP, fip_route.OPTS), (announce.GROUP, announce.OPTS),
    (veth_leak.GROUP, veth_leak.OPTS),
    (gateway_drain.GROUP, gateway_drain.OPTS),
    (port_forward.GROUP, port_forward.OPTS),
    (tenants.PORT_GROUP, tenants.PORT_OPTS),
    (tenants.NETWORK_GROUP, tenants.NETWORK_OPTS),
    (tenants.BALANCER_GROUP, tenants.BALANCER_OPTS),
    (evpn.GROUP, evpn.OPTS), (network_peer.GROUP, network_peer.OPTS),
    (egress_ip.GROUP, egress_ip.OPTS), (metrics.GROUP, metrics.OPTS))


class _Environment:
    """The environment as a source of oslo.config, with former names.

    The original's variables may stay in the environment of a unit or
    container; this agent's come first.

    :param own: the source of oslo.config for the names of this agent
    """

    def __init__(self, own: Any) -> None:
        self._own = own

    def get(self, group_name: str | None, option_name: str,
            opt: cfg.Opt) -> tuple[Any, cfg.LocationInfo | None]:
        """As in the library."""
        found: tuple[Any, cfg.LocationInfo | None] = self._own.get(
            group_name, option_name, opt)
        # The value's class says that there is none.
        if found[1] is not None:
            return found
        original = original_options.variable_for(group_name or 'DEFAULT',
                                                 option_name.replace('-', '_'))
        if original is None:
            return found
        variable, value = original
        return value, cfg.LocationInfo(cfg.Locations.environment, variable)

    def get_name(self, group_name: str | None, option_name: str) -> Any:
        """Name of the variable of this agent, as in the library."""
        return self._own.get_name(group_name, option_name)


def accept_original_names(conf: Any) -> None:
    """Have an object read the variables of the original, too."""
    if not isinstance(conf._env_driver, _Environment):
        conf._env_driver = _Environment(conf._env_driver)


def reloaded(conf: Any) -> Any:
    """What the last reload has read, for :func:`take_back`."""
    return conf._mutable_ns


def take_back(conf: Any, previous: Any) -> None:
    """Have the values of an earlier reload; the caller clears the cache."""
    conf._mutable_ns = previous


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Options by group, for the sample file and the documentation."""
    return [(group, _documented(options)) for group, options in SECTIONS] + [
        (group, _documented([_helper_command(group)])) for group in DAEMONS]


def _documented(options: list[cfg.Opt]) -> list[cfg.Opt]:
    """Copies whose help says whether a change needs a restart.

    The generators say it only of options that can change without one.
    """
    made = copy.deepcopy(options)
    for option in made:
        if not option.mutable:
            option.help = (option.help or '') + ' A change needs a restart.'
    return made


def _helper_command(group: str) -> cfg.Opt:
    return cfg.StrOpt(
        'helper_command',
        help='Command that starts this privileged daemon in the place of '
             '[agent] root_helper and "privsep-helper". Only an agent that '
             'has not the capabilities itself starts it. The command gets '
             'the arguments --privsep_context and --privsep_sock_path, and '
             'files of the configuration. The section [privsep] has no '
             'effect: each daemon has a section of its own.')


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of the agent and of oslo.log.

    None is for the command line, which :func:`load` reads: after a bad value
    in a file, oslo.config would end the program without its name.  External
    drivers' options come when they are loaded.
    """
    accept_original_names(conf)
    for group, listed in _log_options():
        conf.register_opts(listed, group=group)
    conf.register_opts(base.CLI_ONLY_OPTS)
    for group, options in SECTIONS:
        conf.register_opts(options, None if group == 'DEFAULT' else group)


@functools.cache
def _log_options() -> list[tuple[str | None, list[cfg.Opt]]]:
    """The options of oslo.log, as in the generator of the sample file."""
    point, = metadata.entry_points(group='oslo.config.opts',
                                   name='oslo.log')
    found: list[tuple[str | None, list[cfg.Opt]]] = point.load()()
    return found


def register_daemons(conf: cfg.ConfigOpts) -> None:
    """Register the daemons' options; oslo.privsep has a global conf."""
    for group in DAEMONS:
        conf.register_opt(_helper_command(group), group=group)


def others() -> Iterator[tuple[str, cfg.Opt]]:
    """Options of libraries in the files, each with its group."""
    for group, listed in _log_options():
        for option in listed:
            yield group or 'DEFAULT', option
    for group in DAEMONS:
        yield group, _helper_command(group)


def load(conf: cfg.ConfigOpts, argv: list[str],
         version: str | None = None) -> None:
    """Register everything and read all sources.

    :param conf: has read nothing yet
    :param argv: without the program name
    :raises SystemExit: on ``--help``, ``--version`` or unknown arguments
    :raises oslo_config.cfg.Error: when a file cannot be read or parsed
    """
    register(conf)
    rest, files = split(argv)
    overrides = list(_from_command_line(command_line.parse(rest, version)))
    # The project's default files, for any name of the program, each found
    # twice: as of the project and as of the program.
    conf(args=files, project=PROJECT, prog=PROJECT, version=version,
         default_config_files=_distinct(cfg.find_config_files),
         default_config_dirs=_distinct(cfg.find_config_dirs))
    for name, value in overrides:
        conf.set_override(name, value)


def on_command_line(conf: cfg.ConfigOpts, section: str, name: str) -> bool:
    """Whether a value comes neither from files nor from the environment."""
    group = None if section == 'DEFAULT' else section
    try:
        found = conf.get_location(name, group)
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        return True
    return found is not None and found.location is cfg.Locations.set_override


def _distinct(find: Callable[..., list[str]]) -> list[str]:
    return list(dict.fromkeys(find(project=PROJECT, prog=PROJECT)))


def _from_command_line(probe: cfg.ConfigOpts) -> Iterator[tuple[str, Any]]:
    """The options of the command line, as (option, value) pairs.

    It always wins here; in oslo.config, the environment and later files do.
    """
    for name in probe:
        location = probe.get_location(name)
        if location and location.location == cfg.Locations.command_line:
            yield name, probe[name]


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Divide a command line into other options, and those that name files."""
    rest: list[str] = []
    files: list[str] = []
    value_of = None
    for arg in argv:
        if value_of is not None:
            value_of.append(arg)
            value_of = None
        elif arg in ('--config-file', '--config-dir'):
            files.append(arg)
            value_of = files
        elif arg.startswith(('--config-file=', '--config-dir=')):
            files.append(arg)
        else:
            rest.append(arg)
    return rest, files


def env_name(group: str, option: str) -> str:
    """Name of the environment variable of an option."""
    return f'OS_{group.upper()}__{option.upper()}'


def everything() -> Iterator[tuple[str, cfg.Opt]]:
    """All options of the agent, each with its group."""
    return ((group, option) for group, options in SECTIONS
            for option in options)
