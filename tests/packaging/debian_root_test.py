"""Installs the packages in a Debian system that has nothing of nestline, uses them, and removes
them.

  debian_root_test.py --prepare ROOTS
  debian_root_test.py PACKAGES ROOTS

PACKAGES is the folder that scripts/package filled; ROOTS keeps the Debian system (debian_root.py).
--prepare only makes that, which takes a minute or two the first time. Ends with status 77 and a
line that says why where this machine cannot make one.
"""

import pathlib
import shutil
import sys
import unittest

import debian_root

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
MODULE = """
redis-server --port 0 --unixsocket /tmp/socket --dir /tmp --save '' \
  --loadmodule "$(dpkg --listfiles nestline-redis | grep 'so$')" >/tmp/redis.log 2>&1 &
until redis-cli -s /tmp/socket PING >/dev/null 2>&1; do
  kill -0 $! || { cat /tmp/redis.log; exit 1; }
  sleep 0.1
done
redis-cli -s /tmp/socket CF.ADD seen user:17
redis-cli -s /tmp/socket CF.MEXISTS seen user:17 user:18
redis-cli -s /tmp/socket SHUTDOWN NOSAVE
wait
"""

PYTHON = """
import nestline, numpy
f = nestline.Filter(capacity=1000)
f.insert(numpy.arange(100))
print(99 in f, len(f))
"""

SQLITE = """
extension=$(dpkg --listfiles libsqlite3-mod-nestline | grep 'so$')
sqlite3 -bail :memory: ".load $extension" \
  "WITH keys(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM keys WHERE n < 100), \
        f(x) AS (SELECT nestline_build(n) FROM keys) \
   SELECT nestline_contains(x, 100), nestline_contains(x, 5000000) FROM f"
"""

POSTGRESQL = r"""
bin=/usr/lib/postgresql/15/bin
su postgres -c "$bin/initdb --auth trust --pgdata /tmp/data" >/dev/null
su postgres -c "$bin/pg_ctl --pgdata /tmp/data --wait --log /tmp/pg.log -o '-k /tmp -h \"\"' start" >/dev/null
psql --host /tmp --username postgres --quiet --tuples-only --no-align --command "CREATE EXTENSION nestline" \
  --command "SELECT nestline_may_contain(f, 100), nestline_may_contain(f, 5000000) FROM \
             (SELECT nestline_build(g) FROM generate_series(1, 100) g) AS f(f)"
su postgres -c "$bin/pg_ctl --pgdata /tmp/data --wait stop" >/dev/null
rm -r /tmp/data /tmp/pg.log
"""

COMPLETION = """
source /usr/share/bash-completion/completions/nestline
COMP_WORDS=(nestline store get us)
COMP_CWORD=3
_nestline
echo ${COMPREPLY[@]}
"""

COMMAND = """
printf 'a\\nb\\n' >keys
nestline build -o keys.nest keys
printf 'b\\nc\\n' | nestline query keys.nest
nestline store put db user:17 Ada
nestline store get db user:17
"""


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = debian_root.Prepared(ROOTS).fresh()
        cls.before = cls.root.files()
        cls.packages_before = cls.root.run("dpkg-query --show")
        work = cls.root.folder / "work"
        work.mkdir()
        for package in PACKAGES.glob("*.deb"):
            shutil.copy(package, work)
        shutil.copytree(SOURCE / "tests/packaging/install", work / "install")
        for name in ("first.cc", "first.c"):
            shutil.copy(SOURCE / "tests/documents/examples" / name, work)
        cls.names = cls.root.run(
            "for f in /work/*.deb; do dpkg-deb --field $f Package; done"
        ).split()
        # The lists may be older than what the mirror has.
        install = "apt-get -q install --yes --no-install-recommends /work/*.deb"
        cls.root.run(f"{install} || {{ apt-get -q update && {install}; }}")

    def test_1_the_first_example_of_the_readme(self):
        printed = self.root.run(
            "cd /work; g++ -std=c++20 first.cc $(pkg-config --cflags --libs nestline-filter) -o first; "
            "./first"
        )
        self.assertEqual(printed, "look in the database\nnot there: no need to look\n")

    def test_2_a_project_of_cmake(self):
        printed = self.root.run(
            "cd /work; cmake -S install -B consumer >/dev/null; cmake --build consumer "
            ">/dev/null; consumer/consumer filter"
        )
        self.assertIn("found 100000\n", printed)

    def test_3_a_program_in_c(self):
        printed = self.root.run(
            "cd /work; gcc first.c $(pkg-config --cflags --libs nestline-c) -o c; "
            "./c"
        )
        self.assertEqual(printed, "look in the database\nnot there: no need to look\n")

    def test_4_the_command(self):
        self.assertEqual(self.root.run("cd /work; " + COMMAND), "b\nAda")
        self.assertEqual(
            self.root.run("nestline --version").split(), ["nestline", version_of(PACKAGES)]
        )
        self.assertEqual(
            self.root.run("mkdir /work/users.db; cd /work; bash -c '" + COMPLETION + "'"),
            "users.db\n",
        )

    def test_5_the_module_of_redis(self):
        self.assertEqual(self.root.run(MODULE), "1\n1\n0\n")

    def test_6_python(self):
        if "python3-nestline" not in self.names:
            self.skipTest("there is no package for Python")
        self.assertEqual(self.root.run("cd /work; python3 -", text_input=PYTHON), "True 100\n")

    def test_7_sqlite(self):
        if "libsqlite3-mod-nestline" not in self.names:
            self.skipTest("there is no package for SQLite")
        self.assertEqual(self.root.run(SQLITE), "1|0\n")

    def test_8_postgresql(self):
        if "postgresql-15-nestline" not in self.names:
            self.skipTest("there is no package for PostgreSQL")
        self.assertEqual(self.root.run(POSTGRESQL), "t|f\n")

    def test_9_no_trace_after_they_are_removed(self):
        self.assertIn("usr/bin/nestline", self.root.files())
        self.root.run("rm -r /work; apt-get -q purge --yes --autoremove " + " ".join(self.names))
        self.assertEqual(self.root.run("dpkg-query --show"), self.packages_before)
        after = self.root.files()
        self.assertEqual(
            {
                name: after.get(name)
                for name in self.before.keys() | after.keys()
                if after.get(name) != self.before.get(name)
            },
            {},
        )


def version_of(folder):
    """The version of the tarball."""
    return (
        next(folder.glob("nestline-*.tar.gz"))
        .name.removeprefix("nestline-")
        .removesuffix(".tar.gz")
    )


if __name__ == "__main__":
    FIRST, ROOTS = sys.argv[1:]
    PACKAGES = pathlib.Path(FIRST).resolve()
    try:
        debian_root.Prepared(ROOTS)
    except debian_root.NotPossible as reason:
        print(f"debian_root_test: skipped: {reason}")
        sys.exit(77)
    if FIRST != "--prepare":
        unittest.main(argv=sys.argv[:1], verbosity=2)
