# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of the privileged side, which each call needs.

To register options again takes as long as many a call of a daemon, because
oslo.config compares each of them with the known one.
"""

import types
from typing import Any

from oslo_config import cfg


def group(options: types.ModuleType) -> Any:
    """The values of a group of options, which is registered if need be.

    :param options: module with OPTS and GROUP
    """
    # A group may be known without its options.
    if (options.GROUP not in cfg.CONF or
            options.OPTS[-1].dest not in cfg.CONF[options.GROUP]):
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return cfg.CONF[options.GROUP]
