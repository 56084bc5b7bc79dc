# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""The page about installation: what it prints is done to an empty gateway."""

import configparser
import pathlib
import re
import textwrap

from lab import frr
from lab import plan
import ovn_network_agent
from ovn_network_agent.tests.lab import base

_PAGE = (pathlib.Path(ovn_network_agent.__file__).parent.parent / 'doc' /
         'source' / 'install' / 'index.rst')
_PEER, _OWN = plan.UPLINKS['gw1']
# Numbers and addresses of the page, and those of the lab.
_HERE = {'64999': str(plan.GATEWAY_AS['gw1']), '64998': str(plan.SPINE_AS),
         '192.0.2.1': _PEER, '192.0.2.2': _OWN,
         '192.0.2.10': plan.HOSTS['central']}


def printed(first):
    """The block of the page that begins with a line, for this lab."""
    match = re.search(rf'\n\n((?: +){re.escape(first)}.*?\n)(?=\S)',
                      _PAGE.read_text(encoding='utf-8'), re.DOTALL)
    return re.sub(r'\b(\d+\.\d+\.\d+\.\d+|\d{5})\b',
                  lambda found: _HERE.get(found[0], found[0]),
                  textwrap.dedent(match[1]))


class TestInstall(base.LabTestCase):
    """A gateway on which nothing was set up but OVN."""

    GATEWAYS = 1
    AGENTS = False

    def test_the_page_is_enough(self):
        """VRF, FRR and configuration as printed; a floating IP answers."""
        node = self.cloud['gw1']
        router = self.cloud.add_router('alpha')
        _vm, fip = self.machine(router)
        frr.stop(node)
        node.batch(f'link del {plan.VRF}\nlink del loopback1\n'
                   'addr flush dev eth1\n'
                   'link set eth1 down\n'
                   f'route flush table {plan.VRF_TABLE:d}\n')
        node.run(['sh', '-ec', printed('ip link add')])
        frr.start(node, printed('ip prefix-list FABRIC'))
        config = configparser.ConfigParser(interpolation=None)
        config.read_string(printed('[ovn]'))
        self.cloud.start_agents({name: dict(config[name])
                                 for name in config.sections()})
        for address in (fip.address, router.address):
            self.cloud.wait_announced(address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', fip.address)
        self.assertEqual([], [
            line for line in self.said('gw1').splitlines()
            if ' surroundings ' in line and 'WARNING' in line])
        self.assertEqual(0, self.cloud.agents['gw1'].stop())
        self.cloud.wait_withdrawn(fip.address)
