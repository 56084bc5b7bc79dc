# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration of Sphinx for the release notes."""

project = 'ovn-network-agent release notes'
copyright = 'ovn-network-agent developers'

extensions = [
    'openstackdocstheme',
    'reno.sphinxext',
]

openstackdocs_auto_name = False
openstackdocs_bug_project = ''
openstackdocs_bug_tag = ''

html_theme = 'openstackdocs'
master_doc = 'index'
pygments_style = 'native'
