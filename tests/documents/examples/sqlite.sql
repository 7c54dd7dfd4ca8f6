.load ./nestline_sqlite

-- Customers 0 to 999 are known. There are 300 orders a day, of customers `day` to `day` + 2990.
CREATE TABLE known (id INTEGER PRIMARY KEY);
INSERT INTO known SELECT value FROM generate_series(0, 999);  -- a function of SQLite's shell
CREATE TABLE orders AS
SELECT value / 300 AS day, value % 300 * 10 + value / 300 AS customer FROM generate_series(0, 2999);

-- Orders of customers who are not in `known`. Most are not, so most need no look into `known`.
SELECT count(*) FROM orders
WHERE NOT (nestline_may_contain((SELECT nestline_open(nestline_build(id)) FROM known), customer)
           AND customer IN (SELECT id FROM known));

-- The same with a filter that is kept, at a rate of 0.1 %.
CREATE TABLE filters (name TEXT PRIMARY KEY, filter BLOB);
INSERT INTO filters SELECT 'known', nestline_build(id, 0.001) FROM known;
SELECT count(*) FROM orders
WHERE NOT (nestline_may_contain((SELECT nestline_open(filter) FROM filters WHERE name = 'known'), customer)
           AND customer IN (SELECT id FROM known));

-- And with a file, which other programs can map too. writefile is a function of SQLite's shell.
SELECT writefile('known.nest', filter) > 0 FROM filters WHERE name = 'known';
SELECT count(*) FROM orders
WHERE NOT (nestline_may_contain(nestline_file('known.nest'), customer)
           AND customer IN (SELECT id FROM known));

-- A filter for each day, all with room for 5000 keys, so that they can be merged.
CREATE TABLE days AS
SELECT day, nestline_build(customer, 0.001, 5000) AS filter FROM orders GROUP BY day;
SELECT group_concat(day) FROM days WHERE nestline_may_contain(filter, 17);
SELECT nestline_info(nestline_merge(filter)) ->> 'keys' FROM days;
