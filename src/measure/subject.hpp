// The subject of a trial: an operation, a network's pass whose calls together are one launch, a rank's part
// of a parallel step, or a program's function.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jitterscope/device.hpp"
#include "measure/callable.hpp"
#include "operation/model.hpp"
#include "operation/parallel_step.hpp"

namespace jitterscope {

struct PreparedSubject {
  std::unique_ptr<Workload> workload;
  std::string provider = {}, algorithm = {};
  std::optional<Bytes> alignment = {};                  ///< PreparedOperation::operand_alignment
  bool has_row_strides = false, lies_in_pages = false;  ///< as in PreparedOperation
};

class TrialSubject {
 public:
  TrialSubject(const Operation& operation) : what_(operation) {}  // NOLINT(google-explicit-constructor)
  /// The order of the calls must be known.
  explicit TrialSubject(Model pass) : what_(std::move(pass)) {}
  explicit TrialSubject(ParallelStep step) : what_(std::move(step)) {}
  explicit TrialSubject(CallableWork callable) : what_(std::move(callable)) {}

  /// For a function: where its work goes (CallableWork::place).
  void set_place(WorkPlace place) { std::get<CallableWork>(what_).place = place; }

  /// Returns the same with its collectives among so many ranks.
  TrialSubject among(std::int64_t ranks) const;
  /// Returns the subject as a result names it.
  Subject described() const;
  /// Returns an operation's text, a network's name with its number of calls, a step's or a function's name.
  std::string text() const;
  /// Null if it is something else.
  const Operation* operation() const { return std::get_if<Operation>(&what_); }
  const CallableWork* callable() const { return std::get_if<CallableWork>(&what_); }
  const ParallelStep* step() const { return std::get_if<ParallelStep>(&what_); }
  /// True if it needs the other ranks.
  bool has_collective() const;
  /// Returns the approximate number of kernels in one launch: the calls of a network or a step.
  std::int64_t calls() const;
  /// Returns the size of a launch's final outputs; 0 if unknown.
  Bytes output_bytes() const;
  /// Prepares the subject; a non-empty `engine` replaces an operation's own. Throws as Device::prepare does,
  /// also if a single call of a pass cannot be prepared.
  PreparedSubject prepare(Device& device, const InputData& data, const std::string& engine) const;

 private:
  std::variant<Operation, Model, ParallelStep, CallableWork> what_;
};

}  // namespace jitterscope
