// Parts of records as JSON: for records that other folders describe, and for tests.
#pragma once

#include <nlohmann/json.hpp>

#include "record/reader.hpp"
#include "record/writer.hpp"

namespace jitterscope {

/// Any described type, number, text, list or optional; an optional without a value is null.
template <class T>
Json write_value(const T& value) {
  Json json;
  Writer::write(json, value);
  return json;
}

/// The reverse. Throws UsageError that begins with `name` and the path of what is wrong.
template <class T>
T read_value(const Json& json, std::string_view name) {
  T value = blank(std::type_identity<T>());
  Reader::read(json, Place{nullptr, name}, value);
  return value;
}

}  // namespace jitterscope
