#include "physics/machine.hpp"

#include "physics/machine_state.hpp"

namespace jitterscope::physics {

Machine::Machine(const Parameters& parameters, std::uint64_t seed)
    : state_(std::make_unique<State>(parameters, seed)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;

const Parameters& Machine::parameters() const { return state_->parameters; }

Buffer Machine::allocate(Bytes size) { return state_->cache.allocate(size); }
void Machine::release(Buffer buffer) { state_->cache.release(buffer); }

void Machine::choose_placements(std::uint64_t number) {
  state_->placement = Random(state_->placement_seed ^ Random(number).next());
}

double Machine::draw_placement() {
  const double normal = state_->placement.normal();
  return state_->parameters.has(Mechanism::placement) ? 1.0 + state_->parameters.placement.sd * normal : 1.0;
}

Nanoseconds Machine::free_at() const { return state_->now; }
Execution Machine::run(const KernelWork& work, Nanoseconds earliest) { return state_->run(work, earliest); }
std::vector<Forecast> Machine::forecast(const std::vector<KernelWork>& works) const {
  return state_->forecast(works);
}
void Machine::rest_until(Nanoseconds time) { state_->rest_until(time); }
void Machine::fill_cache(bool with_modified_lines) { state_->cache.fill(with_modified_lines); }
void Machine::hold_clock(std::optional<Hertz> clock) { state_->hold_clock(clock); }

Hertz Machine::clock() const { return state_->clock(); }
Cycles Machine::cycles() const { return state_->cycles; }

MachineSensors Machine::read_sensors(Nanoseconds time) {
  state_->rest_until(time);
  return state_->sensors.read(time, state_->sample());
}

bool Machine::other_process_is_active(Nanoseconds time) const {
  return state_->parameters.contention.visible && state_->other_process.is_active(time);
}

}  // namespace jitterscope::physics
