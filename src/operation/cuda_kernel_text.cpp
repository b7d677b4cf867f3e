// The text of kernels: cuda:FILE.cu:KERNEL,grid=4096,block=256,x=f32[1Mi],n=1Mi.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "operation/parameter_reader.hpp"

namespace jitterscope {
namespace {

using Argument = KernelArgument;
using NumberType = Argument::NumberType;

constexpr std::pair<std::string_view, NumberType> kNumberTypes[] = {
    {"i32", NumberType::i32}, {"u32", NumberType::u32}, {"i64", NumberType::i64},
    {"f16", NumberType::f16}, {"f32", NumberType::f32}, {"f64", NumberType::f64}};
constexpr std::pair<std::string_view, Argument::Kind> kBufferKinds[] = {{"out:", Argument::Kind::output},
                                                                        {"inout:", Argument::Kind::inout}};
constexpr DataType kBufferTypes[] = {DataType::f64,  DataType::f32, DataType::f16,
                                     DataType::bf16, DataType::i64, DataType::i32};

[[noreturn]] void fail_argument(std::string_view name, std::string_view value, std::string_view expected) {
  throw UsageError(fmt::format("cuda: {}: {} {}", name, in_quotes(value), expected));
}

std::optional<std::int64_t> signed_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const std::optional<std::int64_t> size = read_count(text.substr(is_negative ? 1 : 0));
  return size && is_negative ? -*size : size;
}

std::optional<double> real_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string real_text_of(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;  // shortest that reads back
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // else it is an integer
  return text;
}

// A number of elements or blocks: 1Mi, or of integer arguments and the threads of a block, as n, n*4 or
// n/block, where a quotient is rounded up.
class SizeReader {
 public:
  explicit SizeReader(const std::vector<NamedValue>& values) : values_(values) {}

  std::optional<std::int64_t> find(std::string_view text) const {
    std::int64_t size = 1;
    char sign = '*';
    for (std::string_view rest = text;;) {
      const std::size_t end = std::min(rest.find_first_of("*/"), rest.size());
      const std::optional<std::int64_t> factor = factor_of(trimmed(rest.substr(0, end)));
      const bool is_bad = !factor || (sign == '/' ? *factor == 0 : *factor > 0 && size > kLimit / *factor);
      if (is_bad) return std::nullopt;
      size = sign == '*' ? size * *factor : size / *factor + (size % *factor != 0 ? 1 : 0);
      if (end == rest.size()) return size;
      sign = rest[end];
      rest.remove_prefix(end + 1);
    }
  }
  std::int64_t read(std::string_view name, std::string_view text) const {
    if (const auto size = find(text)) return *size;
    fail_argument(name, text,
                  "is no size: write a number as 1Mi, or one of integer arguments, as n, n*4 or n/block");
  }

 private:
  static constexpr std::int64_t kLimit = std::int64_t{1} << 50;

  std::optional<std::int64_t> factor_of(std::string_view word) const {
    if (const auto number = read_count(word)) return number;
    for (const NamedValue& entry : values_) {
      if (entry.name != word) continue;
      if (word == "block") return threads(entry.value);
      std::string_view value = entry.value;
      if (const std::size_t colon = value.find(':'); colon == 3 && value[0] != 'f') value.remove_prefix(4);
      return read_count(value);
    }
    return std::nullopt;
  }
  static std::optional<std::int64_t> threads(std::string_view text) {
    std::int64_t product = 1;
    for (std::string_view rest = text;;) {
      const std::size_t end = std::min(rest.find('x'), rest.size());
      const auto side = read_count(rest.substr(0, end));
      if (!side || *side > 1024 || product > kLimit / 1024) return std::nullopt;
      product *= *side;
      if (end == rest.size()) return product;
      rest.remove_prefix(end + 1);
    }
  }

  const std::vector<NamedValue>& values_;
};

// An argument may have an x in its name: of nx/16xny/16 the second x parts the sides.
std::optional<std::vector<std::int64_t>> sides_in(std::string_view text, std::size_t most,
                                                  const SizeReader& sizes) {
  if (const auto size = sizes.find(trimmed(text))) return std::vector{*size};
  for (std::size_t x = text.find('x'); x != std::string_view::npos && most > 1; x = text.find('x', x + 1)) {
    const auto first = sizes.find(trimmed(text.substr(0, x)));
    auto others = first ? sides_in(text.substr(x + 1), most - 1, sizes) : std::nullopt;
    if (!others) continue;
    others->insert(others->begin(), *first);
    return others;
  }
  return std::nullopt;
}

std::array<std::int64_t, 3> read_sides(std::string_view name, std::string_view text,
                                       const SizeReader& sizes) {
  constexpr std::size_t kLongest = 256;
  std::array<std::int64_t, 3> sides = {1, 1, 1};
  const auto found = text.size() <= kLongest ? sides_in(text, sides.size(), sizes) : std::nullopt;
  if (!found) {
    fail_argument(
        name, text,
        "is not up to three sizes: write 128, 128x2 or 128x2x1, or sizes of integer arguments, as n/block");
  }
  std::ranges::copy(*found, sides.begin());
  return sides;
}

std::string sides_text(const std::array<std::int64_t, 3>& sides) {
  std::string text = std::to_string(sides[0]);
  if (sides[1] != 1 || sides[2] != 1) text += "x" + std::to_string(sides[1]);
  if (sides[2] != 1) text += "x" + std::to_string(sides[2]);
  return text;
}

Argument read_buffer(const NamedValue& entry, const SizeReader& sizes) {
  Argument buffer{.name = entry.name, .kind = Argument::Kind::input};
  std::string_view text = entry.value;
  for (const auto& [word, kind] : kBufferKinds) {
    if (!text.starts_with(word)) continue;
    buffer.kind = kind;
    text = trimmed(text.substr(word.size()));
    break;
  }
  const std::size_t bracket = text.find('[');
  const std::string_view type = trimmed(text.substr(0, bracket));
  const auto* known = std::ranges::find(kBufferTypes, type, [](DataType each) { return to_string(each); });
  if (bracket == std::string_view::npos || !text.ends_with(']') || known == std::end(kBufferTypes)) {
    fail_argument(
        entry.name, entry.value,
        "is no buffer: they are written f32[COUNT], out:f32[COUNT] or inout:f32[COUNT], of f64, f32, "
        "f16, bf16, i64 or i32");
  }
  buffer.dtype = *known;
  buffer.count = sizes.read(entry.name, trimmed(text.substr(bracket + 1, text.size() - bracket - 2)));
  return buffer;
}

Argument read_number(const NamedValue& entry) {
  Argument number{.name = entry.name};
  std::string_view text = entry.value;
  bool is_typed = false;
  for (const auto& [word, type] : kNumberTypes) {
    if (text.size() <= word.size() || !text.starts_with(word) || text[word.size()] != ':') continue;
    number.number_type = type;
    text = trimmed(text.substr(word.size() + 1));
    is_typed = true;
    break;
  }
  const std::optional<std::int64_t> integer = signed_integer(text);
  const std::optional<double> real = real_number(text);
  // 1e6 is a whole number here as everywhere; 1.0 has a point, and 1e-3 is none.
  const bool is_real = text.find('.') != std::string_view::npos ? real.has_value() : !integer && real;
  if (!is_typed && is_real) number.number_type = NumberType::f32;
  const bool wants_integer = is_integer(number.number_type);
  if (wants_integer ? !integer : !real && !integer) {
    fail_argument(entry.name, entry.value,
                  "is no argument: write a whole number as 64Ki, a decimal one as 2.5, one with its type as "
                  "i64:5, or a buffer as f32[1Mi]");
  }
  if (wants_integer) {
    number.integer = *integer;
    if (!is_typed && number.integer != static_cast<std::int32_t>(number.integer))
      fail_argument(entry.name, entry.value, fmt::format("does not fit into an int; write i64:{}", text));
  } else {
    number.real = real ? *real : static_cast<double>(*integer);
  }
  return number;
}

std::string argument_text(const Argument& argument) {
  if (!is_buffer(argument)) {
    const NumberType type = argument.number_type;
    std::string text = is_integer(type) ? std::to_string(argument.integer) : real_text_of(argument.real);
    if (type == NumberType::i32 || type == NumberType::f32) return text;
    const auto* word =
        std::ranges::find(kNumberTypes, type, &std::pair<std::string_view, NumberType>::second);
    return std::string(word->first) + ':' + text;
  }
  std::string text;
  for (const auto& [word, kind] : kBufferKinds) {
    if (kind == argument.kind) text = word;
  }
  return fmt::format("{}{}[{}]", text, to_string(argument.dtype), argument.count);
}

}  // namespace

std::size_t kernel_piece_end(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if ((text[i] == '>' || text[i] == ')') && depth > 0) --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

const std::vector<ParameterHelp>& cuda_kernel_parameters() {
  static const std::vector<ParameterHelp> parameters = {
      {"grid", "blocks, as 4096 or 64x64x1; also of integer arguments, rounded up, as n/block", ""},
      {"block", "threads in a block, as 256 or 32x8x1; at most 1024", ""},
      {"shared", "bytes of dynamic shared memory", "0"},
      {"registers", "at most so many for each thread, as nvcc's -maxrregcount; 0: as the compiler chooses",
       "0"},
      {"fast_math", "1: as nvcc's -use_fast_math", "0"},
      {"optimize", "0 to 3: as nvcc's -Xptxas -O0 to -O3", "3"},
      {"min_blocks",
       "as __launch_bounds__(threads of a block, min_blocks) at the kernel, in place of bounds in the source: so "
       "many blocks find room on a processor; 0: as the source has it",
       "0"},
      {"architecture",
       "80: as code that was built for compute capability 8.0, which the driver compiles for a newer GPU; 0: for "
       "the GPU at hand",
       "0"},
      {"reference",
       "another kernel of the file with the same parameters, whose outputs are right: what --verify compares "
       "with",
       "none"}};
  return parameters;
}

void require_kernel_name(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return;
  throw UsageError(fmt::format(
      "cuda: {} names no kernel; write cuda:FILE.cu:KERNEL (a file whose name has a comma needs another name)",
      in_quotes(text)));
}

CudaKernel read_cuda_kernel(std::string_view kernel_name, const std::vector<NamedValue>& values) {
  CudaKernel kernel;
  require_kernel_name(kernel_name);
  const std::size_t colon = kernel_name.find(':');
  kernel.file = trimmed(kernel_name.substr(0, colon));
  kernel.kernel = trimmed(kernel_name.substr(colon + 1));
  std::vector<std::string> known;
  for (const ParameterHelp& parameter : cuda_kernel_parameters()) known.push_back(parameter.name);
  const std::size_t words = known.size();
  for (const NamedValue& entry : values) known.push_back(entry.name);
  const ParameterReader reader("cuda", kCudaKernelExample, values, known);
  const SizeReader sizes(values);
  for (const char* required : {"grid", "block"}) {
    if (!reader.has(required)) reader.fail_missing(required);
  }
  reader.read("registers", kernel.registers);
  reader.read("fast_math", kernel.fast_math);
  reader.read("optimize", kernel.optimize);
  reader.read("min_blocks", kernel.min_blocks);
  reader.read("architecture", kernel.architecture);
  for (const NamedValue& entry : values) {
    if (entry.value.empty()) reader.fail(entry.name + " has no value; write one behind " + entry.name + "=");
    if (entry.name == "grid") kernel.grid = read_sides("grid", entry.value, sizes);
    if (entry.name == "block") kernel.block = read_sides("block", entry.value, sizes);
    if (entry.name == "reference") kernel.reference = entry.value;
    if (entry.name == "shared") {
      const auto bytes = read_count(entry.value, Counted::bytes);
      if (!bytes) fail_argument("shared", entry.value, count_problem(entry.value, Counted::bytes));
      kernel.shared = *bytes;
    }
    const auto end_of_words = known.begin() + static_cast<std::ptrdiff_t>(words);
    if (std::find(known.begin(), end_of_words, entry.name) != end_of_words) continue;
    const bool buffer = entry.value.find('[') != std::string::npos;
    kernel.arguments.push_back(buffer ? read_buffer(entry, sizes) : read_number(entry));
  }
  return kernel;
}

std::string cuda_kernel_text(const CudaKernel& kernel) {
  std::string text = fmt::format("{}:{}:{},grid={},block={}", kCudaKind, kernel.file, kernel.kernel,
                                 sides_text(kernel.grid), sides_text(kernel.block));
  if (kernel.shared != 0) text += fmt::format(",shared={}", kernel.shared);
  if (kernel.registers != 0) text += fmt::format(",registers={}", kernel.registers);
  if (kernel.fast_math) text += ",fast_math=1";
  if (kernel.optimize != kFullOptimization) text += fmt::format(",optimize={}", kernel.optimize);
  if (kernel.min_blocks != 0) text += fmt::format(",min_blocks={}", kernel.min_blocks);
  if (kernel.architecture != 0) text += fmt::format(",architecture={}", kernel.architecture);
  if (!kernel.reference.empty()) text += ",reference=" + kernel.reference;
  for (const Argument& argument : kernel.arguments)
    text += fmt::format(",{}={}", argument.name, argument_text(argument));
  return text;
}

}  // namespace jitterscope
