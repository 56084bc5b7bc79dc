# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The mark on a candidate of a gateway group that an agent has lowered.

The mark is in the external_ids of the candidate's row and names the reason
and the earlier priority.  By the mark the next agent of that chassis can
restore the priority, and the other agents know the reason.
"""

from collections.abc import Mapping
import re

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import columns

WHY = (model.SHUTDOWN, model.MAINTENANCE, model.UNFIT)
_PRIORITY = re.compile('[0-9]{1,5}')
# As the schema has it.
_HIGHEST = 32767


def read(row: columns.Row) -> tuple[str, int]:
    """Reason and earlier priority, ('', 0) without a mark.

    A malformed value counts as none.
    """
    why = columns.entry(row, 'external_ids', ownership.EXT_ID_DRAINED)
    if why not in WHY:
        return '', 0
    earlier = columns.entry(row, 'external_ids',
                            ownership.EXT_ID_EARLIER) or ''
    if not _PRIORITY.fullmatch(earlier) or int(earlier) > _HIGHEST:
        return why, 0
    return why, int(earlier)


def marked(external_ids: Mapping[str, str], why: str,
           earlier: int) -> dict[str, str]:
    """The external_ids that a candidate's row has to have.

    Keys of other programs are kept.

    :param why: one of :data:`WHY`, '' for no mark
    """
    rest = {key: value for key, value in external_ids.items()
            if key not in (ownership.EXT_ID_DRAINED,
                           ownership.EXT_ID_EARLIER)}
    if not why:
        return rest
    return {**rest, ownership.EXT_ID_DRAINED: why,
            ownership.EXT_ID_EARLIER: str(earlier)}
