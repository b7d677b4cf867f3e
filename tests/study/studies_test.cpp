// Which arms each study has, what they make of the work, and where a study cannot be asked.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "jitterscope/error.hpp"
#include "study/study.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class Studies : public testing::Test {
 protected:
  std::vector<Arm> arms(const std::string& id, const std::string& operation) {
    DeviceDescription description = device_->describe();
    description.data_types = data_types_;
    description.memory_free = memory_free_;
    return find_study(id).arms({*device_, description, {Operation::parse(operation)}});
  }
  std::vector<std::string> names(const std::string& id, const std::string& operation) {
    std::vector<std::string> names;
    for (const Arm& arm : arms(id, operation)) names.push_back(arm.name);
    return names;
  }
  std::string made(const std::string& id, const std::string& operation, std::size_t arm,
                   const std::string& of) {
    Trial trial{Operation::parse(of), {}};
    arms(id, operation).at(arm).apply(trial);
    return trial.operation.text();
  }

  std::unique_ptr<Device> device_ = open_device("virtual:h200");
  std::vector<DataType> data_types_ = {DataType::f64, DataType::f32, DataType::tf32, DataType::f16,
                                       DataType::bf16};
  Bytes memory_free_ = Bytes(std::int64_t{100} << 30);
};

TEST_F(Studies, EachSaysWhatItAsksAndOfWhat) {
  std::set<std::string> ids;
  for (const Study& study : all_studies()) {
    EXPECT_TRUE(ids.insert(study.id).second) << study.id;
    EXPECT_THAT(study.question, testing::EndsWith("?")) << study.id;
    EXPECT_FALSE(study.concerns.empty()) << study.id;
    // Its own subject is one that it can be asked of, on a GPU and on a CPU.
    for (const char* device : {"virtual:h200", "cpu"}) {
      for (const Operation& operation : parse_sweep(study.subject(open_device(device)->describe()))) {
        EXPECT_TRUE(study.can_be_asked_of(operation)) << study.id << ": " << operation.text();
      }
    }
    EXPECT_FALSE(study.can_be_asked_of(Operation::parse("spin:ns=1000"))) << study.id;
  }
}

TEST_F(Studies, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT([] { find_study("presicion"); },
              ThrowsMessage<UsageError>(HasSubstr("did you mean 'precision'")));
}

TEST_F(Studies, LayoutBeginsWithTheOneThatTheWorkHas) {
  EXPECT_THAT(names("layout", "conv2d:n=1,c=8,hw=8,k=8,rs=3"), ElementsAre("nchw", "nhwc"));
  EXPECT_THAT(names("layout", "max_pool:n=1,c=8,hw=8,window=2,stride=2,layout=nhwc"),
              ElementsAre("nhwc", "nchw"));
  EXPECT_THAT(made("layout", "conv2d:n=1,c=8,hw=8,k=8,rs=3", 1, "batch_norm:n=2,c=8,hw=8"),
              HasSubstr("layout=nhwc"));
}

TEST_F(Studies, PrecisionHasTheTypesOfTheDeviceAndBeginsWithTheWorks) {
  EXPECT_THAT(names("precision", "matmul:m=8,n=8,k=8,dtype=f16"),
              ElementsAre("f16", "f64", "f32", "tf32", "bf16"));
  // Nothing is multiplied: TF32 would be f32 once more.
  EXPECT_THAT(names("precision", "add:count=8"), ElementsAre("f32", "f64", "bf16", "f16"));
  data_types_ = {DataType::f32};
  EXPECT_THAT([&] { names("precision", "matmul:m=8,n=8,k=8"); },
              ThrowsMessage<UsageError>(HasSubstr("no other data type")));
}

TEST_F(Studies, Tf32LeavesAloneWhatMultipliesNothing) {
  const std::string product = "matmul:m=8,n=8,k=8,dtype=f16";
  EXPECT_THAT(made("precision", product, 3, product), HasSubstr("dtype=tf32"));
  EXPECT_THAT(made("precision", product, 3, "relu:count=8,dtype=f16"), HasSubstr("dtype=f32"));
}

TEST_F(Studies, BatchGrowsUntilMemoryOrTheDeviceIsFull) {
  EXPECT_THAT(names("batch", "linear:n=1,in=1024,out=1024"),
              ElementsAre("×1", "×2", "×4", "×8", "×16", "×32", "×64", "×128", "×256"));
  EXPECT_EQ(arms("batch", "linear:n=1,in=1024,out=1024").back().work, 256.0);
  EXPECT_EQ(made("batch", "linear:n=1,in=64,out=64", 3, "attention:batch=2,heads=2,queries=8,keys=8,dim=8"),
            Operation(Attention{.batch = 16, .heads = 2, .queries = 8, .keys = 8, .dim = 8}).text());
  memory_free_ = Bytes(1 << 20);
  EXPECT_THAT(names("batch", "relu:count=4Ki"), ElementsAre("×1", "×2", "×4", "×8"));  // a quarter of it
  EXPECT_THAT([&] { names("batch", "relu:count=1Gi"); },
              ThrowsMessage<UsageError>(HasSubstr("smaller batch")));
}

TEST_F(Studies, AProductOfWeightsHasNoBatch) {
  const Study& batch = find_study("batch");
  EXPECT_FALSE(batch.can_be_asked_of(Operation::parse("adam:count=8")));
  EXPECT_TRUE(batch.can_be_asked_of(Operation::parse("softmax:rows=8,columns=8")));
}

TEST_F(Studies, PinnedIsAboutTheHostsSideOfACopy) {
  EXPECT_THAT(names("pinned", "copy:bytes=4Ki,kind=h2d"), ElementsAre("pageable", "pinned"));
  EXPECT_THAT(made("pinned", "copy:bytes=4Ki,kind=d2h", 0, "copy:bytes=4Ki,kind=d2h"),
              HasSubstr("memory=pageable"));
  EXPECT_FALSE(find_study("pinned").can_be_asked_of(Operation::parse("copy:bytes=4Ki,kind=d2d")));
  device_ = open_device("cpu");
  EXPECT_THAT([&] { names("pinned", "copy:bytes=4Ki,kind=h2d"); },
              ThrowsMessage<UsageError>(HasSubstr("no copy between host and device")));
}

TEST_F(Studies, CompilerHasTheOptionsThatTheKernelCanBeCompiledWith) {
  const std::string kernel = "cuda:@saxpy:saxpy,grid=4,block=256";
  EXPECT_THAT(names("compiler", kernel),
              ElementsAre("as typed", "fast_math=1", "registers=32", "registers=64", "registers=128"));
  EXPECT_THAT(names("compiler", kernel + ",fast_math=1,registers=64"),
              ElementsAre("as typed", "fast_math=0", "registers=32", "registers=128"));
  // 128 registers for each of 1024 threads are twice as many as there are.
  EXPECT_THAT(names("compiler", "cuda:@saxpy:saxpy,grid=4,block=1024"),
              ElementsAre("as typed", "fast_math=1", "registers=32", "registers=64"));
  EXPECT_EQ(made("compiler", kernel, 0, kernel), kernel);
  EXPECT_EQ(made("compiler", kernel, 1, kernel), kernel + ",fast_math=1");
  EXPECT_EQ(made("compiler", kernel, 3, kernel), kernel + ",registers=64");
  EXPECT_FALSE(find_study("compiler").can_be_asked_of(Operation::parse("add:count=8")));
}

TEST_F(Studies, CompilerSaysThatResultsWereNotCompared) {
  ComparisonRecord record;
  record.alternatives = {"as typed", "fast_math=1"};
  Comparison comparison;
  comparison.alternative = 1;
  comparison.time = {0.5, 0.49, 0.51};
  comparison.verdict = statistics::EffectVerdict::faster;
  record.comparisons = {comparison};
  EXPECT_THAT(find_study("compiler").answer(record),
              ElementsAre(HasSubstr("fast_math=1 is 2.00 times as fast"), HasSubstr("-use_fast_math"),
                          HasSubstr("reference=")));
  record.comparisons[0].second.verification = Verification{.relative_error = 1e-6, .passed = true};
  EXPECT_THAT(find_study("compiler").answer(record), SizeIs(2));
}

TEST_F(Studies, OccupancyKeepsTheNumberOfThreads) {
  const std::string kernel = "cuda:@saxpy:saxpy,grid=12x2,block=256,n=3072";
  EXPECT_THAT(names("occupancy", kernel),
              ElementsAre("block=256", "block=64", "block=128", "block=512", "block=1024"));
  EXPECT_EQ(made("occupancy", kernel, 0, kernel), kernel);
  EXPECT_EQ(made("occupancy", kernel, 1, kernel), "cuda:@saxpy:saxpy,grid=48x2,block=64,n=3072");
  EXPECT_EQ(made("occupancy", kernel, 4, kernel), "cuda:@saxpy:saxpy,grid=3x2,block=1024,n=3072");
  EXPECT_THAT(names("occupancy", "cuda:@saxpy:saxpy,grid=3,block=128,registers=255"),
              ElementsAre("block=128", "block=64"));
  EXPECT_THAT([&] { names("occupancy", "cuda:@saxpy:saxpy,grid=7,block=32"); },
              ThrowsMessage<UsageError>(HasSubstr("multiple of 64")));
  const Study& occupancy = find_study("occupancy");
  EXPECT_FALSE(occupancy.can_be_asked_of(Operation::parse("cuda:@saxpy:saxpy,grid=1,block=8x8")));
  EXPECT_TRUE(occupancy.can_be_asked_of(Operation::parse("cuda:@saxpy:saxpy,grid=1x4,block=8")));
}

TEST_F(Studies, EngineNeedsEnginesToChooseFrom) {
  EXPECT_THAT([&] { names("engine", "matmul:m=8,n=8,k=8"); },
              ThrowsMessage<UsageError>(HasSubstr("no engines to choose from")));
  scripted::Script script;
  script.engines = {{.tag = "one", .workspace = {}, .source = {}, .notes = {}},
                    {.tag = "two", .workspace = {}, .source = {}, .notes = {}}};
  device_ = std::make_unique<scripted::ScriptedDevice>(script);
  EXPECT_THAT(names("engine", "matmul:m=8,n=8,k=8,engine=one"), ElementsAre("pytorch", "autotune", "best"));
  EXPECT_THAT(made("engine", "matmul:m=8,n=8,k=8", 0, "matmul:m=8,n=8,k=8,engine=one"),
              testing::Not(HasSubstr("engine=")));
  EXPECT_THAT(made("engine", "matmul:m=8,n=8,k=8", 2, "matmul:m=8,n=8,k=8,engine=one"),
              HasSubstr("engine=best"));
}

// What an arm is to a program: lines of Python, but for what PyTorch cannot do.
TEST_F(Studies, EachArmButTheFirstSaysWhatToWrite) {
  for (const Study& study : all_studies()) {
    const Operation operation = parse_sweep(study.subject(device_->describe())).front();
    if (study.id == "engine") continue;  // a simulated GPU has none
    const std::vector<std::string> all = names(study.id, operation.text());
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_FALSE(study.remedy(all[i]).lines.empty()) << study.id << ' ' << all[i];
    }
  }
  EXPECT_THAT(find_study("engine").remedy("autotune").lines, SizeIs(1));
  EXPECT_THAT(find_study("engine").remedy("best").lines, IsEmpty());
}

TEST_F(Studies, AGraphIsAboutLaunchesThatReturnEarly) {
  EXPECT_THAT(names("graph", "relu:count=1Ki"), ElementsAre("eager", "graph"));
  Trial trial{Operation::parse("relu:count=1Ki"), {}};
  arms("graph", "relu:count=1Ki").at(1).apply(trial);
  EXPECT_EQ(trial.options.queue, QueueMode::graph);
  EXPECT_FALSE(
      find_study("graph").can_be_asked_of(Operation::parse("copy:bytes=4Ki,kind=h2d,memory=pageable")));
  DeviceDescription cpu = device_->describe();
  cpu.capabilities.launches_return_early = false;
  EXPECT_THROW(find_study("graph").arms({*device_, cpu, {Operation::parse("relu:count=1Ki")}}), UsageError);
}

}  // namespace
}  // namespace jitterscope::study
