# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The mode of the agent: all parts, or only the parts that forward ports.

With both remotes of OVN empty, the agent touches neither OVN nor Open vSwitch
nor FRR.  It loads no plugin for them and starts no privileged daemon for them.
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

    :param known: what the part may know: its :class:`conf.settings.Settings`
        for a driver, and the ConfigOpts for a backend
    """
    return not options.forwards_only(conf) or part.runs_without_ovn(known)


def contexts(conf: cfg.ConfigOpts) -> 'list[privileged_context.Context]':
    """The privileged daemons that this mode needs."""
    # A diagnosis needs the drivers, and no daemon.
    from ovn_network_agent import privileged
    return [context for context in privileged.CONTEXTS
            if context.without_ovn or not options.forwards_only(conf)]
