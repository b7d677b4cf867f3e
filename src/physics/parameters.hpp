// Everything that a virtual GPU is made of: one struct for each mechanism, one table of a preset file each.
// Ranges in brackets are those of real GPUs; docs/notebook/2026-11-21-h200-preset.md says where they come
// from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::physics {

/// Causes of variation that can be switched off one by one with all else equal: each draws from a random
/// stream of its own, so the runs with and without one differ by its effect alone.
enum class Mechanism {
  idle_ramp,       ///< clock falls when idle and rises again with a delay
  clock_states,    ///< the governor's own wandering between neighbouring clocks
  peak_power,      ///< the fast limit: acts within microseconds
  power_cap,       ///< the slow limit, on a moving average
  thermal,         ///< heat raises leakage; too much of it lowers the clock
  cache,           ///< off: every access hits
  dirty_lines,     ///< writing back what others left modified
  host_gaps,       ///< the host's varying cost of a launch, and its tails
  one_time_work,   ///< module loads, first calls
  placement,       ///< where an allocation happens to lie
  contention,      ///< another process on the GPU
  noise,           ///< autocorrelated, multiplicative
  spikes,          ///< rare long launches
  drift,           ///< slow change of all times
  process_effect,  ///< one draw for each opening of the device
  device_effect,   ///< one draw for each device (its identity, not the seed)
  instrument,      ///< what marks, stamps and graph nodes add, and their jitter
  timer_grain,     ///< timers count in steps
};
constexpr std::size_t kMechanisms = static_cast<std::size_t>(Mechanism::timer_grain) + 1;
std::string_view to_string(Mechanism mechanism);

struct Identity {
  std::string name;  ///< as `list` shows it
  int processors = 132;
  Bytes memory;
  std::vector<DataType> data_types;
  int architecture = 90;  ///< 90 for compute capability 9.0: what kernels of one's own are compiled for
  std::uint64_t device_number = 1;  ///< the seed of the device effect
};

struct Governor {
  Hertz maximum_clock, idle_clock;  ///< [1410–1980 MHz], [210–345 MHz]
  Hertz step;                       ///< clocks are multiples of it [15 MHz]
  Nanoseconds control_period;       ///< the clock changes only at its multiples [1–20 ms]
  Nanoseconds idle_timeout;         ///< idle for this long: the clock falls [10 ms–2 s]
  Nanoseconds ramp_delay;           ///< from the first work to the first rise [0–20 ms]
  Nanoseconds ramp_time;            ///< time constant of the rise [2–50 ms]
};

/// Two levels, the lower one `depth` below; how long each lasts is exponential in busy time.
struct ClockStates {
  double depth = 0.0;  ///< 0.023 is 2.3 %
  Nanoseconds mean_dwell_high, mean_dwell_low;
  Nanoseconds redraw_idle = {};  ///< an idle of this length lets the governor choose anew; zero: never
};

/// P = idle · (1 + leakage·(T − 25 °C)) + dynamic·activity·(V/Vmax)²·(f/fmax) + energy_per_byte · bytes/s
struct Power {
  Watts idle;                                     ///< [40–90 W]
  double leakage = 0.0;                           ///< share per °C [0.002–0.006]
  Watts dynamic;                                  ///< at activity 1 and maximum clock
  double voltage_low = 0.7, voltage_high = 1.05;  ///< linear in the clock from clock_low to the maximum
  Hertz clock_low;                                ///< up to it the voltage stays at voltage_low
  Joules energy_per_byte;                         ///< DRAM
  Watts peak_limit;            ///< the clock is at once so low that a launch stays below it; zero: none
  Watts cap;                   ///< on the moving average [250–1000 W]; zero: none
  Nanoseconds averaging_time;  ///< time constant [5–100 ms]
  Nanoseconds cap_onset;       ///< how long the average may exceed the cap before it acts [5–500 ms]
  int hysteresis_steps = 1;    ///< of the governor's, before the clock rises again [0–2]
};

/// Two stages in parallel: T = ambient + P · Σ resistance_i, each with its own time constant.
struct Thermal {
  Celsius ambient;                                  ///< [20–45 °C]
  double resistance_fast = 0, resistance_slow = 0;  ///< °C/W, together [0.04–0.15]
  Nanoseconds time_fast, time_slow;                 ///< [1–5 s], [20–90 s]
  Celsius slowdown_temperature;  ///< above it the clock falls a step per control period [83–90 °C]
};

/// time = latency + max(accessed / l2 + read misses / miss + write-backs / write_back, DRAM traffic / dram)
struct Memory {
  double dram_bandwidth = 0, l2_bandwidth = 0;  ///< bytes/s; no traffic is faster than dram_bandwidth
  double miss_bandwidth = 0;             ///< bytes/s: what a read that misses waits beyond the cache's time
  double write_back_bandwidth = 0;       ///< bytes/s: the same of lines written back; zero: no wait
  Nanoseconds l2_latency, dram_latency;  ///< once per kernel; the second where a read misses
  double host_bandwidth_pinned = 0, host_bandwidth_pageable = 0;  ///< bytes/s of copies from and to the host
  Bytes l2_capacity;
  double far_share = 0.5, far_penalty = 0.0;  ///< accesses to the far partition, and what they cost more
  double refresh_tax = 0.0;                   ///< share of bandwidth lost above refresh_temperature
  Celsius refresh_temperature;
};

/// FLOPs that all processors together do in one cycle, and what all products share.
struct Compute {
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0;
  /// Of the rate that a plain product of the type reaches.
  double conv2d_efficiency = 0.9, attention_efficiency = 0.3;
  Nanoseconds attention_beside;     ///< of each launch: what is not the product
  Nanoseconds conversion;           ///< of each operand of a convolution into the other layout
  double conversion_bandwidth = 0;  ///< bytes/s of that, read and written; zero: no limit
  double product_overlap = 2.3;     ///< as `overlap`, of products, which load ahead
  double tiles_at_once = 3;         ///< of 64 x 128 elements on a processor
  double store = 0;                 ///< bytes/s at which a processor writes a result; zero: at once
  /// bytes/s at which it loads rows that begin at any byte, for each byte that all begin at a multiple of.
  double unaligned_feed = 0;
  double row_feed = 70e9;  ///< bytes/s of a processor that multiplies one row of f32 with a matrix
  Nanoseconds
      own_sum_step;      ///< between two elements of a sum that a thread adds up by itself; zero: none does
  double overlap = 4.0;  ///< p of (compute^p + memory^p)^(1/p)
  Nanoseconds kernel_floor;    ///< an empty kernel on few blocks
  Nanoseconds block_cost;      ///< what each block beyond one per processor adds
  double conv2d_activity = 1;  ///< dynamic power at full rate, by that of a plain product of the type
  double memory_activity = 0.3;
};

/// Products of matrices in one data type.
struct Product {
  double efficiency = 0.9;      ///< share of the FLOPs that large tiles reach
  double activity = 1;          ///< dynamic power at that rate
  Nanoseconds start;            ///< beyond an empty kernel's, once
  Nanoseconds tile;             ///< of each tile, or of several that run at once: before and behind its sums
  Nanoseconds step;             ///< of each element of a sum, however small the tile is
  double feed = 0;              ///< bytes/s that a processor loads of the factors; zero: no limit
  Nanoseconds split, piece;     ///< to add up pieces of a sum: once, and for each
  double pieces_bandwidth = 0;  ///< bytes/s of that; zero: no limit
  Nanoseconds bias;             ///< to add one
  Nanoseconds stall;            ///< of each element of a sum that misses the cache
};

/// Dynamic power of other data, relative to normally distributed.
struct DataPower {
  double uniform = 0.97, zeros = 0.6, ones = 0.65, sparse = 0.85;
};

struct LaunchCosts {
  Nanoseconds host_median;  ///< of one launch call [2–8 µs], log-normal
  double host_sigma = 0.3;
  double tail_probability = 0;   ///< of a host call that is delayed [1e-3]
  Nanoseconds tail_scale;        ///< Pareto, shape 1.5 [50–5000 µs]
  Nanoseconds latency;           ///< from the call to the start on an idle queue [3–8 µs]
  Nanoseconds gap, graph_gap;    ///< between neighbours [0.5–2 µs], [0.3–1.5 µs]
  Nanoseconds synchronize_cost;  ///< of a wait, beyond the work
  Nanoseconds allocation_cost;
};

struct OneTimeWork {
  Nanoseconds module_load;         ///< at the first launch of each kind of operation [1–500 ms]
  Nanoseconds graph_first_replay;  ///< at the first replay after idle
};

struct Placement {
  double sd = 0;  ///< of a factor drawn at each prepare [0–0.03]
};

/// A two-state Markov process in real time.
struct Contention {
  Nanoseconds mean_on, mean_off;  ///< [0.1–10 s]; zero mean_on: never
  double bandwidth_loss = 0;      ///< share of the bandwidth that is gone while on [0.05–0.5]
  Nanoseconds time_slice;  ///< while on, the GPU belongs to the other for each second slice; zero: shared
  bool visible = true;     ///< the other process can be listed
};

struct Noise {
  double sd = 0, correlation = 0;                ///< AR(1) from launch to launch [0.0005–0.01], [0–0.9]
  double spike_probability = 0, spike_mean = 0;  ///< share of the time that a spike adds, exponential
  double drift = 0;                              ///< total relative change, approached over drift_time
  Nanoseconds drift_time;
  double period_amplitude = 0;  ///< a periodic disturbance
  Nanoseconds period;
  double process_sd = 0, device_sd = 0;
};

struct Instruments {
  Nanoseconds mark_overhead, mark_jitter;  ///< what two neighbouring marks add to what is between; normal sd
  Nanoseconds mark_grain;                  ///< [32 ns–1 µs]
  Nanoseconds node_overhead;               ///< what a graph node adds
  Nanoseconds stamp_time, stamp_grain;     ///< of the kernel that reads both clocks; of its nanoseconds
  Nanoseconds trace_bias;                  ///< what the tracer adds to a kernel's time
  double trace_slowdown = 1.0;             ///< of everything between kernels while it is on
};

/// What the driver lets one read, and how late.
struct Sensors {
  Nanoseconds power_average, power_update;  ///< [1 s mean], [25–100 ms]
  Nanoseconds clock_update;
  Hertz clock_error;  ///< uniform, either way
  bool power = true, temperature = true, energy = true, throttle_counters = true, clock = true;
  bool may_lock_clocks = false;
};

struct Parameters {
  Identity identity;
  Governor governor;
  ClockStates clock_states;
  Power power;
  Thermal thermal;
  Memory memory;
  Compute compute;
  Product product_f64, product_f32, product_tf32, product_f16;  ///< the last of bf16 as well
  DataPower data;
  LaunchCosts launch;
  OneTimeWork one_time;
  Placement placement;
  Contention contention;
  Noise noise;
  Instruments instruments;
  Sensors sensors;
  std::array<bool, kMechanisms> off = {};  ///< by Mechanism

  bool has(Mechanism mechanism) const { return !off[static_cast<std::size_t>(mechanism)]; }
  /// The same GPU without it.
  Parameters without(Mechanism mechanism) const;
};

}  // namespace jitterscope::physics
