#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/collectives/record.hpp"
#include "commands/plan/record.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "model/step_costs.hpp"
#include "operation/parse.hpp"
#include "output/progress.hpp"
#include "plan/forecast.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  jitterscope run gpt2:batch=4,dtype=bf16 --json gpt2.json
  jitterscope collectives all_reduce,reduce_scatter,all_gather,send_recv --json links.json
  jitterscope plan gpt2:batch=4,dtype=bf16 --from gpt2.json --collectives links.json --ranks 2 --html plan.html
  jitterscope plan gpt2:batch=4,dtype=bf16 --from gpt2.json --network alpha=10us,beta=50GB --ranks 2..64
  jitterscope plan gpt2:batch=4,dtype=bf16 --from gpt2.json --collectives links.json --ranks 2 --arrangement pp=2

Nothing is measured here. Steps are simulated with the times of layers from --from and of exchanges from --collectives.
What lies between hosts is what --network says, and is marked as assumed. A product that is cut in n takes 1/n.

Exit codes: 0 done, 1 no arrangement fits at some number of GPUs, 2 usage, 130 interrupted.)";

struct PlanFlags {
  RecordFlags record;
  PageFlags page;
  std::string network, from, ranks = "2..8", between, arrangement, optimizer = "adam", launches = "eager",
                             memory, overlap;
  std::vector<std::string> collectives;
  std::int64_t gpus_per_host = 0, micro_batches = 1, draws = 100;
  double straggler_percent = 2.0;
  std::uint64_t seed = 1;
};

// NAME=VALUE pairs of a flag.
std::vector<std::pair<std::string, std::string>> read_pairs(const char* flag, const std::string& text,
                                                            const std::vector<std::string>& known) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& piece : split_at_commas(text)) {
    const std::size_t equal = piece.find('=');
    const std::string name = piece.substr(0, equal);
    if (equal == std::string::npos || std::ranges::find(known, name) == known.end())
      throw UsageError(fmt::format("{} {}: {} is no {}; write NAME=VALUE{}", flag, in_quotes(text),
                                   in_quotes(piece), joined(known, " or "), suggestion(name, known)));
    pairs.emplace_back(name, piece.substr(equal + 1));
  }
  return pairs;
}

std::int64_t read_whole(const char* flag, const std::string& name, const std::string& text,
                        Counted counted = Counted::things) {
  const std::optional<std::int64_t> count = read_count(text, counted);
  if (!count || *count < 1)
    throw UsageError(fmt::format("{}: {}={}: a whole number of 1 or more was expected", flag, name, text));
  return *count;
}

plan::StatedNetwork read_network(const std::string& text) {
  plan::StatedNetwork network;
  for (const auto& [name, value] : read_pairs("--network", text, {"alpha", "beta"})) {
    if (name == "beta") {
      network.beta = static_cast<double>(read_whole("--network", name, value, Counted::bytes));
      continue;
    }
    const std::optional<Nanoseconds> alpha = read_duration(value, microseconds(1));
    if (!alpha)
      throw UsageError(fmt::format("--network: alpha={}: a time was expected, such as 10us", value));
    network.alpha = *alpha;
  }
  if (network.beta <= 0)
    throw UsageError(
        "--network: beta is missing: the bytes that a GPU sends to another host in a second, as beta=50GB");
  return network;
}

plan::OverlapTax read_overlap(const std::string& text) {
  plan::OverlapTax tax;
  if (text.empty()) return tax;
  for (const auto& [name, value] : read_pairs("--overlap", text, {"compute", "communication"})) {
    char* end = nullptr;
    const double factor = std::strtod(value.c_str(), &end);
    constexpr double kMost = 100.0;
    if (value.empty() || *end != '\0' || !(factor >= 1.0) || factor > kMost)
      throw UsageError(
          fmt::format("--overlap: {}={}: a factor of 1 or more was expected, such as 1.05", name, value));
    (name == "compute" ? tax.compute : tax.communication) = factor;
  }
  return tax;
}

template <class Word>
Word read_choice(const char* flag, const std::string& name, const std::string& value,
                 const std::vector<std::pair<std::string, Word>>& choices) {
  std::vector<std::string> known;
  for (const auto& [word, meaning] : choices) {
    if (word == value) return meaning;
    known.push_back(word);
  }
  throw UsageError(fmt::format("{}: {}={} is unknown{}", flag, name, value, suggestion(value, known)));
}

// "dp=2,tp=4,pp=2,schedule=1f1b"; what is left over is data-parallel.
class ArrangementText {
 public:
  explicit ArrangementText(const std::string& text) {
    const std::vector<std::string> known = {"dp",       "tp",         "pp",     "schedule", "chunks",
                                            "cut",      "exchange",   "bucket", "sharding", "every",
                                            "sequence", "compressed", "sends"};
    for (const auto& [name, value] : read_pairs("--arrangement", text, known)) set(name, value);
    if (asked_.schedule == plan::Schedule::interleaved && asked_.chunks == 1) asked_.chunks = 2;
  }

  plan::Arrangement of(std::int64_t ranks) const {
    plan::Arrangement arrangement = asked_;
    const std::int64_t others = asked_.grid.tensor * asked_.grid.pipeline;
    if (!data_) {
      if (ranks % others != 0)
        throw UsageError(
            fmt::format("--arrangement: {} ranks cannot be divided by tp={} · pp={}; take a multiple of {} "
                        "in --ranks",
                        ranks, asked_.grid.tensor, asked_.grid.pipeline, others));
      arrangement.grid.data = ranks / others;
    }
    if (arrangement.grid.ranks() != ranks)
      throw UsageError(
          fmt::format("--arrangement: dp={} · tp={} · pp={} is {} ranks, not {}; leave dp out, or change "
                      "--ranks",
                      arrangement.grid.data, arrangement.grid.tensor, arrangement.grid.pipeline,
                      arrangement.grid.ranks(), ranks));
    return arrangement;
  }

 private:
  void set(const std::string& name, const std::string& value) {
    constexpr const char* kFlag = "--arrangement";
    using plan::GradientExchange, plan::Schedule, plan::Sharding, plan::StageCut;
    const auto whole = [&](Counted counted = Counted::things) {
      return read_whole(kFlag, name, value, counted);
    };
    const auto flag = [&] { return read_choice<bool>(kFlag, name, value, {{"0", false}, {"1", true}}); };
    if (name == "dp") data_ = asked_.grid.data = whole();
    if (name == "tp") asked_.grid.tensor = whole();
    if (name == "pp") asked_.grid.pipeline = whole();
    if (name == "chunks") asked_.chunks = whole();
    if (name == "every") asked_.way.every = whole();
    if (name == "bucket") asked_.way.bucket = Bytes(whole(Counted::bytes));
    if (name == "sequence") asked_.by_sequence = flag();
    if (name == "compressed") asked_.way.compressed = flag();
    if (name == "sends")
      asked_.sends_block = read_choice<bool>(kFlag, name, value, {{"beside", false}, {"block", true}});
    if (name == "schedule")
      asked_.schedule = read_choice<Schedule>(kFlag, name, value,
                                              {{"in-turn", Schedule::in_turn},
                                               {"gpipe", Schedule::gpipe},
                                               {"1f1b", Schedule::one_f_one_b},
                                               {"interleaved", Schedule::interleaved}});
    if (name == "cut")
      asked_.cut = read_choice<StageCut>(
          kFlag, name, value,
          {{"layers", StageCut::layers}, {"time", StageCut::time}, {"memory", StageCut::memory}});
    if (name == "exchange")
      asked_.way.exchange =
          read_choice<GradientExchange>(kFlag, name, value,
                                        {{"none", GradientExchange::none},
                                         {"after", GradientExchange::after_backward},
                                         {"buckets", GradientExchange::buckets},
                                         {"scatter-gather", GradientExchange::scatter_gather}});
    if (name == "sharding")
      asked_.way.sharding = read_choice<Sharding>(kFlag, name, value,
                                                  {{"0", Sharding::none},
                                                   {"1", Sharding::optimizer},
                                                   {"2", Sharding::gradients},
                                                   {"3", Sharding::parameters}});
  }

  plan::Arrangement asked_;
  std::optional<std::int64_t> data_;
};

std::optional<plan::Exchange> exchange_of(const std::string& collective) {
  if (collective == "all_reduce") return plan::Exchange::all_reduce;
  if (collective == "reduce_scatter") return plan::Exchange::reduce_scatter;
  if (collective == "all_gather") return plan::Exchange::all_gather;
  if (collective == "send_recv") return plan::Exchange::send;
  return std::nullopt;
}

class PlanCommand {
 public:
  PlanCommand(const PlanFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    check_count("--micro-batches", flags_.micro_batches, 1, 1'000'000);
    check_count("--gpus-per-host", flags_.gpus_per_host, 0, 1024);
    check_count("--draws", flags_.draws, 20, 100'000);
    if (!(flags_.straggler_percent > 0) || flags_.straggler_percent > 1000)
      throw UsageError("--straggler: a percentage above 0 was expected, such as 2");
    const std::vector<std::int64_t> counts = read_ranks();
    read_costs();
    read_links();
    RecordFiles files(flags_.record);
    record_.environment = read_environment(invocation_.command_line);
    ProgressLine line(stderr, host_time_now);
    for (std::size_t i = 0; i < counts.size() && !is_interrupted(); ++i) {
      line.show(fmt::format("arrangements of {}", counted(counts[i], "GPU")), {i + 1, counts.size()});
      add_ranks(counts[i]);
    }
    line.clear();
    if (is_interrupted()) {
      record_.interrupted = true;
      invocation_.exit_code = ExitCode::interrupted;
    } else if (std::ranges::any_of(record_.ranks,
                                   [](const ForecastRanks& each) { return each.fitting == 0; })) {
      invocation_.exit_code = ExitCode::check_failed;
    }
    files.write(record_, flags_.page);
  }

 private:
  std::vector<std::int64_t> read_ranks() const {
    const bool is_plain_range =
        flags_.ranks.find("..") != std::string::npos && flags_.ranks.find_first_of("*+") == std::string::npos;
    std::vector<std::int64_t> counts =
        read_byte_counts("--ranks", flags_.ranks + (is_plain_range ? "*2" : ""));
    constexpr std::int64_t kMost = 65'536;
    for (const std::int64_t count : counts)
      if (count < 1 || count > kMost)
        throw UsageError(
            fmt::format("--ranks {}: {} GPUs; from 1 to {} can be planned", flags_.ranks, count, kMost));
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
  }

  void read_costs() {
    const Model model = read_model_target(flags_.network);
    const RunRecord run = read_run_file(flags_.from);
    const StepCosts costs = step_costs(model, run, flags_.from);
    network_ = costs.network;
    network_.name = flags_.network;
    constexpr std::int64_t kMaster = 4, kHalf = 2;
    const std::int64_t state = read_choice<std::int64_t>("--optimizer", "kind", flags_.optimizer,
                                                         {{"adam", 8}, {"momentum", 4}, {"sgd", 0}});
    // Beside weights of 16 bits an optimizer keeps them in 32.
    network_.optimizer_bytes = state + (network_.element_bytes <= kHalf ? kMaster : 0);
    network_.copy_rate = run.ceilings.bytes_per_second.value_or(0.0);
    const bool is_eager =
        read_choice<bool>("--launches", "by", flags_.launches, {{"eager", true}, {"graph", false}});
    if (!is_eager) {
      for (plan::LayerCosts& layer : network_.layers)
        layer.forward_launch = layer.backward_launch = Nanoseconds(0);
    }
    record_.device = run.device;
    record_.network = flags_.network;
    record_.from = flags_.from;
    record_.times = costs.times;
    record_.samples = network_.samples;
    record_.micro_batches = flags_.micro_batches;
    record_.blocks = static_cast<std::int64_t>(network_.blocks());
    record_.weights = plan::weights_of(network_);
    record_.memory = run.device.memory_total;
    if (!flags_.memory.empty())
      record_.memory = Bytes(read_whole("--memory", "bytes", flags_.memory, Counted::bytes));
    record_.forward = time_of(plan::forward_of(network_));
    record_.backward = time_of(plan::backward_of(network_));
    record_.straggler = flags_.straggler_percent / 100.0;
    if (!run.untimed.empty())
      record_.notes.push_back(
          fmt::format("not in the step: the optimizer, and {} that have no time, such as dropout",
                      counted(std::ssize(run.untimed), "operator")));
  }

  static ForecastTime time_of(const plan::Cost& cost) {
    return {cost.time, cost.time - cost.error, cost.time + cost.error};
  }

  void read_links() {
    std::vector<plan::MeasuredTransfers> measured;
    std::int64_t most = 0;
    for (const std::string& file : flags_.collectives) {
      const AnyRecord any = read_record(read_text(file), file);
      const auto* record = std::get_if<CollectivesRecord>(&any);
      if (record == nullptr)
        throw UsageError(fmt::format("--collectives {}: it is no record of `jitterscope collectives`", file));
      check_links(*record, file);
      most = std::max(most, std::ssize(record->ranks));
      record_.collectives.push_back(file);
      add_transfers(*record, measured);
    }
    std::optional<plan::StatedNetwork> network;
    if (!flags_.between.empty()) network = read_network(flags_.between);
    if (measured.empty() && !network)
      throw UsageError(
          "nothing says what an exchange between GPUs takes; name --collectives FILE (from `jitterscope "
          "collectives all_reduce,reduce_scatter,all_gather,send_recv --json FILE`), or state it as "
          "--network alpha=10us,beta=50GB");
    gpus_per_host_ = flags_.gpus_per_host > 0 ? flags_.gpus_per_host : std::max<std::int64_t>(most, 1);
    record_.gpus_per_host = gpus_per_host_;
    if (most > 0 && gpus_per_host_ > most)
      record_.notes.push_back(
          fmt::format("links between {} GPUs of a host are taken to be as those of the {} measured",
                      gpus_per_host_, most));
    for (const plan::MeasuredTransfers& each : measured) {
      const plan::AlphaBeta fit = plan::fit_alpha_beta(each);
      record_.exchanges.push_back(
          {std::string(to_string(each.exchange)), each.ranks, fit.alpha, fit.beta, fit.distance, false});
    }
    if (network) record_.exchanges.push_back({"between hosts", 0, network->alpha, network->beta, 0, true});
    tax_ = read_overlap(flags_.overlap);
    record_.compute_tax = tax_.compute;
    record_.communication_tax = tax_.communication;
    if (flags_.overlap.empty())
      record_.notes.emplace_back(
          "communication is taken to slow no computing beside it, as nothing says by how much");
    transfers_ = plan::TransferCosts(std::move(measured), network);
  }

  void check_links(const CollectivesRecord& record, const std::string& file) const {
    if (record.ranks.size() < 2)
      throw UsageError(fmt::format("--collectives {}: it has {}; two or more exchange something", file,
                                   counted(std::ssize(record.ranks), "rank")));
    for (const CollectiveRank& rank : record.ranks) {
      if (rank.device.name != record_.device.name)
        throw UsageError(
            fmt::format("--collectives {} is of {}, and --from {} of {}; measure both on the same GPUs", file,
                        in_quotes(rank.device.name), flags_.from, in_quotes(record_.device.name)));
      if (rank.host != record.ranks.front().host)
        throw UsageError(
            fmt::format("--collectives {}: its ranks are on several hosts; name a record of one, and say "
                        "what lies between hosts by --network",
                        file));
    }
  }

  static void add_transfers(const CollectivesRecord& record, std::vector<plan::MeasuredTransfers>& measured) {
    for (const CollectiveRow& row : record.rows) {
      const std::optional<plan::Exchange> exchange = exchange_of(row.collective);
      if (!exchange || row.result.times.empty() || row.bytes.value() <= 0) continue;
      const TimeEstimate& time = row.result.times.front().time;
      if (!(time.median > Nanoseconds(0))) continue;
      const std::int64_t ranks = std::ssize(record.ranks);
      auto found = std::ranges::find_if(measured, [&](const plan::MeasuredTransfers& each) {
        return each.exchange == *exchange && each.ranks == ranks;
      });
      if (found == measured.end()) {
        measured.push_back({*exchange, ranks, {}});
        found = measured.end() - 1;
      }
      // Another type of the same size adds nothing.
      if (std::ranges::find(found->transfers, row.bytes, &plan::MeasuredTransfer::bytes) !=
          found->transfers.end())
        continue;
      const Nanoseconds error = has_interval(time) ? (time.high - time.low) * 0.5 : Nanoseconds(0);
      found->transfers.push_back({row.bytes, {time.median, error}});
    }
  }

  void add_ranks(std::int64_t count) {
    const plan::Job job{
        network_, {transfers_, gpus_per_host_, tax_}, count * flags_.micro_batches, record_.memory};
    std::vector<plan::Arrangement> arrangements;
    if (flags_.arrangement.empty()) {
      arrangements = plan::arrangements_for(job, count);
    } else {
      arrangements.push_back(ArrangementText(flags_.arrangement).of(count));
    }
    std::vector<plan::Forecast> all;
    for (const plan::Arrangement& each : arrangements) {
      if (is_interrupted()) return;
      all.push_back(plan::forecast(job, each));
    }
    std::ranges::stable_sort(all, {}, [](const plan::Forecast& each) {
      // If nothing fits, what needs least comes first.
      return std::tuple(!each.fits,
                        each.fits ? each.step : Nanoseconds(static_cast<double>(each.memory.sum().value())),
                        each.memory.sum());
    });
    ForecastRanks ranks{.ranks = count, .considered = std::ssize(all), .fitting = 0, .steps = {}};
    ranks.fitting = std::ranges::count_if(all, &plan::Forecast::fits);
    const std::vector<bool> shown = worth_showing(all, count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!shown[i] || is_interrupted()) continue;
      plan::add_uncertainty(all[i], job, {record_.straggler, flags_.draws, flags_.seed});
      ranks.steps.push_back(row_of(all[i]));
    }
    if (ranks.steps.empty()) return;
    draw(job, all.front().arrangement, count);
    record_.ranks.push_back(std::move(ranks));
  }

  // The fastest five, all that have the whole network on each GPU, and the fastest of each other kind.
  static std::vector<bool> worth_showing(const std::vector<plan::Forecast>& all, std::int64_t count) {
    constexpr std::size_t kFastest = 5;
    std::vector<bool> shown(all.size(), false);
    std::vector<std::tuple<int, plan::Schedule>> kinds;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const plan::Arrangement& each = all[i].arrangement;
      int kind = 0;  // data-parallel alone
      if (each.grid.tensor > 1) kind = each.grid.tensor == count ? 1 : 2;
      if (each.grid.pipeline > 1) kind = each.grid.pipeline == count ? 3 : 4;
      const std::tuple<int, plan::Schedule> key(kind, each.schedule);
      shown[i] = i < kFastest || kind == 0 || std::ranges::find(kinds, key) == kinds.end();
      kinds.push_back(key);
    }
    return shown;
  }

  static ForecastStep row_of(const plan::Forecast& forecast) {
    const plan::RankGrid& grid = forecast.arrangement.grid;
    return {.arrangement = plan::to_text(forecast.arrangement),
            .data = grid.data,
            .tensor = grid.tensor,
            .pipeline = grid.pipeline,
            .step = {forecast.step, forecast.low, forecast.high},
            .samples_per_second = forecast.samples_per_second,
            .speedup = forecast.speedup,
            .computing = forecast.busy,
            .bubble = forecast.idle.bubble,
            .exposed = forecast.idle.exposed,
            .straggler = forecast.idle.straggler,
            .launch = forecast.idle.launch,
            .hidden = forecast.hidden,
            .weights = forecast.memory.weights,
            .gradients = forecast.memory.gradients,
            .optimizer = forecast.memory.optimizer,
            .activations = forecast.memory.activations,
            .fits = forecast.fits,
            .is_assumed = forecast.has_stated_network,
            .straggler_adds = forecast.straggler_adds,
            .limit = std::string(to_string(limit_of(forecast)))};
  }

  // Keeps the step of the largest number of GPUs that a page can still draw.
  void draw(const plan::Job& job, const plan::Arrangement& arrangement, std::int64_t count) {
    constexpr std::size_t kMostSpans = 3000, kMostClasses = 16;
    const plan::StepPlan step = plan::step_of(job, arrangement);
    const plan::SimulatedStep simulated = plan::simulate(step);
    std::vector<ForecastSpan> spans;
    for (std::size_t i = 0; i < step.nodes.size(); ++i) {
      const plan::Node& node = step.nodes[i];
      const plan::NodeTimes& times = simulated.nodes[i];
      if (node.rank_class >= kMostClasses || times.worked <= times.begin) continue;
      spans.push_back({step.classes[node.rank_class].first_rank, phase_word(node.phase), node.name,
                       times.begin, times.worked});
    }
    if (spans.size() > kMostSpans && !record_.spans.empty()) return;
    if (spans.size() > kMostSpans) spans.resize(kMostSpans);
    // A rank's computing stands above its exchanges.
    std::ranges::stable_sort(spans, {}, [](const ForecastSpan& span) {
      return std::pair(span.rank, span.phase == phase_word(plan::Phase::exchange));
    });
    record_.spans = std::move(spans);
    record_.drawn_arrangement = plan::to_text(arrangement);
    record_.drawn_ranks = count;
  }

  static std::string phase_word(plan::Phase phase) {
    switch (phase) {
      case plan::Phase::forward: return "forward";
      case plan::Phase::backward: return "backward";
      case plan::Phase::exchange: return "exchange";
    }
    return {};
  }

  const PlanFlags& flags_;
  Invocation& invocation_;
  ForecastRecord record_;
  plan::NetworkCosts network_;
  plan::TransferCosts transfers_;
  plan::OverlapTax tax_;
  std::int64_t gpus_per_host_ = 1;
};

}  // namespace

void add_plan_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<PlanFlags>(
      app, "plan", "forecast a network's training step on more GPUs", kPlanExamples,
      [&](const PlanFlags& typed, const CLI::App&) { PlanCommand(typed, invocation).run(); });
  command
      .add_option("network", flags.network,
                  "a network with its batch and type, as it was measured: gpt2:batch=4")
      ->required();
  command.add_option("--from", flags.from, "record of `run` of that network, forward and backward")
      ->required();
  command
      .add_option("--ranks", flags.ranks,
                  "numbers of GPUs: a list, FIRST..LAST (doubled), or with *FACTOR or +STEP")
      ->capture_default_str();
  command.add_option("--collectives", flags.collectives, "records of `collectives` of GPUs of one host");
  command.add_option("--network", flags.between,
                     "between hosts: alpha=TIME,beta=BYTES a second of each GPU; marked as assumed");
  command.add_option("--gpus-per-host", flags.gpus_per_host, "(default: as many as --collectives has ranks)");
  command.add_option("--micro-batches", flags.micro_batches, "micro-batches of a step, for each GPU")
      ->capture_default_str();
  command.add_option(
      "--arrangement", flags.arrangement,
      "this one alone: dp=,tp=,pp=,schedule=in-turn|gpipe|1f1b|interleaved,chunks=,cut=layers|time|memory,"
      "exchange=none|after|buckets|scatter-gather,bucket=,sharding=0|1|2|3,every=,sequence=0|1,"
      "compressed=0|1,sends=beside|block");
  command.add_option("--overlap", flags.overlap,
                     "how much longer each takes while both run: compute=1.05,communication=1.2");
  command.add_option("--optimizer", flags.optimizer, "whose state takes memory: adam, momentum, sgd")
      ->capture_default_str();
  command
      .add_option("--launches", flags.launches, "eager: the host launches each call; graph: it costs no time")
      ->capture_default_str();
  command.add_option("--memory", flags.memory, "bytes of a GPU (default: as --from says)");
  command.add_option("--straggler", flags.straggler_percent, "by how much one GPU is slower, in percent")
      ->capture_default_str();
  command.add_option("--draws", flags.draws, "draws of the costs for each interval")->capture_default_str();
  command.add_option("--seed", flags.seed, "of the draws")->capture_default_str();
  flags.page.add_to(command);
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
