// Studies of a step between ranks, on simulated clusters whose truth is known: each rank is a process.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "study/parallel_studies.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using test::without_breaks;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNetwork = "resnet18:batch=4,dtype=bf16,layout=nhwc";
constexpr double kLatency = 20e-6, kBandwidth = 100e9;

class ParallelStudies : public test::WithFolder {
 protected:
  std::string cluster(const std::string& more = {}) const {
    const std::string file = path("cluster.toml");
    std::ofstream(file) << "base = \"" << base_ << "\"\n[cluster]\nranks = 2\nlink_noise = 0.005\n"
                        << more << "[[link]]\nranks = 2\nlatency_us = 20\nbandwidth_gb_per_s = 100\n";
    return " --local 2 --device virtual:" + file;
  }
  json study(const std::string& what, const std::string& more = {}) {
    const Outcome outcome =
        run_tool("study " + what + " --processes 3 --time-limit 0.2 --json " + path() + cluster(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(test::validate_json(text()), 0);
    output_ = outcome.output;
    return json::parse(text());
  }
  std::string base_ = "quiet", output_;
};

const json& arm(const json& record, const std::string& name) {
  for (const json& each : record.at("arms"))
    if (each.at("name") == name) return each;
  throw std::logic_error("no arm " + name);
}
double seconds_of(const json& arm, const char* what) {
  return arm.at("times").at(what).at("median_seconds").get<double>();
}
double exposed(const json& arm) { return arm.at("times").at("exposed").at("value_seconds").get<double>(); }

// Two ranks send each byte once.
double transfer(double bytes) { return kLatency + bytes / kBandwidth; }

TEST_F(ParallelStudies, SayWhatTheClosedFormSays) {
  const json record = study(std::string("data-parallel ") + kNetwork);
  const double weights = record.at("weights_bytes").get<double>();
  const double computing = seconds_of(arm(record, "no exchange"), "time");
  const json& after = arm(record, "after backward");
  EXPECT_NEAR(exposed(after) / transfer(weights), 1.0, 0.02) << "nothing hides it";
  EXPECT_NEAR(seconds_of(after, "exchange") / transfer(weights), 1.0, 0.02);
  const json& halves = arm(record, "reduce-scatter, all-gather");
  EXPECT_NEAR(exposed(halves) / (2 * transfer(weights / 2)), 1.0, 0.02) << "each half has half of the factor";
  EXPECT_NEAR(exposed(arm(record, "after every 4th step")) / (transfer(weights) / 4), 1.0, 0.1);
  const json& buckets = arm(record, "buckets of 5 MiB");
  EXPECT_GT(buckets.at("exchanges"), 3);
  EXPECT_LT(exposed(buckets), 0.8 * exposed(after));
  for (const json& each : record.at("arms"))
    EXPECT_NEAR(each.at("simulated_seconds").get<double>() / seconds_of(each, "time"), 1.0, 0.01)
        << each.at("name");
  EXPECT_NEAR(arm(record, "no exchange").at("simulated_seconds").get<double>() / computing, 1.0, 1e-9);
  EXPECT_THAT(without_breaks(output_),
              AllOf(HasSubstr("Fastest is **buckets of "), HasSubstr("bucket_cap_mb=")));
  EXPECT_EQ(run_tool("show " + path()).output, output_);
}

TEST_F(ParallelStudies, NameTheRankThatTheOthersWaitFor) {
  base_ = "h200";  // whose clock decides how long products of f32 take
  const json record =
      study("data-parallel gpt2:batch=1,dtype=f32,layers=2", "seed = 2\nclock_spread = 0.05\n");
  const json& ranks = record.at("ranks");
  const double first = ranks.at(0).at("computing").at("median_seconds"),
               second = ranks.at(1).at("computing").at("median_seconds");
  ASSERT_GT(std::abs(first - second), 0.01 * first) << "another seed makes unlike GPUs";
  const std::size_t slowest = second > first ? 1 : 0;
  EXPECT_EQ(record.at("slowest"), slowest);
  EXPECT_NEAR(record.at("waiting").at("median_seconds").get<double>(), std::abs(first - second) / 2, 1e-6);
  EXPECT_THAT(without_breaks(output_), HasSubstr("Rank " + std::to_string(slowest) + " computes longest"));
}

TEST_F(ParallelStudies, TellWhatAnExchangeCostsTheKernelsBesideIt) {
  const json record = study(std::string("data-parallel ") + kNetwork, "overlap_tax = 1.3\n");
  const json& buckets = arm(record, "buckets of 5 MiB");
  const double slowed = buckets.at("times").at("computing_slowed");
  // Beside 1.3 of a time, what takes 1 alone.
  const double hidden = seconds_of(buckets, "exchange") - exposed(buckets);
  EXPECT_GT(slowed, 0.5 * (hidden * 0.3 / 1.3) / seconds_of(arm(record, "no exchange"), "time"));
  EXPECT_NEAR(arm(record, "after backward").at("times").at("computing_slowed").get<double>(), 0.0, 0.01);
  EXPECT_NEAR(buckets.at("simulated_seconds").get<double>() / seconds_of(buckets, "time"), 1.0, 0.02);
}

TEST_F(ParallelStudies, ShardedStateNeedsLessMemory) {
  const json record = study("sharding gpt2:batch=1,dtype=bf16,layers=2");
  EXPECT_LT(arm(record, "and weights (ZeRO 3)").at("memory_bytes"),
            arm(record, "replicated").at("memory_bytes"));
  EXPECT_LT(arm(record, "optimizer (ZeRO 1)").at("memory_bytes"),
            arm(record, "replicated").at("memory_bytes"));
  for (const json& each : record.at("arms"))
    EXPECT_NEAR(each.at("simulated_seconds").get<double>() / seconds_of(each, "time"), 1.0, 0.02)
        << each.at("name");
  EXPECT_THAT(without_breaks(output_),
              AllOf(HasSubstr("Least memory needs **and gradients (ZeRO 2)**: 0.66 GB in place of 1 GB, for"),
                    HasSubstr("In PyTorch, and gradients (ZeRO 2): fully_shard(")));
}

TEST_F(ParallelStudies, LayersInPartsTakeWhatThePlanSays) {
  constexpr double kActivations = 1024 * 768 * 2, kBlocks = 2;
  const json record = study("tensor-parallel gpt2:batch=1,dtype=bf16,layers=2");
  const json &whole = arm(record, "one GPU"), &cut = arm(record, "in 2 parts"),
             &by_sequence = arm(record, "in 2 parts, by sequence");
  EXPECT_EQ(whole.at("parts"), 1);
  EXPECT_EQ(cut.at("parts"), 2);
  EXPECT_EQ(cut.at("exchanges"), 4 * kBlocks);
  EXPECT_NEAR(exposed(cut) / (4 * kBlocks * transfer(kActivations)), 1.0, 0.02) << "nothing hides it";
  // A half of an all-reduce each; also for the head and the embedding; and the sum of two norms' gradients.
  const double halves = (8 * kBlocks + 2) * transfer(kActivations / 2);
  EXPECT_NEAR(exposed(by_sequence) / (halves + transfer(kBlocks * 4 * 768 * 2)), 1.0, 0.02);
  for (const json& each : record.at("arms"))
    EXPECT_NEAR(each.at("simulated_seconds").get<double>() / seconds_of(each, "time"), 1.0, 0.01)
        << each.at("name");
  for (const json* each : {&cut, &by_sequence}) {
    const json& parts = each->at("cut");
    const auto part = [&](const char* name) { return parts.at(name).get<double>(); };
    EXPECT_NEAR(part("even_seconds") / (seconds_of(whole, "time") / 2), 1.0, 1e-6);
    EXPECT_NEAR(
        (part("even_seconds") + part("not_cut_seconds") + part("products_seconds") + part("rest_seconds")) /
            seconds_of(*each, "computing"),
        1.0, 1e-6);
    EXPECT_GT(part("not_cut_seconds"), 0.1 * part("even_seconds")) << "the head and the embedding";
    EXPECT_GT(part("products_seconds"), 0.0) << "smaller products use the GPU less well";
    // With halves of cut layers the plan knows all but that.
    EXPECT_NEAR(seconds_of(*each, "time") - part("from_whole_seconds"),
                part("products_seconds") + part("rest_seconds"), 0.01 * seconds_of(whole, "time"));
  }
  EXPECT_THAT(without_breaks(output_),
              AllOf(HasSubstr("Cutting layers does not pay: the step **in 2 parts** takes"),
                    HasSubstr("by what each rank computes whole"), HasSubstr("one GPU stays the fastest"),
                    HasSubstr("1 sample in all on 2 ranks")));
  EXPECT_EQ(run_tool("show " + path()).output, output_);
}

TEST_F(ParallelStudies, FastLinksMakeLayersInPartsPay) {
  const std::string file = path("cluster.toml");
  std::ofstream(file) << "base = \"quiet\"\n[cluster]\nranks = 2\n[[link]]\nranks = 2\nlatency_us = 1\n"
                         "bandwidth_gb_per_s = 400\n";
  const Outcome outcome = run_tool(
      "study tensor-parallel bert-base:dtype=bf16,layers=2 --processes 3 --time-limit 0.2 "
      "--local 2 --device virtual:" +
      file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("Cutting layers pays: the step **in 2 parts"));
}

TEST(PipelineParts, OfUnevenStagesThatShortenTheBubbleAreNotBelowZero) {
  study::PipelineParts parts;
  parts.bubble = microseconds(500);
  parts.uneven = microseconds(-200);
  EXPECT_EQ(parts.filling(), microseconds(300));
  EXPECT_EQ(parts.more_by_stages(), Nanoseconds(0));
  parts.uneven = microseconds(200);
  EXPECT_EQ(parts.filling(), microseconds(500));
  EXPECT_EQ(parts.more_by_stages(), microseconds(200));
}

TEST_F(ParallelStudies, AStepOfAPipelineIsTakenApart) {
  const json record = study("pipeline gpt2:batch=8,dtype=bf16,layers=4");
  const double whole = seconds_of(arm(record, "one GPU"), "time");
  for (const json& each : record.at("arms")) {
    const std::string name = each.at("name");
    EXPECT_NEAR(each.at("simulated_seconds").get<double>() / seconds_of(each, "time"), 1.0, 0.01) << name;
    if (each.at("stages") == 1) continue;
    const json& pipeline = each.at("pipeline");
    const auto part = [&](const char* what) { return pipeline.at(what).get<double>(); };
    const std::vector<double> ranks = each.at("times").at("computing_of_ranks_seconds");
    ASSERT_EQ(ranks.size(), 2u);
    const double mean = (ranks[0] + ranks[1]) / 2;
    EXPECT_NEAR(part("even_seconds"), whole / 2, 1e-9);
    EXPECT_NEAR(part("even_seconds") + part("smaller_seconds"), mean, 1e-9) << name;
    EXPECT_NEAR(mean + part("bubble_seconds") + part("uneven_seconds") + part("sends_seconds") +
                    part("in_line_seconds") + part("rest_seconds"),
                seconds_of(each, "time"), 1e-9)
        << name;
    const double micro_batches = each.at("micro_batches"), exchanges = each.at("exchanges");
    const bool interleaves = name.starts_with("interleaved"), waits = name.starts_with("in turn");
    EXPECT_EQ(exchanges, 2 * micro_batches * (interleaves ? 3 : 1)) << name;
    EXPECT_NEAR(part("bubble_seconds"), mean * (waits ? 1 : 1 / (micro_batches * (interleaves ? 2 : 1))),
                1e-9);
    EXPECT_EQ(pipeline.at("first_layers").size(), interleaves ? 4u : 2u);
    EXPECT_EQ(pipeline.at("first_layers").at(0), "transformer.wte");
    if (waits) {
      EXPECT_NEAR(part("sends_seconds") / (exchanges * transfer(8 / micro_batches * 1024 * 768 * 2)), 1.0,
                  0.02);
      EXPECT_NEAR(seconds_of(each, "time"), ranks[0] + ranks[1] + part("sends_seconds"), 0.01 * whole);
    }
  }
  EXPECT_GT(seconds_of(arm(record, "1F1B, sends block, 4 micro-batches"), "time"),
            seconds_of(arm(record, "1F1B, 4 micro-batches"), "time"));
  EXPECT_THAT(without_breaks(output_),
              AllOf(HasSubstr("A pipeline "), HasSubstr("until the first micro-batch has come"),
                    HasSubstr("With micro-batches in turn nothing overlaps: the step takes"),
                    HasSubstr("Stage 0 begins with transformer.wte, stage 1 with transformer.h."),
                    HasSubstr("8 samples in all on 2 ranks")));
  EXPECT_EQ(run_tool("show " + path()).output, output_);
}

TEST_F(ParallelStudies, OneGroupTellsNoWaysApart) {
  const Outcome outcome = run_tool(
      "study pipeline resnet18:batch=4,dtype=bf16,layout=nhwc --processes 1 --time-limit 0.1" + cluster());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output),
              AllOf(HasSubstr("pays is not sure"),
                    HasSubstr("One group of processes tells no ways apart: --processes 3 would."),
                    Not(HasSubstr("Not told from it"))));
}

// Three ranks, whose sends between two of them the third takes no part in.
TEST_F(ParallelStudies, MoreStagesThanTwoTakeWhatThePlanSays) {
  const std::string file = path("cluster.toml");
  std::ofstream(file) << "base = \"quiet\"\n[cluster]\nranks = 3\n[[link]]\nranks = 3\nlatency_us = 20\n"
                         "bandwidth_gb_per_s = 100\n";
  const Outcome outcome = run_tool(
      "study pipeline resnet18:batch=12,dtype=bf16,layout=nhwc --processes 2 --time-limit 0.2 "
      "--local 3 --device virtual:" +
      file + " --json " + path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const json record = json::parse(text());
  for (const json& each : record.at("arms"))
    EXPECT_NEAR(each.at("simulated_seconds").get<double>() / seconds_of(each, "time"), 1.0, 0.04)
        << each.at("name");
}

struct RefusedStudy {
  const char *arguments, *message;
};
class ParallelStudyMessages : public testing::TestWithParam<RefusedStudy> {};
TEST_P(ParallelStudyMessages, SayWhatToDo) {
  const Outcome outcome = run_tool(std::string("study ") + GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    OfStudies, ParallelStudyMessages,
    testing::Values(
        RefusedStudy{"data-parallel resnet18 --device virtual:cluster-2xh200", "start more: `mpirun -n 2"},
        RefusedStudy{"data-parallel --local 2 --device virtual:cluster-2xh200", "is of one network"},
        RefusedStudy{"data-parallel resnet18,resnet50 --local 2 --device virtual:cluster-2xh200",
                     "resnet18,resnet50"},
        RefusedStudy{"sharding relu:count=1Ki --local 2 --device virtual:cluster-2xh200", "is one operation"},
        RefusedStudy{"data-parallel resnet18:direction=fprop --local 2 --device virtual:cluster-2xh200",
                     "no backward passes"},
        RefusedStudy{"data-parallel resnet18 --local 2 --device cpu", "share this host's CPU"},
        RefusedStudy{"data-parallel resnet18 --local 2 --device virtual:h200 --processes 1", "without links"},
        RefusedStudy{"data-parallel resnet18 --local 3 --device virtual:cluster-2xh200 --processes 1",
                     "has 2 ranks"},
        RefusedStudy{"data-parallel resnet18 --local 2 --cache cold --device virtual:cluster-2xh200",
                     "--cache is for"},
        RefusedStudy{
            "tensor-parallel resnet18 --local 2 --device virtual:cluster-2xh200",
            "resnet18 has no attention, and layers are cut in parts in transformers alone; name gpt2"},
        RefusedStudy{"tensor-parallel gpt2:batch=1,seq=1023 --local 2 --device virtual:cluster-2xh200",
                     "have no equal part for each of 2 ranks; take a batch that has, as in gpt2:batch=2"},
        RefusedStudy{"tensor-parallel --local 2 --device virtual:cluster-2xh200",
                     "tensor-parallel gpt2:batch=8"},
        RefusedStudy{"pipeline resnet18:batch=1 --local 2 --device virtual:cluster-2xh200",
                     "a batch of 1 has no micro-batches; name a larger one that 2 divides, as in :batch=16"},
        RefusedStudy{"pipeline resnet18 --local 2 --device virtual:cluster-2xh200", "names no batch"},
        RefusedStudy{"tensor-paralel gpt2 --local 2", "did you mean 'tensor-parallel'"},
        RefusedStudy{"layout --local 2 --device virtual:h200", "operations of one process"}));

}  // namespace
}  // namespace jitterscope
