#include "c_api/guarded.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jitterscope/error.hpp"

namespace jitterscope::c_api {
namespace {

thread_local std::string error_of_thread = "{}";

int remember(ExitCode code, const std::string& message) {
  using Text = nlohmann::ordered_json;
  const Text error = {{"exit_code", static_cast<int>(code)}, {"message", message}};
  error_of_thread = error.dump(-1, ' ', false, Text::error_handler_t::replace);
  return static_cast<int>(code);
}

}  // namespace

int guarded(const std::function<void()>& work) noexcept {
  try {
    try {
      work();
      return 0;
    } catch (const Error& error) {
      return remember(error.exit_code(), error.what());
    } catch (const std::bad_alloc&) {
      return remember(ExitCode::failed, "out of memory");
    } catch (const std::exception& error) {
      return remember(ExitCode::failed, error.what());
    }
  } catch (...) {  // no memory even for the message
    return static_cast<int>(ExitCode::failed);
  }
}

void refuse_null(std::string_view name) {
  throw UsageError(fmt::format("{}: a null pointer was given", name));
}

char* copied(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

const char* last_error() noexcept { return error_of_thread.c_str(); }

}  // namespace jitterscope::c_api
