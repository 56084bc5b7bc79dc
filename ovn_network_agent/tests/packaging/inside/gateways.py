# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Gateways of the lab that are a Debian each, with nothing of ours.

These tests run inside of the lab's machine; :mod:`..test_gateways` starts
them, and says by variables where everything is.
"""

import os
import shutil

from testtools import matchers

from lab import dump
from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving

# Root file system of the gateways, by the path of the host.
ROOT = 'DEPLOYED_ROOT'
# Files that dpkg, systemd, uuidd and the programs of a user change by
# themselves.  python-ovs asks uuidd, where it runs, for the time in a UUID.
_PRUNED = ('/run/systemd', '/run/udev', '/run/log', '/run/user',
           '/run/openvswitch', '/run/ovn', '/run/frr', '/run/podman',
           '/run/containers', '/run/crun', '/run/libpod', '/run/lock',
           '/run/sshd', '/var/lib/apt', '/var/lib/dpkg', '/var/lib/systemd',
           '/var/log', '/var/cache', '/var/lib/containers',
           '/var/lib/libuuid', '/var/lib/private', '/etc/frr',
           '/etc/openvswitch', '/var/tmp/frr')
_ADDRESSES = 2


class GatewaysTestCase(leaving.LeavingTestCase):
    """Two bare gateways: FRR, OVS and OVN run there.

    :cvar fips: floating IPs of machines behind router alpha
    """

    GATEWAYS = 2
    AGENTS = False
    ROOT = os.environ.get(ROOT, '')

    @classmethod
    def build(cls):
        super().build()
        others = [cls.machine(cls.alpha)[1] for _ in range(_ADDRESSES - 1)]
        cls.fips = [cls.fip, *others]

    @classmethod
    def put(cls, path, name):
        """Copy a file to the node; gives its path there."""
        there = f'/root/{os.path.basename(path)}'
        shutil.copy(path, cls.cloud[name].path(there))
        return there

    def running(self, name):
        """The agent is a service of the node."""
        return True

    # -- traffic ----------------------------------------------------------

    def assert_reached(self):
        """Each floating IP is announced, and answers the client."""
        for fip in self.fips:
            self.cloud.wait_announced(fip.address, self.owner(), base.SETTLE)
            for kind in ('icmp', 'tcp', 'udp'):
                self.reach(self.client, kind, fip.address)

    def upgraded(self, upgrade):
        """Upgrade all gateways, one after the other, without a pause.

        :param upgrade: function that returns after the last gateway
        :returns: :class:`bothways.Report`
        """
        self.settled()
        with self.both_ways() as running, self.followed() as followed:
            upgrade()
            self.settled()
            report = self.finished(running)
        base.note(f'upgrade: {report}; alpha went to '
                  f'{followed.owners(self.alpha)}')
        # A drain loses nothing but in one of forty.
        self.assert_gap(report, leaving.DRAINED_GAP_MS)
        # Once away from its gateway, and perhaps back from the second one.
        self.assertIn(len(followed.owners(self.alpha)), (1, 2))
        return report

    # -- everything an agent could leave ----------------------------------

    @classmethod
    def everything(cls):
        """State of OVN and of the gateways, dict of text to list of text."""
        found = {f'NB {table}': rows
                 for table, rows in dump.northbound(cls.cloud).items()}
        found['NB marks'] = sorted(
            f'{name} {marks}' for name, marks
            in cls.cloud.neutron.marks(cls.alpha).items())
        for name in cls.cloud.gateways:
            node = cls.cloud[name]
            found.update({f'{name}: {about}': lines
                          for about, lines in cls.state(name).items()})
            found[f'{name}: files'] = cls._files(node)
            found[f'{name}: ports'] = sorted(
                node.out('ovs-vsctl', 'list-ports', plan.BRIDGE).splitlines())
            found[f'{name}: Open_vSwitch'] = [node.out(
                'ovs-vsctl', 'get', 'Open_vSwitch', '.', 'external_ids')]
        return found

    @staticmethod
    def _files(node):
        pruned = []
        for path in _PRUNED:
            pruned += ['-path', path, '-o']
        return node.out(
            'find', '/etc', '/opt', '/run', '/usr', '/var', '-xdev',
            '(', *pruned[:-1], ')', '-prune', '-o', '-printf',
            r'%p %U %G %m\n', timeout=300).splitlines()

    def assert_nothing_left(self, before, allowed=()):
        """Nothing of ours is left when the page on removal was followed.

        Both gateways were drained, so the priorities are not those of before.

        :param before: of :meth:`everything`
        :param allowed: beginnings of differences
        """
        self.unchanged(before, self.everything(),
                       ('NB Gateway_Chassis: ', *allowed))
        self.expectThat(min(self.priorities().values()),
                        matchers.GreaterThan(0))

    def unchanged(self, before, after, allowed=()):
        """There is no difference; the test goes on, and fails at its end.

        :param allowed: beginnings of differences that may be
        """
        self.expectThat([
            line for line in dump.difference(before, after)
            if not line.startswith(tuple(allowed))], matchers.Equals([]))

    # -- services ---------------------------------------------------------

    def journal(self, name, unit):
        return self.cloud[name].out('journalctl', '--no-pager', '-u', unit)

    @classmethod
    def _reports(cls):
        yield from super()._reports()
        for name in cls.cloud.gateways:
            try:
                yield f'{name}: journal', cls.cloud[name].out(
                    'journalctl', '--no-pager', '-n', '300')
            except (OSError, nodes.NodeError) as e:
                yield f'{name}: journal', str(e)
