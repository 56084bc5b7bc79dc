# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options from the environment, also under the names of the original.

The original's variables stay where they are when this agent takes its place,
in the environment of a unit or of a container.
"""

from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import original


class Environment:
    """The environment as a source of oslo.config, with former names.

    A variable of this agent has precedence over a variable of the original.

    :param own: the source of oslo.config for the names of this agent
    """

    def __init__(self, own: Any) -> None:
        self._own = own

    def get(self, group_name: str | None, option_name: str,
            opt: cfg.Opt) -> tuple[Any, cfg.LocationInfo | None]:
        """As in the library."""
        found: tuple[Any, cfg.LocationInfo | None] = self._own.get(
            group_name, option_name, opt)
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
    if not isinstance(conf._env_driver, Environment):
        conf._env_driver = Environment(conf._env_driver)
