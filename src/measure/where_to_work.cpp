#include "measure/where_to_work.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

// Names of an operation as a member of its kind: "convolutions", "convolutions 3x3", " at 56x56".
struct KindNames {
  std::string_view kind;
  std::string part;
  std::string size = {};  // tells parts apart where the network has no names for its places
};

std::string images(std::int64_t h, std::int64_t w) { return fmt::format(" at {}x{}", h, w); }

// The three passes of a layer's product have the same three sizes, in another order.
std::string product(std::array<std::int64_t, 3> sizes, std::int64_t batch) {
  std::ranges::sort(sizes);
  std::string text = fmt::format("products {}x{}x{}", sizes[0], sizes[1], sizes[2]);
  return batch > 1 ? fmt::format("{} in batches of {}", text, batch) : text;
}

struct NamesOfKind {
  std::string_view word;  // the word before the colon

  KindNames operator()(const Conv2d& conv) const {
    const bool is_depthwise = conv.groups > 1 && conv.groups == conv.c;
    return {"convolutions",
            fmt::format("{}convolutions {}x{}",
                        is_depthwise      ? "depthwise "
                        : conv.groups > 1 ? "grouped "
                                          : "",
                        conv.r, conv.s),
            images(conv.h, conv.w)};
  }
  KindNames operator()(const Matmul& of) const { return {"products", product({of.m, of.n, of.k}, of.batch)}; }
  KindNames operator()(const Linear& of) const { return {"products", product({of.n, of.in, of.out}, 1)}; }
  KindNames operator()(const BatchNorm& of) const { return {"norms", "batch norms", images(of.h, of.w)}; }
  KindNames operator()(const LayerNorm&) const { return {"norms", "layer norms"}; }
  KindNames operator()(const Pool2d& of) const {
    return {"pooling", of.kind == PoolKind::max ? "max pooling" : "average pooling", images(of.h, of.w)};
  }
  KindNames operator()(const Attention&) const { return {"attention", "attention"}; }
  KindNames operator()(const Softmax&) const { return {"softmax", "softmax"}; }
  KindNames operator()(const Elementwise&) const { return {"elementwise", std::string(word)}; }
  KindNames operator()(const BiasAdd&) const { return {"elementwise", std::string(word)}; }
  KindNames operator()(const Embedding&) const { return {"embeddings", "embeddings"}; }
  KindNames operator()(const OptimizerStep&) const { return {"optimizer steps", std::string(word)}; }
  KindNames operator()(const Copy&) const { return {"copies", "copies"}; }
  KindNames operator()(const Convert&) const { return {"copies", "conversions"}; }
  KindNames operator()(const Collective&) const { return {"collectives", std::string(word)}; }
  KindNames operator()(const Aten& of) const { return {"PyTorch's own operators", of.name}; }
  KindNames operator()(const CudaKernel& of) const { return {"kernels", of.kernel}; }
  KindNames operator()(const Chain&) const { return {"chains", "chains"}; }
  KindNames operator()(const Spin&) const { return {"spins", "spins"}; }
  KindNames operator()(const Allocation&) const { return {"allocations", "allocations"}; }
};

KindNames names_of_kind(const Subject& subject) {
  const Operation* operation = operation_of(subject);
  if (operation == nullptr) return {"functions", to_string(subject)};
  return std::visit(NamesOfKind{operation->kind()}, operation->parameters());
}

bool ends_with_number(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.back())) == 0) return false;
  const std::size_t last = text.find_last_not_of("0123456789");
  return last == std::string_view::npos || text[last] == '_';
}

// Returns the part of the network that a layer's name says: layer1 for layer1.0.conv2.fprop, transformer.h
// for transformer.h.3.mlp.c_fc.dgrad, conv1 for conv1.wgrad. Empty for names that are no modules' paths, such
// as aten::mm#12 and line 45.
std::string place_of(std::string_view layer) {
  if (layer.find_first_of("#: ") != std::string_view::npos) return {};
  for (const std::string_view pass : {".fprop", ".dgrad", ".wgrad", ".forward", ".backward"}) {
    if (layer.ends_with(pass)) layer.remove_suffix(pass.size());
  }
  std::size_t end = 0;
  while (end < layer.size()) {
    const std::size_t next = std::min(layer.find('.', end), layer.size());
    if (end > 0 && ends_with_number(layer.substr(end, next - end)))
      return std::string(layer.substr(0, end - 1));
    end = next + 1;
  }
  return std::string(layer);
}

WorkGroup& group_named(std::vector<WorkGroup>& groups, const std::string& name) {
  const auto known = std::ranges::find(groups, name, &WorkGroup::name);
  return known == groups.end() ? groups.emplace_back(WorkGroup{.name = name}) : *known;
}

class Collector {
 public:
  Collector(const RunRecord& record, Conditions conditions) : record_(record) {
    where_.conditions = conditions;
    for (const NetworkTotal& total : network_totals(record)) {
      if (total.conditions == conditions) total_ = total.time;
    }
  }

  WhereToWork where() {
    for (std::size_t i = 0; i < record_.entries.size(); ++i) add_entry(i);
    std::ranges::stable_sort(where_.kinds, std::greater(), &WorkGroup::share);
    std::ranges::stable_sort(where_.parts, std::greater(), &WorkGroup::share);
    std::ranges::stable_sort(where_.parts, std::greater(), &WorkGroup::could_save);
    return std::move(where_);
  }

 private:
  void add_entry(std::size_t index) {
    const RunEntry& entry = record_.entries[index];
    const Measurement* measurement = find_measurement(entry.result, where_.conditions);
    if (measurement == nullptr || !(measurement->time.median > Nanoseconds(0))) return;
    const Nanoseconds call = measurement->time.median;
    const std::optional<double> reached = reached_of_ceiling(entry.result, call, record_);
    const KindNames names = names_of_kind(entry.result.subject);
    add_calls(group_named(where_.kinds, std::string(names.kind)), index, entry.count, call, reached);
    // Equal operations may stand in several places of the network.
    std::int64_t named = 0;
    for (const std::string& layer : entry.layers) {
      if (named == entry.count) break;
      const std::string place = place_of(layer);
      add_calls(part_named(names, place), index, 1, call, reached);
      ++named;
    }
    if (named < entry.count) add_calls(part_named(names, ""), index, entry.count - named, call, reached);
    const double share = static_cast<double>(entry.count) * call / total_;
    if (reached && *reached >= kAtCeiling) where_.at_ceiling += share;
    if (reached) return;
    where_.unknown += share;
    const std::optional<AchievedRate> rate = achieved_rate(entry.result, call, record_);
    if (rate && rate->is_above_ceiling()) where_.faster_than_ceiling += share;
  }

  WorkGroup& part_named(const KindNames& names, const std::string& place) {
    return group_named(where_.parts, names.part + (place.empty() ? names.size : " of " + place));
  }

  void add_calls(WorkGroup& group, std::size_t index, std::int64_t calls, Nanoseconds call,
                 std::optional<double> reached) const {
    const Nanoseconds time = static_cast<double>(calls) * call;
    const double share = time / total_;
    group.calls += calls;
    group.time += time;
    group.share += share;
    if (reached) {
      group.known_share += share;
      group.could_save += share * (1.0 - *reached);
    }
    if (group.results.empty() || group.results.back() != index) group.results.push_back(index);
  }

  const RunRecord& record_;
  Nanoseconds total_;
  WhereToWork where_;
};

// Returns null where all are at their ceilings, or none is known.
const WorkGroup* most_to_save(const std::vector<WorkGroup>& groups) {
  const WorkGroup* most = nullptr;
  for (const WorkGroup& group : groups) {
    const bool is_open = group.known_share > 0.0 && !group.is_at_ceiling();
    if (is_open && (most == nullptr || group.could_save > most->could_save)) most = &group;
  }
  return most;
}

}  // namespace

std::optional<double> reached_of_ceiling(const Result& result, Nanoseconds time, const RunRecord& record) {
  const Operation* operation = operation_of(result.subject);
  if (operation != nullptr && std::holds_alternative<Aten>(operation->parameters())) return std::nullopt;
  const std::optional<AchievedRate> rate = achieved_rate(result, time, record);
  if (!rate || !rate->ceiling_share || rate->is_above_ceiling()) return std::nullopt;
  return std::min(*rate->ceiling_share, 1.0);
}

std::optional<double> WorkGroup::of_ceiling() const {
  if (!(known_share > 0.0)) return std::nullopt;
  return 1.0 - could_save / known_share;
}

std::optional<WhereToWork> where_to_work(const RunRecord& record) {
  if (!is_network(record) || record.entries.size() < 2) return std::nullopt;
  // Calls that were not reached may take most of the time.
  if (ended_early(record)) return std::nullopt;
  const std::vector<Conditions> conditions = distinct_conditions(record);
  if (conditions.empty()) return std::nullopt;
  WhereToWork where = Collector(record, conditions.front()).where();
  return where.kinds.empty() ? std::nullopt : std::optional(std::move(where));
}

std::string advice_of(const WhereToWork& where) {
  constexpr double kWorthIt = 0.02;  // of the time: less is lost in what a new kernel costs to write
  const WorkGroup* best = most_to_save(where.parts);
  // Many small parts of one kind may be worth it together.
  const WorkGroup* kind = most_to_save(where.kinds);
  if (best != nullptr && best->could_save < kWorthIt && kind != nullptr) best = kind;
  if (best != nullptr) {
    const bool is_all = best->known_share > 0.999 * best->share;
    const std::string gain = fmt::format("{} ({} of the time, {}at {} of their ceiling: at most {} to gain)",
                                         best->name, percent_text(best->share),
                                         is_all ? ""
                                                : fmt::format("{} of it with a known ceiling, ",
                                                              percent_text(best->known_share / best->share)),
                                         percent_text(*best->of_ceiling()), percent_text(best->could_save));
    return best->could_save < kWorthIt
               ? "Work on: no kernel alone, as none is worth it; the most is in " + gain
               : "Work on: " + gain;
  }
  const bool is_known =
      std::ranges::any_of(where.parts, [](const WorkGroup& part) { return part.of_ceiling().has_value(); });
  return is_known ? "Work on: no kernel alone, as what has a known ceiling is at it"
                  : "Work on: not known, as no layer has a ceiling that was measured";
}

std::string limit_of_faster_kernels(double idle) {
  constexpr double kMostlyIdle = 0.5;
  if (idle < kMostlyIdle) return {};
  return fmt::format("no faster kernel shortens that, at most the other {}", percent_text(1.0 - idle));
}

std::string unknown_ceilings(const WhereToWork& where) {
  constexpr double kNothing = 1e-9;
  const double faster = where.faster_than_ceiling, without = where.unknown - faster;
  if (where.unknown < kNothing) return {};
  std::string text = fmt::format("For {} of the time no ceiling is known: ", percent_text(where.unknown));
  if (faster > kNothing) {
    text += without > kNothing ? percent_text(faster) : "it";
    text +=
        " was faster than what was measured as its ceiling, as operands in a cache are than a copy through memory";
  }
  if (without > kNothing) {
    text += faster > kNothing ? fmt::format(", and {} has", percent_text(without)) : "it has";
    text += " nothing measured to compare with";
  }
  return text + '.';
}

}  // namespace jitterscope
