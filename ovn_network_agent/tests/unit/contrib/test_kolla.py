# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The role for kolla-ansible and its image agree with the agent's code.

The facts about kolla were read in its sources of 2026: what kolla_set_configs
requires of config.json, and the unit that kolla-ansible writes.
"""

import configparser
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from oslotest import base
import yaml

from ovn_network_agent.cmd import agent
from ovn_network_agent.conf import opts
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.contrib import kolla

ROOT = kolla.KOLLA.parents[1]
UNIT = ROOT / 'contrib' / 'systemd' / 'ovn-network-agent.service'
GENERATOR = ROOT / 'etc' / 'oslo-config-generator' / 'ovn-network-agent.conf'
# The users that the image has.
OWNERS = {'root', 'ovn-network-agent', 'kolla'}


def unit(text):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(text)
    return parser


def image(name):
    return (kolla.IMAGE / name).read_text()


def copied():
    """{file beside the Dockerfile: place in the image}."""
    return dict(re.findall(r'^COPY (\S+) (\S+)$', image('Dockerfile.j2'),
                           re.M))


def options():
    """{name: default} of all options of the agent."""
    return {option.dest: option.default for _group, found in opts.list_opts()
            for option in found}


class TimeLimitsTest(base.BaseTestCase):
    """Row DRN-22: who supervises the agent waits until the agent is done."""

    def test_the_options_have_the_defaults_of_the_code(self):
        role, code = kolla.Role(), options()
        for name in ('drain_timeout', 'drain_settle_delay',
                     'shutdown_timeout'):
            self.assertEqual(float(code[name]),
                             float(role['ovn_network_agent_' + name]))

    def test_each_waits_longer_than_the_one_inside(self):
        for variables in ({}, {'ovn_network_agent_drain_timeout': 600,
                               'ovn_network_agent_drain_settle_delay': 7.5,
                               'ovn_network_agent_shutdown_timeout': 90}):
            role = kolla.Role(**variables)
            limits = [role[f'ovn_network_agent_{name}'] for name in (
                'drain_timeout', 'drain_settle_delay', 'shutdown_timeout')]
            common = role['ovn_network_agent_common_options']
            stop = unit(role.file('container.service.conf.j2'))['Service'][
                'TimeoutStopSec']
            self.assertGreater(common['graceful_timeout'],
                               math.ceil(sum(map(float, limits))))
            self.assertGreater(int(stop), common['graceful_timeout'])
            self.assertGreater(common['client_timeout'], int(stop))

    def test_as_long_as_the_unit(self):
        own = unit(UNIT.read_text())['Service']['TimeoutStopSec']
        self.assertEqual(
            int(own), kolla.Role()['ovn_network_agent_graceful_timeout'])

    def test_other_common_options_stay(self):
        self.assertEqual('unless-stopped', kolla.Role()[
            'ovn_network_agent_common_options']['restart_policy'])


class ContainerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.role = kolla.Role()
        self.service = self.role['ovn_network_agent_services'][
            'ovn-network-agent']

    def test_the_capabilities_are_those_of_the_unit(self):
        own = unit(UNIT.read_text())['Service']
        wanted = set(own['AmbientCapabilities'].split())
        self.assertEqual(wanted, set(own['CapabilityBoundingSet'].split()))
        # The engines give the other one to each container.  Podman does not
        # list what an engine gives, so the role would find a change each time.
        self.assertEqual(wanted - {'CAP_DAC_OVERRIDE'}, {
            'CAP_' + name for name in self.service['cap_add']})
        self.assertEqual([], self.service['security_opt'])
        started = re.search(r'^CAPABILITIES=(\S+)$', image('start_agent.sh'),
                            re.M)[1]
        self.assertEqual(wanted, {'CAP_' + name[1:].upper()
                                  for name in started.split(',')})
        self.assertIn('--no-new-privs', image('start_agent.sh'))
        self.assertNotIn('privileged', self.service)

    def test_the_directories_of_the_sockets(self):
        code = options()
        mounted = [volume.split(':') for volume in self.service['volumes']]
        for path in (code['ovs_rundir'], code['ovn_rundir'],
                     code['frr_run_dir'],
                     str(pathlib.PurePath(code['control_socket']).parent)):
            self.assertIn([path, path, 'shared'], mounted)

    def test_the_health_check_is_a_command_of_ours(self):
        kind, command = self.service['healthcheck']['test']
        self.assertEqual('CMD-SHELL', kind)
        self.assertEqual(
            ['ovn-network-agent-ctl', '--socket',
             options()['control_socket'], 'health'], shlex.split(command))

    def test_the_health_check_can_be_off(self):
        off = kolla.Role(ovn_network_agent_enable_healthchecks=False)
        self.assertEqual('NONE', off['ovn_network_agent_services'][
            'ovn-network-agent']['healthcheck']['test'])

    def test_comparison_and_restart_give_the_same_arguments(self):
        """Otherwise kolla_container finds a change each time."""
        found = []
        for name in ('tasks/check-containers.yml', 'handlers/main.yml'):
            tasks = yaml.safe_load((kolla.ROLE / name).read_text())
            arguments, = [task['kolla_container'] for task in tasks
                          if 'kolla_container' in task]
            self.assertTrue(arguments.pop('action'))
            found.append(arguments)
        self.assertEqual(found[0], found[1])
        used = set(re.findall(r"service\.(\w+)", str(found[0])))
        self.assertEqual(set(self.service) - {'group', 'enabled'}, used)

    def test_one_node_after_the_other(self):
        for name in ('ovn-network-agent', 'ovn-network-agent-uninstall'):
            path = kolla.KOLLA / 'ansible' / f'{name}.yml'
            for play in yaml.safe_load(path.read_text()):
                self.assertEqual(1, play['serial'], path)
                self.assertEqual(0, play['max_fail_percentage'], path)


class FilesTest(base.BaseTestCase):
    """What the role writes on a host."""

    def tasks(self, name):
        return yaml.safe_load((kolla.ROLE / 'tasks' / name).read_text())

    def written(self):
        """Paths, as they stand in the tasks, a list."""
        found = []
        for task in self.tasks('config.yml'):
            for module, arguments in task.items():
                if isinstance(arguments, dict) and module != 'vars':
                    found += [arguments[key] for key in ('dest', 'path')
                              if key in arguments]
        return found

    def test_the_uninstallation_removes_each(self):
        removed = next(task['loop'] for task in self.tasks('uninstall.yml')
                       if 'loop' in task)
        self.assertTrue(self.written())
        self.assertEqual([], [
            path for path in self.written()
            if not any(path == one or path.startswith(one + '/')
                       for one in removed)])

    def test_a_directory_of_the_role_is_there_before_the_container(self):
        """Podman mounts no directory that is not there."""
        rundir = '{{ ovn_network_agent_rundir }}'
        mounted = kolla.defaults()['ovn_network_agent_default_volumes']
        self.assertIn(f'{rundir}:{rundir}:shared', mounted)
        self.assertIn(rundir, self.written())


class UnitOfTheContainerTest(base.BaseTestCase):
    """What contrib/systemd has, beside the unit of kolla-ansible."""

    def setUp(self):
        super().setUp()
        self.role = kolla.Role()
        self.unit = unit(self.role.file('container.service.conf.j2'))
        self.own = unit(UNIT.read_text())

    def test_exit_statuses(self):
        self.assertEqual(self.own['Service']['RestartPreventExitStatus'],
                         self.unit['Service']['RestartPreventExitStatus'])
        self.assertEqual(
            {agent.EXIT_INCOMPLETE, agent.EXIT_NOT_TAKEN_OVER},
            set(map(int, self.unit['Service']['SuccessExitStatus'].split())))

    def test_ovn_controller_goes_on_whatever_is_killed(self):
        command = shlex.split(self.unit['Service']['ExecStopPost'])
        own = shlex.split(self.own['Service']['ExecStopPost'])
        self.assertEqual(['-/usr/bin/docker', 'exec', 'ovn_controller',
                          'ovn-appctl'], command[:4])
        self.assertEqual(own[1:], command[4:])

    def test_the_stop_comes_before_that_of_what_the_agent_needs(self):
        for name in ('After', 'Wants'):
            self.assertLessEqual(
                {'frr.service', 'kolla-ovn_controller-container.service'},
                set(self.unit['Unit'][name].split()))
        self.assertEqual('0', self.unit['Unit']['StartLimitIntervalSec'])


class ConfigurationTest(base.BaseTestCase):

    def run_on(self, text, program, *arguments):
        """Run a program of the virtual environment on a configuration."""
        with tempfile.NamedTemporaryFile('w', suffix='.conf') as opened:
            opened.write(text)
            opened.flush()
            return subprocess.run(
                [pathlib.Path(sys.executable).parent / program, *arguments,
                 opened.name], cwd=ROOT, text=True, capture_output=True)

    def validated(self, text):
        """Run oslo-config-validator, as "kolla-ansible validate-config"."""
        return self.run_on(text, 'oslo-config-validator', '--config-file',
                           GENERATOR, '--input-file')

    def test_the_validator_and_the_agent_accept_it(self):
        every = kolla.Role(ovn_network_agent_network_cidr=['198.51.100.0/24'],
                           ovn_network_agent_metrics_listen='127.0.0.1:9132')
        for role in (kolla.Role(), every):
            text = role.file('ovn-network-agent.conf.j2')
            for done in (self.validated(text), self.run_on(
                    text, 'ovn-network-agent', '--check-config',
                    '--config-file')):
                self.assertEqual(0, done.returncode, done.stderr)

    def test_files_of_rows(self):
        for name, line in (
                ('port_forwards', 'rules_file = {}/port-forwards.yaml'),
                ('network_peers', 'peers_file = {}/network-peers.yaml'),
                ('egress_ips', '[egress_ip]\nfile = {}/egress-ips.yaml')):
            role = kolla.Role(**{f'ovn_network_agent_{name}': {'any': []}})
            text = role.file('ovn-network-agent.conf.j2')
            done = self.validated(text)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn(line.format('/etc/ovn-network-agent') + '\n', text)

    def test_the_validator_would_notice(self):
        text = kolla.Role().file('ovn-network-agent.conf.j2')
        done = self.validated(text + '[frr]\nno_such_option = 1\n')
        self.assertEqual(1, done.returncode, done.stderr)

    def test_what_kolla_set_configs_requires(self):
        for variables in ({}, {'kolla_copy_ca_into_containers': True}):
            config = kolla.Role(**variables).config_json()
            self.assertLessEqual(set(config), {
                'command', 'config_files', 'directories', 'permissions'})
            for one in config['config_files']:
                self.assertLessEqual(set(one), {'source', 'dest', 'owner',
                                                'perm', 'optional'})
            places = [one.get('dest', one.get('path'))
                      for section in ('config_files', 'directories',
                                      'permissions')
                      for one in config[section]]
            self.assertEqual(len(places), len(set(places)))
            for section in ('config_files', 'directories', 'permissions'):
                for one in config[section]:
                    self.assertLessEqual(set(one['owner'].split(':')), OWNERS)
                    self.assertEqual(int(one['perm'], 8),
                                     int(one['perm'], 8) & 0o7777)

    def test_each_file_is_what_the_role_writes(self):
        role = kolla.Role()
        text = (kolla.ROLE / 'tasks' / 'config.yml').read_text()
        tasks = ''.join(text.replace('{{ item.key }}', name)
                        for name in role['ovn_network_agent_yaml_files'])
        for one in role.config_json()['config_files']:
            folder, name = one['source'].rsplit('/', 1)
            self.assertEqual('/var/lib/kolla/config_files', folder)
            self.assertIn(
                '{{ node_config_directory }}/ovn-network-agent/' + name,
                tasks)

    def test_the_command_is_the_one_that_sudo_allows(self):
        sudo, command = kolla.Role().config_json()['command'].split()
        self.assertEqual('sudo', sudo)
        self.assertEqual(command, copied()['start_agent.sh'])
        line = image('ovn_network_agent_sudoers').splitlines()[-1]
        self.assertEqual(f'ovn-network-agent ALL=(root) NOPASSWD: NOSETENV: '
                         f'{command} ""', line)

    def test_the_agent_reads_the_file_that_is_copied(self):
        place = kolla.Role().config_json()['config_files'][0]['dest']
        self.assertTrue(image('start_agent.sh').endswith(
            f'--config-file {place}\n'))
        validated, = kolla.Role()['ovn_network_agent_config_validation']
        self.assertEqual(place, validated['config'])
        self.assertTrue(validated['generator'].endswith(
            str(GENERATOR.relative_to(ROOT))))


class SysctlTest(base.BaseTestCase):
    """What the agent cannot write in a container is written on the host."""

    def lines(self, **variables):
        text = kolla.Role(**variables).file('sysctl.conf.j2')
        return {tuple(line.split(' = ')) for line in text.splitlines()
                if not line.startswith('#')}

    def wanted(self, conf):
        return {(resource.path, resource.value)
                for name in ('fip_route', 'veth_leak')
                for resource in world.driver(name, conf).resources(
                    cloud.node(), cloud.node())
                if resource.kind == 'sysctl'}

    def test_all_that_the_drivers_want(self):
        for options, variables in (
                ({}, {}),
                # A dot in the name of the bridge.
                ({'bridge_dev': 'br.7'}, {'bridge': 'br.7'}),
                ({'further_bridges': 'br-b,br-c'},
                 {'further_bridges': ['br-b', 'br-c']}),
                # No pair without a VRF.
                ({'frr__vrf_name': ''}, {'vrf': ''})):
            self.assertEqual(
                self.wanted(world.conf(**options)), self.lines(**{
                    f'ovn_network_agent_{name}': value
                    for name, value in variables.items()}), options)

    def test_vlan_devices(self):
        more = self.lines(ovn_network_agent_vlan_devices=['br-ex.100'])
        self.assertEqual(
            {(r.path, r.value) for r in segments.attachment(
                'br-ex.100', '') if r.kind == 'sysctl'},
            more - self.lines())

    def test_sockets_of_this_node(self):
        forwards = {'ovn_network_agent_port_forwards': {'any': []}}
        more = self.lines(ovn_network_agent_l3mdev_accept=True, **forwards)
        self.assertEqual({('net/ipv4/tcp_l3mdev_accept', '1'),
                          ('net/ipv4/udp_l3mdev_accept', '1')},
                         more - self.lines(**forwards))

    def test_no_redirects_to_destinations(self):
        for devices, variables in (
                (['eth0'], {}),
                (['bond0', 'eth7'],
                 {'ovn_network_agent_destination_interfaces': [
                     'bond0', 'eth7']})):
            with self.subTest(devices=devices):
                self.assertEqual(
                    {(r.path, r.value) for r in world.driver(
                        'port_forward', world.conf()).resources(
                            port_forwards.Forwards(
                                (golden.vip(),), True, tuple(devices)),
                            cloud.node()) if r.kind == 'sysctl'},
                    self.lines(ovn_network_agent_port_forwards={'any': []},
                               **variables) - self.lines())
