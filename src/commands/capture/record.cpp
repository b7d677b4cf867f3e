#include "commands/capture/record.hpp"

#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

namespace timeline {
constexpr auto enumerators(Follows) {
  using enum Follows;
  return std::array{clock,  common_factor, first_calls,   place, other_kernels,
                    copies, preceding,     other_process, trend};
}
constexpr auto enumerators(IdleCause) {
  using enum IdleCause;
  return std::array{allocation, loading,      synchronization, between_kernels,
                    launch,     other_stream, host_elsewhere,  unknown};
}
constexpr auto enumerators(KernelOrigin) {
  using enum KernelOrigin;
  return std::array{pytorch, triton, nccl, library, other};
}
constexpr auto enumerators(StepTrait) {
  using enum StepTrait;
  return std::array{
      longer_work,          idle,        idle_allocation,   idle_loading,        idle_synchronization,
      idle_between_kernels, idle_launch, idle_other_stream, idle_host_elsewhere, loading,
      more_copied,          first_steps, after_other_kind};
}
}  // namespace timeline

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCause>& cause) {
  fields("what", cause.what);
  fields("share", cause.share);
  fields("effect", cause.effect);
  fields("effect_low", cause.low);
  fields("effect_high", cause.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureWork>& work) {
  fields("label", work.label);
  fields("name", work.full_name);
  fields("grid", work.grid);
  fields("block", work.block);
  fields("calls", work.calls);
  fields("calls_per_step", work.calls_per_step);
  fields("share", work.share);
  fields("total_seconds", work.total);
  fields("median_seconds", work.median);
  fields("p5_seconds", work.p5);
  fields("p95_seconds", work.p95);
  fields("follows", work.follows);
  fields("rest", work.rest);
  fields("converts_layout", work.converts_layout);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepKind>& kind) {
  fields("count", kind.count);
  fields("launches", kind.launches);
  fields("median_seconds", kind.median);
  fields("low_seconds", kind.low);
  fields("high_seconds", kind.high);
  fields("p99_seconds", kind.p99);
  fields("mean_seconds", kind.mean);
  fields("p95_seconds", kind.p95);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureWorkOfStep>& work) {
  fields("label", work.label);
  fields("calls", work.calls);
  fields("seconds", work.time);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureRepetition>& repetition) {
  fields("times", repetition.times);
  fields("launches", repetition.launches);
  fields("median_seconds", repetition.median);
  fields("rest", repetition.rest);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepLevels>& levels) {
  fields("step", levels.step);
  fields("earlier_steps", levels.earlier);
  fields("later_steps", levels.later);
  fields("at_seconds", levels.at);
  fields("before_seconds", levels.before);
  fields("before_low_seconds", levels.before_low);
  fields("before_high_seconds", levels.before_high);
  fields("after_seconds", levels.after);
  fields("after_low_seconds", levels.after_low);
  fields("after_high_seconds", levels.after_high);
  fields("busy_longer_seconds", levels.busy);
  fields("idle_longer_seconds", levels.idle);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureTrait>& trait) {
  fields("trait", trait.trait);
  fields("slow_steps", trait.slow);
  fields("other_steps", trait.other);
  fields("longer_seconds", trait.longer);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureOtherKernels>& other) {
  fields("origin", other.origin);
  fields("share", other.share);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCalls>& calls) {
  fields("calls", calls.calls);
  fields("explained", calls.explained);
  fields("replayable", calls.replayable);
  fields("others", calls.others);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureIdle>& idle) {
  fields("cause", idle.cause);
  fields("share", idle.share);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCopies>& copies) {
  fields("name", copies.name);
  fields("count", copies.count);
  fields("bytes", copies.bytes);
  fields("total_seconds", copies.total);
  fields("beside_kernels", copies.beside_kernels);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureLoss>& loss) {
  fields("count", loss.count);
  fields("sentence", loss.sentence);
  fields("times", loss.times);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepTime>& step) {
  fields("at_seconds", step.at);
  fields("seconds", step.time);
  fields.where(step.slow, "slow", step.slow);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSensor>& sensor) {
  fields("at_seconds", sensor.at);
  fields("clock_hertz", sensor.clock);
  fields("held", sensor.held);
  fields("power_watts", sensor.power);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSlice>& slice) {
  fields("stream", slice.stream);
  fields("begin_seconds", slice.begin);
  fields("end_seconds", slice.end);
  fields("label", slice.label);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CapturePicture>& picture) {
  fields("title", picture.title);
  fields("length_seconds", picture.length);
  fields("slices", picture.slices);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCommonFactor>& common) {
  fields("is_clock", common.is_clock);
  fields.where(common.is_after_allocation, "is_after_allocation", common.is_after_allocation);
  fields("share", common.share);
  fields("share_low", common.low);
  fields("share_high", common.high);
  fields("effect", common.effect);
  fields("kernels", common.kernels);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureLongerPart>& part) {
  fields("label", part.label);
  fields("is_gap", part.is_gap);
  fields("longer_seconds", part.longer);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepRecurrence>& recurrence) {
  fields("period", recurrence.period);
  fields("slow", recurrence.slow);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSlowSteps>& slow) {
  fields("steps", slow.steps);
  fields("of", slow.of);
  fields("longer", slow.longer);
  fields("traits", slow.traits);
  fields("median_seconds", slow.time);
  fields("other_median_seconds", slow.other_time);
  fields("recurrence", slow.recurrence);
  fields("longer_parts", slow.parts);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStretch>& stretch) {
  fields("begin_seconds", stretch.begin);
  fields("end_seconds", stretch.end);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureLongStretches>& stretches) {
  fields("stretches", stretches.stretches);
  fields("steps", stretches.steps);
  fields("of", stretches.of);
  fields("longer", stretches.longer);
  fields("busy_longer_seconds", stretches.busy);
  fields("idle_longer_seconds", stretches.idle);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCost>& cost) {
  fields("ratio", cost.ratio);
  fields("low", cost.low);
  fields("high", cost.high);
  fields("windows", cost.windows);
  fields("null_ratio", cost.null_ratio);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureWaits>& waits) {
  fields("share", waits.share);
  fields("collectives", waits.collectives);
  fields("last", waits.last);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureDevice>& device) {
  fields("process", device.process);
  fields("gpu", device.gpu);
  fields("rank", device.rank);
  fields("length_seconds", device.length);
  fields("is_complete", device.is_complete);
  fields("kernels", device.kernels);
  fields("copies", device.copies);
  fields("memsets", device.sets);
  fields("lost", device.lost);
  fields("names", device.names);
  fields("audited", device.audited);
  fields("corrected", device.corrected);
  fields("steps", device.steps);
  fields("no_steps", device.no_steps);
  fields("ranges", device.ranges);
  fields("busy", device.busy);
  fields("idle", device.idle);
  fields("idle_windows", device.idle_windows);
  fields("with_others", device.with_others);
  fields("common_factor", device.common);
  fields("repetition", device.repetition);
  fields("step_levels", device.levels);
  fields("long_stretches", device.stretches);
  fields("slow_steps", device.slow);
  fields("cost", device.cost);
  fields("waits", device.waits);
  fields("calls", device.calls);
  fields("work", device.work);
  fields("copied", device.copied);
  fields("step_times", device.step_times);
  fields("sensors", device.sensors);
  fields("pictures", device.pictures);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, CaptureRecord>& record) {
  fields("source", record.source);
  fields.where(record.can_be_run, "can_be_run", record.can_be_run);
  fields.require("devices");
  fields("devices", record.devices);
  fields("losses", record.losses);
}

std::string write_record(const CaptureRecord& record) { return write_envelope("capture", record); }

void read_fields(const Json& document, const std::string& name, CaptureRecord& record) {
  record = read_envelope<CaptureRecord>(document, name);
}

}  // namespace jitterscope
