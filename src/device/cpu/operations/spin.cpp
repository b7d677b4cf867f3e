#include <fmt/format.h>

#include <chrono>

#include "device/cpu/known_cycles.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

void spend_time(std::int64_t nanoseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

class SpinOperation final : public CpuOperation {
 public:
  SpinOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), spin_(std::get<Spin>(operation.parameters())) {}

  std::string algorithm() const override {
    return spin_.unit == Spin::Unit::cycles ? "chain of dependent adds" : "steady clock";
  }
  void run(NativeQueue) override {
    spin_.unit == Spin::Unit::cycles ? spend_cycles(spin_.amount) : spend_time(spin_.amount);
  }

 private:
  Spin spin_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_spin(const Operation& operation, const InputTable& inputs) {
  const std::int64_t blocks = std::get<Spin>(operation.parameters()).blocks;
  if (blocks != 1) {
    throw UsageError(fmt::format("the cpu spins on one core, not on {} blocks: try blocks=1", blocks));
  }
  return std::make_unique<SpinOperation>(operation, inputs);
}

}  // namespace jitterscope::cpu
