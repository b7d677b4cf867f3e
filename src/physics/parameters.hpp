// The parameters of a virtual GPU: a struct for each mechanism, and a preset's table for each struct. Ranges
// in brackets are those of real GPUs; docs/notebook/2026-11-21-h200-preset.md gives their sources.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"
#include "physics/cluster.hpp"

namespace jitterscope::physics {

/// Causes of variation that can be switched off one by one. Each draws from a random stream of its own, so
/// that runs with and without one differ by its effect alone.
enum class Mechanism {
  idle_ramp,       ///< the clock falls when idle, and rises again with a delay
  clock_states,    ///< the governor wanders between neighbouring clocks by itself
  peak_power,      ///< the fast limit, within microseconds
  power_cap,       ///< the slow power limit, on a moving average
  thermal,         ///< heat raises leakage; too much heat lowers the clock
  cache,           ///< if off, every access hits
  dirty_lines,     ///< write-back of lines that earlier launches left modified
  host_gaps,       ///< the host's varying cost of a launch, and its tails
  one_time_work,   ///< module loads, first calls
  placement,       ///< where an allocation happens to lie
  contention,      ///< another process on the GPU
  noise,           ///< autocorrelated, multiplicative
  spikes,          ///< rare long launches
  drift,           ///< slow change of all times
  process_effect,  ///< one draw per opening of the device
  device_effect,   ///< one draw per device (by its identity, not the seed)
  instrument,      ///< time that marks, stamps and graph nodes add, and their jitter
  timer_grain,     ///< timers count in steps
};
constexpr std::size_t kMechanisms = static_cast<std::size_t>(Mechanism::timer_grain) + 1;
std::string_view to_string(Mechanism mechanism);

struct Identity {
  std::string name;  ///< as `list` shows it
  int processors = 132;
  Bytes memory;
  std::vector<DataType> data_types;
  int architecture = 90;            ///< 90 for compute capability 9.0; a user's kernels are compiled for it
  std::uint64_t device_number = 1;  ///< seed of the device effect
};

struct Governor {
  Hertz maximum_clock, idle_clock;  ///< [1410–1980 MHz], [210–345 MHz]
  Hertz step;                       ///< clocks are multiples of it [15 MHz]
  Nanoseconds control_period;       ///< the clock changes only at its multiples [1–20 ms]
  Nanoseconds idle_timeout;         ///< the clock falls after this long an idle [10 ms–2 s]
  Nanoseconds ramp_delay;           ///< from the first work to the first rise [0–20 ms]
  Nanoseconds ramp_time;            ///< time constant of the rise [2–50 ms]
};

/// Two clock levels, the lower one `depth` below the other. Each lasts for an exponential busy time.
struct ClockStates {
  double depth = 0.0;  ///< 0.023 is 2.3 %
  Nanoseconds mean_dwell_high, mean_dwell_low;
  Nanoseconds redraw_idle = {};  ///< after this long an idle the level is drawn anew; zero: never
};

/// P = idle · (1 + leakage·(T − 25 °C)) + dynamic·activity·(V/Vmax)²·(f/fmax) + energy_per_byte · bytes/s
struct Power {
  Watts idle;                                     ///< [40–90 W]
  double leakage = 0.0;                           ///< share per °C [0.002–0.006]
  Watts dynamic;                                  ///< at activity 1 and maximum clock
  double voltage_low = 0.7, voltage_high = 1.05;  ///< linear in the clock from clock_low to the maximum
  Hertz clock_low;                                ///< up to it the voltage is voltage_low
  Joules energy_per_byte;                         ///< DRAM
  Watts peak_limit;            ///< the clock is lowered at once so that a launch stays below it; zero: none
  Watts cap;                   ///< limit of the moving average [250–1000 W]; zero: none
  Nanoseconds averaging_time;  ///< time constant [5–100 ms]
  Nanoseconds cap_onset;       ///< how long the average may exceed the cap before it acts [5–500 ms]
  int hysteresis_steps = 1;    ///< governor steps of margin before the clock rises again [0–2]
};

/// Two stages in parallel: T = ambient + P · Σ resistance_i, each with its own time constant.
struct Thermal {
  Celsius ambient;                                  ///< [20–45 °C]
  double resistance_fast = 0, resistance_slow = 0;  ///< °C/W, together [0.04–0.15]
  Nanoseconds time_fast, time_slow;                 ///< [1–5 s], [20–90 s]
  Celsius slowdown_temperature;  ///< above it the clock falls one step per control period [83–90 °C]
};

/// time = latency + max(accessed / l2 + read misses / miss + write-backs / write_back, DRAM traffic / dram)
struct Memory {
  double dram_bandwidth = 0, l2_bandwidth = 0;  ///< bytes/s; no traffic is faster than dram_bandwidth
  double miss_bandwidth = 0;             ///< bytes/s: wait for reads that miss, beyond the cache's time
  double write_back_bandwidth = 0;       ///< bytes/s: the same for lines written back; zero: no wait
  Nanoseconds l2_latency, dram_latency;  ///< once per kernel; dram_latency only if a read misses
  double host_bandwidth_pinned = 0, host_bandwidth_pageable = 0;  ///< bytes/s of copies from and to the host
  Bytes l2_capacity;
  double far_share = 0.5, far_penalty = 0.0;  ///< share of accesses to the far partition; extra time
  double refresh_tax = 0.0;                   ///< share of the bandwidth lost above refresh_temperature
  Celsius refresh_temperature;
};

/// FLOPs of all processors together in one cycle, and parameters that all products share.
struct Compute {
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0;
  /// Relative to the rate that a plain product of the type reaches.
  double conv2d_efficiency = 0.9, attention_efficiency = 0.3;
  Nanoseconds attention_beside;     ///< time of each launch outside the product
  Nanoseconds conversion;           ///< time to convert an operand of a convolution to the other layout
  double conversion_bandwidth = 0;  ///< bytes/s of the conversion, read and written; zero: no limit
  double product_overlap = 2.3;     ///< `overlap` of products, which load ahead
  double tiles_at_once = 3;         ///< tiles of 64 x 128 elements on a processor
  double store = 0;                 ///< bytes/s at which a processor writes a result; zero: at once
  /// bytes/s at which a processor loads unaligned rows, per byte of the largest alignment that all rows have.
  double unaligned_feed = 0;
  double row_feed = 70e9;      ///< bytes/s of a processor that multiplies one row of f32 with a matrix
  Nanoseconds own_sum_step;    ///< between two elements of a sum that one thread adds up alone; zero: unused
  double overlap = 4.0;        ///< p of (compute^p + memory^p)^(1/p)
  Nanoseconds kernel_floor;    ///< an empty kernel with few blocks
  Nanoseconds block_cost;      ///< each block beyond one per processor
  double conv2d_activity = 1;  ///< dynamic power at full rate, relative to a plain product of the type
  double memory_activity = 0.3;
};

/// Parameters of matrix products in one data type.
struct Product {
  double efficiency = 0.9;      ///< share of the FLOPs that large tiles reach
  double activity = 1;          ///< dynamic power at that rate
  Nanoseconds start;            ///< once, beyond an empty kernel's
  Nanoseconds tile;             ///< per tile, or several that run at once: before and after its sums
  Nanoseconds step;             ///< per element of a sum, however small the tile is
  double feed = 0;              ///< bytes/s at which a processor loads the factors; zero: no limit
  Nanoseconds split, piece;     ///< to add up the pieces of a sum: once, and per piece
  double pieces_bandwidth = 0;  ///< bytes/s of adding up; zero: no limit
  Nanoseconds bias;
  Nanoseconds stall;  ///< per element of a sum that misses the cache
};

/// Dynamic power, relative to that of normally distributed data.
struct DataPower {
  double uniform = 0.97, zeros = 0.6, ones = 0.65, sparse = 0.85;
};

struct LaunchCosts {
  Nanoseconds host_median;  ///< one launch call, log-normal [2–8 µs]
  double host_sigma = 0.3;
  double tail_probability = 0;   ///< a host call is delayed [1e-3]
  Nanoseconds tail_scale;        ///< Pareto, shape 1.5 [50–5000 µs]
  Nanoseconds latency;           ///< from the call to the start on an idle queue [3–8 µs]
  Nanoseconds gap, graph_gap;    ///< between neighbours [0.5–2 µs], [0.3–1.5 µs]
  Nanoseconds synchronize_cost;  ///< one wait, beyond the work
  Nanoseconds allocation_cost;
};

struct OneTimeWork {
  Nanoseconds module_load;         ///< at the first launch of each kind of operation [1–500 ms]
  Nanoseconds graph_first_replay;  ///< at the first replay after idle
};

struct Placement {
  double sd = 0;  ///< standard deviation, drawn at each prepare [0–0.03]
};

/// Another process: a two-state Markov process in real time.
struct Contention {
  Nanoseconds mean_on, mean_off;  ///< [0.1–10 s]; zero mean_on: never
  double bandwidth_loss = 0;      ///< share of the bandwidth lost while on [0.05–0.5]
  Nanoseconds time_slice;  ///< while on, the other process has the GPU in every second slice; zero: shared
  bool visible = true;     ///< the other process can be listed
};

struct Noise {
  double sd = 0, correlation = 0;                ///< AR(1) from launch to launch [0.0005–0.01], [0–0.9]
  double spike_probability = 0, spike_mean = 0;  ///< mean relative time that a spike adds, exponential
  double drift = 0;                              ///< total relative change, approached over drift_time
  Nanoseconds drift_time;
  double period_amplitude = 0;  ///< a periodic disturbance
  Nanoseconds period;
  double process_sd = 0, device_sd = 0;
};

struct Instruments {
  Nanoseconds mark_overhead, mark_jitter;  ///< time that two neighbouring marks add between them; normal sd
  Nanoseconds mark_grain;                  ///< [32 ns–1 µs]
  Nanoseconds node_overhead;               ///< added by a graph node
  Nanoseconds stamp_time, stamp_grain;     ///< time of the kernel that reads both clocks; grain of its ns
  Nanoseconds trace_bias;                  ///< added to a kernel's time by the tracer
  double trace_slowdown = 1.0;             ///< factor on times between kernels while tracing
};

/// Sensors that the driver lets one read, and how late.
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
  Product product_f64, product_f32, product_tf32, product_f16;  ///< product_f16 is for bf16 as well
  DataPower data;
  LaunchCosts launch;
  OneTimeWork one_time;
  Placement placement;
  Contention contention;
  Noise noise;
  Instruments instruments;
  Sensors sensors;
  std::optional<Cluster> cluster =
      {};  ///< all of its GPUs have these parameters but for what is a rank's own
  std::array<bool, kMechanisms> off = {};  ///< by Mechanism

  bool has(Mechanism mechanism) const { return !off[static_cast<std::size_t>(mechanism)]; }
  /// The same GPU without it.
  Parameters without(Mechanism mechanism) const;
};

}  // namespace jitterscope::physics
