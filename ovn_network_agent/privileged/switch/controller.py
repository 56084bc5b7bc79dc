# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: ovn-controller's state; only its user may ask."""

import errno

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.privileged import overlap_servers


@privileged.ovs.entrypoint
def read_state() -> list[str]:
    """['25.03', 'running' or 'paused', 'connected' or 'not connected'
    (Southbound)]; empty without ovn-controller.
    """
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    controller = overlap_servers.Controller(cfg.CONF.ovs.ovn_rundir)
    try:
        return [overlap_servers.shown(controller.version()),
                controller.call('debug/status').strip(),
                controller.call('connection-status').strip()]
    except overlap_servers.Absent:
        return []
    except overlap_servers.Failed as error:
        raise OSError(errno.EIO, str(error)) from error
