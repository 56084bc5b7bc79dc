# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of the privileged side, which each call needs.

To register them again takes as long as many a call: oslo.config compares each.
"""

import types
from typing import Any

from oslo_config import cfg


def group(options: types.ModuleType) -> Any:
    """The values of a module's OPTS and GROUP, registered if need be."""
    # It may be known without its options.
    if (options.GROUP not in cfg.CONF or
            options.OPTS[-1].dest not in cfg.CONF[options.GROUP]):
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return cfg.CONF[options.GROUP]
