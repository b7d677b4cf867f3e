#include "device/virtual/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

namespace jitterscope::virtual_gpu {

Timeline::Timeline(const physics::Parameters& parameters, std::uint64_t seed, Nanoseconds clock_offset,
                   double clock_rate)
    : parameters_(parameters),
      machine_(parameters_, seed),
      host_costs_(parameters_, seed),
      timers_(parameters_, seed),
      clock_offset_(clock_offset),
      clock_rate_(clock_rate) {}

double Timeline::slowdown() const { return trace != nullptr ? parameters_.instruments.trace_slowdown : 1.0; }

void Timeline::run_until(Nanoseconds time) {
  while (true) {
    WorkSource* first = nullptr;
    Nanoseconds start = time;
    for (WorkSource* source : sources_) {
      const auto next = source->next_start();
      if (!next || *next > start || (first != nullptr && *next == start)) continue;
      first = source;
      start = *next;
    }
    if (first == nullptr) break;
    first->run_next();
  }
  for (WorkSource* source : sources_) source->hold_until(time);
}

void Timeline::run_collectives() {
  if (link == nullptr) return;
  while (true) {
    const auto reaching = std::ranges::find_if(sources_, &WorkSource::reaches_collective);
    if (reaching == sources_.end()) return;
    run_until(*(*reaching)->next_start());
  }
}

void Timeline::settle(WorkSource* source) noexcept {
  try {
    if (link != nullptr && std::uncaught_exceptions() > 0) link->abandon();
    source == nullptr ? synchronize() : drain(*source);
  } catch (...) {
    // The ranks' connection has ended: whoever asks it next gets the error.
  }
}

void Timeline::drain(WorkSource& source) {
  run_collectives();
  while (const auto start = source.next_start()) {
    wait_until(*start);
    run_until(*start);
  }
}

void Timeline::synchronize() {
  for (WorkSource* source : sources_) drain(*source);
  wait_until(machine_.free_at());
}

physics::Buffer Timeline::allocate(Bytes size) {
  spend_in_driver(parameters_.launch.allocation_cost);
  allocated_ += size;
  return machine_.allocate(size);
}

void Timeline::release(physics::Buffer buffer, Bytes size) {
  machine_.release(buffer);
  allocated_ -= size;
}

void Timeline::count(const Kernel& kernel, const physics::Execution& execution) {
  if (counts == nullptr) return;
  counts->traffic.accessed += execution.traffic.accessed;
  counts->traffic.read_misses += execution.traffic.read_misses;
  counts->traffic.write_backs += execution.traffic.write_backs;
  counts->cycles += execution.cycles;
  counts->tensor += kernel.tensor;
  counts->time += execution.time();
}

void Timeline::tell(const Kernel& kernel, const physics::Execution& execution, const KernelTime& origin) {
  if (trace != nullptr) {
    const Nanoseconds bias =
        parameters_.has(physics::Mechanism::instrument) ? parameters_.instruments.trace_bias : Nanoseconds(0);
    trace->push_back(origin);
    trace->back().name = kernel.name;
    trace->back().start = execution.start;
    trace->back().end = execution.end + bias;
  }
  if (on_launch) on_launch(execution);
}

Nanoseconds Timeline::run(Kernel& kernel, Nanoseconds earliest, const KernelTime& origin, double stretch) {
  const double own = std::exchange(kernel.work.stretch, kernel.work.stretch * stretch);
  const physics::Execution execution = machine_.run(kernel.work, earliest);
  kernel.work.stretch = own;
  kernel.has_run = true;
  kernel.read_too_early = false;
  count(kernel, execution);
  tell(kernel, execution, origin);
  return execution.end;
}

Nanoseconds Timeline::run_helper(const physics::KernelWork& work, Nanoseconds earliest) {
  physics::KernelWork helper = work;
  helper.helper = true;
  return machine_.run(helper, earliest).end;
}

// A rank that waits polls, and all send and receive as fast as the links allow: no clock changes their times.
void Timeline::run_collective(Kernel& kernel, const CollectiveTimes& times, const KernelTime& origin) {
  physics::KernelWork work = kernel.work;
  work.helper = true;
  work.accesses.clear();
  work.fixed = times.end - times.arrival;
  physics::Execution execution = machine_.run(work, times.arrival);
  execution.start = times.arrival;
  execution.end = times.end;
  kernel.has_run = true;
  kernel.read_too_early = false;
  count(kernel, execution);
  tell(kernel, execution, origin);
  if (on_collective) on_collective(times);
}

void Timeline::tell_collective(Kernel& kernel, const CollectiveTimes& times, const KernelTime& origin) {
  kernel.has_run = true;
  kernel.read_too_early = false;
  tell(kernel, {.start = times.arrival, .end = times.end, .cycles = {}}, origin);
  if (on_collective) on_collective(times);
}

bool Timeline::is_first_launch(const std::string& name) {
  if (std::find(loaded_.begin(), loaded_.end(), name) != loaded_.end()) return false;
  loaded_.push_back(name);
  return true;
}

namespace {

constexpr Nanoseconds kNotYet(std::numeric_limits<double>::infinity());
// Less than a block of any GPU: rounding errors of a sum over processors.
constexpr double kNoRoom = 1e-9;

class StreamScheduler {
 public:
  StreamScheduler(const std::vector<StreamLaunch>& launches, const StreamCosts& costs,
                  const std::optional<StreamLoad>& load)
      : launches_(launches), costs_(costs), load_(load), spans_(launches.size(), {kNotYet, kNotYet}) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].stream >= streams_.size()) streams_.resize(launches[i].stream + 1);
      streams_[launches[i].stream].launches.push_back(i);
    }
  }

  std::vector<Span> run() {
    for (std::size_t left = launches_.size(); left > 0;) {
      std::erase_if(leaving_, [this](const Leaving& one) { return one.until <= now_; });
      place_blocks();
      while (start_one()) {
      }
      set_speeds();
      left -= advance();
    }
    return spans_;
  }

 private:
  struct Stream {
    std::vector<std::size_t> launches;
    std::size_t next = 0;
  };
  // A launch that has started, and the share of processors that its waiting blocks will fill.
  struct Started {
    std::size_t launch;
    double unplaced = 0.0;
    int parts = 0;  // number of running parts
  };
  // Blocks that started together.
  struct Part {
    std::size_t launch;
    double processors = 0.0;
    Nanoseconds left;    // time left at speed 1
    double speed = 1.0;  // 1 if alone
    Nanoseconds ends_in() const { return left / speed; }
  };
  // Processors become free a gap after the work there, for its own stream and for others: full-size products
  // gained nothing by streams (H200, docs/notebook/2026-11-24-more-studies-on-h200.md).
  struct Leaving {
    double processors;
    Nanoseconds until;
  };

  double free_processors() const {
    double free = 1.0;
    for (const Leaving& one : leaving_) free -= one.processors;
    for (const Part& part : parts_) free -= part.processors;
    return free;
  }

  bool is_on_processors(std::size_t launch) const { return launches_[launch].engine == Engine::processors; }
  // It has more blocks than run at once: the next ones take each place that becomes free.
  bool has_waves(std::size_t launch) const { return launches_[launch].processors >= 1.0; }

  bool has_room(std::size_t launch) const {
    if (is_on_processors(launch)) return free_processors() > kNoRoom;
    return std::ranges::none_of(
        parts_, [&](const Part& part) { return launches_[part.launch].engine == launches_[launch].engine; });
  }

  // Returns when the stream's next launch may start, if there is room.
  Nanoseconds ready_at(const Stream& stream) const {
    if (stream.next == stream.launches.size()) return kNotYet;
    const std::size_t index = stream.launches[stream.next];
    const StreamLaunch& launch = launches_[index];
    Nanoseconds ready = launch.earliest;
    if (stream.next > 0) ready = std::max(ready, spans_[stream.launches[stream.next - 1]].end + costs_.gap);
    for (const StreamLaunch::Dependency& one : launch.dependencies) {
      ready = std::max(ready, spans_.at(one.launch).end + one.delay);
    }
    if (!load_ || !is_on_processors(index) || ready >= load_->time) return ready;
    return load_->is_passed ? load_->wave * (std::floor(ready / load_->wave) + 1.0) : load_->time;
  }

  // Earliest start after a kernel of another stream.
  Nanoseconds dispatched_at(const Stream& stream) const {
    const bool waits =
        last_start_ && is_on_processors(stream.launches[stream.next]) && last_stream_ != &stream;
    return waits ? *last_start_ + costs_.dispatch : Nanoseconds(0);
  }

  // Starts the launch that has been ready longest and has room; false if there is none.
  bool start_one() {
    Stream* first = nullptr;
    Nanoseconds longest = kNotYet;
    for (Stream& stream : streams_) {
      const Nanoseconds ready = ready_at(stream);
      if (ready > now_ || ready >= longest || dispatched_at(stream) > now_) continue;
      if (!has_room(stream.launches[stream.next])) continue;
      first = &stream;
      longest = ready;
    }
    if (first == nullptr) return false;
    const std::size_t index = first->launches[first->next++];
    spans_[index].start = now_;
    if (is_on_processors(index)) {
      started_.push_back({index, launches_[index].processors});
      last_start_ = now_;
      last_stream_ = first;
      place_blocks();
    } else {
      started_.push_back({.launch = index, .parts = 1});
      parts_.push_back({.launch = index, .left = launches_[index].time});
    }
    return true;
  }

  // Blocks of launches that started earlier come first.
  void place_blocks() {
    for (Started& one : started_) {
      const double room = std::min(one.unplaced, free_processors());
      if (room <= kNoRoom) continue;
      one.unplaced -= room;
      if (one.unplaced <= kNoRoom) one.unplaced = 0.0;
      const auto part = std::ranges::find(parts_, one.launch, &Part::launch);
      if (has_waves(one.launch) && part != parts_.end()) {
        part->processors += room;
        continue;
      }
      parts_.push_back({one.launch, room, launches_[one.launch].time});
      ++one.parts;
    }
  }

  void set_speeds() {
    double wanted = 0.0;
    for (Part& part : parts_) {
      const StreamLaunch& launch = launches_[part.launch];
      part.speed = has_waves(part.launch) && is_on_processors(part.launch) ? part.processors : 1.0;
      if (is_on_processors(part.launch)) wanted += launch.bandwidth * part.processors / launch.processors;
    }
    if (wanted <= 1.0) return;
    for (Part& part : parts_) {
      if (launches_[part.launch].bandwidth > 0.0) part.speed /= wanted;
    }
  }

  // Advances to the next change; returns how many launches end there.
  std::size_t advance() {
    Nanoseconds first_end = kNotYet, change = kNotYet;
    for (const Part& part : parts_) first_end = std::min(first_end, part.ends_in());
    for (const Leaving& one : leaving_) change = std::min(change, one.until);
    for (const Stream& stream : streams_) {
      const Nanoseconds ready = ready_at(stream);
      const Nanoseconds start = ready < kNotYet ? std::max(ready, dispatched_at(stream)) : kNotYet;
      if (start > now_) change = std::min(change, start);
    }
    if (first_end == kNotYet && change == kNotYet) {
      throw std::logic_error("launches on streams that wait for each other");
    }
    const bool is_end = now_ + first_end <= change;
    const Nanoseconds time = is_end ? first_end : change - now_;
    now_ = is_end ? now_ + first_end : change;
    std::vector<Part> still;
    for (Part& part : parts_) {
      // Parts that end together do so at once, whatever rounding leaves of them.
      if (!is_end || part.ends_in() > first_end * (1.0 + 1e-12)) {
        part.left = std::max(Nanoseconds(0), part.left - time * part.speed);
        still.push_back(part);
        continue;
      }
      --std::ranges::find(started_, part.launch, &Started::launch)->parts;
      if (is_on_processors(part.launch)) leaving_.push_back({part.processors, now_ + costs_.gap});
    }
    parts_ = std::move(still);
    return end_launches();
  }

  std::size_t end_launches() {
    return std::erase_if(started_, [this](const Started& one) {
      // A launch in waves has only one part, however few processors it ran on.
      const bool is_done = one.parts == 0 && (one.unplaced == 0.0 || has_waves(one.launch));
      if (is_done) spans_[one.launch].end = now_;
      return is_done;
    });
  }

  const std::vector<StreamLaunch>& launches_;
  const StreamCosts& costs_;
  const std::optional<StreamLoad>& load_;
  std::vector<Span> spans_;
  std::vector<Stream> streams_;
  std::vector<Started> started_;  // in the order of their starts
  std::vector<Part> parts_;
  std::vector<Leaving> leaving_;
  Nanoseconds now_;
  std::optional<Nanoseconds> last_start_;  // kernels only
  const Stream* last_stream_ = nullptr;
};

}  // namespace

std::vector<Span> schedule_streams(const std::vector<StreamLaunch>& launches, const StreamCosts& costs,
                                   const std::optional<StreamLoad>& load) {
  return StreamScheduler(launches, costs, load).run();
}

}  // namespace jitterscope::virtual_gpu
