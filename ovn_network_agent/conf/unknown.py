# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings that no part of the agent reads; these are mostly misspelt."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import os
import re

from oslo_config import cfg

from ovn_network_agent.common import wording
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf import plugins

# Registered by libraries when used, which may be never.
_LIBRARY_GROUPS = re.compile(r'oslo_\w+|privsep\w*|profiler')
# Of oslo.privsep itself, which no daemon of the agent reads.
_COMMON = 'privsep'
# Of oslo.config: OpenStack's clients (OS_AUTH_URL) have no "__".
_VARIABLE = re.compile(r'OS_(?P<group>[A-Z0-9_]+?)__(?P<option>[A-Z0-9_]+)')
_EXPOSING = 'exposing_method'
_HERE = {'underlay': 'the way of this agent without the driver evpn',
         'vrf': 'the driver evpn here; name it in [DEFAULT] drivers'}


def keys(conf: cfg.ConfigOpts) -> list[str]:
    """Sections and options in the files that no part has registered.

    To be called after drivers and libraries have registered theirs.
    """
    groups = _known(conf)
    return [message for path, section, found in _sections(conf)
            for message in _unknown_in(groups, path, section, found)]


def exposing_method(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Words of ovn-bgp-agent whose networks would be announced otherwise."""
    for path, section, found in _sections(conf):
        word = (found.get(_EXPOSING) or ['vrf'])[-1]
        if section == 'DEFAULT' and word not in _HERE:
            yield (f'{path}: {_EXPOSING} = {word} does not exist here; use '
                   "the driver evpn, or OVN's own dynamic routing without "
                   'this agent, and remove the option')


def variables(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Environment variables in the form of options that do not exist."""
    groups = _known(conf)
    by_variable = {opts.env_name(group, option): None
                   for group, options in groups.items()
                   for option in options}
    for name in sorted(os.environ):
        match = _VARIABLE.fullmatch(name)
        if match and name not in by_variable and not (
                _LIBRARY_GROUPS.fullmatch(match['group'].lower())):
            yield (f'{name} in the environment is no '
                   f'option{wording.hint(name, by_variable)}')
        elif name.startswith(original_options.PREFIX):
            yield f'{name} in the environment {_original(name)}'


def _original(variable: str) -> str:
    name = variable.removeprefix(original_options.PREFIX).lower()
    option = original_options.BY_NAME.get(name)
    if name == original_options.CONFIG:
        return ('is not read; ovn-network-agent-migrate makes a '
                'configuration of the file that it names')
    if option is None:
        return f'is not read{wording.hint(name, original_options.BY_NAME)}'
    if option.why:
        return f'has no counterpart and is not read: {option.why}'
    own_name = opts.env_name(option.section, option.option)
    if own_name in os.environ:
        return (f'is not read, because {own_name} has precedence; '
                'remove one of them')
    if not os.environ[variable]:
        return ('is empty, which has no effect, as in the original program; '
                f'set {own_name} to nothing if that is meant')
    return (f'is a name of the original program and counts as {option.here}; '
            f'set {own_name} instead')


def _known(conf: cfg.ConfigOpts) -> dict[str, set[str]]:
    groups = {name: set(conf[name]) for name in conf
              if _is_group(conf, name)}
    groups['DEFAULT'] = {name.replace('-', '_') for name in conf
                         if name not in groups}
    for group, option in opts.everything():
        for other in option.deprecated_opts:
            groups[other.group or group].add(other.name)
    return groups


def _is_group(conf: cfg.ConfigOpts, name: str) -> bool:
    try:
        return isinstance(conf[name], cfg.ConfigOpts.GroupAttr)
    except (cfg.Error, ValueError):
        return False  # an option with a bad value


def _files(conf: cfg.ConfigOpts) -> list[str]:
    files = list(conf.config_file or [])
    for directory in conf.config_dir or []:
        if os.path.isdir(directory):
            files.extend(os.path.join(directory, name)
                         for name in sorted(os.listdir(directory))
                         if name.endswith('.conf'))
    return files


def _sections(conf: cfg.ConfigOpts
              ) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    for path in _files(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        for section, found in sorted(sections.items()):
            yield path, section, found


def _unknown_in(groups: Mapping[str, Iterable[str]], path: str, section: str,
                found: Mapping[str, list[str]]) -> Iterator[str]:
    if section == _COMMON:
        sections = ', '.join(f'[{name}]' for name in opts.DAEMONS)
        yield (f'{path}: section [{section}] has no effect; each daemon has '
               f'a section of its own: {sections}')
        return
    if section not in groups:
        # A plugin's are known only if it is loaded.
        if not (_LIBRARY_GROUPS.fullmatch(section) or
                section in plugins.installed()):
            yield (f'{path}: unknown section '
                   f'[{section}]{wording.hint(section, groups)}')
        return
    for key in sorted(found):
        name = key.replace('-', '_')
        if name not in groups[section]:
            homes = [group for group, options in groups.items()
                     if name in options]
            remedy = (f'; it belongs to section [{homes[0]}]' if homes
                      else wording.hint(name, groups[section]))
            if name == _EXPOSING and found[key][-1] in _HERE:
                remedy = f'; {found[key][-1]} is {_HERE[found[key][-1]]}'
            yield (f'{path}: unknown option {key} in section [{section}]'
                   f'{remedy}')
