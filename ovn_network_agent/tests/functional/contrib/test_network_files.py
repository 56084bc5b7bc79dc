# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""netplan makes of its example what the example of systemd-networkd says."""

import configparser
import pathlib
import shutil
import subprocess
import tempfile

from oslotest import base

from ovn_network_agent.tests import needs

CONTRIB = pathlib.Path(__file__).resolve().parents[4] / 'contrib'
# Made by the agent's port forwards alone; netplan before 1.1 has no dummy.
ONLY_NETWORKD = {'loopback1'}


def read(folder):
    """dict of (name of a device, section, key) to a set of values."""
    found = {}
    for path in (*folder.glob('*.network'), *folder.glob('*.netdev')):
        parser = configparser.RawConfigParser(strict=False, dict_type=_Many)
        parser.optionxform = str
        parser.read(path)
        name, = {value for section in ('Match', 'NetDev') for key, value in
                 (parser[section] if parser.has_section(section) else {}
                  ).items() if key == 'Name'}
        for section in parser.sections():
            for key, values in parser[section].items():
                found[name, section, key] = set(values.split('\n'))
    return found


class _Many(dict):
    """Keeps each value of a key that comes more than once."""

    def __setitem__(self, key, value):
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


@needs.needs(shutil.which('netplan'), 'runs netplan')
class NetworkFilesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        target = self.root / 'etc/netplan'
        target.mkdir(parents=True)
        for path in (CONTRIB / 'netplan').glob('*.yaml'):
            shutil.copy(path, target)
            (target / path.name).chmod(0o600)

    def test_both_say_the_same(self):
        done = subprocess.run(
            ['netplan', 'generate', '--root-dir', str(self.root)],
            capture_output=True, text=True)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        wanted = {key: value for key, value in read(
            CONTRIB / 'systemd-networkd').items()
            if key[0] not in ONLY_NETWORKD}
        made = read(self.root / 'run/systemd/network')
        for key, value in wanted.items():
            # netplan gives a VRF the link-local address of IPv6.
            if key != ('vrf-provider', 'Network', 'LinkLocalAddressing'):
                self.assertEqual(value, made.get(key), key)
        self.assertEqual({name for name, *_rest in wanted},
                         {name for name, *_rest in made})
