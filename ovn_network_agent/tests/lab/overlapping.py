# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An overlap of two owners of gateways, by the agent's own program."""

import contextlib
import json
import subprocess
import sys

from lab import node as nodes
from lab import plan
from ovn_network_agent.privileged import overlap_keeper

# The agent would end an overlap with its own key.
_MARK = 'lab-overlap'
# Seconds after which the program ends it in any case.
_LIMIT = 30


@contextlib.contextmanager
def begun(node, others):
    """An overlap while the block runs: a node serves, and is dead to others.
    """
    keeper = node.popen(
        [sys.executable, '-I', '-S', overlap_keeper.__file__, json.dumps(
            overlap_keeper.Options(
                database='unix:/run/openvswitch/db.sock', rundir='/run/ovn',
                limit=_LIMIT, resume=_LIMIT, mark=_MARK,
                remote=_MARK + '-remote',
                addresses=[plan.HOSTS[name] for name in others]))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if keeper.stdout.readline() != 'begun\n':
            raise nodes.NodeError(keeper.communicate()[0])
        yield
    finally:
        said = keeper.communicate()[0]
    if said != 'ended\n':
        raise nodes.NodeError(f'{node.name}: {said}')
