# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""No secret of an option gets out of the configuration."""

import json

import fixtures
from oslo_config import cfg
from oslotest import base

from ovn_network_agent.conf import effective
from ovn_network_agent.conf import opts
from ovn_network_agent.tests import configs

SECRET = 'geheim'
# How a text may hold a secret.
FORMS = ('ssh --password={} frr', 'docker exec -e DB_PASSWORD={} frr',
         'curl http://bob:{}@192.0.2.1/x', 'tcp:bob:{}@192.0.2.1:6640',
         'env API_KEY={} run', 'run --token {}', "run --secret='{}'",
         '/run/password={}/socket', 'password={}')


class PlantedTest(base.BaseTestCase):
    """A secret in every option that can hold a text."""

    def planted(self):
        """(configuration, number of options with a secret)."""
        conf = configs.conf()
        opts.register_daemons(conf)
        count = 0
        for section, option in effective.options(conf):
            for form in FORMS:
                text = form.format(f'{SECRET}{count}')
                try:
                    conf.set_override(
                        option.dest, text,
                        None if section == 'DEFAULT' else section)
                except (ValueError, cfg.Error):
                    continue
                count += 1
                yield section, option, conf, text

    def test_no_option_shows_its_secret(self):
        found = set()
        for section, option, conf, text in self.planted():
            shown = json.dumps(effective.shown(conf))
            self.assertNotIn(SECRET, shown, (section, option.dest, text))
            found.add(option.dest)
        self.assertLessEqual({'vtysh_wrapper', 'ovs_wrapper',
                              'helper_command'}, found)

    def test_the_secret_is_found_in_other_texts(self):
        """Such as the log, where no word says what it is."""
        for section, option, conf, text in self.planted():
            known = effective.secrets(conf)
            self.assertTrue(known, text)
            said = f'could not run: {known[0]}, and {text}'
            self.assertNotIn(SECRET, json.dumps(effective.everywhere(
                {'log': [said], 'of': {'it': said}}, known)))


class MaskTest(base.BaseTestCase):

    def test_what_is_no_secret_stays(self):
        for text in ('ssl:192.0.2.1:6641,ssl:[2001:db8::1]:6641',
                     '/etc/keys/token.pem', 'ssh root@frr vtysh',
                     'passwordless', '/run/secrets/x.sock', 'br-ex', ''):
            self.assertEqual(text, effective.mask(text))

    def test_a_key_in_a_text(self):
        key = ('-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n'
               '-----END RSA PRIVATE KEY-----')
        self.assertEqual('before *** after',
                         effective.mask(f'before {key} after'))
        self.assertEqual('before ***', effective.mask(f'before {key[:50]}'))

    def test_an_option_that_is_a_secret(self):
        for option in (cfg.StrOpt('x', secret=True), cfg.StrOpt('password'),
                       cfg.StrOpt('db_password')):
            self.assertEqual('***', effective.masked(option, SECRET))
            self.assertEqual([SECRET], effective.secrets_in(option, SECRET))
        self.assertEqual('a,b', effective.masked(cfg.ListOpt('x'), ['a', 'b']))
        self.assertEqual('true', effective.masked(cfg.BoolOpt('x'), True))

    def test_a_value_that_cannot_be_used(self):
        path = self.useFixture(fixtures.TempDir()).join('agent.conf')
        with open(path, 'w') as opened:
            opened.write('[DEFAULT]\nreconcile_interval = often\n')
        conf = configs.loaded('--config-file', path)
        opts.register_daemons(conf)
        value, = [each for each in effective.shown(conf)
                  if each['option'] == 'reconcile_interval']
        self.assertIn('cannot be used', value['value'])
        self.assertIn('often', value['value'])
