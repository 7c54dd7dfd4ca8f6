-- Quoted by docs/POSTGRESQL.md; run by tests/faces/postgresql/statements_test.py.
CREATE EXTENSION nestline;
-- Customers 0 to 999 are known. There are 300 orders a day, of customers `day` to `day` + 2990.
CREATE TABLE known AS SELECT g AS id FROM generate_series(0, 999) g;
CREATE TABLE orders AS SELECT g / 300 AS day, g % 300 * 10 + g / 300 AS customer FROM generate_series(0, 2999) g;

-- A filter that is kept, and asked before a join: most rows end there.
CREATE TABLE filters (name text PRIMARY KEY, filter nestline);
INSERT INTO filters SELECT 'known', nestline_build(id) FROM known;
SELECT count(*) FROM orders JOIN known ON id = customer
WHERE nestline_may_contain((SELECT filter FROM filters WHERE name = 'known'), customer);

-- The same with a filter that the statement builds.
SELECT count(*) FROM orders JOIN known ON id = customer
WHERE nestline_may_contain((SELECT nestline_build(id) FROM known), customer);

-- Orders of customers who are not known. What the filter does not know needs no look into `known`.
SELECT count(*) FROM orders
WHERE NOT (nestline_may_contain((SELECT filter FROM filters WHERE name = 'known'), customer)
           AND customer IN (SELECT id FROM known));

-- A filter for each day, all with room for 5000 keys, so that they can be merged.
CREATE TABLE days AS
SELECT day, nestline_build(customer, 0.001, 5000) AS filter FROM orders GROUP BY day;
SELECT string_agg(day::text, ', ') FROM days WHERE nestline_may_contain(filter, 17);
SELECT (nestline_info(nestline_merge(filter))).keys FROM days;

-- A key of two columns is a ROW of them: which customers came on which day.
SELECT nestline_may_contain(f, ROW(5, 25)), nestline_may_contain(f, ROW(25, 5))
FROM (SELECT nestline_build(ROW(day, customer), 0.001) FROM orders) AS built(f);

-- One key more, and one less: each writes the whole value anew.
UPDATE days SET filter = nestline_inserted(filter, 5000) WHERE day = 3;
UPDATE days SET filter = nestline_erased(filter, 13) WHERE day = 3;
SELECT nestline_may_contain(filter, 5000), nestline_may_contain(filter, 13) FROM days WHERE day = 3;
