#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/command_line.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/ranks.hpp"
#include "commands/collectives/record.hpp"
#include "device/collective.hpp"
#include "device/open_device.hpp"
#include "experiment/processes.hpp"
#include "group/group.hpp"
#include "group/rendezvous.hpp"
#include "measure/machine.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/parse.hpp"
#include "operation/words.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kAllGpus = "cuda:all";

constexpr const char* kExamples = R"(Examples:
  jitterscope collectives all_reduce,all_gather --bytes 1Ki..1Gi*1024 --dtype bf16
  jitterscope collectives send_recv --bytes 64Mi --device virtual:cluster-2xh200
  jitterscope collectives all_reduce --bytes 256Ki --communicators 16 --html allreduce.html
  mpirun -n 2 jitterscope collectives all_reduce --bytes 1Ki..1Gi*16

A transfer is timed without waiting: recordings of 3k and k collectives, one less the other. Waiting is timed as a
program launches: work of 100 µs, then the collective, each rank by its own clock. One rank after the other is delayed on
purpose; where that does not show, nothing is said of who is late.

Exit codes: 0 done, 1 wrong elements, 2 usage, 3 device or NCCL missing, 4 --precision was given and not reached,
5 a collective failed, 130 interrupted.)";

struct CollectivesFlags {
  RecordFlags record;
  std::string collectives = "all_reduce", bytes = "1Ki..1Gi*4", dtype = "f32", reduction = "sum",
              device = kAllGpus, in_place = "both";
  std::int64_t root = 0, local = 0, communicators = 8, rounds = 200;
  double precision_percent = 0.0;
  std::uint64_t seed = 1;
  bool quick = false, no_waits = false, no_load = false, dry_run = false;
};

// One collective at one size: its trials' operations, out of place first.
struct Case {
  CollectiveRow row;
  std::vector<Operation> operations;
};

Collective collective_of(const std::string& word) {
  std::vector<std::string> known;
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::send_recv); ++kind) {
    const Collective collective{.kind = static_cast<CollectiveKind>(kind)};
    known.emplace_back(Operation(collective).kind());
    if (known.back() == word) return collective;
  }
  const std::size_t colon = word.find(':');
  if (std::ranges::find(known, word.substr(0, colon)) != known.end()) {
    throw UsageError(fmt::format(
        "{}: name the collective alone, {}, and its sizes by --bytes 16Mi (of a buffer) and --dtype",
        in_quotes(word), word.substr(0, colon)));
  }
  throw UsageError(fmt::format("{} is no collective{}", in_quotes(word), suggestion(word, known)));
}

class CollectivesCommand {
 public:
  CollectivesCommand(const CollectivesFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation) {}

  void run() {
    check_count("--communicators", flags_.communicators, 1, 1000);
    check_count("--rounds", flags_.rounds, 10, 100'000);
    check_count("--local", flags_.local, 0, 1024);
    if (flags_.in_place != "both" && flags_.in_place != "no" && flags_.in_place != "only")
      throw UsageError(
          fmt::format("--in-place: {} is unknown; both, no or only", in_quotes(flags_.in_place)));
    devices_ = devices();
    groups_ = flags_.quick ? std::min<std::int64_t>(flags_.communicators, 3) : flags_.communicators;
    make_cases();
    RecordFiles files(flags_.record);
    if (flags_.dry_run) return print_result(dry_run_text());
    CollectivesRecord record;
    record.environment = read_environment(invocation_.command_line);
    measure(record);
    if (is_interrupted()) record.interrupted = true;
    finish(record);
    files.write(record);
  }

 private:
  // The ranks' devices, in their order.
  std::vector<std::string> devices() const {
    if (invocation_.ranks) {
      if (flags_.local > 0)
        throw UsageError(fmt::format("--local {}: a launcher has started {} ranks; leave --local out",
                                     flags_.local, invocation_.ranks->size()));
      const std::string asked = flags_.device == kAllGpus ? "cuda" : flags_.device;
      std::vector<std::string> names;
      for (std::size_t rank = 0; rank < invocation_.ranks->size(); ++rank)
        names.push_back(invocation_.ranks->device_of(rank, asked));
      return names;
    }
    std::vector<std::string> names = devices_named(flags_.device);
    if (names.size() == 1 && names_virtual_device(names.front())) {
      const std::int64_t ranks = flags_.local > 0 ? flags_.local : 2;
      return std::vector<std::string>(static_cast<std::size_t>(ranks), names.front());
    }
    if (flags_.local > 0) {
      if (static_cast<std::size_t>(flags_.local) > names.size())
        throw UsageError(fmt::format("--local {}: {} has {}; each rank needs a GPU of its own", flags_.local,
                                     flags_.device, counted(std::ssize(names), "GPU")));
      names.resize(static_cast<std::size_t>(flags_.local));
    }
    return names;
  }

  void make_cases() {
    const auto ranks = static_cast<std::int64_t>(devices_.size());
    const DataType dtype = read_dtype();
    const std::int64_t element = element_size(dtype).value();
    for (const std::string& word : split_at_commas(flags_.collectives)) {
      Collective collective = collective_of(word);
      collective.dtype = dtype;
      if (reduces(collective.kind)) collective.op = read_reduction();
      if (has_root(collective.kind)) collective.root = flags_.root;
      for (const std::int64_t bytes : read_byte_counts("--bytes", flags_.bytes)) {
        collective.count = bytes / element;
        // Elements that have no equal part for each rank are cut off, as in nccl-tests.
        if (is_cut_by_ranks(collective.kind)) collective.count -= collective.count % ranks;
        if (collective.count == 0)
          throw UsageError(fmt::format("--bytes {}: {} has not one element of {} for each rank", bytes, word,
                                       flags_.dtype));
        add_case(word, collective, ranks, element);
      }
    }
  }

  void add_case(const std::string& word, Collective collective, std::int64_t ranks, std::int64_t element) {
    Case made{.row = {.collective = word,
                      .bytes = Bytes(collective.count * element),
                      .elements = collective.count,
                      .dtype = flags_.dtype,
                      .reduction = reduces(collective.kind) ? flags_.reduction : "none",
                      .root = has_root(collective.kind) ? flags_.root : -1,
                      .bus_factor = bus_factor(collective.kind, ranks),
                      .result = {},
                      .failure = {}},
              .operations = {}};
    const bool in_place = can_be_in_place(collective.kind) && flags_.in_place != "no";
    if (flags_.in_place != "only" || !can_be_in_place(collective.kind))
      made.operations.push_back(among_ranks(Operation(collective), ranks));
    collective.in_place = true;
    if (in_place) made.operations.push_back(among_ranks(Operation(collective), ranks));
    cases_.push_back(std::move(made));
  }

  DataType read_dtype() const {
    std::vector<DataType> all;
    for (const auto& word : kWords<DataType>) all.push_back(word.value);
    return read_word("--dtype", flags_.dtype, all);
  }

  Reduction read_reduction() const {
    std::vector<Reduction> all;
    for (const auto& word : kWords<Reduction>) all.push_back(word.value);
    return read_word("--op", flags_.reduction, all);
  }

  Plan plan_of_group(std::int64_t group, std::uint64_t seed, bool is_first) const {
    MeasureOptions options = transfer_options(seed);
    if (flags_.quick) {
      options.time_limit = seconds(0.5);
    } else if (!flags_.no_load) {
      options.loads.push_back(Load::sustained);
    }
    options.sustained_time_limit = seconds(3);
    if (flags_.precision_percent > 0.0) options.precision = flags_.precision_percent / 100.0;
    Plan plan;
    plan.ceilings = false;
    plan.verify = is_first;
    plan.links = group == 0 && devices_.size() > 1;
    ArrivalOptions arrivals;
    arrivals.seed = options.seed;
    arrivals.rounds = flags_.rounds;
    for (const Case& each : cases_) {
      for (const Operation& operation : each.operations) plan.groups.push_back({Trial{operation, options}});
      const auto& collective = std::get<Collective>(each.operations.front().parameters());
      if (waits_for_all(collective.kind)) arrivals.operations.push_back(each.operations.front());
    }
    if (!flags_.no_waits && !arrivals.operations.empty() && devices_.size() > 1)
      plan.arrivals = std::move(arrivals);
    return plan;
  }

  void measure(CollectivesRecord& record) {
    const auto plan_of = [this](const StartingGroup& group) {
      return std::vector{plan_of_group(group.number, group.seed, group.is_first)};
    };
    GroupsOnRanks found =
        run_groups_on_ranks(devices_, groups_, counted(std::ssize(cases_), "collective") + " in", flags_.seed,
                            plan_of, invocation_);
    groups_measured_ = std::move(found.groups);
    record.notes = notes_of(found.lost);
    if (!found.lost.empty()) invocation_.exit_code = ExitCode::failed;
  }

  void finish(CollectivesRecord& record) {
    record.groups = std::ssize(groups_measured_);
    record.settings = nccl_settings();
    if (groups_measured_.empty()) {
      if (invocation_.exit_code == ExitCode::done) invocation_.exit_code = ExitCode::interrupted;
      return;
    }
    for (const RunRecord& rank : groups_measured_.front()) {
      const std::string host =
          invocation_.ranks ? invocation_.ranks->host_of(record.ranks.size()) : host_name();
      record.ranks.push_back({host, rank.device, rank.links});
    }
    for (const std::string& note : groups_measured_.front().front().notes) record.notes.push_back(note);
    record.device = record.ranks.front().device;
    record.library = nccl_of(record.device);
    for (const Case& each : cases_) {
      std::vector<std::string> operations;
      for (const Operation& operation : each.operations) operations.push_back(operation.text());
      CollectiveRow row = each.row;
      row.result = analyse_collective(groups_measured_, operations);
      if (row.result.times.empty()) row.failure = failure_of(groups_measured_, operations.front());
      if (!row.failure.empty()) invocation_.exit_code = ExitCode::failed;
      record.rows.push_back(std::move(row));
    }
    if (record.interrupted) {
      invocation_.exit_code = ExitCode::interrupted;
    } else if (has_wrong_elements(record)) {
      invocation_.exit_code = ExitCode::check_failed;
    } else if (flags_.precision_percent > 0.0 && invocation_.exit_code == ExitCode::done &&
               !(widest_precision(record) <= flags_.precision_percent / 100.0)) {
      invocation_.exit_code = ExitCode::imprecise;
    }
  }

  std::string dry_run_text() const {
    std::string text =
        fmt::format("{} on {}; {} of fresh processes:\n", counted(std::ssize(devices_), "rank"),
                    joined(devices_), counted(groups_, "group"));
    for (const Case& each : cases_)
      for (const Operation& operation : each.operations) text += "  " + operation.text() + "\n";
    return text;
  }

  const CollectivesFlags& flags_;
  Invocation& invocation_;
  std::vector<std::string> devices_;
  std::int64_t groups_ = 0;
  std::vector<Case> cases_;
  std::vector<std::vector<RunRecord>> groups_measured_;  // by group, then rank
};

}  // namespace

void add_collectives_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<CollectivesFlags>(
      app, "collectives", "time collectives between GPUs, and say who waits for whom", kExamples,
      [&](const CollectivesFlags& typed, const CLI::App&) { CollectivesCommand(typed, invocation).run(); });
  command
      .add_option(
          "collectives", flags.collectives,
          "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, send_recv: one or a list")
      ->capture_default_str();
  command.add_option("--bytes", flags.bytes, "sizes as nccl-tests counts them: a list or FIRST..LAST*FACTOR")
      ->capture_default_str();
  command.add_option("--dtype", flags.dtype, "type of the elements")->capture_default_str();
  command.add_option("--op", flags.reduction, "how elements are combined: sum, prod, max, min, avg")
      ->capture_default_str();
  command.add_option("--root", flags.root, "the rank that gives or gets, of broadcast and reduce")
      ->capture_default_str();
  command.add_option("--in-place", flags.in_place, "both, no, only: results in the input's buffer")
      ->capture_default_str();
  command
      .add_option("--device", flags.device,
                  "GPUs of this host: cuda:all, 'cuda:0 cuda:3', or a simulated cluster")
      ->capture_default_str();
  command.add_option("--local", flags.local, "number of ranks on this host (default: a rank for each GPU)");
  add_rendezvous_flag(command, invocation);
  command
      .add_option("--communicators", flags.communicators,
                  "groups of fresh processes, each with a communicator")
      ->capture_default_str();
  command.add_option("--rounds", flags.rounds, "rounds of waiting in each group")->capture_default_str();
  command.add_option("--precision", flags.precision_percent,
                     "exit code 4 if half an interval of a transfer is wider than this, in percent");
  command.add_option("--seed", flags.seed, "of idles, orders and a simulated cluster")->capture_default_str();
  command.add_flag("--quick", flags.quick, "three groups, bursts alone");
  command.add_flag("--no-waits", flags.no_waits, "transfers alone");
  command.add_flag("--no-load", flags.no_load, "bursts alone, no sustained load");
  command.add_flag("--dry-run", flags.dry_run, "print what would be timed");
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
