# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is known of a gateway group, and the state that follows."""


from ovn_network_agent import model
from ovn_network_agent.gateways import membership


def facts(**known):
    """What is known of a group: facts by name.

    :param known: name of a :class:`model.Fact` = whether that is so
    """
    return frozenset(model.Fact[name] for name, true in known.items() if true)


def tenure(moving):
    """Of a group whose ports OVN may be about to move, or not."""
    return model.Tenure.OUTRANKED if moving else model.Tenure.FIRST


def settled(group, node, conf, held=False):
    """A group in the state that follows from what it is in.

    :param held: whether it waits for its relay
    """
    return group._replace(state=membership.settled(
        group, node, conf, held))
