# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Starting a privileged daemon by a command, such as sudo; always the same, so
that sudoers can have its exact words: an attacker could choose any free word,
such as a configuration file with other capabilities.
"""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading

from oslo_config import cfg
from oslo_log import log as logging
from oslo_privsep import daemon

from ovn_network_agent.conf.options import base as options

LOG = logging.getLogger(__name__)

NAME = 'privsep-helper'
# of the socket when [DEFAULT] control_socket is not set
_DIRECTORY = '/run/ovn-network-agent'
_DIRECTORY_MODE = 0o700
_MODE = 0o600
# seconds for a daemon to connect after its command has ended
_TIMEOUT = 10.0


def program() -> str:
    """Path of the helper, preferably beside the agent's own program."""
    for directory in (os.path.dirname(os.path.abspath(sys.argv[0])),
                      sysconfig.get_path('scripts'), None):
        found = shutil.which(NAME, path=directory)
        if found:
            return os.path.abspath(found)
    return NAME


def root_helper() -> list[str]:
    """The words in front of the helper."""
    cfg.CONF.register_opts(options.AGENT_OPTS, group=options.AGENT_GROUP)
    return shlex.split(cfg.CONF.agent.root_helper)


def path(name: str) -> str:
    """Path of the socket that the daemon of a context connects to."""
    cfg.CONF.register_opts(options.OPTS)
    directory = os.path.dirname(cfg.CONF.control_socket) or _DIRECTORY
    return os.path.join(directory, f'privsep-{name}.sock')


def start(command: Callable[[str], list[str]], where: str) -> socket.socket:
    """Run a command with a socket's path, and wait for its daemon.

    :raises daemon.FailedToDropPrivileges: when the command fails
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(where), _DIRECTORY_MODE)
    with socket.socket(socket.AF_UNIX) as listener:
        with contextlib.suppress(FileNotFoundError):
            # left by a killed agent; a second agent is refused elsewhere
            os.unlink(where)
        # bind() makes the file with this mode
        os.fchmod(listener.fileno(), _MODE)
        listener.bind(where)
        try:
            listener.listen(1)
            argv = command(where)
            LOG.info('Running privsep helper: %s', argv)
            status = _run(argv)
            if status:
                raise daemon.FailedToDropPrivileges(
                    f'"{" ".join(argv)}" ended with status {status}')
            listener.settimeout(_TIMEOUT)
            connected = listener.accept()[0]
        finally:
            os.unlink(where)
    connected.settimeout(None)
    return connected


def _run(argv: list[str]) -> int:
    """The status; the log gets standard error, which the daemon inherits."""
    # fixed words and configured values
    process = subprocess.Popen(  # noqa: S603
        argv, stderr=subprocess.PIPE, text=True, errors='replace')
    threading.Thread(target=_log, args=(process.stderr,), daemon=True,
                     name='helper-log').start()
    return process.wait()


def _log(lines: Iterable[str]) -> None:
    for line in lines:
        LOG.warning('privsep helper: %s', line.rstrip())
