# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Diagnoses: explain and doctor; they import all but ctl and cmd.

They check what a packet and an announcement cross.
"""

import enum
import typing


class Verdict(enum.Enum):
    """The judgement of a check about its layer."""

    OK = 'OK'
    #: the layer works, but something about it will harm sooner or later
    WARN = 'WARN'
    BROKEN = 'BROKEN'
    #: the layer could not be looked at, or does not concern this address
    NOT_CHECKED = 'NOT CHECKED'


class Finding(typing.NamedTuple):
    """The result of one check."""

    check: str  # name of the check, lower case with hyphens, the same for ever
    layer: str  # the layer for people, such as "kernel route"
    verdict: Verdict
    evidence: str  # what was seen, one line
    remedy: str = ''  # what to do, one line; '' for :attr:`Verdict.OK`

    def json(self) -> dict[str, str]:
        """The finding as a dict of JSON values."""
        return {'check': self.check, 'layer': self.layer,
                'verdict': self.verdict.value, 'evidence': self.evidence,
                'remedy': self.remedy}
