"""A test with a folder of its own."""

import os
import tempfile
import unittest


class FolderCase(unittest.TestCase):
    """`self.folder` is empty when a test begins, and gone when it has ended."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline_test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
