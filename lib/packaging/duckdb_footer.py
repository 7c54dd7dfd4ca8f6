"""Appends what DuckDB reads before it loads an extension: duckdb_footer.py FILE PLATFORM INTERFACE VERSION

Eight fields of 32 bytes, the last first: the number 4, the platform, the version of DuckDB's C interface, that of
the extension, the kind of interface, three that are empty; then 256 bytes for a signature, which we have none of."""

import sys

path, *names = sys.argv[1:]
fields = ["4", *names, "C_STRUCT", "", "", ""]
with open(path, "ab") as file:
    file.write(b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields)) + bytes(256))
