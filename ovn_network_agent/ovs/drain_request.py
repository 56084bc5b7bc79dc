# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The operator's wish in external_ids of the local database. Pure.

'all', or UUIDs of routers, separated by commas.
"""

from collections.abc import Iterable
import re

from ovn_network_agent import model
from ovn_network_agent import ownership

_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z')


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID as OVSDB writes them, in lower case."""
    return _UUID.match(text) is not None


def parse(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Parse the text of a wish; only the malformed parts are left out.

    :returns: drains as in :class:`model.Node`, messages about the rest
    """
    parts = [part.strip() for part in text.split(',') if part.strip()]
    drains = {part.lower() for part in parts
              if part.lower() == model.ALL or is_uuid(part.lower())}
    bad = [part for part in parts if part.lower() not in drains]
    return frozenset(drains), tuple(
        f'Open_vSwitch external_ids:{ownership.EXT_ID_DRAIN}: {part!r} is '
        f'neither "{model.ALL}" nor the UUID of a router, and is left out; '
        'correct it with "ovn-network-agent-ctl drain" or "undrain"'
        for part in bad)


def render(drains: Iterable[str]) -> str:
    """The text of a wish for a set of drains, '' for none."""
    return ','.join(sorted(drains))
