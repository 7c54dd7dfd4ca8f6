"""A server of PostgreSQL in a folder of its own, which has the extension, and connections to it.

Nothing is installed: a server finds its files by where its program lies, so the folder has copies of the
programs, and links to all other files of the real ones beside the extension's. The server listens on a socket
in that folder alone. As root it runs as the user postgres or nobody, since PostgreSQL refuses root.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import unittest

import psycopg2

EXTENSION = pathlib.Path(os.environ["NESTLINE_POSTGRESQL"]).resolve()  # the folder of its three files
PG_CONFIG = os.environ.get("NESTLINE_PG_CONFIG", "pg_config")
PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_basebackup", "pg_dump", "pg_restore", "psql")


def where(name):
    return pathlib.Path(subprocess.run([PG_CONFIG, "--" + name], check=True, text=True,
                                       capture_output=True).stdout.strip())


def user():
    """Whom the server runs as, or None: ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise unittest.SkipTest("there is no user that a server could run as")


class Installation:
    """The programs and the extension, in a folder that goes with close()."""

    def __init__(self):
        self.user = user()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nestline-pg-"))
        self.folder.chmod(0o755)
        bin_folder, share, library = where("bindir"), where("sharedir"), where("pkglibdir")
        common = pathlib.Path(os.path.commonpath([bin_folder, share, library]))
        self.bin, self.share, self.library = (self.folder / "pg" / folder.relative_to(common)
                                              for folder in (bin_folder, share, library))
        for made in (self.bin, self.share / "extension", self.library):
            made.mkdir(parents=True)
        for program in PROGRAMS:
            shutil.copy(bin_folder / program, self.bin)
        for real, own in ((share, self.share), (share / "extension", self.share / "extension"),
                          (library, self.library)):
            for file in real.iterdir():
                if not (own / file.name).exists() and not file.name.startswith("nestline"):
                    (own / file.name).symlink_to(file)
        for file in EXTENSION.iterdir():
            shutil.copy(file, self.library if file.suffix == ".so" else self.share / "extension")

    def as_user(self):
        """What starts a program as the server's user."""
        if self.user is None:
            return []
        return ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]

    def own(self, path):
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def run(self, program, *arguments, **options):
        return subprocess.run([*self.as_user(), self.bin / program, *map(str, arguments)], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", **options).stdout

    def close(self):
        shutil.rmtree(self.folder)


class Server:
    """A server with data of its own; its folder is also that of its socket."""

    def __init__(self, installation, name, settings=(), copy_of=None):
        self.installation = installation
        self.folder = installation.folder / name
        self.folder.mkdir()
        installation.own(self.folder)
        self.data = self.folder / "data"
        if copy_of is None:
            installation.run("initdb", "--pgdata", self.data, "--username", "tests", "--auth", "trust", "--encoding",
                             "UTF8", "--locale", "C.UTF-8", "--no-sync")
        else:
            installation.run("pg_basebackup", "--pgdata", self.data, "--host", copy_of.folder, "--username", "tests",
                             "--write-recovery-conf", "--checkpoint", "fast", "--no-sync")
        with open(self.data / "postgresql.conf", "a", encoding="ascii") as file:
            for setting in ("listen_addresses = ''", f"unix_socket_directories = '{self.folder}'", "fsync = off",
                            "max_connections = 20", "shared_buffers = 32MB", "jit = off", "timezone = 'UTC'", *settings):
                file.write(setting + "\n")
        self.start()

    def start(self, **options):
        self.installation.run("pg_ctl", "--pgdata", self.data, "--wait", "--timeout", 300, "--log", self.folder / "log",
                              "start", **options)

    def stop(self, mode="immediate"):
        self.installation.run("pg_ctl", "--pgdata", self.data, "--wait", "--timeout", 300, "--mode", mode, "stop")

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def connect(self, database="postgres"):
        connection = psycopg2.connect(host=str(self.folder), user="tests", dbname=database)
        connection.autocommit = True
        return connection


class ServerCase(unittest.TestCase):
    """One server for the tests of a class, and a connection for each test."""

    SETTINGS = ()

    @classmethod
    def setUpClass(cls):
        cls.installation = Installation()
        cls.addClassCleanup(cls.installation.close)
        cls.server = Server(cls.installation, "server", cls.SETTINGS)
        cls.addClassCleanup(cls.server.stop)
        cls.run_once("CREATE EXTENSION nestline")

    @classmethod
    def run_once(cls, sql):
        """In a connection of its own, for setUpClass."""
        with contextlib.closing(cls.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(sql)

    def setUp(self):
        self.connection = self.server.connect()
        self.addCleanup(self.connection.close)

    def all(self, sql, parameters=None):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else None

    def column(self, sql, parameters=None):
        return [row[0] for row in self.all(sql, parameters)]

    def one(self, sql, parameters=None):
        """The only value that the statement returns."""
        ((value,),) = self.all(sql, parameters)
        return value

    def refused(self, sentence, sql, parameters=None):
        """The statement is an error with this sentence, and the connection lives."""
        with self.assertRaises(psycopg2.Error) as caught:
            self.all(sql, parameters)
        self.assertIn(sentence, str(caught.exception))
        self.assertEqual(self.one("SELECT 1"), 1)
        return caught.exception
