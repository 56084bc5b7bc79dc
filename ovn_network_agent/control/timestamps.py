# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Times in the answers of the control socket."""

import datetime


def text(seconds: float | None) -> str:
    """Seconds since the epoch as 2026-01-31T12:00:00Z; '' for None."""
    if seconds is None:
        return ''
    return datetime.datetime.fromtimestamp(
        seconds, datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
