# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests without privileges."""

import hypothesis

from ovn_network_agent.tests import budget

# No time limit for examples and their making: the machine may be busy with
# other things.
hypothesis.settings.register_profile(
    'project', deadline=None, max_examples=budget.examples(100),
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile('project')
