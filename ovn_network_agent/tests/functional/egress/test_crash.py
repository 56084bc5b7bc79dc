# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The death of an agent at each boundary of its work on a node."""

import itertools
import os
import signal
import subprocess

from ovn_network_agent.privileged.network import channel
from ovn_network_agent.tests.functional.crash import program
from ovn_network_agent.tests.functional.egress import base
from ovn_network_agent.tests.unit import cloud


class CrashTest(base.EgressTestCase):

    def test_each_boundary(self):
        """The machine sends all the time; the next agent ends the work."""
        router = cloud.router(nats=(cloud.fip(
            base.GATEWAY[4], type='snat', logical_ip='10.0.1.0/24'),))
        hosts = [self.host(), self.host(machine=base.OTHER[4]), self.host(6)]
        self.run_pass(routers=[router])
        flood = subprocess.Popen(self.router.inside(
            'ping', '-q', '-i0.005', '-I', base.MACHINE[4], base.FAR[4]),
            stdout=subprocess.DEVNULL)
        self.addCleanup(flood.wait)
        self.addCleanup(flood.kill)
        deaths = 0
        for wanted in (hosts, []):
            for number in itertools.count():
                self.restart(*([] if wanted else hosts), routers=[router])
                if not self.dies(number, *wanted, routers=[router]):
                    break
                deaths += 1
                self.restart(*wanted, routers=[router])
                if wanted:
                    self.reaches(base.MACHINE[4], base.FAR[4])
                self.assertEqual(0, self.counted('untranslated'))
        # Each of the backends has been a place to die, on both ways.
        self.assertGreater(deaths, 12)

    def restart(self, *hosts, **values):
        self.agent()
        self.run_pass(*hosts, **values)

    def dies(self, number, *hosts, **values):
        """Whether a process dies of the change with a number, half done."""
        pid = os.fork()
        if not pid:
            try:
                channel.close()
                self.agent()
                counter = itertools.count()
                for each in self.backends:
                    each.apply = self.mortal(each.apply, counter, number)
                self.run_pass(*hosts, **values)
            finally:
                os._exit(0)
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

    def mortal(self, apply, counter, number):
        def change(delta):
            if next(counter) != number:
                return apply(delta)
            if len(delta) > 1:
                apply(program.half(delta))
            os.kill(os.getpid(), signal.SIGKILL)
        return change
