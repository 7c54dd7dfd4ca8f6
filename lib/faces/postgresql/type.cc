// The type: a filter's bytes, checked wherever they enter.
#include "lib/faces/postgresql/server.h"

namespace nestline { inline namespace v0_3 { namespace postgresql { namespace {

Datum checked(Datum bytes) {
  varlena* const value = PG_DETOAST_DATUM(bytes);
  in_cpp([&] { (void)filter_in(payload(value)); });
  return PointerGetDatum(value);
}

}  // namespace
}}}  // namespace nestline::postgresql

extern "C" {
using namespace nestline::postgresql;  // NOLINT(google-build-using-namespace): of this file only

PG_FUNCTION_INFO_V1(nestline_pg_in);
Datum nestline_pg_in(PG_FUNCTION_ARGS) {
  return checked(DirectFunctionCall1(byteain, PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(nestline_pg_out);
Datum nestline_pg_out(PG_FUNCTION_ARGS) {
  return DirectFunctionCall1(byteaout, PG_GETARG_DATUM(0));
}

PG_FUNCTION_INFO_V1(nestline_pg_recv);
Datum nestline_pg_recv(PG_FUNCTION_ARGS) {
  return checked(DirectFunctionCall1(bytearecv, PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(nestline_pg_send);
Datum nestline_pg_send(PG_FUNCTION_ARGS) {
  return DirectFunctionCall1(byteasend, PG_GETARG_DATUM(0));
}

PG_FUNCTION_INFO_V1(nestline_pg_from_bytea);
Datum nestline_pg_from_bytea(PG_FUNCTION_ARGS) { return checked(PG_GETARG_DATUM(0)); }
}
