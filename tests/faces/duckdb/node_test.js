// The extension in DuckDB as Node.js runs it: SQL as a user types it, and filters that go to and come from the
// command, SQLite and Python.
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import duckdb from '@duckdb/node-api';

const { NESTLINE_DUCKDB, NESTLINE_COMMAND, NESTLINE_SQLITE, NESTLINE_PYTHON } = process.env;
const tests = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nestline-duckdb-'));
after(() => fs.rmSync(folder, { recursive: true }));

const instance = await duckdb.DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true' });
const connection = await instance.connect();
await connection.run(`LOAD '${NESTLINE_DUCKDB}'`);

async function rows(sql, parameters) {
  return (await connection.runAndReadAll(sql, parameters)).getRows();
}
async function one(sql, parameters) {
  return (await rows(sql, parameters))[0][0];
}
function ran(program, words, input) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { input, encoding: 'utf8' });
  assert.strictEqual(status, 0, error?.message ?? stderr);
  return stdout;
}

const example = fs.readFileSync(path.join(tests, 'documents', 'examples', 'duckdb.sql'), 'utf8');
const { SELECT, EXECUTE, PREPARE, SET } = duckdb.StatementType;
const answers = ['1000', '2000', '1000', '1000', 'true', '1000', '7', '3000', 'true,false'];

test('the example of the document', async () => {
  const printed = [];
  process.chdir(folder); // it makes files
  const statements = await connection.extractStatements(example);
  for (let i = 0; i < statements.count; ++i) {
    const statement = await statements.prepare(i);
    const result = await statement.runAndReadAll();
    if ([SELECT, EXECUTE].includes(statement.statementType)) printed.push(result.getRows().join(' '));
  }
  assert.deepStrictEqual(printed, answers);
});

// The same database has the tables, but no variable until the statements set it; then the answers are the same.
test('the example in another connection', async () => {
  const other = await instance.connect();
  for (const sets of [false, true]) {
    const statements = await other.extractStatements(example);
    const printed = [], refused = [];
    for (let i = 0; i < statements.count; ++i) {
      const statement = await statements.prepare(i);
      const type = statement.statementType;
      if (![SELECT, EXECUTE, sets ? SET : PREPARE].includes(type)) continue;
      try {
        const rows = (await statement.runAndReadAll()).getRows();
        if (type !== SET && type !== PREPARE) printed.push(rows.join(' '));
      } catch (error) {
        refused.push(error.message);
      }
    }
    for (const error of refused) assert.match(error, /there is no filter, it is NULL: is the variable set in this connection/);
    assert.strictEqual(refused.length, sets ? 0 : 6); // all that ask a variable
    assert.deepStrictEqual(printed, sets ? answers : answers.filter((_, i) => [4, 6, 7].includes(i)));
  }
});

test('prepared statements ask the filter that they are given', async () => {
  await connection.run('CREATE OR REPLACE TABLE members AS SELECT range AS id FROM range(2000)');
  const build = (most) => one(`SELECT nestline_open(nestline_build(id)) FROM members WHERE id < ${most}`);
  const sql = `SELECT count(*) FROM (SELECT * FROM range(5000) t(customer) WHERE nestline_may_contain($f, customer))
    JOIN members ON id = customer`;
  const prepared = await connection.prepare(sql);
  await connection.run(`PREPARE asked AS ${sql}`);
  for (const most of [1000, 2000, 1500]) {
    const plain = Number(await one(sql, { f: await build(most) }));
    assert.ok(plain >= most && plain < most + 30, `${plain}`);
    prepared.bind({ f: await build(most) });
    assert.strictEqual(Number((await prepared.runAndReadAll()).getRows()[0][0]), plain);
    await connection.run(`SET VARIABLE members = (SELECT nestline_open(nestline_build(id)) FROM members WHERE id < ${most})`);
    assert.strictEqual(Number(await one("EXECUTE asked(f := getvariable('members'))")), plain);
  }
  prepared.bindNull(1);
  await assert.rejects(prepared.runAndReadAll(), /there is no filter, it is NULL/);
});

test('values bound by a program', async () => {
  const blob = await one('SELECT nestline_build(k) FROM (VALUES ($1), ($2)) t(k)', ['gr\u00fc\u00df', 'a\0b']);
  const found = await rows('SELECT nestline_may_contain($f, k) FROM (VALUES ($a), ($b), ($c), (NULL)) t(k)', {
    f: blob, a: 'gr\u00fc\u00df', b: 'a\0b', c: 'a',
  });
  assert.deepStrictEqual(found.flat(), [true, true, false, null]);
  const prepared = await connection.prepare('SELECT count(*) FROM range(1000) r(i) WHERE nestline_may_contain($1, i)');
  for (const keys of [10, 500, 0, 999]) {
    prepared.bindBlob(1, (await one(`SELECT nestline_build(i, 1e-4) FROM range(${keys}) r(i)`)).bytes);
    const count = Number((await prepared.runAndReadAll()).getRows()[0][0]);
    assert.ok(count >= keys && count <= keys + 2, `${count}`);
  }
  await assert.rejects(one('SELECT nestline_build(0.5::DOUBLE)'), /FLOAT and DOUBLE are no keys/);
});

test('a constant filter in a prepared statement stays open', async () => {
  const blob = await one('SELECT nestline_build(7)::VARCHAR');
  const prepared = await connection.prepare(
    `SELECT nestline_may_contain(nestline_open('${blob}'::BLOB), i) FROM range(7, 8) t(i)`);
  const found = async () => (await prepared.runAndReadAll()).getRows()[0][0];
  assert.strictEqual(await found(), true);
  await one('SELECT nestline_limits(5, NULL)');
  await one('SELECT sum(octet_length(nestline_open(f))) FROM (SELECT nestline_build(i) f FROM range(99) t(i) GROUP BY i)');
  await one('SELECT nestline_limits(4096, NULL)');
  assert.strictEqual(await found(), true);
});

test('files of the command', { skip: !NESTLINE_COMMAND }, async () => {
  const words = ['one', 'gr\u00fc\u00df', '42'];
  const file = path.join(folder, 'words.nest');
  ran(NESTLINE_COMMAND, ['build', '-o', file, '--fpr', '0.0001'], words.join('\n') + '\n');
  const asked = [...words, 'two'].map((word) => `'${word}'`).join(', ');
  const found = await rows(`SELECT nestline_may_contain(nestline_load('${file}'), unnest([${asked}]))`);
  assert.deepStrictEqual(found.flat(), [true, true, true, false]);
  assert.strictEqual(await one(`SELECT nestline_may_contain(nestline_load('${file}'), 42)`), false);

  await one(`SELECT nestline_save(nestline_build(w, 0.0001), '${file}') FROM (SELECT unnest([${asked}]) AS w)`);
  assert.strictEqual(ran(NESTLINE_COMMAND, ['query', file], 'two\nthree\n42\n'), 'two\n42\n');
});

// Numbers of 64 bits, negative ones, days since 1970, texts with NUL and beyond ASCII, bytes.
const inSql = ['7', '-7', '-9223372036854775807 - 1', "DATE '2026-11-26' - DATE '1970-01-01'", "'a' || chr(0) || 'b'",
  "'gr\u00fc\u00df \u{1f426}'", "'\\x00\\xFF\\x80'::BLOB"];
const ofDuckdb = [...inSql.slice(0, 3), "DATE '2026-11-26'", ...inSql.slice(4)];
const inSqlite = ['7', '-7', '-9223372036854775808', '20783', "'a' || char(0) || 'b'", "'gr\u00fc\u00df \u{1f426}'",
  "x'00ff80'"];
const inPython = ['7', '-7', '-2**63', '20783', "'a\\0b'", "'gr\\u00fc\\u00df \\U0001f426'", "b'\\0\\xff\\x80'"];

// A filter of each value, joined by nestline_merge, since a column has one type.
async function filterOf(values) {
  const each = values.map((value) => `(SELECT nestline_build(${value}, 0.0001, 100))`).join(', ');
  return one(`SELECT nestline_merge(f) FROM (SELECT unnest([${each}]) AS f)`);
}
async function foundIn(file, values) {
  const found = [];
  for (const value of values) found.push(await one(`SELECT nestline_may_contain(nestline_load('${file}'), ${value})`));
  return found;
}

test('SQLite', { skip: !NESTLINE_SQLITE }, async () => {
  const file = path.join(folder, 'sqlite.nest');
  const ask = (sql) => ran('sqlite3', ['-cmd', `.load ${NESTLINE_SQLITE}`, ':memory:', sql]).trim();
  ask(`SELECT writefile('${file}', nestline_build(column1, 0.0001)) FROM (VALUES (${inSqlite.join('), (')}))`);
  assert.deepStrictEqual(await foundIn(file, inSql), inSql.map(() => true));
  await assert.rejects(foundIn(file, ofDuckdb), /built of keys of kind number, text, bytes, and this key is of kind date/);
  assert.strictEqual(await one(`SELECT nestline_info(nestline_load('${file}')).keys`), BigInt(ofDuckdb.length));
  await one(`SELECT nestline_save($1, '${file}')`, [await filterOf(ofDuckdb)]);
  const counts = inSqlite.map((value) => `nestline_count(nestline_file('${file}'), ${value})`);
  assert.strictEqual(ask(`SELECT ${[...counts, `nestline_count(nestline_file('${file}'), '7')`].join(', ')}`),
    `${'1|'.repeat(counts.length)}0`);
  await one(`SELECT nestline_save(nestline_build(DATE '2026-11-26'), '${file}')`);
  const refused = spawnSync('sqlite3', ['-cmd', `.load ${NESTLINE_SQLITE}`, ':memory:',
    `SELECT nestline_contains(nestline_file('${file}'), 20783)`], { encoding: 'utf8' });
  assert.match(refused.stderr, /built of keys of kind date, and this key is of kind number/);
});

// With the package for Python where it is built, else with a reader of the format that shares nothing with us.
test('Python', async () => {
  const file = path.join(folder, 'python.nest');
  await one(`SELECT nestline_save($1, '${file}')`, [await filterOf(ofDuckdb)]);
  const reader = `
import sys; sys.path.insert(0, ${JSON.stringify(path.join(tests, "filters", "file"))})
from format_reader import Reader
reader = Reader(open(${JSON.stringify(file)}, 'rb').read())
for key in (${inPython.join(', ')}):
    if isinstance(key, int): print(reader.count_integer(key % 2**64))
    else: print(reader.count_string(key.encode() if isinstance(key, str) else key))
`;
  assert.strictEqual(ran(NESTLINE_PYTHON, ['-B', '-c', reader]), '1\n'.repeat(inPython.length));
  const { NESTLINE_PACKAGE } = process.env;
  if (!NESTLINE_PACKAGE) return;
  const users = `
import sys; sys.path.insert(0, ${JSON.stringify(NESTLINE_PACKAGE)})
import nestline
keys = (${inPython.join(', ')})
filter = nestline.Filter.load(${JSON.stringify(file)})
assert all(filter.count(key) == 1 for key in keys)
other = nestline.Filter(100, fpr=0.0001)
for key in keys: assert other.insert(key)
other.save(${JSON.stringify(file)})
`;
  ran(NESTLINE_PYTHON, ['-B', '-c', users]);
  assert.deepStrictEqual(await foundIn(file, ofDuckdb), ofDuckdb.map(() => true)); // it names no kinds
});
