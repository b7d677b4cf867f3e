// An operation on a virtual GPU: buffers that the cache knows, a kernel's work, and operands by value on
// demand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/virtual/operand_values.hpp"
#include "device/virtual/timeline.hpp"

namespace jitterscope::virtual_gpu {

class VirtualOperation final : public PreparedOperation {
 public:
  /// Throws UsageError where the GPU lacks the data type or the memory.
  VirtualOperation(Timeline& timeline, const Operation& operation, const InputData& data);
  ~VirtualOperation() override;
  VirtualOperation(const VirtualOperation&) = delete;
  VirtualOperation& operator=(const VirtualOperation&) = delete;

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "virtual"; }
  std::string algorithm() const override {
    return std::holds_alternative<Chain>(operation_.parameters()) ? "fused" : algorithm_;
  }
  bool runs_reference_loops() const override { return true; }
  void run(NativeQueue queue) override;
  /// For a launch that a queue gets in another way: as run() but for the queue.
  std::shared_ptr<Kernel> begin_launch();
  bool waits_for_queue() const override { return waits_; }
  bool lies_in_pages() const override { return !operands_.empty(); }
  bool produce_inputs(NativeQueue queue) override;
  bool place_anew() override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 private:
  std::vector<double> values_of_input(std::size_t index, Elements elements);
  std::vector<double> values_of_output(std::size_t output, Elements elements);
  /// The buffer that an operand shares.
  std::optional<physics::Buffer> shared_buffer(std::size_t index, const InputData& data) const;

  Timeline& timeline_;
  Operation operation_;
  InputData data_;
  std::string algorithm_;  ///< of a kernel of the user's: how far it was looked at
  std::vector<Operand> operands_;
  std::vector<physics::Buffer> buffers_;
  std::vector<bool> owns_;  ///< of each buffer
  std::shared_ptr<Kernel> kernel_;
  bool waits_ = false;  ///< each launch, until it is done
  /// Outputs that a later step has read whole, where computing them takes long; until it is launched again.
  std::map<std::size_t, std::vector<double>> whole_;
};

}  // namespace jitterscope::virtual_gpu
