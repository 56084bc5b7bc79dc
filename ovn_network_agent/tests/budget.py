# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
