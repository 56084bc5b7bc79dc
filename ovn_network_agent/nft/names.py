# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names of chains and sets of our table."""

import re

_NAME = re.compile(r'[a-z][a-z0-9_]{0,62}')


def is_name(name: object) -> bool:
    """Whether a chain or set of ours can have this name.

    The names of an earlier version count, too: a new table removes its chains.
    """
    return type(name) is str and bool(_NAME.fullmatch(name))
