# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package in a Debian and in an Ubuntu of its own, from first to last.

systemd, Open vSwitch and FRR run there, and the databases of OVN outside.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile

import testtools

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.packaging import machine
from ovn_network_agent.tests.packaging import package
from ovn_network_agent.tests.packaging import root

# Of the unit, the user and the commands; the package has another one.
NAME = 'ovn-network-agent'
CONF = '/etc/ovn-network-agent/ovn-network-agent.conf'
UNIT = '/lib/systemd/system/ovn-network-agent.service'
# Without a VRF.
CONFIG = '''[ovn]
ovn_nb_remote = unix:/srv/nb/sock
ovn_sb_remote = unix:/srv/sb/sock
[frr]
vrf_name =
frr_prefix_list =
[gateway_drain]
relay = false
standby_needs_bgp = false
'''
# What an operator sets in FRR.
FILES = {
    '/etc/hostname': 'gw1\n',
    '/etc/frr/daemons': 'bgpd=yes\nbgpd_options="-A 127.0.0.1"\n'
                        'vtysh_enable=yes\n',
    '/etc/frr/frr.conf': 'router bgp 64999\n'
                         ' address-family ipv4 unicast\n'
                         '  redistribute static\n'}
# Exposure by "systemd-analyze security", in tenths.
EXPOSURE = 22
# systemd-sysusers and the programs of passwd keep the former lists.
FORMER = {'/etc/passwd-', '/etc/group-', '/etc/shadow-', '/etc/gshadow-'}


@needs.needs(os.geteuid() == 0 and shutil.which('debootstrap'),
             'makes a root file system with debootstrap')
class PackageTest(testtools.TestCase):
    """Debian 12.

    Not of oslotest: with another HOME the root would be made anew.

    :cvar suite: as for :func:`package.build`
    :cvar ending: of the version of the package
    """

    suite = None
    ending = '-1+deb12'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix='package-')
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        servers = {}
        for name in ('nb', 'sb'):
            servers[name] = ovsdb.Server(name)
            cls.addClassCleanup(servers[name].close)
            servers[name].start()
            # For the user of the agent.
            os.chmod(servers[name].directory, 0o755)  # noqa: S103
            os.chmod(servers[name].remote.partition(':')[2], 0o777)  # noqa: S103
        cls.nb = servers['nb']
        cls.cloud = cloud.Cloud(ovs=None, **servers)
        cls.cloud.fill_sb()
        cls.cloud.add_router('r1', chassis=cloud.CHASSIS)
        # One waits for the network while the other one computes.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            built = pool.submit(package.build, cls.folder, cls.suite)
            cls.machine = machine.Machine(cls.folder, {
                f'/srv/{name}': server.directory
                for name, server in servers.items()}, FILES, cls.suite)
            cls.addClassCleanup(cls.machine.close)
            cls.package = built.result()
        cls.machine.wait()
        cls._wire()

    @classmethod
    def _wire(cls):
        """What ovn-controller and an operator have set on the node."""
        cls.machine.run('sysctl', '-w', 'net.ipv4.ip_forward=1')
        bridges = []
        for name in ('br-ex', 'br-int'):
            bridges += ['--', 'add-br', name, '--', 'set', 'bridge', name,
                        'datapath_type=netdev', '--', 'add-port', name,
                        f'to-{name}', '--', 'set', 'interface', f'to-{name}',
                        'type=patch']
        cls.machine.run(
            'ovs-vsctl', *bridges,
            '--', 'set', 'interface', 'to-br-ex', 'options:peer=to-br-int',
            '--', 'set', 'interface', 'to-br-int', 'options:peer=to-br-ex',
            '--', 'set', 'port', 'to-br-ex',
            'external_ids:ovn-localnet-port=provnet-1',
            '--', 'set', 'Open_vSwitch', '.',
            f'external_ids:system-id={cloud.CHASSIS}',
            'external_ids:ovn-bridge-mappings=physnet1:br-ex',
            'external_ids:ovn-cms-options=enable-chassis-as-gw')

    def has(self, name):
        """Whether there is a file or link with this absolute path."""
        return os.path.lexists(f'{self.machine.path}{name}')

    def files(self):
        """All paths with owner and mode, but those of running programs.

        :returns: set of str
        """
        pruned = []
        for path in ('/run/systemd', '/var/lib/apt', '/var/lib/dpkg',
                     '/var/lib/libuuid',
                     '/var/lib/systemd', '/var/log', '/var/cache', '/root'):
            pruned += ['-path', path, '-o']
        return set(self.machine.run(
            'find', '/etc', '/opt', '/run', '/usr', '/var', '-xdev',
            '(', *pruned[:-1], ')', '-prune', '-o', '-printf',
            r'%p %U %G %m\n').splitlines())

    def put(self, made):
        """Have a package in the machine; gives the path there."""
        shutil.copy(made, self.machine.path / 'root')
        return f'/root/{made.name}'

    def systemctl(self, *argv):
        return self.machine.run('systemctl', *argv)

    def shown(self, *properties):
        """Values of the unit, a dict."""
        lines = self.systemctl('show', NAME, '--property',
                               ','.join(properties)).splitlines()
        return dict(line.split('=', 1) for line in lines)

    def announced(self, address):
        """Whether FRR has the static route."""
        return f'S>* {address}/32' in self.machine.run(
            'vtysh', '-c', 'show ip route static')

    def own(self):
        """(priority, why it was lowered) of this chassis in NB."""
        row, = self.nb.rows('Gateway_Chassis', where=ovsdb.clauses(
            {'name': 'lrp-r1_' + cloud.CHASSIS}))
        return row['priority'], dict(row['external_ids'][1]).get(
            ownership.EXT_ID_DRAINED, '')

    def log(self):
        return self.machine.run('journalctl', '--no-pager', '-u', NAME)

    def eventually(self, condition):
        return waiting.eventually(condition, self.log, machine.LIMIT)

    def test_from_installation_to_purge(self):
        before = self.files()
        said = self.machine.run('dpkg', '-i', self.put(self.package))
        self.assertIn('nothing was started', said)
        self._complete()
        self._not_started()
        self._configured()
        self._started()
        self._upgraded()
        self._back()
        self._removed()
        self.machine.run('dpkg', '--purge', package.NAME)
        after = self.files()
        self.assertEqual([], sorted(line for line in after - before
                                    if line.split()[0] not in FORMER))
        self.assertEqual(set(), before - after)
        for users in ('passwd', 'group'):
            self.machine.run('getent', users, NAME, status=2)

    def _complete(self):
        """Whatever dpkg, systemd and sudo would refuse, they say here."""
        self.assertTrue(self.machine.run(
            'dpkg-query', '-W', '-f', '${Version}', package.NAME
            ).endswith(self.ending))
        self.assertEqual('', self.machine.run('dpkg', '--verify',
                                              package.NAME))
        self.assertEqual('', self.machine.run(
            'systemd-analyze', 'verify', '--recursive-errors=no', UNIT))
        self.machine.run('visudo', '-c', '-f',
                         f'/usr/share/doc/{package.NAME}/examples/sudoers')
        self.machine.run('perl', '-e', 'our $nrconf = {}; do '
                         f'"/etc/needrestart/conf.d/{NAME}.conf" '
                         'or !$@ or die $@')
        self.assertEqual('700 ovn-network-agent\n', self.machine.run(
            'stat', '-c', '%a %U', f'/run/{NAME}'))
        for program in package.programs():
            self.assertIn('usage', self.machine.run(program, '--help'))
            for path in (f'bash-completion/completions/{program}',
                         f'zsh/vendor-completions/_{program}',
                         f'fish/vendor_completions.d/{program}.fish',
                         f'man/man8/{program}.8.gz'):
                self.assertTrue(self.has(f'/usr/share/{path}'), path)
        self.machine.run(NAME, '--version')
        # Nothing names the place where the package was built.
        found = subprocess.run(
            ['grep', '-rlI', str(package.TOP), f'{self.machine.path}/opt'],
            capture_output=True, text=True)
        self.assertEqual('', found.stdout)

    def _not_started(self):
        self.assertEqual(
            {'ActiveState': 'inactive', 'UnitFileState': 'disabled'},
            self.shown('ActiveState', 'UnitFileState'))
        self.assertIn('ovn_nb_remote', self.machine.run(
            NAME, '--check-config', status=2))

    def _configured(self):
        """The file of the operator is as private as the sample was."""
        path = f'{self.machine.path}{CONF}'
        with open(path, 'w') as opened:
            opened.write(CONFIG)
        self.assertEqual('??5?????? c ' + CONF, self.machine.run(
            'dpkg', '--verify', package.NAME).strip())
        self.assertEqual('640 root ovn-network-agent\n', self.machine.run(
            'stat', '-c', '%a %U %G', CONF))
        self.assertEqual('configuration OK\n', self.machine.run(
            NAME, '--check-config'))
        self.assertIn('198.51.100.1', self.machine.run(NAME, '--dry-run'))

    def _started(self):
        """By systemd, which waits for the first pass."""
        self.systemctl('enable', '--now', NAME)
        self.assertTrue(self.announced('198.51.100.1'), self.log())
        self.assertIn('(198.51.100.1/24): Gateway_Chassis lrp-r1',
                      self.machine.run(f'{NAME}-ctl', 'status', '--verbose'))
        wanted = {'configuration', 'file-access', 'prerequisites',
                  'single-agent', 'privileges', 'frr-daemons', 'patch-ports',
                  'nb-database', 'sb-database', 'ovs-database'}
        self.eventually(lambda: wanted <= self._passed())
        self._confined()

    def _confined(self):
        """The agent and its daemons: no foreign system call, no device."""
        self.machine.run('systemd-analyze', 'security',
                         f'--threshold={EXPOSURE:d}', NAME)
        group = self.shown('ControlGroup')['ControlGroup']
        pids = self.machine.run(
            'cat', f'/sys/fs/cgroup{group}/cgroup.procs').split()
        self.assertEqual(1 + len(privileged.CONTEXTS), len(pids))
        for pid in pids:
            self.assertIn('Seccomp:\t2\n', self.machine.run(
                'cat', f'/proc/{pid}/status'))
        self.assertNotIn('Operation not permitted', self.log())

    def _passed(self):
        """Checks of doctor, which misses ovn-controller and neighbours."""
        found = self.machine.run(f'{NAME}-ctl', 'doctor', '--all', status=1)
        return {line.split()[1] for line in found.splitlines()
                if line.startswith('PASS')}

    def _upgraded(self):
        """The agent goes on while its files change; the operator's stays."""
        properties = ('MainPID', 'ExecMainStartTimestampMonotonic',
                      'ActiveState', 'NRestarts')
        before = self.shown(*properties)
        said = self.machine.run(
            # A question about the configuration file would be an error here.
            'dpkg', '-i', self.put(package.renewed(
                self.package, self.folder, '9:1')))
        self.assertIn('was not restarted', said)
        self.assertEqual(before, self.shown(*properties))
        self.assertEqual('no', self.shown('NeedDaemonReload')[
            'NeedDaemonReload'])
        self.cloud.add_nat('r1', '198.51.100.7')
        self.eventually(lambda: self.announced('198.51.100.7'))
        self.assertEqual(CONFIG, self.machine.run('cat', CONF))
        self.assertEqual('640 root ovn-network-agent\n', self.machine.run(
            'stat', '-c', '%a %U %G', CONF))
        self.assertIn('this program is 1\n', self.machine.run(
            f'{NAME}-ctl', 'doctor', 'agent'))

    def _back(self):
        """To the former version, also while the newer one works.

        A restart in good order would wait for another gateway node.
        """
        for made in (self.folder + '/newer.deb', self.package):
            self.machine.run(
                'apt-get', 'install', '--yes', '--allow-downgrades',
                self.put(pathlib.Path(made)))
            former = self.shown('MainPID', 'ActiveState')
            self.systemctl('kill', '--signal=KILL', NAME)
            # One question: right after the kill, the state is still active.
            self.eventually(lambda former=former: (
                (now := self.shown('MainPID', 'ActiveState'))['ActiveState']
                == 'active' and now['MainPID'] not in (
                    '0', former['MainPID'])))
            said = self.machine.run(f'{NAME}-ctl', 'doctor', 'agent')
            self.assertNotIn('the agent that runs', said)
        self.assertEqual(CONFIG, self.machine.run('cat', CONF))
        for address in '198.51.100.1', '198.51.100.7':
            self.assertTrue(self.announced(address), self.log())

    def _removed(self):
        """dpkg waits for the orderly stop: first the port has to leave."""
        removal = subprocess.Popen(
            self.machine.inside('dpkg', '-r', package.NAME),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(removal.communicate)
        self.addCleanup(removal.kill)
        self.eventually(lambda: self.own() == (0, 'shutdown'))
        self.assertTrue(self.announced('198.51.100.7'))
        self.cloud.move('lrp-r1', cloud.OTHER)
        said, _ = removal.communicate(timeout=machine.LIMIT)
        self.assertEqual(0, removal.returncode, said)
        self.assertIn('Drain: completed', self.log())
        self.assertIn('Deactivated successfully', self.log())
        for address in '198.51.100.1', '198.51.100.7':
            self.assertFalse(self.announced(address))
        self.assertTrue(self.has(CONF))
        for path in (f'/opt/{NAME}', UNIT, f'/usr/bin/{NAME}', f'/run/{NAME}',
                     '/etc/systemd/system/multi-user.target.wants/'
                     f'{NAME}.service'):
            self.assertFalse(self.has(path), path)

    def test_an_installation_by_hand_is_not_mixed_with_the_package(self):
        self.machine.run('mkdir', '-p', f'/opt/{NAME}')
        self.addCleanup(self.machine.run, 'rmdir', f'/opt/{NAME}')
        said = self.machine.run('dpkg', '-i', self.put(self.package),
                                status=1)
        self.assertIn('was not made by this package', said)
        self.assertEqual([], os.listdir(self.machine.path / 'opt' / NAME))

    def _repository(self, *packages):
        """Have apt know these packages, and nothing else."""
        folder = self.machine.path / 'root/repository'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for each in packages:
            shutil.copy(each, folder)
        (folder / 'Packages').write_text(package.index(packages))
        (self.machine.path / 'root/sources').write_text(
            'deb [trusted=yes] file:/root/repository ./\n')
        self._apt('update')

    def _apt(self, *argv):
        return self.machine.run(
            'apt-get', '-o', 'Dir::Etc::SourceList=/root/sources',
            '-o', 'Dir::Etc::SourceParts=-', '-o', 'APT::Sandbox::User=root',
            '--yes', *argv)

    def _installed(self):
        """Which of the two packages, with its version."""
        found = self.machine.run(
            'dpkg-query', '-W', '-f',
            '${db:Status-Status} ${Package} ${Version}\n', f'{NAME}*')
        return [line.split()[1:] for line in found.splitlines()
                if line.startswith('installed ')]

    def test_the_original_and_this_agent_replace_each_other_only_by_name(self):
        """An upgrade swaps no programs, whatever version a repository has."""
        old, new = (package.original(self.folder, version)
                    for version in ('0.9.0', '99.0'))
        self._repository(old, self.package)
        self._apt('install', NAME)
        self.systemctl('enable', '--now', NAME)
        self._apt('dist-upgrade')
        self.assertEqual([[NAME, '0.9.0']], self._installed())
        self.assertEqual({'ActiveState': 'active'},
                         self.shown('ActiveState'))
        said = self._apt('install', '--no-install-recommends', package.NAME)
        self.addCleanup(self.machine.run, 'dpkg', '--purge', package.NAME)
        self.assertIn('nothing was started', said)
        (name, ours), = self._installed()
        self.assertEqual(package.NAME, name)
        self._not_started()
        self._repository(new, self.package)
        for command in 'upgrade', 'dist-upgrade':
            self._apt(command)
            self.assertEqual([[package.NAME, ours]], self._installed())


class UbuntuTest(PackageTest):
    """Ubuntu 24.04, where the package is built, too."""

    suite = root.NOBLE
    ending = '-1+ubuntu24.04'
