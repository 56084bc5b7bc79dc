# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A periodic comparison in parts, so that events need not wait for its end.

Each part is an ordinary pass.  It reads and compares at once, on the thread of
the loop: nothing that was read before an event counts after it.
"""

import dataclasses

from ovn_network_agent import pieces


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What a pass compares.

    :ivar piece: :class:`pieces.Piece` of the rows of OVN, or None
    :ivar reads: names of backends to read, a tuple
    :ivar has_seen: whether former parts have had all pieces of the rows
    :ivar begins: whether it is the comparison with the first view
    :ivar ends: whether the comparison ends with it
    """

    piece: pieces.Piece | None = None
    reads: tuple = ()
    has_seen: bool = False
    begins: bool = False
    ends: bool = False


#: No part of a comparison.
NOTHING = Part()
#: Everything in one pass.
WHOLE = Part(ends=True)


#: The comparison with the first view of OVN.  The passes before it have read
#: all systems, and no driver has answered yet.  So this pass compares
#: everything and reads nothing again.
FIRST = Part(begins=True, ends=True)


def parts(view, reconciler):
    """The parts of a comparison that begins now.

    A backend with many objects has a part of its own.

    :param view: :class:`ovn.view.View`
    :param reconciler: :class:`reconciler.Reconciler`
    :returns: list of :class:`Part`; of :data:`WHOLE` alone where there is
        little to compare
    """
    rows = view.pieces()
    large = tuple(reconciler.backends.large(pieces.AT_MOST))
    if not rows and not large:
        return [WHOLE]
    return [*(Part(piece=piece) for piece in rows),
            *(Part(reads=(name,)) for name in large),
            Part(reads=tuple(reconciler.backends.names.difference(large)),
                 has_seen=bool(rows), ends=True)]
