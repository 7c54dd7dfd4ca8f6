// A database in memory that has loaded the extension, and connections to it.
#ifndef NESTLINE_TESTS_FACES_DUCKDB_DATABASE_H_
#define NESTLINE_TESTS_FACES_DUCKDB_DATABASE_H_

#include <duckdb.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace nestline::test {

using Blob = std::vector<std::byte>;
// A parameter of a statement: a BLOB, or a BIGINT.
using Parameter = std::variant<Blob, std::int64_t>;

// What a statement returned.
class Result {
 public:
  explicit Result(duckdb_result result) : result_(result) {}
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() { duckdb_destroy_result(&result_); }
  [[nodiscard]] std::string error() {
    const char* const text = duckdb_result_error(&result_);
    return text == nullptr ? "" : text;
  }
  [[nodiscard]] std::int64_t number() { return duckdb_value_int64(&result_, 0, 0); }
  [[nodiscard]] bool is_null() { return duckdb_value_is_null(&result_, 0, 0); }
  [[nodiscard]] Blob blob() {
    const duckdb_blob value = duckdb_value_blob(&result_, 0, 0);
    const std::span bytes(static_cast<const std::byte*>(value.data), value.size);
    Blob copy(bytes.begin(), bytes.end());
    duckdb_free(value.data);
    return copy;
  }

 private:
  duckdb_result result_;
};

class Connection {
 public:
  explicit Connection(duckdb_database database) {
    if (duckdb_connect(database, &connection_) != DuckDBSuccess) throw std::bad_alloc();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { duckdb_disconnect(&connection_); }
  void interrupt() { duckdb_interrupt(connection_); }

  // The result of one statement, which may be an error.
  Result result(const std::string& sql, std::initializer_list<Parameter> parameters = {}) {
    duckdb_result result{};
    if (parameters.size() == 0) {
      duckdb_query(connection_, sql.c_str(), &result);
      return Result(result);
    }
    duckdb_prepared_statement statement = nullptr;
    if (duckdb_prepare(connection_, sql.c_str(), &statement) != DuckDBSuccess) {
      const std::string error = duckdb_prepare_error(statement);
      duckdb_destroy_prepare(&statement);
      throw std::runtime_error(error);
    }
    idx_t number = 0;
    for (const Parameter& parameter : parameters) {
      ++number;
      if (const auto* const blob = std::get_if<Blob>(&parameter)) {
        duckdb_bind_blob(statement, number, blob->data(), blob->size());
      } else {
        duckdb_bind_int64(statement, number, std::get<std::int64_t>(parameter));
      }
    }
    duckdb_execute_prepared(statement, &result);
    duckdb_destroy_prepare(&statement);
    return Result(result);
  }
  // Throws the error.
  void run(const std::string& sql) { throw_error(result(sql), sql); }
  std::int64_t number(const std::string& sql, std::initializer_list<Parameter> parameters = {}) {
    Result all = result(sql, parameters);
    throw_error(all, sql);
    return all.number();
  }
  Blob blob(const std::string& sql, std::initializer_list<Parameter> parameters = {}) {
    Result all = result(sql, parameters);
    throw_error(all, sql);
    return all.blob();
  }
  std::string error(const std::string& sql, std::initializer_list<Parameter> parameters = {}) {
    return result(sql, parameters).error();
  }

 private:
  static void throw_error(Result& result, const std::string& sql) {
    if (const std::string error = result.error(); !error.empty()) {
      throw std::runtime_error(sql + ": " + error);
    }
  }
  static void throw_error(Result&& result, const std::string& sql) { throw_error(result, sql); }

  duckdb_connection connection_ = nullptr;
};

class Database {
 public:
  explicit Database(int threads = 2) {
    duckdb_config config = nullptr;
    duckdb_create_config(&config);
    duckdb_set_config(config, "allow_unsigned_extensions", "true");
    duckdb_set_config(config, "threads", std::to_string(threads).c_str());
    char* error = nullptr;
    const bool is_open = duckdb_open_ext(nullptr, &database_, config, &error) == DuckDBSuccess;
    duckdb_destroy_config(&config);
    if (!is_open) throw std::runtime_error(error);
    Connection(database_).run("LOAD '" NESTLINE_DUCKDB "'");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { duckdb_close(&database_); }
  [[nodiscard]] duckdb_database get() const { return database_; }

 private:
  duckdb_database database_ = nullptr;
};

// A database of its own for each test, and one connection.
class DuckdbTest : public testing::Test {
 protected:
  Database database;
  Connection sql{database.get()};
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FACES_DUCKDB_DATABASE_H_
