#include <algorithm>
#include <cmath>
#include <map>

#include "judge/trial.hpp"
#include "statistics/statistics.hpp"

// The times of a trial: chains of several lengths, beside each other and alone.

namespace jitterscope::judging {
namespace {

Nanoseconds median_of(std::vector<Nanoseconds> times) {
  std::ranges::sort(times);
  return times.empty() ? Nanoseconds(0) : (times[(times.size() - 1) / 2] + times[times.size() / 2]) * 0.5;
}

// Log of one side's calls over the other's, block by block. None where a call is lost in the chain's noise.
std::vector<double> log_ratios_of(const std::vector<Nanoseconds>& times, Nanoseconds chain,
                                  const std::vector<Nanoseconds>& references, Nanoseconds of_reference) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const Nanoseconds first = references[i] - of_reference, second = times[i] - chain;
    if (first > Nanoseconds(0) && second > Nanoseconds(0)) logs.push_back(std::log(second / first));
  }
  if (2 * logs.size() <= references.size()) logs.clear();
  return logs;
}

}  // namespace

ChainReply Trial::timed(Worker& worker, ChainRequest request) {
  if (&worker != candidate_.get() || !is_loaded_) return of_reference([&] { return worker.chain(request); });
  request.is_checked = true;
  ChainReply reply = of_candidate([&] { return worker.chain(request); });
  check_candidate_chain(request.key, request.calls, reply);
  return reply;
}

// Returns how many calls last for chain_time, as far as their outputs have room and as many as can be queued.
// Tries first as many as lasted so long before, if that is known. Leaves the process stopped.
std::int64_t Trial::calls_for(Worker& worker, std::int64_t known) {
  constexpr std::int64_t kMost = 1 << 16, kFirst = 4;
  const auto room = static_cast<std::int64_t>(worker.room() / std::max<std::size_t>(1, bytes_of(outputs_)));
  const std::int64_t most = std::min(room, kMost);
  const auto chain_of = [&](std::int64_t calls, bool is_held) {
    return timed(worker, {.key = next_key(Use::tuning), .calls = calls, .is_held = is_held});
  };
  worker.thaw();
  // First calls load kernels, which waits for the GPU: the key must be there.
  for (const std::int64_t calls : {std::int64_t{1}, kFirst}) chain_of(calls, false);
  std::int64_t calls = std::max(kFirst, known);
  for (bool is_too_many = false;;) {
    const ChainReply reply = chain_of(calls, is_held_);
    if (is_held_ && !reply.is_held) {
      is_too_many = true;
      if (calls > kFirst) {
        calls /= 2;
      } else {
        is_held_ = is_too_many = false;
        judgement_.findings.emplace_back(is_loaded_ && &worker == candidate_.get() ? "candidate_waits"
                                                                                   : "reference_waits");
      }
      continue;
    }
    if (is_too_many || calls >= most || reply.time >= request_.chain_time * 0.5) {
      worker.freeze();
      return calls;
    }
    const double factor = reply.time > Nanoseconds(0) ? request_.chain_time / reply.time : 4.0;
    calls =
        std::min(most, static_cast<std::int64_t>(static_cast<double>(calls) * std::clamp(factor, 2.0, 8.0)));
  }
}

// Time of one more call: what begins and ends a chain cancels. None if something held it up while it was
// queued.
std::optional<Nanoseconds> Trial::held_slope(Worker& worker, std::int64_t calls, bool is_null,
                                             const std::array<Key, 2>& keys) {
  const std::int64_t few = std::max<std::int64_t>(1, calls / 4);
  std::array<Nanoseconds, 2> times;  // of few, of all
  const bool is_long_first = order_.below(2) == 0;
  bool is_held = true;
  for (int i = 0; i < 2; ++i) {
    const bool is_long = (i == 0) == is_long_first;
    const ChainReply reply = timed(worker, {.key = keys[is_long ? 1 : 0],
                                            .calls = is_long ? calls : few,
                                            .is_null = is_null,
                                            .place = place_,
                                            .is_held = is_held_});
    times[is_long ? 1 : 0] = reply.time;
    is_held = is_held && reply.is_held;
  }
  if (!is_held && is_held_) return std::nullopt;
  return (times[1] - times[0]) / static_cast<double>(calls - few);
}

// Begins again with other keys, whose inputs nobody knows yet.
Nanoseconds Trial::slope(Worker& worker, std::int64_t calls, bool is_null, const std::array<Key, 2>& keys) {
  constexpr int kMostTries = 8;
  if (const auto first = held_slope(worker, calls, is_null, keys)) return *first;
  for (int i = 1; i < kMostTries; ++i) {
    const auto next = held_slope(worker, calls, is_null, {next_key(Use::again), next_key(Use::again)});
    if (next) return *next;
  }
  throw Found{Verdict::undecided,
              fmt::format("the {} calls of its chain often cannot be queued on the GPU", calls)};
}

// The other process is stopped, so that it takes nothing from this one.
Nanoseconds Trial::slope_of(Part part, const PairTimes& pair, const std::array<Key, 2>& keys) {
  const bool is_beside = part == Part::candidate || part == Part::chain_beside;
  const bool is_null = part == Part::chain || part == Part::chain_beside;
  Worker& worker = is_beside ? *candidate_ : *reference_;
  worker.thaw();
  const std::int64_t calls = is_beside && is_loaded_ ? pair.candidate_calls : pair.reference_calls;
  const Nanoseconds time = slope(worker, calls, is_null, keys);
  worker.freeze();
  return time;
}

// The candidate's process has ended, or is stopped.
std::vector<Nanoseconds> Trial::reference_alone(const PairTimes& pair) {
  std::vector<Nanoseconds> times;
  for (std::int64_t i = 0; i < (request_.blocks + 1) / 2; ++i) {
    place_ = i;
    times.push_back(slope_of(Part::reference, pair, {next_key(Use::alone), next_key(Use::alone)}));
  }
  return times;
}

void Trial::run_pair(bool is_first) {
  candidate_.reset();
  begin_reference();
  if (is_first) refuse_degenerate();
  PairTimes& pair = judgement_.pairs.emplace_back();
  // Runs the parts of each block in random order, with keys that are alike for all.
  const auto time_blocks = [&](std::int64_t blocks, Use use, std::vector<Part> parts) {
    std::map<Part, std::vector<Nanoseconds>> times;
    for (std::int64_t block = 0; block < blocks; ++block) {
      tell(fmt::format("pair {} of {}, {} {} of {}", judgement_.pairs.size(), request_.pairs,
                       is_loaded_ ? "block" : "block without it", block + 1, blocks));
      place_ = block;
      const std::array<Key, 2> keys = {next_key(use), next_key(use)};
      shuffle(parts, order_);
      for (const Part part : parts) times[part].push_back(slope_of(part, pair, keys));
    }
    return times;
  };
  start_candidate();
  candidate_->freeze();
  const PairTimes& first = judgement_.pairs.front();
  pair.reference_calls = calls_for(*reference_, first.reference_calls);
  calls_for(*candidate_, pair.reference_calls);  // warms it up
  const auto before = time_blocks((request_.blocks + 1) / 2, Use::alone,
                                  {Part::reference, Part::candidate, Part::chain_beside});
  std::vector<Nanoseconds> alone = before.at(Part::reference);
  candidate_->thaw();
  load_candidate();
  if (is_first) {
    tell("outputs");
    reference_->thaw();
    check_answers();
    check_edges();
    reference_->freeze();
  }
  const bool was_held = is_held_;
  pair.candidate_calls = calls_for(*candidate_, first.candidate_calls);
  const bool is_alike = was_held == is_held_;
  if (!is_alike) {
    pair.reference_calls = calls_for(*reference_, pair.reference_calls);
    alone = reference_alone(pair);
  }
  const auto times =
      time_blocks(request_.blocks, Use::blocks, {Part::reference, Part::candidate, Part::chain});
  candidate_->thaw();
  candidate_.reset();
  for (const Nanoseconds time : reference_alone(pair)) alone.push_back(time);
  reference_->thaw();
  check_links();
  pair.chain = median_of(times.at(Part::chain));
  pair.reference = median_of(times.at(Part::reference)) - pair.chain;
  const Nanoseconds chain_beside = is_alike ? median_of(before.at(Part::chain_beside)) : pair.chain;
  const std::vector<double> of_process =
      log_ratios_of(before.at(Part::candidate), chain_beside, before.at(Part::reference), pair.chain);
  const double process = is_alike && !of_process.empty() ? statistics::median(of_process) : 0.0;
  pair.process_ratio = std::exp(process);
  pair.candidate = (median_of(times.at(Part::candidate)) - chain_beside) / pair.process_ratio;
  pair.log_ratios =
      log_ratios_of(times.at(Part::candidate), chain_beside, times.at(Part::reference), pair.chain);
  for (double& log : pair.log_ratios) log -= process;
  const Nanoseconds by_itself = median_of(alone) - pair.chain;
  if (by_itself > Nanoseconds(0) && pair.reference > Nanoseconds(0)) {
    pair.reference_shift = std::log(pair.reference / by_itself);
  }
}

}  // namespace jitterscope::judging
