// Generated kernels compute what the steps of their chains do: their text, compiled as C++ by the compiler
// that built this, run thread by thread on the CPU. Only f32 and f64, as conversions of shorter types are
// instructions of a GPU.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "device/cpu/reference.hpp"
#include "device/cuda/operations/fused_source.hpp"

namespace jitterscope::cuda {
namespace {

constexpr const char* kAsCpp = R"(
#include <cmath>
#include <cstring>
struct Place { unsigned x; };
static Place blockIdx, threadIdx;
#define __device__ static
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(threads)
#define __restrict__
static float __int_as_float(unsigned bits) { float value; std::memcpy(&value, &bits, sizeof value); return value; }
static double __longlong_as_double(unsigned long long bits) {
  double value; std::memcpy(&value, &bits, sizeof value); return value;
}
)";

using RunAll = void (*)(unsigned blocks, void** operands);

/// The text as a library of its own, and what calls it for each thread of a launch.
class EmulatedKernel {
 public:
  EmulatedKernel(const FusedSource& source, const std::vector<Operand>& operands)
      : blocks_(static_cast<unsigned>((source.threads + kFusedBlock - 1) / kFusedBlock)) {
    char folder[] = JITTERSCOPE_KERNEL_FOLDER "/fused-XXXXXX";
    folder_ = ::mkdtemp(folder);
    std::ofstream(folder_ / "kernel.cpp") << kAsCpp << source.text << caller(operands);
    const std::string library = (folder_ / "kernel.so").string();
    const std::string command = fmt::format("{} -O1 -w -shared -fPIC -o {} {}", JITTERSCOPE_COMPILER, library,
                                            (folder_ / "kernel.cpp").string());
    if (std::system(command.c_str()) != 0) return;
    handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) run_ = reinterpret_cast<RunAll>(::dlsym(handle_, "run_all"));
  }
  ~EmulatedKernel() {
    if (handle_ != nullptr) ::dlclose(handle_);
    std::filesystem::remove_all(folder_);
  }
  EmulatedKernel(const EmulatedKernel&) = delete;
  EmulatedKernel& operator=(const EmulatedKernel&) = delete;

  bool is_there() const { return run_ != nullptr; }
  void run(std::vector<void*> operands) const { run_(blocks_, operands.data()); }

 private:
  static std::string caller(const std::vector<Operand>& operands) {
    std::string arguments;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const char* type = holds_indices(operands[i].dtype) ? "long long" : "T";
      arguments += fmt::format("{}static_cast<{}*>(operands[{}])", i > 0 ? ", " : "", type, i);
    }
    return fmt::format(
        "extern \"C\" void run_all(unsigned blocks, void** operands) {{\n"
        "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
        "    for (threadIdx.x = 0; threadIdx.x < {}; ++threadIdx.x) fused({});\n}}\n",
        kFusedBlock, arguments);
  }

  std::filesystem::path folder_;
  unsigned blocks_;
  void* handle_ = nullptr;
  RunAll run_ = nullptr;
};

/// Memory that begins at a multiple of 16 bytes; NaN, or no index, where nothing is written.
class EmulatedOperand {
 public:
  explicit EmulatedOperand(const Operand& operand)
      : dtype_(operand.dtype),
        count_(operand.count),
        bytes_(static_cast<std::size_t>(operand.bytes().value())) {
    data_ = std::aligned_alloc(16, (bytes_ + 15) / 16 * 16);
    std::memset(data_, 0xff, bytes_);
  }
  ~EmulatedOperand() { std::free(data_); }
  EmulatedOperand(EmulatedOperand&& other) noexcept
      : dtype_(other.dtype_),
        count_(other.count_),
        bytes_(other.bytes_),
        data_(std::exchange(other.data_, nullptr)) {}
  EmulatedOperand& operator=(EmulatedOperand&&) = delete;

  void* data() const { return data_; }
  std::vector<double> fill(Random& random) {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (dtype_ == DataType::f64) static_cast<double*>(data_)[i] = 2 * random.normal();
      if (dtype_ == DataType::f32) static_cast<float*>(data_)[i] = static_cast<float>(2 * random.normal());
    }
    return values();
  }
  std::vector<double> values() const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (dtype_ == DataType::f64) values.push_back(static_cast<double*>(data_)[i]);
      if (dtype_ == DataType::f32) values.push_back(static_cast<float*>(data_)[i]);
      if (dtype_ == DataType::i64) {
        values.push_back(static_cast<double>(static_cast<std::int64_t*>(data_)[i]));
      }
    }
    return values;
  }

 private:
  DataType dtype_;
  std::int64_t count_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

double relative_error(const std::vector<double>& values, Reference& reference, std::size_t output) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = reference.element(output, static_cast<std::int64_t>(i));
    difference += (values[i] - expected) * (values[i] - expected);
    norm += expected * expected;
  }
  return std::sqrt(difference / (norm > 0.0 ? norm : 1.0));
}

TEST(FusedValues, AreThoseOfTheSteps) {
  for (
      const char* steps :
      {"[relu:count=1001]*2", "[add:count=1000][gelu:count=1000][mul:count=1000][tanh:count=1000]",
       "[bias_add:n=2,c=5,hw=7][silu:count=490][sigmoid:count=490]",
       "[relu6:count=490][bias_add:n=2,c=5,hw=7,layout=nhwc]",
       "[mul:count=490][bias_add:n=2,c=5,hw=7][add:count=490][bias_add:n=2,c=5,h=49,w=1]",
       "[relu:count=1024][max_pool:n=1,c=4,hw=16,window=3,stride=2,pad=1]",
       "[relu:count=4320][max_pool:n=2,c=9,h=12,w=20,window=3,stride=2,pad=1,layout=nhwc]",
       "[add:count=1024][relu:count=1024][avg_pool:n=1,c=4,hw=16,window=9,stride=4,pad=2,layout=nhwc]",
       "[max_pool:n=1,c=4,hw=16,window=2,stride=2,layout=nhwc][bias_add:n=1,c=4,hw=8,layout=nhwc][relu:count=256]",
       "[max_pool:n=3,c=4,h=15,w=16,window=3,stride=2,pad=1][add:count=768][relu6:count=768]",
       "[avg_pool:n=1,c=4,hw=16,window=16,stride=1][mul:count=4]"}) {
    for (const DataType dtype : {DataType::f32, DataType::f64}) {
      const Operation chain = Operation::parse(std::string("chain:") + steps + ",fused=1").with_dtype(dtype);
      const std::vector<Operand> operands = chain.operands();
      const FusedSource source = fused_source(std::get<Chain>(chain.parameters()));
      const EmulatedKernel kernel(source, operands);
      ASSERT_TRUE(kernel.is_there()) << source.text;
      Random random(3);
      std::vector<EmulatedOperand> memory;
      std::vector<void*> pointers;
      std::vector<std::vector<double>> inputs;
      for (const Operand& operand : operands) {
        pointers.push_back(memory.emplace_back(operand).data());
        if (operand.role == OperandRole::input) inputs.push_back(memory.back().fill(random));
      }
      kernel.run(pointers);
      const std::size_t first = inputs.size();
      Reference reference(chain, std::move(inputs));
      for (std::size_t i = first; i < operands.size(); ++i) {
        const double limit = holds_indices(operands[i].dtype) ? 0.0 : dtype == DataType::f32 ? 1e-6 : 1e-14;
        EXPECT_LE(relative_error(memory[i].values(), reference, i - first), limit)
            << chain.text() << ", output " << i - first << "\n"
            << source.text;
      }
    }
  }
}

}  // namespace
}  // namespace jitterscope::cuda
