#include "explain/explain.hpp"

#include <algorithm>
#include <cmath>

#include "explain/conditioning.hpp"
#include "explain/experiments.hpp"
#include "explain/observe.hpp"
#include "explain/processes.hpp"
#include "explain/verdicts.hpp"

namespace jitterscope::explain {
namespace {

// Shares of the time limit; what the first steps leave belongs to the pairs.
constexpr double kObserving = 0.1, kPlacing = 0.1, kScreening = 0.25;

class Study {
 public:
  Study(Session& session, const Operation& operation, const ExplainOptions& options)
      : options_(options),
        bench_(session, operation, options.seed),
        factors_(chosen(session, operation)),
        random_(options.seed),
        start_(session.device().host_time()) {
    found_.operation = operation.text();
    found_.provider = bench_.plain().provider();
    found_.algorithm = bench_.plain().algorithm();
    for (const Factor& factor : factors_) {
      (factor.not_available.empty() ? tried_ : not_available_).push_back(&factor);
    }
  }

  Explanation run() {
    found_.observation =
        observe(bench_, options_.time_limit * kObserving, random_, [&] { return is_interrupted(); });
    for (const Factor* factor : tried_) found_.factors.push_back(result_of(*factor));
    vary_at_random();
    screen_factors();
    confirm_factors();
    name_what_was_not_tried();
    found_.interrupted = is_interrupted();
    found_.duration = now() - start_;
    sort_factors();
    return std::move(found_);
  }

 private:
  std::vector<Factor> chosen(Session& session, const Operation& operation) const {
    FactorContext context = factor_context(session.device(), operation);
    context.may_be_gated = bench_.may_be_gated();
    return chosen_factors(context, options_.factors);
  }

  Nanoseconds now() { return bench_.session().device().host_time(); }
  double share_spent() { return std::min((now() - start_) / options_.time_limit, 1.0); }
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }

  ExperimentListeners listeners(double before, double share) {
    return {[this] { return is_interrupted(); },
            [this, before, share](const std::string& stage, double part) {
              if (options_.progress) options_.progress(stage, before + share * std::clamp(part, 0.0, 1.0));
            }};
  }

  static FactorResult result_of(const Factor& factor) {
    FactorResult result;
    result.id = factor.id;
    result.cause = factor.cause;
    result.usual = factor.usual;
    result.remedy = factor.remedy;
    result.not_told_from = factor.not_told_from;
    return result;
  }

  void vary_at_random() {
    if (!options_.factors.empty() || is_interrupted()) return;
    const Nanoseconds round = bench_.duration(Treatment()) + conditioning_time();
    const double most = options_.time_limit * kPlacing / (round * 2.0);
    constexpr double kFewest = 6, kMost = 30;
    found_.random_factors.push_back(vary_placement(bench_,
                                                   static_cast<std::size_t>(std::clamp(most, kFewest, kMost)),
                                                   random_, [&] { return is_interrupted(); }));
    if (options_.measure_in_processes && !is_interrupted()) {
      if (options_.progress) options_.progress("the same in fresh processes", kObserving);
      found_.random_factors.push_back(vary_process(options_.measure_in_processes, options_.time_limit));
    }
  }

  void screen_factors() {
    if (tried_.empty() || is_interrupted()) return;
    std::vector<const Factor*> ready;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      Treatment treatment;
      tried_[i]->doses.back().apply(treatment);
      try {
        bench_.rehearse(treatment);
      } catch (const Error&) {
        continue;  // said where it is to be confirmed
      }
      ready.push_back(tried_[i]);
      places.push_back(i);
    }
    const auto screened = screen(bench_, ready, options_.time_limit * kScreening, random_,
                                 listeners(share_spent(), kScreening));
    if (!screened) return;
    found_.screening_rounds = screened->rounds;
    for (std::size_t i = 0; i < places.size(); ++i) found_.factors[places[i]].screened = screened->factors[i];
    for (const RatioEstimate& dummy : screened->dummies) found_.dummies.push_back({dummy, std::nullopt});
  }

  void confirm_factors() {
    if (tried_.empty() || is_interrupted()) return;
    const double spent = share_spent();
    const PairedEffects paired =
        confirm(bench_, tried_, options_.time_limit * (1.0 - spent), random_, listeners(spent, 1.0 - spent));
    found_.blocks = paired.blocks;
    judge_factors(tried_, paired, found_.factors);
    for (std::size_t i = 0; i < paired.dummies.size(); ++i) {
      if (i >= found_.dummies.size()) found_.dummies.emplace_back();
      found_.dummies[i].paired = ratio_of_blocks(paired.dummies[i].log_times);
    }
  }

  void name_what_was_not_tried() {
    for (const Factor* factor : not_available_) {
      FactorResult result = result_of(*factor);
      result.verdict = FactorVerdict::not_identifiable;
      result.reason = factor->not_available;
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
  TreatedLoop bench_;
  std::vector<Factor> factors_;
  std::vector<const Factor*> tried_, not_available_;
  Random random_;
  Nanoseconds start_;
  Explanation found_;
};

}  // namespace

Explanation explain(Session& session, const Operation& operation, const ExplainOptions& options) {
  return Study(session, operation, options).run();
}

}  // namespace jitterscope::explain
