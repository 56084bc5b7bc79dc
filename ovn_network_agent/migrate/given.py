# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Settings, mistakes and remarks from the sources of the original."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """The value that one source gives to an option of the original.

    :ivar value: str, int, float or bool, or a list of these
    :ivar where: the source, such as 'config.yaml, line 3'
    :ivar spelling: the option as that source writes it, '--bridge-dev'
    :ivar empty_counts: whether an empty text is a value; for the original it
        is one on the command line alone
    """

    value: object
    where: str
    spelling: str
    empty_counts: bool = False

    def say(self, text):
        """A message about this setting.

        :param text: the problem and the remedy
        """
        value = (','.join(map(str, self.value))
                 if isinstance(self.value, list) else self.value)
        return f'{self.where}: {self.spelling} = {value}: {text}'


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """All that one source of the original says.

    :ivar settings: dict of the option's name, as in the YAML file, to
        :class:`Setting`
    :ivar problems: list of str; nothing can be written then
    :ivar warnings: list of str
    """

    settings: dict = dataclasses.field(default_factory=dict)
    problems: list = dataclasses.field(default_factory=list)
    warnings: list = dataclasses.field(default_factory=list)


def merged(sources):
    """The settings in force, as the original would choose them.

    :param sources: iterable of :class:`Source`, the strongest first
    :returns: :class:`Source`
    """
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
