#include "operation/kinds.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope {

const std::vector<kinds::Kind>& kinds::all() {
  static const std::vector<Kind> list = [] {
    std::vector<Kind> result;
    const auto append = [&result](std::vector<Kind> kinds) {
      result.insert(result.end(), std::make_move_iterator(kinds.begin()),
                    std::make_move_iterator(kinds.end()));
    };
    append({conv2d(), matmul(), linear(), attention(), batch_norm(), layer_norm()});
    append(pools());
    append(softmaxes());
    append({bias_add(), convert(), embedding()});
    append(optimizer_steps());
    append({copy()});
    append(elementwise());
    append({spin(), allocation(), cuda_kernel(), aten(), chain()});
    return result;
  }();
  return list;
}

const std::vector<OperationHelp>& operation_help() {
  static const std::vector<OperationHelp> list = [] {
    std::vector<OperationHelp> result;
    for (const kinds::Kind& kind : kinds::all()) result.push_back(kind.help);
    return result;
  }();
  return list;
}

void check_range(std::string_view kind, std::string_view name, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw UsageError(fmt::format("{}: {}={} is impossible: {} must be from {} to {}", kind, name, value, name,
                               lowest, highest));
}

void check_pass(std::string_view kind, Pass pass) {
  if (pass != Pass::inference) return;
  throw UsageError(fmt::format("{}: pass=inference is the same as pass=forward here; write forward", kind));
}

void check_computes_in(std::string_view kind, std::string_view name, DataType dtype) {
  if (!holds_indices(dtype)) return;
  throw UsageError(fmt::format(
      "{0}: {1}={2} is impossible: {2} holds indices, no operation computes in it; give a type such as f32",
      kind, name, to_string(dtype)));
}

std::int64_t limited_product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 50;
  if (std::find(factors.begin(), factors.end(), 0) != factors.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > kLimit / product) return kLimit;
    product *= factor;
  }
  return product;
}

void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands) {
  std::int64_t total = 0;
  for (const Operand& operand : operands) {
    total += operand.bytes().value();
    if (total > kLargestOperandBytes) {
      throw UsageError(fmt::format("{}: the operands up to {} take more than 64 TiB; make the shape smaller",
                                   kind, operand.name));
    }
  }
}

Counted counted_by(std::string_view name) { return name == "bytes" ? Counted::bytes : Counted::things; }

std::string word_hint(std::string_view text, const std::vector<KnownWord>& words) {
  std::vector<std::string> all, printed;
  for (const KnownWord& word : words) {
    all.emplace_back(word.text);
    if (word.text == word.printed) printed.emplace_back(word.text);
  }
  const std::string nearest = nearest_name(text, all);
  for (const KnownWord& word : words) {
    if (word.text == nearest) return " (did you mean '" + std::string(word.printed) + "'?)";
  }
  return " (known: " + joined(printed) + ")";
}

ParameterReader::ParameterReader(std::string kind, std::string example, std::vector<NamedValue> values,
                                 const std::vector<std::string>& known)
    : kind_(std::move(kind)), example_(std::move(example)) {
  for (NamedValue& entry : values) {
    if (std::find(known.begin(), known.end(), entry.name) == known.end()) {
      fail("no parameter " + in_quotes(entry.name) + suggestion(entry.name, known));
    }
    if (has(entry.name)) fail(entry.name + " is given twice; give it once");
    values_.push_back(std::move(entry));
  }
}

const std::string* ParameterReader::find(std::string_view name) const {
  const auto same_name = [name](const NamedValue& entry) { return entry.name == name; };
  const auto found = std::find_if(values_.begin(), values_.end(), same_name);
  return found == values_.end() ? nullptr : &found->value;
}

void ParameterReader::read(std::string_view name, std::int64_t& field) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  const std::optional<std::int64_t> number = read_count(*text, counted_by(name));
  if (!number) fail_value(name, *text, count_problem(*text, counted_by(name)));
  field = *number;
}

void ParameterReader::read(std::string_view name, DataType& field) const {
  for (const Word<DataType>& word : index_words()) {
    if (const std::string* text = find(name); text != nullptr && *text == word.text) {
      field = word.value;
      return;
    }
  }
  read_word(name, field);
}

void ParameterReader::read(std::string_view name, std::string& field) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  if (text->empty()) fail_value(name, *text, "");
  field = *text;
}

void ParameterReader::read_engine(std::string& field) const {
  const std::string* text = find("engine");
  if (text == nullptr) return;
  const bool readable = std::all_of(text->begin(), text->end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '=' || letter == '-';
  });
  if (text->empty() || !readable) {
    fail_value("engine", *text, "is not an engine: pytorch, autotune, best, or a tag as results name them");
  }
  field = *text == "pytorch" ? "" : *text;
}

void ParameterReader::read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  const std::string_view both = *text;
  const std::size_t cross = both.find('x');
  const std::optional<std::int64_t> first = read_count(both.substr(0, cross));
  const std::optional<std::int64_t> second =
      cross == std::string_view::npos ? first : read_count(both.substr(cross + 1));
  if (!first || !second)
    fail_value(name, *text, "is neither a number for both sides nor height x width, as 2x1");
  height = *first;
  width = *second;
}

void ParameterReader::require(std::string_view name, std::int64_t& field) const {
  if (!has(name)) fail_missing(std::string(name));
  read(name, field);
}

void ParameterReader::require_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const {
  if (!has(name)) fail_missing(std::string(name));
  read_pair(name, height, width);
}

void ParameterReader::require_both(std::string_view both, std::string_view first, std::int64_t& first_field,
                                   std::string_view second, std::int64_t& second_field) const {
  if (has(both)) {
    if (has(first) || has(second)) {
      fail(fmt::format("{} is given beside {}; give either {}, or {} and {}", has(first) ? first : second,
                       both, both, first, second));
    }
    if (const std::size_t cross = find(both)->find('x'); cross != std::string::npos) {
      fail_value(both, *find(both),
                 fmt::format("is not one number for both sides; write {}={},{}={}", first,
                             find(both)->substr(0, cross), second, find(both)->substr(cross + 1)));
    }
    read(both, first_field);
    second_field = first_field;
    return;
  }
  if (!has(first) && !has(second)) fail_missing(fmt::format("{} (or {} and {})", both, first, second));
  require(first, first_field);
  require(second, second_field);
}

void ParameterReader::fail(const std::string& problem) const { throw UsageError(kind_ + ": " + problem); }

void ParameterReader::fail_missing(const std::string& what) const {
  fail(what + " is missing; an example: " + example_);
}

void ParameterReader::fail_value(std::string_view name, std::string_view value,
                                 const std::string& expected) const {
  if (value.empty()) fail(fmt::format("{0} has no value; write one behind {0}=, as in {1}", name, example_));
  fail(fmt::format("{}: {} {}", name, in_quotes(value), expected));
}

void ParameterWriter::write_subject(std::string_view subject) {
  text_ += ':';
  text_ += subject;
  empty_ = false;
}

void ParameterWriter::write(std::string_view name, std::int64_t value) {
  append(name, std::to_string(value));
}

void ParameterWriter::write_pair(std::string_view name, std::int64_t height, std::int64_t width) {
  std::string pair = std::to_string(height);
  if (width != height) pair += "x" + std::to_string(width);
  append(name, pair);
}

void ParameterWriter::write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height,
                                        std::int64_t width) {
  if (height != usual || width != usual) write_pair(name, height, width);
}

void ParameterWriter::write_both(std::string_view both, std::string_view first, std::int64_t first_value,
                                 std::string_view second, std::int64_t second_value) {
  if (first_value == second_value) {
    write(both, first_value);
  } else {
    write(first, first_value);
    write(second, second_value);
  }
}

void ParameterWriter::append(std::string_view name, std::string_view value) {
  text_ += empty_ ? ':' : ',';
  text_.append(name).append("=").append(value);
  empty_ = false;
}

}  // namespace jitterscope
