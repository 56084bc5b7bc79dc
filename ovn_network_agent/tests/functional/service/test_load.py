# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How often the service works, and when."""

import threading
import time

from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds


class LoadTest(services.TwoRoutersTestCase):
    """How often and when it works."""

    def test_a_stream_of_events_neither_floods_nor_starves(self):
        """At most one pass in each interval, and one in each."""
        passes = services.Passes(self)
        self.running(event_coalesce=1.0)
        stop = threading.Event()

        def stream():
            number = 0
            while not stop.is_set():
                number += 1
                self.cloud.change_nat('203.0.113.9',
                                      logical_ip=f'10.0.0.{number % 200 + 1}')

        self.cloud.add_nat('r2', '203.0.113.9')
        writer = threading.Thread(target=stream)
        writer.start()
        try:
            count = len(passes.times)
            self.eventually(lambda: len(passes.times) >= count + 4,
                            'four passes under load')
        finally:
            stop.set()
            writer.join()
        gaps = [after - before for before, after in zip(
            passes.times[count:count + 3], passes.times[count + 1:],
            strict=False)]
        # It waits that long after each; measured where drivers are asked,
        # so with a little more or less of what comes before.
        self.assertGreater(min(gaps[1:]), 0.8, gaps)

    def test_ten_thousand_events(self):
        """Trap T68: no thread for each, no pass for each."""
        passes = services.Passes(self)
        agent = self.running()
        threads = [threading.active_count()]
        started = time.monotonic()
        before = len(passes.times)
        self.cloud.add_nats('r2', [
            f'203.0.{113 + number // 250}.{number % 250 + 1}'
            for number in range(10000)])
        self.cloud.add_nat('r1', '198.51.100.10')

        def announced():
            threads.append(threading.active_count())
            return '198.51.100.10/32' in self.announced()

        self.eventually(announced, 'what came last', 60)
        # Besides those that were there: one for a write to OVN.
        self.assertLessEqual(max(threads), threading.active_count() + 1)
        self.assertLessEqual(
            len(passes.times) - before,
            2 + (time.monotonic() - started) /
            agent._conf.event_coalesce)
        self.stop(agent)

    def test_it_never_runs_beside_itself(self):
        """Wake-ups from many threads, and a world that takes its time."""
        inside, together = [], []

        class Slow(worlds.WorldBackend):
            def read(self, known):
                inside.append(self.name)
                together.append(len(inside))
                threading.Event().wait(0.001)
                try:
                    return super().read(known)
                finally:
                    inside.remove(self.name)

        agent = self.agent(backend_class=Slow, event_coalesce=0.0)
        self.eventually(self.announced, 'running')
        passes = services.Passes(self)

        stop = threading.Event()

        def fire(number):
            turn = 0
            while not stop.wait(0.002):
                turn += 1
                agent.trigger.fire(f'storm {number:d} {turn}',
                                   urgent=bool(turn % 2),
                                   stale=tuple(worlds.BACKENDS))

        threads = [threading.Thread(target=fire, args=(n,))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        try:
            self.eventually(lambda: len(passes.times) > 10, 'ten passes')
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual({1}, set(together))
