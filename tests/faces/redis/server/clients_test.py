"""The module behind the clients of Node.js: tests/faces/redis/clients/clients.js on a server."""

import os
import pathlib
import subprocess

from module_case import ModuleCase
from servers import PATIENCE

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "clients"
PACKAGES = FOLDER.parents[3] / "scripts" / "npm-packages"


class ClientsTest(ModuleCase):
    def test_clients_of_node(self):
        subprocess.run([PACKAGES, FOLDER], check=True)
        done = subprocess.run(
            ["node", "--test", "clients.js"], cwd=FOLDER, timeout=4 * PATIENCE, text=True,
            env={**os.environ, "NESTLINE_TEST_PORT": str(self.server.port)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^# pass 3$")
