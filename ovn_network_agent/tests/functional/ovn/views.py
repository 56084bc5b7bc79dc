# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The same view, built afresh."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.tests.functional.ovn import cloud

HERE = cloud.CHASSIS


def fresh(eyes):
    """The same view built by somebody who has never seen anything."""
    with (eyes.databases['nb'].rows() as nb,
          eyes.databases['sb'].rows() as sb):
        builder = snapshot.Builder(eyes.view._conf.gateway_port,
                                   inputs.choice(eyes.view._conf))
        return builder.complete(builder.build(
            nb, sb, eyes.view._local.wiring, {}, model.Phase.RUNNING))


def timeless(seen):
    """A view without what it knows beside the rows: the facts of groups."""
    return dataclasses.replace(seen, groups=tuple(
        group._replace(facts=frozenset())
        for group in seen.groups))
