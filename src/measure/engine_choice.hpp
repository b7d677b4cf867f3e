// Choosing an engine by timing, as PyTorch with torch.backends.cudnn.benchmark on does it and as it should be
// done.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/session.hpp"

namespace jitterscope {

/// PyTorch's choice imitated (cudnn_frontend_find_plan.h, Conv_v8.cpp): of the first 10 plans that run, in
/// the order of heuristics and fallback, each runs once to warm up and once between two events; the fastest
/// is taken, the first of equals. No clock control, no repetition: the choice may differ from time to time.
class AutotuneImitation {
 public:
  /// Prepares the candidates. Throws UsageError where the device has no engines to choose from.
  AutotuneImitation(Session& session, const Operation& operation, const InputData& data);
  ~AutotuneImitation();

  /// One choice: the index into candidates(). The device rests first, as it does while PyTorch builds plans.
  std::size_t choose(Nanoseconds idle);
  const std::vector<std::string>& candidates() const { return tags_; }

 private:
  Session& session_;
  std::vector<std::string> tags_;
  std::vector<std::unique_ptr<PreparedOperation>> prepared_;
};

/// An operation with engine=autotune or engine=best names the one that is chosen, by one imitation or by
/// fastest_engine(), warm; others stay as they are. Another time another one may be chosen.
Operation resolve_engine(Session& session, const Operation& operation, const MeasureOptions& options);

/// The operation with the engine that ran, where it asked for a choice; others stay as they are.
Operation as_measured(const Operation& operation, const Result& result);

}  // namespace jitterscope
