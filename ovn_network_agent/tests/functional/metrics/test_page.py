# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page of a whole service in a browser; tenants try to write markup."""

import contextlib
import html.parser
import http.client
import http.server
import os
import shutil
import subprocess
import threading

import fixtures

from ovn_network_agent import resources
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests.functional.metrics import base
from ovn_network_agent.tests.functional.service import base as services

FIP = '198.51.100.10'
SCRIPT = '<script>document.title="owned"</script>'
HANDLER = '" onmouseover="document.title=1" x="'
LIMIT = 120
WORDS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
         '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync',
         '--enable-logging=stderr')


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Notes each request that a page makes to another server."""

    asked: list[str] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *args):
        """Say nothing."""


class Elements(html.parser.HTMLParser):
    """The elements of a document, their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.said = set(), set(), []
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self):
        return ' '.join(self.said)


class PageTest(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        self.chromium = shutil.which('chromium')
        self.assertTrue(self.chromium, 'install what bindep.txt names')
        # A loopback address of this process alone.
        self.host = (f'127.79.{os.getpid() >> 8 & 255:d}.'
                     f'{os.getpid() & 255:d}')
        self.listen = f'{self.host}:{base.PORT:d}'
        self.url = f'http://{self.listen}/'

    def elsewhere(self):
        """A server that no page may ask; its URL."""
        server = http.server.ThreadingHTTPServer((self.host, 0), Elsewhere)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        Elsewhere.asked = []
        return f'http://{self.host}:{server.server_address[1]:d}/'

    def browser(self, *argv):
        """A fresh browser; its standard output.

        It notes on standard error what the policy of a page forbids.
        """
        ended = subprocess.run(
            [self.chromium, *WORDS, '--user-data-dir=' + self.useFixture(
                fixtures.TempDir()).path, *argv, self.url],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertNotIn('Content Security Policy', ended.stderr)
        return ended.stdout

    def ask(self):
        return http_get.get(self.host, base.PORT, '/', 10)

    def shown(self, *texts):
        """Wait until the page has these texts, unescaped."""
        self.eventually(lambda: all(
            text in Elements(self.ask()[1]).text for text in texts),
            lambda: self.ask()[1])

    def test_names_that_try_to_be_markup(self):
        there = self.elsewhere()
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
        found = Elements(self.browser('--dump-dom'))
        for text in (SCRIPT, HANDLER + image, '198.51.100.1',
                     'kernel_route', FIP, 'BGP sessions',
                     'Repairs since the start'):
            self.assertIn(text, found.text)
        self.assertNotIn('owned', found.text.replace(SCRIPT, ''))
        self.assertEqual(set(), found.tags & {
            'script', 'img', 'iframe', 'link', 'form', 'object'})
        self.assertEqual(set(), {name for name in found.attributes
                                 if name.startswith('on')})
        self.assertEqual([], Elsewhere.asked)

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
