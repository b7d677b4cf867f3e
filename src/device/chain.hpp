// A chain on any device: its steps, or its lanes if it is fused, are prepared one by one and run one after
// the other. The operands keep their memory: mapping some dozens of them anew would take longer than a round.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "operation/chain.hpp"

namespace jitterscope {

class PreparedChain : public PreparedOperation {
 public:
  using PrepareStep = std::function<std::unique_ptr<PreparedOperation>(
      const Operation& step, const InputData&, std::size_t lane, std::size_t number)>;
  /// Each step gets a seed of its own, so that no two lanes hold the same; a conversion has the next step's.
  /// For a fused chain `prepare` gets each lane, as a fused chain of one lane.
  PreparedChain(const Operation& operation, const InputData& data, const PrepareStep& prepare);
  ~PreparedChain() override;
  PreparedChain(const PreparedChain&) = delete;
  PreparedChain& operator=(const PreparedChain&) = delete;

  const Operation& operation() const override { return operation_; }
  /// The steps' providers, each named once.
  std::string provider() const override;
  std::string algorithm() const override;
  Bytes workspace() const override;
  bool is_stand_in() const override;
  bool runs_reference_loops() const override;
  void check_launches() override;
  void run(NativeQueue queue) override;
  bool waits_for_queue() const override;
  bool produce_inputs(NativeQueue queue) override;
  std::vector<MemoryRegion> memory() const override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 protected:
  const Chain& chain() const { return std::get<Chain>(operation_.parameters()); }
  /// The chain must not be fused.
  PreparedOperation& step(std::size_t lane, std::size_t number) const {
    return *steps_[lane * chain().steps.size() + number];
  }

 private:
  void prepare_steps(const InputData& data, const PrepareStep& prepare);
  void prepare_lanes(const Operation& lane, const InputData& data, const PrepareStep& prepare);

  Operation operation_;
  std::vector<ChainOperand> operands_;
  std::vector<ChainOperand> lane_operands_;                ///< one lane's, if the chain is fused
  std::vector<std::unique_ptr<PreparedOperation>> steps_;  ///< lane by lane; a fused lane is one entry
};

// Which operations can be fused into one launch: the same rules for early checks and for preparing.

/// True for relu, relu6, sigmoid, tanh, silu and gelu: functions of one number.
bool is_activation(const Operation&);
/// True for an activation, add, mul or bias_add: an element of the result needs only the same element of the
/// operands, or its channel's bias.
bool is_pointwise(const Operation&);
/// True if the bias has one number for each channel of the writer's output: that of a convolution, a pooling,
/// a product (each column) or a bias_add.
bool adds_to_channels_of(const BiasAdd& bias, const Operation& writer);

/// How a GPU runs a fused chain.
enum class GpuFusion {
  generated_kernel,   ///< pointwise steps, and pooling as the first or the last
  product_epilogue,   ///< a product, then a bias, then relu or gelu
  convolution_graph,  ///< a convolution, then pointwise steps
};
/// Returns how a GPU would fuse the chain, by its first step.
GpuFusion gpu_fusion_of(const Chain&);

/// Empty if a GPU can fuse the chain; else a clause that says why not: "step 2 (softmax:…) is …". Only
/// preparing shows if a library has no kernel for the device at hand.
std::string reason_not_fusible_on_gpu(const Chain&);
/// The same for oneDNN: one primitive with post-ops.
std::string reason_not_fusible_on_cpu(const Chain&);

}  // namespace jitterscope
