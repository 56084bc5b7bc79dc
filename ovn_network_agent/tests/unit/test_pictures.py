# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pictures of the documentation follow from the plan and from a text."""

import itertools
import os
from xml.etree import ElementTree

from oslotest import base

from lab import plan
from ovn_network_agent.tests import tools

drawing = tools.load('drawing')
lab_picture = tools.load('lab_picture')
SOURCE = os.path.join(tools.ROOT, 'doc', 'source')


def content(*path):
    with open(os.path.join(SOURCE, *path)) as opened:
        return opened.read()


def descriptions():
    """Dict from the name of a picture to its description."""
    return {'lab': lab_picture.description(), 'planes': content('planes.txt')}


def touch(one, other):
    """Whether two areas, each (left, top, right, bottom), have a point."""
    return (one[0] < other[2] and other[0] < one[2] and
            one[1] < other[3] and other[1] < one[3])


class PicturesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.pictures = {name: drawing.read(text)
                         for name, text in descriptions().items()}

    def test_they_are_up_to_date(self):
        for name, picture in self.pictures.items():
            self.assertEqual(drawing.svg(picture),
                             content('_static', name + '.svg'),
                             f'draw {name}.svg anew')

    def test_they_are_xml_with_all_their_texts(self):
        for picture in self.pictures.values():
            root = ElementTree.fromstring(drawing.svg(picture))
            found = [element.text for element in root.iter()
                     if element.tag.endswith('}text')]
            self.assertEqual([text.text for text in picture.texts()], found)
            self.assertNotEqual([], found)

    def test_no_text_lies_on_another(self):
        for picture in self.pictures.values():
            for one, other in itertools.combinations(picture.texts(), 2):
                self.assertFalse(touch(one.area(), other.area()),
                                 (one.text, other.text))

    def test_each_text_is_inside(self):
        for picture in self.pictures.values():
            page = (0, 0, picture.width, picture.height)
            for text in picture.texts():
                self.assert_inside(text, page)
            for box in picture.shapes:
                if isinstance(box, drawing.Box):
                    for text in drawing.texts_of(box):
                        self.assert_inside(text, (
                            box.x, box.y, box.x + box.width,
                            box.y + box.height))

    def assert_inside(self, text, area):
        left, top, right, bottom = text.area()
        self.assertTrue(area[0] <= left and area[1] <= top and
                        right <= area[2] and bottom <= area[3],
                        (text.text, text.area(), area))

    def test_no_line_crosses_a_text(self):
        for picture in self.pictures.values():
            for line in picture.shapes:
                if not isinstance(line, drawing.Line):
                    continue
                for (x, y), (to_x, to_y) in itertools.pairwise(line.points):
                    self.assertTrue(x == to_x or y == to_y, line)
                    area = (min(x, to_x) - 1, min(y, to_y) - 1,
                            max(x, to_x) + 1, max(y, to_y) + 1)
                    for text in picture.texts():
                        self.assertFalse(touch(area, text.area()),
                                         (line, text.text))

    def test_the_cloud_has_every_node_of_the_plan(self):
        titles = {shape.title: shape for shape in self.pictures['lab'].shapes
                  if isinstance(shape, drawing.Box)}
        for name, address in plan.HOSTS.items():
            self.assertIn(address, titles[name].lines[0])


class DescriptionTest(base.BaseTestCase):

    def test_a_mistake_is_named_with_its_line(self):
        for line in ('box a node 1 1', 'circle 1 1', 'line control > a.left',
                     'line control > nobody.left 1,1', 'text node up 1 1 x',
                     'box a nobody 1 1 1 1 x'):
            error = self.assertRaises(drawing.Mistake, drawing.read,
                                      'picture 9 9 x\n' + line)
            self.assertIn('line 2: ' + line, str(error))

    def test_without_a_size(self):
        self.assertRaises(drawing.Mistake, drawing.read, '# nothing')

    def test_what_is_no_letter_of_xml_is_kept(self):
        drawn = drawing.svg(drawing.read(
            'picture 99 99 x\ntext node start 1 20 a < b & c'))
        self.assertIn('a &lt; b &amp; c', drawn)
