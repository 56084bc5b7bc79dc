# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents and their commands as forks of one process: the server of lab.forks.

All modules are loaded already: in the machine, the imports are two of the
three seconds of a start.
"""

from importlib import metadata

from lab import forking
from ovn_network_agent.runtime.process import interpreter

interpreter.keep_eventlet_out()

# What these import when they run is loaded here.
from ovn_network_agent.cmd import agent  # noqa: E402
from ovn_network_agent.cmd import ctl  # noqa: E402
from ovn_network_agent.conf import opts  # noqa: E402
from ovn_network_agent.conf import plugins  # noqa: E402
from ovn_network_agent.conf import validate  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import explanation  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import gathering  # noqa: E402, F401
from ovn_network_agent.diagnosis.node import sources  # noqa: E402, F401
from ovn_network_agent.runtime import loader  # noqa: E402

_MAINS = {'ovn-network-agent': agent.main, 'ovn-network-agent-ctl': ctl.main}


def main():
    """Serve requests until the client has gone."""
    for group in loader.DRIVERS, loader.BACKENDS:
        for point in metadata.entry_points(group=group):
            point.load()
    # A process keeps both; each reads the metadata of all packages.
    plugins.everything()
    list(opts.others())
    forking.serve(_MAINS)


if __name__ == '__main__':
    main()
