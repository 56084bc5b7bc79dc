# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An ovn-network-agent-ctl in PATH that knows three addresses."""

import json
import os
import pathlib

import fixtures

# A tenant may give such a name to a router.
_HOSTILE = '$(touch owned); `touch owned`'
_PROGRAM = '#!/bin/sh\n[ "$*" = "addresses --json" ] && cat {}\n'


class Agent(fixtures.Fixture):
    """Answers "addresses --json" as the agent does.

    :ivar path: of the working directory of a shell, a text
    :ivar environment: of a shell, a dict
    """

    def _setUp(self):
        self.path = self.useFixture(fixtures.TempDir()).path
        self._program = pathlib.Path(self.path, 'bin/ovn-network-agent-ctl')
        self._program.parent.mkdir()
        answer = pathlib.Path(self.path, 'bin/answer')
        answer.write_text(json.dumps({'addresses': [
            {'address': '198.51.100.10', 'router_name': 'router1'},
            {'address': '198.51.100.11', 'router_name': _HOSTILE},
            {'address': '2001:db8::1', 'router_name': ''}]}, indent=2))
        self._program.write_text(_PROGRAM.format(answer))
        self._program.chmod(0o755)
        self.environment = {
            **os.environ, 'HOME': self.path, 'TERM': 'dumb',
            'PATH': f'{self._program.parent}:{os.environ["PATH"]}'}

    def stop(self):
        """Answer nothing any more."""
        self._program.write_text('#!/bin/sh\nexit 3\n')

    def owned(self):
        """What a shell has made in its working directory, list of text."""
        return [name for name in os.listdir(self.path) if name == 'owned']
