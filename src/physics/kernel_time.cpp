#include "physics/kernel_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace jitterscope::physics {
namespace {

double power_mean(double a, double b, double p) {
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (smaller <= 0.0) return larger;
  if (p == 1.0) return larger + smaller;
  return larger * std::pow(1.0 + std::pow(smaller / larger, p), 1.0 / p);
}

/// Zero bandwidth costs nothing: that part is not modelled.
double nanoseconds_of(Bytes bytes, double bandwidth) {
  return bandwidth > 0.0 ? static_cast<double>(bytes.value()) / bandwidth * 1e9 : 0.0;
}

}  // namespace

Nanoseconds shared_time(const Load& load, Hertz clock) {
  const double compute = load.compute.value() / clock.value() * 1e9;
  return Nanoseconds(power_mean(compute, load.memory.value(), load.overlap));
}

Nanoseconds memory_latency(const Memory& memory, const Traffic& traffic) {
  if (traffic.accessed.value() == 0) return Nanoseconds(0);
  return traffic.read_misses.value() > 0 ? memory.l2_latency + memory.dram_latency : memory.l2_latency;
}

Nanoseconds memory_time(const Memory& memory, const Traffic& traffic, bool hot) {
  if (traffic.accessed.value() == 0) return Nanoseconds(0);
  const double far = 1.0 + memory.far_share * memory.far_penalty;
  const double tax = hot ? 1.0 / (1.0 - memory.refresh_tax) : 1.0;
  const double through_cache = nanoseconds_of(traffic.accessed, memory.l2_bandwidth) * far;
  const double waits = tax * (nanoseconds_of(traffic.read_misses, memory.miss_bandwidth) +
                              nanoseconds_of(traffic.write_backs, memory.write_back_bandwidth));
  const double dram = tax * nanoseconds_of(traffic.read_misses + traffic.write_backs, memory.dram_bandwidth);
  return memory_latency(memory, traffic) + Nanoseconds(std::max(through_cache + waits, dram));
}

namespace {

constexpr Buffer kFilling = 0;

}  // namespace

Cache::Cache(const Parameters& parameters)
    : capacity_(parameters.memory.l2_capacity.value()),
      hits_always_(!parameters.has(Mechanism::cache)),
      writes_back_(parameters.has(Mechanism::dirty_lines)),
      lines_(1) {}

Buffer Cache::allocate(Bytes size) {
  Buffer buffer = static_cast<Buffer>(lines_.size());
  if (free_.empty()) {
    lines_.emplace_back();
  } else {
    buffer = free_.back();
    free_.pop_back();
  }
  lines_[buffer] = {.size = size.value()};
  return buffer;
}

void Cache::release(Buffer buffer) {
  remove(buffer);
  lines_[buffer] = {};
  free_.push_back(buffer);
}

/// Removes a buffer's lines; returns the modified bytes.
std::int64_t Cache::remove(Buffer buffer) {
  Lines& lines = lines_[buffer];
  const std::int64_t modified = lines.modified;
  used_ -= lines.resident;
  lines.resident = lines.modified = 0;
  std::erase(in_cache_, buffer);
  return modified;
}

void Cache::fill(bool with_modified_lines) {
  for (const Buffer buffer : in_cache_) lines_[buffer].resident = lines_[buffer].modified = 0;
  in_cache_ = {kFilling};
  lines_[kFilling] = {.resident = capacity_,
                      .modified = with_modified_lines ? capacity_ : 0,
                      .size = capacity_,
                      .last_use = ++uses_};
  used_ = capacity_;
}

Traffic Cache::access(const std::vector<Access>& accesses) {
  if (!writes_back_) {
    for (const Buffer buffer : in_cache_) lines_[buffer].modified = 0;
  }
  Traffic traffic;
  for (const Access& access : accesses) {
    traffic.accessed += access.bytes;
    if (!hits_always_ && access.bytes.value() > 0) sweep(access, traffic);
  }
  return traffic;
}

Cache::Lines& Cache::oldest() {
  return lines_[*std::min_element(in_cache_.begin(), in_cache_.end(), [&](Buffer a, Buffer b) {
    return lines_[a].last_use < lines_[b].last_use;
  })];
}

/// Evicts the least recently used buffers; returns the modified bytes, which must be written.
std::int64_t Cache::evict(std::int64_t bytes) {
  std::int64_t written = 0;
  while (bytes > 0 && !in_cache_.empty()) {
    Lines& lines = oldest();
    const std::int64_t out = std::min(bytes, lines.resident);
    // It is not known which lines are modified: taken as evenly spread.
    const auto modified =
        out == lines.resident
            ? lines.modified
            : static_cast<std::int64_t>(static_cast<double>(lines.modified) *
                                        (static_cast<double>(out) / static_cast<double>(lines.resident)));
    lines.resident -= out;
    lines.modified -= modified;
    written += modified;
    used_ -= out;
    bytes -= out;
    if (lines.resident == 0) std::erase(in_cache_, static_cast<Buffer>(&lines - lines_.data()));
  }
  return written;
}

/// Returns the room before a line of this buffer must leave: free room and buffers used longer ago.
std::int64_t Cache::room_before(const Lines& lines) const {
  std::int64_t room = capacity_ - used_;
  for (const Buffer other : in_cache_) {
    if (lines_[other].last_use < lines.last_use) room += lines_[other].resident;
  }
  return room;
}

void Cache::sweep(const Access& access, Traffic& traffic) {
  Lines& lines = lines_[access.buffer];
  // A kernel may read its operand several times; only the first pass can miss.
  const std::int64_t bytes =
      lines.size > 0 ? std::min(access.bytes.value(), lines.size) : access.bytes.value();
  std::int64_t hits = std::min(bytes, lines.resident), written = 0;
  if (hits < bytes && bytes - hits > room_before(lines)) {
    // The first misses push out the lines that come next, so that no line is there when it is needed.
    hits = 0;
    written += remove(access.buffer);
  }
  if (const std::int64_t misses = bytes - hits; misses > 0) {
    const std::int64_t kept = std::min(misses, capacity_ - lines.resident);
    lines.last_use = ++uses_;
    written += evict(used_ + kept - capacity_);
    if (access.writes) written += misses - kept;
    if (lines.resident == 0) in_cache_.push_back(access.buffer);
    lines.resident += kept;
    used_ += kept;
  }
  lines.last_use = ++uses_;
  if (access.writes) lines.modified = std::min(lines.resident, std::max(lines.modified, bytes));
  if (!access.writes) traffic.read_misses += Bytes(bytes - hits);
  traffic.write_backs += Bytes(written);
}

OtherProcess::OtherProcess(const Parameters& parameters, std::uint64_t seed)
    : on_(parameters.has(Mechanism::contention) && parameters.contention.mean_on > Nanoseconds(0)),
      contention_(parameters.contention),
      random_(stream_of(seed, Mechanism::contention)) {
  if (on_)
    starts_active_ = random_.uniform() < contention_.mean_on / (contention_.mean_on + contention_.mean_off);
}

std::size_t OtherProcess::interval_at(Nanoseconds time) {
  while (ends_.empty() || ends_.back() <= time) {
    const Nanoseconds mean = active_in(ends_.size()) ? contention_.mean_on : contention_.mean_off;
    const Nanoseconds start = ends_.empty() ? Nanoseconds(0) : ends_.back();
    ends_.push_back(start + Nanoseconds(exponential(random_, mean.value())));
  }
  while (last_ > 0 && ends_[last_ - 1] > time) --last_;
  while (ends_[last_] <= time) ++last_;
  return last_;
}

bool OtherProcess::is_active(Nanoseconds time) { return on_ && active_in(interval_at(time)); }

OtherProcess::Share OtherProcess::share_at(Nanoseconds time) {
  if (!on_) return {.until = Nanoseconds(std::numeric_limits<double>::infinity())};
  const std::size_t interval = interval_at(time);
  Share share{.until = ends_[interval]};
  if (!active_in(interval)) return share;
  share.bandwidth = 1.0 - contention_.bandwidth_loss;
  if (contention_.time_slice == Nanoseconds(0)) return share;
  const Nanoseconds start = interval == 0 ? Nanoseconds(0) : ends_[interval - 1];
  const double slices = std::floor((time - start) / contention_.time_slice);
  Nanoseconds slice_end = start + contention_.time_slice * (slices + 1.0);
  // Rounding may put `time` at the very end of a slice: then it is in the next one.
  const bool next = slice_end <= time;
  if (next) slice_end += contention_.time_slice;
  share.ours = std::fmod(slices + (next ? 1.0 : 0.0), 2.0) != 0.0;  // the newcomer gets the first slice
  share.until = std::min(share.until, slice_end);
  return share;
}

namespace {

// A normal deviate has no bound, but a kernel's time has.
constexpr double kSmallestFactor = 0.5;

}  // namespace

LaunchNoise::LaunchNoise(const Parameters& parameters, std::uint64_t seed)
    : noise_(parameters.noise),
      varies_(parameters.has(Mechanism::noise)),
      spikes_(parameters.has(Mechanism::spikes)),
      drifts_(parameters.has(Mechanism::drift) && parameters.noise.drift != 0),
      random_(stream_of(seed, Mechanism::noise)),
      spike_random_(stream_of(seed, Mechanism::spikes)),
      innovation_(noise_.sd * std::sqrt(1.0 - noise_.correlation * noise_.correlation)) {
  correlated_ = noise_.sd * next_normal();  // the first value has the stationary distribution
  if (parameters.has(Mechanism::process_effect)) {
    lasting_ *= 1.0 + noise_.process_sd * stream_of(seed, Mechanism::process_effect).normal();
  }
  if (parameters.has(Mechanism::device_effect)) {
    const std::uint64_t identity = parameters.identity.device_number;
    lasting_ *= 1.0 + noise_.device_sd * stream_of(identity, Mechanism::device_effect).normal();
  }
  lasting_ = std::max(lasting_, kSmallestFactor);
}

double LaunchNoise::draw(Nanoseconds now) {
  const double correlated = next_correlated(), spike = next_spike();
  double factor = lasting_;
  if (varies_) {
    double variation = correlated;
    if (noise_.period_amplitude != 0) {
      variation += noise_.period_amplitude * std::sin(2.0 * std::numbers::pi * (now / noise_.period));
    }
    factor *= std::max(1.0 + variation, kSmallestFactor);
  }
  if (spikes_) factor *= 1.0 + spike;
  if (drifts_) factor *= 1.0 + noise_.drift * -std::expm1(-(now / noise_.drift_time));
  return factor;
}

/// Box-Muller gives two at a time; the second is kept, as this is a launch's most costly part.
double LaunchNoise::next_normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random_.uniform()));
  const double angle = 2.0 * std::numbers::pi * random_.uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double LaunchNoise::next_correlated() {
  const double now = correlated_;
  correlated_ = noise_.correlation * correlated_ + innovation_ * next_normal();
  return now;
}

double LaunchNoise::next_spike() {
  const bool is_spike = spike_random_.uniform() < noise_.spike_probability;
  const double size = spike_random_.uniform();
  return is_spike ? -noise_.spike_mean * std::log(1.0 - size) : 0.0;
}

}  // namespace jitterscope::physics
