#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The order of the packages and their imports, checked and drawn.

Prints the picture in doc/source/contributor/packages.txt; with --write writes
the picture there.  Ends with status 1 when an import goes up.
"""

import argparse
import ast
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = 'ovn_network_agent'
PICTURE = ROOT / 'doc' / 'source' / 'contributor' / 'packages.txt'

# From the top to the bottom: a package imports only from below.
ORDER = ('cmd', 'service', 'ctl', 'migrate', 'diagnosis', 'metrics',
         'control', 'runtime', 'engine', 'backends', 'ovn', 'drivers',
         'gateways', 'watches', 'forward', 'files', 'ovs', 'ovsdb',
         'privileged', 'frr', 'openflow', 'nft', 'netlink', 'conf', 'values')
# Packages and modules without I/O, for all.
VALUES = ('common', 'model', 'ownership', 'resources', 'version')
# Packages that both sides of the wall use.
PROTOCOLS = ('frr', 'openflow', 'nft', 'netlink')
_PURPOSES = {
    'service': 'Wiring of all parts, and the phases of their life.',
    'values': 'Frozen values, marks, addresses: model, resources, common.'}


def modules(top=ROOT / NAME):
    """dict of dotted name below the package to path, without tests."""
    found = {}
    for path in sorted(top.rglob('*.py')):
        parts = path.relative_to(top).with_suffix('').parts
        if parts[0] != 'tests':
            found['.'.join(p for p in parts if p != '__init__')] = path
    return found


def imports(path, known) -> set[str]:
    """Modules of ours that a file imports, functions included.

    Imports for the check of types alone do not count: nothing loads them.
    """
    found = set()
    tree = ast.parse(path.read_text(), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and (
                ast.unparse(node.test) == 'typing.TYPE_CHECKING'):
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f'{node.module}.{alias.name}'
                                    for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found.update(name.removeprefix(NAME).lstrip('.') for name in names
                     if name.split('.')[0] == NAME)
    return {name for name in found if name in known and name}


def package(module):
    """The package of a module.

    :raises ValueError: for a package that the order does not have
    """
    first = module.split('.')[0]
    first = 'values' if first in VALUES else first
    if first not in ORDER:
        raise ValueError(f'{module} is in no package of tools/packages.py')
    return first


def edges():
    """dict of (package, package that it imports) to list of texts."""
    known, found = modules(), {}
    for name, path in known.items():
        if not name:
            continue
        for target in sorted(imports(path, known)):
            key = package(name), package(target)
            if key[0] != key[1]:
                found.setdefault(key, []).append(
                    f'{name} imports {target}')
    return found


def upward(found) -> list[str]:
    """Imports that go up, of :func:`edges`."""
    return [text for (user, used), texts in found.items()
            if ORDER.index(user) > ORDER.index(used) for text in texts]


def purpose(name):
    """The first line of a package's docstring, without the full stop."""
    text = _PURPOSES.get(name) or ast.get_docstring(ast.parse(
        (ROOT / NAME / name / '__init__.py').read_text()))
    return text.splitlines()[0].rstrip('.')


def picture(found) -> str:
    """The packages from the top to the bottom, and their imports.

    A mark stands in the column of the imported package.  The mark is right of
    the diagonal, because each package imports from below.
    """
    lines = []
    for row, name in enumerate(ORDER):
        marks = ''.join(
            ' \\' if column == row else
            ' o' if (name, used) in found else '  '
            for column, used in enumerate(ORDER))
        lines.append(f'{row + 1:2} {name:<10}{marks}')
    head = [' ' * 13 + ''.join(
        ' ' + digit for digit in digits) for digits in zip(*(
            f'{row + 1:2}' for row in range(len(ORDER))), strict=True)]
    words = [f'{row + 1:2} {name:<10}  {purpose(name)}'
             for row, name in enumerate(ORDER)]
    return '\n'.join(line.rstrip() for line in (
        *head, *lines, '', *words)) + '\n'


def main():
    """Print or write the picture, and name the imports that go up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true',
                        help=f'write {PICTURE.relative_to(ROOT)}')
    found = edges()
    if parser.parse_args().write:
        PICTURE.write_text(picture(found))
    else:
        print(picture(found), end='')
    wrong = upward(found)
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
