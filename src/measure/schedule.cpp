#include "measure/schedule.hpp"

#include <algorithm>
#include <string>

#include "jitterscope/error.hpp"

namespace jitterscope {

bool Schedule::run_block(std::vector<BlockVisitor*>& visitors) {
  if (decisions_.ends_early(options_)) return false;
  std::erase_if(visitors, [](BlockVisitor* visitor) { return !visitor->needs_more(); });
  if (visitors.empty()) return false;
  shuffle(visitors, random_);
  std::ranges::stable_sort(visitors, {}, [](const BlockVisitor* visitor) { return visitor->visits(); });
  const Nanoseconds idle = draw_idle(options_, random_);
  const Nanoseconds shared = sharing_ == IdleSharing::by_time ? mean_idle(options_) : Nanoseconds(0);
  const Nanoseconds rested = device_.host_time() + idle;
  Visit visit{++block_, idle};
  for (BlockVisitor* visitor : visitors) {
    if (!visit.rests) visit.busy = device_.host_time() - rested;
    // An interruption cuts the idle short, so the visitors that share it would have none.
    if (!visit.rests && (!decisions_.shares_idle(visit.busy, shared) || decisions_.ends_early(options_)))
      break;
    visitor->visit(visit);
    visit.rests = false;
  }
  return true;
}

namespace {

void require(bool condition, const char* rule) {
  if (!condition) throw UsageError(std::string("MeasureOptions: ") + rule);
}

}  // namespace

void check_options(const MeasureOptions& options) {
  require(!options.caches.empty(), "caches is empty: name at least one cache state");
  require(!options.loads.empty(), "loads is empty: name burst, sustained or both");
  require(options.precision > 0.0 && options.precision < 1.0, "precision is a share above 0 and below 1");
  require(!options.reference_clock || *options.reference_clock > Hertz(0), "reference_clock is above 0");
  require(options.minimum_rounds >= 1, "minimum_rounds is at least 1");
  require(options.time_limit > Nanoseconds(0) && options.sustained_time_limit > Nanoseconds(0),
          "time limits are above 0");
  require(options.shortest_idle >= Nanoseconds(0) && options.shortest_idle <= options.longest_idle,
          "shortest_idle is at least 0 and at most longest_idle");
  constexpr std::int64_t kMostConditioning = 1'000'000;
  require(options.conditioning_launches >= 0 && options.conditioning_launches <= kMostConditioning,
          "conditioning_launches is 0 to 1000000");
  static_assert(kMostIterations == 1'000'000);
  const auto can_loop = [](std::int64_t count) { return count >= 1 && count <= kMostIterations; };
  require(std::ranges::all_of(options.iterations, can_loop), "iterations are 1 to 1000000 each");
  require(
      !options.launches_per_round || (*options.launches_per_round >= 1 && *options.launches_per_round <= 200),
      "launches_per_round is 1 to 200, so that a round fits a GPU's queue");
  const bool recorded = options.queue == QueueMode::graph || options.instrument == Instrument::graph;
  require(!options.fresh_data || !recorded,
          "fresh_data cannot be recorded, since a recording launches on the same operands each time: choose "
          "another queue and instrument than graph");
}

}  // namespace jitterscope
