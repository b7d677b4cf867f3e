// What every C function does around its work: no exception leaves it, and the thread remembers what went
// wrong.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace jitterscope::c_api {

/// Does the work; the status is that of what it throws.
int guarded(const std::function<void()>& work) noexcept;

/// Throws UsageError that names the argument where the pointer is null.
template <class T>
T& require(T* pointer, std::string_view name);

/// For the caller, who frees it.
char* copied(std::string_view text);

const char* last_error() noexcept;

[[noreturn]] void refuse_null(std::string_view name);

template <class T>
T& require(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

}  // namespace jitterscope::c_api
