// Every C function runs its work in guarded(): no exception leaves it, and the thread remembers the error.
#pragma once

#include <functional>
#include <string_view>

namespace jitterscope::c_api {

/// Does the work. Returns 0, or the exit code of what the work throws.
int guarded(const std::function<void()>& work) noexcept;

/// Returns a copy that the caller frees.
char* copied(std::string_view text);

const char* last_error() noexcept;

[[noreturn]] void refuse_null(std::string_view name);

/// Throws UsageError that names the argument if the pointer is null.
template <class T>
T& require(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

}  // namespace jitterscope::c_api
