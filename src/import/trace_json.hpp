// Parts and fields of JSON that may be damaged or edited by hand. Inside src/import only.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/recorded_operator.hpp"

namespace jitterscope {

/// A part of a text that is read, with what follows it readable. Its numbers may be inf and nan, which
/// PyTorch writes although JSON has none; these become strings. What JSON does not allow in strings becomes
/// harmless (mend_strings). Throws simdjson_error.
simdjson::dom::element parse_part(simdjson::dom::parser& parser, std::string_view part);

/// A whole number, which some programs that rewrite traces write as text ("102") or with decimals (102.0).
std::optional<std::int64_t> whole_number_of(simdjson::dom::element element);

/// A field that is not as expected; its sentence says which.
struct FieldProblem {
  std::string sentence;
};
/// These throw FieldProblem.
simdjson::dom::array array_field(simdjson::dom::object object, std::string_view name);
std::int64_t integer_field(simdjson::dom::object object, std::string_view name);
std::string_view text_field(simdjson::dom::object object, std::string_view name);
std::vector<std::int64_t> integers_of(simdjson::dom::element element, std::string_view name);

/// What PyTorch's C++ calls a type of elements, c10::Half, as operations are written: f16. Empty where
/// unknown.
std::string_view element_type(std::string_view name);

}  // namespace jitterscope
