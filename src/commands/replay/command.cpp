#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/run_request.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "commands/replay/record.hpp"
#include "explain/account.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/machine.hpp"
#include "measure/sequence.hpp"
#include "operation/layer_pattern.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

struct ReplayFlags {
  RecordFlags record;
  PageFlags page;
  std::string file, kernel, execution_trace, device = "auto", provider = "auto";
  std::int64_t processes = 5;
  std::uint64_t seed = 1;
  bool in_sequence = false;
};

constexpr std::size_t kTop = 20;

constexpr const char* kReplayExamples = R"(Examples:
  jitterscope replay train.capture
  jitterscope replay trace.json.gz
  jitterscope replay trace.json.gz --kernel 'wgrad|dgrad' --details
  jitterscope replay trace.json.gz --in-sequence --execution-trace execution_trace.json
  jitterscope replay frontend.log --top all --json replay.json --html replay.html
  jitterscope replay trace.json.gz --device virtual:h200 --processes 2

Exit codes: 0 done, 2 usage, 3 device or library missing, 5 nothing could be replayed, an operation failed, or
part of the file is missing or damaged, 130 interrupted, with the result so far.)";

// Sorts layers by the time that all their calls took in the program, those in `first` before the others.
// Those of equal or unknown time keep their order.
void sort_layers(Model& model, const std::vector<bool>& first) {
  const auto key = [&](std::size_t layer) {
    const std::optional<TimeEstimate> one = explain::recorded_time_of(model.layers[layer]);
    const double all = one ? one->median.value() * static_cast<double>(model.layers[layer].count()) : 0.0;
    return std::pair(first[layer] ? 0 : 1, -all);
  };
  std::vector<std::size_t> order(model.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  std::vector<Layer> layers;
  std::vector<std::size_t> place(order.size());
  for (const std::size_t layer : order) {
    place[layer] = layers.size();
    layers.push_back(std::move(model.layers[layer]));
  }
  model.layers = std::move(layers);
  for (Call& call : model.calls) call.layer = place[call.layer];
}

class ReplayCommand {
 public:
  ReplayCommand(const ReplayFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    files_.emplace(flags_.record);
    read_program();
    std::unique_ptr<Device> device = open_device(flags_.device, flags_.seed);
    times_.device = device->describe();
    record_.device = times_.device;
    record_.environment = read_environment(invocation_.command_line);
    fit_to_device(work_, record_.device);
    const bool keep_own = flags_.in_sequence && !record_.device.capabilities.operator_outputs_stay;
    choose_provider(work_, parse_provider(flags_.provider), record_.device, keep_own);
    refuse_impossible(work_, record_.device);
    const std::size_t chosen = choose();
    device.reset();  // leaves its memory to the processes
    measure(chosen);
    if (flags_.in_sequence && !times_.interrupted && !times_.entries.empty()) run_in_sequence();
    finish();
  }

 private:
  Model& program() { return work_.model; }

  void read_program() {
    refuse_missing_files({flags_.file});
    if (!is_file(flags_.file) && !std::filesystem::is_directory(flags_.file)) {
      throw UsageError(fmt::format(
          "{} is no file: replay takes what a program recorded, a capture's folder, a profiler trace or a "
          "library's log; what is only named is timed by `jitterscope run`",
          flags_.file));
    }
    work_ = read_targets({flags_.file});
    if (program().format.empty()) {
      throw UsageError(
          fmt::format("{} is a network, not the record of a program: time it with `jitterscope run {}`",
                      flags_.file, flags_.file));
    }
    if (!flags_.execution_trace.empty()) {
      if (!flags_.in_sequence)
        throw UsageError("--execution-trace says what the calls read in sequence: add --in-sequence");
      join_execution_trace(work_, flags_.execution_trace);
    }
    if (flags_.in_sequence && program().calls.empty())
      throw UsageError(flags_.file + ": the order of its calls is not known, so leave --in-sequence out");
    record_.source = flags_.file;
  }

  // Sorts the layers that are replayed to the front, and returns their number.
  std::size_t choose() {
    std::vector<bool> matches(program().layers.size(), true);
    if (!flags_.kernel.empty()) {
      const LayerPattern pattern(flags_.kernel, "--kernel");
      std::vector<std::string> names;
      for (std::size_t i = 0; i < matches.size(); ++i) {
        const Layer& layer = program().layers[i];
        names.push_back(layer.recorded_kernels.empty() ? layer.operation.text()
                                                       : layer.recorded_kernels.front());
        matches[i] = pattern.finds(layer.operation.text()) ||
                     std::ranges::any_of(layer.recorded_kernels,
                                         [&](const std::string& kernel) { return pattern.finds(kernel); });
      }
      if (std::ranges::find(matches, true) == matches.end()) fail_no_kernel(names);
    }
    sort_layers(program(), matches);
    const auto found = static_cast<std::size_t>(std::ranges::count(matches, true));
    return std::min(found, flags_.page.shown().top.value_or(kTop));
  }

  [[noreturn]] void fail_no_kernel(std::vector<std::string> names) const {
    constexpr std::size_t kNamed = 4;
    if (names.size() > kNamed) names.resize(kNamed);
    throw UsageError(
        fmt::format("--kernel {}: no kernel and no operation of {} matches it; the record has {}",
                    flags_.kernel, flags_.file, joined(names)));
  }

  MeasureOptions options() const {
    MeasureOptions options;
    options.caches = {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced};
    options.loads = {Load::burst};
    options.time_limit = seconds(1.5);
    options.seed = flags_.seed;
    options.kernels = true;
    options.interrupted = is_interrupted;
    return options;
  }

  void measure(std::size_t chosen) {
    RunRequest request{.work = work_, .options = options(), .ceilings = false};
    request.options.interrupted = nullptr;
    std::vector<Layer>& layers = request.work.model.layers;
    layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(chosen), layers.end());
    plan_ = plan_of(request);
    cli::measure_in_processes(plan_, flags_.processes, invocation_, times_);
  }

  // This process has measured nothing yet, so that it is as fresh as the others.
  void run_in_sequence() {
    Model model = program();
    for (std::size_t i = 0; i < times_.entries.size(); ++i)
      model.layers[i].operation = as_measured(model.layers[i].operation, times_.entries[i].result);
    const std::unique_ptr<Device> device = open_device(flags_.device, flags_.seed);
    ProgressLine line(stderr, [&] { return device->host_time(); });
    line.show("calibrating the instruments of " + record_.device.name, {1, 1});
    Session session(*device);
    try {
      times_.sequence = measure_sequence(
          session, model, options(), [&](const std::string& stage, std::size_t number, std::size_t total) {
            line.show(stage, {number, std::max(number, total)});
          });
    } catch (const FailedError& error) {
      times_.notes.push_back(fmt::format("In sequence: {}.", error.what()));
    }
    line.clear();
    times_.interrupted = times_.interrupted || is_interrupted();
  }

  void finish() {
    record_.notes = program().notes;
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    record_.notes.insert(record_.notes.end(), times_.notes.begin(), times_.notes.end());
    for (const Finding& finding : times_.findings) record_.notes.push_back(finding.sentence);
    record_.interrupted = times_.interrupted;
    account_for_replay(program(), times_, record_);
    invocation_.exit_code = exit_code_of(plan_, times_);
    files_->write(record_, flags_.page);
  }

  const ReplayFlags& flags_;
  Invocation& invocation_;
  WorkList work_;
  Plan plan_;
  RunRecord times_;
  ReplayRecord record_;
  std::optional<RecordFiles> files_;
};

}  // namespace

void add_replay_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<ReplayFlags>(
      app, "replay", "run a program's calls again, alone and in sequence, and say what lies between",
      kReplayExamples,
      [&](const ReplayFlags& typed, const CLI::App&) { ReplayCommand(typed, invocation).run(); });
  command
      .add_option(
          "file", flags.file,
          "what the program recorded: the folder of a capture (capture --calls), a PyTorch profiler trace, or a log of "
          "cuDNN or cuBLAS")
      ->required();
  command
      .add_option("--kernel", flags.kernel,
                  "replay only calls in whose kernels or operation this regular expression is found")
      ->type_name("REGEX");
  command.add_flag("--in-sequence", flags.in_sequence,
                   "also run all calls in the program's order, and time each within it");
  command
      .add_option(
          "--execution-trace", flags.execution_trace,
          "with --in-sequence: a PyTorch execution trace of the same step, which says which call reads "
          "what another wrote")
      ->type_name("FILE");
  command
      .add_option("--processes", flags.processes,
                  "replay each call alone in this many fresh processes; intervals are over processes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--device", flags.device, kDeviceHelp)->capture_default_str();
  command.add_option("--provider", flags.provider, "as for run: auto, torch or builtin")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "of orders, idles, values and places")->capture_default_str();
  flags.record.add_to(command);
  command
      .add_option("--top", flags.page.top,
                  "replay this many operations, those of the most recorded time first, or all (default: 20)")
      ->type_name("N");
  command.add_flag("--details", flags.page.details,
                   "show every part of every operation and how it is known, and an explanation of the words");
}

}  // namespace jitterscope::cli
