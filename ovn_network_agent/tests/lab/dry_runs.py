# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a dry run prints, and that it leaves everything as it was."""

import re

from lab import dump
from lab import node as nodes
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_SIGNS = {'+': 'created', '~': 'updated', '-': 'deleted'}
_PLAN = re.compile(r'^([+~-]) (.*)$', re.MULTILINE)
# Tables of the local database, and columns that are not counters.
_WIRING = {'Open_vSwitch': (), 'Bridge': (), 'Port': (), 'Interface': (
    'name', 'type', 'ofport', 'options', 'external_ids', 'mac_in_use')}


class DryRuns:
    """A mixin of a LabTestCase."""

    def everything(self, name):
        """A node, its sysctls, all tables of NB, the wiring, files.

        Left out is what changes by itself: counters and ages (of flows, of
        routes and neighbours), neighbours that the kernel learned, what
        BGP brings from elsewhere, and statistics of interfaces in OVSDB.

        :param name: of the node
        :returns: dict of a heading to a list of lines
        """
        node = self.cloud[name]
        # The kernel takes a second or two to be sure of its IPv6 addresses.
        nodes.wait_until('no address is tentative', lambda:
                         'tentative' not in node.out('ip', '-o', 'addr'),
                         base.SETTLE)
        found = base.without_fabric(dump.node(node))
        for argv in (('ip', '-d', '-o', 'link'), ('ip', '-o', 'addr'),
                     ('ip', '-6', 'rule'),
                     ('ip', '-6', 'route', 'show', 'table', 'all'),
                     *self._wiring(),
                     ('sh', '-c', 'md5sum /etc/frr/* '
                      '/etc/ovn-network-agent/*')):
            found[' '.join(argv)] = [
                dump.VOLATILE.sub('', line)
                for line in node.out(*argv).splitlines()
                if not line.startswith('statistics')]
        # Some cannot be read, which newer versions take for a failure.
        found['sysctl'] = sorted(node.out(
            'sysctl', '-a', '--pattern',
            r'net\.ipv[46]\.(conf|neigh|ip_forward)|l3mdev',
            check=False).splitlines())
        self.assertNotEqual([], found['sysctl'])
        found['nb'] = self.cloud['central'].out(
            'ovsdb-client', 'dump', 'unix:/run/ovn/ovnnb_db.sock',
            'OVN_Northbound').splitlines()
        return found

    @staticmethod
    def _wiring():
        for table, columns in _WIRING.items():
            yield ('ovs-vsctl', *(['--columns=' + ','.join(columns)]
                                  if columns else []), 'list', table)

    def _proved(self):
        """Whether each owner of a default route has proved that it announces.

        An agent that does not run proves nothing, and changes nothing.
        """
        return all(
            owner == row.external_ids.get(ownership.EXT_ID_ADVERTISED) or
            not self.running(owner)
            for row in self.cloud.nb.rows('Logical_Router_Static_Route')
            if ownership.is_managed(row.external_ids)
            for owner in [row.external_ids[ownership.EXT_ID_CHASSIS]])

    def dry_run(self, name):
        """The plan of a node, after which everything is as it was.

        :returns: list of 'created kind ...' lines
        """
        # The last thing that an agent writes after a start or a move.
        nodes.wait_until('what is announced is proved', self._proved,
                         base.SETTLE)
        before = self.everything(name)
        done = self.cloud[name].run(
            self.cloud.agents[name].command('--dry-run'))
        self.assertEqual([], dump.difference(before, self.everything(name)))
        self.assertIn('nothing was changed', done.stdout)
        return [f'{_SIGNS[sign]} {text}'
                for sign, text in _PLAN.findall(done.stdout)]
