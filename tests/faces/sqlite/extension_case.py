"""A connection with the extension for each test, and a folder for files."""

import os
import pathlib
import sqlite3
import tempfile
import unittest

EXTENSION = os.path.abspath(os.environ["NESTLINE_SQLITE"])


def connect(path=":memory:"):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    connection.enable_load_extension(False)
    return connection


class ExtensionCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nestline-sqlite-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.database = connect()
        self.addCleanup(self.database.close)

    def all(self, sql, parameters=()):
        return self.database.execute(sql, parameters).fetchall()

    def column(self, sql, parameters=()):
        return [row[0] for row in self.all(sql, parameters)]

    def one(self, sql, parameters=()):
        """The only value that the statement returns."""
        ((value,),) = self.all(sql, parameters)
        return value

    def build(self, keys, *options):
        """The filter of some keys, with options of nestline_build."""
        self.database.execute("CREATE TEMP TABLE IF NOT EXISTS build_keys (key)")
        self.database.execute("DELETE FROM build_keys")
        self.database.executemany("INSERT INTO build_keys VALUES (?)", ((key,) for key in keys))
        arguments = ", ".join(["key", *map(str, options)])
        return self.one(f"SELECT nestline_build({arguments}) FROM build_keys")

    def contains(self, blob, key):
        return self.one("SELECT nestline_contains(?, ?)", (blob, key))

    def refused(self, sentence, sql, parameters=()):
        with self.assertRaises(sqlite3.Error) as caught:
            self.all(sql, parameters)
        self.assertIn(sentence, str(caught.exception))
