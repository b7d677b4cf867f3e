#include "import/trace_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "import/readable_json.hpp"

namespace jitterscope {
namespace {

constexpr std::pair<std::string_view, std::string_view> kElementTypes[] = {
    {"float", "f32"},
    {"double", "f64"},
    {"c10::Half", "f16"},
    {"c10::BFloat16", "bf16"},
    {"long int", "i64"},
    {"long", "i64"},
    {"int", "i32"},
    {"short int", "i16"},
    {"short", "i16"},
    {"signed char", "i8"},
    {"unsigned char", "u8"},
    {"bool", "bool"},
    {"c10::complex<float>", "c64"},
    {"c10::complex<double>", "c128"},
};

// inf, -inf and nan outside of strings, in quotes.
std::string with_quoted_numbers(std::string_view part) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\' && i + 1 < part.size()) {
      result += c;
      result += part[++i];
      continue;
    }
    const std::size_t sign = c == '-' ? 1 : 0;
    const std::string_view word = part.substr(i + sign, 3);
    if (!in_string && (word == "inf" || word == "nan" || word == "NaN" || word == "Inf")) {
      std::size_t end = i + sign + 3;
      while (end < part.size() && part[end] >= 'a' && part[end] <= 'z') ++end;  // Infinity
      result +=
          fmt::format("\"{}{}\"", sign != 0 ? "-" : "", word[0] == 'i' || word[0] == 'I' ? "inf" : "nan");
      i = end - 1;
      continue;
    }
    result += c;
  }
  return result;
}

simdjson::dom::element field(simdjson::dom::object object, std::string_view name) {
  simdjson::dom::element element;
  if (object.at_key(name).get(element) != simdjson::SUCCESS) {
    throw FieldProblem{fmt::format("the field '{}' is missing", name)};
  }
  return element;
}

}  // namespace

simdjson::dom::element parse_part(simdjson::dom::parser& parser, std::string_view part) {
  simdjson::dom::element element;
  constexpr bool kCopy = false;  // what follows the part is readable
  const simdjson::error_code error = parser.parse(part.data(), part.size(), kCopy).get(element);
  if (error == simdjson::SUCCESS) return element;
  std::string repaired = with_quoted_numbers(part);
  mend_strings(repaired.data(), repaired.size());
  return parser.parse(repaired).value();
}

std::optional<std::int64_t> whole_number_of(simdjson::dom::element element) {
  std::int64_t whole = 0;
  if (element.get(whole) == simdjson::SUCCESS) return whole;
  double real = 0.0;
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    const char* const end = text.data() + text.size();
    if (const auto [stop, error] = std::from_chars(text.data(), end, whole);
        error == std::errc() && stop == end)
      return whole;
    const auto [stop, error] = std::from_chars(text.data(), end, real);
    if (error != std::errc() || stop != end) return std::nullopt;
  } else if (element.get(real) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  constexpr double kLargest =
      9007199254740992.0;  // 2^53: beyond it a double is not the number that was meant
  const bool is_whole = std::abs(real) <= kLargest && std::trunc(real) == real;
  return is_whole ? std::optional(static_cast<std::int64_t>(real)) : std::nullopt;
}

simdjson::dom::array array_field(simdjson::dom::object object, std::string_view name) {
  simdjson::dom::array result;
  if (field(object, name).get(result) == simdjson::SUCCESS) return result;
  throw FieldProblem{fmt::format("the field '{}' is no list", name)};
}

std::int64_t integer_field(simdjson::dom::object object, std::string_view name) {
  if (const auto result = whole_number_of(field(object, name))) return *result;
  throw FieldProblem{fmt::format("the field '{}' is no whole number", name)};
}

std::string_view text_field(simdjson::dom::object object, std::string_view name) {
  std::string_view result;
  if (field(object, name).get(result) == simdjson::SUCCESS) return result;
  throw FieldProblem{fmt::format("the field '{}' is no string", name)};
}

std::vector<std::int64_t> integers_of(simdjson::dom::element element, std::string_view name) {
  std::vector<std::int64_t> result;
  simdjson::dom::array array;
  if (element.get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element member : array) {
      const auto number = whole_number_of(member);
      if (!number) break;
      result.push_back(*number);
    }
    if (result.size() == array.size()) return result;
  }
  throw FieldProblem{fmt::format("the field '{}' holds something else than whole numbers", name)};
}

std::string_view element_type(std::string_view name) {
  for (const auto& [recorded, type] : kElementTypes) {
    if (recorded == name) return type;
  }
  return {};
}

}  // namespace jitterscope
