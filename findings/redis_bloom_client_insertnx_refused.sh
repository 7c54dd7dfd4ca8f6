#!/usr/bin/env bash
# @redis/bloom 5.9.0 and 6.3.1 (npm, node-redis' package for filters; 6.3.1 is the latest on 2026-12-02): what
# cf.insertNX() makes of an item that the filter has no room for.
#
# The guess: the caller can tell an item that was added from one that was there and one that was refused, for which a
# server replies 1, 0 and -1. What is seen for the reply [1, 0, -1], with the options left alone but for the protocol:
#
#   5.9.0, RESP2, its default: true, false, false    so a refused item looks like one that was there
#   5.9.0, RESP3:              1, 0, -1
#   6.3.1, RESP3, its default: 1, 0, -1              and -1 is true in an `if` that was written for 5.9.0
#   6.3.1, RESP2:              1, 0, -1
#
# So with either, compare with 1: an item is in the filter where the answer is not -1, and 5.9.0 tells that in RESP3
# alone. cf.insert() has no such doubt: false is refused.
#
# Needs node 20 and npm. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/insert.mjs" <<'END'
import net from "node:net";
import bloom from "@redis/bloom";
import { createClient } from "@redis/client";

// A server that replies to CF.INSERTNX, and agrees to whatever else a client says first.
const server = net.createServer((socket) => {
  socket.on("data", (data) => {
    for (const [, command] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n([A-Za-z.]+)\r\n/g)) {
      if (command === "CF.INSERTNX") socket.write("*3\r\n:1\r\n:0\r\n:-1\r\n");
      else socket.write(command === "HELLO" ? "%1\r\n+proto\r\n:3\r\n" : "+OK\r\n");
    }
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
for (const protocol of [{}, { RESP: 2 }, { RESP: 3 }]) {
  const socket = { host: "127.0.0.1", port: server.address().port };
  const client = createClient({ socket, modules: bloom.default ?? bloom, ...protocol });
  await client.connect();
  const answers = await client.cf.insertNX("filter", ["new", "there", "refused"]);
  console.log(`RESP${protocol.RESP ?? " default"}: ${answers.join(", ")}`);
  client.destroy();
}
server.close();
END
for version in 5.9.0 6.3.1; do
  mkdir "$folder/$version"
  cd "$folder/$version"
  cp ../insert.mjs .
  npm init --yes >/dev/null
  npm install --no-audit --no-fund --loglevel=error "@redis/bloom@$version" "@redis/client@$version" >/dev/null
  echo "$version"
  timeout 60 node insert.mjs
done | tee "$folder/seen"
diff "$folder/seen" - <<'END'
5.9.0
RESP default: true, false, false
RESP2: true, false, false
RESP3: 1, 0, -1
6.3.1
RESP default: 1, 0, -1
RESP2: 1, 0, -1
RESP3: 1, 0, -1
END
