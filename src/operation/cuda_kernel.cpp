// A kernel of a CUDA source file: which are possible, and what they read and write.
#include "operation/cuda_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/limits.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using Argument = KernelArgument;

constexpr std::size_t kMostArguments = 256;  // of 8 bytes: half of what CUDA's largest kernels take

[[noreturn]] void fail_kernel(const std::string& problem) { throw UsageError("cuda: " + problem); }

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_name(std::string_view word) {
  return !word.empty() && !(word.front() >= '0' && word.front() <= '9') &&
         std::ranges::all_of(word, is_name_letter);
}

// Bytes above ASCII must be UTF-8, as results are JSON.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i++]);
    const int more = byte < 0x80 ? 0 : byte >= 0xc2 && byte < 0xe0 ? 1 : byte >= 0xe0 && byte < 0xf0 ? 2 : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) > text.size()) return false;
    const auto second = more > 0 ? static_cast<unsigned char>(text[i]) : 0;
    const bool is_overlong = (byte == 0xe0 && second < 0xa0) || (byte == 0xed && second >= 0xa0);
    if (is_overlong) return false;
    for (int k = 0; k < more; ++k) {
      if ((static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
    }
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

// Brackets match, and no comma stands outside of them: the kernel's name is one piece of the text.
void check_kernel_name(std::string_view what, const std::string& name) {
  std::string open;
  bool is_good = !name.empty() && trimmed(name) == name && is_name(name.substr(0, 1));
  for (const char c : name) {
    is_good = is_good && c >= ' ' && c <= '~' && (is_name_letter(c) || !open.empty() || c == ':' || c == '<');
    if (c == '<' || c == '(') open += c;
    if (c != '>' && c != ')') continue;
    is_good = is_good && !open.empty() && open.back() == (c == '>' ? '<' : '(');
    if (!open.empty()) open.pop_back();
  }
  if (is_good && open.empty()) return;
  fail_kernel(fmt::format("the {} {} is no kernel's name; they are written scale, ns::scale or scale<float>",
                          what, in_quotes(name)));
}

void check_sizes(const CudaKernel& kernel) {
  constexpr std::array<std::int64_t, 3> kLargestGrid = {kLargestDimension, 65535,
                                                        65535};  // CUDA's, everywhere
  constexpr std::int64_t kMostShared = 1 << 20, kMostRegisters = 255;
  constexpr std::int64_t kMostBlocks = 32;  // on a processor, on every GPU
  constexpr std::int64_t kOldestArchitecture = 20, kNewestArchitecture = 999;
  for (std::size_t i = 0; i < 3; ++i) check_range("cuda", "grid", kernel.grid[i], 1, kLargestGrid[i]);
  check_block(kernel);
  check_range("cuda", "shared", kernel.shared, 0, kMostShared);
  check_range("cuda", "registers", kernel.registers, 0, kMostRegisters);
  check_range("cuda", "optimize", kernel.optimize, 0, kFullOptimization);
  check_range("cuda", "min_blocks", kernel.min_blocks, 0, kMostBlocks);
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
  check_range("cuda", argument.name, argument.count, 1, kLargestCount);
  if (argument.dtype == DataType::tf32)
    fail_kernel(fmt::format("{}: tf32 is no type of a buffer; write f32", argument.name));
}

// An integer is kept as an i64, so that of a u64 the upper half cannot be given.
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
  if (std::abs(argument.real) <= most) return;  // false of a NaN
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
    if (!is_name(argument.name))
      fail_kernel(
          fmt::format("{} is no argument's name; take letters, digits and _", in_quotes(argument.name)));
    const auto same_name = [&](const auto& other) { return other.name == argument.name; };
    if (std::ranges::any_of(cuda_kernel_parameters(), same_name))
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
  for (std::size_t i = 0; i < 3; ++i) check_range("cuda", "block", kernel.block[i], 1, kLargestBlock[i]);
  if (threads_in_block(kernel) <= kMostThreads) return;
  fail_kernel(fmt::format("block={}x{}x{} is impossible: a block has at most {} threads", kernel.block[0],
                          kernel.block[1], kernel.block[2], kMostThreads));
}

namespace kinds {

std::string_view name(const CudaKernel&) { return kCudaKind; }

void check(const CudaKernel& kernel) {
  check_file(kernel.file);
  check_kernel_name("name", kernel.kernel);
  if (!kernel.reference.empty()) check_kernel_name("reference", kernel.reference);
  check_sizes(kernel);
  check_arguments(kernel);
}

// Fields that an argument of this kind does not have tell none apart.
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

// What a kernel computes only its author knows.
double flops(const CudaKernel&) { return 0.0; }

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

Kind cuda_kernel() {
  const auto read = [](const ParameterReader& reader) -> Operation::Parameters {
    reader.fail_missing("the kernel (cuda:FILE.cu:KERNEL)");
  };
  return {
      {"cuda",
       "a kernel of your own, compiled from its source: cuda:FILE.cu:KERNEL, how it is launched, and its "
       "arguments in the order of its parameters, under any names: buffers f32[COUNT] (an input), "
       "out:f32[COUNT] and inout:f32[COUNT] of f64, f32, f16, bf16, i64 or i32; numbers 5 (int), 2.5 (float), "
       "or with their type, as u64:5 (a size_t), of i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32 or f64",
       kCudaKernelExample, cuda_kernel_parameters()},
      read};
}

}  // namespace kinds
}  // namespace jitterscope
