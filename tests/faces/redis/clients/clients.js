// What the clients of Node.js make of the module's replies: node-redis with its package for filters,
// which parses them, in both protocols, and ioredis, which leaves them as they are.
//
//   node --test clients.js         with the server's port in NESTLINE_TEST_PORT
import assert from 'node:assert/strict';
import test from 'node:test';
import bloom from '@redis/bloom';
import { createClient, RESP_TYPES } from '@redis/client';
import { Redis } from 'ioredis';

const port = Number(process.env.NESTLINE_TEST_PORT);

for (const RESP of [2, 3]) {
  test(`node-redis, RESP${RESP}`, async () => {
    const client = createClient({ socket: { port }, RESP, modules: bloom.default ?? bloom });
    await client.connect();
    try {
      await useNodeRedis(client, RESP);
    } finally {
      client.destroy();
    }
  });
}

async function useNodeRedis(client, RESP) {
  const key = `node-redis-${RESP}`;
  const { cf } = client;
  assert.equal(await cf.reserve(key, 1000, { BUCKETSIZE: 2, MAXITERATIONS: 20, EXPANSION: 1 }), 'OK');
  assert.equal(await cf.add(key, 'x'), true);
  assert.deepEqual([await cf.addNX(key, 'x'), await cf.addNX(key, 'y')], [false, true]);
  assert.deepEqual(await cf.insert(key, ['z', 'z']), [true, true]);
  // RedisBloom answers with integers in RESP3 too, since -1 means that there was no room.
  const news = RESP === 3 ? [0, 1] : [false, true];
  assert.deepEqual(await cf.insertNX(key, ['z', 'w'], { NOCREATE: true }), news);
  assert.deepEqual([await cf.exists(key, 'x'), await cf.exists(key, 'none')], [true, false]);
  assert.equal(await cf.count(key, 'z'), 2);
  assert.deepEqual([await cf.del(key, 'z'), await cf.del(key, 'none')], [true, false]);
  const { Size: size, ...info } = { ...(await cf.info(key)) };
  assert.ok(size > 1000 && size < 10000, `${size}`);
  assert.deepEqual(info, {
    'Number of buckets': 512,
    'Number of filters': 1,
    'Number of items inserted': 4,
    'Number of items deleted': 1,
    'Bucket size': 2,
    'Expansion rate': 1,
    'Max iterations': 20,
  });
  // Pieces are bytes, which this client keeps only when it is told so.
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const pieces = [];
  for (let iterator = 0; ; ) {
    const piece = await bytes.cf.scanDump(key, iterator);
    iterator = piece.iterator;
    if (iterator === 0) break;
    pieces.push(piece);
  }
  assert.ok(pieces.length >= 2, `${pieces.length}`);
  for (const { iterator, chunk } of pieces) {
    assert.equal(await cf.loadChunk(`${key}-copy`, iterator, chunk), 'OK');
  }
  for (const item of ['x', 'y', 'z', 'w']) {
    assert.equal(await cf.exists(`${key}-copy`, item), true, item);
  }
  await assert.rejects(cf.reserve(key, 1000), /exists/);
  await assert.rejects(cf.info('missing'), /not found/i);
  await useWindow(client, RESP);
}

// The calls know nothing of windows; those that exist work on filters that have one.
async function useWindow(client, RESP) {
  const key = `window-${RESP}`;
  const { cf } = client;
  assert.equal(await client.sendCommand(['CF.RESERVE', key, '1000', 'WINDOW', '600']), 'OK');
  assert.deepEqual([await cf.add(key, 'x'), await cf.add(key, 'x')], [true, false]);
  assert.deepEqual([await cf.addNX(key, 'x'), await cf.addNX(key, 'y')], [false, true]);
  assert.deepEqual(await cf.insert(key, ['x', 'z']), [false, true]);
  assert.deepEqual(await cf.insertNX(key, ['z', 'w']), RESP === 3 ? [0, 1] : [false, true]);
  assert.deepEqual([await cf.exists(key, 'w'), await cf.exists(key, 'none')], [true, false]);
  const info = { ...(await cf.info(key)) };
  assert.equal(info['Number of items inserted'], 4);
  // Those of a filter of RedisBloom, which have their places in some clients.
  assert.equal(Object.keys(info).length, 8);
  await assert.rejects(cf.del(key, 'x'), /WINDOW/);
  await assert.rejects(cf.count(key, 'x'), /WINDOW/);
}

test('ioredis', async () => {
  const client = new Redis({ port });
  const key = 'ioredis';
  try {
    assert.equal(await client.call('CF.RESERVE', key, 1000), 'OK');
    const replies = await client
      .pipeline()
      .call('CF.ADD', key, 'x')
      .call('CF.MEXISTS', key, 'x', 'none')
      .call('CF.COUNT', key, 'x')
      .call('CF.RESERVE', key, 1000)
      .exec();
    assert.deepEqual(replies.slice(0, 3), [[null, 1], [null, [1, 0]], [null, 1]]);
    assert.match(replies[3][0].message, /exists/);
    const info = await client.call('CF.INFO', key);
    assert.equal(info.length, 16);
    const pieces = [];
    for (let iterator = 0; ; ) {
      const [next, piece] = await client.callBuffer('CF.SCANDUMP', key, iterator);
      iterator = Number(next);
      if (iterator === 0) break;
      pieces.push([iterator, piece]);
    }
    for (const piece of pieces) {
      assert.equal(await client.call('CF.LOADCHUNK', `${key}-copy`, ...piece), 'OK');
    }
    assert.equal(await client.call('CF.EXISTS', `${key}-copy`, 'x'), 1);
    // A script that ioredis defines as a method; its key gets the client's prefix.
    client.defineCommand('seen', {
      numberOfKeys: 1,
      lua: "return redis.call('CF.ADDNX', KEYS[1], ARGV[1])",
    });
    assert.deepEqual([await client.seen(key, 'new'), await client.seen(key, 'new')], [1, 0]);
  } finally {
    client.disconnect();
  }
});
