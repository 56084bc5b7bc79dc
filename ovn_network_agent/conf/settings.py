# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings: options as values that never change, for drivers.

A driver is a pure function of them and of the view; a live option would change
behind an answer that the agent remembers.
"""

from collections.abc import Callable
import types
from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import plugins

# Every driver may know these of the node.
NODE = ('bridge_dev', 'further_bridges', 'bridge_ip', 'network_cidr',
        'driver_devices', 'frr.vrf_name', 'frr.frr_prefix_list')

_DEFAULT = 'DEFAULT'
#: Returns a value by section ('DEFAULT' or another one) and option.
Reader = Callable[[str, str], Any]


class Settings:
    """Options as attributes; frozen, and equal when all values are equal.

    Sections nest: ``settings.frr.vrf_name``.  Lists become tuples, and dicts
    read-only.

    :param values: option=value, or section=Settings
    """

    __slots__ = ('_values',)
    _values: dict[str, Any]

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, '_values', {
            name: _frozen(value) for name, value in values.items()})

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, '_values')
        if name not in values:
            raise AttributeError(
                f'{name} is none of these settings ({", ".join(values)}); a '
                'driver names in OTHER_OPTIONS what it reads beside its own '
                'section and the node')
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f'{name} stays as it is: settings are frozen')

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings):
            return NotImplemented
        return self._values == other._values

    # Values need not have a hash.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Names alone: a value may be a password.
        return f'Settings({", ".join(self._values)})'


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, set | frozenset):
        return frozenset(value)
    if isinstance(value, dict):
        return types.MappingProxyType(
            {key: _frozen(each) for key, each in value.items()})
    return value


def driver_settings(read: Reader, name: str, driver: Any) -> Settings:
    """The settings of a driver: its section, the node, further options.

    :param name: of the driver and of its section
    :raises oslo_config.cfg.NoSuchOptError: when an option does not exist
    :raises oslo_config.cfg.Error: when a value cannot be used
    """
    paths = [*NODE, *getattr(driver, 'OTHER_OPTIONS', ()),
             *(f'{name}.{option.dest}'
               for option in getattr(driver, 'CONFIG_OPTS', ()))]
    sections: dict[str, dict[str, Any]] = {_DEFAULT: {}}
    for path in paths:
        section, _dot, option = path.rpartition('.')
        sections.setdefault(section or _DEFAULT, {})[option] = read(
            section or _DEFAULT, option)
    default = sections.pop(_DEFAULT)
    return Settings(**default, **{
        section: Settings(**values) for section, values in sections.items()})


def live(conf: cfg.ConfigOpts) -> Reader:
    """How options are read as they are now."""
    def read(section: str, option: str) -> Any:
        value = (conf if section == _DEFAULT else conf[section])[option]
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            raise cfg.NoSuchOptError(option)
        return value
    return read


def after(conf: cfg.ConfigOpts, new_conf: cfg.ConfigOpts) -> Reader:
    """How options are read once the files of ``new_conf`` are in force."""
    changing = {(section, option.dest)
                for section, option in opts.everything() if option.mutable}
    changing.update((section, option.dest)
                    for section, options in plugins.options(conf)
                    for option in options if option.mutable)
    now, then = live(conf), live(new_conf)

    def read(section: str, option: str) -> Any:
        return (then if (section, option) in changing else now)(
            section, option)
    return read
