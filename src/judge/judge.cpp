#include "judge/judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::judging {
namespace {

constexpr std::int64_t kLinksOfPair = 32;  // a tenth of the calls skipped: found with 96.6 % in a pair
constexpr std::int64_t kKeysOfCase = 8;
constexpr std::array kTriedFamilies = {Family::normal, Family::rows, Family::spikes, Family::structured};

// Ends a case with a verdict.
struct Found {
  Verdict verdict;
  std::string evidence;
  InvalidReason reason = InvalidReason::none;
  std::string key = {};
  std::int64_t call = -1;
};

// A call of a timed chain, to be computed again.
struct Link {
  Key key;
  std::int64_t call = 0;
  Seed seed;
  std::vector<std::uint8_t> outputs;
};

// Runs a candidate's part: its failures are the candidate's verdict.
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

template <class Part>
auto of_reference(const Part& part) {
  try {
    return part();
  } catch (const WorkerFailure& failure) {
    throw FailedError(fmt::format("the reference gives nothing to judge by: {}", failure.what()));
  }
}

std::vector<Seed> seeds_of_call(const CaseShape& shape, const Seed& seed, const Seed& persistent) {
  std::vector<Seed> seeds;
  for (const InputDescription& input : shape.inputs) seeds.push_back(input.persistent ? persistent : seed);
  return seeds;
}

std::vector<Family> own_families(const CaseShape& shape) {
  std::vector<Family> families;
  for (const InputDescription& input : shape.inputs) families.push_back(input.family);
  return families;
}

// True for inputs whose values may be drawn from another family than their own.
bool takes_families(const InputDescription& input) {
  return input.family == Family::normal && !input.persistent && input.dtype != DataType::i64 &&
         input.dtype != DataType::i32;
}

// A function over inputs of numbers only has edges: what integers may be, its own family says.
AnswerRequest with_family(const CaseShape& shape, AnswerRequest request, Family family) {
  for (std::size_t i = 0; i < shape.inputs.size(); ++i) {
    if (takes_families(shape.inputs[i])) request.families[i] = family;
  }
  return request;
}

// What both sides are asked and the reference's two answers.
struct Truth {
  Answer reference;
  Numbers rounded, exact;
};

// One candidate in one case.
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
  // What a chain is made of, and in which process.
  enum class Part { reference, candidate, chain, chain_beside };

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
  AnswerRequest asked(const Seed& seed) const {
    return {.seeds = seeds_of_call(shape_, seed, persistent_), .families = own_families(shape_)};
  }

  std::int64_t calls_for(Worker& worker);
  ChainReply timed(Worker& worker, ChainRequest request);
  std::optional<Nanoseconds> held_slope(Worker& worker, std::int64_t calls, bool is_null,
                                        const std::array<Key, 2>& keys);
  Nanoseconds slope(Worker& worker, std::int64_t calls, bool is_null, const std::array<Key, 2>& keys);
  Nanoseconds slope_of(Part part, const PairTimes& pair, const std::array<Key, 2>& keys);
  std::vector<Nanoseconds> reference_alone(const PairTimes& pair);
  void check_candidate_chain(const Key& key, std::int64_t calls, const ChainReply& reply);
  void check_inputs(const Key& key, const Seed& seed, const ChainReply& reply);
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
  bool is_loaded_ = false;  ///< whether the candidate's process has loaded the candidate
  std::vector<Link> links_;
  std::int64_t links_seen_ = 0;
  std::int64_t place_ = 0;  ///< of what is timed now: each block has its own
  bool is_held_ = true;     ///< until one side waits for its own calls; then both are timed with their hosts
};

void Trial::begin_reference() {
  of_persistent_ = next_key(Use::persistent);
  persistent_ = seed_of(of_persistent_, "persistent");
  of_reference([&] {
    reference_ = start_();
    shape_ = reference_->make(request_.reference, judgement_.values, std::nullopt, of_persistent_);
    if (shape_.inputs.empty())
      throw UsageError("the reference's make() describes no inputs: without one, nothing can be judged");
    if (std::ranges::all_of(shape_.inputs, &InputDescription::persistent)) {
      throw UsageError("all inputs are persistent, so that all calls are alike; at least one has to change");
    }
    const Answer answer = reference_->answer(asked(seed_of(next_key(Use::first), "first")));
    outputs_ = answer.outputs;
    describe_work();
    if (answer.bytes.empty() || 4 * answer.bytes.size() > reference_->room()) {
      throw UsageError(
          fmt::format("a call's outputs have {}, and at most {} can be judged; take a smaller case",
                      bytes_text(Bytes(static_cast<std::int64_t>(answer.bytes.size()))),
                      bytes_text(Bytes(static_cast<std::int64_t>(reference_->room() / 4)))));
    }
  });
}

void Trial::describe_work() {
  judgement_.inputs.clear();
  auto bytes = static_cast<double>(bytes_of(outputs_));
  for (const InputDescription& input : shape_.inputs) {
    judgement_.inputs.push_back(to_string(input));
    bytes += static_cast<double>(input.bytes());
  }
  judgement_.work = {.flops = shape_.flops.value_or(0.0),
                     .bytes = shape_.bytes.value_or(bytes),
                     .is_bytes_told = shape_.bytes.has_value(),
                     .dtype = outputs_.empty() ? DataType::f32 : outputs_.front().dtype};
}

// Starts the candidate's process, which knows the reference alone: nothing in it wants to cheat yet.
void Trial::start_candidate() {
  const AnswerRequest first = asked(seed_of(next_key(Use::first), "first"));
  of_reference([&] {
    is_loaded_ = false;
    candidate_ = start_();
    candidate_->make(request_.reference, judgement_.values, std::nullopt, of_persistent_);
    candidate_->answer(first);
  });
}

// Checks what the candidate says of its outputs: its bytes are read as these.
void Trial::load_candidate() {
  const AnswerRequest first = asked(seed_of(next_key(Use::first), "first"));
  of_candidate([&] {
    is_loaded_ = true;
    weights_differ_ =
        candidate_->make(candidate_name_, judgement_.values, shape_, of_persistent_).weights_differ;
    const Answer answer = candidate_->answer(first);
    if (answer.outputs.size() != outputs_.size()) {
      throw Found{Verdict::wrong,
                  fmt::format("it returns {} where {} are right",
                              counted(std::ssize(answer.outputs), "output"), outputs_.size())};
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (answer.outputs[i] == outputs_[i]) continue;
      throw Found{Verdict::wrong, fmt::format("output {} is {} where {} is right", i,
                                              to_string(answer.outputs[i]), to_string(outputs_[i]))};
    }
  });
}

Truth Trial::truth_of(AnswerRequest request) {
  return of_reference([&] {
    Truth truth;
    request.is_strided = false;
    truth.reference = reference_->answer(request);
    truth.rounded = numbers_of(outputs_, truth.reference.bytes);
    request.is_float64 = true;
    const Answer exact = reference_->answer(request);
    const Numbers numbers = numbers_of(exact.outputs, exact.bytes);
    const auto is_alike = [](const std::vector<double>& a, const std::vector<double>& b) {
      return a.size() == b.size();
    };
    if (!std::ranges::equal(numbers, truth.rounded, is_alike)) {
      throw UsageError("the reference's outputs have other shapes where its inputs are float64");
    }
    truth.exact = numbers;
    return truth;
  });
}

std::optional<Wrong> Trial::wrong_in(const AnswerRequest& request, NotFinite not_finite) {
  const Answer answer = of_candidate([&] { return candidate_->answer(request); });
  if (answer.outputs != outputs_) {
    throw Found{Verdict::wrong, "its outputs have other shapes or types from one call to the next"};
  }
  const Truth truth = truth_of(request);
  return find_wrong(outputs_, numbers_of(outputs_, answer.bytes), truth.rounded, truth.exact, not_finite);
}

// An input that moves nothing could be left out, and a reference that is random is wrong by itself.
void Trial::refuse_degenerate() {
  const Key key = next_key(Use::degenerate);
  const AnswerRequest base = asked(seed_of(key, "base"));
  const Truth before = truth_of(base), again = truth_of(base);
  if (moved(outputs_, before.rounded, again.rounded)) {
    throw Found{Verdict::refused,
                "the reference gives other outputs for the same inputs, so nothing can be checked"};
  }
  for (std::size_t i = 0; i < shape_.inputs.size(); ++i) {
    if (shape_.inputs[i].persistent) continue;  // each process has others
    AnswerRequest changed = base;
    changed.seeds[i] = seed_of(key, "changed");
    if (moved(outputs_, before.rounded, truth_of(changed).rounded)) continue;
    throw Found{Verdict::refused,
                fmt::format("the case is degenerate: input {} does not change the reference's output", i)};
  }
}

void Trial::check_answers() {
  const auto refuse = [&](const std::optional<Wrong>& wrong, const Key& key, const std::string& where) {
    if (!wrong) return;
    throw Found{Verdict::wrong, fmt::format("{}: {}", where, to_string(*wrong)), InvalidReason::none,
                hexadecimal(key.bytes)};
  };
  for (std::int64_t i = 0; i < kKeysOfCase; ++i) {
    const Key key = next_key(Use::answers);
    const Family family = kTriedFamilies[static_cast<std::size_t>(i) % kTriedFamilies.size()];
    const AnswerRequest request = with_family(shape_, asked(seed_of(key, "answer")), family);
    refuse(wrong_in(request, NotFinite::must_agree), key,
           fmt::format("inputs of the family {}", to_string(family)));
  }
  const Key key = next_key(Use::answers);
  for (std::size_t i = 0; i < shape_.inputs.size(); ++i) {
    if (shape_.inputs[i].persistent) continue;
    AnswerRequest changed = asked(seed_of(key, "base"));
    changed.seeds[i] = seed_of(key, "changed");
    refuse(wrong_in(changed, NotFinite::must_agree), key, fmt::format("input {} changed alone", i));
  }
}

// Zeros, large values and views are inputs as any other. What is denormal or not finite honest kernels treat
// in several ways: differences are findings.
void Trial::check_edges() {
  for (const Family family : {Family::zeros, Family::large, Family::denormal, Family::nonfinite}) {
    const Key key = next_key(Use::edges);
    const bool counts = family == Family::zeros || family == Family::large;
    const auto wrong = wrong_in(with_family(shape_, asked(seed_of(key, "edge")), family),
                                family == Family::large ? NotFinite::may_differ : NotFinite::must_agree);
    if (!wrong) continue;
    if (counts) {
      throw Found{Verdict::wrong,
                  fmt::format("inputs of the family {}: {}", to_string(family), to_string(*wrong)),
                  InvalidReason::none, hexadecimal(key.bytes)};
    }
    judgement_.findings.push_back(fmt::format("differs_where_{}", to_string(family)));
  }
  const Key key = next_key(Use::edges);
  AnswerRequest views = asked(seed_of(key, "views"));
  views.is_strided = true;
  if (const auto wrong = wrong_in(views, NotFinite::must_agree)) {
    throw Found{Verdict::wrong, "views with strides: " + to_string(*wrong), InvalidReason::none,
                hexadecimal(key.bytes)};
  }
}

// Below: chains.

// Returns the inputs' digest as they must be behind a call.
Digest digest_of_inputs(const CaseShape& shape, const Key& key, const Seed& seed, const Seed& persistent) {
  std::vector<std::uint8_t> all;
  for (std::size_t i = 0; i < shape.inputs.size(); ++i) {
    const InputDescription& input = shape.inputs[i];
    std::vector<std::uint8_t> memory(input.bytes());
    fill(input, input.family, input.persistent ? persistent : seed, static_cast<std::uint32_t>(i), memory);
    all.insert(all.end(), memory.begin(), memory.end());
  }
  return digest_of(key, Digest{}, all);
}

void Trial::check_inputs(const Key& key, const Seed& seed, const ChainReply& reply) {
  if (reply.inputs == digest_of_inputs(shape_, key, seed, persistent_)) return;
  throw Found{Verdict::invalid, "an input is not what it was before the call", InvalidReason::input_changed,
              hexadecimal(key.bytes)};
}

// Each link that a candidate ever made is kept with the same probability.
void Trial::keep_some_links(const Key& key, const std::vector<Seed>& seeds,
                            std::span<const std::uint8_t> outputs) {
  const std::size_t bytes = bytes_of(outputs_);
  for (std::size_t call = 0; call < seeds.size(); ++call) {
    const auto seen = static_cast<std::uint64_t>(links_seen_++);
    const std::uint64_t place = seen < kLinksOfPair ? seen : choice_.below(seen + 1);
    if (place >= kLinksOfPair) continue;
    if (place >= links_.size()) links_.emplace_back();
    const auto kept = outputs.subspan(call * bytes, bytes);
    links_[place] = {key, static_cast<std::int64_t>(call), seeds[call], {kept.begin(), kept.end()}};
  }
}

void Trial::check_candidate_chain(const Key& key, std::int64_t calls, const ChainReply& reply) {
  const std::size_t bytes = bytes_of(outputs_);
  const Digest first = first_digest_of(key);
  std::vector<Digest> digests;
  if (reply.outputs.size() == bytes * static_cast<std::size_t>(calls)) {
    digests = digests_of(key, first, reply.outputs, static_cast<std::size_t>(calls));
  }
  if (digests.empty() || digests.back() != reply.last) {
    throw Found{Verdict::invalid, "the last digest is not that of the outputs that it kept",
                InvalidReason::link_broken, hexadecimal(key.bytes)};
  }
  std::vector<Seed> seeds = {seed_after(first)};
  for (const Digest& digest : digests) seeds.push_back(seed_after(digest));
  seeds.pop_back();  // of a call that was not made
  check_inputs(key, seeds.back(), reply);
  judgement_.calls_timed += calls;
  keep_some_links(key, seeds, reply.outputs);
}

void Trial::check_links() {
  for (const Link& link : links_) {
    const Truth truth = truth_of(asked(link.seed));
    const auto wrong = find_wrong(outputs_, numbers_of(outputs_, link.outputs), truth.rounded, truth.exact,
                                  NotFinite::must_agree);
    if (wrong) {
      throw Found{Verdict::wrong, fmt::format("call {} of a timed chain: {}", link.call, to_string(*wrong)),
                  InvalidReason::none, hexadecimal(link.key.bytes), link.call};
    }
    ++judgement_.links_checked;
  }
  links_.clear();
  links_seen_ = 0;
}

// Whatever depends on how long a chain was is left out: a chain of as many calls as it takes, and its last.
void Trial::repeat(const RepeatedLink& repeated) {
  tell("the call that was found before");
  begin_reference();
  start_candidate();
  load_candidate();
  const ChainRequest request{
      .key = repeated.key, .calls = repeated.call + 1, .is_checked = true, .is_held = false};
  const ChainReply reply = of_candidate([&] { return candidate_->chain(request); });
  links_.clear();
  links_seen_ = 0;
  check_candidate_chain(repeated.key, request.calls, reply);
  const std::size_t bytes = bytes_of(outputs_);
  const Digest first = first_digest_of(repeated.key);
  const std::vector<Digest> before =
      digests_of(repeated.key, first, reply.outputs.first(static_cast<std::size_t>(repeated.call) * bytes),
                 static_cast<std::size_t>(repeated.call));
  const auto last = reply.outputs.subspan(static_cast<std::size_t>(repeated.call) * bytes, bytes);
  links_ = {Link{repeated.key,
                 repeated.call,
                 seed_after(before.empty() ? first : before.back()),
                 {last.begin(), last.end()}}};
  check_links();
  judgement_.findings.emplace_back("right_where_it_was_wrong");
}

ChainReply Trial::timed(Worker& worker, ChainRequest request) {
  if (&worker != candidate_.get() || !is_loaded_) return of_reference([&] { return worker.chain(request); });
  request.is_checked = true;
  ChainReply reply = of_candidate([&] { return worker.chain(request); });
  check_candidate_chain(request.key, request.calls, reply);
  return reply;
}

// Returns how many calls last for chain_time, as far as their outputs have room and as many as can be queued.
std::int64_t Trial::calls_for(Worker& worker) {
  constexpr std::int64_t kMost = 1 << 16, kFirst = 4;
  const auto room = static_cast<std::int64_t>(worker.room() / std::max<std::size_t>(1, bytes_of(outputs_)));
  const std::int64_t most = std::min(room, kMost);
  const auto chain_of = [&](std::int64_t calls, bool is_held) {
    return timed(worker, {.key = next_key(Use::tuning), .calls = calls, .is_held = is_held});
  };
  // What first calls do is no part of it, and what they load could not be loaded while the key is held back.
  for (const std::int64_t calls : {std::int64_t{1}, kFirst}) chain_of(calls, false);
  std::int64_t calls = kFirst;
  for (bool is_too_many = false;;) {
    const ChainReply reply = chain_of(calls, is_held_);
    if (is_held_ && !reply.is_held) {
      is_too_many = true;
      if (calls > kFirst) {
        calls /= 2;
      } else {
        is_held_ = is_too_many = false;
        judgement_.findings.emplace_back(&worker == candidate_.get() ? "candidate_waits" : "reference_waits");
      }
      continue;
    }
    if (is_too_many || calls >= most || reply.time >= request_.chain_time * 0.5) return calls;
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

Nanoseconds median_of(std::vector<Nanoseconds> times) {
  std::ranges::sort(times);
  return times.empty() ? Nanoseconds(0) : (times[(times.size() - 1) / 2] + times[times.size() / 2]) * 0.5;
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
  pair.reference_calls = calls_for(*reference_);
  reference_->freeze();
  candidate_->thaw();
  calls_for(*candidate_);
  candidate_->freeze();
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
  pair.candidate_calls = calls_for(*candidate_);
  candidate_->freeze();
  const bool is_alike = was_held == is_held_;
  if (!is_alike) {
    reference_->thaw();
    pair.reference_calls = calls_for(*reference_);
    reference_->freeze();
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

}  // namespace

std::vector<CandidateJudgement> judge(const JudgeRequest& request, const StartWorker& start) {
  std::vector<CandidateJudgement> judged;
  std::uint64_t number = 0;
  for (const std::string& candidate : request.candidates) {
    judged.push_back({.candidate = candidate, .cases = {}});
    for (const CaseValues& values : request.cases) {
      const auto is_this = [&](const RepeatedLink& each) {
        return each.candidate + 1 == judged.size() && each.each_case == judged.back().cases.size();
      };
      const auto repeated = std::ranges::find_if(request.repeated, is_this);
      // Keys differ between candidates: what one learnt is of no use to the next.
      Trial trial(request, start, candidate, values, number++);
      judged.back().cases.push_back(trial.run(repeated == request.repeated.end() ? nullptr : &*repeated));
    }
  }
  reach_verdicts(judged, request.margin);
  return judged;
}

}  // namespace jitterscope::judging
