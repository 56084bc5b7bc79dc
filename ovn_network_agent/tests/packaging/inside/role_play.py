# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The role for kolla-ansible on two bare gateways of the lab.

kolla-ansible runs on the node ``central`` and reaches the gateways by ssh.
The engine of the containers is Podman on each gateway, below systemd.
"""

import os
import pathlib
import re
import textwrap

from testtools import matchers

from lab import node as nodes
from lab import plan
from lab import syscalls
import ovn_network_agent
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.packaging.inside import gateways

# The environment with kolla-ansible, the directory of its plays with ours, and
# the storage with the images.
KOLLA, PLAYS, IMAGES = 'DEPLOYED_KOLLA', 'DEPLOYED_PLAYS', 'DEPLOYED_IMAGES'
# The last agent waits so long for another gateway, seconds.
LAST = 8
WORK = '/root/kolla'
_STORE = '/srv/images'
GLOBALS = f'''
kolla_container_engine: podman
docker_registry: localhost
docker_namespace: kolla
openstack_tag: "1"
network_interface: eth0
kolla_internal_vip_address: {plan.HOSTS['central']}
ovn_nb_connection: {plan.NB}
ovn_sb_connection: {plan.SB}
ovn_network_agent_drain_timeout: {LAST}
ovn_network_agent_ready_delay: 1
ovn_network_agent_ready_retries: 120
# Each look starts many programs, which is slow in the lab.
default_container_healthcheck_interval: 120
'''
STORAGE = f'''
[storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
[storage.options]
additionalimagestores = ["{_STORE}"]
'''
# The kernel of the lab has neither the controller for the number of processes
# nor BPF, which the control groups of a container need, nor seccomp.
CONTAINERS = '''
[containers]
pids_limit = 0
cgroups = "disabled"
seccomp_profile = "unconfined"
'''
CONFIG = f'''
[defaults]
verbosity = 1
host_key_checking = false
private_key_file = {WORK}/key
remote_tmp = /root/.ansible
timeout = 120
local_tmp = {WORK}/tmp
[ssh_connection]
pipelining = true
retries = 5
'''
_RECAP = re.compile(r'^(gw\d) +: ok=\d+ +changed=(\d+) .* failed=(\d+)',
                    re.MULTILINE)
_PAGE = (pathlib.Path(ovn_network_agent.__file__).parent.parent / 'doc' /
         'source' / 'install' / 'kolla.rst')


def _printed():
    """The commands of the page that restore the priorities."""
    found = re.search(r'\n\n( +for table in Gateway_Chassis.*?\n)(?=\S)',
                      _PAGE.read_text(encoding='utf-8'), re.DOTALL)
    return textwrap.dedent(found[1])


class RoleTest(gateways.GatewaysTestCase):

    @classmethod
    def build(cls):
        super().build()
        cls.kolla = os.environ[KOLLA]
        control = cls.cloud['central']
        control.write(f'{WORK}/globals.yml', GLOBALS)
        control.run(['cp', f'{cls.kolla}/share/kolla-ansible/etc_examples/'
                     'kolla/passwords.yml', WORK])
        control.write(f'{WORK}/ansible.cfg', CONFIG)
        control.write(f'{WORK}/inventory', '[network]\n' + ''.join(
            f'{name} ansible_host={plan.HOSTS[name]} ansible_user=root '
            'ansible_python_interpreter=/usr/bin/python3\n'
            for name in cls.cloud.gateways) +
            '[ovn-network-agent:children]\nnetwork\n')
        control.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                     f'{WORK}/key'])
        for name in cls.cloud.gateways:
            cls._prepare(cls.cloud[name], control.read(f'{WORK}/key.pub'))

    @staticmethod
    def _prepare(node, key):
        """What kolla-ansible expects of a host, and what its OVS listens on.
        """
        # The other roles of kolla-ansible make it, and have files there.
        node.run(['install', '-d', '-m', '0770', '/etc/kolla'])
        node.write('/root/.ssh/authorized_keys', key, 0o600)
        node.write('/etc/containers/storage.conf', STORAGE)
        node.write('/etc/containers/containers.conf', CONTAINERS)
        node.call(syscalls.mount, 'none', _STORE, 'hostfs', 0,
                  os.environ[IMAGES])
        node.run(['ovs-vsctl', 'set-manager', 'ptcp:6640:127.0.0.1'])
        node.run(['systemctl', 'start', 'ssh', 'podman.socket'])

    def kolla_ansible(self, action, *more, playbook='ovn-network-agent'):
        """Run an action.

        :returns: dict of node to the number of changed tasks
        """
        path = f'{os.environ[PLAYS]}/{playbook}.yml'
        done = self.cloud['central'].run(
            [f'{self.kolla}/bin/kolla-ansible', action, '--configdir', WORK,
             '-i', f'{WORK}/inventory', '-p', path, *more],
            timeout=1800, check=False, env=nodes.environ(
                ANSIBLE_CONFIG=f'{WORK}/ansible.cfg', HOME=WORK,
                PATH=f'{self.kolla}/bin:/usr/sbin:/usr/bin:/sbin:/bin'))
        base.note(f'{action}: ' + '; '.join(
            line for line in done.stdout.splitlines() if ' ok=' in line))
        for line in done.stdout.splitlines():
            # With its verbosity, Ansible says why a container is made anew.
            if 'comparison_failures' in line:
                base.note(line)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        recap = {name: (int(changed), int(failed))
                 for name, changed, failed in _RECAP.findall(done.stdout)}
        self.assertEqual({(name, 0) for name in self.cloud.gateways}, {
            (name, failed) for name, (_, failed) in recap.items()},
            done.stdout)
        return {name: changed for name, (changed, _) in recap.items()}

    def test_from_the_role_to_nothing(self):
        self.kolla_ansible('prechecks')
        before = self.everything()
        self.assertTrue(all(self.kolla_ansible('deploy').values()))
        self.settled()
        self.assert_reached()
        deployed = self._state()
        self.expectThat(self.kolla_ansible('deploy'),
                        matchers.Equals({'gw1': 0, 'gw2': 0}))
        self.unchanged(deployed, self._state())
        self.upgraded(lambda: self.kolla_ansible(
            'upgrade', '-e', 'openstack_tag=2'))
        for name in self.cloud.gateways:
            self.assertIn('ovn-network-agent:2', self.cloud[name].out(
                'podman', 'ps', '--format', '{{.Image}}'))
        self.assert_reached()
        self.kolla_ansible('deploy', playbook='ovn-network-agent-uninstall')
        self.assertEqual({0}, set(self.priorities().values()))
        self.cloud['central'].run(['sh', '-ec', _printed()])
        self.assert_nothing_left(before)

    def _state(self):
        found = self.everything()
        for name in self.cloud.gateways:
            found[f'{name}: container'] = [self.cloud[name].out(
                'podman', 'ps', '--format', '{{.ID}} {{.Image}} {{.Pid}}')]
        return found
