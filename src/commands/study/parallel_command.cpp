#include "commands/study/parallel_command.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
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

// The network for one of a number of micro-batches that a batch is cut in.
struct NetworkOfMicroBatch {
  Model model;
  StepLayers layers;
};

// An arm, and what its trials run.
struct PreparedArm {
  study::ParallelArm arm;
  std::vector<ParallelStep> steps = {};            ///< one that all ranks have, or one for each
  std::vector<ParallelStep> computing_alone = {};  ///< likewise; none if it computes as the first arm
  ParallelStep exchange_alone = {};
  StepArm trials = {};
  std::vector<std::size_t> meetings = {};  ///< a pipeline's, in the order in which they are launched
  bool is_cut() const { return arm.is_cut(); }
  bool is_pipeline() const { return arm.is_pipeline(); }
};

const ParallelStep& of_rank(const std::vector<ParallelStep>& steps, std::size_t rank) {
  return steps.size() == 1 ? steps.front() : steps.at(rank);
}

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
    networks_[1] = read_network(asked_.network);
    describe_network();
    if (asked_.study.arms_follow_times && !batch_named_in(asked_.network))
      throw UsageError(fmt::format("{} names no batch, which is cut in micro-batches; name one, as in {}",
                                   printable(asked_.network, 100), asked_.study.example));
    RecordFiles files(asked_.record);
    if (asked_.dry_run) {
      prepare_arms();
      return print_result(dry_run_text());
    }
    record_.environment = read_environment(invocation_.command_line);
    if (asked_.study.arms_follow_times) {
      static_cast<void>(asked_.study.arms(network(), ranks()));  // throws where there are none, before timing
      time_layers();
    }
    if (!is_interrupted()) measure();
    if (is_interrupted()) {
      record_.interrupted = true;
      invocation_.exit_code = ExitCode::interrupted;
    }
    files.write(record_, asked_.page);
  }

 private:
  void measure() {
    prepare_arms();
    find_transfers();
    const GroupsOnRanks found = run_groups_on_ranks(
        devices_, asked_.groups, counted(std::ssize(arms_), "arm") + " in", asked_.seed,
        [this](const StartingGroup& group) { return plans_of_group(group); }, invocation_);
    record_.notes = notes_of(found.lost);
    if (!found.lost.empty()) invocation_.exit_code = ExitCode::failed;
    finish(found.groups);
  }

  std::int64_t ranks() const { return std::ssize(devices_); }

  static NetworkOfMicroBatch read_network(const std::string& target) {
    NetworkOfMicroBatch network{.model = read_model_target(target), .layers = {}};
    network.layers = step_layers(network.model);
    return network;
  }

  const Model& model() const { return networks_.at(1).model; }
  const plan::NetworkCosts& network() const { return networks_.at(1).layers.network; }

  void describe_network() {
    record_.study = asked_.study.summary.id;
    record_.question = asked_.study.summary.question;
    record_.network = asked_.network;
    record_.samples = network().samples;
    record_.weights = plan::weights_of(network());
    record_.dtype = to_string(networks_.at(1).layers.gradients);
  }

  // Reads the network once more for a batch that is cut in micro-batches, whose layers take their part of the
  // whole's time: the order of sends follows from it.
  const NetworkOfMicroBatch& network_of(std::int64_t micro_batches) {
    const auto found = networks_.find(micro_batches);
    if (found != networks_.end()) return found->second;
    NetworkOfMicroBatch& own = networks_[micro_batches] =
        read_network(with_batch(asked_.network, network().samples / micro_batches));
    for (std::size_t l = 0; l < network().layers.size(); ++l) {
      plan::LayerCosts& layer = own.layers.network.layers.at(l);
      layer.forward.time = network().layers[l].forward.time / static_cast<double>(micro_batches);
      layer.backward.time = network().layers[l].backward.time / static_cast<double>(micro_batches);
    }
    return own;
  }

  // Times the network's layers, by which they are then cut into stages.
  void time_layers() {
    MeasureOptions options = step_options(asked_.seed);
    Plan plan;
    plan.ceilings = false;
    plan.groups = {{Trial{TrialSubject(ParallelStep{.name = model().name, .network = model()}), options}}};
    plan.in_sequence = model();
    const GroupsOnRanks found = run_groups_on_ranks(
        devices_, 1, "layers in", asked_.seed, [&](const StartingGroup&) { return std::vector{plan}; },
        invocation_);
    if (is_interrupted()) return;
    if (found.groups.empty())
      throw FailedError(found.lost.empty() ? "no rank gave a time" : found.lost.front().why);
    const RunRecord& rank = found.groups.front().front();
    if (!rank.sequence)
      throw FailedError(
          fmt::format("the layers of {} were not timed, by which it is cut into stages", asked_.network));
    networks_[1].layers.network = timed_in_sequence(networks_[1].layers, *rank.sequence);
  }

  plan::Job job(const plan::NetworkCosts& network, const study::ParallelArm& arm,
                const plan::TransferCosts& transfers, plan::OverlapTax tax) const {
    return {.network = network,
            .around = {.transfers = transfers, .gpus_per_host = ranks(), .tax = tax},
            .micro_batches = arm.micro_batches * arm.arrangement.grid.data};
  }

  void prepare_arms() {
    for (study::ParallelArm& arm : asked_.study.arms(network(), ranks()))
      arms_.push_back(prepared(std::move(arm)));
  }

  PreparedArm prepared(study::ParallelArm arm) {
    const plan::TransferCosts transfers({}, kSomeNetwork);
    const NetworkOfMicroBatch& own = network_of(arm.micro_batches);
    const std::string name = fmt::format("{}, {}", model().name, arm.name);
    PreparedArm made{.arm = std::move(arm)};
    const Model network = made.is_cut()
                              ? cut_in_parts(own.model, own.layers, ranks(), made.arm.arrangement.by_sequence)
                              : own.model;
    const plan::StepPlan plan =
        plan::step_of(job(own.layers.network, made.arm, transfers, {}), made.arm.arrangement);
    const std::size_t unlike = made.is_pipeline() ? static_cast<std::size_t>(ranks()) : 1;
    if (made.is_pipeline()) made.meetings = plan::meetings_in_order(plan);
    for (std::size_t rank = 0; rank < unlike; ++rank)
      made.steps.push_back(native_step(network, own.layers, plan, rank, ranks(), name));
    made.trials = {.step = name, .exchange_alone = {}, .steps = plan.steps};
    if (made.is_cut() || made.is_pipeline()) {
      made.trials.computing_alone = name + ", computing alone";
      made.computing_alone = made.steps;
      for (ParallelStep& step : made.computing_alone) {
        step.name = made.trials.computing_alone;
        step.exchanges.clear();
      }
    }
    made.exchange_alone.name = name + ", exchange alone";
    for (const StepExchange& exchange : made.steps.front().exchanges)
      made.exchange_alone.exchanges.push_back({exchange.collective, 0, 0});
    if (!made.exchange_alone.exchanges.empty()) made.trials.exchange_alone = made.exchange_alone.name;
    for (const plan::Meeting& meeting : plan.meetings) {
      for (const plan::Transfer& transfer : meeting.transfers)
        sizes_[transfer.exchange].insert(transfer.bytes);
    }
    return made;
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
        transfers_.push_back(
            {transfer, native_exchange(transfer, ranks(), networks_.at(1).layers.gradients)});
      }
    }
  }

  MeasureOptions step_options(std::uint64_t seed) const {
    MeasureOptions options = transfer_options(seed);
    options.data = DataKind::normal;
    // A held queue has no room for launches of hundreds of calls that are not recorded, and a slope of
    // recordings needs none.
    options.conditioning_launches = 0;
    options.time_limit = asked_.time_limit;
    return options;
  }

  std::vector<Plan> plans_of_group(const StartingGroup& group) const {
    const bool are_alike = std::ranges::none_of(arms_, &PreparedArm::is_pipeline);
    std::vector<Plan> plans;
    for (std::int64_t rank = 0; rank < (are_alike ? 1 : ranks()); ++rank)
      plans.push_back(plan_of(group, static_cast<std::size_t>(rank)));
    return plans;
  }

  Plan plan_of(const StartingGroup& group, std::size_t rank) const {
    const MeasureOptions options = step_options(group.seed);
    MeasureOptions alone = options;
    alone.time_limit = asked_.time_limit * kShareOfExchange;
    Plan plan;
    plan.ceilings = false;
    for (const PreparedArm& each : arms_) {
      MeasureOptions traced = options;
      traced.kernels = group.is_first;
      plan.groups.push_back({Trial{TrialSubject(of_rank(each.steps, rank)), traced}});
      if (!each.exchange_alone.exchanges.empty())
        plan.groups.push_back({Trial{TrialSubject(each.exchange_alone), alone}});
      if (!each.computing_alone.empty())
        plan.groups.push_back({Trial{TrialSubject(of_rank(each.computing_alone, rank)), options}});
    }
    // A process drifts: another arm comes last in each group.
    Random order(options.seed);
    shuffle(plan.groups, order);
    if (!group.is_first) return plan;
    for (const TransferTrial& each : transfers_) plan.groups.push_back({Trial{each.operation, alone}});
    plan.in_sequence = one_after_another(networks_in_sequence());
    return plan;
  }

  // One process times all networks, so that their times can be compared: the whole, those of arms in parts in
  // the order of arms, and those of micro-batches in the order of their number.
  std::vector<Model> networks_in_sequence() const {
    std::vector<Model> all = {model()};
    for (const PreparedArm& each : arms_)
      if (each.is_cut()) all.push_back(each.steps.front().network);
    for (const auto& [micro_batches, network] : networks_)
      if (micro_batches > 1) all.push_back(network.model);
    return all;
  }
  // The place of a pipeline's network among them.
  std::size_t place_of_micro_batch(std::int64_t micro_batches) const {
    const auto cut = static_cast<std::size_t>(std::ranges::count_if(arms_, &PreparedArm::is_cut));
    const auto found = networks_.find(micro_batches);
    return cut + static_cast<std::size_t>(std::distance(networks_.begin(), found));
  }

  void finish(const std::vector<std::vector<RunRecord>>& groups) {
    record_.groups = std::ssize(groups);
    record_.settings = nccl_settings();
    for (const PreparedArm& each : arms_) {
      const std::int64_t exchanges = std::ssize(each.exchange_alone.exchanges);
      record_.arms.push_back({.name = each.arm.name,
                              .parts = each.arm.arrangement.grid.tensor,
                              .stages = each.arm.arrangement.grid.pipeline,
                              .micro_batches = each.arm.micro_batches,
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
      const ParallelStudyArm& arm = record_.arms[number];
      const auto cut = cuts_.find(number);
      timed.push_back({arms_[number].arm, steps.arms[i], arm.simulated, arm.memory,
                       cut != cuts_.end() ? &cut->second : nullptr, arm.pipeline ? &*arm.pipeline : nullptr});
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
      const TimedNetwork whole =
          timed_network(sequence, 0, networks_.at(1).layers, model(), steps.arms.front().time.median);
      const plan::TransferCosts transfers(measured_transfers(ranks), std::nullopt);
      std::size_t cut_networks = 1;  // in the sequence before this arm's
      for (std::size_t i = 0; i < arms_.size(); ++i) {
        if (arms_[i].is_pipeline()) {
          simulate_pipeline(i, sequence, transfers, steps.arms.front().time.median);
          continue;
        }
        const plan::Arrangement& arrangement = arms_[i].arm.arrangement;
        const plan::OverlapTax tax{.compute = tax_of(record_.arms[i].times), .communication = 1.0};
        const plan::Job own = job(whole.costs, arms_[i].arm, transfers, tax);
        const plan::StepPlan plan = plan::step_of(own, arrangement);
        record_.arms[i].simulated = plan::length_of(plan) / static_cast<double>(plan.steps);
        record_.arms[i].memory = plan::memory_of(own, arrangement).sum();
        if (!arms_[i].is_cut()) continue;
        const std::size_t number = cut_networks++;
        const std::optional<TimeEstimate>& computing = record_.arms[i].times.computing;
        if (!computing) continue;
        const TimedNetwork cut = timed_network(sequence, number, networks_.at(1).layers,
                                               arms_[i].steps.front().network, computing->median);
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

  // The layers of a micro-batch have their shares as timed in sequence, and in sum what all ranks compute.
  void simulate_pipeline(std::size_t i, const SequenceMeasurement& sequence,
                         const plan::TransferCosts& transfers, Nanoseconds one_gpu) {
    ParallelStudyArm& arm = record_.arms[i];
    const study::ParallelArm& of = arms_[i].arm;
    if (arm.times.computing_of_ranks.empty()) return;
    Nanoseconds computing;
    for (const Nanoseconds rank : arm.times.computing_of_ranks) computing += rank;
    const NetworkOfMicroBatch& network = networks_.at(of.micro_batches);
    const TimedNetwork timed =
        timed_network(sequence, place_of_micro_batch(of.micro_batches), network.layers, network.model,
                      computing / static_cast<double>(of.micro_batches));
    const plan::Job own = job(timed.costs, of, transfers, {});
    plan::Arrangement without_sends = of.arrangement;
    without_sends.sends_block = false;
    const plan::TransferCosts free({}, plan::StatedNetwork{Nanoseconds(0), 1e30});
    plan::StepPlan plan = plan::step_of(own, of.arrangement);
    const Nanoseconds unsent = plan::length_of(plan::step_of(job(timed.costs, of, free, {}), without_sends)),
                      sent = plan::length_of(plan);
    plan::put_in_order(plan, arms_[i].meetings);
    const Nanoseconds planned = plan::length_of(plan);
    const double bubble = plan::bubble_over_computing({.schedule = of.arrangement.schedule,
                                                       .chunks = of.arrangement.chunks,
                                                       .micro_batches = of.micro_batches},
                                                      ranks());
    const Nanoseconds mean = computing / static_cast<double>(ranks()),
                      even = one_gpu / static_cast<double>(ranks());
    arm.simulated = planned;
    arm.memory = plan::memory_of(own, of.arrangement).sum();
    arm.pipeline = study::PipelineArm{.parts = {.even = even,
                                                .smaller = mean - even,
                                                .bubble = mean * bubble,
                                                .uneven = unsent - mean * (1.0 + bubble),
                                                .sends = sent - unsent,
                                                .in_line = planned - sent,
                                                .rest = arm.times.time.median - planned},
                                      .first_layers = {}};
    for (const plan::StageCosts& stage : plan::stages_of(timed.costs, of.arrangement.first_blocks))
      arm.pipeline->first_layers.push_back(timed.costs.layers[stage.layers.begin].name);
  }

  struct TimedNetwork {
    plan::NetworkCosts costs;
    TimedCalls calls;
  };
  // The times of one of the networks that were timed one after another, so that their sum is `sum`.
  TimedNetwork timed_network(const SequenceMeasurement& sequence, std::size_t number,
                             const StepLayers& layers, const Model& network, Nanoseconds sum) const {
    const std::size_t calls = model().calls.size();
    SequenceMeasurement own;
    for (std::size_t c = number * calls; c < std::min((number + 1) * calls, sequence.calls.size()); ++c)
      own.calls.push_back(sequence.calls[c]);
    TimedNetwork timed{timed_in_sequence(layers, own), {network, {}}};
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
      // The first two ranks alone take part in a send.
      const std::span<const RunRecord> taking_part =
          each.transfer.exchange == plan::Exchange::send ? std::span(ranks).first(2) : std::span(ranks);
      const std::optional<Nanoseconds> time = time_of_group(taking_part, each.operation.text(), Load::burst);
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
                          each.exchange_alone.exchanges.empty()
                              ? "each rank for itself"
                              : counted(std::ssize(each.exchange_alone.exchanges), "exchange"));
    return text;
  }

  static constexpr double kShareOfExchange = 0.25;  // of an arm's time limit

  const ParallelStudyAsked& asked_;
  Invocation& invocation_;
  std::vector<std::string> devices_;
  std::map<std::int64_t, NetworkOfMicroBatch> networks_;  // by the micro-batches that a batch is cut in
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
