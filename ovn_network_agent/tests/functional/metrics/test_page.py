# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page of a whole service in a browser; tenants try to write markup."""

import contextlib
import http.client
import os

from ovn_network_agent import resources
from ovn_network_agent.tests import browser
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests.functional.metrics import base
from ovn_network_agent.tests.functional.service import base as services

FIP = '198.51.100.10'
SCRIPT = '<script>document.title="owned"</script>'
HANDLER = '" onmouseover="document.title=1" x="'


class PageTest(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        # A loopback address of this process alone.
        self.host = (f'127.79.{os.getpid() >> 8 & 255:d}.'
                     f'{os.getpid() & 255:d}')
        self.listen = f'{self.host}:{base.PORT:d}'
        self.url = f'http://{self.listen}/'

    def ask(self):
        return http_get.get(self.host, base.PORT, '/', 10)

    def shown(self, *texts):
        """Wait until the page has these texts, unescaped."""
        self.eventually(lambda: all(
            text in browser.Elements(self.ask()[1]).text for text in texts),
            lambda: self.ask()[1])

    def test_names_that_try_to_be_markup(self):
        there = browser.elsewhere(self, self.host)
        image = f'<img src="{there}x">'
        self.cloud.add_router(SCRIPT, chassis=services.HERE, port='r1')
        self.cloud.add_router(HANDLER + image, chassis=services.HERE,
                              networks=['203.0.113.1/24'], port=HANDLER,
                              mac='fa:16:3e:00:00:09')
        self.cloud.add_nat(SCRIPT, FIP)
        self.world.refuses[resources.Ref(
            resources.KernelRoute.kind, (254, FIP + '/32'))] = f'no {SCRIPT}'
        self.agent(metrics__listen=self.listen)
        self.shown(SCRIPT, HANDLER + image, 'announced', 'kernel_route')
        found = browser.shown(self, self.url)
        for text in (SCRIPT, HANDLER + image, '198.51.100.1',
                     'kernel_route', FIP, 'BGP sessions',
                     'Repairs since the start'):
            self.assertIn(text, found.text)
        self.assertNotIn('owned', found.text.replace(SCRIPT, ''))
        found.harmless(self)

    def test_the_policy_and_who_has_no_page(self):
        self.cloud.add_router('r1', chassis=services.HERE)
        agent = self.agent(metrics__listen=self.listen)
        self.shown('r1')
        with contextlib.closing(http.client.HTTPConnection(
                self.host, base.PORT, timeout=10)) as asked:
            asked.request('GET', '/')
            self.assertTrue(asked.getresponse().getheader(
                'Content-Security-Policy').startswith("default-src 'none'; "))
        self.stop(agent)
        agent.close()
        self.agent(metrics__listen=self.listen, metrics__page='never')
        self.eventually(lambda: self.ask()[0] == 404, self.ask)
