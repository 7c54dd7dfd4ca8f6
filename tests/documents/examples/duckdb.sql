-- Customers 0 to 999 are known. There are 300 orders a day, of customers `day` to `day` + 2990.
CREATE TABLE known AS SELECT range AS id FROM range(1000);
CREATE TABLE orders AS SELECT i // 300 AS day, i % 300 * 10 + i // 300 AS customer FROM range(3000) t(i);

-- Orders of customers who are in `known`. Most are not, and the filter drops these before the join.
SET VARIABLE f = (SELECT nestline_open(nestline_build(id)) FROM known);
SELECT count(*)
FROM (SELECT * FROM orders WHERE nestline_may_contain(getvariable('f'), customer)) JOIN known ON id = customer;

-- Orders of customers who are not. What the filter does not know needs no look into `known`.
SELECT count(*)
FROM (SELECT * FROM orders WHERE nestline_may_contain(getvariable('f'), customer) IS NOT true
      UNION ALL
      SELECT * FROM (SELECT * FROM orders WHERE nestline_may_contain(getvariable('f'), customer))
      ANTI JOIN known ON id = customer);

-- A prepared statement takes the handle as a parameter, so that each run asks the filter that it is given.
PREPARE known_orders AS
SELECT count(*) FROM (SELECT * FROM orders WHERE nestline_may_contain($f, customer)) JOIN known ON id = customer;
EXECUTE known_orders(f := getvariable('f'));

-- The same with a filter that is kept, at a rate of 0.1 %.
CREATE TABLE filters (name VARCHAR PRIMARY KEY, filter BLOB);
INSERT INTO filters SELECT 'known', nestline_build(id, 0.001) FROM known;
SET VARIABLE f = (SELECT nestline_open(filter) FROM filters WHERE name = 'known');
SELECT count(*)
FROM (SELECT * FROM orders WHERE nestline_may_contain(getvariable('f'), customer)) JOIN known ON id = customer;

-- And with a file, which other programs can map.
SELECT nestline_save(filter, 'known.nest') > 0 FROM filters WHERE name = 'known';
SET VARIABLE f = nestline_open(nestline_load('known.nest'));
SELECT count(*)
FROM (SELECT * FROM orders WHERE nestline_may_contain(getvariable('f'), customer)) JOIN known ON id = customer;

-- A filter for each day, all with room for 5000 keys, so that they can be merged.
CREATE TABLE days AS
SELECT day, nestline_build(customer, 0.001, 5000) AS filter FROM orders GROUP BY day;
SELECT string_agg(day) FROM days WHERE nestline_may_contain(filter, 17);
SELECT nestline_info(nestline_merge(filter)).keys FROM days;

-- A key of two columns is a ROW of them: which customers came on which day.
SET VARIABLE f = (SELECT nestline_open(nestline_build(ROW(day, customer))) FROM orders);
SELECT nestline_may_contain(getvariable('f'), ROW(5, 25)), nestline_may_contain(getvariable('f'), ROW(25, 5));
