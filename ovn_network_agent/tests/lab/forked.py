# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Commands of ovn-network-agent-ctl, as forks of one process.

``python -m ...forked`` reads lines, each the arguments of a command as a JSON
list.  For each it prints the JSON list of exit status, output and errors.  All
modules are loaded already: the imports would be most of the time of "doctor"
and "explain" in the lab.
"""

from importlib import metadata
import json
import os
import sys
import tempfile

from ovn_network_agent.runtime.process import interpreter

interpreter.keep_eventlet_out()

# What these import when they run is loaded here.
from ovn_network_agent.cmd import ctl  # noqa: E402
from ovn_network_agent.conf import validate  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import explanation  # noqa: E402, F401
from ovn_network_agent.diagnosis.address import gathering  # noqa: E402, F401
from ovn_network_agent.diagnosis.node import sources  # noqa: E402, F401
from ovn_network_agent.runtime import loader  # noqa: E402


def _run(arguments):
    """Run one command; gives (exit status, output, errors)."""
    with (tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err):
        pid = os.fork()
        if not pid:
            for number, fd in enumerate((
                    os.open(os.devnull, os.O_RDONLY), out.fileno(),
                    err.fileno())):
                os.dup2(fd, number)
            sys.exit(ctl.main(arguments))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for each in out, err:
            each.seek(0)
        return status, out.read().decode(), err.read().decode()


def main():
    """Run commands, one after the other, until the input ends."""
    for group in loader.DRIVERS, loader.BACKENDS:
        for point in metadata.entry_points(group=group):
            point.load()
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)


if __name__ == '__main__':
    sys.exit(main())
