# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The sources of oslo.config: the environment, and the files after a reload.

Only here are its private names in use (:mod:`library_internals`).
"""

from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf.original import original


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
        former = original.variable_for(group_name or 'DEFAULT',
                                       option_name.replace('-', '_'))
        if former is None:
            return found
        variable, value = former
        return value, cfg.LocationInfo(cfg.Locations.environment, variable)

    def get_name(self, group_name: str | None, option_name: str) -> Any:
        """Name of the variable of this agent, as in the library."""
        return self._own.get_name(group_name, option_name)


def accept_former_names(conf: Any) -> None:
    """Have an object read the variables of the original, too."""
    if not isinstance(conf._env_driver, _Environment):
        conf._env_driver = _Environment(conf._env_driver)


def reloaded(conf: Any) -> Any:
    """What the last reload has read, for :func:`take_back`."""
    return conf._mutable_ns


def take_back(conf: Any, former: Any) -> None:
    """Have the values of an earlier reload; the caller clears the cache."""
    conf._mutable_ns = former
