// A chain on any device: its steps, prepared one by one, or its lanes where each of them is fused; run one
// after the other. Its operands stay in one place: mapping some dozens of them anew would take longer than a
// round.
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
  /// Each step's seed is its own, but for that of a conversion, so that no two lanes hold the same. Of a
  /// fused chain `prepare` gets the lanes, each as a fused chain of one lane.
  PreparedChain(const Operation& operation, const InputData& data, const PrepareStep& prepare);
  ~PreparedChain() override;
  PreparedChain(const PreparedChain&) = delete;
  PreparedChain& operator=(const PreparedChain&) = delete;

  const Operation& operation() const override { return operation_; }
  /// Of each kind of step once.
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
  /// Of a chain that is not fused.
  PreparedOperation& step(std::size_t lane, std::size_t number) const {
    return *steps_[lane * chain().steps.size() + number];
  }

 private:
  void prepare_steps(const InputData& data, const PrepareStep& prepare);
  void prepare_lanes(const Operation& lane, const InputData& data, const PrepareStep& prepare);

  Operation operation_;
  std::vector<ChainOperand> operands_;
  std::vector<ChainOperand> lane_operands_;                ///< of one lane of a fused chain
  std::vector<std::unique_ptr<PreparedOperation>> steps_;  ///< lane by lane; a fused lane is one
};

// What several operations are as one launch, and which of them there is no way to fuse: the same for who
// refuses early and for who prepares.

/// relu, relu6, sigmoid, tanh, silu and gelu: a function of one number.
bool is_activation(const Operation&);
/// An activation, add, mul or bias_add: each element of the result needs the same element of the operands, or
/// its channel's.
bool is_pointwise(const Operation&);
/// Whether the bias has a number for each channel of what the convolution, pooling, product (each column) or
/// addition writes, or reads where it is itself a bias_add.
bool adds_to_channels_of(const BiasAdd& bias, const Operation& writer);

/// How a GPU runs a fused chain.
enum class GpuFusion {
  generated_kernel,   ///< pointwise steps, and pooling as the first or the last
  product_epilogue,   ///< a product, then a bias, then relu or gelu
  convolution_graph,  ///< a convolution, then pointwise steps
};
/// Of a chain that can be fused there.
GpuFusion gpu_fusion_of(const Chain&);

/// Empty where the chain can be fused; else a clause that says what cannot: "step 2 (softmax:…) is …". What a
/// library has no kernel for on the device at hand shows when the chain is prepared.
std::string reason_not_fusible_on_gpu(const Chain&);
/// By oneDNN: one primitive with post-ops.
std::string reason_not_fusible_on_cpu(const Chain&);

}  // namespace jitterscope
