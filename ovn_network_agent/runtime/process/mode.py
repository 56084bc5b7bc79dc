# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The mode of the agent: all parts, or only the parts that forward ports.

With both remotes empty, nothing of OVN, Open vSwitch or FRR is used.
"""

import typing
from typing import Any

from oslo_config import cfg

from ovn_network_agent.backends import base as backends
from ovn_network_agent.conf import mode as options
from ovn_network_agent.drivers import base as drivers

if typing.TYPE_CHECKING:
    from ovn_network_agent.privileged.daemon import (
        context as privileged_context,
    )

FULL = 'full'


def name(conf: cfg.ConfigOpts) -> str:
    """The name of the mode for the status and the log."""
    return options.FORWARDS_ONLY if options.forwards_only(conf) else FULL


def uses(conf: cfg.ConfigOpts,
         part: type[drivers.Driver] | type[backends.Backend], known: Any
         ) -> bool:
    """Whether a part of the agent has a use in this mode.

    :param known: the :class:`conf.settings.Settings` of a driver, the
        ConfigOpts for a backend
    """
    return not options.forwards_only(conf) or part.runs_without_ovn(known)


def contexts(conf: cfg.ConfigOpts) -> 'list[privileged_context.Context]':
    """The privileged daemons that this mode needs."""
    # A diagnosis needs the drivers, and no daemon.
    from ovn_network_agent import privileged
    return [context for context in privileged.CONTEXTS
            if context.without_ovn or not options.forwards_only(conf)]
