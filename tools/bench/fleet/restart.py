# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a restart of a server costs it and real agents."""

import time

from tools.bench import processes
from tools.bench.fleet import stage

# Seconds for all agents to be current again.
_LIMIT = 400
# Seconds afterwards, in which agents may still do what they should not.
_AFTERWARDS = 5
_TENTHS = (('first', 0), ('10 %', 1), ('half', 5), ('90 %', 9), ('last', 10))


def run(options):
    """Restart NB, SB, and both, under real agents; prints."""
    with stage.settled(options) as made:
        for names in (('nb',), ('sb',), ('nb', 'sb')):
            once(made, names, options.away)


def once(made, names, away: float):
    """Servers are away for some seconds, and all agents lose them."""
    servers = {name: getattr(made.cloud, name) for name in names}
    for server in servers.values():
        server.kill()
    time.sleep(away)
    moments = []

    def current():
        moments.extend(moment for part in made.fleet.ask('connected', _LIMIT)
                       for moment in part)
        time.sleep(_AFTERWARDS)
    for server in servers.values():
        server.start()
    begun = time.monotonic()
    peaks = {name: processes.Peak(server.pid)
             for name, server in servers.items()}
    found = made.measurement.step(
        f'{" and ".join(names)} back after {away:.0f} s, and '
        f'{_AFTERWARDS} s more', lambda: None, current)
    after = sorted(moment - begun for moment in moments)
    print(f'    current again: {_spread(after)}; {found.attempts} attempts '
          f'to connect; {found.size / len(after) / 1000:.0f} kB for each '
          f'agent; {found.withdrawn} withdrawn, {made.fleet.objects()} '
          'objects there', flush=True)
    for name, server in servers.items():
        print(f'    {name}: in its busiest second '
              f'{peaks[name].end() * 100:.0f} % of a processor; memory at '
              f'most {server.memory(True):.0f} MB', flush=True)
    return found


def _spread(after):
    return ', '.join(
        f'{name} {after[min(tenth * len(after) // 10, len(after) - 1)]:.1f} s'
        for name, tenth in _TENTHS)
