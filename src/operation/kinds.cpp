#include "operation/kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

template <class... Shapes>
std::vector<kinds::Kind> kinds_of() {
  std::vector<kinds::Kind> result;
  const auto append = [&result]<class Shape>(const kinds::KindOf<Shape>& kind) {
    for (const kinds::Named<Shape>& named : kind.words) {
      Shape shape = named.initial;
      kinds::Listing listing;
      kinds::Fields fields(listing);
      kind.describe(shape, fields);
      result.push_back({{named.word, named.summary, named.example, std::move(listing.parameters)},
                        std::move(listing.words),
                        named.initial});
    }
  };
  (append(kinds::kind_of(Shapes())), ...);
  return result;
}

std::string pair_text(const kinds::Sides& sides) {
  const std::string height = std::to_string(sides.height);
  return sides.width == sides.height ? height : height + "x" + std::to_string(sides.width);
}

}  // namespace

const std::vector<kinds::Kind>& kinds::all() {
  static const std::vector<Kind> list =
      kinds_of<Conv2d, Matmul, Linear, Attention, BatchNorm, LayerNorm, Pool2d, Softmax, BiasAdd, Convert,
               Embedding, OptimizerStep, Copy, Collective, Elementwise, Spin, Allocation, CudaKernel, Aten,
               Chain>();
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

void check_range(std::string_view kind, std::string_view name, std::int64_t value, const Bounds& bounds) {
  if (value >= bounds.lowest && value <= bounds.highest) return;
  throw UsageError(fmt::format("{}: {}={} is impossible: {} must be from {} to {}", kind, name, value, name,
                               bounds.lowest, bounds.highest));
}

std::int64_t limited_product(std::initializer_list<std::int64_t> sizes) {
  return limited_product(std::span(sizes.begin(), sizes.size()));
}

std::int64_t limited_product(std::span<const std::int64_t> sizes) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 50;
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size <= 0; })) return 0;
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (size > kLimit / product) return kLimit;
    product *= size;
  }
  return product;
}

double real_product(std::initializer_list<std::int64_t> factors) {
  double product = 1.0;
  for (const std::int64_t factor : factors) product *= static_cast<double>(factor);
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

Counted counted_by(std::string_view name) {
  return name == "bytes" || name == "shared" ? Counted::bytes : Counted::things;
}

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
  if (!number) fail_value(name, count_problem(*text, counted_by(name)));
  field = *number;
}

void ParameterReader::read(std::string_view name, DataType& field) const {
  for (const Word<DataType>& word : kIndexWords) {
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
  if (text->empty()) fail_value(name, "");
  field = *text;
}

void ParameterReader::read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  const std::string_view both = *text;
  const std::size_t cross = both.find('x');
  const std::optional<std::int64_t> first = read_count(both.substr(0, cross));
  const std::optional<std::int64_t> second =
      cross == std::string_view::npos ? first : read_count(both.substr(cross + 1));
  if (!first || !second) fail_value(name, "is neither a number for both sides nor height x width, as 2x1");
  height = *first;
  width = *second;
}

void ParameterReader::require_both(std::string_view both, std::string_view first, std::int64_t& first_field,
                                   std::string_view second, std::int64_t& second_field) const {
  if (has(both)) {
    if (has(first) || has(second)) {
      fail(fmt::format("{} is given beside {}; give either {}, or {} and {}", has(first) ? first : second,
                       both, both, first, second));
    }
    if (const std::size_t cross = find(both)->find('x'); cross != std::string::npos) {
      fail_value(both, fmt::format("is not one number for both sides; write {}={},{}={}", first,
                                   find(both)->substr(0, cross), second, find(both)->substr(cross + 1)));
    }
    read(both, first_field);
    second_field = first_field;
    return;
  }
  if (!has(first) && !has(second)) fail_missing(fmt::format("{} (or {} and {})", both, first, second));
  for (const auto& [name, field] : {std::pair(first, &first_field), std::pair(second, &second_field)}) {
    if (!has(name)) fail_missing(name);
    read(name, *field);
  }
}

void ParameterReader::fail(const std::string& problem) const { throw UsageError(kind_ + ": " + problem); }

void ParameterReader::fail_missing(std::string_view what) const {
  fail(fmt::format("{} is missing; an example: {}", what, example_));
}

void ParameterReader::fail_value(std::string_view name, const std::string& expected) const {
  const std::string& value = *find(name);
  if (value.empty()) fail(fmt::format("{0} has no value; write one behind {0}=, as in {1}", name, example_));
  fail(fmt::format("{}: {} {}", name, in_quotes(value), expected));
}

void ParameterWriter::write_subject(std::string_view subject) {
  text_ += ':';
  text_ += subject;
  empty_ = false;
}

void ParameterWriter::write(std::string_view name, std::string_view value) {
  text_ += empty_ ? ':' : ',';
  text_.append(name).append("=").append(value);
  empty_ = false;
}

namespace kinds {

void Fields::list(std::string_view name, std::string_view meaning, std::string_view usual,
                  std::vector<std::string> words) {
  listing_->parameters.push_back({std::string(name), std::string(meaning), std::string(usual)});
  listing_->words.push_back(std::move(words));
}

bool Fields::is_given(std::string_view name, std::string_view usual_name) const {
  const std::string* given = reader_->find(name);
  return given != nullptr && (given->empty() || *given != usual_name);
}

void Fields::required(std::string_view name, std::string_view meaning, std::int64_t& value,
                      const Bounds& bounds, std::string_view in_place_of) {
  if (listing_ != nullptr) return list(name, meaning, in_place_of);
  if (writer_ != nullptr) return writer_->write(name, std::to_string(value));
  if (reader_ != nullptr) {
    if (!reader_->has(name)) reader_->fail_missing(name);
    reader_->read(name, value);
  }
  check_range(kind_, name, value, bounds);
}

void Fields::optional(std::string_view name, std::string_view meaning, std::int64_t& value,
                      const Usual<std::int64_t>& usual, const Bounds& bounds) {
  if (listing_ != nullptr) {
    return list(name, meaning, usual.name.empty() ? std::to_string(usual.value) : std::string(usual.name));
  }
  if (writer_ != nullptr) {
    if (value != usual.value) writer_->write(name, std::to_string(value));
    return;
  }
  if (reader_ != nullptr) {
    value = usual.value;
    if (is_given(name, usual.name)) reader_->read(name, value);
  }
  check_range(kind_, name, value, bounds);
}

void Fields::required_pair(std::string_view name, std::string_view meaning, std::int64_t& height,
                           std::int64_t& width) {
  if (listing_ != nullptr) return list(name, meaning, "");
  if (reader_ != nullptr && !reader_->has(name)) reader_->fail_missing(name);
  // No pair of sides within the bounds is this default.
  optional_pair(name, meaning, height, width, Sides{0, 0});
}

void Fields::optional_pair(std::string_view name, std::string_view meaning, std::int64_t& height,
                           std::int64_t& width, const Usual<Sides>& usual, const Bounds& bounds) {
  if (listing_ != nullptr)
    return list(name, meaning, usual.name.empty() ? pair_text(usual.value) : std::string(usual.name));
  if (writer_ != nullptr) {
    const Sides sides{height, width};
    if (sides != usual.value) writer_->write(name, pair_text(sides));
    return;
  }
  if (reader_ != nullptr) {
    height = usual.value.height;
    width = usual.value.width;
    if (is_given(name, usual.name)) reader_->read_pair(name, height, width);
  }
  for (const std::int64_t side : {height, width}) check_range(kind_, name, side, bounds);
}

void Fields::both(std::string_view what, std::string_view first, std::int64_t& height,
                  std::string_view second, std::int64_t& width) {
  const std::string both = fmt::format("{}{}", first, second);
  if (listing_ != nullptr) {
    list(both, fmt::format("{}height and width", what), "");
    list(first, fmt::format("{}height, with {} in place of {}", what, second, both), both);
    list(second, fmt::format("{}width, with {} in place of {}", what, first, both), both);
  } else if (writer_ != nullptr && height == width) {
    writer_->write(both, std::to_string(height));
  } else {
    if (reader_ != nullptr) reader_->require_both(both, first, height, second, width);
    for (const auto& [name, side] : {std::pair(first, height), std::pair(second, width)}) {
      writer_ != nullptr ? writer_->write(name, std::to_string(side)) : check_range(kind_, name, side, {});
    }
  }
}

void Fields::pass(std::string_view meaning, Pass& value) {
  if (listing_ != nullptr) return list("pass", meaning, "forward", {"forward", "backward"});
  optional("pass", meaning, value, Pass::forward);
  if (writer_ != nullptr || value != Pass::inference) return;
  throw UsageError(fmt::format("{}: pass=inference is the same as pass=forward here; write forward", kind_));
}

void Fields::text(std::string_view name, std::string_view meaning, std::string& value,
                  std::string_view usual) {
  if (listing_ != nullptr) return list(name, meaning, usual);
  if (writer_ != nullptr && !value.empty()) writer_->write(name, value);
  if (reader_ == nullptr) return;
  reader_->read(name, value);
  if (value == usual) value.clear();
}

void Fields::engine(std::string_view meaning, std::string& value) {
  text("engine", meaning, value, "pytorch");
  if (reader_ == nullptr || value.empty() || is_engine(value)) return;
  reader_->fail_value("engine", "is not an engine: pytorch, autotune, best, or a tag as results name them");
}

void Fields::declared(std::string_view name, std::string_view meaning) {
  if (listing_ != nullptr) list(name, meaning, "");
}

void Fields::check_computes_in(std::string_view name, DataType dtype) const {
  if (!holds_indices(dtype)) return;
  throw UsageError(fmt::format(
      "{0}: {1}={2} is impossible: {2} holds indices, no operation computes in it; give a type such as f32",
      kind_, name, to_string(dtype)));
}

}  // namespace kinds
}  // namespace jitterscope
