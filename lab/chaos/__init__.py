# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chaos runner: seeded outages, churn and drift, with a judge.

:mod:`lab.chaos.runner` chooses actions from one ``random.Random(seed)``,
carries each out, and waits until the judge has found everything as it has to
be.  The judge knows nothing of the agents' code.  What is meant to be is in
:mod:`lab.chaos.world`.
"""
