# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests with the real nft, each in a network namespace of its own."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
from unittest import mock

from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.backends import nftables
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import transaction
from ovn_network_agent.nft import values
from ovn_network_agent.privileged import nft
from ovn_network_agent.tests.functional.netlink import base

ZONE = 64000
VIP = '192.0.2.53'
BACKEND = '10.0.0.5'
TARGET = ('udp', VIP, 53, BACKEND, 5353)
NETWORKS = 'provider_networks'
TABLE = 'ovn-network-agent'

VRF = 'vrf-provider'


def table(*targets, vrf=True, family='ip', vnis=False):
    """A table that translates.

    :param targets: tuples like :data:`TARGET`; those that differ in nothing
        but the backend share the clients
    :param vrf: whether there is a guard
    :param vnis: whether packets of VNIs are left alone
    """
    services = collections.defaultdict(list)
    for proto, vip, port, backend, to in targets:
        services[vip, proto, port, to].append(backend)
    vips = collections.defaultdict(list)
    for (vip, *key), backends in services.items():
        vips[vip].append(values.Service(
            *key, False, tuple(map(values.Destination, backends)),
            tuple((index, 1) for index in range(len(backends)))))
    content = values.Table(family, ZONE, vrf, tuple(
        values.Vip(vip, False, False, tuple(of))
        for vip, of in vips.items()), vnis)
    return resources.NftTable(
        family, rendering.digest(rendering.text(content)), content,
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

    def configure(self, vrf_name=VRF, **fip_route):
        return super().configure(vrf_name, **fip_route)

    def former(self, of, before='', after='', more=''):
        """A table as another version has loaded it.

        :param of: :class:`resources.NftTable` that it reads back as
        :param before: text of the rendered table
        :param after: what stands there instead
        :param more: blocks behind the others
        """
        rendered = rendering.text(of.content)
        self.assertIn(before, rendered)
        self.nft(transaction.replacement(of.content, {}, []).replace(
            rendered, rendered.replace(before, after) + more))
        listed = listing.parse(nft.read_tables([of.family])[of.family])
        nft.stamp_table(of.family, of.digest, listed.listing)
        self.assertEqual({of}, self.read(of))

    def picky(self, word):
        """An nft that refuses what has this word in it.

        :returns: context
        """
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, 'nft')
        with open(path, 'w') as opened:
            opened.write(
                f'#!/bin/sh\n[ "$1" = -f ] || exec {shutil.which("nft")} "$@"'
                f'\ncat > {directory}/read\n'
                f'if grep -qF {word} {directory}/read; then\n'
                f'    echo "Error: syntax error, unexpected {word}" >&2\n'
                f'    exit 1\nfi\n'
                f'exec {shutil.which("nft")} "$@" < {directory}/read\n')
        os.chmod(path, 0o755)
        return mock.patch.dict(
            os.environ, PATH=f'{directory}:{os.environ["PATH"]}')

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
