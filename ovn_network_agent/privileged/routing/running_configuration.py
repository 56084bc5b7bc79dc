# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR's running configuration, with passwords: it stays privileged."""

from collections.abc import Iterable

from ovn_network_agent.frr import output
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh


def configuration(daemons: Iterable[str], needed: Iterable[str]) -> list[str]:
    """The lines of some daemons, if those that are needed run."""
    try:
        running = vty.daemons()
        lines = [line for name in daemons if name in running
                 for line in vty.configuration(name)]
    except vty.Unavailable:
        result = vtysh.show('show daemons', 'show running-config')
        try:
            running, lines = output.split(result.stdout)
        except output.Unreadable as error:
            raise vtysh.unreadable(error, result) from error
    vtysh.require(running, *needed)
    return lines
