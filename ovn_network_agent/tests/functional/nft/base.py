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

"""Tests with the real nft, each in a network namespace of its own."""

import hashlib
import json
import subprocess

from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import nftables
from ovn_network_agent.tests.functional.netlink import base

ZONE = 64000
VIP = '192.0.2.53'
BACKEND = '10.0.0.5'
TARGET = ('udp', VIP, 53, BACKEND, 5353)
NETWORKS = 'provider_networks'
TABLE = 'ovn-network-agent'

# As port forwarding writes it, in small.
PLAIN = '''\
    set provider_networks {
        type ipv4_addr
        flags interval
    }
    set snat_addresses {
        type ipv4_addr
    }
    set guarded {
        type ifname
    }
    chain prerouting_ctzone {
        type filter hook prerouting priority raw; policy accept;
        ip daddr . meta l4proto . th dport { %(forwards)s } ct zone set 64000
        ip saddr . meta l4proto . th sport { %(backends)s } ct zone set 64000
    }
    chain prerouting_dnat {
        type nat hook prerouting priority dstnat; policy accept;
        dnat to ip daddr . meta l4proto . th dport map { %(map)s }
    }
    chain forward_veth_guard {
        type filter hook forward priority filter; policy accept;
        oifname "veth-default" ip saddr @provider_networks accept
        meta mark 0x00000200 accept
        oifname @guarded drop
    }
'''


def table(*targets, extra=''):
    """A table that translates, one backend for each VIP and port.

    :param targets: tuples like :data:`TARGET`
    :param extra: lines for another chain
    """
    text = PLAIN % {
        'forwards': ', '.join(f'{vip} . {proto} . {port}' for
                              proto, vip, port, _b, _p in targets),
        'backends': ', '.join(sorted({f'{backend} . {proto} . {port}' for
                                      proto, _v, _o, backend, port
                                      in targets})),
        'map': ', '.join(f'{vip} . {proto} . {port} : {backend} . {to}' for
                         proto, vip, port, backend, to in targets)}
    if extra:
        text += 'chain extra {\n%s\n}\n' % extra
    return resources.NftTable(
        'ip', hashlib.sha256(text.encode()).hexdigest(), text,
        tuple(sorted(targets)))


def element(value, name=NETWORKS):
    """An element of a set of the IPv4 table."""
    return resources.NftElement('ip', name, value)


class NftTestCase(base.KernelTestCase):
    """In a new namespace, with a backend."""

    def setUp(self):
        super().setUp()
        privileged.netfilter.set_client_mode(False)
        self.addCleanup(privileged.netfilter.set_client_mode, True)
        self.backend = nftables.NftablesBackend(self.conf)
        self.addCleanup(self.backend.close)

    def nft(self, text, check=True):
        """Run nft, as somebody else would, with commands to read."""
        return subprocess.run(['nft', '-f', '-'], input=text, text=True,
                              check=check, capture_output=True)

    def listed(self, *words):
        """What nft lists, as (kind, value)."""
        printed = subprocess.run(
            ['nft', '-j', '-n', 'list', *words], text=True, check=True,
            capture_output=True).stdout
        return [next(iter(item.items()))
                for item in json.loads(printed)['nftables']]

    def chains(self):
        """Names of the chains of the table, a set."""
        return {value['name'] for kind, value in self.listed(
            'table', 'ip', TABLE) if kind == 'chain'}

    def contents(self, name):
        """What is in a set, as nft writes it."""
        printed = subprocess.run(
            ['nft', 'list', 'set', 'ip', TABLE, name], text=True,
            check=True, capture_output=True).stdout
        _before, found, rest = printed.partition('elements = {')
        return {word.strip(' "\n\t') for word in
                rest.partition('}')[0].split(',')} if found else set()

    def read(self, *wanted):
        """What the backend reads when these are known."""
        return set(self.backend.read(frozenset(r.ref for r in wanted)))

    def load(self, *wanted):
        """Create, expect success and that it reads back the same."""
        self.assertEqual(set(wanted), set(
            self.create(self.backend, *wanted)))
