# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration of Sphinx."""

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
html_static_path = ['_static']
html_css_files = ['wrap.css']
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


def setup(app):
    """Called by Sphinx."""
    app.connect('source-read', include_command_line)
