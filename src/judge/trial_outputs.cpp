#include <algorithm>
#include <array>
#include <future>
#include <utility>

#include "base/quantity_text.hpp"
#include "judge/trial.hpp"

// The processes of a trial and whether what the candidate gives is right.

namespace jitterscope::judging {
namespace {

constexpr std::int64_t kKeysOfCase = 8;
constexpr std::array kTriedFamilies = {Family::normal, Family::rows, Family::spikes, Family::structured};

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

}  // namespace

AnswerRequest Trial::asked(const Seed& seed) const {
  return {.seeds = seeds_of_call(shape_, seed, persistent_), .families = own_families(shape_)};
}

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
    const Outputs given = reference_->answer(asked(seed_of(next_key(Use::first), "first"))).outputs;
    outputs_ = given.descriptions;
    describe_work();
    // A worker keeps float16 outputs and, behind them, the same in float64: five times the bytes in all.
    constexpr std::size_t kShare = 5;
    if (given.bytes.empty() || kShare * given.bytes.size() > reference_->room()) {
      throw UsageError(
          fmt::format("a call's outputs have {}, and at most {} can be judged; take a smaller case",
                      bytes_text(Bytes(static_cast<std::int64_t>(given.bytes.size()))),
                      bytes_text(Bytes(static_cast<std::int64_t>(reference_->room() / kShare)))));
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
    const std::vector<OutputDescription> given = candidate_->answer(first).outputs.descriptions;
    if (given.size() != outputs_.size()) {
      throw Found{Verdict::wrong, fmt::format("it returns {} where {} are right",
                                              counted(std::ssize(given), "output"), outputs_.size())};
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (given[i] == outputs_[i]) continue;
      throw Found{Verdict::wrong, fmt::format("output {} is {} where {} is right", i, to_string(given[i]),
                                              to_string(outputs_[i]))};
    }
  });
}

Truth Trial::truth_of(AnswerRequest request) {
  return of_reference([&] {
    request.is_strided = false;
    request.with_float64 = true;
    const Answer answer = reference_->answer(request);
    Truth truth{.rounded = numbers_of(outputs_, answer.outputs.bytes),
                .exact = numbers_of(answer.of_float64.descriptions, answer.of_float64.bytes)};
    const auto is_alike = [](const std::vector<double>& a, const std::vector<double>& b) {
      return a.size() == b.size();
    };
    if (!std::ranges::equal(truth.exact, truth.rounded, is_alike)) {
      throw UsageError("the reference's outputs have other shapes where its inputs are float64");
    }
    return truth;
  });
}

std::optional<Wrong> Trial::wrong_in(const AnswerRequest& request, NotFinite not_finite) {
  // Both sides at once: nothing is timed.
  std::future<Outputs> asked = std::async(
      std::launch::async, [&] { return of_candidate([&] { return candidate_->answer(request); }).outputs; });
  const Truth truth = truth_of(request);
  const Outputs given = asked.get();
  if (given.descriptions != outputs_) {
    throw Found{Verdict::wrong, "its outputs have other shapes or types from one call to the next"};
  }
  return find_wrong(outputs_, numbers_of(outputs_, given.bytes), truth.rounded, truth.exact, not_finite);
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

namespace {

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

}  // namespace

// Each link that a candidate ever made is kept with the same probability.
void Trial::keep_some_links(const Key& key, const std::vector<Seed>& seeds,
                            std::span<const std::uint8_t> outputs) {
  const std::size_t bytes = bytes_of(outputs_);
  for (std::size_t call = 0; call < seeds.size(); ++call) {
    const auto seen = static_cast<std::uint64_t>(links_seen_++);
    const auto links = static_cast<std::uint64_t>(request_.links);
    const std::uint64_t place = seen < links ? seen : choice_.below(seen + 1);
    if (place >= links) continue;
    if (place >= links_.size()) links_.emplace_back();
    const auto kept = outputs.subspan(call * bytes, bytes);
    links_[place] = {key, static_cast<std::int64_t>(call), seeds[call], {kept.begin(), kept.end()}};
  }
}

LookedAt Trial::look_at_chains() {
  if (made_.empty()) return {};
  const std::vector<MadeChain> chains = std::exchange(made_, {});
  std::int64_t calls = 0;
  for (const MadeChain& each : chains) calls += each.calls;
  LookedAt looked{.last_seed = {}, .shown = of_candidate([&] { return candidate_->show(calls); })};
  const std::size_t bytes = bytes_of(outputs_);
  std::size_t from = 0;
  for (const MadeChain& each : chains) {
    const std::size_t size = bytes * static_cast<std::size_t>(each.calls);
    const Digest first = first_digest_of(each.key);
    std::vector<Digest> digests;
    if (looked.shown.outputs.size() >= from + size) {
      digests = digests_of(each.key, first, looked.shown.outputs.subspan(from, size),
                           static_cast<std::size_t>(each.calls));
    }
    if (digests.empty() || digests.back() != each.last) {
      throw Found{Verdict::invalid, "the last digest is not that of the outputs that it kept",
                  InvalidReason::link_broken, hexadecimal(each.key.bytes)};
    }
    std::vector<Seed> seeds = {seed_after(first)};
    for (const Digest& digest : digests) seeds.push_back(seed_after(digest));
    seeds.pop_back();  // of a call that was not made
    judgement_.calls_timed += each.calls;
    keep_some_links(each.key, seeds, looked.shown.outputs.subspan(from, size));
    from += size;
    looked.last_seed = seeds.back();
  }
  const Key& key = chains.back().key;
  if (looked.shown.inputs == digest_of_inputs(shape_, key, looked.last_seed, persistent_)) return looked;
  throw Found{Verdict::invalid, "an input is not what it was before the call", InvalidReason::input_changed,
              hexadecimal(key.bytes)};
}

// The reference computes the next link while this one is compared.
void Trial::check_links() {
  std::future<std::optional<Wrong>> comparing;
  const Link* compared = nullptr;
  const auto refuse_compared = [&] {
    if (compared == nullptr) return;
    if (const auto wrong = comparing.get()) {
      throw Found{Verdict::wrong,
                  fmt::format("call {} of a timed chain: {}", compared->call, to_string(*wrong)),
                  InvalidReason::none, hexadecimal(compared->key.bytes), compared->call};
    }
    ++judgement_.links_checked;
  };
  for (const Link& link : links_) {
    Truth truth = truth_of(asked(link.seed));
    refuse_compared();
    compared = &link;
    comparing = std::async(std::launch::async, [this, &link, truth = std::move(truth)] {
      return find_wrong(outputs_, numbers_of(outputs_, link.outputs), truth.rounded, truth.exact,
                        NotFinite::must_agree);
    });
  }
  refuse_compared();
  links_.clear();
  links_seen_ = 0;
}

// Whatever depends on how long a chain was is left out: a chain of as many calls as it takes, and its last.
void Trial::repeat(const RepeatedLink& repeated) {
  tell("the call that was found before");
  begin_reference();
  start_candidate();
  load_candidate();
  const std::int64_t calls = repeated.call + 1;
  timed(*candidate_, {.key = repeated.key, .calls = calls, .is_held = false});
  const LookedAt looked = look_at_chains();
  const std::size_t bytes = bytes_of(outputs_);
  const auto last = looked.shown.outputs.subspan(static_cast<std::size_t>(repeated.call) * bytes, bytes);
  links_ = {Link{repeated.key, repeated.call, looked.last_seed, {last.begin(), last.end()}}};
  check_links();
  judgement_.findings.emplace_back("right_where_it_was_wrong");
}

}  // namespace jitterscope::judging
