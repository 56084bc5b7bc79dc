# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The proof that all addresses of a router are announced.  Pure.

The former owner of a gateway port announces until the new owner has the proof.
"""

from collections.abc import Iterable
import dataclasses

from ovn_network_agent import resources
from ovn_network_agent.common import networks


def complete(proof: resources.Advertised,
             wanted: Iterable[resources.Resource]
             ) -> resources.Advertised | None:
    """The proof with all that it requires, None if it is not wanted.

    There is none while a resource of the router is only kept as found, or an
    address of its family is reachable and not announced.

    :param wanted: all resources that the driver wants for the router
    """
    addresses: set[str] = set()
    announced: dict[str, resources.Ref] = {}
    following: list[resources.Ref] = []
    for resource in wanted:
        if resource.kind == resources.Keep.kind:
            return None
        subject = resource.subject
        # Nobody waits for a proof about a VNI.
        if (not subject or resource.kind == resources.VniRoute.kind or
                resource.kind == resources.DefaultRoute.kind or
                networks.family_of_valid(subject) != proof.version):
            continue
        if resource.follows:
            following.append(resource.ref)
        if resource.stage is resources.Stage.ANNOUNCE:
            announced[subject] = resource.ref
        elif resource.kind != resources.Flow.kind:
            addresses.add(subject)
    if not addresses <= announced.keys():
        return None
    prefixes = tuple(sorted(announced))
    return dataclasses.replace(
        proof, prefixes=prefixes, requires=(
            *proof.requires, *map(announced.__getitem__, prefixes),
            *sorted(set(following), key=str)))
