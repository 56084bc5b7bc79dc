# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page for a browser, and who gets one."""

import threading

from oslotest import base

from ovn_network_agent.control.reports import situation
from ovn_network_agent.metrics import endpoint
from ovn_network_agent.metrics import page
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.control import test_screen

MARKUP = '<b title="x">&amp;'
ESCAPED = '&lt;b title=&quot;x&quot;&gt;&amp;amp;'


def everywhere(value):
    """A value with markup as each text but the states."""
    if isinstance(value, dict):
        return {key: each if key in ('state', 'phase') else everywhere(each)
                for key, each in value.items()}
    if isinstance(value, list):
        return [everywhere(each) for each in value]
    return MARKUP if isinstance(value, str) else value


class PageTest(test_screen.ScreenTestCase):

    def test_each_text_is_escaped(self):
        row = {'address': '', 'router_name': '', 'state': 'failed',
               'layer': '', 'since': '', 'why': ''}
        found = everywhere({
            **self.told(reasons=['one'], problem='two', sessions=[],
                        bgp='three'), 'stuck': [row], 'repairs': [
                            {'kind': '', 'backend': '', 'count': 1,
                             'last': ''}]})
        found['groups'] = self.told(self.group())['groups']
        found['groups'][0]['ports'][0]['networks'] = [MARKUP]
        said = page.render(found, MARKUP).decode()
        self.assertNotIn(MARKUP, said)
        self.assertLess(12, said.count(ESCAPED), said)

    def test_a_long_table_is_cut(self):
        reasons = [f'reason {n}' for n in range(page.MOST + 5)]
        rows = [{**test_screen.PEER, 'peer': f'peer {n}'}
                for n in range(page.MOST + 5)]
        said = page.render(self.told(reasons=reasons, sessions=rows),
                           '').decode()
        self.assertIn('and 5 more', said)
        self.assertNotIn(f'peer {page.MOST}', said)
        self.assertNotIn(f'reason {page.MOST}', said)

    def test_who_gets_a_page(self):
        for listen, wanted, expected in (
                ('127.0.0.1:9132', 'loopback', True),
                ('[::1]:9132', 'loopback', True),
                ('192.0.2.1:9132', 'loopback', False),
                ('0.0.0.0:9132', 'loopback', False),
                ('[::]:9132', 'always', True),
                ('127.0.0.1:9132', 'never', False)):
            self.assertIs(expected, endpoint._has_page(world.conf(
                metrics__listen=listen, metrics__page=wanted)), listen)


class KeptTest(base.BaseTestCase):

    def test_a_question_that_hangs_is_asked_once(self):
        asked, free = [], threading.Event()
        self.addCleanup(free.set)

        def ask():
            asked.append(1)
            free.wait(60)
            return 'answer'
        kept = situation.Kept(ask, 3600)
        for _time in range(3):
            self.assertEqual((None, False), kept.get(0.0, joins=False))
        free.set()
        waiting.eventually(lambda: kept.get(0.0)[1], lambda: asked)
        self.assertEqual(('answer', True), kept.get(0.0))
        self.assertEqual([1], asked)
