#include <string>

#include "lib/sqlite/api.h"

namespace nestline::sqlite {

void set_caught_error(sqlite3_context* context) noexcept {
  const auto say = [context](const char* sentence) {
    const auto* const name = static_cast<const char*>(sqlite3_user_data(context));
    if (char* const text = sqlite3_mprintf("%s: %s", name, sentence)) {
      sqlite3_result_error(context, text, -1);
      sqlite3_free(text);
    } else {
      sqlite3_result_error_nomem(context);
    }
  };
  try {
    throw;
  } catch (const TooBig&) {
    sqlite3_result_error_toobig(context);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("something went wrong that has no description");
  }
}

}  // namespace nestline::sqlite
