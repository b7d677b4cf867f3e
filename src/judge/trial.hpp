// One candidate in one case: its processes, its outputs, its times.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "judge/judge.hpp"

namespace jitterscope::judging {

/// Ends a case with a verdict.
struct Found {
  Verdict verdict;
  std::string evidence;
  InvalidReason reason = InvalidReason::none;
  std::string key = {};
  std::int64_t call = -1;
};

/// A call of a timed chain, to be computed again.
struct Link {
  Key key;
  std::int64_t call = 0;
  Seed seed;
  std::vector<std::uint8_t> outputs;
};

/// A chain of the candidate, and the last digest that it gave.
struct MadeChain {
  Key key;
  std::int64_t calls = 0;
  Digest last;
};

/// The outputs of the candidate's last chains, and the seed of their last call.
struct LookedAt {
  Seed last_seed;
  Shown shown;
};

/// How many calls a side's chains have.
struct ChainLength {
  std::int64_t calls = 0;
  bool is_longest = false;  ///< more cannot be queued, or have no room
};

/// Runs a candidate's part: its failures are the candidate's verdict.
template <class Part>
auto of_candidate(const Part& part) {
  try {
    return part();
  } catch (const WorkerFailure& failure) {
    if (failure.kind == WorkerFailure::Kind::malformed) {
      throw Found{Verdict::invalid, failure.what(), InvalidReason::judge_touched};
    }
    throw Found{Verdict::wrong, failure.what()};
  }
}

/// Runs the reference's part: its failures end the judgement.
template <class Part>
auto of_reference(const Part& part) {
  try {
    return part();
  } catch (const WorkerFailure& failure) {
    throw FailedError(fmt::format("the reference gives nothing to judge by: {}", failure.what()));
  }
}

/// The reference's outputs for a request, in the inputs' types and of the same inputs as float64.
struct Truth {
  Numbers rounded, exact;
};

/// One candidate in one case.
class Trial {
 public:
  Trial(const JudgeRequest& request, const StartWorker& start, const std::string& candidate,
        const CaseValues& values, std::uint64_t number)
      : request_(request),
        start_(start),
        candidate_name_(candidate),
        session_(key_of(request.session, number)),
        order_(0),
        choice_(0) {
    judgement_.values = values;
    if (request.time_limit) is_late_ = request.time_limit();
  }

  CaseJudgement run(const RepeatedLink* repeated) {
    try {
      if (repeated != nullptr) {
        begin_pair(repeated->pair);
        repeat(*repeated);
      }
      for (std::int64_t pair = 0; pair < request_.pairs; ++pair) {
        begin_pair(pair);
        tell(fmt::format("pair {} of {}", pair + 1, request_.pairs));
        run_pair(pair == 0);
      }
      check_clocks();
      refuse_used_window();
    } catch (const Found& found) {
      judgement_.verdict = found.verdict;
      judgement_.evidence = found.evidence;
      if (found.verdict == Verdict::wrong && !weights_differ_.empty()) {
        judgement_.evidence += "; its weights are not the reference's: " + weights_differ_;
      }
      judgement_.reason = found.reason;
      judgement_.key = found.key;
      judgement_.call = found.call;
      judgement_.pair = pair_;
    }
    if (!weights_differ_.empty()) judgement_.findings.emplace_back("weights_differ");
    return std::move(judgement_);
  }

 private:
  // Calls in the reference's process and in the candidate's, and chains without calls in each. With inputs
  // that are in no cache, the candidate and the chain also with inputs that were just written.
  enum class Part { reference, candidate, chain, chain_beside, candidate_produced, chain_produced };

  // Keys for one use follow from the session's key, the pair and their number alone. So whoever judges again
  // with the key of a session asks the same, though the lengths of chains depend on the machine.
  enum class Use : std::uint64_t {
    persistent,
    first,
    order,
    choice,
    degenerate,
    answers,
    edges,
    tuning,
    alone,
    blocks,
    again
  };
  static constexpr std::size_t kUses = 11;
  Key next_key(Use use) {
    const std::uint64_t number = used_[static_cast<std::size_t>(use)]++;
    return key_of(key_of(of_pair_, static_cast<std::uint64_t>(use)), number);
  }
  Random next_random(Use use) {
    std::uint64_t seed = 0;
    std::memcpy(&seed, next_key(use).bytes.data(), sizeof(seed));
    return Random(seed);
  }
  void begin_pair(std::int64_t pair) {
    pair_ = pair;
    of_pair_ = key_of(session_, static_cast<std::uint64_t>(pair));
    used_ = {};
    order_ = next_random(Use::order);
    choice_ = next_random(Use::choice);
  }
  void tell(const std::string& what) const {
    if (request_.interrupted && request_.interrupted()) throw InterruptedError();
    if (is_late_ && is_late_())
      throw Found{Verdict::undecided, "its time is over: it takes longer than it is given"};
    if (request_.progress) request_.progress(fmt::format("{}: {}", candidate_name_, what));
  }

  void run_pair(bool is_first);
  void repeat(const RepeatedLink& repeated);
  void begin_reference();
  void describe_work();
  void start_candidate();
  void load_candidate();
  void refuse_degenerate();
  void check_answers();
  void check_edges();
  Truth truth_of(AnswerRequest request);
  std::optional<Wrong> wrong_in(const AnswerRequest& request, NotFinite not_finite);
  AnswerRequest asked(const Seed& seed) const;

  ChainLength length_for(Worker& worker, ChainLength known);
  ChainReply timed(Worker& worker, const ChainRequest& request);
  /// Time of one more call, and what disturbed the two chains that it is of.
  struct Slope {
    Nanoseconds time;
    bool is_held = true;         ///< false if something held the calls up while they were queued
    Nanoseconds kept_waiting{};  ///< while others had its core
    Nanoseconds all{};           ///< time of both chains
  };
  Slope slope_of_two(Worker& worker, const ChainRequest& request, const std::array<Key, 2>& keys);
  Nanoseconds slope(Worker& worker, const ChainRequest& request, const std::array<Key, 2>& keys);
  Nanoseconds slope_of(Part part, const PairTimes& pair, const std::array<Key, 2>& keys);
  std::vector<Nanoseconds> reference_alone(const PairTimes& pair);
  void begin_block(std::int64_t block);
  void note_clocks(PairTimes& pair);
  void check_clocks();
  void refuse_used_window() const;
  /// Asks for what the candidate's last chains gave, checks it and keeps some links; nothing if there are
  /// none.
  LookedAt look_at_chains();
  void keep_some_links(const Key& key, const std::vector<Seed>& seeds, std::span<const std::uint8_t> outputs);
  void check_links();

  const JudgeRequest& request_;
  const StartWorker& start_;
  std::string candidate_name_;
  std::function<bool()> is_late_;
  Key session_, of_pair_;
  std::int64_t pair_ = 0;
  std::array<std::uint64_t, kUses> used_{};
  Random order_, choice_;  // of sides, of links
  std::string weights_differ_;
  CaseJudgement judgement_;
  CaseShape shape_;
  Key of_persistent_;
  Seed persistent_;
  std::vector<OutputDescription> outputs_;
  std::unique_ptr<Worker> reference_, candidate_;
  bool is_loaded_ = false;       ///< whether the candidate's process has loaded the candidate
  std::vector<MadeChain> made_;  ///< chains of the candidate whose outputs nobody has asked for yet
  std::vector<Link> links_;
  std::int64_t links_seen_ = 0;
  std::int64_t place_ = 0;                           ///< of what is timed now: each block has its own
  bool is_long_first_ = false;                       ///< of two chains in this block
  ChainLength reference_length_, candidate_length_;  ///< of the pair before
  std::map<Part, std::vector<Hertz>> clocks_;        ///< of the GPU in this pair's blocks
  std::optional<GpuClock> last_clock_;
  bool is_bound_ =
      false;  ///< both sides work in one thread on the processor: each block has a core of its own
  std::optional<int> core_;
  static constexpr int kTriesBesideOthers = 3;
  int tries_beside_others_ = kTriesBesideOthers;
  bool is_held_ = true;  ///< until one side waits for its own calls; then both are timed with their hosts
};

}  // namespace jitterscope::judging
