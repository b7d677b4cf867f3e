// Files that PyTorch and its libraries wrote, as a user runs and lists them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::kQuick;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

const std::string kData = JITTERSCOPE_TEST_DATA;

struct Record {
  const char* file;
  const char* format;
  std::size_t least_layers;
};
const Record kRecords[] = {
    {"resnet18_et.json.gz", "PyTorch execution trace", 35},
    {"resnet50_et.json.gz", "PyTorch execution trace", 71},
    {"mobilenet_v2_et.json.gz", "PyTorch execution trace", 90},
    {"bert_et.json.gz", "PyTorch execution trace", 20},
    {"resnet18_cudnn_frontend_heur.log", "cudnn-frontend log", 32},
    {"resnet18_cudnn_frontend_bench.log.gz", "cudnn-frontend log", 32},
    {"mobilenet_v2_cudnn_frontend_heur.log.gz", "cudnn-frontend log", 89},
    {"bert_cublaslt.log", "cuBLASLt log", 9},
    {"conv_linear_cudnn9.log.gz", "cuDNN log", 3},
    {"resnet50.onnx.gz", "ONNX model", 20},
    {"vgg16.onnx.gz", "ONNX model", 20},
};

class Records : public testing::TestWithParam<Record> {};

TEST_P(Records, AreListedInTextThatReadsBack) {
  const Outcome outcome = run_tool("list " + kData + "/" + GetParam().file + " --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  EXPECT_EQ(document.at("record"), GetParam().format);
  EXPECT_GE(document.at("layers").size(), GetParam().least_layers);
  for (const json& layer : document.at("layers")) {
    const std::string text = layer.at("operation");
    EXPECT_EQ(Operation::parse(text).text(), text);
    EXPECT_FALSE(layer.at("source").get<std::string>().empty()) << text;
  }
}

TEST_P(Records, GiveTheirTable) {
  const Outcome outcome = run_tool("run " + kData + "/" + GetParam().file + kQuick + " --json -");
  ASSERT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  std::size_t timed = 0;
  for (const json& result : document.at("results")) timed += result.at("measurements").empty() ? 0 : 1;
  EXPECT_EQ(timed, document.at("results").size());
  EXPECT_GE(timed, GetParam().least_layers / 2);
}

INSTANTIATE_TEST_SUITE_P(Files, Records, testing::ValuesIn(kRecords), [](const auto& record) {
  std::string name = record.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
});

using WrongFiles = test::WithFolder;

// Each command names what it was given, and which command takes that.
TEST_F(WrongFiles, AreNamedWithWhatTakesThem) {
  const std::string record = path("r18.json"), doctor = path("doctor.json"), page = path("r18.html"),
                    csv = path("r18.csv");
  ASSERT_EQ(run_tool("run add:count=1Ki" + kQuick + " --csv " + csv + " --json " + record).exit_code, 0);
  ASSERT_EQ(run_tool("doctor --device virtual:h200 --no-measure --json " + doctor).exit_code, 0);
  std::ofstream(page) << "<!DOCTYPE html>\n<html>";
  const std::string model = path("model.json"), trace = kData + "/resnet18_et.json.gz",
                    log = kData + "/bert_cublaslt.log";
  std::ofstream(model) << R"({"format": "jitterscope-model", "version": 1, "name": "m", "layers": []})";
  const auto said = [](const std::string& arguments) {
    const Outcome outcome = run_tool(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(std::ranges::count(outcome.errors, '\n'), 1) << outcome.errors;
    return outcome.errors;
  };
  const std::string is_record =
      "r18.json: this is a record that `jitterscope run` wrote, not a network, trace or log: "
      "`jitterscope show ";
  for (const char* command : {"run ", "list ", "advise ", "study layout "}) {
    EXPECT_THAT(said(command + record), HasSubstr(is_record)) << command;
  }
  EXPECT_THAT(said("run " + doctor),
              HasSubstr("doctor.json: this is a record that `jitterscope doctor` wrote, not"));
  EXPECT_THAT(said("run " + page),
              HasSubstr("r18.html: this is a page for a browser, not a network, trace or log"));
  for (const std::string& command :
       {std::string("show "), "report -o " + path("x.html") + " ",
        std::string("run add:count=1Ki --continue "), "compare " + record + " "}) {
    const std::string no_record = ", not a record of a measurement: `jitterscope run ";
    EXPECT_THAT(said(command + model), HasSubstr("model.json: this is a model" + no_record)) << command;
    EXPECT_THAT(said(command + log), HasSubstr(": this is a log of cuBLASLt" + no_record)) << command;
  }
  for (const std::string& command : {std::string("show "), "compare " + record + " "}) {
    EXPECT_THAT(said(command + trace), HasSubstr(": this is an execution trace of PyTorch, not a record"))
        << command;
  }
  for (const std::string command : {"engines ", "methods "}) {
    EXPECT_THAT(said(command + record), HasSubstr("r18.json is a file; write one operation, as matmul:m=512"))
        << command;
  }
  for (const std::string command : {"gate ", "history show ", "history rm ", "history plot -o x.html "}) {
    EXPECT_THAT(said(command + record), HasSubstr("r18.json is a file, not a NAME")) << command;
  }
  EXPECT_THAT(said("show " + page),
              HasSubstr(": this is a page for a browser, not a record of a measurement"));
  EXPECT_THAT(said("run add:count=1Ki --continue " + doctor),
              HasSubstr("`jitterscope doctor` wrote this, but a record of"));
}

TEST_F(WrongFiles, ButAPackedRecordIsRead) {
  ASSERT_EQ(run_tool("run add:count=1Ki" + kQuick + " --json " + path()).exit_code, 0);
  const std::string shown = run_tool("show " + path()).output;
  ASSERT_EQ(std::system(("gzip -k '" + path() + "'").c_str()), 0);
  EXPECT_EQ(run_tool("show " + path() + ".gz").output, shown);
  EXPECT_EQ(run_tool("explain " + path() + ".gz " + path()).exit_code, 0);
  EXPECT_THAT(run_tool("run " + path() + ".gz").errors,
              HasSubstr(": this is a record that `jitterscope run` wrote"));
}

TEST(RecordErrors, OfACutFileTheBeginningIsRead) {
  const fs::path cut = fs::temp_directory_path() / ("jitterscope-cut-" + std::to_string(::getpid()) + ".gz");
  fs::copy_file(kData + "/resnet18_et.json.gz", cut);
  fs::resize_file(cut, 20000);
  const Outcome outcome = run_tool("list " + cut.string());
  const Outcome run = run_tool("run " + cut.string() + kQuick);
  fs::remove(cut);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.output, HasSubstr("ends early"));
  EXPECT_THAT(outcome.output, HasSubstr("| conv2d "));
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.output, HasSubstr("ends early"));
}

TEST(RecordErrors, AFileThatIsNothingKnownSaysWhatIs) {
  const Outcome outcome = run_tool("run /bin/ls");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("execution trace"));
  EXPECT_THAT(outcome.errors, HasSubstr("ONNX"));
}

TEST(RecordErrors, AMissingFileIsMissing) {
  const Outcome outcome = run_tool("run no/such/trace.json.gz");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("this file does not exist"));
}

TEST(RecordRuns, ABoundEngineIsSaidToBeIgnoredWhereItCannotRun) {
  const Outcome outcome = run_tool("run " + kData + "/resnet18_cudnn_frontend_heur.log" + kQuick);
  EXPECT_THAT(outcome.output, HasSubstr("**engine_ignored**"));
}

TEST(RecordRuns, OnlyPytorchsOperatorsAreListedWithTheirReason) {
  const Outcome outcome = run_tool("run " + kData + "/bert_et.json.gz --provider builtin --details" + kQuick);
  EXPECT_THAT(outcome.output, HasSubstr("Not timed, with their calls:"));
  EXPECT_THAT(outcome.output, HasSubstr("aten::gather"));
  EXPECT_THAT(outcome.output, HasSubstr("--provider builtin"));
}

TEST(RecordRuns, TheSequenceOfANetworkStandsBesideItsLayers) {
  const Outcome outcome = run_tool("run resnet18:batch=4,direction=fprop --in-sequence" + kQuick);
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("In sequence: all"));
  EXPECT_THAT(outcome.output, HasSubstr(" in place |"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("left out")));
}

// Each operation fits into the memory of the GPU, but not all at once.
TEST(RecordRuns, ASequenceOfWhichCallsAreMissingIsNotTheNetworks) {
  const Outcome outcome = run_tool("run resnet18:batch=8000,direction=fprop --in-sequence --json -" + kQuick);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json sequence = json::parse(outcome.output).at("sequence");
  EXPECT_LT(sequence.at("timed_calls").get<std::size_t>(), sequence.at("calls").size());
}

TEST(RecordRuns, ASequenceOfWhichCallsAreMissingSaysOfWhatItIsATime) {
  const Outcome outcome = run_tool("run resnet18:batch=8000,direction=fprop --in-sequence" + kQuick);
  EXPECT_THAT(outcome.output, HasSubstr("In sequence: only "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("one pass as a whole takes")));
  EXPECT_THAT(outcome.output, HasSubstr("calls were left out, the first"));
}

// Alone it is precise enough; three passes give no interval.
TEST(RecordRuns, AnImpreciseSequenceSaysSoByItsExitCode) {
  const Outcome outcome = run_tool(
      "run add:count=64Mi --in-sequence --precision 5 --min-rounds 3 --sustained-time-limit 0.001 --cache "
      "warm "
      "--device virtual:h200 --no-ceilings");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("In sequence, the pass or more than one call in ten did not reach"));
}

TEST(RecordRuns, ASequenceIsNotRunUnderSustainedLoad) {
  const Outcome refused = run_tool("run add:count=1Mi --in-sequence --load sustained" + kQuick);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--load burst,sustained"));
  const Outcome both = run_tool("run add:count=1Mi --in-sequence --details --load burst,sustained" + kQuick);
  EXPECT_THAT(both.output, HasSubstr("alone, warm burst"));
  EXPECT_THAT(both.output, HasSubstr("alone, warm sustained"));
}

TEST(RecordRuns, ASequenceSaysHowManyCallsReadWhatNoneWrote) {
  const Outcome outcome = run_tool("run vit-b16:batch=2,direction=fprop --in-sequence" + kQuick);
  EXPECT_THAT(outcome.output, HasSubstr("of them read data that no call of the sequence wrote"));
}

TEST(RecordRuns, LoopsSayHowTheTimeDependsOnTheirNumber) {
  const Outcome outcome = run_tool("run add:count=1Mi --iterations 1,10,100" + kQuick);
  EXPECT_THAT(outcome.output, HasSubstr("| launches |"));
  EXPECT_THAT(outcome.output, HasSubstr("**iteration_count**"));
}

TEST(RecordRuns, AnEngineThatIsAskedForOnADeviceWithoutAnySaysSo) {
  const Outcome outcome = run_tool("engines conv2d:n=1,c=8,hw=8,k=8,rs=3 --device virtual:h200");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("has no choice of engines"));
}

TEST(VerifyPytorch, ATraceIsComparedWithoutPytorch) {
  const Outcome outcome = run_tool("verify-pytorch mine --trace " + kData +
                                   "/resnet18_et.json.gz --device virtual:h200 --json -");
  // Nothing is known of the kernels in an execution trace, so nothing differs, and nothing is equal.
  EXPECT_EQ(outcome.exit_code, 3) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("nothing was compared"));
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  EXPECT_EQ(json::parse(outcome.output).at("equal"), false);
}

TEST(VerifyPytorch, ALayerThatFailsHasItsOwnExitCode) {
  const Outcome outcome =
      run_tool("verify-pytorch mine --trace " + kData + "/conv_linear_cudnn9.log.gz --device cpu");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("failed here"));
}

TEST(VerifyPytorch, WhatPytorchsSideLacksIsRefusedBeforeItRuns) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"resnet81", "resnet18"},
      {"resnet18:bacth=4", "did you mean 'batch'"},
      {"resnet18:size=512", "no option 'size'"},
      {"resnet18:direction=fprop", "direction"},
      {"resnet18:dtype=f64", "f64"},
  };
  for (const auto& [model, reason] : kRefused) {
    const Outcome outcome =
        run_tool("verify-pytorch " + std::string(model) + " --device virtual --python /bin/false");
    EXPECT_EQ(outcome.exit_code, 2) << model;
    EXPECT_THAT(outcome.errors, HasSubstr(reason)) << model;
  }
}

}  // namespace
}  // namespace jitterscope
