# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A page in a real browser."""

import html.parser
import http.server
import shutil
import subprocess
import threading

import fixtures

_LIMIT = 120  # seconds
_WORDS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
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

    def harmless(self, case):
        """No name has become markup, and nothing was loaded."""
        case.assertEqual(set(), self.tags & {
            'script', 'img', 'iframe', 'link', 'form', 'object'})
        case.assertEqual(set(), {name for name in self.attributes
                                 if name.startswith('on')})
        case.assertEqual([], Elsewhere.asked)


def elsewhere(case, host):
    """A server on a loopback address that no page may ask; its URL."""
    server = http.server.ThreadingHTTPServer((host, 0), Elsewhere)
    case.addCleanup(server.server_close)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    case.addCleanup(thread.join)
    case.addCleanup(server.shutdown)
    Elsewhere.asked = []
    return f'http://{host}:{server.server_address[1]:d}/'


def shown(case, url):
    """The :class:`Elements` that a fresh browser makes of a page.

    The browser notes on standard error what the policy of a page forbids.
    """
    chromium = shutil.which('chromium')
    case.assertTrue(chromium, 'install what bindep.txt names')
    ended = subprocess.run(
        [chromium, *_WORDS, '--user-data-dir=' + case.useFixture(
            fixtures.TempDir()).path, '--dump-dom', url],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_LIMIT)
    case.assertEqual(0, ended.returncode, ended.stderr)
    case.assertNotIn('Content Security Policy', ended.stderr)
    return Elements(ended.stdout)
