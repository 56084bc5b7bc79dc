# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""For test_rootwrap: [agent] root_helper is a rootwrap below sudo.

The machine is that of :mod:`.sudoers_child`, with another file for sudo, and
with the rootwrap of a service like Neutron.  Prints its result as JSON.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.privileged.daemon import helper
from ovn_network_agent.privileged.daemon import start
from ovn_network_agent.privileged.network import links
from ovn_network_agent.tests.functional.privileged import sudoers_child as base

WRAP = base.BIN / 'neutron-rootwrap'
CONF = pathlib.Path('/etc/neutron-of-the-test/rootwrap.conf')
ROOT_HELPER = f'sudo -n {WRAP} {CONF}'
SUDOERS = f'{base.USER} ALL = (root) NOPASSWD: {WRAP} {CONF} *\n'


def filters():
    """The filter of each daemon: no word of the command is free."""
    lines = ['[Filters]']
    for context in privileged.CONTEXTS:
        name = context.name
        words = [str(base.BIN / 'privsep-helper'),
                 '--config-file', str(base.CONFIG), '--privsep_context',
                 f'ovn_network_agent.privileged.{name}',
                 '--privsep_sock_path', str(base.RUN / f'privsep-{name}.sock')]
        lines.append(f'{name}: RegExpFilter, {words[0]}, root, '
                     f'{", ".join(map(re.escape, words))}')
    return '\n'.join(lines) + '\n'


def install():
    sudoers = pathlib.Path(tempfile.mkdtemp(), 'sudoers')
    sudoers.write_text(SUDOERS)
    base.install(sudoers, f'[agent]\nroot_helper = {ROOT_HELPER}\n')
    os.chmod(shutil.copy(pathlib.Path(sys.executable).parent /
                         'oslo-rootwrap', WRAP), 0o755)
    directory = CONF.parent / 'rootwrap.d'
    directory.mkdir(parents=True)
    CONF.write_text(f'[DEFAULT]\nfilters_path = {directory}\n'
                    f'exec_dirs = {base.BIN}\n')
    (directory / 'agent.filters').write_text(filters())


def refused(*argv):
    """Whether rootwrap does not run this for the user of this process."""
    done = subprocess.run([*helper.root_helper(), *argv], text=True,
                          capture_output=True, timeout=60)
    return done.returncode == 99 and 'Unauthorized command' in done.stderr


def main():
    install()
    base.become_the_agent()
    start.start(cfg.CONF)
    commands = base.helper_commands()
    words = commands['kernel'][len(helper.root_helper()):]
    return {'commands': {name: shlex.join(command)
                         for name, command in commands.items()},
            'uid': os.getuid(),
            'call': links.set_links_up(['br-ex']),
            'left': sorted(os.listdir(base.RUN)),
            'through': [argv for argv in (
                ['/bin/sh', '-c', 'id'], [*words, '--config-dir', '/tmp'],
                [*words[:-1], '/tmp/x.sock']) if not refused(*argv)]}


if __name__ == '__main__':
    print(json.dumps(main()))
