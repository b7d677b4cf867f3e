#include "measure/subject.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/sequence.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

// Runs all calls in the network's order, each reading what earlier ones wrote. Shared memory cannot be moved.
class PassWorkload final : public Workload {
 public:
  explicit PassWorkload(PreparedCalls calls) : calls_(std::move(calls)) {}

  void run(NativeQueue queue) override {
    for (const auto& call : calls_) call->run(queue);
  }
  bool waits_for_queue() const override {
    return std::ranges::any_of(calls_, [](const auto& call) { return call->waits_for_queue(); });
  }
  void prepare_recording(NativeQueue queue) override {
    for (const auto& call : calls_) call->prepare_recording(queue);
  }
  bool produce_inputs(NativeQueue queue) override { return calls_.front()->produce_inputs(queue); }
  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions;
    for (const auto& call : calls_) {
      const std::vector<MemoryRegion> own = call->memory();
      regions.insert(regions.end(), own.begin(), own.end());
    }
    return regions;
  }

 private:
  PreparedCalls calls_;
};

std::int64_t count_of(const Model& pass) { return std::ssize(pass.calls); }

Bytes outputs_of(const Operation& operation) {
  Bytes bytes;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) bytes += operand.bytes();
  }
  return bytes;
}

PreparedSubject prepare_pass(Device& device, const Model& pass, InputData data) {
  data.placement.reset();  // memory that calls share is not moved
  PreparedCalls calls;
  for (std::size_t i = 0; i < pass.calls.size(); ++i) {
    try {
      prepare_call(device, pass, i, data, calls);
    } catch (const UsageError& error) {
      throw UsageError(pass.calls[i].name + ": " + error.what());
    }
  }
  PreparedSubject subject;
  subject.provider = "in sequence";
  subject.workload = std::make_unique<PassWorkload>(std::move(calls));
  return subject;
}

}  // namespace

std::string TrialSubject::text() const {
  if (const Operation* one = operation()) return one->text();
  if (callable() != nullptr) return callable()->name;
  const auto& pass = std::get<Model>(what_);
  return pass.name + ", " + counted(count_of(pass), "call") + " in their order";
}

std::int64_t TrialSubject::calls() const {
  const auto* pass = std::get_if<Model>(&what_);
  return pass == nullptr ? 1 : count_of(*pass);
}

Bytes TrialSubject::output_bytes() const {
  if (const Operation* one = operation()) return outputs_of(*one);
  if (callable() != nullptr) return Bytes(0);
  const auto& pass = std::get<Model>(what_);
  return outputs_of(pass.layers[pass.calls.back().layer].operation);
}

PreparedSubject TrialSubject::prepare(Device& device, const InputData& data,
                                      const std::string& engine) const {
  if (callable() != nullptr) return {.workload = std::make_unique<CallableWorkload>(device, *callable())};
  const Operation* one = operation();
  if (one == nullptr) return prepare_pass(device, std::get<Model>(what_), data);
  std::unique_ptr<PreparedOperation> prepared =
      device.prepare(engine.empty() ? *one : with_engine(*one, engine), data);
  PreparedSubject subject{nullptr,
                          prepared->provider(),
                          prepared->algorithm(),
                          prepared->operand_alignment(),
                          prepared->has_row_strides(),
                          prepared->lies_in_pages()};
  subject.workload = std::move(prepared);
  return subject;
}

Subject TrialSubject::described() const {
  if (const Operation* one = operation()) return *one;
  return Callable{text()};
}

}  // namespace jitterscope
