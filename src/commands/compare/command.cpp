#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "cli/command_line.hpp"
#include "cli/compared_work.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/python.hpp"
#include "cli/ranks.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "operation/pytorch.hpp"
#include "operation/words.hpp"
#include "output/comparison_table.hpp"
#include "output/output_file.hpp"
#include "worker/fresh_processes.hpp"

// Carries out `compare`: reads the alternatives and compares them.

namespace jitterscope::cli {

/// One of the alternatives, as it was typed.
struct Alternative {
  std::string label;        ///< distinguishing part: "engine=best", or the target itself
  std::string target;       ///< an operation or a model
  MeasureFlags conditions;  ///< its own conditions
  std::string provider = "auto";
};

/// Makes each target an alternative. With `vary` (NAME=VALUE,VALUE…) varies one target in all combinations,
/// the first of each value first. Parameters of the operation or model can vary, and cache, data, queue,
/// instrument and provider. Throws UsageError for another name, with the nearest, and for fewer than two
/// alternatives.
std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider);

/// Reads the work of each alternative, run by its provider; the comparison sets loads and limits. Throws
/// UsageError like read_targets.
std::vector<ComparedAlternative> read_works(const std::vector<Alternative>& alternatives,
                                            const std::string& only, const DeviceDescription& device);

namespace {

using statistics::EffectVerdict;

struct CompareFlags {
  RecordFlags record;
  std::vector<std::string> targets, vary;
  MeasureFlags measure;
  PageFlags page;
  std::string provider = "auto", only, csv, margin = "1%", fail_if;
  std::int64_t processes = 8;
  std::optional<std::int64_t> local;
  bool verify = false, dry_run = false, strict = false;
};

constexpr const char* kCompareExamples = R"(Examples:
  jitterscope compare matmul:m=512,n=512,k=512,dtype=f16 matmul:m=512,n=512,k=512,dtype=bf16
  jitterscope compare conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16 --vary engine=pytorch,best
  jitterscope compare conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1 --vary layout=nchw,nhwc --vary dtype=f32,f16
  jitterscope compare add:count=8Mi --vary cache=warm,cold --margin 2%
  jitterscope compare linear:n=256,in=1024,out=1024 --vary dtype=f32,tf32,bf16,f16 --verify
  jitterscope compare resnet18:layout=nchw resnet18:layout=nhwc --processes 5
  jitterscope compare monday.json tuesday.json
  jitterscope compare monday.json tuesday.json wednesday.json --plot week.svg --csv week.csv
  jitterscope compare softmax:rows=4096,columns=1024 softmax:rows=1024,columns=4096 --fail-if slower --strict

Exit codes: 0 done, 1 --fail-if applies (with --strict, where undecided, too) or --verify found a wrong result, 2 usage, 3 device or library missing,
5 nothing could be compared because an operation failed, 130 interrupted.)";

// A ratio over eight processes is known about twice as well as one process knows its own.
constexpr double kPairPrecision = 0.25;  // as a share of the margin

class CompareCommand {
 public:
  CompareCommand(const CompareFlags& flags, const CLI::App& command, Invocation& invocation)
      : flags_(flags), command_(command), invocation_(invocation) {}

  void run() {
    check_flags();
    if (flags_.local) start_local_ranks(*flags_.local, invocation_);
    record_.margin = read_margin(flags_.margin);
    files_.emplace(flags_.record, flags_.csv);
    record_.environment = read_environment(invocation_.command_line);
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    if (are_records(flags_.targets)) {
      compare_files();
    } else if (are_python(flags_.targets)) {
      compare_python();
    } else if (!measure()) {
      return;
    }
    files_->write(record_, flags_.page);
    warn_of_unjudged();
    invocation_.exit_code = exit_code();
  }

 private:
  void check_flags() const {
    check_count("--processes", flags_.processes, 1, 1000);
    if (!flags_.fail_if.empty() && flags_.fail_if != "slower" && flags_.fail_if != "different") {
      throw UsageError(
          fmt::format("--fail-if: '{}' is unknown; slower, or different (slower or faster)", flags_.fail_if));
    }
    if (flags_.strict && flags_.fail_if.empty())
      throw UsageError("--strict says what --fail-if does where it is undecided: give --fail-if slower, too");
  }

  void compare_files() {
    if (flags_.targets.size() < 2)
      throw UsageError("name two files or more: the others are compared with the first");
    if (!flags_.vary.empty()) throw UsageError("--vary: a record cannot be varied");
    if (flags_.verify) throw UsageError("--verify: a record cannot be verified");
    refuse_typed_flags(
        command_, invocation_,
        {"--margin", "--fail-if", "--strict", "--json", "--csv", "--html", "--plot", "--top", "--findings",
         "--details"},
        "records are compared as they are, without measuring; leave it out, or name operations or models "
        "instead of records");
    std::vector<RunRecord> records;
    for (const std::string& file : flags_.targets) records.push_back(read_run_file(file));
    compare_files_of(records, flags_.targets, record_);
  }

  void compare_python() {
    if (flags_.targets.size() < 2) throw UsageError("compare takes two functions of Python or more");
    if (!flags_.vary.empty() || flags_.dry_run || flags_.verify || !flags_.only.empty() ||
        !flags_.measure.lock_clocks.empty()) {
      throw UsageError(
          "--vary, --only, --verify, --dry-run and --lock-clocks are for operations and models; name "
          "each function of Python");
    }
    record_.alternatives = python_labels(flags_.targets);
    record_.processes_asked = flags_.processes;
    const MeasureOptions options = shared(flags_.measure.python_options(flags_.processes));
    ProcessRecords found = run_python({flags_.targets}, flags_.measure.device, options, flags_.processes);
    if (found.records.empty()) throw InterruptedError();
    record_.device = found.records.front().device;
    record_.interrupted = found.interrupted;
    record_.lost_processes = std::move(found.lost);
    for (const std::string& note : found.records.front().notes) record_.notes.push_back(note);
    compare_processes(python_items(found.records, flags_.targets.size()), found.records, record_);
  }

  MeasureOptions shared(MeasureOptions options) const {
    if (flags_.measure.loads.empty()) options.loads = {Load::burst};
    if (!flags_.measure.asks_for_precision()) options.precision = record_.margin * kPairPrecision;
    return options;
  }

  // Returns false for --dry-run, which only prints the plan.
  bool measure() {
    const std::vector<Alternative> alternatives =
        read_alternatives(flags_.targets, flags_.vary, flags_.measure, flags_.provider);
    for (const Alternative& alternative : alternatives) record_.alternatives.push_back(alternative.label);
    record_.title = flags_.targets.size() == 1 ? flags_.targets.front() : "";
    record_.processes_asked = flags_.processes;
    std::unique_ptr<Device> device = open_device(flags_.measure.device, flags_.measure.seed);
    record_.device = device->describe();
    MeasureOptions options = shared(flags_.measure.options(flags_.processes));
    const std::unique_ptr<ClockLock> lock = flags_.measure.lock(*device, options);
    const std::vector<ComparedAlternative> works = read_works(alternatives, flags_.only, record_.device);
    ComparedWork work = pair_alternatives(works, options, record_.device);
    record_.samples = samples_that_differ(works, work);
    record_.works = recorded_works({record_.samples.begin(), record_.samples.end()});
    if (record_.samples.empty()) note_unlike_work(works, work);
    note_what_pytorch_runs(works);
    work.plan.verify = flags_.verify;
    record_.notes.insert(record_.notes.end(), work.notes.begin(), work.notes.end());
    record_.left_out = work.left_out;
    if (flags_.dry_run) {
      print_result(comparison_plan_text(work, record_));
      return false;
    }
    if (!lock) device.reset();  // leaves its memory to the workers
    if (invocation_.ranks && has_collective(work.plan)) {
      compare_on_ranks(work, devices_of_ranks(flags_.measure.device, *invocation_.ranks), invocation_,
                       record_);
      return true;
    }
    if (invocation_.ranks) {
      fmt::print(stderr, "jitterscope: no collective is compared: rank 0 alone measures\n");
    }
    compare_in_processes(work, invocation_, record_);
    return true;
  }

  // Ratios are to the first alternative: if that runs as in PyTorch, no note is needed.
  void note_what_pytorch_runs(const std::vector<ComparedAlternative>& works) {
    const bool is_first_as_pytorch =
        std::ranges::any_of(works.front().work.model.layers, [](const Layer& layer) {
          const auto* conv = std::get_if<Conv2d>(&layer.operation.parameters());
          return conv != nullptr && conv->dtype == kPytorchConvolutionOfF32;
        });
    if (is_first_as_pytorch) return;
    for (const ComparedAlternative& each : works) {
      if (const std::string note = note_on_f32(each.work, record_.device); !note.empty())
        add_once(record_.cautions, note);
    }
  }

  // True if layers are left out, so that nothing is said of a whole network.
  bool is_unjudged() const {
    const auto is_partial = [&](const TotalComparison& each) { return !is_whole(record_, each); };
    return !record_.left_out.empty() || std::ranges::any_of(record_.totals, is_partial);
  }

  // A caller that looks only at the exit code would take silence for a pass.
  void warn_of_unjudged() const {
    if (flags_.fail_if.empty() || record_.interrupted) return;
    const char* outcome = flags_.strict ? "fails, as --strict asks" : "passes; --strict fails it";
    if (is_unjudged()) {
      fmt::print(
          stderr,
          "jitterscope: --fail-if {}: layers are left out, so there is no verdict on the whole networks, "
          "which {}; pick the layers in common with --only\n",
          flags_.fail_if, outcome);
    } else if (any_verdict([](EffectVerdict verdict) { return verdict == EffectVerdict::undecided; })) {
      fmt::print(stderr, "jitterscope: --fail-if {}: undecided, which {}\n", flags_.fail_if, outcome);
    }
  }

  template <class Counts>
  bool any_verdict(const Counts& counts) const {
    const bool are_networks = !record_.totals.empty() || !record_.left_out.empty();
    if (!are_networks) return std::ranges::any_of(record_.comparisons, counts, &Comparison::verdict);
    // For a network the total decides.
    return std::ranges::any_of(record_.totals, [&](const TotalComparison& each) {
      return is_whole(record_, each) && counts(each.verdict);
    });
  }

  ExitCode exit_code() const {
    if (record_.interrupted) return ExitCode::interrupted;
    const auto fails = [&](EffectVerdict verdict) {
      if (flags_.fail_if.empty()) return false;
      return verdict == EffectVerdict::slower ||
             (verdict == EffectVerdict::faster && flags_.fail_if == "different") ||
             (verdict == EffectVerdict::undecided && flags_.strict);
    };
    const auto has_failed = [](const Comparison& comparison) { return !comparison.failure.empty(); };
    const auto& all = record_.comparisons;
    if (std::ranges::any_of(all, is_wrong)) return ExitCode::check_failed;
    if (!all.empty() && std::ranges::all_of(all, has_failed)) return ExitCode::failed;
    return any_verdict(fails) || (flags_.strict && is_unjudged()) ? ExitCode::check_failed : ExitCode::done;
  }

  const CompareFlags& flags_;
  const CLI::App& command_;
  Invocation& invocation_;
  ComparisonRecord record_;
  std::optional<RecordFiles> files_;
};

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<CompareFlags>(
      app, "compare",
      "compare operations, models, variants of one, or records: which is faster, and by how much",
      kCompareExamples, [&](const CompareFlags& typed, const CLI::App& self) {
        CompareCommand(typed, self, invocation).run();
      });
  command
      .add_option(
          "targets", flags.targets,
          "two or more operations or models, each compared with the first; one with --vary; or two or more "
          "files that --json wrote")
      ->required();
  command
      .add_option(
          "--vary", flags.vary,
          "NAME=VALUE,VALUE: a parameter of the operation or model, or cache, data, queue, instrument "
          "or provider; several --vary give all combinations")
      ->allow_extra_args(false);
  command
      .add_option(
          "--processes", flags.processes,
          "number of fresh processes, in each of which both sides alternate; each interval is over processes")
      ->capture_default_str();
  command
      .add_option("--local", flags.local,
                  "compare collectives between this many ranks on this host, as under mpirun -n N")
      ->check(CLI::Range(2, 1024));
  add_rendezvous_flag(command, invocation);
  command.add_option("--margin", flags.margin, "largest difference that counts as the same")
      ->capture_default_str();
  command.add_flag(
      "--verify", flags.verify,
      "compare each result with a float64 reference; if only data types differ, the reference is "
      "computed from the first one's inputs");
  command.add_option(
      "--fail-if", flags.fail_if,
      "exit code 1 if one is shown to be slower than the first (slower), or to differ from it (different); a network "
      "counts by its total");
  command.add_flag("--strict", flags.strict, "with --fail-if: exit code 1 also where it is undecided");
  flags.measure.help = {.caches = "cache states: warm, cold, dirty, produced (default: warm)"};
  flags.measure.add_to(command);
  command
      .add_option("--provider", flags.provider, "library that runs a model's layers: auto, torch or builtin")
      ->capture_default_str();
  command.add_option("--only", flags.only,
                     "compare only layers whose name or operation matches this regular expression");
  flags.record.add_to(command);
  command.add_option("--csv", flags.csv,
                     "write a row for each ratio to PATH or - (stdout): both times, the ratio, the verdict");
  flags.page.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be compared and how long it would take");
}

namespace {

struct Factor {
  std::string name;
  std::vector<std::string> values;
};

const std::vector<std::string> kConditionNames = {"cache", "data", "queue", "instrument", "provider"};

Factor read_factor(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(
        fmt::format("--vary {}: write NAME=VALUE,VALUE, as engine=pytorch,best", printable(text, 60)));
  }
  Factor factor{text.substr(0, equals), split_at_commas(std::string_view(text).substr(equals + 1))};
  if (std::ranges::find(factor.values, "") != factor.values.end()) {
    throw UsageError(fmt::format("--vary {}: a value is empty", text));
  }
  const std::set<std::string> different(factor.values.begin(), factor.values.end());
  if (different.size() != factor.values.size())
    throw UsageError(fmt::format("--vary {}: a value is given twice", text));
  return factor;
}

// Returns the target with another value of a parameter, which the target may already have.
std::string with_parameter(const std::string& target, const Factor& factor, const std::string& value) {
  if (target.starts_with("aten::")) {
    throw UsageError(
        fmt::format("--vary {}: an operator of PyTorch has no parameters by name; write the two "
                    "operators to compare",
                    factor.name));
  }
  const std::string setting = factor.name + '=' + value;
  const std::size_t colon = target.find(':');
  if (colon == std::string::npos) return target + ':' + setting;
  std::string text = target.substr(0, colon + 1);
  bool is_there = false;
  for (std::size_t begin = colon + 1; begin < target.size();) {
    const std::size_t end = std::min(target.find(',', begin), target.size());
    const std::string part = target.substr(begin, end - begin);
    const bool is_this = part.starts_with(factor.name + '=');
    if (text.back() != ':') text += ',';
    text += is_this ? setting : part;
    is_there = is_there || is_this;
    begin = end + 1;
  }
  if (is_there) return text;
  return text + (text.back() == ':' ? "" : ",") + setting;
}

Alternative with_value(Alternative alternative, const Factor& factor, const std::string& value) {
  alternative.label += (alternative.label.empty() ? "" : ", ") + factor.name + '=' + value;
  if (factor.name == "cache") {
    alternative.conditions.caches = {value};
  } else if (factor.name == "data") {
    alternative.conditions.data = value;
  } else if (factor.name == "queue") {
    alternative.conditions.queue = value;
  } else if (factor.name == "instrument") {
    alternative.conditions.instrument = value;
  } else if (factor.name == "provider") {
    alternative.provider = value;
  } else {
    alternative.target = with_parameter(alternative.target, factor, value);
  }
  return alternative;
}

// Suggests a condition for an unknown name, if the error suggested no parameter.
std::string condition_hint(const std::string& name, const std::string& error) {
  const std::string nearest = nearest_name(name, kConditionNames);
  if (!nearest.empty() && error.find("did you mean") == std::string::npos)
    return fmt::format(" (did you mean '{}'?)", nearest);
  return fmt::format(" (conditions that can be varied: {})", joined(kConditionNames));
}

// Reads the alternative's target, so that the error of an impossible variation names the flag.
void check_alternative(const Alternative& alternative, const Factor& factor) {
  const bool is_condition = std::ranges::find(kConditionNames, factor.name) != kConditionNames.end();
  try {
    if (is_condition) {
      alternative.conditions.options();
      parse_provider(alternative.provider);
    } else {
      read_targets({alternative.target});
    }
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--vary {}: {}{}", factor.name, error.what(),
                                 is_condition ? std::string() : condition_hint(factor.name, error.what())));
  }
}

std::vector<Alternative> varied(const Alternative& base, const std::vector<Factor>& factors) {
  std::vector<Alternative> alternatives = {base};
  for (const Factor& factor : factors) {
    std::vector<Alternative> more;
    for (const Alternative& alternative : alternatives) {
      for (const std::string& value : factor.values) {
        more.push_back(with_value(alternative, factor, value));
        check_alternative(more.back(), factor);
      }
    }
    alternatives = std::move(more);
  }
  return alternatives;
}

}  // namespace

std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider) {
  if (vary.empty()) {
    if (targets.size() < 2) {
      throw UsageError(
          "compare takes two or more operations, models or records, or one with --vary NAME=VALUE,VALUE");
    }
    std::vector<Alternative> alternatives;
    for (const std::string& target : targets) alternatives.push_back({target, target, conditions, provider});
    return alternatives;
  }
  if (targets.size() != 1) {
    throw UsageError("--vary varies one operation or model: leave the others out, or leave out --vary");
  }
  std::vector<Factor> factors;
  for (const std::string& text : vary) {
    Factor factor = read_factor(text);
    if (std::ranges::find(factors, factor.name, &Factor::name) != factors.end())
      throw UsageError(
          fmt::format("--vary {}: it is varied twice; write all its values in one --vary", factor.name));
    factors.push_back(std::move(factor));
  }
  std::vector<Alternative> alternatives = varied({"", targets.front(), conditions, provider}, factors);
  constexpr std::size_t kMost = 32;
  if (alternatives.size() > kMost) {
    throw UsageError(
        fmt::format("--vary: {} combinations; at most {} are compared at once", alternatives.size(), kMost));
  }
  if (alternatives.size() < 2) throw UsageError("--vary needs two or more values to compare");
  return alternatives;
}

std::vector<ComparedAlternative> read_works(const std::vector<Alternative>& alternatives,
                                            const std::string& only, const DeviceDescription& device) {
  std::vector<ComparedAlternative> read;
  for (const Alternative& alternative : alternatives) {
    WorkList work = read_targets({alternative.target}, only);
    fit_to_device(work, device);
    choose_provider(work, parse_provider(alternative.provider), device, false);
    MeasureOptions options = alternative.conditions.options();
    if (alternative.conditions.caches.empty()) options.caches = {CacheState::warm};
    read.push_back({alternative.label, std::move(work), std::move(options)});
  }
  return read;
}

}  // namespace jitterscope::cli
