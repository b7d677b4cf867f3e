#include "explain/explain.hpp"

#include <algorithm>
#include <cmath>

#include "explain/engine_shares.hpp"
#include "explain/experiments.hpp"
#include "explain/how_causes_act.hpp"
#include "explain/observe.hpp"
#include "explain/processes.hpp"
#include "explain/verdicts.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/subject.hpp"

namespace jitterscope::explain {
namespace {

// Shares of the time limit; the pairs get what the first steps leave.
constexpr double kObserving = 0.07, kPlacing = 0.04, kScreening = 0.25;
// Reserved for blocks without any of several causes at once.
constexpr double kTogether = 0.03;
// Reserved for finding what held the clock, and for counters: 4 s for a product with three causes (H100).
constexpr Nanoseconds kAfterPairs = seconds(3);
constexpr double kMostAfterPairs = 0.07;
constexpr double kResting = 0.02;  // with long rests between launches

class Study {
 public:
  Study(Session& session, const TrialSubject& subject, const ExplainOptions& options)
      : options_(options),
        start_(session.device().host_time()),
        bench_(session, subject, options.seed, options.start_neighbour),
        watch_(session.device()),
        factors_(chosen(session)),
        random_(options.seed) {
    found_.operation = subject.text();
    found_.provider = bench_.prepared_plain().provider;
    found_.algorithm = bench_.prepared_plain().algorithm;
    if (const CallableWork* callable = bench_.subject().callable();
        callable && callable->place != WorkPlace::queue) {
      found_.notes.push_back(sentence_of_place(*callable));
    }
    const Operation* operation = subject.operation();
    if (operation != nullptr && is_only_moved(*operation, session.device().describe()))
      found_.notes.emplace_back(kOnlyMoved);
  }

  Explanation run() {
    bench_.stop_when([this] { return stops(); });
    found_.observation =
        observe(bench_, options_.time_limit * kObserving, random_, listeners(0.0, kObserving));
    vary_at_random();
    leave_out();
    const FactorList &first = factors_.first(), &last = factors_.last();
    for (const Factor* factor : first) found_.factors.push_back(result_of(*factor));
    for (const Factor* factor : last) found_.factors.push_back(result_of(*factor));
    if (factors_.plan().has_all_doses) screen_factors(first);
    const Nanoseconds time = block_time(bench_, first, factors_.plan()),
                      time_of_last = block_time(bench_, last, factors_.plan());
    const double share = 1.0 - share_spent() - share_kept();
    if (!first.empty()) confirm_factors(first, share * (time / (time + time_of_last)));
    confirm_factors(last, 1.0 - share_spent() - share_kept());
    judge();
    name_what_was_not_tried();
    found_.interrupted = is_interrupted();
    found_.others = watch_.found();
    found_.duration = now() - start_;
    sort_factors();
    return std::move(found_);
  }

 private:
  std::vector<Factor> chosen(Session& session) {
    FactorContext context = factor_context(session.device(), bench_.subject());
    context.launches_wait = bench_.launches_wait();
    context.fits_queue = bench_.fits_queue();
    context.alignment = bench_.prepared_plain().alignment;
    context.has_row_strides = bench_.prepared_plain().has_row_strides;
    context.lies_in_pages = bench_.prepared_plain().lies_in_pages;
    context.starts_processes = static_cast<bool>(options_.start_neighbour);
    context.launch_time = bench_.launch_time();
    context.timer_grain = session.calibration().events.grain;
    if (const Operation* operation = bench_.subject().operation()) add_choices(session, *operation, context);
    return chosen_factors(context, options_.factors);
  }

  // Building plans for this may take seconds, so only long studies do it.
  void add_choices(Session& session, const Operation& operation, FactorContext& context) const {
    constexpr Nanoseconds kLongStudy = seconds(60);
    constexpr double kShare = 0.05;
    const bool is_asked =
        options_.factors.empty() || std::ranges::find(options_.factors, "engine") != options_.factors.end();
    if (!is_asked || context.engines.empty() || options_.time_limit < kLongStudy) return;
    const EngineShares shares =
        count_choices(session, operation, options_.seed, options_.time_limit * kShare);
    context.engine_note = sentence_of(shares);
    for (const EngineShare& share : shares.engines) {
      const bool is_known = std::ranges::find(context.engines, share.engine) != context.engines.end();
      if (!is_known) context.engines.push_back(share.engine);
    }
  }

  void leave_out() {
    if (factors_.set_caches()) bench_.time_evictions();
    const double share = std::max(1.0 - share_spent() - share_kept(), 0.0);
    factors_.fit(bench_, hints_of(bench_, found_.observation), options_.time_limit * share,
                 options_.time_limit * kScreening, !options_.factors.empty());
  }

  Nanoseconds now() { return bench_.session().device().host_time(); }
  double share_spent() { return std::min((now() - start_) / options_.time_limit, 1.0); }
  double share_kept() const {
    return kTogether + std::min(kAfterPairs / options_.time_limit, kMostAfterPairs);
  }
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  // Called between rounds. While our own neighbour process runs it must not be seen as another program.
  bool stops() {
    if (!bench_.has_neighbour()) watch_.look();
    return is_interrupted();
  }

  ExperimentListeners listeners(double before, double share) {
    return {[this] { return stops(); },
            [this, before, share](const std::string& stage, double part) {
              if (options_.progress)
                options_.progress(stage, std::min(before + share * std::clamp(part, 0.0, 1.0), 1.0));
            }};
  }

  static FactorResult result_of(const Factor& factor) {
    FactorResult result;
    result.id = factor.id;
    result.cause = factor.cause;
    result.usual = factor.usual;
    result.remedy = factor.remedy;
    result.not_told_from = factor.not_told_from;
    result.reason = factor.note;
    return result;
  }

  void vary_at_random() {
    if (!options_.factors.empty() || is_interrupted()) return;
    const double most = options_.time_limit * kPlacing / (round_time(bench_, Treatment()) * 2.0);
    constexpr double kMost = 30;
    found_.random_factors.push_back(vary_placement(bench_, static_cast<std::size_t>(std::min(most, kMost)),
                                                   random_, [&] { return stops(); }));
    const std::int64_t processes = processes_in(options_.time_limit, bench_.launch_time());
    if (!options_.process_times.empty()) {
      take_process_times(options_.process_times);
    } else if (options_.measure_in_processes && processes == 0) {
      found_.random_factors.push_back(process_without_time());
    } else if (options_.measure_in_processes && !is_interrupted()) {
      if (options_.progress) options_.progress("the same in fresh processes", share_spent());
      take_process_times(options_.measure_in_processes(processes));
    }
    if (options_.measure_on_each_gpu &&
        !has_time_for_processes(options_.gpus, options_.time_limit, bench_.launch_time())) {
      found_.random_factors.push_back(gpu_without_time());
    } else if (options_.measure_on_each_gpu && !is_interrupted()) {
      if (options_.progress) options_.progress("the same on each GPU", share_spent());
      found_.random_factors.push_back(vary_gpu(options_.measure_on_each_gpu()));
    }
  }

  void take_process_times(const std::vector<ProcessTime>& times) {
    found_.random_factors.push_back(vary_process(times));
    for (const ProcessTime& time : times) {
      found_.observation.first_work.launch_in_processes.push_back(time.first_call);
    }
  }

  void screen_factors(const FactorList& factors) {
    if (factors.empty() || is_interrupted()) return;
    FactorList ready;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      Treatment treatment;
      factors[i]->doses.back().apply(treatment);
      try {
        bench_.rehearse(treatment);
      } catch (const Error&) {
        continue;  // reported when it is to be confirmed
      }
      ready.push_back(factors[i]);
      places.push_back(i);
    }
    const auto screened = screen(bench_, ready, options_.time_limit * kScreening, random_,
                                 listeners(share_spent(), kScreening));
    if (!screened) return;
    found_.screening_rounds = screened->rounds;
    for (std::size_t i = 0; i < places.size(); ++i) found_.factors[places[i]].screened = screened->factors[i];
    for (const RatioEstimate& dummy : screened->dummies) found_.dummies.push_back({dummy, std::nullopt});
  }

  void confirm_factors(const FactorList& factors, double share) {
    if (factors.empty() || is_interrupted()) return;
    const double spent = share_spent();
    PairedEffects paired = confirm(bench_, factors, factors_.plan(), options_.time_limit * share, random_,
                                   listeners(spent, share));
    for (PairedEffect& dose : paired.doses) {
      dose.factor += judged_.size();
      paired_.doses.push_back(std::move(dose));
    }
    for (PairedEffects::Failure& failure : paired.failures) {
      failure.factor += judged_.size();
      paired_.failures.push_back(std::move(failure));
    }
    for (const std::size_t factor : paired.left_out) paired_.left_out.push_back(factor + judged_.size());
    paired_.dummies.resize(kDummies);
    for (std::size_t i = 0; i < paired.dummies.size(); ++i) {
      std::vector<double>& all = paired_.dummies[i].log_times;
      all.insert(all.end(), paired.dummies[i].log_times.begin(), paired.dummies[i].log_times.end());
    }
    if (paired_.blocks == 0) {
      paired_.blocks = paired.blocks;
      paired_.log_plain = paired.log_plain;
    }
    judged_.insert(judged_.end(), factors.begin(), factors.end());
  }

  void judge() {
    if (judged_.empty()) return;
    found_.blocks = paired_.blocks;
    const std::vector<std::size_t> doses = judge_factors(judged_, paired_, found_.factors);
    for (const std::size_t factor : paired_.left_out)
      found_.factors[factor].verdict = FactorVerdict::left_out;
    found_.plain = plain_level(paired_);
    const JudgedFactors known{bench_,
                              judged_,
                              doses,
                              found_.factors,
                              [this] { return is_interrupted(); },
                              [this] { return options_.time_limit - (now() - start_); }};
    if (!is_interrupted()) {
      found_.fastest =
          find_fastest_loop(known, options_.time_limit * kTogether, random_, listeners(1.0, 0.0));
    }
    find_what_held_the_clock(known);
    let_causes_rest(known, options_.time_limit * kResting, random_, listeners(share_spent(), 0.0));
    found_.without_counters = count_causes(known);
    for (std::size_t i = 0; i < paired_.dummies.size(); ++i) {
      if (i >= found_.dummies.size()) found_.dummies.emplace_back();
      found_.dummies[i].paired = ratio_of_blocks(paired_.dummies[i].log_times);
    }
  }

  void name_what_was_not_tried() {
    for (const Factor* factor : factors_.not_available()) {
      FactorResult result = result_of(*factor);
      result.verdict = FactorVerdict::not_identifiable;
      result.reason = factor->not_available;
      found_.factors.push_back(std::move(result));
    }
    for (const Factor* factor : factors_.left_out()) {
      FactorResult result = result_of(*factor);
      result.verdict = FactorVerdict::left_out;
      found_.factors.push_back(std::move(result));
    }
  }

  void sort_factors() {
    const auto size = [](const FactorResult& factor) {
      return factor.doses.empty() ? 0.0 : std::abs(std::log(factor.doses[factor.strongest].time.ratio));
    };
    std::ranges::stable_sort(found_.factors, [&](const FactorResult& a, const FactorResult& b) {
      if (a.verdict != b.verdict) return a.verdict < b.verdict;
      return size(a) > size(b);
    });
  }

  const ExplainOptions& options_;
  Nanoseconds start_;
  TreatedLoop bench_;
  ProcessWatch watch_;
  TriedFactors factors_;
  FactorList judged_;  ///< in the order of the results
  PairedEffects paired_;
  Random random_;
  Explanation found_;
};

}  // namespace

Explanation explain(Session& session, const TrialSubject& subject, const ExplainOptions& options) {
  return Study(session, subject, options).run();
}

}  // namespace jitterscope::explain
