# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket: questions and commands of operators.

It may import :mod:`runtime`, but not in modules that :mod:`ctl` imports,
because a command has to start fast.
"""
