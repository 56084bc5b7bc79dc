# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The databases by TLS, for the tests of a cloud that has one gateway.

The servers themselves go on as they are; relays in front of them, as many
clouds have them, speak TLS and want certificates.
"""

import os

from lab import node as nodes
from lab import plan
from ovn_network_agent.tests import pki
from ovn_network_agent.tests.lab import base

DIRECTORY = '/run/tls'
DATABASES = {'nb': ('OVN_Northbound', 6651), 'sb': ('OVN_Southbound', 6652)}


class OverTls:
    """Mixed into a class of tests with router alpha on gw1."""

    def _start_relays(self):
        """TLS in front of both databases.

        :returns: (text of the authority, texts of the client's pair)
        """
        central = self.cloud['central']
        outside = central.path(DIRECTORY)
        os.makedirs(outside, exist_ok=True)
        authority = pki.Authority(outside)
        authority.issue('server', plan.HOSTS['central'])
        for name, (database, port) in DATABASES.items():
            central.spawn('tls-' + name, [
                'ovsdb-server', '-vconsole:warn',
                f'--remote=pssl:{port:d}:{plan.HOSTS["central"]}',
                f'--ca-cert={DIRECTORY}/authority.pem',
                f'--certificate={DIRECTORY}/server.crt',
                f'--private-key={DIRECTORY}/server.key',
                f'--unixctl={DIRECTORY}/{name}.ctl',
                f'relay:{database}:unix:/run/ovn/ovn{name}_db.sock'])
            self.addCleanup(lambda n='tls-' + name: (
                n in central.services and central.stop(n)))
        return [open_and_read(path) for path in (
            authority.path, *authority.issue('client'))]

    def _restart_agent(self, options):
        """Stop without a clean-up, as a restart does; start with options.

        :param options: of section [ovn]
        """
        self.agent.kill()
        self.agent.config['ovn'] = options
        self.cloud.start_agents(names=['gw1'])

    def test_over_tls(self):
        """Row PRE-13: floating IPs come, answer and stay by TLS as well."""
        gateway, before = self.cloud['gw1'], dict(self.agent.config['ovn'])
        options = dict(before)
        for name, (_database, port) in DATABASES.items():
            options[f'ovn_{name}_remote'] = (
                f'ssl:{plan.HOSTS["central"]}:{port:d}')
        for what, text in zip(('ca', 'cert', 'key'), self._start_relays(),
                              strict=True):
            path = f'{DIRECTORY}/{what}.pem'
            gateway.write(path, text, 0o600)
            options['ovn_ssl_' + what] = path
        mark = self.mark('gw1')
        with self.probing(self.fip.address) as running:
            self.addCleanup(self._restart_agent, before)
            self._restart_agent(options)
            for name, (database, _port) in DATABASES.items():
                remote = options[f'ovn_{name}_remote']
                self.wait_said('gw1', f'Connected to {database} at {remote}',
                               mark)
            self.another()
            # Lost, with the reason, and nothing happens; and back.
            mark = self.mark('gw1')
            self.cloud['central'].stop('tls-sb')
            self.wait_said('gw1', 'OVN_Southbound is not connected', mark)
            self.cloud['central'].start_again('tls-sb')
            self.wait_said('gw1', 'No longer degraded', mark, 60)
            self.another()
            self.lossless(running)
        nodes.wait_until('the route is ours', lambda: self.default_route(
            self.alpha), base.SETTLE)


def open_and_read(path):
    """Content of a file, text."""
    with open(path, encoding='ascii') as opened:
        return opened.read()
