# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The work of ovn-network-agent-migrate, from its arguments to its files."""

import dataclasses
import os
import sys

from ovn_network_agent.conf import original
from ovn_network_agent.migrate import check
from ovn_network_agent.migrate import environment_file
from ovn_network_agent.migrate import files
from ovn_network_agent.migrate import flags
from ovn_network_agent.migrate import forwards
from ovn_network_agent.migrate import given
from ovn_network_agent.migrate import ini
from ovn_network_agent.migrate import settings
from ovn_network_agent.migrate import yaml_file

PROGRAM = 'ovn-network-agent-migrate'
YAML = '/etc/ovn-network-agent/config.yaml'
ENVIRONMENT = '/etc/default/ovn-network-agent'
FOLDER = '/etc/ovn-network-agent'
INI = 'ovn-network-agent.conf'
RULES = 'port-forwards.yaml'

OK = 0
NOT_WRITTEN = 1
UNUSABLE = 2
WOULD_NOT_START = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The files that are to be written.

    :ivar options: dict of (section, option) to str
    :ivar forwards: text of the rules file, '' for none
    :ivar problems: list of str; nothing is written then
    :ivar warnings: list of str
    """

    options: dict
    forwards: str
    problems: list
    warnings: list


def run(arguments):
    """Convert, check and write.

    :param arguments: argparse.Namespace with config, environment_file,
        output, rules_file, force and words
    :returns: exit status
    """
    folder = os.path.abspath(arguments.output or FOLDER)
    rules = os.path.abspath(arguments.rules_file or
                            os.path.join(folder, RULES))
    made = convert(_read(arguments), rules)
    _say('warning', made.warnings)
    if made.problems:
        _say('error', made.problems)
        return UNUSABLE
    contents = {os.path.join(folder, INI): ini.render(made.options)}
    if made.forwards:
        contents[rules] = made.forwards
    if arguments.output is None:
        _show(contents)
    else:
        try:
            files.write(contents, arguments.force)
        except files.Refused as error:
            _say('error', [error])
            return NOT_WRITTEN
        _say('written', contents)
    left = check.problems(made.options, made.forwards)
    _say('the agent would not start', left)
    return WOULD_NOT_START if left else OK


def convert(found, rules_path):
    """The options and rules of this agent.

    :param found: :class:`given.Source` with the settings in force
    :param rules_path: absolute path that the rules file will have
    :returns: :class:`Made`
    """
    converted = settings.convert(found)
    text, forwarded = forwards.convert(found, rules_path)
    options = {key: setting.value
               for key, setting in converted.settings.items()}
    if text:
        options['port_forward', 'rules_file'] = rules_path
        if ('ovn', 'ovn_nb_remote') in options:
            # The original announces no VIP without a gateway on the node.
            options[forwards.ANNOUNCE] = 'with-gateway'
    sources = found, converted, forwarded
    return Made(options, text,
                [text for source in sources for text in source.problems],
                [text for source in sources for text in source.warnings])


def _read(arguments):
    """The settings in force of all sources, a :class:`given.Source`."""
    line = flags.parse(arguments.words)
    variables = _file(arguments.environment_file, ENVIRONMENT,
                      environment_file.parse)
    named = [source.settings.pop(original.CONFIG)
             for source in (line, variables)
             if original.CONFIG in source.settings]
    path = arguments.config or (named[0].value if named else None)
    content = _file(path, YAML, yaml_file.parse)
    found = given.merged([line, variables, content])
    if not found.settings and not found.problems:
        found.problems.append(
            'no source has any setting of the original; name its files in '
            '--config and --environment-file, or its flags after "--"')
    return found


def _file(path, default, parse):
    """A file that is named, or the usual one if that is there."""
    if path is None and not os.path.exists(default):
        return given.Source()
    path = path or default
    try:
        with open(path, 'rb') as opened:
            return parse(opened.read(), path)
    except OSError as error:
        return given.Source(problems=[
            f'{path}: {error.strerror or error}; name a file of the original '
            'that you may read'])


def _show(contents):
    for path, text in contents.items():
        print(f'# {path}\n{text}')


def _say(kind, messages):
    for message in messages:
        print(f'{PROGRAM}: {kind}: {message}', file=sys.stderr)
