# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Collections are rare, and leave out what lives on."""

import subprocess
import sys

from oslotest import base

# Only a collection finds objects that refer to themselves.
_PROGRAM = '''
import gc
from ovn_network_agent.runtime.process import interpreter
interpreter.hold()
kept = [[] for _n in range(200000)]
looks = []
gc.callbacks.append(lambda phase, info: phase == 'stop' and looks.append(info))
interpreter.settle()
print(gc.get_freeze_count() > len(kept))
more = [[] for _n in range(1000000)]
print(len([one for one in looks if one['generation'] == 2]))
interpreter.settle()
looks.clear()
for _n in range(60000):
    one = []
    one.append(one)
print(sum(one['collected'] for one in looks) > 40000)
'''


class GarbageTest(base.BaseTestCase):

    def test_collections(self):
        done = subprocess.run([sys.executable, '-c', _PROGRAM], check=True,
                              stdout=subprocess.PIPE)
        self.assertEqual(['True', '0', 'True'], done.stdout.decode().split())
