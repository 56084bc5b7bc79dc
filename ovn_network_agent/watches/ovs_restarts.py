# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The watch for restarts of ovs-vswitchd, which lose all flows.

The local database shows none: the port numbers are mostly the same.
"""

import os

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import socket_identity
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import restarts


def make(conf: cfg.ConfigOpts,
         heartbeats: heartbeat.Heartbeat) -> restarts.RestartWatch:
    """The watch of the provider bridge."""
    bridge = conf.bridge_dev

    def read() -> dict[str, list[int]]:
        mark = socket_identity.of_socket(os.path.join(
            conf.ovs.ovs_rundir, bridge + openflow.SUFFIX))
        return {bridge: mark} if mark else {}
    return restarts.RestartWatch(
        heartbeats, 'Open vSwitch', '[ovs] ovs_rundir', read,
        lambda: openflow.read_socket(bridge),
        notices.SWITCH_RESTARTED, metric='ovs_restarts_total')
