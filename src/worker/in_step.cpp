#include "worker/in_step.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/words.hpp"
#include "record/describe_measurement.hpp"
#include "record/envelope.hpp"
#include "record/run_file.hpp"
#include "record/values.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope {

std::string_view to_string(Question question) {
  switch (question) {
    case Question::launches_wait: return "launches_wait";
    case Question::is_long: return "is_long";
    case Question::was_held: return "was_held";
    case Question::was_recorded: return "was_recorded";
    case Question::can_trace: return "can_trace";
    case Question::has_woken: return "has_woken";
    case Question::ends_early: return "ends_early";
    case Question::shares_idle: return "shares_idle";
    case Question::out_of_time: return "out_of_time";
    case Question::sets: return "sets";
    case Question::are_precise: return "are_precise";
    case Question::lost_round: return "lost_round";
    case Question::was_asleep: return "was_asleep";
    case Question::needs_passes: return "needs_passes";
    case Question::end_load: return "end_load";
  }
  return "";
}
constexpr auto enumerators(Question) {
  using enum Question;
  return std::array{launches_wait, is_long,    was_held,    was_recorded, can_trace,
                    has_woken,     ends_early, shares_idle, out_of_time,  sets,
                    are_precise,   lost_round, was_asleep,  needs_passes, end_load};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SlopeShape>& slope) {
  fields("short_launches", slope.short_launches);
  fields("long_launches", slope.long_launches);
  fields("pairs", slope.pairs);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RoundShape>& shape) {
  fields("instrument", shape.instrument);
  fields("values", shape.values);
  fields("parts", shape.parts);
  fields("group", shape.group);
  fields("slope", shape.slope);
  fields("conditioning_launches", shape.conditioning_launches);
  fields("launches_wait", shape.launches_wait);
  fields("host_is_timed", shape.host_is_timed);
  fields("patience_seconds", shape.patience);
}

namespace {

// One line in either direction: a proposal, or the order that answers it.
struct Decision {
  std::optional<RoundShape> shape = {};
  std::optional<Question> question = {};
  std::vector<std::int64_t> values = {};
  std::vector<std::string> texts = {};  ///< for the other ranks: one, and in the order those of all
};

}  // namespace

template <class Fields>
void describe(Fields& fields, Described<Fields, Decision>& decision) {
  fields("shape", decision.shape);
  fields("question", decision.question);
  fields("values", decision.values);
  fields("texts", decision.texts);
}

namespace {

std::string written(const Decision& decision) { return write_value(decision).dump(); }
Decision decision_of(std::string_view line) {
  return read_value<Decision>(parse_document(line, "decision"), "decision");
}

bool is_decision(const Json& document) {
  return document.is_object() &&
         (document.contains("shape") || document.contains("question") || document.contains("texts"));
}

std::string asked_for(const Decision& proposal) {
  constexpr std::size_t kLongest = 100;
  if (!proposal.texts.empty()) {
    // The first line names the question.
    const std::string& text = proposal.texts.front();
    return "the other ranks in " + printable(text.substr(0, text.find('\n')), kLongest);
  }
  return proposal.question ? std::string(to_string(*proposal.question)) : "a shape";
}

bool are_of_one_kind(const Decision& one, const Decision& other) {
  return one.texts.empty() == other.texts.empty() && one.question == other.question;
}

using Partners = std::vector<std::unique_ptr<Partner>>;

void rethrow_error_of(std::string_view said, const std::string& name) {
  try {
    rethrow_written_error(said);
  } catch (const Error& error) {
    throw_as_kind(Error(error.kind(), name + ": " + error.what()));
  }
}

// A process that launches once more than the others waits for ranks that are elsewhere.
void require_one_kind(const std::vector<Decision>& proposals, const Partners& partners) {
  for (std::size_t rank = 1; rank < proposals.size(); ++rank) {
    if (are_of_one_kind(proposals.front(), proposals[rank])) continue;
    throw FailedError(fmt::format("processes in step are at unlike places: {} waits for {}, and {} for {}",
                                  partners[0]->name(), asked_for(proposals.front()), partners[rank]->name(),
                                  asked_for(proposals[rank])));
  }
}

Decision order_for(const std::vector<Decision>& proposals, bool all_end) {
  const Decision& first = proposals.front();
  std::vector<std::vector<std::int64_t>> values;
  Decision exchanged;
  for (const Decision& proposal : proposals) {
    values.push_back(proposal.values);
    exchanged.texts.insert(exchanged.texts.end(), proposal.texts.begin(), proposal.texts.end());
  }
  if (!first.texts.empty()) return exchanged;
  if (!first.question) return first;
  Decision order{.question = first.question, .values = settle(*first.question, values)};
  if (all_end && *first.question == Question::ends_early) order.values = {1};
  if (all_end && *first.question == Question::end_load) {
    order.values = {1 + static_cast<std::int64_t>(StopReason::interrupted)};
  }
  return order;
}

// Each process would choose by its own times.
void refuse_chosen_engines(const std::vector<WorkerPlan>& plans) {
  for (const WorkerPlan& plan : plans) {
    for (const std::vector<Trial>& group : plan.plan.groups) {
      for (const Trial& trial : group) {
        const std::string engine = trial.operation() == nullptr ? "" : engine_of(*trial.operation());
        if (engine == "best" || engine == "autotune") {
          throw UsageError(
              trial.subject.text() +
              ": an engine that is chosen by its times may be another in each process; name one");
        }
      }
    }
  }
}

}  // namespace

std::string OrderedAgreement::ask(const std::string& line) {
  constexpr int kPollMilliseconds = 1000;
  write_(line);
  while (!orders_.is_over()) {
    if (const auto order = orders_.next(kPollMilliseconds)) return *order;
  }
  throw OrdersLost("the process that decides has ended");
}

RoundShape OrderedAgreement::agree(const RoundShape& own) {
  const Decision order = decision_of(ask(written({.shape = own})));
  if (!order.shape) throw OrdersLost("order: no shape, which was asked for");
  return *order.shape;
}

std::vector<std::int64_t> OrderedAgreement::agree(Question question, const std::vector<std::int64_t>& own) {
  const Decision order = decision_of(ask(written({.question = question, .values = own})));
  if (order.question != question || order.values.size() != own.size()) {
    throw OrdersLost(fmt::format("order: no answer about {}, which was asked for", to_string(question)));
  }
  return order.values;
}

std::vector<std::string> OrderedAgreement::exchange(const std::string& own) {
  Decision order = decision_of(ask(written({.texts = {own}})));
  if (order.texts.size() != static_cast<std::size_t>(count_)) {
    throw OrdersLost("order: not the text of each rank, which was asked for");
  }
  return std::move(order.texts);
}

bool is_in_step(std::string_view plan_line) {
  const Json plan = Json::parse(plan_line, nullptr, false);
  return plan.is_object() && plan.value("is_in_step", Json()) == true;
}

std::string one_line_of(std::string_view record) { return Json::parse(record).dump(); }

std::vector<RunRecord> run_in_step(std::vector<WorkerPlan> plans, const WorkersInStep& workers) {
  refuse_chosen_engines(plans);
  const Nanoseconds time_limit = workers.time_limit.value_or(time_limit_of(plans.front().plan));
  Partners partners;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    partners.push_back(workers.start
                           ? workers.start(i)
                           : std::make_unique<LocalPartner>(workers.executable,
                                                            fmt::format("rank {} ({})", i, plans[i].device)));
  }
  std::vector<std::string> said;
  const auto tell_all = [&](const auto& line_of) {
    // Write to all before reading from the first: each waits for the others.
    for (std::size_t i = 0; i < partners.size(); ++i) partners[i]->tell(line_of(i));
    said = hear_all(partners, time_limit, workers.interrupted);
  };
  tell_all([&](std::size_t i) {
    plans[i].parent = partners[i]->parent();
    plans[i].is_in_step = true;
    plans[i].rank = static_cast<std::int64_t>(i);
    plans[i].ranks = static_cast<std::int64_t>(partners.size());
    return write_plan(plans[i]);
  });
  while (true) {
    std::vector<Decision> proposals;
    std::vector<std::size_t> asking, ended;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      const Json document = Json::parse(said[i], nullptr, false);
      (is_decision(document) ? asking : ended).push_back(i);
      if (is_decision(document)) {
        proposals.push_back(read_value<Decision>(document, "decision"));
      } else {
        rethrow_error_of(said[i], partners[i]->name());
      }
    }
    if (asking.empty()) break;
    if (!ended.empty()) {
      throw FailedError(fmt::format(
          "processes in step end at unlike places: {} has ended, and {} waits for {}",
          partners[ended.front()]->name(), partners[asking.front()]->name(), asked_for(proposals.front())));
    }
    require_one_kind(proposals, partners);
    std::string order = written(order_for(proposals, workers.interrupted && workers.interrupted()));
    tell_all([&](std::size_t) -> const std::string& { return order; });
  }
  std::vector<RunRecord> records;
  for (const std::string& line : said) records.push_back(read_run_record(line, "its output"));
  return records;
}

}  // namespace jitterscope
