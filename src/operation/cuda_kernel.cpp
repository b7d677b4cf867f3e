#include "operation/cuda_kernel.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/files.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

// Limits, operands and normal form of a CUDA kernel.

namespace jitterscope {
namespace {

using Argument = KernelArgument;

constexpr std::size_t kMostArguments = 256;  // with 8 bytes each: half of CUDA's limit

[[noreturn]] void fail_kernel(const std::string& problem) { throw UsageError("cuda: " + problem); }

// Bytes above ASCII must be UTF-8, because results are JSON.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.valid) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

void check_file(const std::string& file) {
  if (file.empty()) fail_kernel("the file has no name; write cuda:FILE.cu:KERNEL");
  constexpr std::string_view kParting = ",:<>()[]{}";
  const bool is_plain =
      std::ranges::all_of(file, [&](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
  const bool is_trimmed = trimmed(file) == file;
  if (is_plain && is_trimmed && is_utf8(file) && file.find_first_of(kParting) == std::string::npos) return;
  fail_kernel(fmt::format(
      "the file's name {} has a comma, a colon, a bracket or a letter that cannot be printed in it, or a space "
      "at an end; give it another name, or a link to it",
      in_quotes(file)));
}

// Brackets must match, and commas must be inside of them, because the kernel's name is one piece of the text.
void check_kernel_name(std::string_view what, const std::string& name) {
  std::string open;
  bool is_good = !name.empty() && trimmed(name) == name && is_identifier(name.substr(0, 1));
  for (const char c : name) {
    is_good = is_good && c >= ' ' && c <= '~' && (is_word_letter(c) || !open.empty() || c == ':' || c == '<');
    if (c == '<' || c == '(') open += c;
    if (c != '>' && c != ')') continue;
    is_good = is_good && !open.empty() && open.back() == (c == '>' ? '<' : '(');
    if (!open.empty()) open.pop_back();
  }
  if (is_good && open.empty()) return;
  fail_kernel(
      fmt::format("the {} {} is not a kernel's name; they are written scale, ns::scale or scale<float>", what,
                  in_quotes(name)));
}

void describe(CudaKernel& kernel, kinds::Fields& fields) {
  constexpr std::int64_t kMostShared = 1 << 20, kMostRegisters = 255;
  constexpr std::int64_t kMostBlocks = 32;  // for one processor, on every GPU
  const CudaKernel usual;
  fields.declared("grid", "blocks, as 4096 or 64x64x1; also of integer arguments, rounded up, as n/block");
  fields.declared("block", "threads in a block, as 256 or 32x8x1; at most 1024");
  fields.optional("shared", "bytes of dynamic shared memory", kernel.shared, usual.shared, {0, kMostShared});
  fields.optional("registers",
                  "at most so many for each thread, as nvcc's -maxrregcount; 0: as the compiler chooses",
                  kernel.registers, usual.registers, {0, kMostRegisters});
  fields.optional("fast_math", "1: as nvcc's -use_fast_math", kernel.fast_math, usual.fast_math);
  fields.optional("optimize", "0 to 3: as nvcc's -Xptxas -O0 to -O3", kernel.optimize, usual.optimize,
                  {0, kFullOptimization});
  fields.optional(
      "min_blocks",
      "as __launch_bounds__(threads of a block, min_blocks) at the kernel, in place of bounds in the source: so "
      "many blocks find room on a processor; 0: as the source has it",
      kernel.min_blocks, usual.min_blocks, {0, kMostBlocks});
  fields.optional(
      "architecture",
      "80: as code that was built for compute capability 8.0, which the driver compiles for a newer GPU; 0: for "
      "the GPU at hand",
      kernel.architecture, usual.architecture, {0, kLargestDimension});
  fields.text(
      "reference",
      "another kernel of the file with the same parameters, whose outputs are right: what --verify compares "
      "with",
      kernel.reference, "none");
}

// The words that are not arguments: grid, block…
const std::vector<std::string>& launch_words() {
  static const std::vector<std::string> words = [] {
    kinds::Listing listing;
    kinds::Fields fields(listing);
    CudaKernel kernel;
    describe(kernel, fields);
    std::vector<std::string> names;
    for (ParameterHelp& parameter : listing.parameters) names.push_back(std::move(parameter.name));
    return names;
  }();
  return words;
}

void check_sizes(const CudaKernel& kernel) {
  constexpr std::array<std::int64_t, 3> kLargestGrid = {kLargestDimension, 65535,
                                                        65535};  // CUDA's limits on every architecture
  constexpr std::int64_t kOldestArchitecture = 20, kNewestArchitecture = 999;
  for (std::size_t i = 0; i < 3; ++i) check_range("cuda", "grid", kernel.grid[i], {1, kLargestGrid[i]});
  check_block(kernel);
  const bool is_at_hand = kernel.architecture == 0;
  if (!is_at_hand &&
      (kernel.architecture < kOldestArchitecture || kernel.architecture > kNewestArchitecture)) {
    fail_kernel(
        fmt::format("architecture={} is none: write 80 for compute capability 8.0, or 0 for the GPU at hand",
                    kernel.architecture));
  }
  if (kernel.registers > 0 && kernel.min_blocks > 0) {
    fail_kernel(
        "registers and min_blocks both say how many registers a thread may take, and the compiler heeds "
        "min_blocks alone; leave one out");
  }
}

void check_buffer(const Argument& argument) {
  check_range("cuda", argument.name, argument.count, {1, kLargestCount});
  if (argument.dtype == DataType::tf32)
    fail_kernel(fmt::format("{}: tf32 is not a type of a buffer; write f32", argument.name));
}

// Integers are kept as i64, so the upper half of u64 cannot be given.
void check_integer(const Argument& argument) {
  const NumberTypeWord& type = number_type_word(argument.number_type);
  const bool is_signed = type.word.front() == 'i';
  const bool is_whole = type.bytes == sizeof(std::int64_t);
  const std::int64_t most = is_whole ? std::numeric_limits<std::int64_t>::max()
                                     : (std::int64_t{1} << (8 * type.bytes - (is_signed ? 1 : 0))) - 1;
  const std::int64_t least = is_signed ? -most - 1 : 0;
  if (argument.integer >= least && argument.integer <= most) return;
  fail_kernel(fmt::format("{0}: {1} does not fit into {2}, which holds {3} to {4} here; write {0}=i64:…",
                          argument.name, argument.integer, type.word, least, most));
}

void check_real(const Argument& argument) {
  using enum Argument::NumberType;
  constexpr double kLargestBf16 = 0x1.fep127;
  const double most = argument.number_type == f16    ? 65504.0
                      : argument.number_type == bf16 ? kLargestBf16
                      : argument.number_type == f32  ? double{std::numeric_limits<float>::max()}
                                                     : std::numeric_limits<double>::max();
  if (std::abs(argument.real) <= most) return;  // false for a NaN
  fail_kernel(fmt::format("{0}: the number does not fit into {1}; write {0}=f64:…", argument.name,
                          number_type_word(argument.number_type).word));
}

void check_number(const Argument& argument) {
  is_integer(argument.number_type) ? check_integer(argument) : check_real(argument);
}

void check_arguments(const CudaKernel& kernel) {
  if (kernel.arguments.size() > kMostArguments)
    fail_kernel(fmt::format("more than {} arguments", kMostArguments));
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    if (!is_identifier(argument.name))
      fail_kernel(
          fmt::format("{} is not an argument's name; take letters, digits and _", in_quotes(argument.name)));
    const auto same_name = [&](const Argument& other) { return other.name == argument.name; };
    if (std::ranges::find(launch_words(), argument.name) != launch_words().end())
      fail_kernel(
          fmt::format("an argument cannot be called {}: that is a word of the launch", argument.name));
    const auto end = kernel.arguments.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(kernel.arguments.begin(), end, same_name))
      fail_kernel(argument.name + " is given twice; give it once");
    is_buffer(argument) ? check_buffer(argument) : check_number(argument);
  }
}

}  // namespace

std::vector<std::size_t> operand_places(const CudaKernel& kernel) {
  const auto outputs =
      static_cast<std::size_t>(std::ranges::count(kernel.arguments, Argument::Kind::output, &Argument::kind));
  const auto numbers =
      static_cast<std::size_t>(std::ranges::count(kernel.arguments, Argument::Kind::number, &Argument::kind));
  std::size_t input = 0, output = kernel.arguments.size() - numbers - outputs;
  std::vector<std::size_t> places;
  for (const Argument& argument : kernel.arguments) {
    const bool is_output = argument.kind == Argument::Kind::output;
    places.push_back(!is_buffer(argument) ? kNoOperand : is_output ? output++ : input++);
  }
  return places;
}

const NumberTypeWord& number_type_word(KernelArgument::NumberType type) {
  return *std::ranges::find(kNumberTypes, type, &NumberTypeWord::type);
}

void check_block(const CudaKernel& kernel) {
  constexpr std::array<std::int64_t, 3> kLargestBlock = {1024, 1024, 64};
  constexpr std::int64_t kMostThreads = 1024;
  for (std::size_t i = 0; i < 3; ++i) check_range("cuda", "block", kernel.block[i], {1, kLargestBlock[i]});
  if (threads_in_block(kernel) <= kMostThreads) return;
  fail_kernel(fmt::format("block={}x{}x{} is impossible: a block has at most {} threads", kernel.block[0],
                          kernel.block[1], kernel.block[2], kMostThreads));
}

namespace kinds {
namespace {

void check_kernel(const CudaKernel& kernel) {
  check_file(kernel.file);
  check_kernel_name("name", kernel.kernel);
  if (!kernel.reference.empty()) check_kernel_name("reference", kernel.reference);
  check_sizes(kernel);
  check_arguments(kernel);
}

// Clears fields that an argument of this kind does not use, so that they do not matter to equality.
void normalize(CudaKernel& kernel) {
  if (kernel.reference == "none") kernel.reference.clear();
  for (Argument& argument : kernel.arguments) {
    Argument own{.name = std::move(argument.name), .kind = argument.kind};
    if (is_buffer(argument)) {
      own.dtype = argument.dtype;
      own.count = argument.count;
    } else {
      own.number_type = argument.number_type;
      if (is_integer(own.number_type)) {
        own.integer = argument.integer;
      } else {
        own.real = argument.real;
      }
    }
    argument = std::move(own);
  }
}

std::vector<Operand> operands(const CudaKernel& kernel) {
  std::int64_t smallest = kLargestDimension;
  for (const Argument& argument : kernel.arguments) {
    if (is_buffer(argument)) smallest = std::min(smallest, argument.count);
  }
  const std::vector<std::size_t> places = operand_places(kernel);
  std::vector<Operand> operands(static_cast<std::size_t>(std::ranges::count_if(kernel.arguments, is_buffer)));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    if (!is_buffer(argument)) continue;
    const bool is_output = argument.kind == Argument::Kind::output;
    operands[places[i]] = {argument.name, is_output ? OperandRole::output : OperandRole::input,
                           argument.dtype, argument.count, holds_indices(argument.dtype) ? smallest : 0};
  }
  return operands;
}

}  // namespace
}  // namespace kinds

// The text of kernels: cuda:FILE.cu:KERNEL,grid=4096,block=256,x=f32[1Mi],n=1Mi.

namespace {

using NumberType = Argument::NumberType;

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

std::string argument_text(const Argument& argument) {
  if (!is_buffer(argument)) {
    const NumberType type = argument.number_type;
    std::string text = is_integer(type) ? std::to_string(argument.integer) : real_text(argument.real);
    if (type == NumberType::i32 || type == NumberType::f32) return text;
    return std::string(number_type_word(type).word) + ':' + text;
  }
  std::string text;
  for (const auto& [word, kind] : kBufferKinds) {
    if (kind == argument.kind) text = word;
  }
  return fmt::format("{}{}[{}]", text, to_string(argument.dtype), argument.count);
}

// Reads a number of elements or blocks: 1Mi, or a product or quotient of integer arguments and the block's
// threads, such as n, n*4 or n/block (rounded up). The arguments' numbers must have been read.
class SizeReader {
 public:
  SizeReader(const std::vector<Argument>& arguments, std::optional<std::int64_t> threads)
      : arguments_(arguments), threads_(threads) {}

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
                  "is not a size: write a number as 1Mi, or one of integer arguments, as n, n*4 or n/block" +
                      culprit_in(text));
  }
  /// Returns the argument that keeps a text from being a size, with its value: "; n is 2.5".
  std::string culprit_in(std::string_view text) const {
    for (std::string_view rest = text;;) {
      const std::size_t end = std::min(rest.find_first_of("*/"), rest.size());
      const std::string_view word = trimmed(rest.substr(0, end));
      const auto named = std::ranges::find(arguments_, word, &Argument::name);
      if (named != arguments_.end() && !factor_of(word)) {
        return fmt::format("; {} is {}", word, is_buffer(*named) ? "a buffer" : argument_text(*named));
      }
      if (end == rest.size()) return {};
      rest.remove_prefix(end + 1);
    }
  }

 private:
  static constexpr std::int64_t kLimit = std::int64_t{1} << 50;

  std::optional<std::int64_t> factor_of(std::string_view word) const {
    if (const auto number = read_count(word)) return number;
    if (word == "block") return threads_;
    const auto named = std::ranges::find(arguments_, word, &Argument::name);
    const bool is_size = named != arguments_.end() && !is_buffer(*named) && is_integer(named->number_type) &&
                         named->integer >= 0;
    return is_size ? std::optional(named->integer) : std::nullopt;
  }

  const std::vector<Argument>& arguments_;
  std::optional<std::int64_t> threads_;
};

// Argument names may contain an x: in nx/16xny/16 the second x separates the sides.
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
        "is not up to three sizes: write 128, 128x2 or 128x2x1, or sizes of integer arguments, as n/block" +
            sizes.culprit_in(text));
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

bool describes_buffer(const NamedValue& entry) { return entry.value.find('[') != std::string::npos; }

// Reads everything but the count, which may depend on numbers that follow.
Argument read_buffer_type(const NamedValue& entry) {
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
  if (!text.ends_with(']') || known == std::end(kBufferTypes)) {
    fail_argument(
        entry.name, entry.value,
        "is not a buffer: they are written f32[COUNT], out:f32[COUNT] or inout:f32[COUNT], of f64, f32, "
        "f16, bf16, i64 or i32 (for other elements take as many bytes of one of these)");
  }
  buffer.dtype = *known;
  return buffer;
}

std::int64_t read_buffer_count(const NamedValue& entry, const SizeReader& sizes) {
  const std::string_view text = entry.value;
  const std::size_t first = text.find('[') + 1;
  return sizes.read(entry.name, trimmed(text.substr(first, text.size() - 1 - first)));
}

std::string words_of_number_types() {
  std::string text;
  for (const NumberTypeWord& type : kNumberTypes) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", type.word);
  }
  return text;
}

Argument read_number(const NamedValue& entry) {
  Argument number{.name = entry.name};
  std::string_view text = entry.value;
  const std::size_t colon = text.find(':');
  const bool is_typed = colon != std::string_view::npos;
  if (is_typed) {
    const auto* type = std::ranges::find(kNumberTypes, trimmed(text.substr(0, colon)), &NumberTypeWord::word);
    if (type == std::end(kNumberTypes)) {
      fail_argument(entry.name, entry.value,
                    fmt::format("has no type that is known: a number's are {}, as in u64:5 (a size_t), and a "
                                "buffer is written f32[COUNT]",
                                words_of_number_types()));
    }
    number.number_type = type->type;
    text = trimmed(text.substr(colon + 1));
  }
  const std::optional<std::int64_t> integer = signed_integer(text);
  const std::optional<double> real = real_number(text);
  // 1e6 is a whole number here as everywhere; 1.0 has a point, and 1e-3 is not whole.
  const bool is_real = text.find('.') != std::string_view::npos ? real.has_value() : !integer && real;
  if (!is_typed && is_real) number.number_type = NumberType::f32;
  const bool wants_integer = is_integer(number.number_type);
  if (wants_integer ? !integer : !real && !integer) {
    fail_argument(
        entry.name, entry.value,
        fmt::format("is not an argument: write a whole number as 64Ki, a decimal one as 2.5, one with its "
                    "type as i64:5 (of {}), or a buffer as f32[1Mi]",
                    words_of_number_types()));
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

void require_kernel_name(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return;
  throw UsageError(fmt::format(
      "cuda: {} names no kernel; write cuda:FILE.cu:KERNEL (a file whose name has a comma needs another name)",
      in_quotes(text)));
}

CudaKernel read_cuda_kernel(std::string_view kernel_name, const std::vector<NamedValue>& values) {
  CudaKernel kernel;
  std::vector<std::string> known = launch_words();
  for (const NamedValue& entry : values) known.push_back(entry.name);
  const ParameterReader reader("cuda", kCudaKernelExample, values, known);
  if (kernel_name.empty()) reader.fail_missing("the kernel (cuda:FILE.cu:KERNEL)");
  require_kernel_name(kernel_name);
  const std::size_t colon = kernel_name.find(':');
  kernel.file = trimmed(kernel_name.substr(0, colon));
  kernel.kernel = trimmed(kernel_name.substr(colon + 1));
  for (const char* required : {"grid", "block"}) {
    if (!reader.has(required)) reader.fail_missing(required);
  }
  kinds::Fields fields(reader);
  describe(kernel, fields);
  std::vector<const NamedValue*> given;
  for (const NamedValue& entry : values) {
    if (std::ranges::find(launch_words(), entry.name) != launch_words().end()) continue;
    if (entry.value.empty()) reader.fail(entry.name + " has no value; write one behind " + entry.name + "=");
    given.push_back(&entry);
    kernel.arguments.push_back(describes_buffer(entry) ? read_buffer_type(entry) : read_number(entry));
  }
  // Reads and checks the parts of sizes before the sizes: numbers, then the block.
  const std::vector<Argument> arguments = kernel.arguments;
  std::string block, grid;
  reader.read("block", block);
  reader.read("grid", grid);
  kernel.block = read_sides("block", block, SizeReader(arguments, std::nullopt));
  check_block(kernel);
  const SizeReader sizes(arguments, threads_in_block(kernel));
  kernel.grid = read_sides("grid", grid, sizes);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (is_buffer(kernel.arguments[i])) kernel.arguments[i].count = read_buffer_count(*given[i], sizes);
  }
  return kernel;
}

std::string cuda_kernel_text(const CudaKernel& kernel) {
  ParameterWriter writer(kCudaKind);
  writer.write_subject(kernel.file + ":" + kernel.kernel);
  writer.write("grid", sides_text(kernel.grid));
  writer.write("block", sides_text(kernel.block));
  CudaKernel launch = kernel;
  kinds::Fields fields(writer);
  describe(launch, fields);
  for (const Argument& argument : kernel.arguments) writer.write(argument.name, argument_text(argument));
  return writer.text();
}

const kinds::KindOf<CudaKernel>& kinds::kind_of(const CudaKernel&) {
  static const KindOf<CudaKernel> kind = {
      .words =
          {{"cuda",
            "a kernel of your own, compiled from its source: cuda:FILE.cu:KERNEL, how it is launched, and its "
            "arguments in the order of its parameters, under any names: buffers f32[COUNT] (an input), "
            "out:f32[COUNT] and inout:f32[COUNT] of f64, f32, f16, bf16, i64 or i32; numbers 5 (int), 2.5 "
            "(float), or with their type, as u64:5 (a size_t), of i8, u8, i16, u16, i32, u32, i64, u64, f16, "
            "bf16, f32 or f64",
            kCudaKernelExample}},
      .describe = jitterscope::describe,
      .normalize = normalize,
      .check = check_kernel,
      .text = cuda_kernel_text,
      .operands = operands};
  return kind;
}

}  // namespace jitterscope
