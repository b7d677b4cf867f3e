// A layer alone, in its network, and in PyTorch: what lies between the three times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"
#include "explain/account_ratios.hpp"
#include "finding/sequence_reason.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::explain {
namespace {

// PyTorch's times are CUPTI's, and ours agree with them within so much (docs/evidence/benchmarks.md).
constexpr Nanoseconds kInstruments = microseconds(0.1);

// The mean over all its calls, of one run: how far another run would differ is not known from it.
TimeEstimate recorded_time_of(const Layer& layer) {
  const Nanoseconds time = *layer.recorded_time / static_cast<double>(layer.count());
  return {time, time, time, layer.count()};
}

struct TracedSides {
  const RunRecord& record;
  const Model& trace;
  const RunEntry& entry;
  const Layer& layer;
  const Measurement& alone;
  const LayerInSequence* in_sequence;  // null where the record has none
};

std::string joined_names(const std::vector<LaunchKernel>& kernels) {
  std::vector<std::string> names;
  for (const LaunchKernel& kernel : kernels) names.push_back(kernel.name);
  return joined(names);
}

void add_if_different(Account& account, std::string name, std::string ours, std::string theirs) {
  if (ours.empty() || theirs.empty() || ours == theirs) return;
  account.parts.push_back({.name = std::move(name),
                           .first = std::move(ours),
                           .second = std::move(theirs),
                           .source = "record and trace do not tell what it does"});
}

std::string cudnn_of(const RunRecord& record) {
  const auto& libraries = record.device.libraries;
  const auto found = std::ranges::find(libraries, "cudnn", &LibraryInfo::name);
  return found == libraries.end() ? std::string() : found->version;
}

// A stand-in is not what PyTorch ran, whether or not the record names its kernels.
void add_kernels(Account& account, const Result& result, const Layer& layer) {
  std::string ours = joined_names(result.kernels);
  if (ours.empty() && result.stand_in) ours = result.algorithm + ", a stand-in";
  add_if_different(account, "kernels", std::move(ours), joined(layer.recorded_kernels));
}

void add_place_in_network(Account& account, const TracedSides& sides) {
  AccountedPart part{.name = "network", .first = "alone", .second = "where it runs"};
  if (sides.in_sequence != nullptr) {
    part.ratio = time_ratio(account.first, sides.in_sequence->in_place);
    part.source = "the record timed it in sequence too";
    if (!sides.in_sequence->reason.empty()) part.source += ": " + sides.in_sequence->reason;
  } else {
    part.source = "the record has the layer alone";
    part.experiment =
        "jitterscope run TRACE --in-sequence --json FILE, and explain FILE with the trace again";
  }
  account.parts.push_back(std::move(part));
}

// Known to so much, with no better value than none.
void add_uncertainty(Account& account, std::string name, Nanoseconds uncertainty, std::string source) {
  const double half = uncertainty / account.first.median;
  account.parts.push_back(
      {.name = std::move(name), .ratio = ratio_with(0.0, half), .source = std::move(source)});
}

Account traced_account(const TracedSides& sides) {
  Account account{.layers = sides.layer.names,
                  .count = sides.layer.count(),
                  .first_subject = sides.layer.operation.text(),
                  .second_subject = sides.layer.operation.text(),
                  .first_conditions = sides.alone.conditions,
                  .second_conditions = sides.alone.conditions,
                  .first = sides.alone.repeatability,
                  .second = recorded_time_of(sides.layer)};
  account.time =
      ratio_with(std::log(account.second.median / account.first.median), relative_half(account.first));
  add_if_different(account, "device", sides.record.device.name, sides.trace.recorded_device);
  add_if_different(account, "cudnn", cudnn_of(sides.record), sides.trace.recorded_cudnn);
  add_kernels(account, sides.entry.result, sides.layer);
  add_place_in_network(account, sides);
  add_uncertainty(account, "method", sides.alone.uncertainty.instrument + kInstruments,
                  "our instrument's constant, and how far it and CUPTI agree");
  add_uncertainty(account, "process", sides.alone.uncertainty.processes,
                  "how far processes differ on such a device");
  account.rest = rest_of(account);
  return account;
}

const Layer* layer_of(const Model& trace, const Result& result) {
  const Operation* operation = operation_of(result.subject);
  if (operation == nullptr) return nullptr;
  const auto found = std::ranges::find(trace.layers, *operation, &Layer::operation);
  return found == trace.layers.end() || !found->recorded_time ? nullptr : &*found;
}

}  // namespace

std::vector<Account> account_for(const RunRecord& record, const Model& trace) {
  if (std::ranges::none_of(trace.layers,
                           [](const Layer& layer) { return layer.recorded_time.has_value(); })) {
    throw UsageError(trace.name +
                     " holds no times of a GPU: record it with torch.profiler and "
                     "ProfilerActivity.CUDA");
  }
  const std::vector<LayerInSequence> placed = layers_in_sequence(record);
  std::vector<Account> accounts;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    const Layer* layer = layer_of(trace, entry.result);
    if (layer == nullptr || entry.result.measurements.empty()) continue;
    const auto place = std::ranges::find(placed, i, &LayerInSequence::result);
    accounts.push_back(traced_account({record, trace, entry, *layer, entry.result.measurements.front(),
                                       place == placed.end() ? nullptr : &*place}));
  }
  if (!accounts.empty()) return accounts;
  throw UsageError(
      "record and trace have no operation in common that both timed: measure the trace's layers with "
      "`jitterscope run TRACE --json FILE`");
}

}  // namespace jitterscope::explain
