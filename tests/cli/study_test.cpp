// `study` on a simulated GPU and on this CPU.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.hpp"
#include "cli/command.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kOnVirtualGpu = " --device virtual:h200 --processes 3 --time-limit 0.2 --min-rounds 6";

json study_of(const std::string& arguments) {
  const Outcome outcome = run_tool("study " + arguments + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output);
}

TEST(StudyCommand, EachExampleOfItsHelpCanBeRun) {
  const std::vector<std::string> examples = test::examples_of_help("study");
  for (const std::string& example : examples) {
    const bool has_device = example.find("--device") != std::string::npos;
    const Outcome outcome =
        run_tool("study " + example + " --dry-run" + (has_device ? "" : " --device virtual:h200"));
    EXPECT_EQ(outcome.exit_code, 0) << example << outcome.errors;
    const testing::Matcher<std::string> plan =
        AllOf(HasSubstr("?\n\nfirst:   "), HasSubstr(" fresh processes on "));
    const testing::Matcher<std::string> training =
        HasSubstr("?\n\nThe model of train.py:make is trained for 100");
    const testing::Matcher<std::string> between_ranks =
        AllOf(HasSubstr("?\n\n2 ranks on "), HasSubstr("\n  no exchange: each rank for itself\n"));
    const testing::Matcher<std::string> in_parts =
        AllOf(HasSubstr("?\n\n2 ranks on "), HasSubstr("\n  one GPU: each rank for itself\n  in 2 parts: "));
    const testing::Matcher<std::string> in_stages =
        AllOf(HasSubstr("?\n\n2 ranks on "), HasSubstr("\n  one GPU: each rank for itself\n  in turn, "));
    EXPECT_THAT(outcome.output, example.starts_with("loss-scaling")      ? training
                                : example.starts_with("data-parallel")   ? between_ranks
                                : example.starts_with("tensor-parallel") ? in_parts
                                : example.starts_with("pipeline")        ? in_stages
                                                                         : plan)
        << example;
  }
  EXPECT_GE(examples.size(), 5u);
}

// In the place of a Python that trains: it writes what it was asked for beside what it is to answer.
class TrainingPython {
 public:
  explicit TrainingPython(const std::string& answer, int exit_code = 0) {
    std::ofstream(folder_.path() / "answer") << answer;
    const std::filesystem::path program = folder_.path() / "python";
    std::ofstream(program) << "#!/bin/sh\ncd '" << folder_.path().string()
                           << "'\ncat >asked\necho training >&2\n"
                           << "cat answer\nexit " << exit_code << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("JITTERSCOPE_PYTHON", program.c_str(), 1);
  }
  ~TrainingPython() { ::unsetenv("JITTERSCOPE_PYTHON"); }
  TrainingPython(const TrainingPython&) = delete;
  TrainingPython& operator=(const TrainingPython&) = delete;

  json asked() const {
    std::ifstream file(folder_.path() / "asked");
    return json::parse(file);
  }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kTrained = R"({"model": "Net", "way": "autocast to float16", "steps": 100,
  "float32_loss": 0.5, "float32_step_seconds": 0.002, "answers": ["2^16 loses least."], "arms": [
  {"name": "none", "skipped": 0, "underflow": 0.3, "overflow": 0.0, "step_seconds": 0.001, "scale": 1.0,
   "layers": [{"name": "conv1", "underflow": 0.4, "overflow": 0.0}]},
  {"name": "2^16", "skipped": 3, "underflow": 0.0, "overflow": 0.01, "loss": 0.51, "step_seconds": 0.001,
   "scale": 65536.0, "layers": [{"name": "conv1", "underflow": 0.0, "overflow": 0.01}]}]})";

TEST(StudyCommand, LossScalingIsTrainedByPython) {
  const TrainingPython python(kTrained);
  const json found = study_of("loss-scaling python:train.py:make --device cpu --seed 7");
  EXPECT_EQ(python.asked(), json::parse(R"({"callable": "train.py:make", "device": "cpu", "seed": 7})"));
  EXPECT_EQ(found.at("command"), "loss-scaling");
  EXPECT_EQ(found.at("arms")[1].at("skipped"), 3);
  EXPECT_FALSE(found.at("arms")[0].contains("loss"));
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "loss_scaling.json";
  const Outcome printed = run_tool("study loss-scaling --device cpu --details --json " + file.string());
  EXPECT_THAT(printed.output,
              AllOf(StartsWith("Which scale of the loss does training in float16 need?\n\n2^16 loses"),
                    HasSubstr("| none    |      30 % |"), HasSubstr("| not finite |"),
                    HasSubstr("| conv1 | 40 % |")));
  EXPECT_EQ(run_tool("show --details " + file.string()).output, printed.output);
}

TEST(StudyCommand, LossScalingSaysWhatItCannotTrain) {
  for (const char* dry_run : {"", " --dry-run"}) {
    const Outcome outcome = run_tool(std::string("study loss-scaling --device virtual") + dry_run);
    EXPECT_THAT(outcome.errors, HasSubstr("trains nothing"));
    EXPECT_EQ(outcome.exit_code, 2);
  }
  EXPECT_THAT(run_tool("study loss-scaling relu:count=8 --device cpu").errors,
              HasSubstr("python:FILE:FUNCTION"));
  EXPECT_THAT(run_tool("study loss-scaling --processes 3 --device cpu").errors,
              HasSubstr("--processes is for"));
  const auto with = [](const std::string& answer, int exit_code) {
    const TrainingPython python(answer, exit_code);
    return run_tool("study loss-scaling --device cpu");
  };
  const Outcome missing = with(
      R"({"format": "jitterscope-error", "exit_code": "missing", "message": "PyTorch is not there"})", 3);
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.errors, HasSubstr("PyTorch is not there"));
  EXPECT_EQ(with("", 1).exit_code, 5);
  EXPECT_THAT(with("", 1).errors, HasSubstr("ended with exit code 1: training"));
  EXPECT_THAT(with("{}", 0).errors, HasSubstr("the result of the Python process"));
  EXPECT_THAT(with("cut {", 0).errors, HasSubstr("no readable result"));
}

TEST(StudyCommand, APythonThatIsNotThereIsMissing) {
  ::setenv("JITTERSCOPE_PYTHON", "/nowhere/python", 1);
  for (const char* command : {"study loss-scaling --device cpu", "run python:train.py:step --device cpu"}) {
    const Outcome outcome = run_tool(command);
    EXPECT_EQ(outcome.exit_code, 3) << command << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("there is no Python /nowhere/python")) << command;
  }
  ::unsetenv("JITTERSCOPE_PYTHON");
}

TEST(StudyCommand, AKernelOfOnesOwnIsStudied) {
  const json found =
      study_of("occupancy cuda:@saxpy:saxpy,n=64Ki,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]" +
               kOnVirtualGpu);
  EXPECT_THAT(found.at("alternatives"),
              ElementsAre("block=256", "block=64", "block=128", "block=512", "block=1024", "shared=24Ki",
                          "shared=48Ki", "shared=64Ki"));
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr("This GPU is simulated"));
  EXPECT_THAT(found.at("study").at("answers")[1].get<std::string>(), HasSubstr("reference=KERNEL"));
  const json compiled = study_of("compiler" + kOnVirtualGpu);
  EXPECT_THAT(compiled.at("alternatives"), ElementsAre("as typed", "fast_math=1", "optimize=0", "optimize=1",
                                                       "registers=32", "registers=64", "registers=128",
                                                       "min_blocks=1", "min_blocks=8", "architecture=80"));
  const Outcome host = run_tool("study compiler --device cpu");
  EXPECT_EQ(host.exit_code, 2);
  EXPECT_THAT(host.errors, HasSubstr("bodies<float> is a kernel for a GPU, and cpu has no loops for it"));
}

TEST(StudyCommand, FusionSaysWhatMemoryMoves) {
  // More than its L2 holds.
  const std::string fusion =
      "fusion 'chain:[add:count=8Mi][relu:count=8Mi]' --device virtual:laptop --processes 2 --time-limit 0.2";
  const json found = study_of(fusion);
  std::map<std::string, double> moved;
  for (const json& comparison : found.at("comparisons")) {
    for (const json& value : comparison.at("second").at("counters").at("values")) {
      if (!value.at("name").get<std::string>().starts_with("dram__bytes_")) continue;
      moved[found.at("alternatives")[comparison.at("alternative").get<std::size_t>()]] +=
          value.at("value").get<double>();
    }
  }
  // Separate: three reads and two writes of 32 MiB; fused: two reads and one write.
  EXPECT_NEAR(moved.at("fused") / moved.at("graph"), 3.0 / 5.0, 0.05);
  const Outcome outcome = run_tool("study " + fusion + " --details");
  EXPECT_THAT(on_one_line(outcome.output),
              AllOf(HasSubstr("first DRAM"), HasSubstr("Memory moves 96 MiB in place of 160 MiB")));
}

TEST(StudyCommand, AccessToMemoryIsStudiedOnACpuToo) {
  const json found = study_of(
      "access 'cuda:@access:coalesced<float>,reference=copied,n=64Ki,step=0,block=256,grid=n/4/block,x=f32[n],"
      "y=out:f32[n]' --device cpu --processes 2 --time-limit 0.1 --min-rounds 6");
  EXPECT_THAT(found.at("alternatives"), ElementsAre("coalesced", "misaligned", "stride 2", "stride 4",
                                                    "stride 8", "stride 32", "random"));
  for (const json& comparison : found.at("comparisons")) {
    const json& side = comparison.at("second");
    EXPECT_EQ(side.at("amount"), json({{"unit", "bytes"}, {"count", 8.0 * 65536}})) << side;
    EXPECT_EQ(side.at("verification").at("passed"), true) << side;
  }
}

TEST(StudyCommand, PrecisionSaysWhatIsFasterAndHowExact) {
  const json found = study_of("precision linear:n=256,in=512,out=512" + kOnVirtualGpu);
  EXPECT_EQ(found.at("study").at("id"), "precision");
  EXPECT_THAT(found.at("alternatives"),
              ElementsAre("f32", "f64", "tf32", "bf16", "f16", "autocast bf16", "autocast f16"));
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr("faster than f32: 1/"));
  std::map<std::string, double> errors;
  for (const json& comparison : found.at("comparisons")) {
    const json& verification = comparison.at("second").at("verification");
    EXPECT_TRUE(verification.at("passed"));
    errors[found.at("alternatives")[comparison.at("alternative").get<std::size_t>()]] =
        verification.at("relative_error");
  }
  // Each is the rounding of its type: 11 bits, 8 bits, none.
  EXPECT_EQ(errors.at("f64"), 0.0);
  EXPECT_GT(errors.at("tf32"), 1e-5);
  EXPECT_LT(errors.at("f16"), 1e-3);
  EXPECT_GT(errors.at("bf16"), 4.0 * errors.at("f16"));
  // The same inputs, rounded to the same type.
  EXPECT_NEAR(errors.at("autocast f16"), errors.at("f16"), 1e-5);
  EXPECT_NEAR(errors.at("autocast bf16"), errors.at("bf16"), 1e-4);
  EXPECT_THAT(found.at("study").at("answers").back().get<std::string>(), HasSubstr("torch.autocast makes"));
}

TEST(StudyCommand, AutocastOnThisCpuIsRightToItsType) {
  const json found = study_of(
      "precision conv2d:n=1,c=16,hw=8,k=16,rs=3,pad=1 --device cpu --processes 2 --time-limit 0.1 "
      "--min-rounds 4");
  if (std::ranges::count(open_device("cpu")->describe().data_types, DataType::bf16) > 0) {
    EXPECT_THAT(found.at("alternatives"), ElementsAre("f32", "f64", "bf16", "autocast bf16"));
  } else {
    EXPECT_THAT(found.at("alternatives"), ElementsAre("f32", "f64"));
  }
  for (const json& comparison : found.at("comparisons")) {
    EXPECT_EQ(comparison.at("second").at("verification").at("passed"), true) << comparison;
  }
}

TEST(StudyCommand, LayoutShowsWhatTheConversionsCost) {
  const json found = study_of("layout conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1" + kOnVirtualGpu);
  EXPECT_THAT(found.at("alternatives"), ElementsAre("nchw", "nhwc", "nhwc, converted at the borders"));
  const json& converted = found.at("comparisons").back();
  EXPECT_EQ(converted.at("verdict"), "slower");
  EXPECT_EQ(converted.at("second").at("verification").at("passed"), true);
  // On a simulated GPU f32 is as fast in both layouts, so that nothing is gained which conversions could eat.
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(),
              HasSubstr("Nothing is faster than nchw"));
  // In f16 a library brings channels first into the other layout by itself.
  const json half = study_of("layout conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1,dtype=f16" + kOnVirtualGpu);
  EXPECT_THAT(half.at("study").at("answers")[0].get<std::string>(), HasSubstr("nhwc is"));
}

TEST(StudyCommand, GraphSaysFromHowManyLaunchesOnItPays) {
  const json found = study_of("graph chain:[relu:count=1Ki],lanes=1,10,100" + kOnVirtualGpu);
  EXPECT_THAT(found.at("alternatives"), ElementsAre("eager", "graph", "batched"));
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(),
              AllOf(HasSubstr("pays from 10 launches on**"), HasSubstr("The host is the limit")));
  for (const json& comparison : found.at("comparisons")) {
    EXPECT_TRUE(comparison.at("second").at("verification").at("passed")) << comparison;
    EXPECT_EQ(comparison.at("second").at("instrument"), "events");
  }
  // As a program replays it: of one launch the replay costs the host as much.
  const json& one = found.at("comparisons")[0];
  EXPECT_EQ(one.at("second").at("conditions").at("queue"), "graph");
  EXPECT_NEAR(one.at("time_ratio").at("ratio").get<double>(), 1.0, 0.1);
}

TEST(StudyCommand, BatchComparesTheSameWork) {
  const json found = study_of("batch matmul:m=8,n=256,k=256,dtype=f16" + kOnVirtualGpu);
  EXPECT_EQ(found.at("works")[3], 8.0);
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr("faster than at ×1: "));
  const json& last = found.at("comparisons").back();
  const double times = last.at("second").at("time").at("median_seconds").get<double>() /
                       last.at("first").at("time").at("median_seconds").get<double>();
  const double of_a_sample = times / found.at("works").back().get<double>();
  EXPECT_NEAR(last.at("time_ratio").at("ratio").get<double>(), of_a_sample, 0.05 * of_a_sample);
}

TEST(StudyCommand, PinnedSaysFromWhichSizeOnItPays) {
  const Outcome outcome = run_tool("study pinned copy:bytes=64Ki,1Mi,kind=d2h" + kOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              StartsWith("From which size on does pinned host memory pay?\n\n**Copies of 1 MiB"));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("it pays from 64 KiB on"));
  EXPECT_LT(outcome.output.find("| copy bytes=65536"), outcome.output.find("| copy bytes=1048576"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("A: pageable"), Not(HasSubstr("error"))));
}

TEST(StudyCommand, LayoutOfANetworkIsAskedOfTheLayersThatHaveOne) {
  const Outcome outcome =
      run_tool("study layout resnet18:batch=2,direction=fprop --only '^(layer1.0.*|fc.*)' --processes 2" +
               std::string(" --device virtual:h200 --time-limit 0.1 --min-rounds 4"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              HasSubstr("operations are left out: the study is for convolutions"));
  EXPECT_THAT(outcome.output, HasSubstr("| all together |"));
}

TEST(StudyCommand, RunsOnThisCpuAndIsShownAgain) {
  const std::string file = testing::TempDir() + "/study.json";
  const Outcome outcome = run_tool(
      "study layout conv2d:n=1,c=16,hw=8,k=16,rs=3,pad=1 --device cpu --processes 2 "
      "--time-limit 0.1 --min-rounds 4 --json " +
      file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, StartsWith("Which layout of images is faster"));
  EXPECT_EQ(run_tool("show " + file).output, outcome.output);
  std::filesystem::remove(file);
}

TEST(StudyCommand, WhatCannotBeAskedIsSaid) {
  const auto refused = [](const std::string& arguments) {
    const Outcome outcome = run_tool("study " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output, "") << arguments;
    return outcome.errors;
  };
  EXPECT_THAT(refused("presicion --device cpu"), HasSubstr("did you mean 'precision'"));
  EXPECT_THAT(refused("layout matmul:m=8,n=8,k=8 --device cpu"),
              HasSubstr("the study layout does not apply to matmul:m=8,n=8,k=8: it is for convolutions"));
  EXPECT_THAT(refused("pinned --device cpu"), HasSubstr("no copy between host and device"));
  EXPECT_THAT(refused("engine --device virtual:h200"), HasSubstr("no engines to choose from"));
  EXPECT_THAT(refused("batch --device cpu --processes 0"), HasSubstr("--processes must be from 1 to 1000"));
  EXPECT_THAT(refused("precision matmul:m=8,n=8,k=8,dtype=f16 --device cpu"), HasSubstr("f16"));
}

TEST(StudyCommand, ABatchThatIsNotNamedBeginsWithOneSample) {
  const json network =
      study_of("batch resnet18:direction=fprop --only '^fc' --device virtual:h200 --processes 2");
  EXPECT_THAT(network.at("comparisons")[0].at("first").at("operation").get<std::string>(),
              StartsWith("linear:n=1,in=512,out=1000"));
  EXPECT_EQ(network.at("samples")[0], 1);
  EXPECT_EQ(network.at("samples").back().get<double>(), network.at("works").back().get<double>());
  EXPECT_GE(network.at("samples").back(), 256);
  EXPECT_THAT(
      network.at("notes").dump(),
      HasSubstr("names no batch: this study begins with one sample (resnet18:direction=fprop,batch=1)"));
  const json typed = study_of("batch conv2d:c=8,hw=7,k=8,rs=1" + kOnVirtualGpu);
  EXPECT_THAT(typed.at("comparisons")[0].at("first").at("operation").get<std::string>(),
              HasSubstr("conv2d:n=1,"));
  const Outcome positions =
      run_tool("study batch gpt2 --only 'wpe|wte.accumulate|ln_f.forward' --dry-run --device virtual:h200");
  EXPECT_THAT(on_one_line(positions.output), HasSubstr(", 1 item to compare"))
      << "all samples share the others";
  const json named = study_of("batch resnet18:batch=4,direction=fprop --only '^fc'" + kOnVirtualGpu);
  EXPECT_EQ(named.at("samples")[0], 4);
  EXPECT_THAT(named.at("notes").dump(), Not(HasSubstr("names no batch")));
}

TEST(StudyCommand, SaysAtHowManyElementsResultsWereCompared) {
  const Outcome outcome = run_tool("study batch conv2d:n=1,c=64,hw=28,k=64,rs=3,pad=1" + kOnVirtualGpu);
  EXPECT_THAT(on_one_line(outcome.output),
              testing::ContainsRegex("Verified: results of [0-9]+ operations at [0-9]+ of "
                                     "[0-9]+ elements, which are the reference's own"));
}

TEST(StudyCommand, TheListNamesAll) {
  const Outcome outcome = run_tool("list studies");
  for (const char* id :
       {"layout",       "precision",     "engine",       "batch",           "graph",      "pinned",
        "compiler",     "occupancy",     "tiling",       "waves",           "access",     "hierarchy",
        "streams",      "overlap",       "dependencies", "synchronization", "priorities", "fusion",
        "loss-scaling", "data-parallel", "sharding",     "tensor-parallel", "pipeline"}) {
    EXPECT_THAT(outcome.output, HasSubstr("- **" + std::string(id) + "**: "));
  }
  EXPECT_EQ(json::parse(run_tool("list studies --json -").output).at("studies").size(), 25u);
}

TEST(CompareCommandVerify, ErrorsStandBesideTimes) {
  const Outcome outcome =
      run_tool("compare matmul:m=64,n=64,k=64 --vary dtype=f32,bf16 --verify" + kOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("|   error |"));
  EXPECT_THAT(run_tool("compare matmul:m=64,n=64,k=64 --vary dtype=f32,bf16" + kOnVirtualGpu).output,
              Not(HasSubstr("error")));
}

TEST(StudyCommand, PrecisionOfAConvolutionBeginsWithWhatPytorchRuns) {
  const json found = study_of("precision conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1" + kOnVirtualGpu);
  // So large that a simulated GPU verifies a part.
  study_of("precision conv2d:n=2,c=64,hw=7,k=64,rs=3,pad=1,direction=wgrad" + kOnVirtualGpu);
  EXPECT_THAT(found.at("alternatives"),
              ElementsAre("tf32", "f64", "f32", "bf16", "f16", "autocast bf16", "autocast f16"));
  EXPECT_THAT(found.at("comparisons")[1].at("verdict"), "slower");
  EXPECT_THAT(found.at("notes").dump(), HasSubstr("f32 convolutions run in tf32, as in PyTorch"));
  const json cpu = study_of(
      "precision conv2d:n=1,c=16,hw=8,k=16,rs=1 --device cpu --processes 2 --time-limit 0.1 --min-rounds 4");
  EXPECT_EQ(cpu.at("alternatives")[0], "f32") << "a CPU has no TF32";
}

TEST(StudyCommand, OfOtherStudiesAConvolutionInF32IsSaidNotToBePytorchs) {
  const json found = study_of("layout conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1" + kOnVirtualGpu);
  EXPECT_THAT(found.at("cautions").dump(), HasSubstr("In f32 a convolution is not as PyTorch runs it"));
}

}  // namespace
}  // namespace jitterscope
