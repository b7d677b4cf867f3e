#include "commands/plan/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "plan/arrangement.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, ForecastTime>& time) {
  fields("value_seconds", time.value);
  fields("low_seconds", time.low);
  fields("high_seconds", time.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ForecastStep>& step) {
  fields("arrangement", step.arrangement);
  fields("data", step.data);
  fields("tensor", step.tensor);
  fields("pipeline", step.pipeline);
  fields("step", step.step);
  fields("samples_per_second", step.samples_per_second);
  fields("speedup", step.speedup);
  fields("computing_seconds", step.computing);
  fields("bubble_seconds", step.bubble);
  fields("exposed_seconds", step.exposed);
  fields("straggler_seconds", step.straggler);
  fields("launch_seconds", step.launch);
  fields("hidden_seconds", step.hidden);
  fields("weights_bytes", step.weights);
  fields("gradients_bytes", step.gradients);
  fields("optimizer_bytes", step.optimizer);
  fields("activations_bytes", step.activations);
  fields("fits", step.fits);
  fields("assumed", step.is_assumed);
  fields("straggler_adds_seconds", step.straggler_adds);
  fields("limit", step.limit);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ForecastRanks>& ranks) {
  fields("ranks", ranks.ranks);
  fields("considered", ranks.considered);
  fields("fitting", ranks.fitting);
  fields("steps", ranks.steps);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ForecastExchange>& exchange) {
  fields("exchange", exchange.exchange);
  fields("ranks", exchange.ranks);
  fields("alpha_seconds", exchange.alpha);
  fields("bytes_per_second", exchange.bytes_per_second);
  fields("distance", exchange.distance);
  fields("assumed", exchange.is_assumed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ForecastSpan>& span) {
  fields("rank", span.rank);
  fields("phase", span.phase);
  fields("name", span.name);
  fields("begin_seconds", span.begin);
  fields("end_seconds", span.end);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ForecastRecord>& record) {
  fields("network", record.network);
  fields("from", record.from);
  fields("collectives", record.collectives);
  fields("times", record.times);
  fields("samples", record.samples);
  fields("micro_batches", record.micro_batches);
  fields("gpus_per_host", record.gpus_per_host);
  fields("blocks", record.blocks);
  fields("weights_bytes", record.weights);
  fields("memory_bytes", record.memory);
  fields("forward", record.forward);
  fields("backward", record.backward);
  fields("straggler", record.straggler);
  fields("compute_tax", record.compute_tax);
  fields("communication_tax", record.communication_tax);
  fields("exchanges", record.exchanges);
  fields("ranks", record.ranks);
  fields("drawn_arrangement", record.drawn_arrangement);
  fields("drawn_ranks", record.drawn_ranks);
  fields("spans", record.spans);
  fields("notes", record.notes);
}

std::string write_record(const ForecastRecord& record) { return write_envelope("plan", record); }

void read_fields(const Json& document, const std::string& name, ForecastRecord& record) {
  record = read_envelope<ForecastRecord>(document, name);
  for (const ForecastRanks& ranks : record.ranks) {
    if (ranks.steps.empty()) throw UsageError(name + ": ranks without a step; the file is damaged");
    for (const ForecastStep& step : ranks.steps) {
      for (const Bytes part : {step.weights, step.gradients, step.optimizer, step.activations})
        if (part.value() < 0 || part.value() > std::numeric_limits<std::int64_t>::max() / 4)
          throw UsageError(name + ": memory of no possible size; the file is damaged");
    }
  }
}

namespace {

double precision_of(const ForecastTime& time) {
  return time.value > Nanoseconds(0) ? (time.high - time.low) * 0.5 / time.value : 0.0;
}

std::string step_text(const ForecastTime& time) {
  const double precision = precision_of(time);
  return time_text(time.value, precision > 0.0 ? precision : 0.005);
}

std::string step_with_interval(const ForecastTime& time) {
  const double precision = precision_of(time);
  return precision > 0.0 ? fmt::format("{} ± {}", step_text(time), percent_text(precision)) : step_text(time);
}

std::string share_text_of(Nanoseconds part, const ForecastStep& step) {
  return part > Nanoseconds(0) ? percent_text(part / step.step.value) : std::string(kAbsent);
}

std::string count_text(double number) {
  constexpr double kThousand = 1000.0;
  if (number < kThousand) return fmt::format("{:.3g}", number);
  return rate_text(number, "");
}

std::string factor_text(double factor) {
  constexpr double kWhole = 1000.0;
  return factor < kWhole ? fmt::format("{:.3g}", factor) : fmt::format("{:.0f}", factor);
}

// How exchanges between so many GPUs are known.
std::string network_word(const ForecastRecord& record, std::int64_t ranks, const ForecastStep& step) {
  if (step.is_assumed) return "assumed";
  std::int64_t measured = 0;
  for (const ForecastExchange& exchange : record.exchanges) measured = std::max(measured, exchange.ranks);
  return ranks <= measured ? "measured" : "extended";
}

// Names the largest cause that holds a step back, with its share.
std::string limit_text(const ForecastStep& step) {
  const std::array<std::pair<Nanoseconds, const char*>, 4> causes = {
      {{step.bubble, "bubbles of the pipeline take {}"},
       {step.exposed, "communication that nothing hides takes {}"},
       {step.straggler, "waiting for other ranks takes {}"},
       {step.launch, "launches of the host take {}"}}};
  const auto& largest = *std::ranges::max_element(causes);
  constexpr double kWorthSaying = 1e-3;
  if (largest.first < step.step.value * kWorthSaying) return "nothing but computing takes time";
  return fmt::format(fmt::runtime(largest.second), percent_text(largest.first / step.step.value) + " of it");
}

std::string answer(const ForecastRecord& record, const ForecastRanks& ranks) {
  const ForecastStep& best = ranks.steps.front();
  if (!best.fits)
    return fmt::format(
        "**{}**: nothing fits. {} needs least, {} of the {} that a GPU has: take more GPUs, smaller "
        "micro-batches, or `--optimizer sgd`.",
        counted(ranks.ranks, "GPU"), one_line(best.arrangement), plan::memory_text(best.memory()),
        plan::memory_text(record.memory));
  std::string text =
      fmt::format("**{}**: {}{}, {} a step, {} samples/s, {} times one GPU; {}", counted(ranks.ranks, "GPU"),
                  one_line(best.arrangement), ranks.considered > 1 ? " is the fastest" : "",
                  step_with_interval(best.step), count_text(best.samples_per_second),
                  factor_text(best.speedup), limit_text(best));
  if (best.straggler_adds)
    text += fmt::format(", and one GPU that is {} slower would add {}", percent_text(record.straggler),
                        percent_text(*best.straggler_adds / best.step.value));
  text += best.is_assumed ? " (network between hosts: assumed)." : ".";
  // Says if plain replicas do not fit at all.
  const auto replicas = std::ranges::find_if(
      ranks.steps, [&](const ForecastStep& step) { return step.data == ranks.ranks && !step.fits; });
  if (replicas != ranks.steps.end())
    text += fmt::format(" {} does not fit: it needs {} of {}.", one_line(replicas->arrangement),
                        plan::memory_text(replicas->memory()), plan::memory_text(record.memory));
  return text;
}

Text best_table(const ForecastRecord& record, std::size_t width) {
  TableColumn gpus{"GPUs", Align::right, {}}, arrangement{"fastest", Align::left, {}},
      step{"step", Align::right, {}}, error{"95 %", Align::right, {}, 4},
      samples{"samples/s", Align::right, {}, 2}, speedup{"speed-up", Align::right, {}},
      bubble{"bubble", Align::right, {}}, exposed{"exposed", Align::right, {}},
      memory{"memory", Align::right, {}, 5}, straggler{"straggler", Align::right, {}, 6},
      network{"network", Align::left, {}};
  for (const ForecastRanks& ranks : record.ranks) {
    const ForecastStep& best = ranks.steps.front();
    gpus.cells.push_back(fmt::format("{}", ranks.ranks));
    arrangement.cells.push_back(best.fits ? one_line(best.arrangement) : "nothing fits");
    const auto add = [&](TableColumn& column, const std::string& text) {
      column.cells.push_back(best.fits ? text : std::string(kAbsent));
    };
    const double precision = precision_of(best.step);
    add(step, step_text(best.step));
    add(error, precision > 0 ? "± " + percent_text(precision) : std::string(kAbsent));
    add(samples, count_text(best.samples_per_second));
    add(speedup, factor_text(best.speedup));
    add(bubble, share_text_of(best.bubble, best));
    add(exposed, share_text_of(best.exposed, best));
    add(memory, plan::memory_text(best.memory()));
    add(straggler,
        best.straggler_adds ? change_text(*best.straggler_adds / best.step.value) : std::string(kAbsent));
    add(network, network_word(record, ranks.ranks, best));
  }
  return fitted_table(
      {gpus, arrangement, step, error, samples, speedup, bubble, exposed, memory, straggler, network}, width);
}

Text arrangements_table(const ForecastRanks& ranks, std::size_t most, std::size_t width) {
  TableColumn arrangement{"arrangement", Align::left, {}}, step{"step", Align::right, {}},
      error{"95 %", Align::right, {}, 4}, bubble{"bubble", Align::right, {}},
      exposed{"exposed", Align::right, {}}, hidden{"hidden", Align::right, {}, 3},
      waiting{"for ranks", Align::right, {}, 5}, launch{"launch", Align::right, {}, 6},
      memory{"memory", Align::right, {}}, fits{"fits", Align::left, {}},
      straggler{"straggler", Align::right, {}, 2};
  for (const ForecastStep& each : ranks.steps) {
    if (arrangement.cells.size() == most) break;
    arrangement.cells.push_back(one_line(each.arrangement));
    step.cells.push_back(step_text(each.step));
    error.cells.push_back(precision_of(each.step) > 0 ? "± " + percent_text(precision_of(each.step))
                                                      : std::string(kAbsent));
    bubble.cells.push_back(share_text_of(each.bubble, each));
    exposed.cells.push_back(share_text_of(each.exposed, each));
    hidden.cells.push_back(share_text_of(each.hidden, each));
    waiting.cells.push_back(share_text_of(each.straggler, each));
    launch.cells.push_back(share_text_of(each.launch, each));
    memory.cells.push_back(plan::memory_text(each.memory()));
    fits.cells.emplace_back(each.fits ? "yes" : "no");
    straggler.cells.push_back(each.straggler_adds ? change_text(*each.straggler_adds / each.step.value)
                                                  : std::string(kAbsent));
  }
  return fitted_table(
      {arrangement, step, error, bubble, exposed, hidden, waiting, launch, memory, fits, straggler}, width);
}

std::string exchange_text(const ForecastExchange& exchange) {
  constexpr double kGigabyte = 1e9;
  std::string text = fmt::format("{}: {} + bytes sent over {:.3g} GB/s", one_line(exchange.exchange),
                                 time_text(exchange.alpha), exchange.bytes_per_second / kGigabyte);
  if (exchange.is_assumed) return text + ", assumed";
  return text + fmt::format(", measured on {}; no size is farther from that line than {}",
                            counted(exchange.ranks, "rank"), percent_text(exchange.distance));
}

std::string arrangements_title(const ForecastRanks& ranks) {
  if (ranks.considered == 1) return fmt::format("**{}**:", counted(ranks.ranks, "GPU"));
  return fmt::format("**{}**: {} of {} arrangements fit; the fastest of each kind:",
                     counted(ranks.ranks, "GPU"), ranks.fitting, ranks.considered);
}

}  // namespace

Text record_text(const ForecastRecord& record, const ShownPage& shown) {
  Text text = wrapped(
      fmt::format(
          "**{}** on {}: {} forward and {} backward for {} ({}), {} of weights in {}. A step is {} for each "
          "GPU.",
          one_line(record.network), one_line(record.device.name), time_text(record.forward.value),
          time_text(record.backward.value), counted(record.samples, "sample"), one_line(record.times),
          plan::memory_text(record.weights), counted(record.blocks, "block"),
          record.micro_batches == 1 ? std::string("one micro-batch")
                                    : fmt::format("{} micro-batches", record.micro_batches)),
      shown.width);
  if (record.ranks.empty()) return text;
  text += "\n";
  text += wrapped(answer(record, record.ranks.back()), shown.width);
  if (record.ranks.size() > 1) text += "\n" + best_table(record, shown.width);
  const std::size_t most = shown.details ? std::numeric_limits<std::size_t>::max() : 10;
  for (const ForecastRanks& ranks : record.ranks) {
    const bool is_last = &ranks == &record.ranks.back();
    if (!is_last && !shown.details) continue;
    text += "\n" + wrapped(arrangements_title(ranks), shown.width) + "\n" +
            arrangements_table(ranks, most, shown.width);
  }
  text += "\n" +
          wrapped(
              "Bubble, exposed and so on: shares of the step in which a GPU, on average, waits for another "
              "stage, or for a transfer that nothing hides. Straggler: what one slower GPU adds.",
              shown.width);
  text += "\n";
  for (const ForecastExchange& exchange : record.exchanges) {
    const bool is_first = &exchange == &record.exchanges.front();
    if (shown.details || is_first || exchange.is_assumed)
      text += list_item(exchange_text(exchange), shown.width);
  }
  for (const std::string& note : record.notes) text += list_item(one_line(note), shown.width);
  return text;
}

Headline headline_of(const ForecastRecord& record) {
  Headline headline{.subject = "a step of " + one_line(record.network),
                    .marks = {"simulated", one_line(record.times) + " of one GPU"}};
  if (record.ranks.empty()) return headline;
  const ForecastRanks& ranks = record.ranks.back();
  const ForecastStep& best = ranks.steps.front();
  headline.subject += fmt::format(" on {}: {}", counted(ranks.ranks, "GPU"), one_line(best.arrangement));
  headline.number = step_text(best.step);
  if (precision_of(best.step) > 0) headline.error = "± " + percent_text(precision_of(best.step));
  if (best.is_assumed) headline.marks.emplace_back("network assumed");
  return headline;
}

}  // namespace jitterscope
