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
"""How hard the random tests look."""

import os

# How many times as many examples as in a usual run; tools/test explains it.
FACTOR = float(os.environ.get('RANDOM_BUDGET') or 1)


def examples(usual):
    """How many examples a random test plays.

    :param usual: how many where nobody wants more
    :returns: int, for hypothesis.settings(max_examples=...)
    """
    return max(1, round(usual * FACTOR))
