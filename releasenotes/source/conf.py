# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configuration of Sphinx for the release notes."""

project = 'ovn-network-agent release notes'
copyright = 'ovn-network-agent developers'

extensions = ['reno.sphinxext']

html_theme = 'furo'
master_doc = 'index'
