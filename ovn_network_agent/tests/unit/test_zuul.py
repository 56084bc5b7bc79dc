# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The jobs of Zuul name what is there; no Zuul is needed for that."""

import pathlib
import re

from oslotest import base
import yaml

ROOT = pathlib.Path(__file__).parents[3]
# Names of OpenStack's own configuration.
TEMPLATES = {'openstack-cover-jobs',
             'openstack-python3-jobs', 'publish-openstack-docs-pti',
             'release-notes-jobs-python3'}
NODESETS = {'debian-bookworm'}
VARIABLE = re.compile(r'\{\{ (ovn_network_agent_\w+)( \| default)?')


def _read(name):
    return yaml.safe_load((ROOT / 'zuul.d' / name).read_text())


class ZuulTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.jobs = {item['job']['name']: item['job']
                     for item in _read('jobs.yaml')}

    def _inherited(self, job, attribute):
        """The value of a job or of the nearest parent, None for none."""
        while job is not None:
            if attribute in job:
                return job[attribute]
            job = self.jobs[job['parent']] if 'parent' in job else None
        return None

    def test_each_job_has_a_playbook_and_nodes(self):
        for name, job in self.jobs.items():
            self.assertTrue((ROOT / self._inherited(job, 'run')).is_file(),
                            name)
            self.assertIn(self._inherited(job, 'nodeset'), NODESETS, name)

    def test_each_playbook_has_its_variables(self):
        for name, job in self.jobs.items():
            if job.get('abstract'):
                continue
            given, parent = dict(job.get('vars', {})), job
            while 'parent' in parent:
                parent = self.jobs[parent['parent']]
                given = {**parent.get('vars', {}), **given}
            text = (ROOT / self._inherited(job, 'run')).read_text()
            needed = {variable for variable, default
                      in VARIABLE.findall(text) if not default}
            self.assertLessEqual(needed, given.keys(), name)
            self.assertLessEqual(
                given.keys(), {each for each, _d in VARIABLE.findall(text)},
                name)

    def test_the_programs_of_the_playbooks_are_there(self):
        for playbook in (ROOT / 'zuul.d' / 'playbooks').glob('*.yaml'):
            found = re.findall(r'\btools/[a-z-]+', playbook.read_text())
            self.assertTrue(found, playbook)
            for program in found:
                self.assertTrue((ROOT / program).is_file(), program)

    def test_the_project_names_jobs(self):
        project, = _read('project.yaml')
        project = project['project']
        self.assertLessEqual(set(project.pop('templates')), TEMPLATES)
        used = {job for pipeline in project.values()
                for job in pipeline['jobs']}
        self.assertEqual(used, {name for name, job in self.jobs.items()
                                if not job.get('abstract')})
