// Operations on a virtual GPU and their values: inputs from a seed, outputs from the float64 reference,
// rounded to the type.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/virtual/timeline.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::virtual_gpu {

double rounded_to(DataType dtype, double value);

/// Values of operand `index`: the same for the same kind and seed. Indices are random for any kind.
std::vector<double> input_values(const Operand& operand, std::size_t index, const InputData& data);

/// If computing all elements takes long, a check looks at some only (Reference::for_each_sampled): with
/// looked_at the others are zero.
enum class Elements { looked_at, all };

/// Computes an output, counted from 0.
std::vector<double> output_values(const Operation& operation, std::size_t output,
                                  std::vector<std::vector<double>> inputs, Elements elements);

// An operation on a virtual GPU: buffers that the cache knows, a kernel's work, and operand values on demand.

class VirtualOperation final : public PreparedOperation {
 public:
  /// Throws UsageError if the GPU lacks the data type or the memory.
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
  /// The part of run() before the queue, for a launch that reaches the queue otherwise.
  std::shared_ptr<Kernel> begin_launch();
  bool waits_for_queue() const override { return waits_; }
  bool lies_in_pages() const override { return !operands_.empty(); }
  bool produce_inputs(NativeQueue queue) override;
  bool place_anew() override;
  std::optional<RankData> rank_data() const override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 private:
  std::vector<double> values_of_collective(const Collective& collective, std::size_t index);
  std::vector<double> values_of_input(std::size_t index, Elements elements);
  std::vector<double> values_of_output(std::size_t output, Elements elements);
  std::optional<physics::Buffer> shared_buffer(std::size_t index, const InputData& data) const;

  Timeline& timeline_;
  Operation operation_;
  InputData data_;
  std::string algorithm_;  ///< how far a user's kernel was checked
  std::vector<Operand> operands_;
  std::vector<physics::Buffer> buffers_;
  std::vector<bool> owns_;  ///< for each buffer
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<const CollectiveWork> collective_;  ///< null: it is no collective
  bool waits_ = false;                                ///< the host waits for each launch
  /// Outputs that a later step read whole, if computing them takes long; kept until the next launch.
  std::map<std::size_t, std::vector<double>> whole_;
};

}  // namespace jitterscope::virtual_gpu
