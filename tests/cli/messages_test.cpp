// What people type that is not quite right, and what they are told: one line each.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

struct Typed {
  const char* arguments;
  const char* hint;
};

class Messages : public testing::TestWithParam<Typed> {};

TEST_P(Messages, AreOneSentenceThatSaysWhatToType) {
  const Outcome outcome = run_tool(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2) << GetParam().arguments;
  EXPECT_EQ(outcome.output, "") << GetParam().arguments;
  EXPECT_THAT(outcome.errors, testing::StartsWith("jitterscope: "));
  EXPECT_THAT(outcome.errors, HasSubstr(GetParam().hint));
  // One line, and nothing of a measurement before it.
  EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
}

constexpr Typed kCommands[] = {
    {"", "a command is missing (run, compare, "},
    {"runn resnet18", "did you mean 'run'?"},
    {"runn --help", "did you mean 'run'?"},
    {"runn resnet18 --device cpu --cache warm", "did you mean 'run'?"},
    {"--settings '' runn resnet18", "there is no command 'runn' (did you mean 'run'?)"},
    {"--settings= selftset", "did you mean 'selftest'?"},
    {"--settings ''", "a command is missing (run, compare, "},
    {"capture shw", "capture has no command 'shw' (did you mean 'show'?)"},
    {"capture comprae a b --top 3", "did you mean 'compare'?"},
    {"capture ./train --steps 3", "write the program to capture behind --"},
    {"explain add:count=8 --device virtual:h200 --factors cach", "did you mean 'cache'?"},
    {"explain add:count=8 --device virtual:h200 --top few",
     "--top few: write a number of operations, or all"},
    {"explain add:count=8 --device virtual:h200 --findings most", "--findings: unknown word 'most'"},
    {"methods add:count=8 --device virtual:h200 --data one", "did you mean 'ones'?"},
    {"bench resnet18", "did you mean 'run'?"},
    {"resnet18", "write jitterscope run resnet18"},
    {"matmul:m=1,n=2,k=3", "write jitterscope run matmul:m=1,n=2,k=3"},
    {"add:count=1Mi --device cpu", "write jitterscope run add:count=1Mi"},
    {"add", "it is an operation; write jitterscope run add:"},
    {"model.onnx:batch=8", "write jitterscope run model.onnx:batch=8"},
    {"help", "see jitterscope --help"},
    {"-v", "write jitterscope --version"},
    {"version", "write jitterscope --version"},
    {"--device cpu run resnet18", "write it behind the command"},
    {"run", "run needs something to work on; for example jitterscope run resnet18"},
    {"run --cache warm resnet18 --dry-run", "since --cache takes all words after it as its values"},
    {"run resnet18 --jsn x", "run has no option '--jsn' (did you mean '--json'?)"},
    {"run resnet18 --jsn=x", "did you mean '--json'?"},
    {"run resnet18 -device cpu", "did you mean '--device'?"},
    {"run resnet18 --gpu", "did you mean '--device'?"},
    {"run resnet18 --output x", "did you mean '--json'?"},
    {"run resnet18 --dryrun", "did you mean '--dry-run'?"},
    {"run resnet18 --timeout 5", "did you mean '--time-limit'?"},
    {"run resnet18 --xyzzy", "see jitterscope run --help"},
    {"run resnet18 --batch 32", "as in resnet50:batch=32,dtype=f16"},
    {"run resnet18 --dtype f16", "as in resnet50:batch=32,dtype=f16"},
    {"run resnet18 --json", "--json: a value is missing (write everything"},
    {"run resnet18 --idle 10", "--idle: one of 2 values is missing"},
    {"run resnet18 --idle 10,20,30", "--idle takes at most 2 values"},
    {"run resnet18 --idle 10,x", "--idle: 'x' is not a duration"},
    {"run resnet18 --time-limit 2x",
     "--time-limit: '2x' is not a duration; write a number, alone or followed by ms, s or m"},
    {"run resnet18 --seed x", "--seed: 'x' is not a whole number of 0 or more; write digits alone, as 1"},
    {"run resnet18 --seed=-1", "--seed: '-1' is not a whole number of 0 or more"},
    {"run resnet18 --seed 0.5", "--seed: '0.5' is not a whole number of 0 or more"},
    {"run resnet18 --processes 1.5", "--processes: '1.5' is not a whole number; write digits alone"},
    {"run resnet18 --processes 1e1", "--processes: '1e1' is not a whole number; write digits alone, as 10"},
    {"run resnet18 --processes=-2", "--processes: Value -2 not in range 1 to 1000"},
    {"compare add:count=8 mul:count=8 --processes=-2", "--processes must be from 1 to 1000"},
    {"run resnet18 --launches-per-round 0", "--launches-per-round must be from 1 to 200"},
    {"run resnet18 --reference-clock 0", "--reference-clock must be in MHz, from 1 to 20000"},
    {"plan resnet50", "plan needs --from ("},
    {"run resnet18 --min-rounds 1e3",
     "--min-rounds: '1e3' is not a whole number; write digits alone, as 1000"},
    {"run resnet18 --placement 1.5", "--placement: '1.5' is not a whole number"},
    {"run resnet18 --local 1.5", "--local: '1.5' is not a whole number"},
    {"run resnet18 --precision x", "--precision = x: write a number"},
    {"compare add:count=8 mul:count=8 --processes 1.5",
     "--processes: '1.5' is not a whole number; write digits alone, as 8"},
    {"gate main --processes 1e1", "--processes: '1e1' is not a whole number; write digits alone, as 10"},
    {"study batch resnet18 --processes 1.5", "--processes: '1.5' is not a whole number"},
    {"replay x.json --processes 1.5", "--processes: '1.5' is not a whole number"},
    {"advise resnet18 --processes 1.5", "--processes: '1.5' is not a whole number"},
    {"methods add:count=8 --repetitions 1.5", "--repetitions: '1.5' is not a whole number"},
    {"engines add:count=8 --imitations 1.5", "--imitations: '1.5' is not a whole number"},
    {"collectives all_reduce:count=8 --rounds 1e3", "--rounds: '1e3' is not a whole number"},
    {"judge x --deadline 1.5", "--deadline: '1.5' is not a whole number"},
    {"run resnet18 --iterations 1,x", "--iterations: 'x' is not a whole number"},
    {"run resnet18 --iterations 10K", "write 10k (powers of 1000) or 10Ki"},
    {"run resnet18 --cache hot", "--cache: unknown word 'hot' (did you mean 'warm'?)"},
    {"run resnet18 --load Burst", "did you mean 'burst'?"},
    {"doctor cpu", "a device is given by --device cpu"},
    {"doctor --devce cpu", "doctor has no option '--devce' (did you mean '--device'?)"},
    {"list resnet18 resnet50", "list does not take 'resnet50' as well"},
    {"selftest --onyl x", "did you mean '--only'?"},
};

constexpr Typed kDevices[] = {
    {"run resnet18 --device GPU", "did you mean 'gpu'?"},
    {"run resnet18 --device cuda0", "did you mean 'cuda'?"},
    {"run resnet18 --device h200", "did you mean 'virtual:h200'?"},
    {"run resnet18 --device tpu", "there are auto, cpu, cuda, cuda:N, virtual and virtual:PRESET"},
};

constexpr Typed kOperations[] = {
    {"run conv2:", "did you mean 'conv2d'?), which takes n, c, hw, "},
    {"run conv2d", "write them after a colon, as in conv2d:n=32"},
    {"run conv2d:", "conv2d: n is missing; an example: conv2d:n=32"},
    {"run Conv2D:n=1", "did you mean 'conv2d'?"},
    {"run gemm:", "did you mean 'matmul'?), which takes m, n, k, batch, "},
    {"run gemm:m=64,n=64,k=64,layout=row", "did you mean 'matmul'?"},
    {"run bmm", "did you mean 'matmul'?"},
    {"run dense:n=1", "did you mean 'linear'?"},
    {"run fc:n=1", "did you mean 'linear'?"},
    {"run sdpa:batch=1", "did you mean 'attention'?"},
    {"run memcpy:bytes=4", "did you mean 'copy'?"},
    {"run conv2d: n=32, c=64", "in one piece, without spaces, as in conv2d:n=32,c=64"},
    {"run conv2d,n=1", "as in conv2d:n=1"},
    {"run 'matmul(m=1,n=2,k=3)'", "as in matmul:m=1,n=2,k=3"},
    {"run 'matmul(m=1, n=2, k=3)'", "without spaces, as in matmul:m=1,n=2,k=3"},
    {"run matmul:512,512,512", "'512' is not name=value; for example matmul:m="},
    {"run matmul:m=512,n=512", "matmul: k is missing"},
    {"run matmul:m=1,n=2,k=3,", "leave the comma out"},
    {"run matmul:m=1,,n=2,k=3", "leave the comma out"},
    {"run matmul:m=,n=2,k=3", "m has no value; write one behind m="},
    {"run matmul:M=1,n=2,k=3", "did you mean 'm'?"},
    {"run matmul:m=1,n=2,k=3,ta=yes", "did you mean '1'?"},
    {"run matmul:m=1,n=2,k=3,dtype=F16", "did you mean 'f16'?"},
    {"run matmul:m=1,n=2,k=3,dtype=Float16", "did you mean 'f16'?"},
    {"run matmul:m=1,n=2,k=3,dtype=int8", "known: f64, f32, tf32, f16, bf16"},
    {"run conv2d:batch=", "no parameter 'batch' (did you mean 'n'?)"},
    {"run conv2d:n=1,in_channels=3", "did you mean 'c'?"},
    {"run conv2d:n=1,kernel_size=3", "did you mean 'rs'?"},
    {"run conv2d:n=1,padding=3", "did you mean 'pad'?"},
    {"run conv2d:n=1,c=1,hw=56x28,k=1,rs=1", "write h=56,w=28"},
    {"run conv2d:n=1,c=1,hw=1,k=1,rs=1,layout=NHWC", "did you mean 'nhwc'?"},
    {"run conv2d:n=1,c=1,hw=1,k=1,rs=1,layout=channels_last", "did you mean 'nhwc'?"},
    {"run conv2d:n=1,c=1,hw=1,k=1,rs=1,direction=forward", "did you mean 'fprop'?"},
    {"run add:n=4", "did you mean 'count'?"},
    {"run add:count=64K", "write 64k (powers of 1000) or 64Ki (powers of 1024)"},
    {"run add:count=1MiB", "elements are counted here; write 1Mi"},
    {"run copy:size=1GiB", "did you mean 'bytes'?"},
    {"run copy:1GiB", "'1GiB' is not name=value; for example copy:bytes="},
    {"run spin:us=10", "did you mean 'ns'?"},
};

constexpr Typed kModels[] = {
    {"run resnet50,batch=32", "as in resnet50:batch=32"},
    {"run 'resnet50(batch=32)'", "as in resnet50:batch=32"},
    {"run resnet50 batch=32 dtype=f16", "as in resnet50:batch=32,dtype=f16"},
    {"run ResNet50", "did you mean 'resnet50'?"},
    {"run resnet-50:batch=2", "did you mean 'resnet50'?"},
    {"run bert", "did you mean 'bert-base'?"},
    {"run vit", "did you mean 'vit-b16'?"},
    {"run MobileNet", "did you mean 'mobilenet_v2'?"},
    {"run llama", "models are alexnet, bert-base, "},
    {"run resnet50:bs=2", "did you mean 'batch'?"},
    {"run resnet50:dytpe=f16", "did you mean 'dtype'?"},
    {"run resnet50:dtype=F16", "did you mean 'f16'?"},
    {"run resnet50:layout=channels_last", "did you mean 'nhwc'?"},
    {"run resnet50:direction=train", "did you mean 'training'?"},
    {"run resnet50:batch=0", "a number from 1 to 1048576"},
    {"run resnet50:batch=1..64*2", "lists and ranges are for operations"},
    {"run resnet50:batch=1,2", "with jitterscope compare resnet50 --vary batch=1,2"},
    {"run resnet50:dtype=f16,batch=1,2,layout=nhwc",
     "jitterscope compare resnet50:dtype=f16,layout=nhwc --vary batch=1,2"},
    {"run resnet50:32", "is not name=value, as batch=64"},
    {"run trace.json", "this file does not exist; check the path"},
    {"run model.onnx:batch=8", "model.onnx: this file does not exist"},
    {"run resnet18 --only conv1,fc", "for one or the other write 'conv1|fc'; layers are "},
};

// Before the seconds that a calibration takes.
constexpr Typed kImpossible[] = {
    {"run matmul:m=64,n=64,k=64,dtype=f16 --device cpu",
     "cpu has no f16 for matmul; write dtype= with one of f64, f32"},
    {"run add:count=1Ti --device cpu", "needs 12 TiB of memory, and cpu has"},
    {"run add:count=1Ti --device virtual:h200", "needs 12 TiB of memory, and virtual:h200 has"},
    {"run add:count=512Gi,1Ti --device cpu",
     "none of the 2 operations can run here; the first: add:count=549755813888"},
    {"methods add:count=1Ti --device cpu", "needs 12 TiB of memory, and cpu has"},
};

// What a name ends in says what is in the file.
constexpr Typed kFiles[] = {
    {"run resnet18 --html x.pdf",
     "--html: it writes a page, and 'x.pdf' is named as another file; write x.html"},
    {"run resnet18 --html x.json", "write x.html"},
    {"run resnet18 --html report.txt", "write report.html"},
    {"run resnet18 --plot x.html", "--plot x.html: a picture's name ends in .png or .svg"},
    {"run resnet18 --json x.html",
     "--json: it writes JSON, and 'x.html' is named as another file; write x.json"},
    {"run resnet18 --json x.json.gz", "write x.json"},
    {"run resnet18 --csv x.json", "--csv: it writes CSV"},
    {"run resnet18 --csv-launches x.PNG", "--csv-launches: it writes CSV"},
    {"compare add:count=8 mul:count=8 --json x.svg", "--json: it writes JSON"},
    {"gate main --junit x.json", "--junit: it writes XML"},
    {"gate main --markdown x.html", "--markdown: it writes Markdown"},
    {"selftest --markdown x.json",
     "--markdown: it writes Markdown, and 'x.json' is named as another file; write x.md"},
    {"report x.json -o x.svg", "--output: it writes a page"},
    {"history plot main --output x.pdf", "--output: it writes a page"},
    {"doctor --json x.csv", "--json: it writes JSON"},
};

constexpr Typed kComparisons[] = {
    {"compare", "for example jitterscope compare matmul:"},
    {"compare add:count=8", "two or more operations, models or records, or one with --vary NAME=VALUE,VALUE"},
    {"compare add:count=8 --vary dtype", "--vary dtype: write NAME=VALUE,VALUE"},
    {"compare add:count=8 --vary =f32,f16", "write NAME=VALUE,VALUE"},
    {"compare add:count=8 --vary dtype=f32", "needs two or more values"},
    {"compare add:count=8 --vary dtype=f32,,f16", "--vary dtype=f32,,f16: a value is empty"},
    {"compare add:count=8 --vary dtype=f32,f32", "--vary dtype=f32,f32: a value is given twice"},
    {"compare add:count=8 --vary dtyp=f32,f16",
     "--vary dtyp: add: no parameter 'dtyp' (did you mean 'dtype'?)"},
    {"compare add:count=8 --vary dtype=f32,f17", "'f17' is not a known dtype (did you mean 'f16'?)"},
    {"compare add:count=8 --vary load=burst,sustained",
     "conditions that can be varied: cache, data, queue, "},
    {"compare add:count=8 --vary cache=warm,hot", "unknown word 'hot' (did you mean 'warm'?)"},
    {"compare add:count=8 --vary provider=torch,tirch", "unknown word 'tirch' (did you mean 'torch'?)"},
    {"compare 'aten::relu(f32[8])' --vary dtype=f32,f16",
     "has no parameters by name; write the two operators"},
    {"compare add:count=8 mul:count=8 --vary dtype=f32,f16", "--vary varies one operation or model"},
    {"compare add:count=8 --vary count=1,2,3,4,5,6 --vary dtype=f32,f16,bf16 --vary cache=warm,cold",
     "36 combinations; at most 32"},
    {"compare add:count=8,16 mul:count=8", "add:count=8,16 is 2 operations and mul:count=8 is one"},
    {"compare add:count=8 resnet18", "a network and a single operation have no layer in common"},
    {"compare resnet18 bert-base --device virtual:h200",
     "resnet18 and bert-base have no layer of the same name"},
    {"compare add:count=8 mul:cont=8", "did you mean 'count'?"},
    {"compare add:count=8 mul:count=8 --margin x",
     "--margin: 'x' is not a percentage above 0 and below 100, as 1%"},
    {"compare add:count=8 mul:count=8 --margin 0", "--margin: '0' is not a percentage above 0"},
    {"compare add:count=8 mul:count=8 --margin 100%", "--margin: '100' is not a percentage"},
    {"compare add:count=8 mul:count=8 --margin nan", "--margin: 'nan' is not a percentage"},
    {"compare add:count=8 mul:count=8 --fail-if faster",
     "--fail-if: 'faster' is unknown; slower, or different"},
    {"compare add:count=8 mul:count=8 --processes 0", "--processes must be from 1 to 1000"},
    {"compare add:count=8 mul:count=8 --processes 1001", "--processes must be from 1 to 1000"},
    {"compare add:count=8 mul:count=8 --prcesses 3", "did you mean '--processes'?"},
    {"compare monday.json tuesday.json", "monday.json: this file does not exist"},
    {"compare add:count=8 add:count=1Ti --device virtual:h200", "needs 12 TiB of memory"},
    {"run add:count=8 --processes 0", "--processes: Value 0 not in range 1 to 1000"},
    {"run resnet18 --processes 3 --in-sequence", "leave one of them out"},
};

const auto kNumber = [](const testing::TestParamInfo<Typed>& row) { return std::to_string(row.index); };
INSTANTIATE_TEST_SUITE_P(OfTheCommandLine, Messages, testing::ValuesIn(kCommands), kNumber);
INSTANTIATE_TEST_SUITE_P(OfDevices, Messages, testing::ValuesIn(kDevices), kNumber);
INSTANTIATE_TEST_SUITE_P(OfOperations, Messages, testing::ValuesIn(kOperations), kNumber);
INSTANTIATE_TEST_SUITE_P(OfModels, Messages, testing::ValuesIn(kModels), kNumber);
INSTANTIATE_TEST_SUITE_P(OfFiles, Messages, testing::ValuesIn(kFiles), kNumber);
INSTANTIATE_TEST_SUITE_P(OfComparisons, Messages, testing::ValuesIn(kComparisons), kNumber);
INSTANTIATE_TEST_SUITE_P(OfWhatCannotRun, Messages, testing::ValuesIn(kImpossible), kNumber);

// What cannot be read is said in the same words by all commands.
TEST(Files, ThatCannotBeReadAreRefusedAlikeEverywhere) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("jitterscope-unreadable-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "a.json");
  std::ofstream(folder / "empty.json");
  std::ofstream(folder / "cut.json.gz", std::ios::binary) << "\x1f\x8b\x08";
  const std::string record = (folder / "whole.json").string();
  ASSERT_EQ(run_tool("run add:count=8 --json " + record + test::kQuick).exit_code, 0);
  const std::vector<std::pair<std::string, std::string>> files = {
      {"none.json", "this file does not exist; check the path and the folder you are in"},
      {"empty.json", "this file is empty; was it written, or copied, in full?"},
      {"cut.json.gz", "the gzip file ends before anything can be read; was it copied in full?"},
      {"a.json", "this is a folder, not a file; name a file in it"}};
  const std::vector<std::string> commands = {"run",
                                             "list",
                                             "show",
                                             "explain",
                                             "capture show",
                                             "compare " + record,
                                             "explain " + record,
                                             "report -o " + record + ".html"};
  for (const auto& [name, words] : files) {
    const std::string file = (folder / name).string();
    for (const std::string& command : commands) {
      if (name == "a.json" && command == "capture show") continue;  // takes folders
      const Outcome outcome = run_tool(command + ' ' + file);
      EXPECT_EQ(outcome.exit_code, 2) << command;
      EXPECT_EQ(outcome.errors, "jitterscope: " + file + ": " + words + '\n') << command;
    }
  }
  EXPECT_THAT(run_tool("capture show " + (folder / "a.json").string()).errors,
              HasSubstr("a.json: this is a folder, and no capture's"));
  std::filesystem::remove_all(folder);
}

TEST(GpuAsDevice, IsTheFirstOfCuda) {
  const Outcome gpu = run_tool("run spin:ns=1 --device gpu --dry-run");
  const Outcome cuda = run_tool("run spin:ns=1 --device cuda --dry-run");
  EXPECT_EQ(gpu.exit_code, cuda.exit_code);
  EXPECT_EQ(gpu.errors, cuda.errors);
  EXPECT_EQ(gpu.output, cuda.output);
}

TEST(Numbers, AreTakenAsPeopleTypeThem) {
  const Outcome plan = run_tool(
      "run add:count=1k,64Ki,1e6,2M copy:bytes=1GiB copy:bytes=1kB..1MB*1k --device cpu --dry-run "
      "--time-limit 2s "
      "--sustained-time-limit 2m --precision 1% --idle 10ms,0.1s --iterations 1,1k");
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  for (const char* operation :
       {"add:count=1000,", "add:count=65536,", "add:count=1000000,", "add:count=2000000,",
        "copy:bytes=1073741824,", "copy:bytes=1000,", "copy:bytes=1000000,"}) {
    EXPECT_THAT(plan.output, HasSubstr(operation));
  }
  EXPECT_THAT(plan.output, HasSubstr("Until ±1 %"));
  EXPECT_THAT(plan.output, HasSubstr("First come loops of 1, 1000 launches"));
  // The limits count in the time that it takes.
  const std::string run = "run add:count=1k --device cpu --dry-run --load burst ";
  EXPECT_EQ(run_tool(run + "--time-limit 500ms").output, run_tool(run + "--time-limit 0.5").output);
  EXPECT_EQ(run_tool(run + "--time-limit 2m").output, run_tool(run + "--time-limit 120").output);
  EXPECT_NE(run_tool(run + "--time-limit 2m").output, run_tool(run + "--time-limit 2").output);
}

class FullDevice : public testing::TestWithParam<const char*> {};

TEST_P(FullDevice, IsAnErrorOfEachCommandThatPrints) {
  const Outcome outcome = run_tool(std::string(GetParam()) + " >/dev/full");
  EXPECT_EQ(outcome.exit_code, 5) << GetParam();
  EXPECT_THAT(outcome.errors,
              HasSubstr("jitterscope: standard output cannot be written (No space left on device)"));
}

INSTANTIATE_TEST_SUITE_P(Commands, FullDevice,
                         testing::Values("run spin:ns=1000 --device virtual:quiet --cache warm --no-ceilings",
                                         "run resnet18 --device virtual:quiet --dry-run", "--help",
                                         "--version", "run --help", "list", "list resnet18",
                                         "doctor --device virtual:quiet", "selftest --list",
                                         "selftest --dry-run --device virtual:quiet", "reference man",
                                         "methods spin:ns=1000 --device virtual:quiet --dry-run"),
                         [](const auto& row) { return std::to_string(row.index); });

TEST(StandardOutput, ThatIsFullDoesNotKeepFilesFromBeingWritten) {
  const std::string file = testing::TempDir() + "/full_device.json";
  const Outcome outcome =
      run_tool("run spin:ns=1000" + test::kQuick + " --json " + file + " >/dev/full; cat " + file);
  EXPECT_THAT(outcome.errors, HasSubstr("standard output cannot be written"));
  EXPECT_THAT(outcome.output, testing::StartsWith("{\n \"format\": \"jitterscope"));
  std::filesystem::remove(file);
}

TEST(StandardError, ThatIsFullCostsNoResult) {
  const Outcome outcome = run_tool("run spin:ns=1000" + test::kQuick + " 2>/dev/full");
  EXPECT_EQ(outcome.exit_code % 4, 0);  // 4: these few rounds are not precise
  EXPECT_THAT(outcome.output, HasSubstr("spin:ns=1000"));
  EXPECT_EQ(run_tool("runn 2>/dev/full").exit_code, 2);
}

TEST(StandardOutput, MayBeClosedByAReaderThatHasEnough) {
  for (const char* before : {"", "trap '' PIPE; "}) {
    const Outcome outcome = run_tool("--version >/dev/null; " + std::string(before) +
                                     JITTERSCOPE_EXECUTABLE " reference commands | head -1");
    EXPECT_EQ(outcome.errors, "") << before;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << before;
  }
}

TEST(WhatCannotRun, IsSaidAndTheRestRuns) {
  const Outcome plan = run_tool("run add:count=4,1Ti --device cpu --dry-run");
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_THAT(plan.errors,
              HasSubstr("1 of 2 operations cannot run here and are left out; the first is add:count=1099"));
  // The CPU's loops take types that its products do not.
  const Outcome half = run_tool("run relu:count=64,dtype=f16 --device cpu --dry-run");
  EXPECT_EQ(half.exit_code, 0) << half.errors;
  EXPECT_EQ(half.errors, "");
}

}  // namespace
}  // namespace jitterscope
