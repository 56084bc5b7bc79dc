# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration of Sphinx."""

import pathlib

from docutils import nodes

from ovn_network_agent.conf import command_line

project = 'ovn-network-agent'
copyright = 'ovn-network-agent developers'

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxext',
]

openstackdocs_auto_name = False
openstackdocs_bug_project = ''
openstackdocs_bug_tag = ''

html_theme = 'openstackdocs'
master_doc = 'index'
# They are parts of another page.
exclude_patterns = ['reference/behaviour/*']
pygments_style = 'native'

# (page, name, description, authors, section): sphinx-build -b man
man_pages = [
    ('reference/agent', 'ovn-network-agent',
     'makes the floating IPs of OVN routers reachable through BGP',
     [copyright], 8),
    ('reference/ctl', 'ovn-network-agent-ctl',
     'commands to the running ovn-network-agent', [copyright], 8),
    ('reference/migrate', 'ovn-network-agent-migrate',
     'takes over the settings of the original program', [copyright], 8),
    ('reference/status', 'ovn-network-agent-status',
     'says whether a node is ready for an upgrade', [copyright], 8)]

BEHAVIOUR = 'reference/behaviour'
AGENT = 'reference/agent'


def include_command_line(app, page, source):
    """Have the page of the agent list the options of its command line."""
    if page != AGENT:
        return
    source[0] = source[0].replace('.. command line of the agent\n', '\n'.join(
        ', '.join(f'``{text}{f" {value}" if value else ""}``'
                  for text in texts) + f'\n  {explained(text)}\n'
        for texts, value, text in command_line.options()))


def explained(text):
    """A help text as a sentence of reStructuredText."""
    text = text.replace('`', '``').replace('%%', '%')
    text = f'{text[0].upper()}{text[1:]}'
    return text if text.endswith('.') else f'{text}.'


def include_behaviour(app, page, source):
    """Have the page of the behaviour include all its parts."""
    if page != BEHAVIOUR:
        return
    parts = sorted(pathlib.Path(app.srcdir, BEHAVIOUR).glob('*.rst'))
    source[0] = source[0].replace('.. behaviour\n', '\n'.join(
        f'{title}\n{"=" * len(title)}\n\n.. include:: behaviour/{part.name}\n'
        for part in parts
        for title in [part.stem.replace('_', ' ').capitalize()]))


def unlink(app, doctree, page):
    """Have a manual page name other pages, without an empty address."""
    if app.builder.name == 'man':
        for link in list(doctree.findall(nodes.reference)):
            if link.get('internal'):
                link.replace_self(link.children)


def setup(app):
    """Called by Sphinx."""
    app.connect('doctree-resolved', unlink)
    app.connect('source-read', include_behaviour)
    app.connect('source-read', include_command_line)
