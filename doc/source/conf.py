# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration of Sphinx."""

from ovn_network_agent.conf import command_line
from ovn_network_agent.conf import original_options
from ovn_network_agent.diagnosis.node import examination

project = 'ovn-network-agent'
copyright = 'ovn-network-agent developers'

extensions = ['oslo_config.sphinxext']

# Not the theme of OpenStack: the project is none of OpenStack's.
html_theme = 'furo'
html_title = project
master_doc = 'index'
html_static_path = ['_static']
html_css_files = ['wrap.css']

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



def definitions(pairs):
    """A list of terms with a text each."""
    return '\n'.join(f'{term}\n  {text}\n' for term, text in pairs)


def command_line_options():
    """The options of the agent's command line."""
    return definitions((', '.join(
        f'``{one}{f" {value}" if value else ""}``' for one in texts),
        explained(text)) for texts, value, text in command_line.options())


def explained(text):
    """A help text as a sentence of reStructuredText."""
    text = text.replace('`', '``').replace('%%', '%')
    text = f'{text[0].upper()}{text[1:]}'
    return text if text.endswith('.') else f'{text}.'


def checks():
    """The checks of "doctor"."""
    return definitions((f'``{check.name}`` ({check.layer})', check.about)
                       for check in examination.CHECKS)


def options_of_the_original():
    """A table of the options of the Go program and those of the agent."""
    return '.. list-table::\n   :header-rows: 1\n   :widths: 35 65\n\n' + (
        ''.join(f'   * - {there}\n     - {here}\n' for there, here in [
            ('Go program', 'this agent'), *(
                (f'``{option.name}``', f'``{option.here}``' if option.here
                 else f'none: {option.why}')
                for option in original_options.OPTIONS)]))


# (page, comment in it): what replaces the comment
GENERATED = {
    ('reference/agent', 'command line of the agent'): command_line_options,
    ('reference/ctl', 'checks of doctor'): checks,
    ('configuration/original', 'options of the original'):
        options_of_the_original}


def include_generated(app, page, source):
    """Have a page list what the program itself knows."""
    for (name, comment), text in GENERATED.items():
        if page == name:
            source[0] = source[0].replace(f'.. {comment}\n', text())


def unlink(app, doctree, page):
    """Have a manual page name other pages, without an empty address."""
    # A test reads this file without Sphinx.
    from docutils import nodes
    if app.builder.name == 'man':
        for link in list(doctree.findall(nodes.reference)):
            if link.get('internal'):
                link.replace_self(link.children)


def setup(app):
    """Called by Sphinx."""
    app.connect('source-read', include_generated)
    app.connect('doctree-resolved', unlink)
