#include "selftest/detector_scenes.hpp"

#include "physics/preset.hpp"
#include "selftest/scenes.hpp"

namespace jitterscope::selftest {
namespace {

using physics::Mechanism;
using physics::Parameters;

MeasureOptions options_of(std::vector<CacheState> caches, std::vector<Load> loads) {
  MeasureOptions options;
  options.caches = std::move(caches);
  options.loads = std::move(loads);
  return options;
}
MeasureOptions warm() { return options_of({CacheState::warm}, {Load::burst, Load::sustained}); }

const Parameters& quiet() {
  static const Parameters parameters = physics::find_preset("quiet");
  return parameters;
}

DetectorScene switched(std::string id, std::string cause, const Parameters& gpu, Mechanism mechanism,
                       const Operation& operation, const MeasureOptions& options) {
  const Scene with{id, gpu, operation, options};
  const Scene without{id, gpu.without(mechanism), operation, options};
  return {std::move(id), with, without, true, std::move(cause)};
}

DetectorScene plain(std::string id, std::string cause, const Parameters& gpu, const Operation& operation,
                    const MeasureOptions& options) {
  const Scene scene{id, gpu, operation, options};
  return {std::move(id), scene, scene, false, std::move(cause)};
}

DetectorScene power_cap() {
  Parameters gpu = quiet();
  gpu.power.cap = Watts(1625);
  return switched("power_cap", "a cap that bites after 20 ms", gpu, Mechanism::power_cap, large_product(),
                  warm());
}

DetectorScene thermal() {
  Parameters gpu = quiet();
  // A small mass, so that temperature and clock settle within the record; a large one swings by far more.
  gpu.thermal.resistance_slow = 0.0;
  gpu.thermal.time_fast = milliseconds(50);
  gpu.thermal.slowdown_temperature = Celsius(68);
  return switched("thermal", "a slowdown at 68 °C, 1 °C below where it would settle", gpu, Mechanism::thermal,
                  large_product(), one_load(Load::sustained));
}

// Little of a product that waits for memory follows the clock: one at 84 % costs it 1 %.
DetectorScene clock_below_maximum() {
  Parameters gpu = quiet();
  gpu.power.peak_limit = Watts(960);
  return switched("clock_below_maximum", "a fast power limit that no sensor names", gpu,
                  Mechanism::peak_power, Operation::parse("matmul:m=64Ki,n=64,k=2048,dtype=bf16"),
                  one_load(Load::burst));
}

DetectorScene idle_ramp() {
  Parameters gpu = quiet();
  gpu.governor.idle_clock = megahertz(1950);
  gpu.governor.idle_timeout = milliseconds(38);
  gpu.governor.ramp_delay = milliseconds(20);
  gpu.governor.ramp_time = milliseconds(1);
  return switched("idle_ramp", "a clock that falls by 1.5 % after 38 ms of idle", gpu, Mechanism::idle_ramp,
                  large_product(), one_load(Load::burst));
}

DetectorScene drift() {
  Parameters gpu = quiet();
  gpu.noise.drift = 0.12;
  gpu.noise.drift_time = seconds(5);
  return switched("drift", "a drift of 2 % in a second", gpu, Mechanism::drift, large_product(),
                  one_load(Load::burst));
}

// Switching at random within a second is another trouble, with other findings: such a load may well hold one
// level for all of the second that it is watched at first.
DetectorScene no_steady_state() {
  Parameters gpu = quiet();
  gpu.noise.period_amplitude = 0.01;
  gpu.noise.period = seconds(3);
  return plain("no_steady_state", "a disturbance of ±1 % with a period of 3 s", gpu, large_product(),
               one_load(Load::sustained));
}

DetectorScene bimodal() {
  Parameters gpu = quiet();
  gpu.clock_states = {.depth = 0.0228, .mean_dwell_high = milliseconds(5), .mean_dwell_low = milliseconds(5)};
  return switched("bimodal", "two clocks 2.3 % apart, for 5 ms each on average", gpu, Mechanism::clock_states,
                  long_convolution(), one_load(Load::burst));
}

DetectorScene imprecise() {
  Parameters gpu = quiet();
  gpu.noise.sd = 0.035;
  gpu.noise.correlation = 0.9;
  return plain("imprecise", "noise of 3.5 %, of which 3 s leave ±1 % where ±0.5 % was asked for", gpu,
               large_product(), one_load(Load::burst));
}

// Under the peak limit, where zeros let the clock be higher.
DetectorScene zeros() {
  Parameters gpu = quiet();
  gpu.power.peak_limit = Watts(1610);
  Scene with{"zeros", gpu, large_product(), one_load(Load::burst)}, without = with;
  with.options.data = DataKind::zeros;
  return {"zeros", with, without, true, "operands of zeros near a power limit"};
}

DetectorScene timer_grain() {
  Parameters gpu = quiet();
  gpu.instruments.mark_grain = microseconds(1);
  return plain("timer_grain", "a timer's step of 1 µs, 0.9 % of the time", gpu, long_convolution(),
               one_load(Load::burst));
}

DetectorScene instrument() {
  return plain("instrument", "±0.1 µs of slopes on 9 µs", quiet(),
               Operation::parse("conv2d:n=16,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"),
               one_load(Load::burst));
}

DetectorScene launch_bound() {
  return plain("launch_bound", "a kernel half as long as its launch", quiet(),
               Operation::parse("spin:ns=1000"), one_load(Load::burst));
}

DetectorScene other_process() {
  Parameters gpu = quiet();
  gpu.contention = {.mean_on = seconds(1000),
                    .mean_off = Nanoseconds(1),
                    .bandwidth_loss = 0.01,
                    .time_slice = Nanoseconds(0),
                    .visible = true};
  return switched("other_process", "another process that takes 1 % of the bandwidth", gpu,
                  Mechanism::contention, large_copy(), one_load(Load::burst));
}

DetectorScene pageable() {
  return plain("pageable", "a copy from memory that is not page-locked", quiet(),
               Operation::parse("copy:bytes=16Mi,kind=h2d,memory=pageable"), one_load(Load::burst));
}

DetectorScene cold_not_proven() {
  const Parameters gpu = quiet().without(Mechanism::cache);
  return plain("cold_not_proven", "an eviction that does not evict", gpu, large_copy(),
               options_of({CacheState::cold}, {Load::burst}));
}

}  // namespace

std::vector<DetectorScene> detector_scenes() {
  return {no_steady_state(), power_cap(),           thermal(),       drift(),           idle_ramp(),
          bimodal(),         imprecise(),           zeros(),         timer_grain(),     instrument(),
          launch_bound(),    clock_below_maximum(), other_process(), cold_not_proven(), pageable()};
}

std::vector<Scene> quiet_scenes() {
  const MeasureOptions all = options_of({CacheState::warm, CacheState::cold}, {Load::burst, Load::sustained});
  return {{"convolution", quiet(), long_convolution(), all},
          {"product", quiet(), large_product(), all},
          {"copy", quiet(), large_copy(), all},
          {"elementwise", quiet(), Operation::parse("relu:count=256Mi,dtype=f16"), all}};
}

}  // namespace jitterscope::selftest
