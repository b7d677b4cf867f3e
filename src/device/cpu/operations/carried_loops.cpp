#include "device/cpu/operations/carried_loops.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "operation/cuda_kernel.hpp"

namespace jitterscope::cpu {
namespace {

/// The arguments of a launch, in the kernel's order.
class Arguments {
 public:
  explicit Arguments(const CudaKernel& kernel) : kernel_(kernel), pointers_(kernel.arguments.size()) {}

  void point(std::size_t argument, std::byte* memory) { pointers_[argument] = memory; }
  std::int64_t number(std::size_t argument) const { return kernel_.arguments[argument].integer; }
  template <class Element>
  Element* buffer(std::size_t argument) const {
    return reinterpret_cast<Element*>(pointers_[argument]);
  }
  std::int64_t blocks() const { return kernel_.grid[0]; }
  std::int64_t threads_in_block() const { return kernel_.block[0]; }
  std::int64_t threads() const { return blocks() * threads_in_block(); }

 private:
  const CudaKernel& kernel_;
  std::vector<std::byte*> pointers_;
};

// Arguments as in examples/kernels/access.cu: n, step, x, y.
template <class Place>
void copy_by(const Arguments& arguments, Place place) {
  const auto n = static_cast<std::uint32_t>(arguments.number(0));
  const auto* x = arguments.buffer<const float>(2);
  auto* y = arguments.buffer<float>(3);
#pragma omp parallel for schedule(static)
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t at = place(i);
    y[at] = x[at];
  }
}

void coalesced(const Arguments& arguments) {
  copy_by(arguments, [](std::uint32_t i) { return i; });
}

void strided(const Arguments& arguments) {
  const auto n = static_cast<std::uint32_t>(arguments.number(0));
  const auto step = static_cast<std::uint32_t>(arguments.number(1));
  const std::uint32_t rows = n / step;
  const auto* x = arguments.buffer<const float>(2);
  auto* y = arguments.buffer<float>(3);
#pragma omp parallel for schedule(static) collapse(2)
  for (std::uint32_t column = 0; column < step; ++column) {
    for (std::uint32_t row = 0; row < rows; ++row) y[row * step + column] = x[row * step + column];
  }
}

void misaligned(const Arguments& arguments) {
  const auto mask = static_cast<std::uint32_t>(arguments.number(0)) - 1;
  const auto step = static_cast<std::uint32_t>(arguments.number(1));
  copy_by(arguments, [=](std::uint32_t i) { return (i + step) & mask; });
}

// Permutes the places below a power of two: each step can be undone.
std::uint32_t mixed(std::uint32_t place, std::uint32_t mask, int half) {
  place = (place & mask) * 0x9e3779b1u & mask;
  place ^= place >> half;
  place = place * 0x85ebca6bu & mask;
  place ^= place >> half;
  return place * 0xc2b2ae35u & mask;
}

void scattered(const Arguments& arguments) {
  const auto n = static_cast<std::uint32_t>(arguments.number(0));
  const int half = std::countr_zero(n) / 2 + 1;
  copy_by(arguments, [=](std::uint32_t i) { return mixed(i, n - 1, half); });
}

// Arguments as in examples/kernels/hierarchy.cu: lines, step, more, loads, cells, state, end.
constexpr std::int64_t kMade = 0x72696e67;

std::int64_t line_at(std::int64_t place, std::int64_t lines) {
  const auto count = static_cast<std::uint32_t>(lines);
  const int bits = std::max(1, static_cast<int>(std::bit_width(count - 1)));
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  auto at = static_cast<std::uint32_t>(place % lines);
  do {
    at = mixed(at, mask, bits / 2 + 1);
  } while (at >= count);
  return at;
}

void make_ring(const Arguments& arguments) {
  const std::int64_t lines = arguments.number(0), step = arguments.number(1), more = arguments.number(2);
  auto** cells = arguments.buffer<void*>(4);
  auto* state = arguments.buffer<std::int64_t>(5);
  for (std::int64_t i = 0; i < lines; ++i)
    cells[line_at(i, lines) * step] = cells + line_at(i + 1, lines) * step;
  // Written last, so that a cache holds these and not the ring.
  for (std::int64_t i = 0; i < more; ++i) cells[lines * step + i] = nullptr;
  state[0] = kMade;
  state[1] = line_at(0, lines);
}

void chase(const Arguments& arguments) {
  const std::int64_t step = arguments.number(1), loads = arguments.number(3);
  auto* state = arguments.buffer<std::int64_t>(5);
  if (state[0] != kMade) make_ring(arguments);
  auto** cells = arguments.buffer<void*>(4);
  void** at = cells + state[1] * step;
  for (std::int64_t i = 0; i < loads; ++i) at = static_cast<void**>(*at);
  state[1] = (at - cells) / step;
  *arguments.buffer<std::int32_t>(6) = static_cast<std::int32_t>(state[1]);
}

void chased(const Arguments& arguments) {
  *arguments.buffer<std::int32_t>(6) =
      static_cast<std::int32_t>(line_at(arguments.number(3), arguments.number(0)));
}

// Arguments: words, apart, repeats, x, y. With blocks of one thread a thread's words lie together, which is
// how a CPU reads. combined() reads in four parts, so that no read waits for another: 111 GB/s from the L1 of
// an AMD EPYC, and 29 in one.
std::uint32_t combined(const std::uint32_t* x, std::int64_t count) {
  const std::int64_t part = count / 4;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(^ : a, b, c, d)
  for (std::int64_t i = 0; i < part; ++i) {
    a ^= x[i];
    b ^= x[part + i];
    c ^= x[2 * part + i];
    d ^= x[3 * part + i];
  }
  for (std::int64_t i = 4 * part; i < count; ++i) a ^= x[i];
  return a ^ b ^ c ^ d;
}

void read_words(const Arguments& arguments, std::int64_t repeats) {
  constexpr std::int64_t kNumbers = 4;  // in a word of 16 bytes
  const std::int64_t words = arguments.number(0), threads = arguments.threads();
  const std::int64_t in_block = arguments.threads_in_block();
  const bool apart = arguments.number(1) != 0;
  const auto* x = arguments.buffer<const std::uint32_t>(3);
  auto* y = arguments.buffer<std::uint32_t>(4);
#pragma omp parallel for schedule(static)
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const std::int64_t first = apart ? thread / in_block * in_block * words + thread % in_block : thread;
    const std::int64_t step = apart ? in_block : threads;
    std::uint32_t all = 0;
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      if (step == 1) {
        all ^= combined(x + first * kNumbers, words * kNumbers);
        continue;
      }
      for (std::int64_t i = 0; i < words; ++i) all ^= combined(x + (first + i * step) * kNumbers, kNumbers);
    }
    y[thread] = all;
  }
}

void stream(const Arguments& arguments) { read_words(arguments, arguments.number(2)); }
void streamed(const Arguments& arguments) { read_words(arguments, arguments.number(2) % 2); }

// Arguments: places, repeats, counters.
void add(const Arguments& arguments) {
  const std::int64_t places = arguments.number(0), repeats = arguments.number(1),
                     threads = arguments.threads();
  auto* counters = arguments.buffer<std::int32_t>(2);
#pragma omp parallel for schedule(static)
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const std::atomic_ref<std::int32_t> counter(counters[thread % places]);
    for (std::int64_t i = 0; i < repeats; ++i) counter.fetch_add(1, std::memory_order_relaxed);
  }
}

void added(const Arguments& arguments) {
  const std::int64_t places = arguments.number(0);
  const auto each = static_cast<std::int32_t>(arguments.threads() / places * arguments.number(1));
  for (std::int64_t place = 0; place < places; ++place) arguments.buffer<std::int32_t>(2)[place] += each;
}

struct CarriedLoops {
  std::string_view file, kernel;
  std::size_t arguments;
  void (*run)(const Arguments&);
};
constexpr CarriedLoops kLoops[] = {
    {"@access", "coalesced<float>", 4, coalesced},
    {"@access", "strided", 4, strided},
    {"@access", "misaligned", 4, misaligned},
    {"@access", "scattered", 4, scattered},
    {"@access", "copied", 4, coalesced},
    {"@hierarchy", "chase<PastL1>", 7, chase},
    {"@hierarchy", "chased", 7, chased},
    {"@hierarchy", "stream<PastL1>", 5, stream},
    {"@hierarchy", "streamed", 5, streamed},
    {"@hierarchy", "add", 3, add},
    {"@hierarchy", "added", 3, added},
};

const CarriedLoops* find_loops(const CudaKernel& kernel) {
  for (const CarriedLoops& loops : kLoops) {
    if (loops.file == kernel.file && loops.kernel == kernel.kernel &&
        loops.arguments == kernel.arguments.size()) {
      return &loops;
    }
  }
  return nullptr;
}

class CarriedOperation final : public CpuOperation {
 public:
  CarriedOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        kernel_(std::get<CudaKernel>(operation.parameters())),
        loops_(*find_loops(kernel_)),
        arguments_(kernel_) {
    const std::vector<std::size_t> places = operand_places(kernel_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != kNoOperand) arguments_.point(i, data<std::byte>(places[i]));
    }
  }

  void run(NativeQueue) override { loops_.run(arguments_); }

 private:
  const CudaKernel kernel_;
  const CarriedLoops& loops_;
  Arguments arguments_;
};

}  // namespace

bool has_carried_loops(const CudaKernel& kernel) { return find_loops(kernel) != nullptr; }

std::unique_ptr<PreparedOperation> prepare_carried_loops(const Operation& operation,
                                                         const InputTable& inputs) {
  return std::make_unique<CarriedOperation>(operation, inputs);
}

}  // namespace jitterscope::cpu
