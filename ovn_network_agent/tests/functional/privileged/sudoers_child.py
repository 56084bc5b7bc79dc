# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What test_sudoers runs, in a mount namespace of its own.

The machine looks like one on which the sudoers lines were installed.  Prints
its result as JSON.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.privileged.daemon import helper
from ovn_network_agent.privileged.daemon import start
from ovn_network_agent.privileged.network import links

ROOT = pathlib.Path(__file__).resolve().parents[4]
SUDOERS = ROOT / 'contrib/sudoers.d/ovn-network-agent'
USER = 'ovn-network-agent'
NUMBER = 61234
BIN = pathlib.Path('/usr/local/bin')
RUN = pathlib.Path('/run/ovn-network-agent')
CONFIG = pathlib.Path('/etc/ovn-network-agent/ovn-network-agent.conf')


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def install(sudoers=SUDOERS, conf=''):
    """The machine: /etc, /run and /usr/local/bin are its own.

    :param sudoers: path of the file that sudo reads
    :param conf: more text for the configuration of the agent
    """
    etc = tempfile.mkdtemp()
    run('mount', '-t', 'tmpfs', 'none', etc)
    run('cp', '-a', '/etc/.', etc)
    run('mount', '--bind', etc, '/etc')
    with open('/etc/passwd', 'a') as passwd:
        passwd.write(f'{USER}:x:{NUMBER}:{NUMBER}::/nonexistent:/bin/sh\n')
    with open('/etc/shadow', 'a') as shadow:
        shadow.write(f'{USER}:!:19000::::::\n')
    with open('/etc/group', 'a') as group:
        group.write(f'{USER}:x:{NUMBER}:\n')
    for path in ('/run', str(BIN)):
        run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'none', path)
    RUN.mkdir(0o700)
    os.chown(RUN, NUMBER, NUMBER)
    for name in ('privsep-helper', USER):
        made = shutil.copy(pathlib.Path(sys.executable).parent / name, BIN)
        os.chmod(made, 0o755)
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text('[DEFAULT]\n[frr]\nvrf_name =\n' + conf)
    shutil.copy(sudoers, '/etc/sudoers')
    os.chmod('/etc/sudoers', 0o440)


def refused(*argv):
    """Whether sudo does not run this for the user of this process."""
    done = subprocess.run(['sudo', '-n', *argv], capture_output=True,
                          text=True, timeout=60)
    return done.returncode == 1 and 'sudo' in done.stderr


def attacks(pinned):
    """Commands beside those that are allowed, by the name of the attack.

    :param pinned: one that is, a list
    """
    helper, evil = str(BIN / 'privsep-helper'), '/tmp/evil.conf'
    context, socket = pinned[3:5], pinned[5:]
    return {
        'another file': [helper, '--config-file', evil, *context, *socket],
        'one more file': [*pinned, '--config-file', evil],
        'no file': [helper, *context, *socket],
        'a directory': [*pinned, '--config-dir', '/tmp'],
        'another context': [*pinned[:4], 'os.path', *socket],
        'another socket': [*pinned[:-1], '/tmp/x.sock'],
        'another program': ['/bin/sh', '-c', 'id'],
        'no arguments': [helper],
        'a variable': ['OS_DEFAULT__BRIDGE_DEV=lo', *pinned],
        'by its name': ['privsep-helper', *pinned[1:]],
    }


def become_the_agent():
    """Start as the agent does: its user, its configuration, no more."""
    sys.argv[0] = str(BIN / USER)
    opts.register(cfg.CONF)
    cfg.CONF(['--config-file', str(CONFIG)], project='ovn-network-agent',
             default_config_files=[], default_config_dirs=[])
    os.setgroups([])
    os.setresgid(NUMBER, NUMBER, NUMBER)
    os.setresuid(NUMBER, NUMBER, NUMBER)
    os.environ['OS_DEFAULT__BRIDGE_DEV'] = 'lo'


def helper_commands():
    """The command of each daemon, a dict of name to list of str."""
    return {c.name: c.helper_command(str(RUN / f'privsep-{c.name}.sock'))
            for c in privileged.CONTEXTS}


def main():
    install()
    become_the_agent()
    start.start(cfg.CONF)
    commands = helper_commands()
    kernel = commands['kernel'][len(helper.root_helper()):]
    return {'commands': {name: shlex.join(command)
                         for name, command in commands.items()},
            'uid': os.getuid(),
            'call': links.set_links_up(['br-ex']),
            # It would be what the environment says.
            'other': [f[1] for f in links.set_links_up(['lo'])],
            'left': sorted(os.listdir(RUN)),
            'through': [name for name, command in attacks(kernel).items()
                        if not refused(*command)]}


if __name__ == '__main__':
    print(json.dumps(main()))
