# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings, mistakes and remarks from the sources of the original."""

from collections.abc import Iterable
import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """The value that one source gives to an option of the original."""

    value: object  # str, int, float or bool, or a list of these
    where: str  # the source, such as 'config.yaml, line 3'
    spelling: str  # the option as that source writes it, '--bridge-dev'
    # Whether '' is a value; to the original only on the command line.
    empty_counts: bool = False

    def say(self, text: str) -> str:
        """A message about this setting, with the problem and the remedy."""
        value = (','.join(map(str, self.value))
                 if isinstance(self.value, list) else self.value)
        return f'{self.where}: {self.spelling} = {value}: {text}'


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """All that one source of the original says."""

    # By the option in YAML, or by (section, option) once converted.
    settings: dict[Any, Setting] = dataclasses.field(default_factory=dict)
    # Nothing can be written with one.
    problems: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)


def merged(sources: Iterable[Source]) -> Source:
    """The settings in force, as in the original: the first source wins."""
    made = Source()
    for source in sources:
        for name, setting in source.settings.items():
            if setting.value == '' and not setting.empty_counts:
                made.warnings.append(setting.say(
                    'the original takes an empty value for none, and so does '
                    'this program; only the flag of the command line can '
                    'make an option empty'))
                continue
            made.settings.setdefault(name, setting)
        made.problems.extend(source.problems)
        made.warnings.extend(source.warnings)
    return made
