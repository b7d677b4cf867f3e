#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/command_line.hpp"
#include "cli/explain_on_ranks.hpp"
#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/python.hpp"
#include "cli/ranks.hpp"
#include "cli/simulation_time.hpp"
#include "cli/targets.hpp"
#include "commands/explain/record.hpp"
#include "commands/records.hpp"
#include "device/can_run.hpp"
#include "explain/account.hpp"
#include "explain/conclusions.hpp"
#include "explain/explain.hpp"
#include "explain/factors.hpp"
#include "group/group.hpp"
#include "measure/machine.hpp"
#include "model/named_models.hpp"
#include "operation/kinds_collective.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "output/text.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/neighbour_process.hpp"

namespace jitterscope::cli {
namespace {

struct ExplainFlags {
  RecordFlags record;
  std::vector<std::string> targets;
  std::string only, device = "auto";
  std::vector<std::string> factors;
  PageFlags page;
  double time_limit = 180.0;  // in seconds
  std::uint64_t seed = 1;
  std::optional<std::int64_t> local;
  bool quick = false, dry_run = false;
};

// In seconds. Opening a GPU is part of it; ending the process may take some more of the 35 s that are
// promised (docs/evidence/explain.md).
constexpr double kQuick = 32.0;

constexpr const char* kExplainExamples = R"(Examples:
  jitterscope explain conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc
  jitterscope explain matmul:m=512,n=512,k=512,dtype=f16 --quick
  jitterscope explain add:count=1Mi --factors cache,traffic,queue --max-time 20
  jitterscope explain resnet50 --only '^layer4.0.downsample.0.fprop$'
  jitterscope explain resnet18 --only 'fprop$'
  jitterscope explain python:bench.py:step --quick
  jitterscope explain monday.json tuesday.json
  jitterscope explain relu:count=8Mi --device virtual:h200 --quick --json why.json
  mpirun -n 2 jitterscope explain all_reduce:count=1Mi,dtype=bf16

Exit codes: 0 done, 2 usage, 3 device or library missing, 5 the operation failed, 130 interrupted, with the
result so far.)";

// Returns the first few names, as values of --only that pick one layer each.
std::string names_in(const Model& model) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) {
    if (names.size() == kShown) return joined(names) + "…";
    names.push_back("'^" + (layer.names.empty() ? layer.operation.text() : layer.names.front()) + "$'");
  }
  return joined(names);
}

// Takes out of a network what this device cannot run: one such call would refuse the whole pass.
void leave_out_impossible(WorkList& work, const DeviceDescription& device) {
  std::vector<bool> keep;
  std::string reason;
  for (const Layer& layer : work.model.layers) {
    try {
      check_can_run(layer.operation, device);
      keep.push_back(true);
    } catch (const UsageError& error) {
      reason = error.what();
      keep.push_back(false);
      work.model.untimed.push_back({layer.names.empty() ? layer.operation.text() : layer.names.front(),
                                    layer.calls(), reason, layer.recorded_time()});
    }
  }
  if (std::ranges::count(keep, true) == 0) throw UsageError(reason);
  keep_layers(work, keep);
}

// Says which operators are not replayed, and how much of the recorded time they took. Empty if there are
// none.
std::string left_out_note(const Model& model) {
  constexpr std::size_t kNamed = 4;
  std::vector<UntimedOperator> sorted = model.untimed;
  if (sorted.empty()) return {};
  const auto time_of = [](const UntimedOperator& each) {
    return each.recorded_time.value_or(Nanoseconds(0));
  };
  std::ranges::stable_sort(sorted, std::greater(), time_of);
  std::vector<std::string> names;
  Nanoseconds time;
  for (const UntimedOperator& each : sorted) {
    time += time_of(each);
    if (names.size() < kNamed) names.push_back(fmt::format("{} ×{}", one_line(each.name), each.count));
  }
  if (sorted.size() > kNamed) names.push_back(fmt::format("{} more", sorted.size() - kNamed));
  std::string text = "Not replayed: " + joined(names);
  if (model.recorded_gpu_time && *model.recorded_gpu_time > Nanoseconds(0)) {
    text += fmt::format("; together {} of the recorded time of the GPU",
                        percent_text(time / *model.recorded_gpu_time));
  }
  return fmt::format("{} ({}).", text, one_line(sorted.front().why()));
}

class ExplainCommand {
 public:
  ExplainCommand(const ExplainFlags& flags, const CLI::App& command, Invocation& invocation)
      : flags_(flags), command_(command), invocation_(invocation) {}

  void run() {
    constexpr double kLeast = 1.0, kMost = 3600.0;
    if (!(flags_.time_limit >= kLeast) || flags_.time_limit > kMost) {
      throw UsageError(fmt::format("--max-time: {:g} to {:g} seconds", kLeast, kMost));
    }
    if (flags_.local) start_local_ranks(*flags_.local, invocation_);
    files_.emplace(flags_.record);
    record_.environment = read_environment(invocation_.command_line);
    if (are_python(flags_.targets)) {
      if (!study_function()) return;
    } else if (is_record_with_trace()) {
      account_for_trace();
    } else if (are_records(flags_.targets)) {
      account();
    } else if (!study()) {
      return;
    }
    files_->write(record_, flags_.page);
    if (record_.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

 private:
  void account() {
    if (flags_.targets.size() != 2) throw UsageError("records are explained in pairs: name two files");
    refuse_flags_of_studies();
    const RunRecord first = read_run_file(flags_.targets[0]), second = read_run_file(flags_.targets[1]);
    record_.device = second.device;
    const std::optional<std::string> network = network_of(first), other = network_of(second);
    const bool are_different = network && other && *network != *other;
    record_.accounts =
        are_different ? explain::account_for_equal_work(first, second) : explain::account_for(first, second);
    if (are_different && record_.accounts.empty()) {
      throw UsageError(fmt::format(
          "{} and {} are different networks, {} and {}, and no operation of one is equal to one of the other: "
          "there is no change to explain; name two records of one network",
          flags_.targets[0], flags_.targets[1], *network, *other));
    }
    record_.compared_calls = explain::compared_calls(first, second, record_.accounts);
    record_.notes = explain::notes_on(first, second, record_.accounts);
    record_.conclusions = explain::conclusions_of(record_.accounts, record_.compared_calls);
    if (are_different) {
      record_.conclusions.insert(
          record_.conclusions.begin(),
          fmt::format("**Different networks**: {}, then {}. Only what is equal in both is compared: {}.",
                      *network, *other, counted(std::ssize(record_.accounts), "operation")));
    }
  }

  bool is_record_with_trace() const {
    if (flags_.targets.size() != 2) return false;
    refuse_missing_files(flags_.targets);
    if (!is_file(flags_.targets[0]) || !is_file(flags_.targets[1])) return false;
    const bool first = are_records({flags_.targets[0]}), second = are_records({flags_.targets[1]});
    if (second && !first) {
      throw UsageError(fmt::format("{} is a record: it comes first, as in jitterscope explain {} {}",
                                   flags_.targets[1], flags_.targets[1], flags_.targets[0]));
    }
    return first && !second;
  }

  void refuse_flags_of_studies() const {
    refuse_typed_flags(
        command_, invocation_, {"--json", "--html", "--plot", "--top", "--details"},
        "what is recorded is explained as it was measured, and nothing is switched anew; leave it out, "
        "or name an operation in place of records");
  }

  void account_for_trace() {
    refuse_flags_of_studies();
    const RunRecord record = read_run_file(flags_.targets[0]);
    const Model trace = read_model_target(flags_.targets[1]);
    record_.device = record.device;
    record_.accounts = explain::account_for(record, trace);
    record_.compared_calls = explain::compared_calls(record, trace, record_.accounts);
    record_.conclusions = explain::conclusions_of(record_.accounts, record_.compared_calls);
  }

  // Returns false for --dry-run, which only prints the plan.
  bool study() {
    if (flags_.targets.size() != 1) {
      throw UsageError(
          "one operation or network is explained at a time, or two records, or a record and then a "
          "trace; which of "
          "several is faster says `jitterscope compare`");
    }
    std::unique_ptr<Device> device = open_device(flags_.device, flags_.seed);
    record_.device = device->describe();
    const TrialSubject subject = read_subject();
    if (invocation_.ranks && subject.operation() != nullptr && has_collective(*subject.operation())) {
      device.reset();  // leaves its memory to the workers
      return study_on_ranks(*subject.operation());
    }
    if (invocation_.ranks)
      fmt::print(stderr, "jitterscope: no collective is explained: rank 0 alone measures\n");
    for (const std::string& id : flags_.factors) {
      if (id == explain::kLateness) {
        throw UsageError(
            "--factors: lateness is of a collective between ranks; name one, and start ranks by mpirun or --local");
      }
    }
    if (flags_.dry_run) {
      const auto factors = explain::chosen_factors(explain::factor_context(*device, subject), flags_.factors);
      Text text = factors_text(factors, one_of_calls(subject.text(), record_.calls),
                               duration_on(record_.device, time_limit()), page_width());
      for (const std::string& note : record_.notes) text += '\n' + wrapped(note, page_width());
      print_result(text);
      return false;
    }
    study_on(*device, subject);
    return true;
  }

  // The same for a collective between ranks: one of them is made late.
  bool study_on_ranks(const Operation& operation) {
    if (!std::holds_alternative<Collective>(operation.parameters())) {
      throw UsageError(
          fmt::format("{}: between ranks one collective is explained; name it alone", operation.text()));
    }
    const auto ranks = static_cast<std::int64_t>(invocation_.ranks->size());
    const explain::StudyBetweenRanks between{.operation = among_ranks(operation, ranks),
                                             .context = {.device = record_.device},
                                             .factors = flags_.factors};
    const std::vector<explain::Factor> factors = explain::factors_between_ranks(between);
    const std::vector<std::string> devices = devices_of_ranks(flags_.device, *invocation_.ranks);
    if (flags_.dry_run) {
      print_result(factors_text(factors, between.operation.text(), duration_on(record_.device, time_limit()),
                                page_width()));
      return false;
    }
    study_between_ranks(between, devices, time_limit(), flags_.seed, invocation_, record_);
    return true;
  }

  // Closes the device again: another process will measure on it, and this one would disturb it.
  std::vector<explain::Factor> factors_of_function(const std::string& target) {
    const std::unique_ptr<Device> device = open_device(flags_.device, flags_.seed);
    record_.device = device->describe();
    real_capabilities(*device);
    const TrialSubject function(CallableWork{.name = target, .launch = {}});
    return explain::chosen_factors(explain::factor_context(*device, function), flags_.factors);
  }

  // Studies the function in a Python process, which returns the same kind of record.
  bool study_function() {
    if (flags_.targets.size() != 1) {
      throw UsageError(
          "one function is explained at a time; which of several is faster says `jitterscope compare`");
    }
    if (!flags_.only.empty()) throw UsageError("--only picks a layer of a network; a function has none");
    const std::string target = flags_.targets.front().substr(kPythonPrefix.size());
    const std::vector<explain::Factor> factors = factors_of_function(target);
    if (flags_.dry_run) {
      print_result(factors_text(factors, target, duration_on(record_.device, time_limit()), page_width()));
      return false;
    }
    nlohmann::json asked = {{"callable", target},
                            {"device", record_.device.id},
                            {"time_limit_seconds", to_seconds(time_left())},
                            {"seed", flags_.seed},
                            {"factors", flags_.factors}};
    Environment environment = std::move(record_.environment);
    record_ = std::get<ExplainRecord>(read_record(ask_python("explain-callable", asked.dump(), invocation_),
                                                  "the result of the Python process"));
    record_.environment = std::move(environment);
    return true;
  }

  // Returns the one operation that was typed or picked from a network, or a network with its calls in order.
  TrialSubject read_subject() {
    WorkList work = read_targets(flags_.targets, flags_.only);
    fit_to_device(work, record_.device);
    if (work.is_model) {
      choose_provider(work, Provider::automatic, record_.device, true);
      leave_out_impossible(work, record_.device);
      if (std::string note = left_out_note(work.model); !note.empty())
        record_.notes.push_back(std::move(note));
    } else {
      refuse_impossible(work, record_.device);
    }
    if (std::string note = note_on_f32(work, record_.device); !note.empty())
      record_.notes.push_back(std::move(note));
    if (work.model.layers.size() == 1) {
      record_.calls = work.model.layers.front().calls();
      return work.model.layers.front().operation;
    }
    if (work.is_model && !work.model.calls.empty()) return TrialSubject(std::move(work.model));
    throw UsageError(fmt::format(
        "{} has {}, and their order is not known; one is explained at a time, so pick it by --only: {}",
        flags_.targets.front(), counted(std::ssize(work.model.layers), "operation"), names_in(work.model)));
  }

  Nanoseconds time_limit() const { return seconds(flags_.quick ? kQuick : flags_.time_limit); }
  // Opening a GPU and calibrating take seconds of the user's time limit. A simulated device has its own time.
  Nanoseconds time_left() const {
    if (record_.device.capabilities.is_simulated) return time_limit();
    return std::max(time_limit() - (host_time_now() - began_), time_limit() / 2.0);
  }

  void study_on(Device& device, const TrialSubject& subject) {
    ProgressLine line(stderr, host_time_now);
    line.show("calibrating the instruments of " + record_.device.name, {1, 1});
    Session session(device);
    explain::ExplainOptions options;
    options.factors = flags_.factors;
    const Nanoseconds limit = time_left();
    options.time_limit = limit;
    options.seed = flags_.seed;
    options.interrupted = is_interrupted;
    options.start_neighbour = [this] {
      return start_neighbour_process(invocation_.executable, record_.device.id, is_interrupted);
    };
    options.progress = [&line, limit](const std::string& stage, double share) {
      line.show(
          fmt::format("{}: {:.0f} %, {} left", stage, share * 100.0, duration_text(limit * (1.0 - share))),
          {1, 1});
    };
    if (const Operation* operation = subject.operation()) {
      options.measure_in_processes = [this, operation](std::int64_t processes) {
        return measure_anew(*operation, record_.device.id, processes);
      };
      const std::vector<std::string> gpus = gpus_alike();
      if (gpus.size() > 1) {
        options.gpus = std::ssize(gpus);
        options.measure_on_each_gpu = [this, operation, gpus] { return measure_on_each(*operation, gpus); };
      }
    }
    jitterscope::run_study(session, subject, options, record_);
    line.clear();
  }

  // Returns the machine's GPUs of the same model; empty if the device is no GPU.
  std::vector<std::string> gpus_alike() const {
    std::vector<std::string> ids;
    const DeviceCapabilities& can = record_.device.capabilities;
    if (can.is_host || can.is_simulated) return ids;
    for (const DeviceListing& device : list_devices()) {
      if (device.problem.empty() && device.name == record_.device.name) ids.push_back(device.id);
    }
    return ids;
  }

  std::vector<explain::ProcessTime> measure_on_each(const Operation& operation,
                                                    const std::vector<std::string>& gpus) {
    std::vector<explain::ProcessTime> times;
    for (const std::string& gpu : gpus) {
      const std::vector<explain::ProcessTime> own = measure_anew(operation, gpu, 1);
      times.insert(times.end(), own.begin(), own.end());
    }
    return times;
  }

  std::vector<explain::ProcessTime> measure_anew(const Operation& operation, const std::string& device,
                                                 std::int64_t count) {
    MeasureOptions options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.time_limit = seconds(1.5);
    options.seed = flags_.seed;
    const Plan plan{.groups = {{{operation, options}}}, .ceilings = false};
    const FreshProcesses processes{
        .executable = invocation_.executable, .count = count, .interrupted = is_interrupted};
    std::vector<explain::ProcessTime> times;
    try {
      const ProcessRecords found = run_in_fresh_processes(device, plan, processes);
      for (const RunRecord& record : found.records) {
        const std::vector<explain::ProcessTime> own = explain::times_of(record);
        times.insert(times.end(), own.begin(), own.end());
      }
      for (const std::string& lost : found.lost) record_.notes.push_back("Lost: " + lost + '.');
    } catch (const FailedError& error) {
      record_.notes.push_back(fmt::format("No fresh process gave a time: {}.", error.what()));
    }
    return times;
  }

  const ExplainFlags& flags_;
  const CLI::App& command_;
  Invocation& invocation_;
  Nanoseconds began_ = host_time_now();
  ExplainRecord record_;
  std::optional<RecordFiles> files_;
};

}  // namespace

void add_explain_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<ExplainFlags>(
      app, "explain", "say which causes move an operation's time, by how much, and how sure that is",
      kExplainExamples, [&](const ExplainFlags& typed, const CLI::App& self) {
        ExplainCommand(typed, self, invocation).run();
      });
  command
      .add_option(
          "targets", flags.targets,
          "an operation, a network (what --only leaves of it, in its order), python:FILE:FUNCTION, two "
          "records that run --json wrote, or a record and the PyTorch trace of its layers")
      ->required();
  command.add_option("--only", flags.only,
                     "the layer in whose name or operation this regular expression is found");
  command.add_option("--device", flags.device, "as for run: auto, cpu, cuda, cuda:N, virtual:PRESET")
      ->capture_default_str();
  command
      .add_option("--factors", flags.factors,
                  "only these, with commas between: " + joined(explain::factor_ids()) +
                      "; between ranks: " + joined(explain::factor_ids_between_ranks()))
      ->delimiter(',')
      ->each([](const std::string& id) {
        if (id != explain::kLateness) explain::require_factor(id);
      });
  command
      .add_option("--local", flags.local,
                  "explain a collective between this many ranks on this host, as under mpirun -n N")
      ->check(CLI::Range(2, 1024));
  add_rendezvous_flag(command, invocation);
  CLI::Option* quick = command.add_flag(
      "--quick", flags.quick,
      "32 s in place of 180: what is likely and cheap, at fewer doses, with wider intervals");
  command.add_option("--max-time", flags.time_limit, "seconds for the whole study")
      ->capture_default_str()
      ->excludes(quick);
  command.add_flag("--dry-run", flags.dry_run, "print what would be switched, without measuring");
  command.add_option("--seed", flags.seed, "of orders, idles, values and places")->capture_default_str();
  flags.record.add_to(command);
  flags.page.add_to(command);
}

}  // namespace jitterscope::cli
