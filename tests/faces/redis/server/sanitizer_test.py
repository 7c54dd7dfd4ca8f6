"""Runs the module in a server under a tool that watches for memory errors.

NESTLINE_REDIS_SANITIZER names the tool:

    valgrind   memcheck, of any build: also sees what the server does to memory that the module has
               freed, or the other way round. Errors count that have a function of nestline in their
               stacks.
    address    AddressSanitizer, of a module that is compiled with it: its run time is loaded in front
               of the server's allocator, so blocks of the module have guards around them. Any report
               counts, also of UndefinedBehaviorSanitizer.

It runs a stream of random commands with saving and loading, then the tests that
NESTLINE_REDIS_PROGRAMS names, each with watched servers. NESTLINE_REDIS_LIBASAN is the run time's
file (g++ -print-file-name=libasan.so), NESTLINE_SANITIZER_STREAM (400) the length of the stream.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

KIND = os.environ.get("NESTLINE_REDIS_SANITIZER", "valgrind")
COMMANDS = int(os.environ.get("NESTLINE_SANITIZER_STREAM", "400"))
FOLDER = tempfile.TemporaryDirectory(prefix="nestline_sanitizer.")  # pylint: disable=consider-using-with
REPORTS = os.path.join(FOLDER.name, "report")
PROGRAMS = os.environ.get("NESTLINE_REDIS_PROGRAMS", "").split()
# The compression of strings reads what it has not written, by design.
OPTIONS = {"rdbcompression": "no"}


def wrapper():
    if KIND == "valgrind":
        return f"valgrind --quiet --error-limit=no --num-callers=30 --log-file={REPORTS}.%p"
    library = os.environ["NESTLINE_REDIS_LIBASAN"]
    # The server does not free its memory at the end. Large allocations may fail as without it.
    address = f"detect_leaks=0:allocator_may_return_null=1:log_path={REPORTS}"
    undefined = f"print_stacktrace=1:log_path={REPORTS}"
    return f"env LD_PRELOAD={library} ASAN_OPTIONS={address} UBSAN_OPTIONS={undefined}"


os.environ["NESTLINE_REDIS_WRAPPER"] = wrapper()
os.environ["NESTLINE_HOSTILE_UNMEASURED"] = "1"
# Read by servers.py when it is imported.
# pylint: disable=wrong-import-position
from resp import Connection  # noqa: E402
from servers import Server  # noqa: E402
from stream import KEYS, MERGED, Stream  # noqa: E402


def reports():
    """Our own errors, from all servers so far."""
    found = []
    for name in sorted(glob.glob(REPORTS + "*")):
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if KIND == "address":
            found += [text] if text else []
            continue
        # Entries are separated by lines with only the number of the process.
        for entry in re.split(r"\n==\d+== \n", text):
            if "nestline" in entry:
                found.append(entry)
    return found


class SanitizerTest(unittest.TestCase):
    def assert_clean(self):
        found = reports()
        self.assertEqual(len(found), 0, "\n\n".join(found)[:8000])

    def test_stream(self):
        with Server(OPTIONS) as server:
            stream = Stream(server.port, 9)
            self.addCleanup(lambda: stream.close())
            for _ in range(2):
                stream.run(COMMANDS // 2)
                stream.settle()
                digest = stream.call("DEBUG", "DIGEST")
                self.assertEqual(stream.call("DEBUG", "RELOAD"), "OK")
                self.assertEqual(stream.call("DEBUG", "DIGEST"), digest)
            self.assertGreater(len(+stream.done), 10)
            # The stream has merged them until they have the most filters allowed.
            server.call("CONFIG", "SET", "nestline.cf-max-expansions", 1000)
            # Those with EXPANSION 0 have no room for it.
            merged = [key for key in MERGED if stream.works("CF.MERGE", key, key, key)]
            self.assertGreater(len(merged), 1)
            server.rewrite_aof()
            self.assertEqual(stream.call("CF.MERGE", *merged), "OK")
            stream.call("UNLINK", *KEYS, *MERGED)
            server.assert_alive()
            server.stop()
        self.assert_clean()

    def test_programs(self):
        for program in PROGRAMS:
            done = subprocess.run([sys.executable, "-B", "-m", "unittest", program],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace")[-4000:])
        self.assert_clean()

    def test_watching_works(self):
        """The server's allocator is the one that reports errors."""
        with Server(OPTIONS) as server:
            with open(f"/proc/{server.process.pid}/maps", encoding="utf-8") as maps:
                mapped = maps.read()
            self.assertIn("vgpreload_memcheck" if KIND == "valgrind" else "libasan", mapped)
            with Connection(server.port) as client:
                self.assertEqual(client.call("CF.ADD", "key", "item"), 1)
            server.stop()
