# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The plan of the running agent for people, and its exit status."""

import io
import json
import subprocess
import sys

from oslotest import base

from ovn_network_agent.ctl import running_agent


def step(verb, **values):
    return {'backend': 'route', 'verb': verb, 'kind': 'kernel_route',
            'ref': 'r', 'was': '' if verb == 'create' else 'dev=old',
            'will': '' if verb == 'delete' else 'dev=new', 'reason': '',
            **values}


class PlanTest(base.BaseTestCase):

    def text(self, *steps, problems=()):
        counts = {verb: sum(1 for each in steps if each['verb'] == verb)
                  for verb in ('create', 'update', 'delete')}
        return running_agent.of_plan({
            'steps': list(steps), 'counts': counts,
            'unreadable': {}, 'problems': list(problems)},
            io.StringIO())

    def test_by_backend(self):
        self.assertEqual(
            'route:\n'
            '  + kernel_route dev=new\n'
            '  ~ kernel_route dev=new (was dev=old): no space\n'
            'flow:\n'
            '  - flow dev=old\n'
            '1 to create, 1 to update, 1 to delete; nothing was changed\n',
            self.text(step('create'), step('update', reason='no space'),
                      step('delete', backend='flow', kind='flow')))

    def test_nothing(self):
        self.assertEqual(
            '! left out\n'
            '0 to create, 0 to update, 0 to delete; nothing was changed\n',
            self.text(problems=['left out']))

    def test_two_means_a_difference_and_nothing_else(self):
        for argv, expected in (
                (('plan', '--nonsense'), 1), (('plan', 'nonsense'), 1),
                (('plan', '--json=x'), 1),
                (('--config-file', '/nowhere.conf', 'plan'), 1),
                (('--socket', '/nowhere/socket', 'plan'), 4),
                (('resync', '--nonsense'), 2)):
            ended = subprocess.run(
                [sys.executable, '-W', 'ignore', '-m',
                 'ovn_network_agent.cmd.ctl', *argv], text=True,
                capture_output=True)
            self.assertEqual(expected, ended.returncode, ended.stderr)
            self.assertEqual('', ended.stdout)
            self.assertNotIn('Traceback', ended.stderr)


class ResyncTest(base.BaseTestCase):

    def test_changes_and_failures(self):
        found = json.loads(json.dumps({
            'backends': ['route', 'rule'], 'missing': [],
            'changes': [{'backend': 'route', 'verb': 'created',
                         'kind': 'kernel_route', 'ref': 'r',
                         'text': 'dst=x'}],
            'failures': [
                {'backend': 'route', 'kind': 'kernel_route', 'ref': 'y',
                 'reason': 'no space'},
                {'backend': 'rule', 'kind': '', 'ref': '',
                 'reason': 'rule is down'}]}))
        self.assertEqual(
            'route: created kernel_route dst=x\n'
            'route: failed: kernel_route y: no space\n'
            'rule: failed: rule is down\n'
            '2 backends read, 1 change, 2 failures\n',
            running_agent.of_resync(found))
