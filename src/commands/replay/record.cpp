#include "commands/replay/record.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/explain/record.hpp"
#include "experiment/processes.hpp"
#include "finding/finding.hpp"
#include "operation/operation.hpp"
#include "output/account_table.hpp"
#include "output/cells.hpp"
#include "record/describe_account.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, UnreplayedWork>& work) {
  fields("kind", work.kind);
  fields("calls", work.calls);
  fields("recorded_seconds", work.time);
  fields("example", work.example);
  fields("reason", work.reason);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ReplayedCall>& call) {
  fields("layers", call.layers);
  fields("count", call.count);
  fields.check(call.count > 0, "count", "at least 1");
  fields("operation", call.operation);
  fields("provider", call.provider);
  fields("algorithm", call.algorithm);
  fields("in_program", call.in_program);
  fields("warm", call.warm);
  fields("cold", call.cold);
  fields("in_sequence", call.in_sequence);
  fields("account", call.account);
  fields("failure", call.failure);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ReplayedSequence>& sequence) {
  fields("calls", sequence.calls);
  fields("timed", sequence.timed);
  fields("connected", sequence.connected);
  fields("seconds", sequence.time);
  fields("recorded_seconds", sequence.in_program);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ReplayRecord>& record) {
  fields("source", record.source);
  fields("source_format", record.format);
  fields("recorded_device", record.recorded_device);
  fields("recorded_cudnn", record.recorded_cudnn);
  fields("recorded_gpu_seconds", record.recorded_gpu_time);
  fields("replayable_seconds", record.replayable_time);
  fields("replayed_seconds", record.replayed_time);
  fields("replayable_calls", record.replayable_calls);
  fields("recorded_calls", record.recorded_calls);
  fields("unreplayed", record.unreplayed);
  fields("calls", record.calls);
  fields("sequence", record.sequence);
  fields("processes", record.processes);
  fields("unknown", record.unknown);
  fields("notes", record.notes);
}

std::string write_record(const ReplayRecord& record) { return write_envelope("replay", record); }

void read_fields(const Json& document, const std::string& name, ReplayRecord& record) {
  record = read_envelope<ReplayRecord>(document, name);
}

// Takes the replay apart: what was replayed, what was not, and each call's account.

namespace {

// Kernels' and operators' names are all that tells what kind of work it is.
std::string kind_of(const UntimedOperator& untimed) {
  const auto begins = [&](std::string_view word) { return untimed.name.starts_with(word); };
  if (begins("triton_")) return "fused Triton kernels";
  if (begins("nccl") || begins("c10d::")) return "NCCL";
  if (begins("Memcpy") || begins("Memset")) return "copies and fills";
  if (begins("aten::")) return "other operators of PyTorch";
  if (untimed.name.find("::") != std::string::npos) return "operators of other libraries";
  return "other kernels";
}

void add_unreplayed(UnreplayedWork work, std::vector<UnreplayedWork>& all) {
  const auto same = std::ranges::find(all, work.kind, &UnreplayedWork::kind);
  if (same == all.end()) {
    all.push_back(std::move(work));
    return;
  }
  same->calls += work.calls;
  if (work.time.value_or(Nanoseconds(0)) > same->time.value_or(Nanoseconds(0))) {
    same->example = work.example;
    same->reason = work.reason;
  }
  same->time = sum_if_known(same->time, work.time);
}

std::optional<Nanoseconds> all_calls_of(const Layer& layer) {
  const std::optional<TimeEstimate> one = explain::recorded_time_of(layer);
  return one ? std::optional(one->median * static_cast<double>(layer.count())) : std::nullopt;
}

bool has_nothing_to_replay(const UntimedOperator& untimed) {
  return untimed.recorded_time && !(*untimed.recorded_time > Nanoseconds(0));
}

void take_shares(const Model& program, const RunRecord& times, ReplayRecord& record) {
  record.recorded_gpu_time = program.recorded_gpu_time;
  Nanoseconds replayable(0), replayed(0);
  bool all_known = program.recorded_gpu_time.has_value();
  for (const UntimedOperator& untimed : program.untimed) {
    if (has_nothing_to_replay(untimed)) continue;
    add_calls(record.recorded_calls, untimed.count);
    add_unreplayed({kind_of(untimed), untimed.count, untimed.recorded_time, untimed.name, untimed.why()},
                   record.unreplayed);
  }
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const Layer& layer = program.layers[i];
    const std::optional<Nanoseconds> time = all_calls_of(layer);
    record.recorded_calls += layer.count();
    all_known = all_known && time;
    const bool was_tried = i < times.entries.size();
    if (was_tried && !times.entries[i].result.failure.empty()) {
      add_unreplayed({"operations that failed here", layer.count(), time, layer.operation.text(),
                      times.entries[i].result.failure},
                     record.unreplayed);
      continue;
    }
    record.replayable_calls += layer.count();
    replayable += time.value_or(Nanoseconds(0));
    if (was_tried && !times.entries[i].result.measurements.empty()) replayed += time.value_or(Nanoseconds(0));
  }
  if (all_known) {
    record.replayable_time = replayable;
    record.replayed_time = replayed;
  }
  std::ranges::stable_sort(record.unreplayed, std::greater(), [](const UnreplayedWork& work) {
    return work.time.value_or(Nanoseconds(0)).value();
  });
}

std::optional<TimeEstimate> time_in(const Result& result, CacheState cache) {
  const Measurement* measurement = measurement_of(result, Load::burst, cache);
  return measurement == nullptr ? std::nullopt : std::optional(measurement->time);
}

void take_calls(const Model& program, const RunRecord& times, ReplayRecord& record) {
  const std::vector<LayerInSequence> placed = layers_in_sequence(times);
  std::vector<explain::Account> accounts;
  const auto any_timed = [&](const RunEntry& entry) { return !entry.result.measurements.empty(); };
  const bool has_times = std::ranges::any_of(
      program.layers, [](const Layer& layer) { return explain::recorded_time_of(layer).has_value(); });
  if (has_times && std::ranges::any_of(times.entries, any_timed))
    accounts = explain::account_for(times, program);
  for (std::size_t i = 0; i < times.entries.size(); ++i) {
    const RunEntry& entry = times.entries[i];
    const Layer& layer = program.layers[i];
    ReplayedCall call{.layers = layer.names,
                      .count = layer.calls(),
                      .operation = layer.operation.text(),
                      .provider = entry.result.provider,
                      .algorithm = entry.result.algorithm,
                      .in_program = explain::recorded_time_of(layer),
                      .warm = time_in(entry.result, CacheState::warm),
                      .cold = time_in(entry.result, CacheState::cold),
                      .failure = entry.result.failure};
    for (const Measurement& measurement : entry.result.measurements)
      record.processes = std::max({record.processes, std::int64_t{1}, std::ssize(measurement.processes)});
    const auto place = std::ranges::find(placed, i, &LayerInSequence::result);
    if (place != placed.end()) call.in_sequence = place->in_place;
    const auto account = std::ranges::find(accounts, call.operation, &explain::Account::first_subject);
    if (account != accounts.end()) call.account = *account;
    record.calls.push_back(std::move(call));
  }
}

void take_sequence(const Model& program, const RunRecord& times, ReplayRecord& record) {
  if (!times.sequence) return;
  ReplayedSequence sequence{.calls = std::ssize(times.sequence->calls), .time = Nanoseconds(0)};
  sequence.in_program = Nanoseconds(0);
  for (std::size_t i = 0; i < times.sequence->calls.size(); ++i) {
    const SequenceCall& call = times.sequence->calls[i];
    if (call.time.rounds == 0) continue;
    ++sequence.timed;
    if (!program.calls[i].inputs.empty()) ++sequence.connected;
    sequence.time += call.time.median;
    const std::optional<TimeEstimate> one = explain::recorded_time_of(program.layers[call.layer]);
    sequence.in_program = sum_if_known(sequence.in_program, one ? std::optional(one->median) : std::nullopt);
  }
  if (sequence.timed > 0) record.sequence = sequence;
}

void take_unknown(const Model& program, const RunRecord& times, ReplayRecord& record) {
  std::vector<std::string> parts = {"clock", "data"};
  parts.emplace_back("overlap");
  if (!times.sequence) parts.emplace_back("the kernel before each call");
  if (!record.recorded_gpu_time) {
    record.unknown.push_back(fmt::format(
        "This {} holds no GPU times: calls are run again, but nothing says what they took in the program.{}",
        program.format,
        record.device.capabilities.is_simulated ? "" : " A profiler trace of the same step does."));
    return;
  }
  record.unknown.push_back(fmt::format(
      "This {} does not tell the program's {}: what they add is in the rest.{}", program.format,
      joined(parts, ", "), times.sequence ? "" : " --in-sequence runs the calls in their order."));
}

// Says that the program's cuDNN was another: whether its kernels ran here, too, is known by their names.
void note_other_cudnn(ReplayRecord& record) {
  const auto& libraries = record.device.libraries;
  const auto here = std::ranges::find(libraries, "cudnn", &LibraryInfo::name);
  if (record.recorded_cudnn.empty() || here == libraries.end() || here->version.empty()) return;
  if (here->version == record.recorded_cudnn) return;
  record.notes.push_back(
      fmt::format("The program used cuDNN {}, here it is {}: an engine may be another one.",
                  record.recorded_cudnn, here->version));
}

}  // namespace

void account_for_replay(const Model& program, const RunRecord& times, ReplayRecord& record) {
  record.format = program.format;
  record.recorded_device = program.recorded_device;
  record.recorded_cudnn = program.recorded_cudnn;
  take_shares(program, times, record);
  take_calls(program, times, record);
  take_sequence(program, times, record);
  take_unknown(program, times, record);
  if (!record.recorded_device.empty() && record.recorded_device != record.device.name) {
    record.notes.push_back(
        fmt::format("The program ran on {}, this is {}: times are compared, but not taken apart.",
                    record.recorded_device, record.device.name));
  }
  note_other_cudnn(record);
}

// Prints a replay.

namespace {

std::string share_of(const std::optional<Nanoseconds>& part, const std::optional<Nanoseconds>& whole) {
  return part && whole && *whole > Nanoseconds(0) ? percent_text(*part / *whole) : std::string(kAbsent);
}

// Returns "94 % of 12.3 ms of recorded GPU time can be replayed; 4 % fused Triton kernels, … cannot be run
// alone".
std::string coverage_sentence(const ReplayRecord& record) {
  const auto& whole = record.recorded_gpu_time;
  const bool has_times = record.replayable_time && whole && *whole > Nanoseconds(0);
  std::string text;
  if (has_times) {
    text = fmt::format("{} of {} of recorded GPU time can be replayed",
                       share_of(record.replayable_time, whole), time_text(*whole));
    if (record.replayed_time != record.replayable_time)
      text += fmt::format(" ({} in the {} below)", share_of(record.replayed_time, whole),
                          counted(std::ssize(record.calls), "operation"));
  } else {
    text = fmt::format("{} of {} recorded calls can be replayed", record.replayable_calls,
                       record.recorded_calls);
  }
  std::vector<std::string> others;
  for (const UnreplayedWork& work : record.unreplayed) {
    if (has_times && work.time) {
      others.push_back(fmt::format("{} {}", share_of(work.time, whole), work.kind));
    } else {
      others.push_back(fmt::format("{} ×{}", work.kind, work.calls));
    }
  }
  if (!others.empty()) text += fmt::format("; {} cannot be run alone", joined(others));
  return text + '.';
}

std::string sequence_sentence(const ReplayedSequence& sequence) {
  std::string text = fmt::format("In sequence here {} of {} calls take {}", sequence.timed, sequence.calls,
                                 time_text(sequence.time));
  if (sequence.in_program && *sequence.in_program > Nanoseconds(0)) {
    text += fmt::format(", in the program {} ({} here)", time_text(*sequence.in_program),
                        change_text(sequence.time / *sequence.in_program - 1.0));
  }
  text += sequence.connected > 0
              ? fmt::format("; {} of them share memory with earlier ones.", sequence.connected)
              : std::string("; each has memory of its own: what reads what is not known.");
  return text;
}

// Names the parts whose effect is shown, and where the account ends.
std::string parts_cell(const ReplayedCall& call) {
  if (!call.failure.empty()) return "failed";
  if (!call.account) return std::string(kAbsent);
  if (!call.account->stopped_at.empty()) {
    return call.account->stopped_at == "device" ? "another GPU" : "other " + call.account->stopped_at;
  }
  std::vector<std::string> parts;
  for (const explain::AccountedPart& part : call.account->parts) {
    if (explain::is_named(part)) parts.push_back(fmt::format("{} {}", part.name, change_of(*part.ratio)));
    if (!part.ratio) parts.push_back(part.name + " ?");
  }
  return parts.empty() ? std::string("none shown") : joined(parts);
}

std::string measured_cell(const std::optional<TimeEstimate>& time) {
  return time ? time_text(time->median, time->precision()) : std::string(kAbsent);
}

std::string recorded_cell(const std::optional<TimeEstimate>& time) {
  return time ? time_text(time->median) : std::string(kAbsent);
}

Text calls_table(const ReplayRecord& record, const Page& page) {
  if (record.calls.empty()) return {};
  std::vector<std::string> operations;
  for (const ReplayedCall& call : record.calls) operations.push_back(call.operation);
  const OperationLabels labels = label_operations(operations);
  TableColumn names{"operation", Align::left, {}}, counts{"calls", Align::right, {}, 5},
      shares{"share", Align::right, {}, 4}, programs{"in program", Align::right, {}},
      warms{"warm", Align::right, {}}, colds{"cold", Align::right, {}, 6},
      places{"in sequence", Align::right, {}, 3}, changes{"against warm", Align::right, {}, 2},
      parts{"parts", Align::left, {}}, rests{"rest", Align::right, {}};
  const std::size_t rows = std::min(record.calls.size(), page.top.value_or(record.calls.size()));
  for (std::size_t i = 0; i < rows; ++i) {
    const ReplayedCall& call = record.calls[i];
    const std::optional<explain::Account>& account = call.account;
    const auto all = call.in_program
                         ? std::optional(call.in_program->median * static_cast<double>(call.count))
                         : std::nullopt;
    names.cells.push_back(one_line(labels.labels[i]));
    counts.cells.push_back(std::to_string(call.count));
    shares.cells.push_back(share_of(all, record.recorded_gpu_time));
    programs.cells.push_back(recorded_cell(call.in_program));
    warms.cells.push_back(measured_cell(call.warm));
    colds.cells.push_back(measured_cell(call.cold));
    places.cells.push_back(measured_cell(call.in_sequence));
    changes.cells.push_back(account ? change_of(account->time) : std::string(kAbsent));
    parts.cells.push_back(parts_cell(call));
    rests.cells.push_back(account && account->stopped_at.empty() ? change_of(account->rest)
                                                                 : std::string(kAbsent));
  }
  const bool has_times =
      std::ranges::any_of(record.calls, [](const ReplayedCall& call) { return call.in_program.has_value(); });
  std::vector<TableColumn> columns = {names, counts};
  if (has_times) columns.insert(columns.end(), {shares, programs});
  columns.insert(columns.end(), {warms, colds});
  if (record.sequence) columns.push_back(places);
  if (has_times) columns.insert(columns.end(), {changes, rests, parts});
  Text text = fitted_table(std::move(columns), page.width);
  if (!labels.common.empty()) text += wrapped("All: " + labels.common + '.', page.width);
  if (rows < record.calls.size())
    text +=
        wrapped(fmt::format("{} of {} operations; all: --top all.", rows, record.calls.size()), page.width);
  return text;
}

// Says which calls fit their accounts, which do not, and where that ended before.
Text verdict_section(const ReplayRecord& record, const Page& page) {
  std::size_t explained = 0, open = 0, stopped = 0;
  const ReplayedCall* largest = nullptr;
  for (const ReplayedCall& call : record.calls) {
    if (!call.account) continue;
    if (!call.account->stopped_at.empty()) {
      ++stopped;
    } else if (call.account->is_explained()) {
      ++explained;
    } else {
      ++open;
      const auto weight = [](const ReplayedCall& each) {
        return std::abs(std::log(each.account->rest.ratio)) * each.account->second.median.value() *
               static_cast<double>(each.count);
      };
      if (largest == nullptr || weight(call) > weight(*largest)) largest = &call;
    }
  }
  if (explained + open + stopped == 0) return {};
  const auto all = static_cast<std::int64_t>(explained + open + stopped);
  std::vector<std::string> sentences;
  if (explained > 0)
    sentences.push_back(fmt::format("{} of {}: no rest is shown.", explained, counted(all, "operation")));
  if (largest != nullptr) {
    sentences.push_back(fmt::format("{} of {}: a rest is shown, the most in {}: {}.", open,
                                    counted(all, "operation"), one_line(largest->operation),
                                    change_of(largest->account->rest)));
  }
  if (stopped > 0) {
    sentences.push_back(fmt::format("{} of {}: not the same work here and there, so not taken apart.",
                                    stopped, counted(all, "operation")));
  }
  const std::string text = joined(sentences, " ");
  return wrapped(text, page.width);
}

Text details_section(const ReplayRecord& record, const Page& page) {
  if (!page.details) return {};
  std::vector<Text> parts;
  const std::size_t rows = std::min(record.calls.size(), page.top.value_or(record.calls.size()));
  for (std::size_t i = 0; i < rows; ++i) {
    const ReplayedCall& call = record.calls[i];
    std::string head = one_line(call.operation);
    if (!call.algorithm.empty()) head += fmt::format(", {} {}", call.provider, one_line(call.algorithm));
    Text text = wrapped(head + ':', page.width);
    if (!call.failure.empty()) text += wrapped(one_line(call.failure), page.width);
    if (call.account) text += '\n' + accounts_section({*call.account}, page);
    parts.push_back(text);
  }
  for (const UnreplayedWork& work : record.unreplayed) {
    parts.push_back(list_item(fmt::format("{} ×{}, as {}: {}", work.kind, work.calls, one_line(work.example),
                                          one_line(work.reason)),
                              page.width));
  }
  return sections(parts);
}

Text notes_section(const ReplayRecord& record, const Page& page) {
  std::vector<std::string> sentences = record.unknown;
  for (const ReplayedCall& call : record.calls) {
    if (!call.failure.empty()) {
      sentences.push_back(fmt::format("{} failed: {}", call.operation, call.failure));
      break;  // the details have all
    }
  }
  sentences.insert(sentences.end(), record.notes.begin(), record.notes.end());
  if (page.details) {
    sentences.emplace_back(
        "in program: the sum of a call's kernels, the mean over its calls. warm, cold: alone, in fresh processes. "
        "parts: those whose interval excludes no effect; ?: there, but of unknown effect. rest: what no part "
        "accounts for. ± is half of a 95 % interval.");
  }
  if (record.interrupted) sentences.emplace_back("Interrupted: this is what was known by then.");
  Text text;
  for (const std::string& sentence : sentences) text += list_item(one_line(sentence), page.width);
  return text;
}

// Returns the accounts that did not end early: of other work, the whole difference would be drawn as a rest.
std::vector<explain::Account> drawn_accounts(const ReplayRecord& record) {
  std::vector<explain::Account> accounts;
  for (const ReplayedCall& call : record.calls) {
    if (call.account && call.account->stopped_at.empty()) accounts.push_back(*call.account);
  }
  return accounts;
}

}  // namespace

Text record_text(const ReplayRecord& record, const ShownPage& shown) {
  Page page = page_of(shown, false);
  Text first = wrapped(coverage_sentence(record), page.width);
  if (record.sequence) first += wrapped(sequence_sentence(*record.sequence), page.width);
  return sections({first, calls_table(record, page), verdict_section(record, page),
                   details_section(record, page), notes_section(record, page)});
}

Headline headline_of(const ReplayRecord& record) {
  Headline headline{.subject = "recorded GPU time of " + record.source + " that can be replayed",
                    .number = share_of(record.replayable_time, record.recorded_gpu_time)};
  if (!record.replayable_time) {
    headline.subject = "recorded calls of " + record.source + " that can be replayed";
    headline.number = fmt::format("{} of {}", record.replayable_calls, record.recorded_calls);
  }
  headline.marks = {record.format, counted(std::ssize(record.calls), "operation")};
  if (record.processes > 0)
    headline.marks.push_back(record.processes == 1 ? "1 process"
                                                   : fmt::format("{} processes", record.processes));
  return headline;
}

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ReplayRecord& record) { return plots_of_accounts(drawn_accounts(record)); }

}  // namespace jitterscope::report
