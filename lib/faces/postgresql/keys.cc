#include "lib/faces/postgresql/keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

extern "C" {
#include <catalog/pg_collation.h>
#include <lib/stringinfo.h>
#include <utils/array.h>
#include <utils/date.h>
#include <utils/inet.h>
#include <utils/json.h>
#include <utils/jsonb.h>
#include <utils/lsyscache.h>
#include <utils/numeric.h>
#include <utils/timestamp.h>
#include <utils/typcache.h>
#include <utils/uuid.h>
}

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace postgresql {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

ReadKey number(auto value) { return {nullptr, static_cast<std::uint64_t>(value)}; }
ReadKey bytes(const char* first, std::size_t size) { return {first, size}; }
ReadKey text(const char* ended) { return bytes(ended, std::strlen(ended)); }

// The number's bytes after each other, low byte first.
template <typename... Numbers>
ReadKey packed(KeyReader& reader, Numbers... numbers) {
  const std::span<std::byte> room = std::as_writable_bytes(std::span(reader.room));
  std::size_t used = 0;
  ((put(room, used, numbers), used += sizeof numbers), ...);
  return bytes(reader.room.data(), used);
}

ReadKey packed_float(KeyReader& reader, double value) {
  if (value == 0) value = 0;  // not -0
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return packed(reader, std::bit_cast<std::uint64_t>(value));
}

// The integer of 64 bits, or 16 bytes.
ReadKey wide(KeyReader& reader, Wide value) {
  const auto low = static_cast<std::uint64_t>(value);
  const auto high = static_cast<std::uint64_t>(static_cast<UnsignedWide>(value) >> 64);
  if (high == 0 || value == static_cast<std::int64_t>(value)) return number(low);
  return packed(reader, low, high);
}

// The integer if it is one of up to 128 bits, else the text without zeros at its end.
ReadKey read_numeric(KeyReader& reader, Datum value) {
  const char* const digits = numeric_normalize(DatumGetNumeric(value));
  const bool is_negative = *digits == '-';
  UnsignedWide whole = 0;
  for (const char* digit = digits + (is_negative ? 1 : 0); *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(whole, UnsignedWide{10}, &whole) ||
        __builtin_add_overflow(whole, static_cast<UnsignedWide>(*digit - '0'), &whole)) {
      return text(digits);
    }
  }
  if (!is_negative) return wide(reader, static_cast<Wide>(whole));
  if (whole > UnsignedWide{1} << 127) return text(digits);
  return wide(reader, static_cast<Wide>(0 - whole));
}

// Days and microseconds from 1970 on, where the server counts from 2000; and the infinities that
// DuckDB has.
constexpr std::int64_t kDaysTo2000 = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
ReadKey read_date(KeyReader&, Datum value) {
  const DateADT date = DatumGetDateADT(value);
  if (DATE_IS_NOBEGIN(date)) return number(-std::numeric_limits<std::int32_t>::max());
  return number(DATE_IS_NOEND(date) ? date : date + kDaysTo2000);
}
ReadKey read_timestamp(KeyReader&, Datum value) {
  const Timestamp time = DatumGetTimestamp(value);
  if (TIMESTAMP_IS_NOBEGIN(time)) return number(-std::numeric_limits<std::int64_t>::max());
  if (TIMESTAMP_IS_NOEND(time)) return number(time);
  return number(static_cast<std::uint64_t>(time) + std::uint64_t{kDaysTo2000 * USECS_PER_DAY});
}

// Microseconds: a month is 30 days, a day 24 hours, as SQL compares them.
ReadKey read_interval(KeyReader& reader, Datum value) {
  const Interval* const span = DatumGetIntervalP(value);
  const std::int64_t days = span->month * std::int64_t{DAYS_PER_MONTH} + span->day;
  return wide(reader, Wide{days} * USECS_PER_DAY + span->time);
}

ReadKey read_string(KeyReader&, Datum value) {
  const varlena* const string = PG_DETOAST_DATUM_PACKED(value);
  return bytes(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
}

// Blanks at the end of a char do not count.
ReadKey read_padded(KeyReader& reader, Datum value) {
  ReadKey key = read_string(reader, value);
  while (key.number > 0 && key.bytes[key.number - 1] == ' ') --key.number;
  return key;
}
bool read_unpadded(KeyReader& reader, Datum value, ReadKey& second) {
  const ReadKey whole = read_string(reader, value);
  second = read_padded(reader, value);
  return second.number != whole.number;
}

// The version of the protocol, the bits of the mask, and the address.
ReadKey read_address(KeyReader& reader, Datum value) {
  const inet* const address = DatumGetInetPP(value);
  const std::size_t size = VARSIZE_ANY_EXHDR(address) - 2;
  reader.room[0] = size == 4 ? 4 : 6;
  reader.room[1] = static_cast<char>(ip_bits(address));
  std::memcpy(&reader.room[2], ip_addr(address), std::min<std::size_t>(size, 16));
  return bytes(reader.room.data(), 2 + size);
}

void append_json_scalar(StringInfo out, const JsonbValue& value) {
  switch (value.type) {
    case jbvNull:
      return appendStringInfoString(out, "null");
    case jbvBool:
      return appendStringInfoString(out, value.val.boolean ? "true" : "false");
    case jbvNumeric:
      return appendStringInfoString(out, numeric_normalize(value.val.numeric));
    default:
      escape_json(out,
                  pnstrdup(value.val.string.val, static_cast<std::size_t>(value.val.string.len)));
  }
}

// The text without blanks, and numbers without zeros at their end: members have one order.
ReadKey read_json(KeyReader&, Datum value) {
  StringInfoData out;
  initStringInfo(&out);
  JsonbIterator* at = JsonbIteratorInit(&DatumGetJsonbP(value)->root);
  JsonbValue part;
  bool follows = false;  // another member or element
  for (auto token = JsonbIteratorNext(&at, &part, false); token != WJB_DONE;
       token = JsonbIteratorNext(&at, &part, false)) {
    const bool is_end = token == WJB_END_ARRAY || token == WJB_END_OBJECT;
    const bool is_begin = token == WJB_BEGIN_ARRAY || token == WJB_BEGIN_OBJECT;
    if (follows && !is_end && token != WJB_VALUE) appendStringInfoChar(&out, ',');
    follows = !is_begin && token != WJB_KEY;
    if (is_begin) {
      const bool is_scalar = token == WJB_BEGIN_ARRAY && part.val.array.rawScalar;
      if (!is_scalar) appendStringInfoChar(&out, token == WJB_BEGIN_ARRAY ? '[' : '{');
    } else if (is_end) {
      const bool is_scalar = token == WJB_END_ARRAY && JB_ROOT_IS_SCALAR(DatumGetJsonbP(value));
      if (!is_scalar) appendStringInfoChar(&out, token == WJB_END_ARRAY ? ']' : '}');
    } else {
      append_json_scalar(&out, part);
      if (token == WJB_KEY) appendStringInfoChar(&out, ':');
    }
  }
  return bytes(out.data, static_cast<std::size_t>(out.len));
}

// Bytes of 8 or 4, low byte first.
template <typename Number>
void append_number(StringInfo out, Number value) {
  std::array<std::byte, sizeof value> low_first;
  put(std::span<std::byte>(low_first), 0, value);
  appendBinaryStringInfo(out, reinterpret_cast<const char*>(low_first.data()), sizeof value);
}

// A member of a row or an array, as DuckDB's rows have it.
void append_member(StringInfo out, KeyReader& reader, Datum value, bool is_null) {
  if (is_null) return appendStringInfoChar(out, 0);
  const ReadKey key = reader.read(reader, value);
  if (key.bytes == nullptr) {
    appendStringInfoChar(out, 1);
    append_number(out, key.number);
  } else {
    appendStringInfoChar(out, 2);
    append_number(out, static_cast<std::uint32_t>(key.number));
    appendBinaryStringInfo(out, key.bytes, static_cast<int>(key.number));
  }
}

// How many dimensions, the length and the lower bound of each, and the elements.
ReadKey read_array(KeyReader& reader, Datum value) {
  check_stack_depth();
  ArrayType* const array = DatumGetArrayTypeP(value);
  KeyReader& element = *reader.members;
  int16 length;
  bool is_by_value;
  char alignment;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &is_by_value, &alignment);
  Datum* values;
  bool* nulls;
  int count;
  deconstruct_array(array, ARR_ELEMTYPE(array), length, is_by_value, alignment, &values, &nulls,
                    &count);
  StringInfoData out;
  initStringInfo(&out);
  append_number(&out, static_cast<std::uint32_t>(ARR_NDIM(array)));
  for (int i = 0; i < ARR_NDIM(array); ++i) {
    append_number(&out, static_cast<std::uint32_t>(ARR_DIMS(array)[i]));
    append_number(&out, static_cast<std::uint32_t>(ARR_LBOUND(array)[i]));
  }
  KeyKinds kinds = element.kinds;
  for (int i = 0; i < count; ++i) {
    append_member(&out, element, values[i], nulls[i]);
    kinds |= element.kinds;
  }
  reader.kinds = array_of(kinds);
  return bytes(out.data, static_cast<std::size_t>(out.len));
}

void refuse_type(Oid type) {
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("nestline: values of type %s are no keys%s", format_type_be(type),
                         type == BPCHAROID ? " in a row" : ""),
                  errhint("Cast them to one that is, such as text.")));
}

KeyReader make(Oid type, Oid collation, MemoryContext context);

ReadKey read_row(KeyReader& reader, Datum value) {
  check_stack_depth();
  // Not by DatumGetHeapTupleHeader: in 15.20 that is a function, which 15.18 lacks.
  auto* const header = reinterpret_cast<HeapTupleHeader>(PG_DETOAST_DATUM(value));
  const Oid type = HeapTupleHeaderGetTypeId(header);
  const int32 modifier = HeapTupleHeaderGetTypMod(header);
  const TupleDesc columns = lookup_rowtype_tupdesc(type, modifier);
  const auto count = static_cast<std::size_t>(columns->natts);
  const std::uint64_t row_type = assign_record_type_identifier(type, modifier);
  if (reader.row_type != row_type) {
    reader.row_type = 0;
    reader.members = static_cast<KeyReader*>(
        MemoryContextAllocZero(reader.context, (count + 1) * sizeof(KeyReader)));
    for (std::size_t i = 0; i < count; ++i) {
      const FormData_pg_attribute& column = *TupleDescAttr(columns, static_cast<int>(i));
      if (column.attisdropped) continue;
      reader.members[i] = make(column.atttypid, column.attcollation, reader.context);
      // Beside a varchar it is compared in another way than beside a text.
      if (reader.members[i].type == BPCHAROID) refuse_type(BPCHAROID);
    }
    reader.row_type = row_type;
  }
  HeapTupleData tuple{};
  tuple.t_len = HeapTupleHeaderGetDatumLength(header);
  tuple.t_data = header;
  auto* const values = static_cast<Datum*>(palloc((count + 1) * sizeof(Datum)));
  auto* const nulls = static_cast<bool*>(palloc((count + 1) * sizeof(bool)));
  heap_deform_tuple(&tuple, columns, values, nulls);
  StringInfoData out;
  initStringInfo(&out);
  KeyKinds kinds = 0;
  for (std::size_t i = 0; i < count; ++i) {
    KeyReader& member = reader.members[i];
    if (member.read == nullptr) continue;  // a column that was dropped
    append_member(&out, member, values[i], nulls[i]);
    kinds |= member.kinds;
  }
  ReleaseTupleDesc(columns);
  reader.kinds = row_of(kinds);
  return bytes(out.data, static_cast<std::size_t>(out.len));
}

void require_deterministic(Oid type, Oid collation) {
  if (!OidIsValid(collation) || !type_is_collatable(type) || collation == DEFAULT_COLLATION_OID ||
      get_collation_isdeterministic(collation)) {
    return;
  }
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("nestline: texts are keys by their bytes, and a nondeterministic collation "
                  "calls others equal"),
           errhint("Write COLLATE \"C\" if bytes decide, or build of and ask for "
                   "something like lower(text).")));
}

// The second key of a number.
template <auto kToFloat>
bool read_as_float(KeyReader& reader, Datum value, ReadKey& second) {
  second = packed_float(reader, kToFloat(value));
  return true;
}
constexpr auto kFloatOfInt2 = [](Datum value) { return static_cast<double>(DatumGetInt16(value)); };
constexpr auto kFloatOfInt4 = [](Datum value) { return static_cast<double>(DatumGetInt32(value)); };
constexpr auto kFloatOfInt8 = [](Datum value) { return static_cast<double>(DatumGetInt64(value)); };
constexpr auto kFloatOfNumeric = [](Datum value) {
  return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
};

KeyReader make(Oid given, Oid collation, MemoryContext context) {
  const Oid type = getBaseType(given);
  KeyReader reader{};
  reader.type = type;
  reader.context = context;
  require_deterministic(type, collation);
  const auto is = [&](KeyKinds kinds, decltype(KeyReader::read) read,
                      decltype(KeyReader::read_second) read_second = nullptr) {
    reader.kinds = kinds;
    reader.read = read;
    reader.second_in = kinds == kNumberKeys ? kFloatKeys : KeyReader::kAnyFilter;
    if (read_second == nullptr) reader.second_in = 0;
    reader.read_second = read_second;
    return reader;
  };
  switch (type) {
    case BOOLOID:
      return is(kNumberKeys, [](KeyReader&, Datum value) { return number(DatumGetBool(value)); });
    case INT2OID:
      return is(
          kNumberKeys, [](KeyReader&, Datum value) { return number(DatumGetInt16(value)); },
          read_as_float<kFloatOfInt2>);
    case INT4OID:
      return is(
          kNumberKeys, [](KeyReader&, Datum value) { return number(DatumGetInt32(value)); },
          read_as_float<kFloatOfInt4>);
    case INT8OID:
      return is(
          kNumberKeys, [](KeyReader&, Datum value) { return number(DatumGetInt64(value)); },
          read_as_float<kFloatOfInt8>);
    case NUMERICOID:
      return is(kNumberKeys, read_numeric, read_as_float<kFloatOfNumeric>);
    case FLOAT4OID:
      return is(kFloatKeys, [](KeyReader& own, Datum value) {
        return packed_float(own, double{DatumGetFloat4(value)});
      });
    case FLOAT8OID:
      return is(kFloatKeys, [](KeyReader& own, Datum value) {
        return packed_float(own, DatumGetFloat8(value));
      });
    case TEXTOID:
      return is(kTextKeys, read_string);
    case VARCHAROID:
      return is(kTextKeys, read_string, read_unpadded);
    case BPCHAROID:
      return is(kTextKeys, read_padded);
    case NAMEOID:
      return is(kTextKeys,
                [](KeyReader&, Datum value) { return text(NameStr(*DatumGetName(value))); });
    case UNKNOWNOID:  // a literal in a row
      return is(kTextKeys, [](KeyReader&, Datum value) { return text(DatumGetCString(value)); });
    case BYTEAOID:
      return is(kBytesKeys, read_string);
    case UUIDOID:
      return is(kUuidKeys, [](KeyReader&, Datum value) {
        const pg_uuid_t* const uuid = DatumGetUUIDP(value);
        return bytes(reinterpret_cast<const char*>(uuid->data), UUID_LEN);
      });
    case DATEOID:
      return is(kDateKeys, read_date);
    case TIMESTAMPOID:
      return is(kTimestampKeys, read_timestamp);
    case TIMESTAMPTZOID:
      return is(kTimestampWithZoneKeys, read_timestamp);
    case TIMEOID:
      return is(kTimeKeys, [](KeyReader&, Datum value) { return number(DatumGetTimeADT(value)); });
    case TIMETZOID:
      return is(kTimeWithZoneKeys, [](KeyReader& own, Datum value) {
        const TimeTzADT* const time = DatumGetTimeTzADTP(value);
        return packed(own, static_cast<std::uint64_t>(time->time),
                      static_cast<std::uint32_t>(time->zone));
      });
    case INTERVALOID:
      return is(kIntervalKeys, read_interval);
    case INETOID:
    case CIDROID:
      return is(kNetworkKeys, read_address);
    case JSONBOID:
      return is(kJsonKeys, read_json);
    case RECORDOID:
      return is(kRowKeys, read_row);
    default:
      break;
  }
  if (const Oid element = get_element_type(type); OidIsValid(element)) {
    reader.members = static_cast<KeyReader*>(MemoryContextAlloc(context, sizeof(KeyReader)));
    *reader.members = make(element, collation, context);
    return is(array_of(reader.members->kinds), read_array);
  }
  switch (get_typtype(type)) {
    case TYPTYPE_ENUM:
      return is(kTextKeys, [](KeyReader&, Datum value) {
        return text(DatumGetCString(DirectFunctionCall1(enum_out, value)));
      });
    case TYPTYPE_COMPOSITE:
      return is(kRowKeys, read_row);
    default:
      refuse_type(type);
      return reader;
  }
}

}  // namespace

KeyReader* make_reader(Oid type, Oid collation, MemoryContext context) {
  auto* const reader = static_cast<KeyReader*>(MemoryContextAlloc(context, sizeof(KeyReader)));
  *reader = make(type, collation, context);
  return reader;
}

KeyReader* make_reader(FunctionCallInfo call, int argument) {
  const Oid type = get_fn_expr_argtype(call->flinfo, argument);
  if (!OidIsValid(type)) elog(ERROR, "nestline: the type of the key is not known here");
  return make_reader(type, call->fncollation, call->flinfo->fn_mcxt);
}

}}}  // namespace nestline::postgresql
