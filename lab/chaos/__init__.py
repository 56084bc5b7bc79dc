# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chaos runner: seeded outages, churn and drift, with a judge.

:mod:`lab.chaos.runner` chooses actions from one ``random.Random(seed)``,
carries each out, and waits until the judge has found everything as it has to
be.  The judge knows nothing of the agents' code.

What the judge may use of the world (:mod:`lab.chaos.world`)
  ``world.state()`` is a :class:`values.State` of now;
  ``world.targets()`` the tuple of :class:`values.Target`, the same for the
  whole run; ``world.node(name)`` the Node of that name, machines included;
  ``world.exempt(kind, subject)`` the reason for which a violation of that
  kind is none now ('' without one): a paused agent withdraws nothing.  The
  judge asks for it each time before it notes a violation.

What the runner uses of the judge (:mod:`lab.chaos.judge`)
  ``Judge(cloud, world, profile, say)``; ``start()`` begins probes and
  invariants; ``settled(timeout)`` waits until the oracle, the observation and
  all targets agree and returns the list of :class:`values.Violation`: those of
  the watch since the last call, and what still differs at the deadline;
  ``stop()`` ends everything; ``summary(episodes)`` is a dict that JSON can
  write, with 'violations' (list of dicts) and 'loss_share' (float: lost probes
  without excuse by all probes); ``text(summary)`` is the same for a terminal;
  ``plot(summary, path)`` writes the picture.
"""
