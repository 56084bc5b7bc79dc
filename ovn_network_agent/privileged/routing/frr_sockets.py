# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The vty sockets of FRR's daemons, which show restarts."""

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.common import socket_identity
from ovn_network_agent.conf.options import frr as options

#: end of the names of the sockets
SUFFIX = '.vty'


@privileged.frr.entrypoint
def read_sockets() -> dict[str, list[int]]:
    """[inode, time of change in ns] of the socket of each daemon."""
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    found: dict[str, list[int]] = socket_identity.of_directory(
        cfg.CONF.frr.frr_run_dir, SUFFIX)
    return found
