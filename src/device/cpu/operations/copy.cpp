#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

constexpr std::int64_t kPart = 1 << 20;  // bytes; a copy of one part uses one thread

class CopyOperation final : public CpuOperation {
 public:
  CopyOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), bytes_(std::get<Copy>(operation.parameters()).bytes) {}

  std::string algorithm() const override { return "memcpy"; }

  // One core cannot fill the memory's bandwidth, so all of them copy a part each.
  void run(NativeQueue) override {
    const auto* source = data<const std::byte>(0);
    auto* destination = data<std::byte>(1);
#pragma omp parallel for schedule(static) if (bytes_ > kPart)
    for (std::int64_t first = 0; first < bytes_; first += kPart) {
      std::memcpy(destination + first, source + first,
                  static_cast<std::size_t>(std::min(kPart, bytes_ - first)));
    }
  }

 private:
  std::int64_t bytes_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_copy(const Operation& operation, const InputTable& inputs) {
  const Copy& copy = std::get<Copy>(operation.parameters());
  if (copy.kind != CopyKind::d2d) {
    throw UsageError(fmt::format(
        "the cpu has no device memory to copy {}: try kind=d2d, a copy within memory", to_string(copy.kind)));
  }
  return std::make_unique<CopyOperation>(operation, inputs);
}

}  // namespace jitterscope::cpu
