#include "measure/sequence.hpp"

#include <algorithm>
#include <optional>

#include "device/operands.hpp"
#include "jitterscope/error.hpp"
#include "measure/estimate.hpp"
#include "measure/launch_details.hpp"
#include "measure/schedule.hpp"
#include "operation/aten_text.hpp"
#include "operation/pytorch.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// One pass over all calls that were prepared.
struct TimedPass {
  std::vector<Nanoseconds> times;        // one for each call
  std::vector<KernelsOfLaunch> kernels;  // those of each call, if traced
  Nanoseconds iteration;
  std::optional<Hertz> clock;
};

class Sequence {
 public:
  Sequence(Session& session, const Model& model, const MeasureOptions& options,
           const SequenceListener& listener)
      : session_(session), model_(model), options_(options), listener_(listener) {}

  void prepare(SequenceMeasurement& result) {
    for (std::size_t i = 0; i < model_.calls.size(); ++i) {
      const Call& call = model_.calls[i];
      result.calls.push_back({call.name, call.layer, {}});
      if (is_interrupted(options_)) {
        prepared_.push_back(nullptr);
        continue;
      }
      if (listener_) listener_("preparing " + call.name, i + 1, model_.calls.size());
      try {
        const CallSharing sharing = prepare_call(session_.device(), model_, i,
                                                 {.kind = options_.data, .seed = options_.seed}, prepared_);
        result.calls[i].unwritten = sharing.unwritten;
        result.is_connected = result.is_connected || !sharing.shared.empty();
        running_.push_back(i);
      } catch (const Error& error) {
        result.calls[i].failure = error.what();
      }
    }
    if (running_.empty() && !is_interrupted(options_))
      throw FailedError(model_.name + ": none of its calls runs on this device");
  }

  // A device without a tracer is read by the host's clock.
  void look_for_tracer() {
    try {
      session_.device().trace_kernels();
      is_traced_ = true;
    } catch (const MissingError&) {
      is_traced_ = false;
    }
  }
  bool is_traced() const { return is_traced_; }

  TimedPass run_once() {
    launch_all();  // lets the clock rise, and leaves in the caches what a pass leaves
    return is_traced_ ? run_traced() : run_by_host();
  }

  const std::vector<std::size_t>& running() const { return running_; }

 private:
  // Numbers the calls for the tracer, if there is one, from `first` on.
  void launch_all(KernelTracer* tracer = nullptr, std::size_t first = 0) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      PreparedOperation& call = *prepared_[running_[i]];
      if (tracer != nullptr) {
        launch_traced(*tracer, session_.queue(), call, first + i);
      } else {
        session_.queue().launch(call);
      }
      // Kernels take other times on a GPU that waits for its host: cuDNN's init_device_workspace 3.0 µs
      // instead of 9.6 after another kernel, and convolutions of 17 µs up to 3 % more (H200).
      if (options_.queue == QueueMode::eager) session_.queue().wait();
    }
  }

  TimedPass run_traced() {
    Queue& queue = session_.queue();
    queue.wait();
    const std::unique_ptr<KernelTracer> tracer = session_.device().trace_kernels();
    // This pass, untimed, keeps the queue full while the first calls of the next are launched.
    launch_all(tracer.get());
    const ClockStamp before = queue.stamp_clock();
    launch_all(tracer.get(), running_.size());
    const ClockStamp after = queue.stamp_clock();
    queue.wait();
    TimedPass pass = read(kernels_by_launch(tracer->stop(), 2 * running_.size()));
    if (const auto clock = queue.clock_between(before, after)) pass.clock = clock->frequency;
    return pass;
  }

  // Reads the second of two passes, which must have run the same kernels.
  TimedPass read(const std::vector<KernelsOfLaunch>& launches) const {
    TimedPass pass;
    KernelsOfLaunch all;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const KernelsOfLaunch& own = launches[running_.size() + i];
      require_equal_launches({launches[i], own});
      pass.kernels.push_back(own);
      pass.times.push_back(time_of(own));
      all.insert(all.end(), own.begin(), own.end());
    }
    if (all.empty()) throw FailedError(model_.name + ": none of its calls ran a kernel");
    pass.iteration = time_of(all);
    return pass;
  }

  TimedPass run_by_host() {
    Device& device = session_.device();
    Queue& queue = session_.queue();
    TimedPass pass;
    queue.wait();
    const ClockStamp before = queue.stamp_clock();
    const Nanoseconds start = device.host_time();
    for (const std::size_t i : running_) {
      const Nanoseconds began = device.host_time();
      queue.launch(*prepared_[i]);
      queue.wait();
      pass.times.push_back(device.host_time() - began);
    }
    pass.iteration = device.host_time() - start;
    const ClockStamp after = queue.stamp_clock();
    queue.wait();
    if (const auto clock = queue.clock_between(before, after)) pass.clock = clock->frequency;
    return pass;
  }

  Session& session_;
  const Model& model_;
  const MeasureOptions& options_;
  const SequenceListener& listener_;
  PreparedCalls prepared_;
  std::vector<std::size_t> running_;  // calls that were prepared
  bool is_traced_ = false;
};

class Passes {
 public:
  explicit Passes(std::size_t calls) : times_(calls), kernels_(calls) {}

  void add(const TimedPass& pass) {
    for (std::size_t i = 0; i < times_.size(); ++i) times_[i].push_back(pass.times[i].value());
    for (std::size_t i = 0; i < pass.kernels.size(); ++i) kernels_[i].push_back(pass.kernels[i]);
    iterations_.push_back(pass.iteration.value());
    if (pass.clock) clocks_.push_back(pass.clock->value());
  }
  std::int64_t count() const { return std::ssize(iterations_); }

  /// Asks as reached_precision does, but with the wider interval for stopping.
  bool may_end(double precision) const {
    const auto precise =
        std::ranges::count_if(times_, [&](const auto& times) { return may_stop(times, precision); });
    return may_stop(iterations_, precision) && 10 * precise >= 9 * std::ssize(times_);
  }

  void summarise(const std::vector<std::size_t>& running, SequenceMeasurement& result) const {
    if (count() == 0) return;
    for (std::size_t i = 0; i < running.size(); ++i) {
      result.calls[running[i]].time = estimate_of(times_[i]);
      result.calls[running[i]].kernels = summarise_kernels(kernels_[i]);
    }
    result.iteration = estimate_of(iterations_);
    if (!clocks_.empty()) result.clock = Hertz(statistics::median(clocks_));
  }

 private:
  std::vector<std::vector<double>> times_;             // for each call, in nanoseconds
  std::vector<std::vector<KernelsOfLaunch>> kernels_;  // for each call and pass
  std::vector<double> iterations_;
  std::vector<double> clocks_;
};

// Runs passes, each after an idle, until they are precise or out of time.
class SequenceTurns final : public BlockVisitor {
 public:
  SequenceTurns(Session& session, Sequence& sequence, const MeasureOptions& options,
                const SequenceListener& listener)
      : device_(session.device()),
        decisions_(session.decisions()),
        sequence_(sequence),
        options_(options),
        listener_(listener),
        passes_(sequence.running().size()),
        start_(device_.host_time()) {}

  std::size_t visits() const override { return static_cast<std::size_t>(passes_.count()); }
  bool needs_more() override { return decisions_.of_all(Question::needs_passes, needs_more_here()); }
  void visit(const Visit& visit) override {
    if (listener_) listener_("in sequence", visits() + 1, 0);
    if (options_.queue == QueueMode::eager) {
      device_.idle_awake(visit.idle);  // a host that has slept launches slower
    } else {
      device_.idle(visit.idle);
    }
    if (is_interrupted(options_)) return;  // a signal ends the idle early
    passes_.add(sequence_.run_once());
  }

  const Passes& passes() const { return passes_; }

 private:
  bool needs_more_here() const {
    const Nanoseconds elapsed = device_.host_time() - start_;
    if (elapsed > options_.sustained_time_limit * 3.0) return false;
    const bool may_end = elapsed > options_.sustained_time_limit || passes_.may_end(options_.precision);
    return passes_.count() < options_.minimum_rounds || !may_end;
  }

  Device& device_;
  Decisions& decisions_;
  Sequence& sequence_;
  const MeasureOptions& options_;
  const SequenceListener& listener_;
  Passes passes_;
  Nanoseconds start_;
};

}  // namespace

SequenceMeasurement measure_sequence(Session& session, const Model& model, const MeasureOptions& options,
                                     const SequenceListener& listener) {
  if (model.calls.empty()) {
    throw UsageError(model.name + ": the order of its calls is not known, so it cannot run in sequence");
  }
  SequenceMeasurement result;
  Sequence sequence(session, model, options, listener);
  result.precision_asked = options.precision;
  if (options.queue == QueueMode::eager) result.queue = QueueMode::eager;
  sequence.prepare(result);
  if (is_interrupted(options)) return result;
  sequence.look_for_tracer();
  result.instrument = sequence.is_traced() ? Instrument::cupti : Instrument::host;
  SequenceTurns turns(session, sequence, options, listener);
  Schedule schedule(session.device(), session.decisions(), options, IdleSharing::none);
  std::vector<BlockVisitor*> visitors = {&turns};
  while (schedule.run_block(visitors)) {
  }
  turns.passes().summarise(sequence.running(), result);
  return result;
}

namespace {

// Operands numbered as calls do. PyTorch's operators tell only what they read, not what they write.
struct Operands {
  bool is_aten = false;
  std::vector<Bytes> sizes = {};
  std::vector<OperandRole> roles = {};

  explicit Operands(const Operation& operation) {
    if (const auto* aten = std::get_if<Aten>(&operation.parameters())) {
      is_aten = true;
      sizes = tensor_sizes(*aten);
      roles.assign(sizes.size(), OperandRole::input);
    }
    for (const Operand& operand : operation.operands()) {
      sizes.push_back(operand.bytes());
      roles.push_back(operand.role);
    }
  }
  bool may_be(OperandRole role, std::size_t operand) const {
    if (operand < roles.size()) return roles[operand] == role;
    return !is_aten || role == OperandRole::output || operand == kUnknownOperand;
  }
};

CallSharing sharing_of(const Model& model, const Call& call, const PreparedCalls& prepared) {
  const Operands reader(model.layers[call.layer].operation);
  CallSharing sharing{{}, call.unwritten};
  for (const OperandSource& input : call.inputs) {
    const SharedOperand shared{input.operand, prepared[input.call].get(), input.source_operand, input.offset};
    if (shared.owner != nullptr && input.operand < reader.sizes.size() &&
        lies_within_owner(shared, reader.sizes[input.operand])) {
      sharing.shared.push_back(shared);
      continue;
    }
    const Operands writer(model.layers[model.calls[input.call].layer].operation);
    if (reader.may_be(OperandRole::input, input.operand) &&
        writer.may_be(OperandRole::output, input.source_operand)) {
      ++sharing.unwritten;
    }
  }
  // If its operands are unknown, a PyTorch operator has memory of its own.
  if (reader.is_aten && sharing.shared.empty())
    sharing.unwritten = std::max<std::int64_t>(1, sharing.unwritten);
  return sharing;
}

}  // namespace

CallSharing prepare_call(Device& device, const Model& model, std::size_t number, const InputData& data,
                         PreparedCalls& prepared) {
  const Call& call = model.calls[number];
  prepared.push_back(nullptr);
  CallSharing sharing = sharing_of(model, call, prepared);
  InputData own = data;
  own.seed = data.seed + number;
  own.shared = sharing.shared;
  own.scaled_weights = true;
  prepared.back() = device.prepare(model.layers[call.layer].operation, own);
  return sharing;
}

}  // namespace jitterscope
