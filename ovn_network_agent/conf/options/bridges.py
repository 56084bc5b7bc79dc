# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The provider bridges that the agent serves."""

import typing


def served(conf: typing.Any) -> tuple[str, ...]:
    """The bridges that the agent serves, the default bridge first."""
    return (conf.bridge_dev, *conf.further_bridges)
