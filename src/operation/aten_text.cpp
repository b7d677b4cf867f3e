#include "operation/aten_text.hpp"

#include <charconv>
#include <cmath>

namespace jitterscope {
namespace {

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;  // shortest that reads back
  std::string text(buffer, end);
  // Otherwise it would be read as an integer, which other schemas take.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// Bytes outside ASCII as \xNN, so that a line of any string can be printed and stored as JSON.
std::string quoted_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      (result += '\\') += character;
    } else if (character >= ' ' && character <= '~') {
      result += character;
    } else {
      ((result += "\\x") += kDigits[byte >> 4]) += kDigits[byte & 15];
    }
  }
  return result + '"';
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) (text += text.empty() ? "" : ",") += std::to_string(number);
  return text;
}

std::string value_text(const AtenArgument& argument) {
  using Kind = AtenArgument::Kind;
  switch (argument.kind) {
    case Kind::none: return "None";
    case Kind::boolean: return argument.boolean ? "true" : "false";
    case Kind::integer: return std::to_string(argument.integer);
    case Kind::real: return real_text(argument.real);
    case Kind::text: return quoted_text(argument.text);
    case Kind::tensor: {
      std::string text = argument.text + '[' + numbers_text(argument.shape) + ']';
      if (!argument.strides.empty()) text += '{' + numbers_text(argument.strides) + '}';
      return text;
    }
    case Kind::list: {
      std::string text;
      for (const AtenArgument& element : argument.elements)
        (text += text.empty() ? "" : ",") += value_text(element);
      return '[' + text + ']';
    }
  }
  return {};
}

}  // namespace

std::string aten_text(const Aten& operation) {
  std::string text = operation.name + '(';
  for (std::size_t i = 0; i < operation.arguments.size(); ++i) {
    if (i > 0) text += ',';
    if (i < operation.argument_names.size() && !operation.argument_names[i].empty())
      text += operation.argument_names[i] + '=';
    text += value_text(operation.arguments[i]);
  }
  return text + ')';
}

}  // namespace jitterscope
