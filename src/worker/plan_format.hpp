// The format header of lines and plans that processes of one program exchange.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/values.hpp"

namespace jitterscope {

inline bool has_format(const Json& document, std::string_view format) {
  if (!document.is_object()) return false;
  const auto found = document.find("format");
  return found != document.end() && found->is_string() && found->get<std::string>() == format;
}

template <class Plan>
std::string written_plan(std::string_view format, std::int64_t version, const Plan& plan) {
  Json document = {{"format", format}, {"version", version}};
  document.update(write_value(plan));
  return document.dump();
}

}  // namespace jitterscope
