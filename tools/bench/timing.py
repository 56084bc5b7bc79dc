# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
