// Attention by cuDNN. Whether PyTorch runs this kernel, its flash attention or another depends on its version
// and settings: provider torch runs what it chooses.
#include <fmt/format.h>

#include <optional>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/attention_plan.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/operations/plan_execution.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const Attention& attention_of(const Operation& operation) {
  return std::get<Attention>(operation.parameters());
}

/// Where a tensor of the graph is, by its id.
using Addresses = std::vector<std::pair<std::int64_t, void*>>;

/// One pass on memory of its own.
class AttentionPass {
 public:
  AttentionPass(const Context& context, const Operation& operation, Pass pass)
      : handle_(cudnn_handle()),
        plan_(attention_plan(handle_, operation, pass)),
        workspace_(context, plan_.workspace) {}

  void bind(const Addresses& addresses) {
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    for (const auto& [id, pointer] : addresses) {
      ids.push_back(id);
      pointers.push_back(pointer);
    }
    for (const auto& [id, value] : plan_.graph.numbers()) {
      ids.push_back(id);
      pointers.push_back(const_cast<float*>(&value));  // NOLINT: cuDNN reads it, and takes void*
    }
    variants_ = variant_pack(ids, pointers, workspace_.pointer());
  }

  void run(CUstream stream) {
    check_cudnn(cudnn().cudnnSetStream(handle_, stream), "cudnnSetStream");
    check_cudnn(cudnn().cudnnBackendExecute(handle_, plan_.plan.get(), variants_.get()), plan_.tag);
  }
  const std::string& tag() const { return plan_.tag; }
  Bytes workspace() const { return workspace_.size(); }

 private:
  cudnnHandle_t handle_;
  const AttentionPlan& plan_;
  CudnnDescriptor variants_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  Workspace workspace_;
};

class CudnnAttention : public CudaOperation {
 public:
  CudnnAttention(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data),
        attention_(attention_of(operation())),
        pass_(shared, operation(), attention_.pass) {
    if (attention_.pass == Pass::backward) {
      fill_forward_results();
      allocate_sums();
    }
    pass_.bind(addresses());
    pass_.run(context().stream());  // cuDNN compiles and loads its kernels at the first launch
    poison_outputs();
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override { return pass_.tag(); }
  Bytes workspace() const override { return pass_.workspace() + query_sum_.size() + row_sum_.size(); }
  void run(NativeQueue queue) override { pass_.run(static_cast<CUstream>(queue)); }

 private:
  Addresses addresses() const {
    Addresses addresses;
    const std::vector<std::int64_t> ids = attention_operand_ids(attention_.pass);
    for (std::size_t i = 0; i < ids.size(); ++i) addresses.emplace_back(ids[i], operand_pointer(i));
    if (attention_.pass == Pass::backward) {
      addresses.emplace_back(kQueryGradientSum, query_sum_.pointer());
      addresses.emplace_back(kRowSum, row_sum_.pointer());
    }
    return addresses;
  }

  // y and logsumexp as a forward pass gives them: shares that add up to one keep every value in f16's range.
  void fill_forward_results() {
    AttentionPass forward(context(), operation(), Pass::forward);
    forward.bind({{kQueries, operand_pointer(1)},
                  {kKeys, operand_pointer(2)},
                  {kValues, operand_pointer(3)},
                  {kOutput, operand_pointer(4)},
                  {kLogSumExp, operand_pointer(5)}});
    forward.run(context().stream());
    check(driver().cuCtxSynchronize(), "the forward pass before " + operation().text());
  }

  // From 9.6 on cuDNN clears the sum of dq itself; before, whoever calls must, by a launch more each time.
  void allocate_sums() {
    if (cudnn().cudnnGetVersion() < 90600) {
      throw UsageError("attention: pass=backward needs cuDNN 9.6 or newer; install it, or time pass=forward");
    }
    const std::int64_t rows = attention_.batch * attention_.heads * attention_.queries;
    query_sum_ = DeviceMemory(Bytes(rows * attention_.dim * 4));
    row_sum_ = DeviceMemory(Bytes(rows * 4));
  }

  Attention attention_;
  AttentionPass pass_;
  DeviceMemory query_sum_, row_sum_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_attention(const Context& context, const Operation& operation,
                                                     const InputData& data) {
  const DataType dtype = attention_of(operation).dtype;
  if (dtype != DataType::f16 && dtype != DataType::bf16) {
    throw UsageError(fmt::format("attention: cuDNN has it in f16 and bf16, not in {}", to_string(dtype)));
  }
  cudnn();  // before the operands are allocated: a missing library is the clearer reason
  return std::make_unique<CudnnAttention>(context, operation, data);
}

}  // namespace jitterscope::cuda
