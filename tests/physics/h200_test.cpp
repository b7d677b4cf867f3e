// The preset h200 against what one H200 measured; the numbers stand in
// docs/notebook/2026-11-21-h200-preset.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/virtual/kernel_work.hpp"
#include "physics/preset.hpp"
#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

constexpr double kMega = 1 << 20;

/// An operation of the catalogue as the virtual device makes it a kernel.
class Kernel {
 public:
  Kernel(const Parameters& parameters, std::string_view text, DataKind data = DataKind::normal)
      : machine_(parameters, 7) {
    const Operation operation = Operation::parse(text);
    std::vector<Buffer> buffers;
    for (const Operand& operand : operation.operands()) buffers.push_back(machine_.allocate(operand.bytes()));
    work = virtual_gpu::kernel_work(parameters, operation, buffers, data);
  }
  void operand(double bytes, bool written = false) {
    const Bytes size(static_cast<std::int64_t>(bytes));
    work.accesses.push_back({machine_.allocate(size), size, written});
  }
  Machine& machine() { return machine_; }

  struct Result {
    double microseconds, megahertz;
  };
  Result median_of(std::vector<Execution> executions) const {
    const auto middle = executions.begin() + static_cast<std::ptrdiff_t>(executions.size() / 2);
    std::nth_element(executions.begin(), middle, executions.end(),
                     [](const Execution& a, const Execution& b) { return a.time() < b.time(); });
    return {middle->time().value() / 1e3, middle->cycles.value() / middle->time().value() * 1e3};
  }
  /// Rounds of 2 + 8 launches after 50 ms of rest.
  Result burst() {
    std::vector<Execution> executions;
    for (int round = 0; round < 20; ++round) {
      machine_.rest_until(machine_.free_at() + milliseconds(50));
      for (int i = 0; i < 10; ++i) {
        const Execution execution = machine_.run(work, machine_.free_at() + microseconds(1));
        if (i >= 2) executions.push_back(execution);
      }
    }
    return median_of(executions);
  }
  std::vector<Execution> sustained(Nanoseconds settle = seconds(1), Nanoseconds length = seconds(2)) {
    run_until(machine_, work, machine_.free_at() + settle);
    return run_until(machine_, work, machine_.free_at() + length);
  }

  KernelWork work;

 private:
  Machine machine_;
};

Parameters h200() { return find_preset("h200"); }

Kernel conv2d() { return {h200(), "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"}; }
Kernel matmul(DataKind data = DataKind::normal, int n = 8192) {
  return {h200(), fmt::format("matmul:m={0},n={0},k={0},dtype=bf16", n), data};
}
Kernel copy(double bytes) { return {h200(), fmt::format("copy:bytes={:.0f}", bytes)}; }

void expect_within(double value, double expected, double share) {
  EXPECT_NEAR(value, expected, expected * share);
}

TEST(H200, ConvolutionInABurst) {
  const Kernel::Result result = conv2d().burst();
  expect_within(result.microseconds, 128.05, 0.03);
  expect_within(result.megahertz, 1720, 0.02);
}

TEST(H200, ConvolutionUnderTheCap) {
  Kernel conv = conv2d();
  const std::vector<Execution> executions = conv.sustained();
  const Kernel::Result result = conv.median_of(executions);
  expect_within(result.microseconds, 142, 0.03);
  expect_within(result.megahertz, 1400, 0.07);
  for (const Execution& execution : executions) {
    if (execution.time() > microseconds(160)) continue;  // a spike
    EXPECT_GT(execution.time(), microseconds(130));
  }
}

TEST(H200, ProductInABurst) {
  const Kernel::Result result = matmul().burst();
  expect_within(result.microseconds, 1368.8, 0.03);
  expect_within(result.megahertz, 1611, 0.02);
}

TEST(H200, ProductUnderTheCap) {
  Kernel product = matmul();
  std::vector<Execution> executions = product.sustained();
  std::sort(executions.begin(), executions.end(),
            [](const Execution& a, const Execution& b) { return a.time() < b.time(); });
  const auto at = [&](double share) {
    return executions[static_cast<std::size_t>(share * executions.size())];
  };
  expect_within(at(0.5).time().value() / 1e3, 1615, 0.03);
  EXPECT_GE(at(0.05).time(), microseconds(1434));
  EXPECT_LE(at(0.95).time(), microseconds(1793));
  const auto clock = [&](double share) { return at(share).cycles.value() / at(share).time().value() * 1e3; };
  EXPECT_LE(clock(0.05), 1600);
  EXPECT_GE(clock(0.95), 1105);
  const double cycles = at(0.5).cycles.value();
  EXPECT_NEAR(at(0.05).cycles.value() / cycles, 1.0, 0.02);
  EXPECT_NEAR(at(0.95).cycles.value() / cycles, 1.0, 0.02);
}

TEST(H200, ProductOfZeros) {
  const double flops = 2.0 * 8192 * 8192 * 8192;
  Kernel zeros = matmul(DataKind::zeros);
  expect_within(flops / zeros.burst().microseconds / 1e6, 894, 0.03);
  expect_within(flops / zeros.median_of(zeros.sustained()).microseconds / 1e6, 784, 0.03);
  Kernel normal = matmul();
  expect_within(flops / normal.median_of(normal.sustained()).microseconds / 1e6, 673, 0.03);
}

// One of 306 that tests/device/virtual/recorded_times_test.cpp holds.
TEST(H200, SmallProduct) { expect_within(matmul(DataKind::normal, 512).burst().microseconds, 3.157, 0.1); }

TEST(H200, CopyIsNotCapped) {
  Kernel copied = copy(1024 * kMega);
  const Kernel::Result result = copied.median_of(copied.sustained());
  expect_within(result.microseconds, 508, 0.03);
  EXPECT_GE(result.megahertz, 1960);
}

struct Cold {
  double bytes, warm, clean, rotated, modified;
};

class H200Copy : public testing::TestWithParam<Cold> {
 protected:
  enum class State { warm, clean, modified };
  double copy_time(State state) {
    Kernel copied = copy(GetParam().bytes);
    std::vector<Execution> executions;
    for (int i = 0; i < 51; ++i) {
      if (state != State::warm) copied.machine().fill_cache(state == State::modified);
      const Execution execution = copied.machine().run(copied.work, copied.machine().free_at());
      if (i >= 2) executions.push_back(execution);
    }
    return copied.median_of(executions).microseconds;
  }
  double rotated_time() {
    const double bytes = GetParam().bytes;
    Kernel copied = copy(bytes);
    std::vector<std::vector<Access>> sets = {copied.work.accesses};
    while (static_cast<double>(sets.size()) * 2 * bytes < 320 * kMega) {
      copied.work.accesses.clear();
      copied.operand(bytes);
      copied.operand(bytes, true);
      sets.push_back(copied.work.accesses);
    }
    std::vector<Execution> executions;
    for (std::size_t i = 0; i < 3 * sets.size(); ++i) {
      copied.work.accesses = sets[i % sets.size()];
      const Execution execution = copied.machine().run(copied.work, copied.machine().free_at());
      if (i >= sets.size()) executions.push_back(execution);
    }
    return copied.median_of(executions).microseconds;
  }
};

TEST_P(H200Copy, InEachStateOfTheCache) {
  expect_within(copy_time(State::warm), GetParam().warm, 0.03);
  expect_within(copy_time(State::clean), GetParam().clean, 0.09);
  expect_within(rotated_time(), GetParam().rotated, 0.07);
  expect_within(copy_time(State::modified), GetParam().modified, 0.12);
}

INSTANTIATE_TEST_SUITE_P(Sizes, H200Copy,
                         testing::Values(Cold{kMega / 16, 0.90, 1.38, 1.31, 1.38},
                                         Cold{kMega / 2, 1.02, 1.47, 1.66, 1.73},
                                         Cold{2 * kMega, 1.47, 2.27, 2.50, 2.85},
                                         Cold{8 * kMega, 3.26, 4.93, 5.57, 5.98},
                                         Cold{32 * kMega, 17.15, 15.90, 17.98, 19.20}));

}  // namespace
}  // namespace jitterscope::physics
