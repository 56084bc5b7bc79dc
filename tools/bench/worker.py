# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One subject in namespaces of its own: a child of tools.bench.

Reads requests from its standard input, and answers on its standard output:
JSON, one object a line.  A request names a scenario and its arguments; the
answer has "found", a list of [what, place, unit, value], or "error".
"""

import contextlib
import json
import os
import sys
import traceback

from tools.bench import bare
from tools.bench import host as hosts
from tools.bench import peer
from tools.bench import ports
from tools.bench import routing
from tools.bench import scenarios
from tools.bench import tenants
from tools.bench import worlds

# By the kind of the subject: its node for each kind of addresses, and its
# world.
_OURS = {'fips': hosts.Host, 'ports': ports.Host, 'networks': tenants.Host}
_KINDS = {'agent': (_OURS, worlds.World),
          'floor': (_OURS, bare.World),
          'peer': ({'fips': peer.Host, 'ports': ports.PeerHost}, peer.World)}


def main():
    settings = json.loads(sys.argv[1])
    hosts.enter()
    # What programs print must not get between the answers.
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    nodes, kind = _KINDS[settings['kind']]
    with contextlib.closing(nodes[settings['addresses']](
            settings['routers'], program=settings['program'])) as host:
        if settings['work_queue'] is not None:
            routing.wait_before_work(settings['work_queue'])
        host.interval = settings['interval']
        world = kind(host, settings['method'])
        for line in sys.stdin:
            json.dump(_answer(world, json.loads(line)), answers)
            print(file=answers, flush=True)
    return 0


def _answer(world, request):
    try:
        return {'found': scenarios.run(world, **request)}
    except Exception as error:  # The scenario costs only itself.
        traceback.print_exc()
        with contextlib.suppress(OSError):
            print(world.host.log('agent')[-2000:], file=sys.stderr)
        return {'error': f'{type(error).__name__}: {error}'}


if __name__ == '__main__':
    sys.exit(main())
