#include "operation/aten_text.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // Without it the text would be read as an integer, which other schemas take.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

namespace {

// Writes bytes outside ASCII as \xNN, so that any string can be printed on a line and stored as JSON.
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

// Reads the text of PyTorch's operators, character by character.

namespace {

constexpr int kDeepestList = 8;  // PyTorch's schemas nest two levels

bool is_digit(char character) { return character >= '0' && character <= '9'; }

class AtenParser {
 public:
  explicit AtenParser(std::string_view text) : text_(trimmed(text)) {}

  Aten parse() {
    Aten result;
    const std::size_t bracket = std::min(text_.find('('), text_.size());
    result.name = std::string(trimmed(text_.substr(0, bracket)));
    operator_ = printable(result.name, 60);
    at_ = bracket;
    expect('(', "arguments in parentheses");
    if (!accept(')')) {
      do {
        result.argument_names.push_back(argument_name());
        result.arguments.push_back(value(0));
      } while (accept(','));
      expect(')', "a comma or ')'");
    }
    skip_spaces();
    if (at_ < text_.size()) fail("nothing follows the ')'");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    const std::string found = at_ < text_.size() ? in_quotes(text_.substr(at_, 24)) : "the end";
    throw UsageError(operator_ + ": at character " + std::to_string(at_ + 1) + " there is " + found +
                     ", but " + expected +
                     " is expected, as in aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2)");
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char character) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  void expect(char character, const std::string& expected) {
    if (!accept(character)) fail(expected);
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_letter(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Reads `alpha=` and returns `alpha`; reads nothing if no name is there.
  std::string argument_name() {
    skip_spaces();
    const std::size_t begin = at_;
    std::string name(word());
    if (!name.empty() && !is_digit(name.front()) && accept('=')) return name;
    at_ = begin;
    return {};
  }

  AtenArgument value(int depth) {
    using Kind = AtenArgument::Kind;
    if (accept('[')) return list(depth);
    if (accept('"')) return text();
    const std::size_t begin = at_;
    const bool is_number = at_ < text_.size() && (text_[at_] == '-' || is_digit(text_[at_]));
    const std::string_view name = is_number ? "" : word();
    AtenArgument result;
    if (name == "None") return result;
    if (name == "true" || name == "false" || name == "True" || name == "False") {
      result.kind = Kind::boolean;
      result.boolean = name == "true" || name == "True";
      return result;
    }
    at_ = begin;
    if (is_number || name == "inf" || name == "nan") return number();
    return tensor();
  }

  AtenArgument list(int depth) {
    if (depth >= kDeepestList) fail("lists of at most 8 levels");
    AtenArgument result;
    result.kind = AtenArgument::Kind::list;
    if (accept(']')) return result;
    do result.elements.push_back(value(depth + 1));
    while (accept(','));
    expect(']', "a comma or ']'");
    return result;
  }

  char escaped() {
    if (text_.substr(at_, 1) != "x") return at_ < text_.size() ? text_[at_++] : '\0';
    unsigned byte = 0;
    const std::string_view digits = text_.substr(at_ + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || digits.size() < 2 || end != digits.data() + 2)
      fail("x and two hexadecimal digits");
    at_ += 3;
    return static_cast<char>(byte);
  }
  AtenArgument text() {
    AtenArgument result;
    result.kind = AtenArgument::Kind::text;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char character = text_[at_++];
      result.text += character == '\\' ? escaped() : character;
    }
    if (at_ >= text_.size()) fail("a closing '\"'");
    ++at_;
    return result;
  }

  AtenArgument number() {
    AtenArgument result;
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const auto whole = std::from_chars(begin, end, result.integer);
    const auto real = std::from_chars(begin, end, result.real);
    if (real.ec != std::errc()) fail("a number that a double holds");
    if (whole.ptr == real.ptr) {
      if (whole.ec != std::errc()) fail("a whole number of 64 bits");
      result.kind = AtenArgument::Kind::integer;
      result.real = 0.0;
    } else {
      result.kind = AtenArgument::Kind::real;
      result.integer = 0;
    }
    at_ += static_cast<std::size_t>(real.ptr - begin);
    return result;
  }

  std::vector<std::int64_t> numbers(char closing) {
    std::vector<std::int64_t> result;
    if (accept(closing)) return result;
    do {
      skip_spaces();
      std::int64_t& size = result.emplace_back();
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc()) fail("a whole number");
      at_ += static_cast<std::size_t>(end - begin);
    } while (accept(','));
    expect(closing, std::string("a comma or '") + closing + "'");
    return result;
  }
  AtenArgument tensor() {
    AtenArgument result;
    result.kind = AtenArgument::Kind::tensor;
    const std::size_t begin = at_;
    result.text = std::string(word());
    if (!result.text.empty() && accept('@')) result.text += '@' + std::string(word());
    if (aten_element_size(result.text) == Bytes(0)) {
      at_ = begin;
      fail(
          "None, true, false, a number, a \"text\", a [list] or a tensor of f64, f32, f16, bf16, i64, i32, "
          "i16, i8, u8, bool, c64 or c128");
    }
    expect('[', "the tensor's shape in brackets");
    result.shape = numbers(']');
    if (accept('{')) result.strides = numbers('}');
    return result;
  }

  std::string_view text_;
  std::string operator_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_aten_text(std::string_view text) {
  text = trimmed(text);
  std::size_t at = 0;
  while (at < text.size() && is_word_letter(text[at])) ++at;
  return at > 0 && text.substr(at, 2) == "::";
}

Aten parse_aten(std::string_view text) { return AtenParser(text).parse(); }

namespace {

constexpr std::string_view kHost = "@cpu";

struct ElementType {
  std::string_view name;
  Bytes size;
};
constexpr ElementType kElementTypes[] = {
    {"f64", Bytes(8)}, {"f32", Bytes(4)},  {"f16", Bytes(2)}, {"bf16", Bytes(2)},
    {"i64", Bytes(8)}, {"i32", Bytes(4)},  {"i16", Bytes(2)}, {"i8", Bytes(1)},
    {"u8", Bytes(1)},  {"bool", Bytes(1)}, {"c64", Bytes(8)}, {"c128", Bytes(16)},
};

}  // namespace

bool is_aten_host_type(std::string_view type) { return type.ends_with(kHost); }

Bytes aten_element_size(std::string_view type) {
  if (is_aten_host_type(type)) type.remove_suffix(kHost.size());
  for (const ElementType& known : kElementTypes) {
    if (known.name == type) return known.size;
  }
  return Bytes(0);
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  // Unsigned: an impossible shape is refused elsewhere, and must not overflow here.
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    if (shape[i] > 1) stride *= static_cast<std::uint64_t>(shape[i]);
  }
  return strides;
}

namespace {

void add_sizes(const AtenArgument& argument, std::vector<Bytes>& sizes) {
  for (const AtenArgument& element : argument.elements) add_sizes(element, sizes);
  if (argument.kind != AtenArgument::Kind::tensor) return;
  std::int64_t elements = 1;  // from the first to the last
  const auto strides = argument.strides.empty() ? dense_strides(argument.shape) : argument.strides;
  for (std::size_t i = 0; i < argument.shape.size(); ++i) elements += (argument.shape[i] - 1) * strides[i];
  sizes.push_back(Bytes(elements * aten_element_size(argument.text).value()));
}

}  // namespace

std::vector<Bytes> tensor_sizes(const Aten& aten) {
  std::vector<Bytes> sizes;
  for (const AtenArgument& argument : aten.arguments) add_sizes(argument, sizes);
  return sizes;
}

}  // namespace jitterscope
