# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The provider bridges that the agent serves."""

import typing


def served(conf: typing.Any) -> tuple[str, ...]:
    """The bridges that the agent serves, the default bridge first.

    :param conf: ConfigOpts, or :class:`conf.settings.Settings`
    """
    return (conf.bridge_dev, *conf.further_bridges)
