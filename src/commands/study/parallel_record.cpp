#include "commands/study/parallel_record.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "output/cells.hpp"
#include "plan/arrangement.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, ParallelStudyRank>& rank) {
  fields("host", rank.host);
  fields("device", rank.device);
  fields("computing", rank.computing);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, AddedTime>& added) {
  fields("value_seconds", added.value);
  fields("low_seconds", added.low);
  fields("high_seconds", added.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, StepTimes>& times) {
  fields("time", times.time);
  fields("group_seconds", times.groups);
  fields("over_first", times.over_first);
  fields("computing", times.computing);
  fields("computing_of_ranks_seconds", times.computing_of_ranks);
  fields("exposed", times.exposed);
  fields("exchange", times.exchange);
  fields("computing_slowed", times.computing_slowed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ParallelStudyCut>& cut) {
  fields("even_seconds", cut.computing.even);
  fields("not_cut_seconds", cut.computing.not_cut);
  fields("products_seconds", cut.computing.products);
  fields("rest_seconds", cut.computing.rest);
  fields("from_whole_seconds", cut.from_whole);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::PipelineArm>& pipeline) {
  fields("first_layers", pipeline.first_layers);
  fields("even_seconds", pipeline.parts.even);
  fields("smaller_seconds", pipeline.parts.smaller);
  fields("bubble_seconds", pipeline.parts.bubble);
  fields("uneven_seconds", pipeline.parts.uneven);
  fields("sends_seconds", pipeline.parts.sends);
  fields("in_line_seconds", pipeline.parts.in_line);
  fields("rest_seconds", pipeline.parts.rest);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ParallelStudyArm>& arm) {
  fields("name", arm.name);
  fields("parts", arm.parts);
  fields("stages", arm.stages);
  fields("micro_batches", arm.micro_batches);
  fields("exchanges", arm.exchanges);
  fields("steps", arm.steps);
  fields("memory_bytes", arm.memory);
  fields("simulated_seconds", arm.simulated);
  fields("times", arm.times);
  fields("cut", arm.cut);
  fields("pipeline", arm.pipeline);
  fields("failure", arm.failure);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ParallelStudyRecord>& record) {
  fields("study", record.study);
  fields("question", record.question);
  fields("network", record.network);
  fields("samples", record.samples);
  fields("weights_bytes", record.weights);
  fields("dtype", record.dtype);
  fields("library", record.library);
  fields("settings", record.settings);
  fields("groups", record.groups);
  fields("ranks", record.ranks);
  fields("slowest", record.slowest);
  fields("waiting", record.waiting);
  fields("arms", record.arms);
  fields("answers", record.answers);
  fields("notes", record.notes);
}

std::string write_record(const ParallelStudyRecord& record) {
  return write_envelope("parallel-study", record);
}

void read_fields(const Json& document, const std::string& name, ParallelStudyRecord& record) {
  record = read_envelope<ParallelStudyRecord>(document, name);
  if (record.slowest < 0 || (!record.ranks.empty() && record.slowest >= std::ssize(record.ranks)))
    throw UsageError(name + ": slowest names a rank that the record does not have; the file is damaged");
}

namespace {

bool cuts_layers(const ParallelStudyRecord& record) {
  return std::ranges::any_of(record.arms, [](const ParallelStudyArm& arm) { return arm.parts > 1; });
}

bool has_stages(const ParallelStudyRecord& record) {
  return std::ranges::any_of(record.arms, [](const ParallelStudyArm& arm) { return arm.stages > 1; });
}

// True if the ranks work on one batch.
bool shares_batch(const ParallelStudyRecord& record) { return cuts_layers(record) || has_stages(record); }

// The share of the step in which a rank computes nothing, on the mean.
std::optional<double> idle_share(const ParallelStudyArm& arm) {
  const std::vector<Nanoseconds>& ranks = arm.times.computing_of_ranks;
  if (ranks.empty() || !(arm.times.time.median > Nanoseconds(0))) return std::nullopt;
  Nanoseconds sum;
  for (const Nanoseconds each : ranks) sum += each;
  return std::max(1.0 - sum / (arm.times.time.median * static_cast<double>(ranks.size())), 0.0);
}

bool has_times(const ParallelStudyArm& arm) { return arm.failure.empty() && !arm.times.groups.empty(); }

// The fastest arm that exchanges in each step; null if none was measured.
const ParallelStudyArm* fastest_of(const ParallelStudyRecord& record) {
  const ParallelStudyArm* fastest = nullptr;
  for (const ParallelStudyArm& arm : record.arms) {
    if (!has_times(arm) || arm.exchanges == 0 || arm.steps > 1) continue;
    if (fastest == nullptr || arm.times.time.median < fastest->times.time.median) fastest = &arm;
  }
  return fastest;
}

std::string interval_text(const RatioEstimate& ratio) {
  return fmt::format("{} to {}", change_text(ratio.low - 1.0), change_text(ratio.high - 1.0));
}

Text arms_table(const ParallelStudyRecord& record, std::size_t width) {
  TableColumn arm{"arm", Align::left, {}}, step{"step", Align::right, {}},
      error{"± 95 %", Align::right, {}, 3},
      over{shares_batch(record) ? "over one" : "over none", Align::right, {}},
      interval{"95 %", Align::right, {}, 4}, exposed{"exposed", Align::right, {}},
      exchange{"exchange", Align::right, {}, 2}, hidden{"hidden", Align::right, {}, 1},
      slowed{"slows kernels", Align::right, {}, 5}, simulated{"planned", Align::right, {}},
      memory{"memory", Align::right, {}}, computing{"computes", Align::right, {}},
      idle{"idle", Align::right, {}}, bubble{"bubble", Align::right, {}, 1};
  for (const ParallelStudyArm& each : record.arms) {
    const StepTimes& times = each.times;
    const bool measured = has_times(each);
    arm.cells.push_back(one_line(each.name));
    step.cells.push_back(
        measured ? time_text(times.time.median, has_interval(times.time) ? times.time.precision() : 0.005)
                 : std::string(kAbsent));
    error.cells.push_back(measured && has_interval(times.time) ? percent_text(times.time.precision())
                                                               : std::string(kAbsent));
    over.cells.push_back(measured && times.over_first ? change_text(times.over_first->ratio - 1.0)
                                                      : std::string(kAbsent));
    interval.cells.push_back(measured && times.over_first ? interval_text(*times.over_first)
                                                          : std::string(kAbsent));
    computing.cells.push_back(measured && times.computing ? time_text(times.computing->median)
                                                          : std::string(kAbsent));
    exposed.cells.push_back(measured && times.exposed
                                ? time_text(std::max(times.exposed->value, Nanoseconds(0)))
                                : std::string(kAbsent));
    exchange.cells.push_back(measured && times.exchange ? time_text(times.exchange->median)
                                                        : std::string(kAbsent));
    const std::optional<double> share = hidden_share(times);
    hidden.cells.push_back(measured && share ? percent_text(*share) : std::string(kAbsent));
    slowed.cells.push_back(measured && times.computing_slowed ? change_text(*times.computing_slowed)
                                                              : std::string(kAbsent));
    simulated.cells.push_back(each.simulated > Nanoseconds(0) ? time_text(each.simulated)
                                                              : std::string(kAbsent));
    const std::optional<double> idles = idle_share(each);
    idle.cells.push_back(measured && idles ? percent_text(*idles) : std::string(kAbsent));
    bubble.cells.push_back(measured && each.pipeline
                               ? percent_text(each.pipeline->parts.bubble / times.time.median)
                               : std::string(kAbsent));
    memory.cells.push_back(each.memory.value() > 0 ? plan::memory_text(each.memory) : std::string(kAbsent));
  }
  std::vector<TableColumn> columns = {arm,       step,    error,  over,     interval,
                                      simulated, exposed, hidden, exchange, slowed};
  if (cuts_layers(record))  // nothing runs beside an exchange between two parts of a layer
    columns = {arm, step, error, over, interval, simulated, computing, exposed, exchange};
  if (has_stages(record)) columns = {arm, step, error, over, interval, simulated, computing, idle, bubble};
  // Only where the arms are about it.
  const bool differs = std::ranges::any_of(
      record.arms, [&](const ParallelStudyArm& each) { return each.memory != record.arms.front().memory; });
  if (differs) columns.push_back(memory);
  return fitted_table(columns, width);
}

Text ranks_table(const ParallelStudyRecord& record, std::size_t width) {
  TableColumn rank{"rank", Align::right, {}}, host{"host", Align::left, {}, 2},
      device{"device", Align::left, {}, 1}, step{"computes", Align::right, {}},
      error{"± 95 %", Align::right, {}};
  for (std::size_t r = 0; r < record.ranks.size(); ++r) {
    const ParallelStudyRank& each = record.ranks[r];
    const bool known = each.computing.rounds > 0, exact = known && has_interval(each.computing);
    rank.cells.push_back(fmt::format("{}", r));
    host.cells.push_back(one_line(each.host));
    device.cells.push_back(one_line(each.device));
    step.cells.push_back(known ? time_text(each.computing.median, exact ? each.computing.precision() : 0.005)
                               : std::string(kAbsent));
    error.cells.push_back(exact ? percent_text(each.computing.precision()) : std::string(kAbsent));
  }
  return fitted_table({rank, host, device, step, error}, width);
}

std::string facts_of(const ParallelStudyRecord& record) {
  const bool shares = shares_batch(record);
  std::string text = fmt::format(
      "**{}**, {} {} {} ({}): {} of weights, {} exchanged in {}", one_line(record.network),
      counted(record.samples, "sample"), shares ? "in all on" : "for each of",
      counted(std::ssize(record.ranks), "rank"), one_line(record.device.name), bytes_text(record.weights),
      has_stages(record) ? "activations"
      : shares           ? "parts of sums"
                         : "gradients",
      has_stages(record) ? "micro-batches" : one_line(record.dtype));
  if (!record.library.empty()) text += fmt::format(" by {}", one_line(record.library));
  for (const Property& setting : record.settings)
    text += fmt::format(", {}={}", one_line(setting.key), one_line(setting.value));
  return text + fmt::format("; {} of fresh processes.", counted(record.groups, "group"));
}

}  // namespace

Text record_text(const ParallelStudyRecord& record, const ShownPage& shown) {
  Text text = wrapped(one_line(record.question), shown.width) + "\n";
  for (const std::string& answer : record.answers) text += wrapped(one_line(answer), shown.width);
  if (!record.answers.empty()) text += "\n";
  if (record.ranks.empty()) {
    return text + without_results(record.interrupted, "arms", "group of ranks", record.notes, shown.width);
  }
  text += wrapped(facts_of(record), shown.width) + "\n" + arms_table(record, shown.width);
  if (shown.details && !record.ranks.empty()) text += "\n" + ranks_table(record, shown.width);
  text +=
      "\n" +
      wrapped(has_stages(record)
                  ? "over one: the step over that of one GPU for the same batch. computes: the rank that "
                    "computes longest. idle: the share of the step in which a rank computes nothing, on the "
                    "mean; bubble: what of the step equal stages idle while the pipeline fills and empties. "
                    "planned: as simulated from the times of layers and sends."
              : cuts_layers(record)
                  ? "over one: the step over that of one GPU for the same batch. computes: the slowest "
                    "rank's part without an exchange. exposed: what the exchanges add to that; "
                    "exchange: what they take alone. planned: as simulated from the times of the cut "
                    "layers and of exchanges."
                  : "over none: the step over the slowest rank's computing alone. exposed: what the "
                    "exchange adds to that. hidden: the share of its time alone that the computing "
                    "hides. planned: as simulated from the times of layers and exchanges.",
              shown.width);
  std::vector<std::string> sentences = record.notes;
  for (const ParallelStudyArm& arm : record.arms)
    if (!arm.failure.empty()) sentences.push_back(fmt::format("{}: {}", arm.name, arm.failure));
  if (!sentences.empty()) text += "\n";
  for (const std::string& each : sentences) text += list_item(one_line(each), shown.width);
  if (record.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

Headline headline_of(const ParallelStudyRecord& record) {
  Headline headline{.subject = fmt::format("a step of {} on {}", one_line(record.network),
                                           counted(std::ssize(record.ranks), "rank")),
                    .marks = {one_line(record.study), counted(record.groups, "group")}};
  const ParallelStudyArm* fastest = fastest_of(record);
  if (fastest == nullptr) return headline;
  headline.subject += ": " + one_line(fastest->name);
  const TimeEstimate& time = fastest->times.time;
  headline.number = time_text(time.median, has_interval(time) ? time.precision() : 0.005);
  if (has_interval(time)) headline.error = "± " + percent_text(time.precision());
  return headline;
}

}  // namespace jitterscope

namespace jitterscope::report {
namespace {

constexpr const char* kParts = R"({
    "width": "$width", "height": "$height", "data": "$rows",
    "encoding": {"y": "$y"},
    "layer": [
      {"mark": {"type": "bar"}, "encoding": {
        "x": {"field": "time:Q", "title": "$title", "stack": "zero"}, "order": {"field": "order:O"},
        "color": {"field": "part:N", "title": null, "scale": {"domain": "$parts", "range": "$colors"}},
        "tooltip": [["name:N", "arm"], ["part:N", "part"], ["time", "$title"]]}},
      {"mark": {"type": "tick", "color": "black", "thickness": 2, "size": 20}, "encoding": {
        "x": {"field": "planned:Q"}, "tooltip": [["name:N", "arm"], ["planned", "planned"]]}}]})";

constexpr const char* kCaption =
    "What the slowest rank computes, and what the exchange adds. A stroke marks the step as planned from the "
    "times of layers and exchanges.";
constexpr const char* kCaptionOfCuts =
    "What the slowest rank computes, and what the exchanges add. Of an arm in parts it is its share of the "
    "whole, and more by what each rank has whole and by smaller calls, which use a GPU less well. A stroke "
    "marks the step as planned from the times of cut layers and exchanges.";

constexpr const char* kCaptionOfStages =
    "What a rank computes on the mean, and what it waits for: until the pipeline is full and while it empties, "
    "for slower stages, for sends, and the rest, which the plan does not know. A stroke marks the step as "
    "planned from the times of layers and sends.";

// A piece of a stacked bar; parts_of has them from the left.
struct BarPart {
  const char* name;
  Nanoseconds time;
};
std::vector<BarPart> parts_of(const ParallelStudyArm& arm) {
  const auto above_zero = [](Nanoseconds time) { return std::max(time, Nanoseconds(0)); };
  if (arm.pipeline) {
    const study::PipelineParts& parts = arm.pipeline->parts;
    return {{"computing", parts.even + parts.smaller},
            {"bubble", above_zero(parts.filling())},
            {"uneven stages", parts.more_by_stages()},
            {"sends", above_zero(parts.sends + parts.in_line)},
            {"rest", above_zero(parts.rest)}};
  }
  const Nanoseconds exposed = arm.times.exposed ? above_zero(arm.times.exposed->value) : Nanoseconds(0);
  Nanoseconds not_cut, smaller;
  if (arm.cut) {
    not_cut = above_zero(arm.cut->computing.not_cut);
    smaller = above_zero(arm.cut->computing.products + arm.cut->computing.rest);
  }
  return {{"computing", arm.times.time.median - exposed - not_cut - smaller},
          {"whole on each rank", not_cut},
          {"smaller calls", smaller},
          {"exposed", exposed}};
}

Plot steps_by_arm(const ParallelStudyRecord& record) {
  Nanoseconds largest;
  for (const ParallelStudyArm& arm : record.arms) largest = std::max(largest, arm.times.time.median);
  const TimeUnit unit = unit_for(largest);
  Plot plot{.id = "steps",
            .title = "The step by arrangement",
            .caption = has_stages(record)    ? kCaptionOfStages
                       : cuts_layers(record) ? kCaptionOfCuts
                                             : kCaption,
            .spec = {},
            .table = columns_of({"arm", ">step", ">exposed", ">planned"})};
  Json rows = Json::array();
  std::vector<std::string> names;
  for (const ParallelStudyArm& arm : record.arms) {
    if (!has_times(arm)) continue;
    names.push_back(arm.name);
    int order = 0;
    for (const BarPart& part : parts_of(arm)) {
      Json row = {
          {"name", arm.name}, {"part", part.name}, {"order", order}, {"time", rounded(unit.of(part.time))}};
      if (order++ == 0 && arm.simulated > Nanoseconds(0)) row["planned"] = rounded(unit.of(arm.simulated));
      if (part.time > Nanoseconds(0)) rows.push_back(std::move(row));
    }
    const Nanoseconds exposed =
        arm.times.exposed ? std::max(arm.times.exposed->value, Nanoseconds(0)) : Nanoseconds(0);
    add_row(plot.table, {arm.name, time_text(arm.times.time.median), time_text(exposed),
                         arm.simulated > Nanoseconds(0) ? time_text(arm.simulated) : std::string(kAbsent)});
  }
  Json parts = {"computing", "exposed"}, colors = {kBlue, kOrange};
  if (cuts_layers(record)) {
    parts = {"computing", "whole on each rank", "smaller calls", "exposed"};
    colors = {kBlue, kTeal, kPurple, kOrange};
  }
  if (has_stages(record)) {
    parts = {"computing", "bubble", "uneven stages", "sends", "rest"};
    colors = {kBlue, kOrange, kTeal, kPurple, kGrey};
  }
  constexpr int kRow = 24, kLongest = 260;
  plot.spec = single_plot(filled(kParts, "rows", rows, "width", width_beside(names, kLongest), "height",
                                 height_of(names, kRow), "y", names_axis("name", names, kLongest), "title",
                                 unit.axis("step"), "parts", parts, "colors", colors));
  return plot;
}

}  // namespace

std::vector<Plot> plots_of(const ParallelStudyRecord& record) {
  if (std::ranges::none_of(record.arms, has_times)) return {};
  return {steps_by_arm(record)};
}

}  // namespace jitterscope::report
