# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The view over connections that end and come back."""

import shutil

from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


class ReconnectTest(base.OvsdbTestCase):

    tcp = True

    def setUp(self):
        super().setUp()
        for n in range(1, 4):
            self.cloud.add_router(f'r{n}', chassis=HERE, networks=[
                f'198.51.100.{n}/24'])
            self.cloud.add_nat(f'r{n}', f'198.51.100.{n}0')

    def routers(self, eyes):
        """All addresses by name of the router, as seen now."""
        seen = eyes.look()
        return {r.name: set(seen.addresses[r.uuid]) for r in seen.routers}

    def watch(self, eyes, until):
        """Look again and again; give every different set of routers."""
        seen = []

        def look():
            routers = self.routers(eyes)
            if not seen or seen[-1] != routers:
                seen.append(routers)
            return until()
        self.eventually(look, 'connected again')
        return seen

    def lost(self, eyes, name):
        self.eventually(lambda: not eyes.databases[name].connected,
                        f'{name} is lost')

    def test_the_last_view_stays_while_a_server_is_gone(self):
        for name in ('nb', 'sb', 'ovs'):
            eyes = self.eyes()
            before = views.timeless(eyes.look())
            self.servers[name].kill()
            self.lost(eyes, name)
            self.assertEqual(before, views.timeless(eyes.look()))
            self.assertEqual(before, views.timeless(eyes.look(full=True)))
            self.servers[name].start()
            eyes.stop()

    def test_the_same_file_again_never_gives_half_a_view(self):
        eyes = self.eyes()
        whole = self.routers(eyes)
        self.assertEqual({
            f'neutron-r{n}': {f'198.51.100.{n}', f'198.51.100.{n}0'}
            for n in range(1, 4)}, whole)
        for name in ('nb', 'sb'):
            self.servers[name].kill()
            self.lost(eyes, name)
            self.servers[name].start()
            seen = self.watch(eyes, lambda: eyes.databases[name].connected)
            seen += self.watch(eyes, lambda: True)
            self.assertEqual([whole] * len(seen), seen)

    def test_what_changed_meanwhile_is_seen(self):
        eyes = self.eyes()
        eyes.look()
        self.nb.kill()
        self.lost(eyes, 'nb')
        # Another server changes the file, so that the agent hears nothing.
        self.nb.start()
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r2', '198.51.100.22')
        self.cloud.remove_router('r3')
        self.nb.kill()
        self.nb.start()

        def wanted():
            return self.routers(eyes) == {
                'neutron-r1': {'198.51.100.1'},
                'neutron-r2': {'198.51.100.2', '198.51.100.20',
                               '198.51.100.22'}}
        self.eventually(wanted, lambda: eyes.look().routers)
        self.assertEqual(eyes.look(), views.fresh(eyes))

    def test_other_content_of_the_same_size(self):
        # New rows in the place of old ones: nobody tells which have gone.
        eyes = self.eyes()
        eyes.look()
        self.nb.kill()
        self.nb.create()
        self.nb.start()
        for n in range(1, 4):
            lrp = ovsdb.insert(
                'Logical_Router_Port', 'lrp', name=f'lrp-r{n:d}',
                mac='fa:16:3e:00:00:01',
                networks=f'203.0.113.{n:d}/24')
            self.nb.transact(lrp, ovsdb.insert(
                'Logical_Router', name=f'neutron-r{n:d}',
                ports=['named-uuid', 'lrp']))
        self.eventually(
            lambda: [r.ports[0].networks for r in sorted(
                eyes.look().routers, key=lambda r: r.name)] ==
            [(f'203.0.113.{n}/24',) for n in range(1, 4)],
            lambda: eyes.look().routers)
        self.assertEqual(eyes.look(), views.fresh(eyes))
        self.assertEqual({f'neutron-r{n}': {f'203.0.113.{n}'}
                          for n in range(1, 4)}, self.routers(eyes))

    def test_a_list_of_servers_goes_on_with_the_next(self):
        other = ovsdb.Server('nb')
        self.addCleanup(other.close)
        self.nb.kill()
        with open(self.nb.file, 'rb') as source, open(
                other.file, 'wb') as target:
            shutil.copyfileobj(source, target)
        self.nb.start()
        eyes = base.Eyes({**self.remotes(),
                          'nb': f'{self.nb.remote},{other.remote}'})
        self.addCleanup(eyes.stop)
        eyes.start()
        before = eyes.look()
        other.start()
        self.nb.kill()
        self.eventually(lambda: eyes.databases['nb'].connected and
                        not eyes.look().routers != before.routers,
                        'connected to the other one')
        self.assertEqual(before.routers, eyes.look().routers)
