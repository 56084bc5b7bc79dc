# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether drains of this node have an overlap (decision record 0011)."""

from oslo_config import cfg

from ovn_network_agent.common import error_words
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.daemon import context


def state(conf: cfg.ConfigOpts) -> str:
    """The overlap of drains: 'on', 'off', why none, or '' without drains.

    Asks ovn-controller, which takes some seconds at the most.
    """
    if (not plugins.requested(conf, plugins.RANKING) or
            mode.forwards_only(conf)):
        return ''
    if not conf.gateway_drain.overlap:
        return 'off'
    try:
        return overlap.standing() or 'on'
    except context.FAILURES as error:
        return f'not known: {error_words.text(error)}'
