// Measures what a filter saves in DuckDB, and what the functions of the extension take.
//
//   node join_bench.mjs EXTENSION [--scale SHARE] [--rounds N] [--threads N] [--only WORD]
//
// EXTENSION is nestline.duckdb_extension. The engine is that of tests/faces/duckdb/node_modules, in memory. --scale (1)
// multiplies all numbers of rows. --only leaves out the lines whose name has not WORD.
//
// A query runs without a filter; with one that a statement before it builds into a variable, both counted (built); with
// one that was in the variable already (kept); with one that a subquery builds; and with one kept that
// nestline_worth_joining asks, where rows that pass without a look do no harm: as DuckDB plans it, and with its hash
// table made of the side that is written last, as without a filter (as written). All must count the same. They run in
// turn, --rounds (5) times after one round that does not count. The table has the median in milliseconds of processor
// time, and in brackets of time that passed, which with --threads (1) above 1 is what threads save.
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const duckdb = createRequire(path.join(here, '../../../tests/faces/duckdb/node_test.js'))('@duckdb/node-api');
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '1' }, rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '1' }, only: { type: 'string', default: '' },
  },
});
const instance = await duckdb.DuckDBInstance.create(':memory:', {
  allow_unsigned_extensions: 'true', threads: options.threads,
});
const connection = await instance.connect();
await connection.run(`LOAD '${path.resolve(positionals[0])}'`);

const rowsOf = (millions) => Math.round(millions * 1e6 * Number(options.scale));

const asNumber = (number) => number;
const asText = (number) => `'user:' || lpad((${number})::VARCHAR, 15, '0')`;

// `small` has the even numbers below twice its size, in no order; `percent` of the rows of `big` have a partner there,
// the others are odd. `kind` is small's last column, which is 0 in a tenth of the rows.
async function makeTables(big, small, key = asNumber, percent = 2) {
  const keys = rowsOf(small);
  await connection.run(`CREATE OR REPLACE TABLE small AS SELECT ${key('2 * i')} AS k, (i % 10)::INTEGER AS kind
    FROM range(${keys}) t(i) ORDER BY hash(i)`);
  await connection.run(`CREATE OR REPLACE TABLE big AS SELECT ${key(`(2 * (hash(i) % ${keys}) +
    (hash(i + 1000000007) % 100 >= ${percent})::INTEGER)::BIGINT`)} AS k, i AS other FROM range(${rowsOf(big)}) t(i)`);
}

// Lists of statements, each of which ends in a count, in turn: the median of each, in milliseconds.
async function measure(statements) {
  const taken = statements.map(() => []);
  const counts = new Set();
  for (let round = 0; round <= Number(options.rounds); ++round) {
    for (const [i, list] of statements.entries()) {
      await connection.run('RESET disabled_optimizers');
      const before = process.cpuUsage();
      const start = performance.now();
      for (const sql of list.slice(0, -1)) await connection.run(sql);
      const [[count]] = (await connection.runAndReadAll(list.at(-1))).getRows();
      const passed = performance.now() - start;
      const { user, system } = process.cpuUsage(before);
      counts.add(count);
      if (round > 0) taken[i].push({ processor: (user + system) / 1000, passed });
    }
  }
  if (counts.size > 1) throw new Error(`the queries count differently: ${[...counts]}`);
  const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
  return taken.map((times) => ({
    processor: median(times.map((time) => time.processor)), passed: median(times.map((time) => time.passed)),
  }));
}

const built = (from = 'small') => `(SELECT nestline_open(nestline_build(k)) FROM ${from})`;
const kept = "getvariable('kept')";
const inSmall = (filter) => `SELECT count(*) FROM big WHERE ${filter}k IN (FROM (SELECT k FROM small))`;
const join = (big) => `SELECT count(*) FROM ${big} b JOIN small USING (k)`;
const joinOfKind = (big) => `${join(big)} WHERE kind = 0`;
const before = (filter) => `(SELECT * FROM big WHERE nestline_may_contain(${filter}, k))`;
const may = (filter) => `nestline_may_contain(${filter}, k) AND `;
// A join of sums: DuckDB's own filter does not pass GROUP BY.
const sums = (big) => `SELECT count(*) FROM (SELECT k, sum(other) FROM ${big} b GROUP BY k) JOIN small USING (k)`;

// Rows without a partner, and all rows with what partners they have: those that the filter drops need no join.
const dropped = (filter) => `(SELECT * FROM big WHERE nestline_may_contain(${filter}, k) IS NOT true)`;
const absent = (big) => `FROM ${big} b ANTI JOIN small USING (k)`;
const left = (big) => `SELECT other, kind FROM ${big} b LEFT JOIN small USING (k)`;

const lines = [
  { name: 'IN, 10 M x 1 M', tables: [10, 1], without: inSmall(''), with: (filter) => inSmall(may(filter)) },
  { name: 'JOIN, 10 M x 100 k', tables: [10, 0.1], without: join('big'), with: (f) => join(before(f)) },
  { name: 'JOIN, 20 M x 5 M', tables: [20, 5], without: join('big'), with: (f) => join(before(f)) },
  { name: 'JOIN, 10 M x a tenth of 1 M', tables: [10, 1], from: 'small WHERE kind = 0', without: joinOfKind('big'),
    with: (f) => joinOfKind(before(f)) },
  { name: 'JOIN, 10 M x a tenth of 20 M', tables: [10, 20], from: 'small WHERE kind = 0', without: joinOfKind('big'),
    with: (f) => joinOfKind(before(f)) },
  { name: 'JOIN, 10 M x 1 M, 90 % with a partner', tables: [10, 1, asNumber, 90], without: join('big'),
    with: (f) => join(before(f)) },
  { name: 'JOIN, 20 M x 5 M, 90 % with a partner', tables: [20, 5, asNumber, 90], without: join('big'),
    with: (f) => join(before(f)) },
  { name: 'JOIN, 20 M x 5 M, 10 % with a partner', tables: [20, 5, asNumber, 10], without: join('big'),
    with: (f) => join(before(f)) },
  { name: 'IN, 10 M x 1 M, 90 % with a partner', tables: [10, 1, asNumber, 90], without: inSmall(''),
    with: (f) => inSmall(may(f)) },
  { name: 'ANTI JOIN, 10 M x 1 M', tables: [10, 1], without: `SELECT count(*) ${absent('big')}`,
    with: (f) => `SELECT count(*) FROM (FROM ${dropped(f)} UNION ALL ${absent(before(f))})` },
  { name: 'LEFT JOIN, 10 M x 1 M', tables: [10, 1], without: `SELECT count(kind) + count(*) FROM (${left('big')})`,
    with: (f) => `SELECT count(kind) + count(*) FROM
      (SELECT other, NULL AS kind FROM ${dropped(f)} UNION ALL ${left(before(f))})` },
  { name: 'NOT (filter AND IN), 10 M x 1 M', tables: [10, 1], without: `SELECT count(*) ${absent('big')}`,
    with: (f) => `SELECT count(*) FROM big WHERE NOT (${may(f)}k IN (SELECT k FROM small))` },
  { name: 'JOIN of sums, 10 M x 1 M', tables: [10, 1], without: sums('big'), with: (f) => sums(before(f)) },
  { name: 'JOIN, 5 M x 1 M texts of 20 bytes', tables: [5, 1, asText], without: join('big'),
    with: (f) => join(before(f)) },
];
const cell = ({ processor, passed }, other) =>
  `${processor.toFixed(0)} (${passed.toFixed(0)})${other ? ` ${(processor / other.processor).toFixed(2)}` : ''}`;

console.log(`DuckDB ${duckdb.version()}, threads: ${options.threads}`);
console.log('| query | without | built | kept | subquery | worth joining | as written |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const { name, tables, from, without, with: withFilter } of lines) {
  if (!name.includes(options.only)) continue;
  await makeTables(...tables);
  const build = `SET VARIABLE kept = ${built(from)}`;
  const lists = [[without], [build, withFilter(kept)], [withFilter(kept)], [withFilter(built(from))]];
  if (!/NOT/.test(withFilter(kept))) {
    const worth = withFilter(kept).replaceAll('may_contain', 'worth_joining');
    lists.push([worth], ["SET disabled_optimizers = 'build_side_probe_side'", worth]);
  }
  const [plain, ...others] = await measure(lists);
  console.log(`| ${name} | ${cell(plain)} | ${others.map((other) => cell(other, plain)).join(' | ')} |`);
}

console.log('\n| function | million rows a second of processor time | beside a sum or a length of the keys |\n| --- | --- | --- |');
for (const [name, millions, tables, table, function_, other] of [
  ['nestline_may_contain, BIGINT, 1 M keys', 20, [20, 1], 'big', `count(*) FILTER (nestline_may_contain(${kept}, k))`, 'sum(k)'],
  ['nestline_may_contain, texts of 20 bytes, 1 M keys', 5, [5, 1, asText], 'big',
    `count(*) FILTER (nestline_may_contain(${kept}, k))`, 'sum(length(k))'],
  ['nestline_build, BIGINT, distinct', 10, [0.1, 10], 'small', 'octet_length(nestline_build(k))', 'sum(k)'],
  ['nestline_build, BIGINT, ten of each', 10, [10, 1], 'big', 'octet_length(nestline_build(k))', 'sum(k)'],
]) {
  if (!name.includes(options.only)) continue;
  await makeTables(...tables);
  await connection.run(`SET VARIABLE kept = ${built()}`);
  const [[ours], [others]] = [await measure([[`SELECT ${function_} FROM ${table}`]]), await measure([[`SELECT ${other} FROM ${table}`]])];
  const rate = ({ processor }) => (rowsOf(millions) / 1000 / processor).toFixed(0);
  console.log(`| ${name} | ${rate(ours)} | ${rate(others)} |`);
}
