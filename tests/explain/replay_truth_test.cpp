// Programs on a simulated GPU whose parts are known, recorded as a tracer records them, and replayed.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/virtual/virtual_device.hpp"
#include "experiment/processes.hpp"
#include "explain/account.hpp"
#include "measure/launch_details.hpp"
#include "measure/sequence.hpp"
#include "measure/trials.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::IsEmpty;

constexpr std::int64_t kProcesses = 3;

MeasureOptions replayed(std::uint64_t seed) {
  MeasureOptions options;
  options.caches = {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced};
  options.loads = {Load::burst};
  options.time_limit = seconds(1.5);
  options.sustained_time_limit = seconds(2);
  options.kernels = true;
  options.seed = seed;
  return options;
}

// Operations in the order in which a program calls them; equal ones are one layer.
Model program_of(const std::vector<std::string>& calls) {
  Model model;
  model.name = "program";
  for (const std::string& text : calls) {
    const Operation operation = Operation::parse(text);
    auto layer = std::ranges::find(model.layers, operation, &Layer::operation);
    if (layer == model.layers.end())
      layer = model.layers.insert(model.layers.end(), Layer{.names = {}, .operation = operation});
    layer->names.push_back("call " + std::to_string(model.calls.size()));
    model.calls.push_back({static_cast<std::size_t>(layer - model.layers.begin()), layer->names.back(), {}});
  }
  return model;
}

// The same call again and again, on the same memory.
Model repeated(const std::string& call, std::size_t times) {
  Model model = program_of(std::vector<std::string>(times, call));
  const std::size_t operands = model.layers.front().operation.operands().size();
  for (std::size_t i = 1; i < times; ++i) {
    for (std::size_t operand = 0; operand < operands; ++operand)
      model.calls[i].inputs.push_back({operand, 0, operand});
  }
  return model;
}

SequenceMeasurement in_sequence(const Model& model, const physics::Parameters& gpu, std::uint64_t seed) {
  const auto device = virtual_gpu::make_virtual_device(gpu, seed);
  Session session(*device);
  return measure_sequence(session, model, replayed(seed), {});
}

// Returns the program with what a tracer saw of it, in a process and on a GPU of its own.
Model recorded(Model model, const physics::Parameters& gpu, std::uint64_t seed) {
  const SequenceMeasurement seen = in_sequence(model, gpu, seed);
  for (const SequenceCall& call : seen.calls) {
    Layer& layer = model.layers[call.layer];
    layer.recorded_kernels.clear();
    for (const LaunchKernel& kernel : call.kernels) layer.recorded_kernels.push_back(kernel.name);
    layer.recorded_times.push_back(call.time.median);
  }
  model.recorded_device = virtual_gpu::make_virtual_device(gpu, seed)->describe().name;
  return model;
}

RunRecord replay_of(const Model& program, const physics::Parameters& gpu, std::uint64_t seed,
                    bool with_sequence) {
  std::vector<RunRecord> processes;
  for (std::int64_t process = 0; process < kProcesses; ++process) {
    const std::uint64_t own = seed * 100 + static_cast<std::uint64_t>(process);
    const auto device = virtual_gpu::make_virtual_device(gpu, own);
    Session session(*device);
    std::vector<Operation> operations;
    for (const Layer& layer : program.layers) operations.push_back(layer.operation);
    RunRecord& record = processes.emplace_back();
    record.device = device->describe();
    for (Outcome& outcome : measure_trials(session, trials_of(operations, replayed(own)), false)) {
      RunEntry& entry = record.entries.emplace_back();
      entry.result = std::move(outcome.result);
      add_kernels(session, program.layers[record.entries.size() - 1].operation, replayed(own), entry.result);
    }
  }
  RunRecord record = combine_processes(std::move(processes));
  if (with_sequence) record.sequence = in_sequence(program, gpu, seed * 100 + 99);
  return record;
}

// Accounts of many replays, and what they say together.
struct Replays {
  std::size_t accounts = 0, explained = 0;
  std::vector<std::string> named;  // one for each part that is named, of all accounts

  std::int64_t times_named(const std::string& part) const { return std::ranges::count(named, part); }
};

Replays replays(const Model& model, const physics::Parameters& program_gpu, const physics::Parameters& gpu,
                bool with_sequence, std::uint64_t count) {
  Replays all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Model program = recorded(model, program_gpu, seed * 100 + 50);
    for (const Account& account : account_for(replay_of(program, gpu, seed, with_sequence), program)) {
      ++all.accounts;
      if (account.is_explained()) ++all.explained;
      for (const AccountedPart& part : account.parts) {
        if (is_named(part)) all.named.push_back(part.name);
      }
    }
  }
  return all;
}

const std::string kProduct = "matmul:m=2048,n=2048,k=1024,dtype=f16", kRelu = "relu:count=2Mi,dtype=f16",
                  kEvicts = "add:count=256Mi,dtype=f16";

physics::Parameters h200() { return physics::find_preset("h200"); }

constexpr std::uint64_t kReplays = 24;

// At most what 24 replays of two calls show if 95 % of intervals hold and 5 % of named parts are not there:
// each bound is exceeded once in a thousand.
void expect_true(const Replays& all) {
  EXPECT_GE(all.explained, all.accounts - all.accounts / 6) << all.accounts;
}
std::int64_t few(const Replays& all) { return static_cast<std::int64_t>(all.accounts / 6); }

TEST(ReplayTruth, AProgramThatRepeatsItsCallsHasNoParts) {
  const Model model = repeated(kRelu, 4);
  for (const bool with_sequence : {false, true}) {
    const Replays all = replays(model, h200(), h200(), with_sequence, kReplays);
    expect_true(all);
    EXPECT_LE(std::ssize(all.named), few(all)) << testing::PrintToString(all.named);
  }
}

TEST(ReplayTruth, WhatEvictedTheCacheIsNamedInSequenceAndOnlyThere) {
  const Model model = program_of({kEvicts, kRelu, kEvicts, kRelu});
  const Replays alone = replays(model, h200(), h200(), false, kReplays);
  expect_true(alone);
  EXPECT_THAT(alone.named, IsEmpty());
  const Replays placed = replays(model, h200(), h200(), true, kReplays);
  expect_true(placed);
  EXPECT_GE(placed.times_named("cache"), static_cast<std::int64_t>(kReplays) - 2);
  EXPECT_THAT(placed.named, Each(AnyOf("cache", "kernel before", "clock")))
      << testing::PrintToString(placed.named);
}

TEST(ReplayTruth, OtherKernelsEndTheAccount) {
  Model program = recorded(program_of({kProduct, kRelu}), h200(), 50);
  program.layers.front().recorded_kernels = {"another_engine"};
  const std::vector<Account> accounts = account_for(replay_of(program, h200(), 1, true), program);
  ASSERT_EQ(accounts.size(), 2u);
  EXPECT_EQ(accounts.front().stopped_at, "kernels");
  EXPECT_EQ(accounts.front().parts.size(), 1u);
  EXPECT_FALSE(accounts.front().is_explained());
  EXPECT_THAT(accounts.back().stopped_at, IsEmpty());
}

TEST(ReplayTruth, AClockThatNobodyRecordedStaysInTheRest) {
  physics::Parameters slower = h200();
  slower.governor.maximum_clock = slower.governor.maximum_clock * 0.75;
  const Replays all = replays(program_of({kProduct, kProduct}), slower, h200(), true, kReplays);
  EXPECT_LE(std::ssize(all.named), few(all)) << testing::PrintToString(all.named);
  EXPECT_EQ(all.explained, 0u);
}

}  // namespace
}  // namespace jitterscope::explain
