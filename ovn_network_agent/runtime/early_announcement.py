# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The routers that a start announces before it knows all others.

With ``announce_method = static``, FRR takes 0.2 ms for each address of a
start, and the drivers take 0.03 ms.  So FRR gets the first routers early, and
works while the drivers are asked about the others.
"""

import dataclasses

from ovn_network_agent import model

#: Most addresses of the first routers.  FRR takes 0.4 s for them, in which the
#: drivers answer about 10,000 others.
AT_MOST = 2000
# As many times as many have to be there, because FRR then makes one more
# transaction.
_WORTH_IT = 2


def first_of(snapshot: model.Snapshot) -> model.Snapshot | None:
    """The view with its first routers alone.

    None where there are few addresses, or few before a router that has too
    many of them.  It has no machines, whose announcements do not wait for a
    router.

    The routers are in the order of their UUIDs, and so are the contributors
    that the engine prefers at a conflict (:mod:`engine.tracking`).  So no
    resource of these routers gives way to what the same driver wants for a
    later one.
    """
    some, count = {}, 0
    for uuid, addresses in snapshot.addresses.items():
        if count + len(addresses) > AT_MOST:
            break
        some[uuid] = addresses
        count += len(addresses)
    total = sum(map(len, snapshot.addresses.values()))
    if total <= _WORTH_IT * AT_MOST or count < AT_MOST // _WORTH_IT:
        return None
    return dataclasses.replace(
        snapshot, routers=tuple(router for router in snapshot.routers
                                if router.uuid in some),
        addresses=some, groups=(), networks={}, machines={})
