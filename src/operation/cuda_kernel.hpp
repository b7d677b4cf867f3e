// A user's own CUDA kernels as operations: their text, checks and operands.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

struct NamedValue;

/// The word before the first colon of a kernel's text.
inline constexpr std::string_view kCudaKind = "cuda";

/// Returns the end of the first piece of a kernel's text: a comma outside of brackets, since scale<float,4>
/// is one name.
std::size_t kernel_piece_end(std::string_view text);

/// Throws UsageError if the text is not FILE.cu:KERNEL.
void require_kernel_name(std::string_view text);
/// `kernel` is FILE.cu:KERNEL, or empty if it is missing; `values` are the rest in the order written. Throws
/// UsageError.
CudaKernel read_cuda_kernel(std::string_view kernel, const std::vector<NamedValue>& values);
inline constexpr const char* kCudaKernelExample =
    "cuda:@saxpy:saxpy,grid=4096,block=256,n=1Mi,a=2.5,x=f32[1Mi],y=inout:f32[1Mi]";

inline bool is_buffer(const KernelArgument& argument) {
  return argument.kind != KernelArgument::Kind::number;
}
inline bool is_written(const KernelArgument& argument) {
  return argument.kind == KernelArgument::Kind::output || argument.kind == KernelArgument::Kind::inout;
}
inline constexpr std::size_t kNoOperand = std::numeric_limits<std::size_t>::max();
/// Returns for each argument the index of its buffer in operands(), or kNoOperand for a number.
std::vector<std::size_t> operand_places(const CudaKernel& kernel);

inline std::int64_t threads_in_block(const CudaKernel& kernel) {
  return kernel.block[0] * kernel.block[1] * kernel.block[2];
}
/// The compiler's default of CudaKernel::optimize.
inline constexpr std::int64_t kFullOptimization = 3;
/// The same on every GPU since Kepler.
inline constexpr std::int64_t kRegistersOfAProcessor = 65536;

/// Throws UsageError for a block that no GPU can launch.
void check_block(const CudaKernel& kernel);

/// A type of number arguments, written `word`:5 in text.
struct NumberTypeWord {
  std::string_view word;
  KernelArgument::NumberType type;
  std::size_t bytes;  ///< size in a launch: 1, 2, 4 or 8
};
inline constexpr NumberTypeWord kNumberTypes[] = {
    {"i8", KernelArgument::NumberType::i8, 1},   {"u8", KernelArgument::NumberType::u8, 1},
    {"i16", KernelArgument::NumberType::i16, 2}, {"u16", KernelArgument::NumberType::u16, 2},
    {"i32", KernelArgument::NumberType::i32, 4}, {"u32", KernelArgument::NumberType::u32, 4},
    {"i64", KernelArgument::NumberType::i64, 8}, {"u64", KernelArgument::NumberType::u64, 8},
    {"f16", KernelArgument::NumberType::f16, 2}, {"bf16", KernelArgument::NumberType::bf16, 2},
    {"f32", KernelArgument::NumberType::f32, 4}, {"f64", KernelArgument::NumberType::f64, 8}};
const NumberTypeWord& number_type_word(KernelArgument::NumberType type);
inline bool is_integer(KernelArgument::NumberType type) { return type <= KernelArgument::NumberType::u64; }

}  // namespace jitterscope
