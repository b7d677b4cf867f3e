#include "device/cpu/operations/onednn_operation.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"

namespace jitterscope::cpu {
namespace {

class OnednnOperation final : public CpuOperation {
 public:
  OnednnOperation(const Operation& operation, const InputTable& inputs, const dnnl::engine& engine,
                  const OnednnPlan& plan)
      : CpuOperation(operation, inputs, RowsApart::as_asked), stream_(engine), workspace_(plan.workspace()) {
    algorithm_ = plan.primitive.implementation;
    if (std::holds_alternative<Chain>(operation.parameters())) algorithm_ += " with post-ops";
    if (plan.reorders_any()) algorithm_ += " + reorders";
    std::vector<Step> after;
    Step main{plan.primitive.primitive, {}};
    for (std::size_t i = 0; i < plan.operands.size(); ++i) {
      const Primitive::Argument& argument = plan.primitive.arguments[i];
      const dnnl::memory own(plan.operands[i], engine, data(i));
      if (!plan.reorders(i)) {
        main.arguments.emplace(argument.id, own);
        continue;
      }
      const dnnl::memory inner = allocate(argument.desc, engine);
      main.arguments.emplace(argument.id, inner);
      const bool output = i + 1 == plan.operands.size();
      output ? after.push_back(reorder(inner, own)) : steps_.push_back(reorder(own, inner));
    }
    if (plan.primitive.scratchpad.get_size() > 0) {
      main.arguments.emplace(DNNL_ARG_SCRATCHPAD, allocate(plan.primitive.scratchpad, engine));
    }
    steps_.push_back(std::move(main));
    steps_.insert(steps_.end(), after.begin(), after.end());
  }

  std::string provider() const override { return "onednn"; }
  bool runs_reference_loops() const override { return false; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return workspace_; }

  void run(NativeQueue) override {
    for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
  }

  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions = CpuOperation::memory();
    for (const AlignedMemory& inner : inner_) regions.push_back({inner.data(), inner.size()});
    return regions;
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  static Step reorder(const dnnl::memory& from, const dnnl::memory& to) {
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  dnnl::memory allocate(const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    const AlignedMemory& inner = inner_.emplace_back(Bytes(static_cast<std::int64_t>(desc.get_size())));
    return {desc, engine, inner.data()};
  }

  dnnl::stream stream_;
  Bytes workspace_;
  std::string algorithm_;
  std::vector<Step> steps_;
  std::vector<AlignedMemory> inner_;
};

const char* way_out(const Operation& operation) {
  if (std::holds_alternative<Chain>(operation.parameters())) return "leave out fused=1";
  return operation.dtype() == DataType::f32 ? "try dtype=f64, which needs none" : "try dtype=f32";
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_planned(
    const Operation& operation, const InputTable& inputs,
    const std::function<OnednnPlan(const dnnl::engine&)>& make_plan) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  try {
    const OnednnPlan plan = make_plan(engine);
    const Bytes between = bytes_between_rows(operation, inputs.data().rows);
    require_memory(operand_memory(operation) + between + plan.workspace(), operation.text());
    return std::make_unique<OnednnOperation>(operation, inputs, engine, plan);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      throw UsageError(
          fmt::format("oneDNN has no kernel on this cpu for {}: {}", operation.text(), way_out(operation)));
    }
    throw FailedError(fmt::format("oneDNN failed to prepare {}: {}", operation.text(), error.what()));
  }
}

}  // namespace jitterscope::cpu
