#include "measure/measure_operation.hpp"

#include <algorithm>
#include <deque>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "device/cpu/reference.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/launch_details.hpp"
#include "measure/schedule.hpp"
#include "measure/verify.hpp"
#include "operation/operation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

struct PreparedWork {
  const Operation* operation;
  std::vector<IterationRun> iterations;
  Nanoseconds prepare_time;
  RotatingWorkload workload;
};

PreparedWork prepare(Session& session, const Operation& operation, const MeasureOptions& options) {
  check_options(options);
  Device& device = session.device();
  const Operation resolved = resolve_engine(session, operation, options);
  // First of all, so that the first loop's first launch is the process's first of this operation.
  std::vector<IterationRun> iterations = run_iterations(session, resolved, options);
  const Nanoseconds start = device.host_time();
  RotatingWorkload workload = prepare_sets(device, resolved, options, kAnyNumberOfLaunches);
  return {&operation, std::move(iterations), device.host_time() - start, std::move(workload)};
}

// Of works that differ in their type alone, the inputs of the finest are those that all stand for.
PreparedOperation& finest_of(PreparedWork& work, std::span<PreparedWork> compared) {
  PreparedOperation* finest = &work.workload.first();
  for (PreparedWork& other : compared) {
    PreparedOperation& candidate = other.workload.first();
    if (!is_same_work(work.workload.first().operation(), candidate.operation())) continue;
    if (verification_tolerance(candidate.operation().dtype()) <
        verification_tolerance(finest->operation().dtype())) {
      finest = &candidate;
    }
  }
  return *finest;
}

// `compared` are the works of its group.
std::optional<Verification> verification_of(Session& session, PreparedWork& work,
                                            std::span<PreparedWork> compared, const MeasureOptions& options) {
  const Operation& operation = *work.operation;
  if (const auto* kernel = std::get_if<CudaKernel>(&operation.parameters())) {
    const InputData data{.kind = options.data, .seed = options.seed};
    return kernel->reference.empty()
               ? verify_by_first(session.device(), session.queue(), operation, *compared.front().operation,
                                 data)
               : verify_by_reference(session.device(), session.queue(), operation, data);
  }
  if (std::holds_alternative<Chain>(operation.parameters()) && !has_reference(operation)) return std::nullopt;
  return verify(session.queue(), work.workload.first(), finest_of(work, compared));
}

// What is to be said beside the times, and what can only be asked after them. Returns why it could not be
// verified: operands, and what they should be, are numbers of 8 bytes on the host.
std::string complete(Session& session, PreparedWork& work, std::span<PreparedWork> compared,
                     const MeasureOptions& options, bool with_verification, Result& result) {
  PreparedOperation& prepared = work.workload.first();
  result.subject = *work.operation;
  result.iterations = std::move(work.iterations);
  result.prepare_time = work.prepare_time;
  result.provider = prepared.provider();
  result.algorithm = prepared.algorithm();
  result.stand_in = prepared.is_stand_in();
  result.workspace = prepared.workspace();
  result.held_memory = prepared.held_memory();
  result.flops = work.operation->flops();
  result.bytes = work.operation->bytes();
  // After the times: no operand is read back before the first call.
  add_launch_details(session, work.workload, options, result);
  prepared.check_launches();
  if (!with_verification || work.operation->operands().empty()) return {};
  try {
    result.verification = verification_of(session, work, compared, options);
    return {};
  } catch (const std::bad_alloc&) {
    return "the host has too little memory for its operands and what they should be; take a smaller one";
  }
}

}  // namespace

Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification) {
  PreparedWork work = prepare(session, operation, options);
  Result result = session.measure(work.workload, operation.text(), options);
  if (const std::string problem = complete(session, work, {&work, 1}, options, with_verification, result);
      !problem.empty()) {
    throw FailedError(operation.text() + " is not verified: " + problem);
  }
  return result;
}

std::size_t measured_at_once(const MeasureOptions& options) {
  // ResNet-50's 117 operations idle for 68 of 106 s one by one, and for 40 s in threes (H200).
  // Sustained loads have no idle, and a loop's first launch is to be the process's first.
  const bool shares = options.loads == std::vector{Load::burst} && options.iterations.empty();
  return shares ? 3 : 1;
}

namespace {

template <class Step>
bool succeeds(const Step& step, Outcome& outcome) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    outcome = {Result(), error};
    return false;
  }
}

struct GroupInWork {
  std::size_t first_outcome = 0;          // of the group's trials, which follow each other
  std::vector<std::size_t> members = {};  // trials of the group that are prepared
  std::vector<PreparedWork> works = {};   // theirs
};

// False where another group's operands may be what is in the way.
bool prepare_group(Session& session, const std::vector<Trial>& trials, bool others_are_there,
                   GroupInWork& group, std::vector<Outcome>& outcomes) {
  group.works.reserve(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto prepare_trial = [&] {
      group.works.push_back(prepare(session, trials[i].operation, trials[i].options));
    };
    if (succeeds(prepare_trial, outcomes[group.first_outcome + i])) {
      group.members.push_back(i);
    } else if (others_are_there) {
      return false;
    }
  }
  return true;
}

std::vector<TrialGroup> timed_groups(const std::vector<std::vector<Trial>>& asked,
                                     std::vector<std::pair<std::size_t, GroupInWork>>& prepared) {
  std::vector<TrialGroup> groups;
  for (auto& [number, group] : prepared) {
    groups.emplace_back();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const Trial& trial = asked[number][group.members[i]];
      groups.back().push_back({group.works[i].workload, trial.operation.text(), trial.options});
    }
  }
  return groups;
}

// Returns the groups that are to be measured alone: what does not fit beside the others, and all of them
// where one fails while it is measured, as nobody knows which.
std::vector<std::size_t> measure_at_once(Session& session, const std::vector<std::vector<Trial>>& groups,
                                         const std::vector<std::size_t>& chosen,
                                         const std::vector<std::size_t>& first_outcomes,
                                         bool with_verification, std::vector<Outcome>& outcomes) {
  std::vector<std::size_t> alone;
  std::vector<std::pair<std::size_t, GroupInWork>> prepared;
  for (const std::size_t number : chosen) {
    if (is_interrupted(groups[number].front().options)) break;
    GroupInWork group{first_outcomes[number]};
    if (!prepare_group(session, groups[number], !prepared.empty(), group, outcomes)) {
      alone.push_back(number);
    } else if (!group.members.empty()) {
      prepared.emplace_back(number, std::move(group));
    }
  }
  if (prepared.empty()) return alone;
  std::vector<Result> results;
  Outcome together;
  if (!succeeds([&] { results = session.measure(timed_groups(groups, prepared)); }, together)) {
    if (prepared.size() > 1) {
      for (const auto& [number, group] : prepared) alone.push_back(number);
    } else {
      const GroupInWork& group = prepared.front().second;
      for (const std::size_t member : group.members) outcomes[group.first_outcome + member] = together;
    }
    return alone;
  }
  std::size_t next = 0;
  for (auto& entry : prepared) {
    GroupInWork& group = entry.second;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      Outcome& outcome = outcomes[group.first_outcome + group.members[i]];
      outcome.result = std::move(results[next++]);
      const MeasureOptions& options = groups[entry.first][group.members[i]].options;
      const auto say_the_rest = [&] {
        outcome.not_verified =
            complete(session, group.works[i], group.works, options, with_verification, outcome.result);
      };
      succeeds(say_the_rest, outcome);
    }
  }
  return alone;
}

}  // namespace

std::vector<Outcome> measure_trials(Session& session, const std::vector<std::vector<Trial>>& groups,
                                    bool with_verification) {
  std::vector<std::size_t> all, first_outcomes;
  std::size_t trials = 0;
  for (const std::vector<Trial>& group : groups) {
    all.push_back(all.size());
    first_outcomes.push_back(trials);
    trials += group.size();
  }
  std::vector<Outcome> outcomes(trials);
  for (const std::size_t number :
       measure_at_once(session, groups, all, first_outcomes, with_verification, outcomes)) {
    for (std::size_t i = 0; i < groups[number].size(); ++i) outcomes[first_outcomes[number] + i] = {};
    if (is_interrupted(groups[number].front().options)) break;
    measure_at_once(session, groups, {number}, first_outcomes, with_verification, outcomes);
  }
  return outcomes;
}

void measure_in_turn(Session& session, const std::vector<std::vector<Trial>>& groups, bool with_verification,
                     const std::function<bool(std::size_t group)>& begin,
                     const std::function<void(std::size_t first_group, std::vector<Outcome>)>& done) {
  if (groups.empty()) return;
  const std::size_t at_once = measured_at_once(groups.front().front().options);
  for (std::size_t i = 0; i < groups.size() && begin(i); i += at_once) {
    const auto first = groups.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(at_once, groups.size() - i));
    done(i, measure_trials(session, {first, first + count}, with_verification));
  }
}

std::vector<std::vector<Trial>> trials_of(const std::vector<Operation>& operations,
                                          const MeasureOptions& options) {
  std::vector<std::vector<Trial>> groups;
  for (const Operation& operation : operations) groups.push_back({{operation, options}});
  return groups;
}

namespace {

// A set is a prepared operation of its own: so many take seconds where no plan has to be built.
constexpr std::int64_t kMostSets = 4096;
// The rest is for workspaces, and for others.
constexpr double kShareOfMemory = 0.75;

UsageError refused(const Operation& operation, const std::string& reason) {
  return UsageError(fmt::format("fresh data for {}: {}", operation.text(), reason));
}

// By the seed where they are drawn anew later on; none where the driver chooses.
std::optional<std::uint64_t> placement_of(const MeasureOptions& options) {
  if (!options.placement) return options.seed;
  return *options.placement > 0 ? std::optional(static_cast<std::uint64_t>(*options.placement))
                                : std::nullopt;
}

}  // namespace

std::size_t sets_for_fresh_data(const DeviceDescription& device, const Operation& operation) {
  constexpr std::int64_t kCaches = 3;
  const Bytes cache = device.last_level_cache, moved = operation.bytes();
  if (cache.value() <= 0 || moved.value() <= 0) {
    throw refused(
        operation,
        "the device does not say how large its last-level cache is, or the operation moves no data; "
        "leave --fresh-data out, or measure with --cache cold");
  }
  const std::int64_t between = (kCaches * cache.value() + moved.value() - 1) / moved.value();
  const std::int64_t sets = between + 1;
  if (sets > kMostSets) {
    throw refused(operation,
                  fmt::format("{} sets of {} would be needed to outgrow the cache of {} {} times, and {} are "
                              "made at most; take a larger operation, or measure with --cache cold",
                              sets, bytes_text(moved), bytes_text(cache), kCaches, kMostSets));
  }
  const double needed = static_cast<double>(operand_memory(operation).value()) * static_cast<double>(sets);
  if (needed > kShareOfMemory * static_cast<double>(device.memory_free.value())) {
    throw refused(
        operation,
        fmt::format("its {} sets of operands need {}, and {} of memory are free, of which a quarter is left "
                    "to others; take a smaller operation, or measure with --cache cold",
                    sets, bytes_text(Bytes(static_cast<std::int64_t>(needed))),
                    bytes_text(device.memory_free)));
  }
  return static_cast<std::size_t>(sets);
}

RotatingWorkload prepare_sets(Device& device, const Operation& operation, const MeasureOptions& options,
                              std::size_t launches) {
  const std::size_t wanted = options.fresh_data ? sets_for_fresh_data(device.describe(), operation) : 1;
  const std::size_t sets = std::clamp<std::size_t>(launches, 1, wanted);
  std::vector<std::unique_ptr<PreparedOperation>> prepared;
  for (std::size_t i = 0; i < sets; ++i) {
    InputData data{.kind = options.data, .seed = options.seed + i};
    // Another set for each launch is another place for each launch.
    if (!options.fresh_data) data.placement = placement_of(options);
    prepared.push_back(device.prepare(operation, data));
  }
  return RotatingWorkload(std::move(prepared));
}

namespace {

// The clock is read behind the launches 1, 2, 4, 8…: most happens early.
bool reads_clock(std::int64_t launch) { return (launch & (launch - 1)) == 0; }

class IterationLoop {
 public:
  IterationLoop(Session& session, Workload& workload, std::int64_t count,
                const std::function<bool()>& interrupted)
      : device_(session.device()),
        queue_(session.queue()),
        workload_(workload),
        wanted_(count),
        interrupted_(interrupted),
        constant_(session.calibration().events.value) {}

  IterationRun run() {
    const SensorReading before = device_.read_sensors();
    const Nanoseconds start = device_.host_time();
    stamp_clock();
    while (run_.count < wanted_ && !(run_.count > 0 && interrupted_ && interrupted_())) {
      launch();
      if (reads_clock(run_.count)) stamp_clock();
      if (pending_.size() == kMostPending) read_times(kMostPending / 2);
    }
    if (stamps_.back().launch != run_.count) stamp_clock();
    queue_.wait();
    run_.host_time = (device_.host_time() - start) / static_cast<double>(run_.count);
    read_times(pending_.size());
    read_clocks();
    note_throttling(before, device_.read_sensors());
    summarise_times();
    return run_;
  }

 private:
  struct Pair {
    Mark start, end;
  };
  struct Stamp {
    std::int64_t launch = 0;  // behind so many
    ClockStamp stamp;
  };
  // Marks live in a ring. Before it is full, its older half is read, while the queue works at the newer one:
  // no program waits in its loop, and a queue that ran dry would show the host's time in place of the
  // device's.
  static constexpr std::size_t kMostPending = Queue::kRingSize / 4;

  void launch() {
    const Mark start = queue_.mark();
    const Nanoseconds called = device_.host_time();
    queue_.launch(workload_);
    if (run_.count == 0) run_.first_launch_call = device_.host_time() - called;
    pending_.push_back({start, queue_.mark()});
    ++run_.count;
  }

  void stamp_clock() { stamps_.push_back({run_.count, queue_.stamp_clock()}); }

  void read_times(std::size_t oldest) {
    if (oldest == 0) return;
    queue_.wait_for(pending_[oldest - 1].end);
    for (std::size_t i = 0; i < oldest; ++i, pending_.pop_front()) {
      const Nanoseconds elapsed = queue_.elapsed(pending_.front().start, pending_.front().end);
      times_.push_back(std::max(0.0, (elapsed - constant_).value()));
    }
  }

  void read_clocks() {
    for (std::size_t i = 1; i < stamps_.size(); ++i) {
      if (const auto clock = queue_.clock_between(stamps_[i - 1].stamp, stamps_[i].stamp))
        run_.clocks.push_back({stamps_[i].launch, clock->frequency});
    }
  }

  void note_throttling(const SensorReading& before, const SensorReading& after) {
    const auto growth = [](const std::optional<Nanoseconds>& from, const std::optional<Nanoseconds>& to) {
      return from && to ? std::optional(*to - *from) : std::nullopt;
    };
    run_.throttled_power = growth(before.throttled_power, after.throttled_power);
    run_.throttled_thermal = growth(before.throttled_thermal, after.throttled_thermal);
  }

  void summarise_times() {
    const auto [minimum, maximum] = std::minmax_element(times_.begin(), times_.end());
    run_.first = Nanoseconds(times_.front());
    run_.minimum = Nanoseconds(*minimum);
    run_.maximum = Nanoseconds(*maximum);
    run_.mean =
        Nanoseconds(std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(times_.size()));
    run_.median = Nanoseconds(statistics::median(times_));
  }

  Device& device_;
  Queue& queue_;
  Workload& workload_;
  std::int64_t wanted_;
  const std::function<bool()>& interrupted_;
  Nanoseconds constant_;
  std::vector<Stamp> stamps_;
  std::deque<Pair> pending_;
  std::vector<double> times_;
  IterationRun run_;
};

}  // namespace

std::vector<IterationRun> run_iterations(Session& session, const Operation& operation,
                                         const MeasureOptions& options) {
  std::vector<IterationRun> runs;
  for (const std::int64_t count : options.iterations) {
    if (is_interrupted(options)) break;
    RotatingWorkload workload =
        prepare_sets(session.device(), operation, options, static_cast<std::size_t>(count));
    session.queue().wait();
    session.device().idle(kIterationRest);
    runs.push_back(IterationLoop(session, workload, count, options.interrupted).run());
  }
  return runs;
}

}  // namespace jitterscope
