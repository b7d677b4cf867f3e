#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/compared_work.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/python.hpp"
#include "cli/ranks.hpp"
#include "commands/records.hpp"
#include "commands/study/loss_scaling_record.hpp"
#include "commands/study/parallel_command.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measure/verify.hpp"
#include "operation/words.hpp"
#include "output/comparison_table.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"
#include "study/answers.hpp"
#include "study/loss_scaling.hpp"
#include "study/parallel_studies.hpp"
#include "study/study.hpp"

// Carries out `study`. For loss-scaling a Python process trains, because only it can load the model.

namespace jitterscope::cli {

namespace {

std::string callable_of(const std::vector<std::string>& targets) {
  if (targets.empty()) return {};
  if (targets.size() == 1 && are_python(targets)) return targets.front().substr(kPythonPrefix.size());
  throw UsageError(
      fmt::format("{}: the study loss-scaling trains one model: name python:FILE:FUNCTION, whose function "
                  "returns a torch.nn.Module and its loss(model, step), or nothing for ResNet-18",
                  in_quotes(targets.size() == 1 ? targets.front() : targets[1])));
}

DeviceDescription describe_trainer(const std::string& device) {
  DeviceDescription description = open_device(device)->describe();
  if (!description.capabilities.is_simulated) return description;
  throw UsageError(description.id + " is simulated and trains nothing: use --device cpu or --device cuda");
}

// Combines the results that Python wrote with this program's envelope.
study::LossScalingRecord record_of(const study::LossScalingRecord& envelope, const std::string& output) {
  const nlohmann::json found = nlohmann::json::parse(output, nullptr, false);
  if (!found.is_object()) throw FailedError("the Python process wrote no readable result");
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(write_record(envelope));
  for (const auto& [key, value] : found.items()) document[key] = value;
  try {
    return std::get<study::LossScalingRecord>(
        read_record(document.dump(), "the result of the Python process"));
  } catch (const UsageError& error) {
    throw FailedError(error.what());
  }
}

// Says what would be trained, by which Python. Throws UsageError for an invalid target or device.
std::string training_plan_text(const std::vector<std::string>& targets, const std::string& device) {
  const std::string callable = callable_of(targets);
  // The process that runs the training opens other devices, which this machine may not have.
  if (device.starts_with("virtual")) describe_trainer(device);
  return fmt::format("{} is trained for 100 steps in float32, and as many with each scale, by {}\n",
                     callable.empty() ? "ResNet-18" : "The model of " + callable, interpreter());
}

// Trains the model of the one target, python:FILE:FUNCTION, whose function returns a model and its loss, or
// torchvision's ResNet-18 without a target. Throws UsageError for another target or device, MissingError if
// Python lacks jitterscope, PyTorch or torchvision, FailedError if it failed.
study::LossScalingRecord train_with_scales(const std::vector<std::string>& targets, const std::string& device,
                                           std::uint64_t seed, const Invocation& invocation) {
  const std::string callable = callable_of(targets);
  study::LossScalingRecord record;
  record.environment = read_environment(invocation.command_line);
  record.device = describe_trainer(device);
  const nlohmann::json asked = {
      {"callable", callable}, {"device", record.device.capabilities.pytorch_device}, {"seed", seed}};
  return record_of(record, ask_python("loss-scaling", asked.dump(), invocation));
}

struct StudyFlags {
  std::string name;
  std::vector<std::string> targets;
  MeasureFlags measure;
  PageFlags page;
  RecordFlags record;
  std::string provider = "auto", only, margin = "1%";
  std::int64_t processes = 5;
  std::optional<std::int64_t> local;
  bool dry_run = false;
};

constexpr const char* kStudyExamples = R"(Examples:
  jitterscope study precision
  jitterscope study layout conv2d:n=32,c=256,hw=14,k=256,rs=3,pad=1,dtype=f16
  jitterscope study precision resnet18:batch=32,direction=fprop --only layer4 --processes 3
  jitterscope study batch linear:n=1,in=4096,out=4096
  jitterscope study occupancy 'cuda:@saxpy:saxpy,n=1Mi,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]'
  jitterscope study pinned copy:bytes=1Mi,4Mi,kind=d2h --device virtual:h200
  jitterscope study loss-scaling python:train.py:make --device cuda
  jitterscope study data-parallel resnet50:batch=64,dtype=bf16,layout=nhwc --local 2
  jitterscope study pipeline gpt2:batch=16,dtype=bf16 --local 2
  jitterscope study tensor-parallel gpt2:batch=8,dtype=bf16 --local 2
  jitterscope list studies

Exit codes: 0 done, 1 a variant gives a wrong result, 2 usage, or the study does not apply to this work or device,
3 device or library missing, 5 no variant could be timed, 130 interrupted.)";

// A ratio over five processes is known about twice as well as one process knows its own.
constexpr double kPairPrecision = 0.25;  // as a share of the margin

class StudyCommand {
 public:
  StudyCommand(const StudyFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation), study_(study::find_study(flags.name)) {}

  void run() {
    check_count("--processes", flags_.processes, 1, 1000);
    record_.margin = read_margin(flags_.margin);
    RecordFiles files(flags_.record);
    record_.environment = read_environment(invocation_.command_line);
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    record_.processes_asked = flags_.processes;
    record_.study = ComparedStudy{study_.id, study_.question, {}};
    device_ = open_device(flags_.measure.device, flags_.measure.seed);
    record_.device = device_->describe();
    MeasureOptions options = own_options();
    const std::unique_ptr<ClockLock> lock = flags_.measure.lock(*device_, options);
    const ComparedWork work = plan(options);
    if (flags_.dry_run) {
      print_result(study_.question + "\n\n" + comparison_plan_text(work, record_));
      return;
    }
    if (!lock) device_.reset();  // leaves its memory to the workers
    compare_in_processes(work, invocation_, record_);
    add_amounts();
    if (!record_.comparisons.empty()) {
      record_.study->answers = study::answer_of(study_, record_, arms_);
      if (std::string exactness = study::exactness_sentence(record_); !exactness.empty())
        record_.study->answers.push_back(std::move(exactness));
    }
    files.write(record_, flags_.page);
    invocation_.exit_code = exit_code();
  }

 private:
  MeasureOptions own_options() const {
    MeasureOptions options = flags_.measure.options();
    if (flags_.measure.caches.empty()) options.caches = {CacheState::warm};
    if (flags_.measure.loads.empty()) options.loads = {Load::burst};
    if (!flags_.measure.asks_for_precision()) options.precision = record_.margin * kPairPrecision;
    return options;
  }

  // An answer should take half a minute, and starting fresh processes takes half of it: all trials share the
  // rest. Arms differ by more than the precision of a trial that this limit ends.
  Nanoseconds time_for_each(std::size_t trials, const MeasureOptions& options) const {
    constexpr Nanoseconds kAll = seconds(15), kLeast = milliseconds(200);
    if (flags_.measure.asks_for_time()) return options.time_limit;
    const double shares = static_cast<double>(trials) * static_cast<double>(flags_.processes);
    return std::clamp(kAll / shares, std::min(kLeast, options.time_limit), options.time_limit);
  }

  // Keeps the operations that the study can be asked of; a note names the others.
  WorkList read_work() {
    std::vector<std::string> targets =
        flags_.targets.empty() ? study::subjects_of(study_, record_.device) : flags_.targets;
    if (study_.changes_amount) begin_with_one_sample(targets);
    WorkList work = read_targets(targets, flags_.only);
    record_.title = work.title;
    std::vector<bool> keep;
    const std::vector<bool> grow = layers_that_grow(work, targets);
    for (std::size_t i = 0; i < work.model.layers.size(); ++i) {
      keep.push_back(grow[i] && study_.can_be_asked_of(work.model.layers[i].operation));
    }
    const auto kept = std::ranges::count(keep, true);
    if (kept == 0) {
      throw UsageError(fmt::format("the study {} does not apply to {}: it is for {}", study_.id,
                                   printable(targets.front(), 100), study_.concerns));
    }
    if (kept < std::ssize(keep)) {
      record_.notes.push_back(fmt::format("{} of {} operations are left out: the study is for {}.",
                                          std::ssize(keep) - kept, std::ssize(keep), study_.concerns));
    }
    keep_layers(work, keep);
    if (study_.varies_type) note(take_as_pytorch(work, record_.device));
    if (std::string caution = note_on_f32(work, record_.device); !caution.empty())
      add_once(record_.cautions, std::move(caution));
    return work;
  }

  // The study grows the batch: a target that names none begins with one sample.
  void begin_with_one_sample(std::vector<std::string>& targets) {
    for (std::string& target : targets) {
      std::string begun = with_one_sample(target);
      if (begun == target) continue;
      note(fmt::format(
          "{} names no batch: this study begins with one sample ({}) and multiplies it, so that the smallest "
          "batch that pays is among its arms; other commands take the batch that `jitterscope list` shows.",
          printable(target, 100), printable(begun, 100)));
      target = std::move(begun);
    }
  }

  // A network does some work once for all samples: a table of positions, the sum of two gradients of a
  // weight. Their shapes are those of work on samples, so the network is read once more with a larger batch.
  std::vector<bool> layers_that_grow(const WorkList& work, const std::vector<std::string>& targets) const {
    std::vector<bool> grow(work.model.layers.size(), true);
    std::vector<std::string> twice;
    for (const std::string& target : targets) {
      const std::optional<std::int64_t> batch = batch_named_in(target);
      if (!study_.changes_amount || !batch) return grow;
      twice.push_back(with_batch(target, 2 * *batch));
    }
    std::map<std::string, const Operation*> grown;
    const WorkList larger = read_targets(twice);
    for (const Layer& layer : larger.model.layers) {
      for (const std::string& name : layer.names) grown[name] = &layer.operation;
    }
    for (std::size_t i = 0; i < grow.size(); ++i) {
      const Layer& layer = work.model.layers[i];
      const auto found = layer.names.empty() ? grown.end() : grown.find(layer.names.front());
      grow[i] = found == grown.end() || *found->second != layer.operation;
    }
    return grow;
  }

  // The host reads back and compares what the device wrote: of a batch that fills a GPU that takes longer
  // than all times together.
  void leave_out_long_verifications(ComparedWork& work) {
    constexpr Nanoseconds kLongest = seconds(2);
    std::int64_t left_out = 0;
    for (std::vector<Trial>& group : work.plan.groups) {
      for (Trial& trial : group) {
        trial.verify = verification_time(*trial.operation(), record_.device) <= kLongest;
        left_out += trial.verify ? 0 : 1;
      }
    }
    if (left_out == 0) return;
    note(fmt::format(
        "The results of {} are not verified, as comparing one would take the host longer than {}: "
        "jitterscope run OPERATION --verify does it.",
        counted(left_out, "trial"), duration_text(kLongest)));
  }

  void note(std::string sentence) {
    if (!sentence.empty()) record_.notes.push_back(std::move(sentence));
  }

  ComparedWork plan(const MeasureOptions& options) {
    const WorkList work = read_work();
    study::StudyContext context{*device_, record_.device, {}};
    for (const Layer& layer : work.model.layers) context.operations.push_back(layer.operation);
    const std::vector<study::Arm> arms = study_.arms(context);
    MeasureOptions each = options;
    // The counters' hooks could change the times of later operations in the process: here there are none.
    if (study_.counts_memory && work.model.layers.size() == 1 && !record_.device.capabilities.is_host)
      each.counters.emplace();
    // Layers of a network differ by little from arm to arm, but for a batch.
    if (!work.is_model || study_.changes_amount)
      each.time_limit = time_for_each(arms.size() * work.model.layers.size(), options);
    std::vector<ComparedAlternative> alternatives;
    for (const study::Arm& arm : arms) {
      const AppliedArm applied{&study_, arm};
      ComparedAlternative alternative =
          apply_arms(arm.name, {&applied, 1}, work, each, flags_.provider, record_.device);
      const std::string problem = problem_of(alternative.work, record_.device);
      if (!problem.empty()) {
        if (alternatives.empty()) throw UsageError(problem);
        record_.notes.push_back(fmt::format("{} is left out: {}.", arm.name, problem));
        continue;
      }
      record_.alternatives.push_back(arm.name);
      arms_.push_back(arm);
      record_.works.push_back(arm.work);
      alternatives.push_back(std::move(alternative));
    }
    if (alternatives.size() < 2) throw UsageError("nothing is left to compare: " + record_.notes.back());
    record_.works = recorded_works(std::move(record_.works));
    ComparedWork compared = pair_alternatives(alternatives, each, record_.device);
    if (study_.changes_amount) record_.samples = samples_that_differ(alternatives, compared);
    compared.plan.verify = true;
    leave_out_long_verifications(compared);
    compared.plan.trace_kernels = study_.traces_kernels;
    compared.items.have_total = work.is_model;
    record_.notes.insert(record_.notes.end(), compared.notes.begin(), compared.notes.end());
    return compared;
  }

  // Adds what the launches of each side do, for the rates beside their times.
  void add_amounts() {
    if (study_.amount == nullptr) return;
    for (Comparison& comparison : record_.comparisons) {
      for (ComparedSide* side : {&comparison.first, &comparison.second}) {
        if (const Operation* operation = operation_of(side->subject))
          side->amount = study_.amount(*operation);
      }
    }
  }

  ExitCode exit_code() const {
    if (record_.interrupted) return ExitCode::interrupted;
    const auto& all = record_.comparisons;
    const auto has_failed = [](const Comparison& comparison) { return !comparison.failure.empty(); };
    if (!all.empty() && std::ranges::all_of(all, has_failed)) return ExitCode::failed;
    const auto is_wrong_by_mistake = [&](const Comparison& comparison) {
      return is_wrong(comparison) && !arms_[comparison.alternative].is_to_be_wrong;
    };
    return std::ranges::any_of(all, is_wrong_by_mistake) ? ExitCode::check_failed : ExitCode::done;
  }

  const StudyFlags& flags_;
  Invocation& invocation_;
  const study::Study& study_;
  std::unique_ptr<Device> device_;
  ComparisonRecord record_;
  std::vector<study::Arm> arms_;  ///< one for each alternative
};

// Throws UsageError for a flag that belongs to comparisons of operations.
void refuse_flags_but(const std::vector<std::string>& taken, const CLI::App& command,
                      const std::string& why) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_taken = !name.starts_with("--") || std::ranges::find(taken, name) != taken.end();
    if (option->count() > 0 && !is_taken)
      throw UsageError(name + " is for studies that time operations; " + why);
  }
}

// Training has no rounds and no layers to pick.
void run_loss_scaling(const StudyFlags& flags, const CLI::App& command, Invocation& invocation) {
  refuse_flags_but({"--device", "--seed", "--json", "--html", "--details", "--dry-run", "--help"}, command,
                   "loss-scaling trains for 100 steps with each scale");
  if (flags.dry_run) {
    return print_result(std::string(study::kLossScaling.question) + "\n\n" +
                        training_plan_text(flags.targets, flags.measure.device));
  }
  RecordFiles files(flags.record);
  const study::LossScalingRecord record =
      train_with_scales(flags.targets, flags.measure.device, flags.measure.seed, invocation);
  files.write(record, flags.page);
}

void run_between_ranks(const study::ParallelStudy& which, const StudyFlags& flags, const CLI::App& command,
                       Invocation& invocation) {
  refuse_flags_but({"--device", "--seed", "--time-limit", "--processes", "--local", "--rendezvous", "--json",
                    "--html", "--plot", "--details", "--width", "--dry-run", "--help"},
                   command, fmt::format("{} times a network's whole step between ranks", which.summary.id));
  if (flags.targets.size() != 1)
    throw UsageError(fmt::format("the study {0} is of one network: jitterscope study {0} {1} --local 2",
                                 which.summary.id, which.example));
  check_count("--processes", flags.processes, 1, 1000);
  run_parallel_study({.study = which,
                      .network = flags.targets.front(),
                      .device = flags.measure.device,
                      .local = flags.local.value_or(0),
                      .groups = flags.processes,
                      .time_limit = seconds(flags.measure.time_limit_seconds),
                      .seed = flags.measure.seed,
                      .dry_run = flags.dry_run,
                      .record = flags.record,
                      .page = flags.page},
                     invocation);
}

}  // namespace

void add_study_command(CLI::App& app, Invocation& invocation) {
  const auto carry_out = [&](const StudyFlags& typed, const CLI::App& self) {
    if (typed.name == study::kLossScaling.id) return run_loss_scaling(typed, self, invocation);
    if (const study::ParallelStudy* between = study::find_parallel_study(typed.name))
      return run_between_ranks(*between, typed, self, invocation);
    if (typed.local)
      throw UsageError(fmt::format("--local: the study {} times operations of one process",
                                   study::find_study(typed.name).id));
    StudyCommand(typed, invocation).run();
  };
  const auto [command, flags] = declare_command<StudyFlags>(
      app, "study", "compare ways to do your work: layout, precision, batch size and others", kStudyExamples,
      carry_out);
  command.add_option("name", flags.name, "study to run (jitterscope list studies shows them)")->required();
  command.add_option(
      "targets", flags.targets,
      "operations, a network or a file of layers, as `run` takes them (default: the study's own)");
  flags.measure.help = {.caches = "cache states: warm, cold, dirty, produced (default: warm)",
                        .precision = "a quarter of --margin",
                        .time_limit = "1.5, or less for many operations, so that all take 15 s"};
  flags.measure.add_to(command);
  command
      .add_option(
          "--processes", flags.processes,
          "number of fresh processes, in each of which all variants alternate; each interval is over processes")
      ->capture_default_str();
  command.add_option("--margin", flags.margin, "largest difference that counts as the same")
      ->capture_default_str();
  command
      .add_option("--provider", flags.provider,
                  "library that runs a network's layers: auto, torch or builtin")
      ->capture_default_str();
  command.add_option("--local", flags.local,
                     "ranks of this host for a study between ranks, as under mpirun -n N");
  add_rendezvous_flag(command, invocation);
  command.add_option("--only", flags.only,
                     "study only layers whose name or operation matches this regular expression");
  flags.record.add_to(command);
  flags.page.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be compared and how long it would take");
}

}  // namespace jitterscope::cli
