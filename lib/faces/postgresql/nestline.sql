\echo Use "CREATE EXTENSION nestline" to load this file. \quit

CREATE TYPE nestline;
CREATE FUNCTION nestline_in(cstring) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nestline_out(nestline) RETURNS cstring
  AS 'MODULE_PATHNAME', 'nestline_pg_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nestline_recv(internal) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nestline_send(nestline) RETURNS bytea
  AS 'MODULE_PATHNAME', 'nestline_pg_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE nestline (
  INPUT = nestline_in, OUTPUT = nestline_out, RECEIVE = nestline_recv, SEND = nestline_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external
);
COMMENT ON TYPE nestline IS 'a cuckoo filter: the bytes of a nestline file';

CREATE FUNCTION nestline(bytea) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (bytea AS nestline) WITH FUNCTION nestline(bytea);
CREATE CAST (nestline AS bytea) WITHOUT FUNCTION;

CREATE FUNCTION nestline_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_support' LANGUAGE C STRICT PARALLEL SAFE;

CREATE FUNCTION nestline_may_contain(filter nestline, key anycompatible) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nestline_pg_may_contain' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5
  SUPPORT nestline_support;
COMMENT ON FUNCTION nestline_may_contain IS 'false: the key is certainly not in the filter; true: it may be';
CREATE FUNCTION nestline_may_contain_or_null(filter nestline, key anycompatible) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nestline_pg_may_contain_or_null' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5
  SUPPORT nestline_support;
COMMENT ON FUNCTION nestline_may_contain_or_null IS 'as nestline_may_contain, and NULL where the filter is NULL';
CREATE FUNCTION nestline_worth_joining(filter nestline, key anycompatible) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nestline_pg_worth_joining' LANGUAGE C VOLATILE PARALLEL SAFE COST 5
  SUPPORT nestline_support;
COMMENT ON FUNCTION nestline_worth_joining IS 'as nestline_may_contain, and true without a look where most keys are in the filter: before a join only';
CREATE FUNCTION nestline_count(filter nestline, key anycompatible) RETURNS integer
  AS 'MODULE_PATHNAME', 'nestline_pg_count' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION nestline_count IS 'how many copies of the key there may be';
CREATE FUNCTION nestline_count_or_null(filter nestline, key anycompatible) RETURNS integer
  AS 'MODULE_PATHNAME', 'nestline_pg_count_or_null' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION nestline_count_or_null IS 'as nestline_count, and NULL where the filter is NULL';

CREATE FUNCTION nestline_inserted(filter nestline, key anycompatible) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_inserted' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION nestline_inserted IS 'a copy of the filter with one more copy of the key';
CREATE FUNCTION nestline_erased(filter nestline, key anycompatible) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_erased' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION nestline_erased IS 'a copy of the filter without one copy of the key, which must have been inserted';
CREATE FUNCTION nestline_info(filter nestline, OUT keys bigint, OUT capacity bigint, OUT bits integer,
    OUT rate double precision, OUT bytes bigint, OUT key_kinds text)
  AS 'MODULE_PATHNAME', 'nestline_pg_info' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION nestline_info IS 'figures: keys, capacity, bits of a fingerprint, rate of false positives, bytes, and which kinds of keys it was built of';

CREATE FUNCTION nestline_may_overlap(filter nestline, other nestline) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nestline_pg_may_overlap' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION nestline_may_overlap IS 'false: certainly no key is in both filters; true: some may be';
CREATE FUNCTION nestline_count_common(filter nestline, other nestline, OUT matches bigint, OUT by_chance double precision,
    OUT estimate double precision, OUT standard_error double precision)
  AS 'MODULE_PATHNAME', 'nestline_pg_count_common' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION nestline_count_common IS 'keys that both filters may have: matches, how many of them chance makes, and an estimate with its error';

CREATE FUNCTION nestline_build_step(internal, anycompatible) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_build_step' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nestline_build_step(internal, anycompatible, double precision) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_build_step' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nestline_build_step(internal, anycompatible, double precision, bigint) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_build_step' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nestline_build_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_build_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nestline_build_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'nestline_pg_build_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nestline_build_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nestline_pg_build_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nestline_build_result(internal) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_build_result' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE nestline_build(key anycompatible) (
  SFUNC = nestline_build_step, STYPE = internal, FINALFUNC = nestline_build_result,
  COMBINEFUNC = nestline_build_combine, SERIALFUNC = nestline_build_serialize,
  DESERIALFUNC = nestline_build_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nestline_build(key anycompatible, fpr double precision) (
  SFUNC = nestline_build_step, STYPE = internal, FINALFUNC = nestline_build_result,
  COMBINEFUNC = nestline_build_combine, SERIALFUNC = nestline_build_serialize,
  DESERIALFUNC = nestline_build_deserialize, PARALLEL = SAFE
);
CREATE AGGREGATE nestline_build(key anycompatible, fpr double precision, capacity bigint) (
  SFUNC = nestline_build_step, STYPE = internal, FINALFUNC = nestline_build_result,
  COMBINEFUNC = nestline_build_combine, SERIALFUNC = nestline_build_serialize,
  DESERIALFUNC = nestline_build_deserialize, PARALLEL = SAFE
);
COMMENT ON AGGREGATE nestline_build(anycompatible) IS 'a filter of the keys, at a rate of false positives of 1 %';
COMMENT ON AGGREGATE nestline_build(anycompatible, double precision) IS 'a filter of the keys, at this rate of false positives';
COMMENT ON AGGREGATE nestline_build(anycompatible, double precision, bigint) IS 'a filter of the keys, with room for so many';

CREATE FUNCTION nestline_merge_step(nestline, nestline) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_merge_step' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nestline_merge_combine(nestline, nestline) RETURNS nestline
  AS 'MODULE_PATHNAME', 'nestline_pg_merge_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE AGGREGATE nestline_merge(filter nestline) (
  SFUNC = nestline_merge_step, STYPE = nestline, COMBINEFUNC = nestline_merge_combine,
  PARALLEL = SAFE
);
COMMENT ON AGGREGATE nestline_merge(nestline) IS 'one filter of several that were built with the same rate and capacity';
