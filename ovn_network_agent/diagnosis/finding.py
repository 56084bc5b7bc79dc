# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The result of one check, for explain and doctor alike."""

import dataclasses
import enum


class Verdict(enum.Enum):
    """The judgement of a check about its layer."""

    #: the layer is as it has to be
    OK = 'OK'
    #: the layer works, but something about it will harm sooner or later
    WARN = 'WARN'
    #: the layer does not do its work
    BROKEN = 'BROKEN'
    #: the layer could not be looked at, or does not concern this address
    NOT_CHECKED = 'NOT CHECKED'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    :ivar check: name of the check, lower case with hyphens, the same for ever
    :ivar layer: the layer for people, such as "kernel route"
    :ivar verdict: :class:`Verdict`
    :ivar evidence: what was seen, one line
    :ivar remedy: what to do, one line; '' for :attr:`Verdict.OK`
    """

    check: str
    layer: str
    verdict: Verdict
    evidence: str
    remedy: str = ''

    def json(self):
        """The finding as a dict of JSON values."""
        return {'check': self.check, 'layer': self.layer,
                'verdict': self.verdict.value, 'evidence': self.evidence,
                'remedy': self.remedy}
