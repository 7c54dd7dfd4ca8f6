// Every pair of types that DuckDB joins without a cast: a filter in front of the join changes no count, or is an error.
import assert from 'node:assert';
import { test } from 'node:test';
import duckdb from '@duckdb/node-api';

const instance = await duckdb.DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: '1' });
const connection = await instance.connect();
const run = async (sql) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
await run(`LOAD '${process.env.NESTLINE_DUCKDB}'`);
await run("SET TimeZone = 'America/New_York'");
await run("CREATE TYPE label AS ENUM ('0', '1', '7', 'true', 'a', '2020-01-02', 'x')");
await run("CREATE TYPE other_label AS ENUM ('a', 'zz', '1')");

// Values of each type. Those that types share are in both; 7.25, \x41, nanoseconds and the like show what casts round.
const numbers = ['0', '1', '2', '7', '100'];
const days = ["'2020-01-02'", "'1969-12-31'", "'infinity'", "'-infinity'"];
const values = {
  BOOLEAN: ['true', 'false'], TINYINT: [...numbers, '-1'],
  BIGINT: [...numbers, '-1', '5000000000'], HUGEINT: [...numbers, '-1', '18446744073709551617'],
  UBIGINT: [...numbers, '18446744073709551615'], BIGNUM: numbers,
  DOUBLE: [...numbers, '0.5', '7.25'], 'DECIMAL(9, 2)': [...numbers, '0.5', '7.25'],
  'DECIMAL(38, 10)': [...numbers, '0.5', '7.2500000001'], BIT: ["'1'", "'101'"],
  VARCHAR: ["'0'", "'1'", "'7'", "'a'", "'true'", "'7.25'", "'2020-01-02'", "'\\x41'", "'A'", "'101'"],
  BLOB: ["'a'", "'A'", "'1'", "'\\x41'"], label: ["'a'", "'1'", "'7'"], other_label: ["'a'", "'zz'"],
  JSON: ["'1'", "'7'", "'\"a\"'"], UUID: ["'12345678-9abc-def0-8123-456789abcdef'"], DATE: days,
  TIME: ["'00:00:01'", "'12:34:56.789012'", "'24:00:00'"],
  TIME_NS: ["'00:00:01'", "'12:34:56.789012'", "'12:34:56.789012345'"], TIMETZ: ["'00:00:01+00'", "'12:34:56+05'"],
  TIMESTAMP: [...days, "'2020-01-02 03:04:05.678901'", "'1969-12-31 23:59:59.999999'"],
  TIMESTAMP_S: [...days, "'2020-01-02 03:04:05'"], TIMESTAMP_MS: [...days, "'2020-01-02 03:04:05.678'"],
  TIMESTAMP_NS: [...days, "'2020-01-02 03:04:05.678901'", "'2020-01-02 03:04:05.678901234'"],
  TIMESTAMPTZ: [...days, "'2020-01-02 03:04:05.678901-05'"], INTERVAL: ["'1 day'", "'24 hours'"],
  'STRUCT(a INTEGER)': ["{'a': 1}"],
};
const groups = [['BOOLEAN', 'TINYINT', 'BIGINT', 'HUGEINT', 'UBIGINT', 'DECIMAL(9, 2)', 'DECIMAL(38, 10)'],
  ['VARCHAR', 'label', 'other_label'], ['TIME', 'TIME_NS'], ['BLOB'], ['JSON'], ['UUID'], ['DATE'],
  ['TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS'], ['TIMESTAMPTZ']]; // types of one kind

const table = (type) => `"${type}"`;
for (const [type, literals] of Object.entries(values)) {
  await run(`CREATE TABLE ${table(type)} AS SELECT unnest([${literals.map((one) => `${one}::${type}`).join(', ')}]) AS k`);
}
const isKept = (promise) => promise.then(() => true, () => false);
const JOIN = 'SELECT count(*) FROM a JOIN b ON a.k = b.k';

// Tables a and b of two types, with equal values as far as casts give them, that join without an error; false if none do.
async function areMade(left, right) {
  const own = [`SELECT k FROM ${table(left)}`, `SELECT k FROM ${table(right)}`];
  const cast = [`SELECT TRY_CAST(k AS ${left}) FROM ${table(right)}`, `SELECT TRY_CAST(k AS ${right}) FROM ${table(left)}`];
  for (const [a, b] of [[own[0], `${own[1]} UNION ${cast[1]}`], [own[0], own[1]], [own[0], cast[1]], [cast[0], own[1]]]) {
    if (await isKept(run(`CREATE OR REPLACE TABLE a(k) AS ${a}`)) && await isKept(run(`CREATE OR REPLACE TABLE b(k) AS ${b}`)) &&
        await isKept(run(JOIN))) return true;
  }
  return false;
}

test('pairs of types', async () => {
  let refused = 0;
  for (const left of Object.keys(values)) {
    for (const right of Object.keys(values)) {
      if (!await areMade(left, right)) continue;
      const ask = async () => {
        await run('SET VARIABLE f = (SELECT nestline_open(nestline_build(k)) FROM b)');
        return run(JOIN.replace('a JOIN', "(SELECT * FROM a WHERE nestline_may_contain(getvariable('f'), k)) a JOIN"));
      };
      const found = await ask().catch((error) => error);
      const pair = `${left} = ${right}`;
      if (groups.some((group) => group.includes(left) && group.includes(right))) {
        assert.strictEqual(found, await run(JOIN), pair);
        if (left === right) assert.ok(found > 0n, pair);
      } else {
        assert.match(`${found.message}`, /nestline: (the filter was built of keys of kind|FLOAT and|a key is|a STRUCT)/, pair);
        ++refused;
      }
    }
  }
  assert.ok(refused > 300, `${refused}`);
});
