# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The mark on a candidate of a gateway group that an agent has lowered.

In external_ids: the reason for others, the earlier priority to restore.
"""

from collections.abc import Mapping
import re

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import columns

WHY = (model.SHUTDOWN, model.MAINTENANCE, model.UNFIT)
_PRIORITY = re.compile('[0-9]{1,5}')
_HIGHEST = 32767  # as the schema has it


def read(row: columns.Row) -> tuple[str, int]:
    """Reason and earlier priority, ('', 0) without a readable mark."""
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
    """A candidate's external_ids, others' keys kept; see :data:`WHY`."""
    rest = {key: value for key, value in external_ids.items()
            if key not in (ownership.EXT_ID_DRAINED,
                           ownership.EXT_ID_EARLIER)}
    if not why:
        return rest
    return {**rest, ownership.EXT_ID_DRAINED: why,
            ownership.EXT_ID_EARLIER: str(earlier)}
