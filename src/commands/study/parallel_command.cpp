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
  ParallelStep step, exchange_alone;
  StepArm trials;
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
          "{} is one operation, and the study {} is of a network's step: name resnet50, gpt2 or another "
          "network (jitterscope list models)",
          printable(asked_.network, 100), asked_.study.summary.id));
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

  plan::Job job(const plan::NetworkCosts& network, const plan::TransferCosts& transfers,
                plan::OverlapTax tax) const {
    return {.network = network,
            .around = {.transfers = transfers, .gpus_per_host = ranks(), .tax = tax},
            .micro_batches = ranks()};
  }

  void prepare_arms() {
    const plan::TransferCosts transfers({}, kSomeNetwork);
    for (study::ParallelArm& arm : asked_.study.arms(layers_.network, ranks())) {
      const plan::StepPlan plan = plan::step_of(job(layers_.network, transfers, {}), arm.arrangement);
      const std::string name = fmt::format("{}, {}", model_.name, arm.name);
      PreparedArm prepared{.arm = std::move(arm),
                           .step = native_step(model_, layers_, plan, 0, ranks(), name),
                           .exchange_alone = {.name = name + ", exchange alone", .network = {}},
                           .trials = {.step = name, .exchange_alone = {}, .steps = plan.steps}};
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
    plan.in_sequence = model_;
    return plan;
  }

  void finish(const std::vector<std::vector<RunRecord>>& groups) {
    record_.groups = std::ssize(groups);
    record_.settings = nccl_settings();
    for (const PreparedArm& each : arms_) {
      const std::int64_t exchanges = std::ssize(each.step.exchanges);
      record_.arms.push_back(
          {.name = each.arm.name, .exchanges = exchanges, .steps = each.trials.steps, .times = {}});
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
    simulate_arms(groups.front(), steps);
    std::vector<study::TimedArm> timed;
    for (std::size_t i = 0; i < steps.arms.size(); ++i) {
      const std::size_t number = steps.numbers[i];
      timed.push_back({arms_[number].arm, steps.arms[i], record_.arms[number].simulated});
    }
    record_.answers = study::parallel_answers(timed, steps);
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
    if (steps.arms.empty() || !ranks[steps.slowest].sequence) return;
    try {
      plan::NetworkCosts network = timed_in_sequence(layers_, *ranks[steps.slowest].sequence);
      const Nanoseconds all = plan::forward_of(network).time + plan::backward_of(network).time;
      const double scale = steps.arms.front().time.median / all;
      for (plan::LayerCosts& layer : network.layers) {
        layer.forward.time = layer.forward.time * scale;
        layer.backward.time = layer.backward.time * scale;
      }
      const plan::TransferCosts transfers(measured_transfers(ranks), std::nullopt);
      for (std::size_t i = 0; i < arms_.size(); ++i) {
        const plan::OverlapTax tax{.compute = tax_of(record_.arms[i].times), .communication = 1.0};
        const plan::Job own = job(network, transfers, tax);
        const plan::StepPlan plan = plan::step_of(own, arms_[i].arm.arrangement);
        record_.arms[i].simulated = plan::length_of(plan) / static_cast<double>(plan.steps);
        record_.arms[i].memory = plan::memory_of(own, arms_[i].arm.arrangement).sum();
      }
    } catch (const Error& error) {
      record_.notes.push_back(fmt::format("the arms are not simulated: {}", error.what()));
    }
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
  ParallelStudyRecord record_;
};

}  // namespace

void run_parallel_study(const ParallelStudyAsked& asked, Invocation& invocation) {
  ParallelStudyCommand(asked, invocation).run();
}

}  // namespace jitterscope::cli
