// What a trial times: an operation, a network's pass whose calls together are one launch, or a function of a
// program.
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

namespace jitterscope {

struct PreparedSubject {
  std::unique_ptr<Workload> workload;
  std::string provider = {}, algorithm = {};
  std::optional<Bytes> alignment = {};                  ///< PreparedOperation::operand_alignment
  bool has_row_strides = false, lies_in_pages = false;  ///< as PreparedOperation says
};

class TrialSubject {
 public:
  TrialSubject(const Operation& operation) : what_(operation) {}  // NOLINT(google-explicit-constructor)
  /// The order of its calls is known.
  explicit TrialSubject(Model pass) : what_(std::move(pass)) {}
  explicit TrialSubject(CallableWork callable) : what_(std::move(callable)) {}

  /// Of a function: where its work goes, as CallableWork says.
  void set_place(WorkPlace place) { std::get<CallableWork>(what_).place = place; }

  /// As a result names it.
  Subject described() const;
  /// An operation's text, a network's name and how many calls there are, or a function's name.
  std::string text() const;
  /// Null for what is none.
  const Operation* operation() const { return std::get_if<Operation>(&what_); }
  const CallableWork* callable() const { return std::get_if<CallableWork>(&what_); }
  /// Kernels and more that one launch is, roughly: calls of the network.
  std::int64_t calls() const;
  /// Of what a launch writes at its end; none where that is not known.
  Bytes output_bytes() const;
  /// The engine replaces an operation's own, unless it is empty. Throws as Device::prepare does: a pass is
  /// whole, or not explained.
  PreparedSubject prepare(Device& device, const InputData& data, const std::string& engine) const;

 private:
  std::variant<Operation, Model, CallableWork> what_;
};

}  // namespace jitterscope
