# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Times of calls, and their lines."""

import statistics
import time


def timed(function, *args):
    """(milliseconds, result)."""
    started = time.perf_counter()
    result = function(*args)
    return (time.perf_counter() - started) * 1000, result


def report(what, samples):
    """Print median and largest of a list of milliseconds."""
    print(f'{what:52} median {statistics.median(samples):8.2f} ms   '
          f'max {max(samples):8.2f} ms   n {len(samples)}', flush=True)
