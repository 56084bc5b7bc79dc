# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pages about installation: what they print is done to empty nodes."""

import configparser
import itertools
import json
import pathlib
import re
import textwrap

from lab import frr
from lab import plan
import ovn_network_agent
from ovn_network_agent.tests.lab import base

_ROOT = pathlib.Path(ovn_network_agent.__file__).parent.parent
_PAGES = _ROOT / 'doc' / 'source'
_GATEWAY = 'install/index.rst'
_COMPUTE = 'install/compute-nodes.rst'
_REMOVAL = 'admin/maintenance.rst'
_VLAN = 101


def here(name):
    """Numbers and addresses of the pages, and those of a node of the lab."""
    peer, own = plan.UPLINKS[name]
    return {'64999': str(plan.GATEWAY_AS[name]), '64998': str(plan.SPINE_AS),
            '192.0.2.1': peer, '192.0.2.2': own, **dict.fromkeys(
                (f'192.0.2.{n:d}' for n in (10, 21, 22, 23)),
                plan.HOSTS['central'])}


def printed(first, page=_GATEWAY, name='gw1'):
    """The block of a page that begins with a line, for a node of this lab."""
    lines = (_PAGES / page).read_text(encoding='utf-8').splitlines(True)
    begin = next(number for number, line in enumerate(lines)
                 if line.startswith(' ') and line.lstrip().startswith(first)
                 and not lines[number - 1].strip())
    depth = len(lines[begin]) - len(lines[begin].lstrip())
    block = itertools.takewhile(
        lambda line: not line.strip() or line.startswith(' ' * depth),
        lines[begin:])
    return adapted(textwrap.dedent(''.join(block)), name)


def adapted(text, name):
    """A text with the numbers and addresses of a node of this lab."""
    values = here(name)
    return re.sub(r'\b(\d+\.\d+\.\d+\.\d+|\d{5})\b',
                  lambda found: values.get(found[0], found[0]), text)


def example(name):
    """The example for FRR, without what the node does not have."""
    text = (_ROOT / 'contrib' / 'frr' / 'frr.conf').read_text()
    text = re.sub(r'(?ms)^ address-family ipv6 .*?^ exit-address-family\n', '',
                  text)
    return adapted(''.join(
        line for line in text.splitlines(True)
        if not re.search(r'\beth2\b|2001:|\bbfd\b', line)), name)


def typed(first, page=_GATEWAY):
    """The commands of a block with prompts, a list of texts."""
    text = printed(f'# {first}', page).replace('\\\n', ' ')
    return [line.removeprefix('# ') for line in text.splitlines()
            if line.startswith('# ')]


def configuration(first, page=_GATEWAY):
    """The configuration of a block: dict of section to dict of options."""
    # DEFAULT is a section like others.
    found = configparser.ConfigParser(interpolation=None, default_section='')
    found.read_string(printed(first, page))
    return {name: dict(found[name]) for name in found.sections()}


def bare(node):
    """Take all away that the pages make."""
    frr.stop(node)
    node.batch(f'link del {plan.VRF}\nlink del loopback1\n'
               'addr flush dev eth1\n'
               'link set eth1 down\n'
               f'route flush table {plan.VRF_TABLE:d}\n')


class TestInstallVlan(base.LabTestCase):
    """A gateway node and a compute node, on which only OVN was set up.

    The provider network is a VLAN, and the floating IP on the compute node is
    distributed.
    """

    GATEWAYS = 2
    AGENTS = False

    def prepare(self, name, *switch):
        """Uplink, VRF, bridge and FRR as printed.

        :param switch: commands of Open vSwitch
        """
        node = self.cloud[name]
        bare(node)
        node.run(['sh', '-ec', 'ovs-vsctl del-br br-ex; ' + '; '.join(
            f'ovs-vsctl remove Open_vSwitch . external_ids {key}'
            for key in ('ovn-bridge-mappings', 'ovn-cms-options'))])
        node.run(['sh', '-ec', printed('ip link add', name=name)])
        for command in switch:
            node.run(['sh', '-ec', command])
        frr.start(node, example(name))

    def doubts(self, name):
        """The checks of doctor that do not pass: dict of check to verdict."""
        said = json.loads(self.cloud.agents[name].ctl(
            'doctor', '--json', check=False).stdout)
        return {one['check']: one['verdict'] for one in said['findings']
                if one['verdict'] in ('FAIL', 'WARN')}

    def test_the_pages_are_enough(self):
        switch = typed('ovs-vsctl --may-exist')
        self.assertEqual(3, len(switch))
        self.prepare('gw1', *switch)
        # The page about compute nodes leaves the last command out.
        self.prepare('gw2', *switch[:-1])
        self.cloud.start_agents(configuration('[ovn]'), ['gw1'])
        self.cloud.start_agents(configuration('[DEFAULT]', _COMPUTE),
                                ['gw2'])
        neutron = self.cloud.neutron
        router = self.cloud.add_router(
            'tagged', ['gw1'], provider=neutron.add_provider_network(
                'tagged', next(plan.FURTHER_PROVIDERS.subnets(new_prefix=24)),
                plan.PHYSICAL_NETWORK, _VLAN))
        fips = {name: self.machine(router, host=host)[1]
                for name, host in (('gw1', None), ('gw2', 'gw2'))}
        neutron.set_distributed(fips['gw2'], True)
        for name, fip in fips.items():
            self.cloud.wait_announced(fip.address, name, base.SETTLE)
            self.reach(self.client, 'icmp', fip.address)
        # One gateway node alone is no mistake of the installation.
        self.assertEqual(
            {'gw1': {'gateway-priorities': 'WARN'}, 'gw2': {}},
            {name: self.doubts(name) for name in fips})
        self.assertEqual(0, self.cloud.agents['gw2'].stop())
        self.assertEqual({'northbound-routes': 'WARN'}, self.doubts('gw2'))
        self.removed('gw2')

    def removed(self, name):
        """The sysctls of the bridge are as before; nothing of ours is left."""
        node = self.cloud[name]
        for command in typed('systemctl disable --now', _REMOVAL):
            if command.startswith('sysctl'):
                node.run(['sh', '-ec', command])
        for path, value in (('conf/br-ex/proxy_arp', '0'),
                            ('neigh/br-ex/proxy_delay', '80')):
            self.assertEqual(value, node.out(
                'cat', f'/proc/sys/net/ipv4/{path}').strip())
        self.assertNotIn('proto 44', node.out('ip', 'rule') + node.out(
            'ip', 'route', 'show', 'table', 'all'))
        self.assertNotIn('br-ex.', node.out('ip', '-br', 'link'))
        self.assertEqual(1, node.out(
            'ovs-ofctl', 'dump-flows', 'br-ex').count('actions='))
