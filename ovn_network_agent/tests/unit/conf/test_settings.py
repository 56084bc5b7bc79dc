# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings: frozen values of options, taken from live ones at an edge."""

import operator

from oslo_config import cfg
from oslotest import base

from ovn_network_agent.conf import reload
from ovn_network_agent.conf import settings
from ovn_network_agent.tests.unit.conf import base as confs


class Plugin:
    """What a driver declares."""

    CONFIG_OPTS = (cfg.ListOpt('words', default=['a', 'b']),
                   cfg.DictOpt('colours', default={'a': 'red'}),
                   cfg.IntOpt('two-parts', default=1))
    OTHER_OPTIONS = ('reconcile_interval', 'fip_route.announce_method')


class Announcing:
    OTHER_OPTIONS = ('fip_route.announce_method',)


class SettingsTest(base.BaseTestCase):

    def test_nothing_can_be_changed(self):
        made = settings.Settings(
            width=1, words=['a', ['b']], colours={'a': ['red']},
            letters={'x'}, note=settings.Settings(text='t'))
        for where in (made, made.note):
            self.assertRaises(AttributeError, setattr, where, 'width', 2)
            self.assertRaises(AttributeError, setattr, where, '_values', {})
            self.assertRaises(AttributeError, delattr, where, '_values')
        self.assertEqual((('a', ('b',)), ('red',)),
                         (made.words, made.colours['a']))
        self.assertRaises(TypeError, operator.setitem, made.colours, 'a',
                          'blue')
        self.assertEqual(frozenset('x'), made.letters)

    def test_what_they_are_made_from_may_change(self):
        words = ['a']
        made = settings.Settings(words=words)
        words.append('b')
        self.assertEqual(('a',), made.words)

    def test_they_are_equal_when_all_values_are(self):
        def made(**note):
            return settings.Settings(width=1, note=settings.Settings(**note))

        self.assertEqual(made(words=['a']), made(words=['a']))
        self.assertNotEqual(made(words=['a']), made(words=['b']))
        self.assertNotEqual(made(), made(words=['a']))
        self.assertNotEqual(made(), None)

    def test_a_text_of_them_has_no_values(self):
        self.assertEqual('Settings(password)',
                         repr(settings.Settings(password='hush')))


class OfTest(confs.ConfTestCase):

    def known(self, plugin, text='', name='note'):
        conf = self.load(text)
        conf.register_opts(getattr(plugin, 'CONFIG_OPTS', ()), group=name)
        return settings.driver_settings(settings.live(conf), name, plugin)

    def test_the_own_section_the_node_and_what_is_named(self):
        known = self.known(Plugin, '[note]\nwords = x,y\n'
                           '[DEFAULT]\nnetwork_cidr = 198.51.100.0/24\n')
        self.assertEqual((('x', 'y'), 1, ('198.51.100.0/24',)), (
            known.note.words, known.note.two_parts, known.network_cidr))
        self.assertEqual(('br-ex', 'vrf-provider', 60, 'static'), (
            known.bridge_dev, known.frr.vrf_name, known.reconcile_interval,
            known.fip_route.announce_method))

    def test_nothing_else_is_known(self):
        known = self.known(Plugin)
        for where, option in ((known, 'gateway_port'), (known, 'ovn'),
                              (known.frr, 'vtysh_wrapper'),
                              (known.fip_route, 'route_table_id')):
            error = self.assertRaises(AttributeError, getattr, where, option)
            self.assertIn(option, str(error))
            self.assertIn('OTHER_OPTIONS', str(error))

    def test_what_is_no_option(self):
        for name in ('frr', 'nothing', 'frr.nothing', 'nowhere.nothing'):
            class Wrong:
                OTHER_OPTIONS = (name,)

            self.assertRaises(cfg.NoSuchOptError, self.known, Wrong)


class AfterTest(confs.ConfTestCase):

    def test_only_what_may_change_is_other(self):
        conf = self.load('[fip_route]\nannounce_method = static\n')
        before = settings.driver_settings(
            settings.live(conf), 'fip_route', Announcing)
        with open(conf.config_file[0], 'w') as opened:
            opened.write('[DEFAULT]\nbridge_dev = br-new\n'
                         '[fip_route]\nannounce_method = kernel\n')
        prepared = reload.reload(conf, lambda read: settings.driver_settings(
            read, 'fip_route', Announcing)).prepared
        self.assertNotEqual(before, prepared)
        self.assertEqual(('br-ex', 'kernel'), (
            prepared.bridge_dev, prepared.fip_route.announce_method))
        # As it turned out to be.
        self.assertEqual(prepared, settings.driver_settings(
            settings.live(conf), 'fip_route', Announcing))
