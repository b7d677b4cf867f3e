#include "commands/study/parallel_command.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "cli/command_line.hpp"
#include "cli/ranks.hpp"
#include "cli/targets.hpp"
#include "commands/study/parallel_record.hpp"
#include "device/collective.hpp"
#include "experiment/collectives.hpp"
#include "experiment/processes.hpp"
#include "group/group.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "model/cut_in_parts.hpp"
#include "model/native_step.hpp"
#include "model/step_costs.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/words.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

// Exchanges cost more than nothing, so that a plan that only says what is exchanged has them.
const plan::StatedNetwork kSomeNetwork{microseconds(10), 1e11};

// One exchange alone, whose time the plan's costs are read from.
struct TransferTrial {
  plan::Transfer transfer;
  Operation operation;
};

// An arm, and what its trials run.
struct PreparedArm {
  study::ParallelArm arm;
  ParallelStep step, exchange_alone, computing_alone;  ///< the last has no calls unless layers are cut
  StepArm trials;
  bool is_cut() const { return arm.arrangement.grid.tensor > 1; }
};

class ParallelStudyCommand {
 public:
  ParallelStudyCommand(const ParallelStudyAsked& asked, Invocation& invocation)
      : asked_(asked), invocation_(invocation) {}

  void run() {
    if (asked_.local > 0) start_local_ranks(asked_.local, invocation_);
    if (!invocation_.ranks || invocation_.ranks->size() < 2)
      throw UsageError(fmt::format(
          "the study {0} is of a step between ranks, and there is one process; start more: `mpirun -n 2 "
          "jitterscope study {0} …`, or --local 2",
          asked_.study.summary.id));
    devices_ = devices_of_ranks(asked_.device, *invocation_.ranks);
    if (names_operation(asked_.network))
      throw UsageError(fmt::format(
          "{} is one operation, and the study {} is of a network's step: name {} or another network "
          "(jitterscope list models)",
          printable(asked_.network, 100), asked_.study.summary.id, asked_.study.example));
    model_ = read_model_target(asked_.network);
    layers_ = step_layers(model_);
    prepare_arms();
    find_transfers();
    RecordFiles files(asked_.record);
    if (asked_.dry_run) return print_result(dry_run_text());
    record_.environment = read_environment(invocation_.command_line);
    GroupsOnRanks found = run_groups_on_ranks(
        devices_, asked_.groups, counted(std::ssize(arms_), "arm") + " in", asked_.seed,
        [this](std::int64_t, std::uint64_t seed, bool is_first) { return plan_of_group(seed, is_first); },
        invocation_);
    record_.notes = notes_of(found.lost);
    if (!found.lost.empty()) invocation_.exit_code = ExitCode::failed;
    finish(found.groups);
    if (is_interrupted()) {
      record_.interrupted = true;
      invocation_.exit_code = ExitCode::interrupted;
    }
    files.write(record_, asked_.page);
  }

 private:
  std::int64_t ranks() const { return std::ssize(devices_); }

  // One micro-batch for each replica.
  plan::Job job(const plan::NetworkCosts& network, const plan::Arrangement& arrangement,
                const plan::TransferCosts& transfers, plan::OverlapTax tax) const {
    return {.network = network,
            .around = {.transfers = transfers, .gpus_per_host = ranks(), .tax = tax},
            .micro_batches = arrangement.grid.data};
  }

  void prepare_arms() {
    const plan::TransferCosts transfers({}, kSomeNetwork);
    for (study::ParallelArm& arm : asked_.study.arms(layers_.network, ranks())) {
      const bool is_cut = arm.arrangement.grid.tensor > 1;
      const Model network =
          is_cut ? cut_in_parts(model_, layers_, ranks(), arm.arrangement.by_sequence) : model_;
      const plan::StepPlan plan =
          plan::step_of(job(layers_.network, arm.arrangement, transfers, {}), arm.arrangement);
      const std::string name = fmt::format("{}, {}", model_.name, arm.name);
      PreparedArm prepared{.arm = std::move(arm),
                           .step = native_step(network, layers_, plan, 0, ranks(), name),
                           .exchange_alone = {.name = name + ", exchange alone", .network = {}},
                           .computing_alone = {.name = name + ", computing alone", .network = {}},
                           .trials = {.step = name, .exchange_alone = {}, .steps = plan.steps}};
      if (is_cut) {
        prepared.computing_alone.network = network;
        prepared.trials.computing_alone = prepared.computing_alone.name;
      }
      for (const StepExchange& exchange : prepared.step.exchanges)
        prepared.exchange_alone.exchanges.push_back({exchange.collective, 0, 0});
      if (!prepared.step.exchanges.empty()) prepared.trials.exchange_alone = prepared.exchange_alone.name;
      for (const plan::Meeting& meeting : plan.meetings) {
        for (const plan::Transfer& transfer : meeting.transfers)
          sizes_[transfer.exchange].insert(transfer.bytes);
      }
      arms_.push_back(std::move(prepared));
    }
    record_.study = asked_.study.summary.id;
    record_.question = asked_.study.summary.question;
    record_.network = asked_.network;
    record_.samples = layers_.network.samples;
    record_.weights = plan::weights_of(layers_.network);
    record_.dtype = to_string(layers_.gradients);
  }

  // The smallest and the largest size of each exchange, and some between; costs lie on lines between them.
  void find_transfers() {
    constexpr std::int64_t kApart = 4;
    for (const auto& [exchange, sizes] : sizes_) {
      Bytes last;
      for (const Bytes bytes : sizes) {
        if (last.value() > 0 && bytes < last * kApart && bytes != *sizes.rbegin()) continue;
        last = bytes;
        const plan::Transfer transfer{exchange, bytes};
        transfers_.push_back({transfer, native_exchange(transfer, ranks(), layers_.gradients)});
      }
    }
  }

  Plan plan_of_group(std::uint64_t seed, bool is_first) const {
    MeasureOptions options = transfer_options(seed);
    options.data = DataKind::normal;
    // A held queue has no room for launches of hundreds of calls that are not recorded, and a slope of
    // recordings needs none.
    options.conditioning_launches = 0;
    options.time_limit = asked_.time_limit;
    Plan plan;
    plan.ceilings = false;
    for (const PreparedArm& each : arms_) {
      MeasureOptions traced = options;
      traced.kernels = is_first;
      plan.groups.push_back({Trial{TrialSubject(each.step), traced}});
      if (!each.exchange_alone.exchanges.empty()) {
        MeasureOptions alone = options;
        alone.time_limit = asked_.time_limit * kShareOfExchange;
        plan.groups.push_back({Trial{TrialSubject(each.exchange_alone), alone}});
      }
      if (each.is_cut()) plan.groups.push_back({Trial{TrialSubject(each.computing_alone), options}});
    }
    // A process drifts: another arm comes last in each group.
    Random order(options.seed);
    shuffle(plan.groups, order);
    if (!is_first) return plan;
    for (const TransferTrial& each : transfers_) {
      MeasureOptions alone = options;
      alone.time_limit = asked_.time_limit * kShareOfExchange;
      plan.groups.push_back({Trial{each.operation, alone}});
    }
    // One process times all networks, so that their times can be compared.
    std::vector<Model> networks = {model_};
    for (const PreparedArm& each : arms_)
      if (each.is_cut()) networks.push_back(each.step.network);
    plan.in_sequence = one_after_another(networks);
    return plan;
  }

  void finish(const std::vector<std::vector<RunRecord>>& groups) {
    record_.groups = std::ssize(groups);
    record_.settings = nccl_settings();
    for (const PreparedArm& each : arms_) {
      const std::int64_t exchanges = std::ssize(each.step.exchanges);
      record_.arms.push_back({.name = each.arm.name,
                              .parts = each.arm.arrangement.grid.tensor,
                              .exchanges = exchanges,
                              .steps = each.trials.steps,
                              .times = {}});
    }
    if (groups.empty()) return;
    std::vector<StepArm> trials;
    for (const PreparedArm& each : arms_) trials.push_back(each.trials);
    const ParallelSteps steps = analyse_steps(groups, trials);
    take_ranks(groups.front(), steps);
    for (std::size_t i = 0; i < steps.arms.size(); ++i) record_.arms[steps.numbers[i]].times = steps.arms[i];
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      if (record_.arms[i].times.groups.empty())
        record_.arms[i].failure = failure_of(groups, arms_[i].trials.step);
    }
    if (!steps.arms.empty() && groups.front()[steps.slowest].sequence) simulate_arms(groups.front(), steps);
    std::vector<study::TimedArm> timed;
    for (std::size_t i = 0; i < steps.arms.size(); ++i) {
      const std::size_t number = steps.numbers[i];
      const auto cut = cuts_.find(number);
      timed.push_back({arms_[number].arm, steps.arms[i], record_.arms[number].simulated,
                       record_.arms[number].memory, cut != cuts_.end() ? &cut->second : nullptr});
    }
    record_.answers = asked_.study.answers(timed, steps);
    if (timed.size() < arms_.size()) invocation_.exit_code = ExitCode::failed;
  }

  void take_ranks(const std::vector<RunRecord>& ranks, const ParallelSteps& steps) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      record_.ranks.push_back({.host = invocation_.ranks->host_of(r), .device = ranks[r].device.name});
      if (r < steps.computing.size()) record_.ranks.back().computing = steps.computing[r];
    }
    record_.slowest = static_cast<std::int64_t>(steps.slowest);
    record_.waiting = steps.waiting;
    record_.device = ranks.front().device;
    record_.library = nccl_of(record_.device);
  }

  // The plan of each arm, with the slowest rank's layers: their shares as timed in sequence, their sum as the
  // step without an exchange takes.
  void simulate_arms(const std::vector<RunRecord>& ranks, const ParallelSteps& steps) {
    try {
      const SequenceMeasurement& sequence = *ranks[steps.slowest].sequence;
      const TimedNetwork whole = timed_network(sequence, 0, model_, steps.arms.front().time.median);
      const plan::TransferCosts transfers(measured_transfers(ranks), std::nullopt);
      std::size_t networks = 1;  // in the sequence before this arm's
      for (std::size_t i = 0; i < arms_.size(); ++i) {
        const plan::Arrangement& arrangement = arms_[i].arm.arrangement;
        const plan::OverlapTax tax{.compute = tax_of(record_.arms[i].times), .communication = 1.0};
        const plan::Job own = job(whole.costs, arrangement, transfers, tax);
        const plan::StepPlan plan = plan::step_of(own, arrangement);
        record_.arms[i].simulated = plan::length_of(plan) / static_cast<double>(plan.steps);
        record_.arms[i].memory = plan::memory_of(own, arrangement).sum();
        if (!arms_[i].is_cut()) continue;
        const std::size_t number = networks++;
        const std::optional<TimeEstimate>& computing = record_.arms[i].times.computing;
        if (!computing) continue;
        const TimedNetwork cut = timed_network(sequence, number, arms_[i].step.network, computing->median);
        study::CutArm found{.computing = take_apart(whole.calls, cut.calls, this->ranks()),
                            .from_whole = record_.arms[i].simulated};
        record_.arms[i].simulated = step_in_parts(cut.costs, arrangement, transfers);
        found.on_more = on_more_gpus(whole.costs, cut.costs, arrangement, transfers);
        record_.arms[i].cut = ParallelStudyCut{found.computing, found.from_whole};
        cuts_[i] = std::move(found);
      }
    } catch (const Error& error) {
      record_.notes.push_back(fmt::format("the arms are not simulated: {}", error.what()));
    }
  }

  struct TimedNetwork {
    plan::NetworkCosts costs;
    TimedCalls calls;
  };
  // The times of one of the networks that were timed one after another, so that their sum is `sum`.
  TimedNetwork timed_network(const SequenceMeasurement& sequence, std::size_t number, const Model& network,
                             Nanoseconds sum) const {
    const std::size_t calls = model_.calls.size();
    SequenceMeasurement own;
    for (std::size_t c = number * calls; c < std::min((number + 1) * calls, sequence.calls.size()); ++c)
      own.calls.push_back(sequence.calls[c]);
    TimedNetwork timed{timed_in_sequence(layers_, own), {network, {}}};
    const double scale = sum / (plan::forward_of(timed.costs).time + plan::backward_of(timed.costs).time);
    for (plan::LayerCosts& layer : timed.costs.layers) {
      layer.forward.time = layer.forward.time * scale;
      layer.backward.time = layer.backward.time * scale;
    }
    for (const SequenceCall& call : own.calls) timed.calls.times.push_back(call.time.median * scale);
    return timed;
  }

  // The step of GPUs with these parts of layers each.
  static Nanoseconds step_in_parts(const plan::NetworkCosts& parts, const plan::Arrangement& arrangement,
                                   const plan::TransferCosts& transfers) {
    return plan::length_of(
        plan::data_parallel_step(parts, arrangement.grid, 1, arrangement.way, arrangement.by_sequence,
                                 {.transfers = transfers, .gpus_per_host = arrangement.grid.tensor}));
  }

  // On more GPUs a layer takes what the line through its times on one and on these says: a part that shrinks,
  // and one that does not.
  std::vector<study::ForeseenStep> on_more_gpus(const plan::NetworkCosts& whole,
                                                const plan::NetworkCosts& cut,
                                                const plan::Arrangement& arrangement,
                                                const plan::TransferCosts& transfers) const {
    constexpr std::int64_t kMost = 16;
    const auto at = [&](const plan::Cost& one, const plan::Cost& these, std::int64_t gpus) {
      const double these_share = 1.0 / static_cast<double>(ranks());
      const Nanoseconds shrinks = (one.time - these.time) / (1.0 - these_share);
      const Nanoseconds time = one.time - shrinks * (1.0 - 1.0 / static_cast<double>(gpus));
      return plan::Cost{std::max(time, Nanoseconds(0)), {}};
    };
    std::vector<study::ForeseenStep> found;
    for (std::int64_t gpus = ranks() + 1; gpus <= std::min(kMost, whole.heads); ++gpus) {
      if (whole.heads % gpus != 0) continue;
      plan::NetworkCosts parts = whole;
      for (std::size_t l = 0; l < parts.layers.size(); ++l) {
        parts.layers[l].forward = at(whole.layers[l].forward, cut.layers[l].forward, gpus);
        parts.layers[l].backward = at(whole.layers[l].backward, cut.layers[l].backward, gpus);
      }
      plan::Arrangement more = arrangement;
      more.grid.tensor = gpus;
      found.push_back({gpus, step_in_parts(parts, more, transfers)});
    }
    return found;
  }

  // How much slower kernels are while an exchange runs beside them. The trace tells what all kernels lose,
  // and they lose it in the time that the exchange is hidden.
  static double tax_of(const StepTimes& times) {
    if (!times.computing_slowed || !times.exchange || !times.exposed) return 1.0;
    const Nanoseconds beside = times.exchange->median - std::max(times.exposed->value, Nanoseconds(0));
    const Nanoseconds computing = times.time.median - times.exposed->value;
    if (!(beside > Nanoseconds(0))) return 1.0;
    const Nanoseconds added = computing * std::max(*times.computing_slowed, 0.0);
    return beside > added ? beside / (beside - added) : 1.0;
  }

  std::vector<plan::MeasuredTransfers> measured_transfers(const std::vector<RunRecord>& ranks) const {
    std::map<plan::Exchange, plan::MeasuredTransfers> all;
    for (const TransferTrial& each : transfers_) {
      const std::optional<Nanoseconds> time = time_of_group(ranks, each.operation.text(), Load::burst);
      if (!time) continue;
      plan::MeasuredTransfers& of = all[each.transfer.exchange];
      of.exchange = each.transfer.exchange;
      of.ranks = this->ranks();
      of.transfers.push_back({each.transfer.bytes, {*time, {}}});
    }
    std::vector<plan::MeasuredTransfers> measured;
    for (auto& [exchange, transfers] : all) measured.push_back(std::move(transfers));
    return measured;
  }

  std::string dry_run_text() const {
    std::string text =
        fmt::format("{}\n\n{} on {}; {} of fresh processes:\n", record_.question, counted(ranks(), "rank"),
                    joined(devices_), counted(asked_.groups, "group"));
    for (const PreparedArm& each : arms_)
      text += fmt::format("  {}: {}\n", each.arm.name,
                          each.step.exchanges.empty() ? "each rank for itself"
                                                      : counted(std::ssize(each.step.exchanges), "exchange"));
    return text;
  }

  static constexpr double kShareOfExchange = 0.25;  // of an arm's time limit

  const ParallelStudyAsked& asked_;
  Invocation& invocation_;
  std::vector<std::string> devices_;
  Model model_;
  StepLayers layers_;
  std::vector<PreparedArm> arms_;
  std::map<plan::Exchange, std::set<Bytes>> sizes_;  // that some arm exchanges
  std::vector<TransferTrial> transfers_;
  std::map<std::size_t, study::CutArm> cuts_;  // by the arm's number
  ParallelStudyRecord record_;
};

}  // namespace

void run_parallel_study(const ParallelStudyAsked& asked, Invocation& invocation) {
  ParallelStudyCommand(asked, invocation).run();
}

}  // namespace jitterscope::cli
