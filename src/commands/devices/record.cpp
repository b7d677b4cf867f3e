#include "commands/devices/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

using statistics::EffectVerdict;

constexpr auto enumerators(DeviceCause) {
  using enum DeviceCause;
  return std::array{none, setting, other_process, power_cap, heat, clock, cycles};
}

std::string_view to_string(DeviceCause cause) {
  switch (cause) {
    case DeviceCause::none: return "none";
    case DeviceCause::setting: return "setting";
    case DeviceCause::other_process: return "other_process";
    case DeviceCause::power_cap: return "power_cap";
    case DeviceCause::heat: return "heat";
    case DeviceCause::clock: return "clock";
    case DeviceCause::cycles: return "cycles";
  }
  return "";
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceState>& state) {
  fields("clock_hertz", state.clock);
  fields("cycles", state.cycles);
  fields("held_by_power", state.held_by_power);
  fields("held_by_heat", state.held_by_heat);
  fields("power_watts", state.power);
  fields("temperature_celsius", state.temperature);
  fields("has_other_process", state.has_other_process);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, WhySlow>& why) {
  fields("cause", why.cause);
  fields("setting", why.setting);
  fields("own", why.own);
  fields("others", why.others);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceBesideOthers>& device) {
  fields("time", device.time);
  fields("process_seconds", device.processes);
  fields("against_others", device.against_others);
  fields("verdict", device.verdict);
  fields("state", device.state);
  fields("why", device.why);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DevicesBeside>& beside) {
  fields("at_once", beside.at_once);
  fields("devices", beside.devices);
  fields("spread", beside.spread);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DevicesComparison>& comparison) {
  fields("operation", comparison.operation);
  fields("cache", comparison.cache);
  fields("load", comparison.load);
  fields.where(comparison.calls != 1, "calls", comparison.calls);
  fields("beside", comparison.beside);
  fields("at_once_ratios", comparison.at_once_ratios);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, DevicesRecord>& record) {
  fields("title", record.title);
  fields("devices", record.devices);
  fields("lost", record.lost);
  fields("processes", record.processes);
  fields("margin", record.margin);
  fields("comparisons", record.comparisons);
}

std::string write_record(const DevicesRecord& record) { return write_envelope("devices", record); }

void read_fields(const Json& document, const std::string& name, DevicesRecord& record) {
  record = read_envelope<DevicesRecord>(document, name);
  for (const DevicesComparison& comparison : record.comparisons) {
    for (const DevicesBeside& beside : comparison.beside) {
      if (beside.devices.size() != record.devices.size())
        throw UsageError(name +
                         ": comparisons have other numbers of devices than the record; the file is damaged");
    }
    constexpr std::int64_t kMostCalls = 1'000'000'000;
    if (comparison.calls < 1 || comparison.calls > kMostCalls)
      throw UsageError(name + ": calls are no number of calls; the file is damaged");
    if (!comparison.at_once_ratios.empty() && comparison.at_once_ratios.size() != record.devices.size())
      throw UsageError(name +
                       ": at_once_ratios has another number of devices than the record; the file is damaged");
  }
}

namespace {

// "+5.2 % (+4.9 to +5.5 %)"
std::string ratio_text(const RatioEstimate& ratio) {
  return fmt::format("{} ({} to {})", change_text(ratio.ratio - 1.0), change_text(ratio.low - 1.0),
                     change_text(ratio.high - 1.0));
}

std::string why_text(const DeviceBesideOthers& device) {
  const WhySlow& why = device.why;
  switch (why.cause) {
    case DeviceCause::none: return "why is not known";
    case DeviceCause::setting:
      return fmt::format("its {} is {}, that of the others {}", why.setting, one_line(why.own),
                         one_line(why.others));
    case DeviceCause::other_process: return "another process is on it, and on none of the others";
    case DeviceCause::power_cap:
      return fmt::format("a power cap holds its clock longer than the others' ({}, the others {})", why.own,
                         why.others);
    case DeviceCause::heat:
      return fmt::format("heat holds its clock longer than the others' ({}, the others {})", why.own,
                         why.others);
    case DeviceCause::clock:
      if (is_held(device.state.held_by_power))
        return fmt::format(
            "a power cap holds its clock no longer than the others', but lower ({}, the others {})", why.own,
            why.others);
      if (is_held(device.state.held_by_heat))
        return fmt::format("heat holds its clock no longer than the others', but lower ({}, the others {})",
                           why.own, why.others);
      return fmt::format(
          "its clock is lower ({}, the others {}), and neither a cap nor heat nor a setting says why",
          why.own, why.others);
    case DeviceCause::cycles:
      return "at the others' clock it takes more cycles: its memory or the link to it, if the operation waits for them";
  }
  return "";
}

// Simulated GPUs may have the same name.
std::vector<std::string> names_of(const DevicesRecord& record) {
  std::vector<std::string> names;
  for (const DeviceDescription& device : record.devices)
    names.push_back(report::name_apart(device.id, names));
  return names;
}

std::string_view how(const DevicesBeside& beside) { return beside.at_once ? "all at once" : "alone"; }

struct Slow {
  double longer = 0.0;
  std::string sentence;
};

std::vector<std::string> findings_of(const DevicesRecord& record) {
  const std::vector<std::string> names = names_of(record);
  std::vector<Slow> slow;
  for (const DevicesComparison& comparison : record.comparisons) {
    for (std::size_t d = 0; d < record.devices.size(); ++d) {
      const DeviceBesideOthers* worst = nullptr;
      std::string text;
      for (const DevicesBeside& beside : comparison.beside) {
        const DeviceBesideOthers& device = beside.devices[d];
        if (device.verdict != EffectVerdict::slower) continue;
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", ratio_text(device.against_others), how(beside));
        if (worst == nullptr || device.against_others.ratio > worst->against_others.ratio) worst = &device;
      }
      if (worst == nullptr) continue;
      slow.push_back(
          {worst->against_others.ratio,
           fmt::format("**{}** is slower than the others, {} {}: {}; {}.", names[d],
                       to_string(comparison.cache), to_string(comparison.load), text, why_text(*worst))});
    }
  }
  std::stable_sort(slow.begin(), slow.end(),
                   [](const Slow& a, const Slow& b) { return a.longer > b.longer; });
  std::vector<std::string> sentences;
  for (Slow& each : slow) sentences.push_back(std::move(each.sentence));
  return sentences;
}

// Returns the largest half-width of an interval: a smaller difference could have stayed unseen.
double widest(const DevicesRecord& record) {
  double half = 0.0;
  for (const DevicesComparison& comparison : record.comparisons) {
    for (const DevicesBeside& beside : comparison.beside) {
      for (const DeviceBesideOthers& device : beside.devices)
        half = std::max(half, 0.5 * (device.against_others.high - device.against_others.low));
    }
  }
  return half;
}

Text table(const DevicesRecord& record, const DevicesComparison& comparison, const DevicesBeside& beside,
           std::size_t width) {
  TableColumn gpu{"GPU", Align::left, names_of(record)}, time{std::string(how(beside)), Align::right, {}, 1},
      against{"against others", Align::right, {}}, verdict{"verdict", Align::left, {}},
      slowdown{"over alone", Align::right, {}, 5}, clock{"clock", Align::right, {}, 3},
      held{"held", Align::right, {}, 2}, heat{"°C", Align::right, {}, 4};
  for (const DeviceBesideOthers& device : beside.devices) {
    const DeviceState& state = device.state;
    time.cells.push_back(estimate_text(device.time));
    const RatioEstimate& ratio = device.against_others;
    against.cells.push_back(std::isfinite(ratio.high) ? change_of(ratio) : change_text(ratio.ratio - 1.0));
    verdict.cells.emplace_back(to_string(device.verdict));
    clock.cells.push_back(state.clock ? fmt::format("{:.0f} MHz", state.clock->value() * 1e-6) : "");
    held.cells.push_back(
        state.held_by_power || state.held_by_heat
            ? percent_text(state.held_by_power.value_or(0.0) + state.held_by_heat.value_or(0.0))
            : "");
    heat.cells.push_back(state.temperature ? fmt::format("{:.0f}", state.temperature->value()) : "");
  }
  if (beside.at_once) {
    for (const RatioEstimate& ratio : comparison.at_once_ratios)
      slowdown.cells.push_back(change_text(ratio.ratio - 1.0));
  }
  std::vector<TableColumn> columns = {gpu, time, against, verdict};
  for (TableColumn* column : {&slowdown, &clock, &held, &heat}) {
    if (std::ranges::any_of(column->cells, [](const std::string& cell) { return !cell.empty(); }))
      columns.push_back(std::move(*column));
  }
  return fitted_table(std::move(columns), width);
}

bool has_verdict(const DevicesRecord& record, EffectVerdict verdict) {
  for (const DevicesComparison& comparison : record.comparisons) {
    for (const DevicesBeside& beside : comparison.beside) {
      if (std::ranges::find(beside.devices, verdict, &DeviceBesideOthers::verdict) != beside.devices.end())
        return true;
    }
  }
  return false;
}

// Names the times that each GPU is compared with (compare_devices).
std::string_view compared_with(const DevicesRecord& record) {
  const std::size_t count = record.devices.size();
  return count == 2       ? "that of the other"
         : count == 3     ? "that of the other that is nearer"
         : count % 2 == 1 ? "the median of the others' without the farthest"
                          : "the median of the others'";
}

// Explains the words of the tables, those alone that stand there.
std::string explained_words(const DevicesRecord& record) {
  std::string text =
      fmt::format("against others: the time over {}, with its 95 % interval.", compared_with(record));
  if (has_verdict(record, EffectVerdict::undecided)) {
    text += fmt::format(
        " undecided: the difference may be chance, and may be more than {}; with more --processes it is known "
        "better.",
        percent_text(record.margin));
  }
  if (has_verdict(record, EffectVerdict::same))
    text += fmt::format(" same: within ± {}.", percent_text(record.margin));
  const auto is_held = [](const DeviceBesideOthers& device) {
    return device.state.held_by_power || device.state.held_by_heat;
  };
  for (const DevicesComparison& comparison : record.comparisons) {
    for (const DevicesBeside& beside : comparison.beside) {
      if (std::ranges::any_of(beside.devices, is_held))
        return text + " held: share of the time in which a power cap or heat held the clock.";
    }
  }
  return text;
}

// Returns the comparisons of the operations whose calls take longest in some condition, the longest first; in
// the record's order if those are all.
std::vector<const DevicesComparison*> slowest_operations(const DevicesRecord& record, std::size_t top) {
  std::vector<std::string> names;
  std::map<std::string, Nanoseconds> longest;
  for (const DevicesComparison& each : record.comparisons) {
    const auto [own, is_new] = longest.try_emplace(each.operation);
    if (is_new) names.push_back(each.operation);
    for (const DevicesBeside& beside : each.beside) {
      for (const DeviceBesideOthers& device : beside.devices)
        own->second = std::max(own->second, device.time.median * static_cast<double>(each.calls));
    }
  }
  if (top < names.size()) {
    std::ranges::stable_sort(names, std::greater(), [&](const std::string& name) { return longest[name]; });
    names.resize(top);
  }
  std::vector<const DevicesComparison*> chosen;
  for (const std::string& name : names) {
    for (const DevicesComparison& each : record.comparisons)
      if (each.operation == name) chosen.push_back(&each);
  }
  return chosen;
}

std::string spreads_text(const DevicesComparison& comparison) {
  std::string text;
  for (const DevicesBeside& beside : comparison.beside)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", percent_text(beside.spread), how(beside));
  return text;
}

}  // namespace

Text record_text(const DevicesRecord& record, const ShownPage& shown) {
  if (record.devices.empty())
    return without_results(record.interrupted, "GPUs", "GPU", record.lost, shown.width);
  Text text =
      wrapped(fmt::format("{}**{} GPUs** ({}), each alone and all at once, in {} each.",
                          record.title.empty() ? "" : fmt::format("**{}** on ", one_line(record.title)),
                          record.devices.size(), one_line(record.device.name),
                          counted(record.processes, "fresh process")),
              shown.width);
  const std::vector<std::string> findings = findings_of(record);
  text += "\n";
  const bool is_model = !record.title.empty();
  const std::vector<DevicesComparison> totals =
      is_model ? compare_totals(record.comparisons, record.margin) : std::vector<DevicesComparison>();
  const std::size_t top = page_of(shown, is_model).top.value_or(SIZE_MAX);
  const std::size_t told = std::min(findings.size(), top);
  for (std::size_t i = 0; i < told; ++i) text += numbered_item(i + 1, findings[i], shown.width, 3);
  if (told < findings.size()) {
    text +=
        "\n" + wrapped(fmt::format("{} more are told under --details.", findings.size() - told), shown.width);
  }
  if (findings.empty() && !record.comparisons.empty()) {
    const double seen = widest(record);
    text += wrapped(
        std::isfinite(seen)
            ? fmt::format("No GPU is slower than the others; a difference of {} would have been seen.",
                          percent_text(std::max(seen, 1e-4)))
            : "One process of each GPU does not tell a slow GPU from chance: --processes 4 does.",
        shown.width);
  }
  const std::vector<const DevicesComparison*> slowest = slowest_operations(record, top);
  std::vector<const DevicesComparison*> all;
  for (const DevicesComparison& total : totals) all.push_back(&total);
  all.insert(all.end(), slowest.begin(), slowest.end());
  for (const DevicesComparison* each : all) {
    const DevicesComparison& comparison = *each;
    text += "\n" + wrapped(fmt::format("**{}**, {} {}: the GPUs' times differ by {} (standard deviation).",
                                       one_line(comparison.operation), to_string(comparison.cache),
                                       to_string(comparison.load), spreads_text(comparison)),
                           shown.width);
    for (const DevicesBeside& beside : comparison.beside)
      text += "\n" + table(record, comparison, beside, shown.width);
  }
  if (slowest.size() < record.comparisons.size()) {
    text +=
        "\n" +
        wrapped(fmt::format(
                    "These are the operations that take longest in all their calls, {} of {} comparisons: "
                    "--top N shows more, --details all.",
                    slowest.size(), record.comparisons.size()),
                shown.width);
  }
  if (!record.comparisons.empty()) {
    text += "\n" + wrapped(explained_words(record), shown.width);
  }
  const bool has_load = std::ranges::any_of(
      record.comparisons, [](const DevicesComparison& each) { return each.load == Load::sustained; });
  if (!record.comparisons.empty() && !has_load)
    text +=
        "\n" + wrapped("Only bursts were timed: what power caps and heat do shows under --load sustained.",
                       shown.width);
  for (const std::string& sentence : record.lost) text += "\n" + list_item(one_line(sentence), shown.width);
  if (record.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

Headline headline_of(const DevicesRecord& record) {
  Headline headline{.subject = fmt::format("{} GPUs beside each other", record.devices.size()),
                    .marks = {one_line(record.device.name), counted(record.processes, "process") + " each"}};
  const DeviceBesideOthers* worst = nullptr;
  std::string name;
  for (const DevicesComparison& comparison : record.comparisons) {
    for (const DevicesBeside& beside : comparison.beside) {
      for (std::size_t d = 0; d < beside.devices.size(); ++d) {
        const DeviceBesideOthers& device = beside.devices[d];
        if (device.verdict != EffectVerdict::slower) continue;
        if (worst != nullptr && device.against_others.ratio <= worst->against_others.ratio) continue;
        worst = &device;
        name = names_of(record)[d];
      }
    }
  }
  if (worst == nullptr) {
    headline.number = "none is slower";
    return headline;
  }
  headline.subject = name + " beside the others";
  headline.number = change_text(worst->against_others.ratio - 1.0);
  headline.error = fmt::format("{} to {}", change_text(worst->against_others.low - 1.0),
                               change_text(worst->against_others.high - 1.0));
  return headline;
}

}  // namespace jitterscope

// Plots each GPU's time against the others', alone and all at once.

namespace jitterscope::report {

std::vector<Plot> plots_of(const DevicesRecord& record) {
  std::vector<Plot> plots;
  for (const DevicesComparison& comparison : record.comparisons) {
    Json rows = Json::array();
    const std::vector<std::string> names = names_of(record);
    Plot plot{.id = "devices",
              .title = fmt::format("Each GPU against the others: {}, {} {}", comparison.operation,
                                   to_string(comparison.cache), to_string(comparison.load)),
              .caption = fmt::format("Change of the time against {}; bars are 95 % intervals.",
                                     compared_with(record)),
              .spec = {},
              .table = columns_of({"GPU", "how", ">change, %", ">low", ">high"})};
    for (const DevicesBeside& beside : comparison.beside) {
      for (std::size_t d = 0; d < beside.devices.size(); ++d) {
        const RatioEstimate& ratio = beside.devices[d].against_others;
        if (!std::isfinite(ratio.high)) continue;
        rows.push_back({{"name", names[d]},
                        {"how", how(beside)},
                        {"change", rounded(percent_change(ratio.ratio))},
                        {"low", rounded(percent_change(ratio.low))},
                        {"high", rounded(percent_change(ratio.high))}});
        add_row(plot.table, {names[d], how(beside), cell(percent_change(ratio.ratio)),
                             cell(percent_change(ratio.low)), cell(percent_change(ratio.high))});
      }
    }
    if (rows.empty()) continue;
    constexpr int kLongestLabel = 200;
    plot.spec = single_plot(filled(
        R"({
    "height": "$height", "width": "$width", "data": "$rows",
    "layer": [
      {"data": {"values": [{"zero": 0}]}, "mark": {"type": "rule", "color": "$grey"}, "encoding": {"x": {"field": "zero:Q"}}},
      {"mark": {"type": "rule", "size": 2},
       "encoding": {"y": "$axis", "yOffset": {"field": "how"}, "x": {"field": "low:Q", "title": "change against the others, %"}, "x2": {"field": "high"}, "color": "$color"}},
      {"mark": {"type": "point", "filled": true, "size": 60},
       "encoding": {"y": "$axis", "yOffset": {"field": "how"}, "x": {"field": "change:Q", "title": "change against the others, %"}, "color": "$color",
         "tooltip": [["name:N", "GPU"], ["how:N", "how"], ["change", "change, %"], ["low", "low"], ["high", "high"]]}}]})",
        "rows", rows, "height", height_of(names, 34), "width", width_beside(names, kLongestLabel), "axis",
        names_axis("name", names, kLongestLabel), "color", series_color("how", {"alone", "all at once"})));
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace jitterscope::report
