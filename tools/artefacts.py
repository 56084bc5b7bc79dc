# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what tools/release has built.

    artefacts.py same A.whl B.whl
    artefacts.py metadata ARCHIVE.tar.gz A.whl
    artefacts.py components FOUND.json ENVIRONMENT DIRECTORY

Each prints what is wrong, one flaw on each line, and then ends with status 1.
The last command also writes the list of components to the directory.
"""

import argparse
import configparser
import email
import glob
import hashlib
from importlib import metadata
import json
import os
import re
import sys
import tarfile
import zipfile

from packaging import requirements
from packaging import utils

PROJECT = 'ovn-network-agent'
# Fields without which a package index shows too little.
_FIELDS = ('Summary', 'License-Expression', 'Requires-Python',
           'Description-Content-Type', 'Requires-Dist', 'Classifier',
           'Project-URL')
_ENDING = '.cdx.json'
# What each program has in the directory share of an installation.
_SHARED = ('man/man8/{}.8', 'bash-completion/completions/{}',
           'zsh/site-functions/_{}', 'fish/vendor_completions.d/{}.fish')


def contents(path: str) -> dict:
    """The files of a wheel: dict of name to checksum."""
    with zipfile.ZipFile(path) as wheel:
        return {name: hashlib.sha256(wheel.read(name)).hexdigest()
                for name in wheel.namelist()}


def differences(one, other) -> list[str]:
    """How the :func:`contents` of two wheels differ."""
    return [f'{name} differs between the wheel of the source archive and '
            'that of the tree' if name in one and name in other else
            f'{name} is only in the wheel of the '
            f'{"source archive" if name in one else "tree"}'
            for name in sorted(one.keys() | other.keys())
            if one.get(name) != other.get(name)]


def superfluous(names) -> list[str]:
    """Files that an installed agent does not need."""
    return [f'{name} is a test, and in the wheel' for name in names
            if '/tests/' in name]


def lacking(names, programs) -> list[str]:
    """Manual pages and completions that the wheel does not have."""
    shared = {name.partition('.data/data/share/')[2] for name in names}
    return [f'{place} is not in the wheel' for place in
            (shape.format(program) for program in programs
             for shape in _SHARED) if place not in shared]


def programs_of(path: str) -> list[str]:
    """The names of the programs that a wheel installs."""
    scripts = configparser.ConfigParser()
    with zipfile.ZipFile(path) as wheel:
        name, = [name for name in wheel.namelist()
                 if name.endswith('.dist-info/entry_points.txt')]
        scripts.read_string(wheel.read(name).decode())
    return list(scripts['console_scripts'])


def read_wheel(path):
    """The metadata of a wheel, an email.message.Message."""
    with zipfile.ZipFile(path) as wheel:
        name, = [name for name in wheel.namelist()
                 if name.endswith('.dist-info/METADATA')]
        return email.message_from_bytes(wheel.read(name))


def read_archive(path):
    """The metadata of a source archive, an email.message.Message."""
    with tarfile.open(path) as archive:
        name, = [name for name in archive.getnames()
                 if re.fullmatch('[^/]+/PKG-INFO', name)]
        return email.message_from_binary_file(archive.extractfile(name))


def incomplete(source, wheel, names) -> list[str]:
    """Flaws of the metadata."""
    found = [f'the metadata has no {field}' for field in _FIELDS
             if field not in wheel]
    if _fields(source) != _fields(wheel):
        found.append('the source archive and the wheel have different '
                     'metadata')
    stem = f'{PROJECT.replace("-", "_")}-{wheel["Version"]}'
    return found + [f'the file {name} is not of version {wheel["Version"]}'
                    for name in names
                    if name not in (f'{stem}.tar.gz',
                                    f'{stem}-py3-none-any.whl')]


def _fields(message):
    """The fields, without markers: pbr leaves them out of the archive's."""
    return sorted((name, value.partition(';')[0]
                   if name == 'Requires-Dist' else value)
                  for name, value in message.items())


def installed(distributions) -> dict[str, str]:
    """The packages of an environment, without the agent."""
    return {utils.canonicalize_name(one.name): one.version
            for one in distributions
            if utils.canonicalize_name(one.name) != PROJECT}


def needed(distributions: list) -> set[str]:
    """The names of all packages that the agent needs, and theirs."""
    known = {utils.canonicalize_name(one.name): one.requires or []
             for one in distributions}
    seen, waiting = set(), [(PROJECT, '')]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for text in known.get(name, ()):
            one = requirements.Requirement(text)
            if one.marker is None or one.marker.evaluate({'extra': extra}):
                target = utils.canonicalize_name(one.name)
                waiting.extend((target, wanted)
                               for wanted in ('', *one.extras))
    return {name for name, _extra in seen} - {PROJECT}


def described(document) -> dict:
    """The components of a list: dict of canonical name to version."""
    return {utils.canonicalize_name(one['name']): one['version']
            for one in document['components']}


def about_agent(document) -> dict:
    """A list of components as one about the agent.

    The generator lists the agent among the packages of the environment.

    :raises ValueError: when the agent is not there exactly once
    """
    agent, = [one for one in document['components']
              if one['name'] == PROJECT]
    # The place where this machine had the wheel.
    agent = {name: value for name, value in agent.items()
             if name != 'externalReferences'}
    return {**document,
            'metadata': {**document['metadata'],
                         'component': {**agent, 'type': 'application'}},
            'components': [one for one in document['components']
                           if one['name'] != PROJECT]}


def untrue(listed: dict[str, str], found: dict[str, str],
           wanted: set[str]) -> list[str]:
    """Where a list of components differs from the environment."""
    return [f'{name}: the list has {listed.get(name, "no version")}, '
            f'installed is {found.get(name, "no version")}'
            for name in sorted(listed.keys() | found.keys())
            if listed.get(name) != found.get(name)] + [
                f'{name} is installed, and the agent does not need it'
                for name in sorted(found.keys() - wanted)]


def _same(one, other):
    first = contents(one)
    return (differences(first, contents(other)) + superfluous(first) +
            lacking(first, programs_of(one)))


def _metadata(archive, wheel):
    return incomplete(read_archive(archive), read_wheel(wheel),
                      [os.path.basename(path) for path in (archive, wheel)])


def _components(path, environment, directory):
    folder, = glob.glob(os.path.join(environment, 'lib', 'python*',
                                     'site-packages'))
    packages = list(metadata.distributions(path=[folder]))
    with open(path, encoding='utf-8') as opened:
        document = about_agent(json.load(opened))
    name = f'{PROJECT}-{document["metadata"]["component"]["version"]}'
    with open(os.path.join(directory, name + _ENDING), 'w',
              encoding='utf-8') as opened:
        json.dump(document, opened, indent=2, sort_keys=True)
        opened.write('\n')
    return untrue(described(document), installed(packages), needed(packages))


def main():
    """Run one check; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for check, arguments in ((_same, ('one', 'other')),
                             (_metadata, ('archive', 'wheel')),
                             (_components, ('path', 'environment',
                                            'directory'))):
        command = commands.add_parser(check.__name__.strip('_'))
        command.set_defaults(check=check)
        for argument in arguments:
            command.add_argument(argument)
    given = vars(parser.parse_args())
    flaws = given.pop('check')(**given)
    for flaw in flaws:
        print(flaw, file=sys.stderr)
    return 1 if flaws else 0


if __name__ == '__main__':
    sys.exit(main())
