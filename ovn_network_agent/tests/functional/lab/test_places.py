# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A clone that lies where each node has a directory of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from lab import places

# A node runs a program of the clone, as it runs the agent.
PROGRAM = '''\
import sys
from lab import node
one = node.Node('one')
try:
    print(one.out(sys.executable, '-c', 'import lab.plan; print(lab.plan)'))
    open('/var/tmp/of-the-machine', 'w').close()
    print(one.out('ls', '-A', '/var/tmp'))
finally:
    one.close()
'''


class PlaceTest(unittest.TestCase):
    """Not of oslotest: with another HOME the kernel would be built anew."""

    def test_below_var_tmp(self):
        clone = tempfile.mkdtemp(prefix='clone-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, clone)
        shutil.copytree(os.path.join(places.TOP, 'lab'),
                        os.path.join(clone, 'lab'))
        ended = subprocess.run(
            [sys.executable, '-m', 'lab', 'run', '--mem', '512M', '--',
             sys.executable, '-c', PROGRAM], cwd=clone,
            env={**os.environ, 'PYTHONPATH': clone},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120)
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)
        self.assertIn(f"from '{clone}/lab/plan.py'", ended.stdout)
        # What else is in the machine's directory is not in that of the node.
        self.assertEqual(os.path.basename(clone),
                         ended.stdout.split()[-1])
