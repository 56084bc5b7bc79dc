# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent-status: readiness for an upgrade."""

import logging
import sys

from ovn_network_agent.runtime.process import interpreter

# This comes before the import of any library that would import eventlet.
interpreter.keep_eventlet_out()

from oslo_config import cfg  # noqa: E402
from oslo_upgradecheck import upgradecheck  # noqa: E402

from ovn_network_agent.conf import opts  # noqa: E402
from ovn_network_agent.upgrade import checks  # noqa: E402

PROGRAM = 'ovn-network-agent-status'


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    :returns: exit status: 0 for success, 1 after a warning, 2 after a failure
        or for a wrong command line, 255 for a check that could not be made
    """
    rest, files = opts.split(sys.argv[1:] if argv is None else argv)
    # The results have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    here = checks.Node(cfg.CONF, files)
    try:
        # The files are for the checks, which report each of their mistakes.
        return int(upgradecheck.main(
            cfg.ConfigOpts(), PROGRAM, checks.Commands(here.examine), rest,
            default_config_files=[]))
    finally:
        here.close()


if __name__ == '__main__':
    sys.exit(main())
