#include <algorithm>
#include <cmath>

#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "judge/trial.hpp"
#include "statistics/statistics.hpp"

// The times of a trial: chains of several lengths, beside each other and alone.

namespace jitterscope::judging {
namespace {

constexpr std::int64_t kMostBlocks = 200;

// The calls of the shorter of two chains.
std::int64_t few_of(std::int64_t calls) { return std::max<std::int64_t>(1, calls / 4); }

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

ChainReply Trial::timed(Worker& worker, const ChainRequest& request) {
  if (&worker != candidate_.get() || !is_loaded_) return of_reference([&] { return worker.chain(request); });
  ChainReply reply = of_candidate([&] { return worker.chain(request); });
  if (!request.is_null) made_.push_back({request.key, request.calls, reply.last});
  return reply;
}

// Returns how many calls last for chain_time, as far as their outputs have room and as many as can be queued:
// to find that out takes a third of a second each time, since a chain that is too long stands still. Tries
// first as many as there were before. Leaves the process stopped.
ChainLength Trial::length_for(Worker& worker, ChainLength known) {
  constexpr std::int64_t kMost = 1 << 16, kFirst = 4, kLongCalls = 2;
  const std::size_t room = std::min(worker.room(), request_.room);
  const auto fitting = static_cast<std::int64_t>(room / std::max<std::size_t>(1, bytes_of(outputs_)));
  const std::int64_t most = std::clamp(fitting - few_of(fitting), kFirst, kMost);
  const auto chain_of = [&](std::int64_t calls, bool is_held) {
    ChainReply reply = timed(
        worker,
        {.key = next_key(Use::tuning), .calls = calls, .is_held = is_held, .evicted = request_.evicted});
    look_at_chains();
    return reply;
  };
  worker.thaw();
  // First calls load kernels, which waits for the GPU: the key must be there.
  for (const std::int64_t calls : {std::int64_t{1}, kFirst}) chain_of(calls, false);
  ChainLength length{std::clamp(known.calls, kFirst, most), known.is_longest};
  for (;;) {
    const ChainReply reply = chain_of(length.calls, is_held_);
    if (is_held_ && !reply.is_held) {
      length.is_longest = true;
      if (length.calls > kFirst) {
        length.calls /= 2;
      } else {
        is_held_ = length.is_longest = false;
        judgement_.findings.emplace_back(is_loaded_ && &worker == candidate_.get() ? "candidate_waits"
                                                                                   : "reference_waits");
      }
      continue;
    }
    if (length.calls == kFirst && reply.time > request_.chain_time * 2.0) {
      length.calls = kLongCalls;  // each takes as long as a chain should
      worker.freeze();
      return length;
    }
    length.is_longest = length.is_longest || length.calls >= most;
    if (length.is_longest || reply.time >= request_.chain_time * 0.5) {
      worker.freeze();
      return length;
    }
    const double factor = reply.time > Nanoseconds(0) ? request_.chain_time / reply.time : 4.0;
    const double wanted = static_cast<double>(length.calls) * std::clamp(factor, 2.0, 8.0);
    length.calls = std::min(most, static_cast<std::int64_t>(wanted));
  }
}

// Times a short and a long chain: the cost of beginning and ending one is in both, and cancels. On a GPU what
// is left in its cache must be alike for both sides: a chain without calls comes first, and each chain's
// outputs are written where the other's are not. Where the reference's second chain wrote over the first's,
// 24 MB that were in the cache, it took 0.8 % less than an equal candidate, whose outputs are looked at and
// must stay (H200).
Trial::Slope Trial::slope_of_two(Worker& worker, const ChainRequest& request,
                                 const std::array<Key, 2>& keys) {
  const std::int64_t few = few_of(request.calls);
  std::array<Nanoseconds, 2> times;  // of few, of all
  Slope slope;
  ChainRequest before = request;
  before.key = next_key(Use::tuning);
  before.calls = few;
  before.is_null = true;
  if (shape_.is_on_gpu) timed(worker, before);
  worker.kept_waiting();
  for (int i = 0; i < 2; ++i) {
    const bool is_long = (i == 0) == is_long_first_;
    ChainRequest asked = request;
    asked.key = keys[is_long ? 1 : 0];
    asked.calls = is_long ? request.calls : few;
    if (i == 1) asked.kept_before = is_long ? few : request.calls;
    asked.kept_in_all = few + request.calls;
    const ChainReply reply = timed(worker, asked);
    times[is_long ? 1 : 0] = reply.time;
    slope.is_held = slope.is_held && reply.is_held;
    if (is_long) last_clock_ = reply.clock;
  }
  slope.kept_waiting = worker.kept_waiting();
  look_at_chains();
  slope.all = times[0] + times[1];
  slope.time = (times[1] - times[0]) / static_cast<double>(request.calls - few);
  return slope;
}

// Begins again with other keys, whose inputs nobody knows yet, where calls could not be queued; and some
// times where other programs had the core. Who lets himself be held up gains nothing: each try is a chain as
// any.
Nanoseconds Trial::slope(Worker& worker, const ChainRequest& request, const std::array<Key, 2>& keys) {
  constexpr int kMostTries = 8;
  constexpr double kHeldUp = 0.02;
  std::optional<Slope> best;
  for (int i = 0; i < kMostTries; ++i) {
    const auto these = i == 0 ? keys : std::array{next_key(Use::again), next_key(Use::again)};
    const Slope slope = slope_of_two(worker, request, these);
    if (!slope.is_held && is_held_) continue;
    if (!best || slope.kept_waiting / slope.all < best->kept_waiting / best->all) best = slope;
    if (!is_bound_ || best->kept_waiting < best->all * kHeldUp) break;
    if (i + 1 >= tries_beside_others_) {  // they stay: more tries would not help the next one either
      tries_beside_others_ = 1;
      break;
    }
  }
  if (best) return best->time;
  throw Found{Verdict::undecided,
              fmt::format("the {} calls of its chain often cannot be queued on the GPU", request.calls)};
}

// The other process is stopped, so that it takes nothing from this one.
Nanoseconds Trial::slope_of(Part part, const PairTimes& pair, const std::array<Key, 2>& keys) {
  const bool is_produced = part == Part::candidate_produced || part == Part::chain_produced;
  const bool is_beside =
      part == Part::candidate || part == Part::chain_beside || part == Part::candidate_produced;
  Worker& worker = is_beside ? *candidate_ : *reference_;
  worker.thaw();
  if (is_bound_) worker.stay_on(core_);
  const Nanoseconds time =
      slope(worker,
            {.key = {},
             .calls = is_beside && is_loaded_ ? pair.candidate_calls : pair.reference_calls,
             .is_null = part == Part::chain || part == Part::chain_beside || part == Part::chain_produced,
             .place = place_,
             .is_held = is_held_,
             .evicted = is_produced ? Bytes(0) : request_.evicted},
            keys);
  if (is_bound_) worker.stay_on(std::nullopt);
  worker.freeze();
  if (last_clock_ && is_loaded_) {
    clocks_[part].push_back(last_clock_->value);
    for (const std::string& reason : last_clock_->reasons) {
      std::vector<std::string>& known = judgement_.clock_reasons;
      if (std::ranges::find(known, reason) == known.end()) known.push_back(reason);
    }
  }
  return time;
}

void Trial::note_clocks(PairTimes& pair) {
  const auto median = [&](Part part) -> std::optional<Hertz> {
    std::vector<Hertz> clocks = clocks_[part];
    if (clocks.empty()) return std::nullopt;
    std::ranges::nth_element(clocks, clocks.begin() + std::ssize(clocks) / 2);
    return clocks[clocks.size() / 2];
  };
  pair.reference_clock = median(Part::reference);
  pair.candidate_clock = median(Part::candidate);
}

// A candidate that takes more power runs at a lower clock: its time is true, and this says why.
void Trial::check_clocks() {
  constexpr double kDifference = 0.01;
  std::vector<double> logs;
  for (const PairTimes& pair : judgement_.pairs) {
    if (pair.reference_clock && pair.candidate_clock)
      logs.push_back(std::log(*pair.candidate_clock / *pair.reference_clock));
  }
  if (!logs.empty() && std::abs(statistics::median(logs)) > kDifference)
    judgement_.findings.emplace_back("clocks_differ");
}

// The eviction runs between a call's inputs and the call, and its time is subtracted with the chain's. A
// candidate that works during it seems faster with cold inputs than with inputs just written, in every pair.
void Trial::refuse_used_window() const {
  constexpr double kShare = 0.95;
  constexpr Nanoseconds kNoise(500);
  const auto is_used = [&](const PairTimes& pair) {
    return pair.candidate_produced && pair.candidate < *pair.candidate_produced * kShare - kNoise;
  };
  if (judgement_.pairs.empty() || !std::ranges::all_of(judgement_.pairs, is_used)) return;
  const PairTimes& first = judgement_.pairs.front();
  throw Found{Verdict::invalid,
              fmt::format("with inputs in no cache it takes {}, and {} with inputs that were just written",
                          duration_text(first.candidate), duration_text(*first.candidate_produced)),
              InvalidReason::window_used};
}

// All slopes of a block have their chains in the same order, so that the extra time of a first chain cancels
// in the block's ratio. They run on one core, because cores differ, by half where the neighbour of one does
// other work, and each process would stay on its own.
void Trial::begin_block(std::int64_t block) {
  place_ = block;
  is_long_first_ = order_.below(2) == 0;
  const std::vector<int> cores = allowed_cores();
  if (!cores.empty()) core_ = cores[order_.below(cores.size())];
}

// The candidate's process has ended, or is stopped.
std::vector<Nanoseconds> Trial::reference_alone(const PairTimes& pair) {
  std::vector<Nanoseconds> times;
  for (std::int64_t i = 0; i < (request_.blocks + 1) / 2; ++i) {
    begin_block(i);
    times.push_back(slope_of(Part::reference, pair, {next_key(Use::alone), next_key(Use::alone)}));
  }
  return times;
}

void Trial::run_pair(bool is_first) {
  candidate_.reset();
  clocks_.clear();
  begin_reference();
  if (is_first) refuse_degenerate();
  PairTimes& pair = judgement_.pairs.emplace_back();
  // Runs the parts of each block in random order, with keys that are alike for all.
  const auto time_blocks = [&](std::int64_t blocks, Nanoseconds least, Use use, std::vector<Part> parts) {
    std::map<Part, std::vector<Nanoseconds>> times;
    const Nanoseconds end = host_time_now() + least;
    for (std::int64_t block = 0; block < blocks || (block < kMostBlocks && host_time_now() < end); ++block) {
      tell(fmt::format("pair {} of {}, {} {}", judgement_.pairs.size(), request_.pairs,
                       is_loaded_ ? "block" : "block without it", block + 1));
      begin_block(block);
      const std::array<Key, 2> keys = {next_key(use), next_key(use)};
      shuffle(parts, order_);
      for (const Part part : parts) times[part].push_back(slope_of(part, pair, keys));
    }
    return times;
  };
  start_candidate();
  candidate_->freeze();
  // A side that works in several threads needs all cores, so then neither side is bound to one.
  const auto tuned = [&](Worker& worker, ChainLength known) {
    worker.worked_alone();
    const ChainLength length = length_for(worker, known);
    is_bound_ = worker.worked_alone() && is_bound_;
    return length;
  };
  is_bound_ = !shape_.is_on_gpu;
  tries_beside_others_ = kTriesBesideOthers;
  reference_length_ = tuned(*reference_, reference_length_);
  pair.reference_calls = reference_length_.calls;
  tuned(*candidate_, reference_length_);  // warms it up
  const auto before = time_blocks((request_.blocks + 1) / 2, request_.blocks_time * 0.5, Use::alone,
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
  const bool was_held = is_held_, was_bound = is_bound_;
  // If the queue limits the reference's chain, it limits the candidate's at about as many calls.
  if (is_first && is_held_ && reference_length_.is_longest) candidate_length_ = reference_length_;
  candidate_length_ = tuned(*candidate_, candidate_length_);
  pair.candidate_calls = candidate_length_.calls;
  const bool is_alike = was_held == is_held_ && was_bound == is_bound_;
  if (!is_alike) {
    reference_length_ = length_for(*reference_, {pair.reference_calls, false});
    pair.reference_calls = reference_length_.calls;
    alone = reference_alone(pair);
  }
  std::vector<Part> parts = {Part::reference, Part::candidate, Part::chain};
  const bool is_cold = request_.evicted > Bytes(0);
  if (is_cold) parts.insert(parts.end(), {Part::candidate_produced, Part::chain_produced});
  const auto times = time_blocks(request_.blocks, request_.blocks_time, Use::blocks, parts);
  note_clocks(pair);
  candidate_->end();  // which takes a tenth of a second on a GPU, beside which links are checked
  reference_->thaw();
  check_links();
  reference_->freeze();
  candidate_.reset();
  for (const Nanoseconds time : reference_alone(pair)) alone.push_back(time);
  pair.chain = median_of(times.at(Part::chain));
  pair.reference = median_of(times.at(Part::reference)) - pair.chain;
  const Nanoseconds chain_beside = is_alike ? median_of(before.at(Part::chain_beside)) : pair.chain;
  const std::vector<double> of_process =
      log_ratios_of(before.at(Part::candidate), chain_beside, before.at(Part::reference), pair.chain);
  const double process = is_alike && !of_process.empty() ? statistics::median(of_process) : 0.0;
  pair.process_ratio = std::exp(process);
  pair.candidate = (median_of(times.at(Part::candidate)) - chain_beside) / pair.process_ratio;
  if (is_cold) {
    const Nanoseconds all = median_of(times.at(Part::candidate_produced));
    pair.candidate_produced = (all - median_of(times.at(Part::chain_produced))) / pair.process_ratio;
  }
  pair.log_ratios =
      log_ratios_of(times.at(Part::candidate), chain_beside, times.at(Part::reference), pair.chain);
  for (double& log : pair.log_ratios) log -= process;
  const Nanoseconds by_itself = median_of(alone) - pair.chain;
  if (by_itself > Nanoseconds(0) && pair.reference > Nanoseconds(0)) {
    pair.reference_shift = std::log(pair.reference / by_itself);
  }
}

}  // namespace jitterscope::judging
