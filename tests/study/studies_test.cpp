// Which arms each study has, what they make of the work, and where a study cannot be asked.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "study/study.hpp"
#include "support/scripted_device.hpp"
#include "support/study_answers.hpp"

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
    return arms_of(id, {Operation::parse(operation)});
  }
  std::vector<Arm> arms_of(const std::string& id, const std::vector<Operation>& operations) {
    DeviceDescription description = device_->describe();
    description.data_types = data_types_;
    description.memory_free = memory_free_;
    if (host_memories_) description.capabilities.host_memories = *host_memories_;
    description.capabilities.memory_nodes = memory_nodes_;
    if (allocators_) description.capabilities.allocators = *allocators_;
    return find_study(id).arms({*device_, description, operations});
  }
  std::vector<std::string> names(const std::string& id, const std::string& operation) {
    std::vector<std::string> names;
    for (const Arm& arm : arms(id, operation)) names.push_back(arm.name);
    return names;
  }
  std::string made(const std::string& id, const std::string& operation, std::size_t arm,
                   const std::string& of) {
    OperationTrial trial{Operation::parse(of), {}};
    arms(id, operation).at(arm).apply(trial);
    return trial.operation.text();
  }

  std::unique_ptr<Device> device_ = open_device("virtual:h200");
  std::vector<DataType> data_types_ = {DataType::f64, DataType::f32, DataType::tf32, DataType::f16,
                                       DataType::bf16};
  Bytes memory_free_ = Bytes(std::int64_t{100} << 30);
  std::optional<std::vector<HostMemory>> host_memories_;
  std::optional<std::vector<Allocator>> allocators_;
  std::vector<int> memory_nodes_ = {0};
};

TEST_F(Studies, EachSaysWhatItAsksAndOfWhat) {
  std::set<std::string> ids;
  for (const Study& study : all_studies()) {
    EXPECT_TRUE(ids.insert(study.id).second) << study.id;
    EXPECT_THAT(study.question, testing::EndsWith("?")) << study.id;
    EXPECT_FALSE(study.concerns.empty()) << study.id;
    // Its own subject is one that it can be asked of, on a GPU and on a CPU.
    for (const char* device : {"virtual:h200", "cpu"}) {
      for (const std::string& subject : subjects_of(study, open_device(device)->describe())) {
        for (const Operation& operation : parse_sweep(subject)) {
          EXPECT_TRUE(study.can_be_asked_of(operation)) << study.id << ": " << operation.text();
        }
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
  EXPECT_THAT(names("layout", "conv2d:n=1,c=8,hw=8,k=8,rs=3"),
              ElementsAre("nchw", "nhwc", "nhwc, converted at the borders"));
  EXPECT_THAT(names("layout", "max_pool:n=1,c=8,hw=8,window=2,stride=2,layout=nhwc"),
              ElementsAre("nhwc", "nchw", "nchw, converted at the borders"));
  EXPECT_THAT(made("layout", "conv2d:n=1,c=8,hw=8,k=8,rs=3", 1, "batch_norm:n=2,c=8,hw=8"),
              HasSubstr("layout=nhwc"));
}

TEST_F(Studies, LayoutConvertsTheImagesThatGoInAndComeOut) {
  const std::string conv = "conv2d:n=2,c=3,hw=8,k=4,rs=3,pad=1,stride=2,dtype=f16";
  const auto converted = [&](const std::string& of) { return made("layout", conv, 2, of); };
  const std::string inner = "n=2,c=3,hw=8,k=4,rs=3,stride=2,pad=1,dtype=f16,layout=nhwc";
  EXPECT_EQ(converted(conv), "chain:[convert:n=2,c=3,hw=8,from=nchw,to=nhwc,dtype=f16][conv2d:" + inner +
                                 ",direction=fprop][convert:n=2,c=4,hw=4,from=nhwc,to=nchw,dtype=f16]");
  EXPECT_EQ(converted(conv + ",direction=dgrad"),
            "chain:[convert:n=2,c=4,hw=4,from=nchw,to=nhwc,dtype=f16][conv2d:" + inner +
                ",direction=dgrad][convert:n=2,c=3,hw=8,from=nhwc,to=nchw,dtype=f16]");
  EXPECT_EQ(converted(conv + ",direction=wgrad"),
            "chain:[convert:n=2,c=3,hw=8,from=nchw,to=nhwc,dtype=f16][conv2d:" + inner + ",direction=wgrad]")
      << "the gradient of the weights has their layout";
  for (const std::string& operation : std::initializer_list<std::string>{
           conv, conv + ",direction=dgrad", conv + ",direction=wgrad", "max_pool:n=1,c=8,hw=8,window=2",
           "avg_pool:n=1,c=8,hw=9,window=3,stride=2,pass=backward", "batch_norm:n=1,c=8,hw=8",
           "batch_norm:n=1,c=8,hw=8,pass=backward", "bias_add:n=1,c=8,hw=8"}) {
    const Operation made_of = Operation::parse(converted(operation));
    const Chain& chain = std::get<Chain>(made_of.parameters());
    for (std::size_t step = 1; step < chain.steps.size(); ++step) {
      EXPECT_TRUE(is_linked(chain, step)) << made_of.text();
    }
  }
  EXPECT_EQ(converted(conv + ",layout=nhwc"), Operation::parse(conv + ",layout=nhwc").text())
      << "it has the layout";
}

// What the conversions show is no remedy of its own, nor is worse code.
TEST_F(Studies, ArmsThatShowACostAreNotTriedByAdvice) {
  const auto remedies = [&](const std::string& id, const std::string& operation) {
    std::vector<std::string> tried;
    for (const Arm& arm : arms(id, operation)) {
      if (arm.is_remedy) tried.push_back(arm.name);
    }
    return tried;
  };
  EXPECT_THAT(remedies("layout", "conv2d:n=1,c=8,hw=8,k=8,rs=3"), ElementsAre("nchw", "nhwc"));
  EXPECT_THAT(remedies("precision", "linear:n=8,in=8,out=8"),
              ElementsAre("f32", "f64", "tf32", "bf16", "f16"));
  EXPECT_THAT(
      remedies("compiler", "cuda:@saxpy:saxpy,grid=4,block=1024"),
      ElementsAre("as typed", "fast_math=1", "optimize=1", "registers=32", "registers=64", "min_blocks=1"));
}

Comparison compared(std::size_t alternative, double ratio, statistics::EffectVerdict verdict) {
  Comparison comparison;
  comparison.alternative = alternative;
  comparison.time = {ratio, ratio, ratio};
  comparison.verdict = verdict;
  return comparison;
}

TEST_F(Studies, LayoutSaysWhatTheConversionsLeave) {
  using enum statistics::EffectVerdict;
  ComparisonRecord record;
  record.alternatives = {"nchw", "nhwc", "nhwc, converted at the borders"};
  const auto answer = [&](statistics::EffectVerdict other, double ratio,
                          statistics::EffectVerdict converted) {
    record.comparisons = {compared(1, 0.5, other), compared(2, ratio, converted)};
    return answers_to("layout", record);
  };
  EXPECT_THAT(answer(faster, 0.8, faster),
              ElementsAre(HasSubstr("**nhwc is faster than nchw: 1/2.0"), HasSubstr("channels_last"),
                          "With conversions at its borders it is still faster than nchw: -20.0 %."));
  EXPECT_THAT(
      answer(faster, 1.5, slower).back(),
      testing::AllOf(
          HasSubstr("**With conversions at its borders the gain is gone**: it is slower than nchw: +50.0"),
          HasSubstr("nhwc pays where the layers around it have that layout, too.")));
  EXPECT_THAT(answer(faster, 1.0, same).back(), HasSubstr("the gain is gone**: it is as fast as nchw."));
  EXPECT_THAT(answer(faster, 0.99, undecided).back(), HasSubstr("Not decided: whether a gain is left"));
  EXPECT_THAT(answer(slower, 2.0, slower), ElementsAre(HasSubstr("leave it as it is")));
}

TEST_F(Studies, PrecisionHasTheTypesOfTheDeviceAndBeginsWithTheWorks) {
  EXPECT_THAT(names("precision", "matmul:m=8,n=8,k=8,dtype=f16"),
              ElementsAre("f16", "f64", "f32", "tf32", "bf16"));
  // Nothing is multiplied: TF32 would be f32 once more.
  EXPECT_THAT(names("precision", "add:count=8"), ElementsAre("f32", "f64", "bf16", "f16"));
  EXPECT_THAT(names("precision", "matmul:m=8,n=8,k=8"),
              ElementsAre("f32", "f64", "tf32", "bf16", "f16", "autocast bf16", "autocast f16"));
  EXPECT_THAT(names("precision", "softmax:rows=8,columns=8"), ElementsAre("f32", "f64", "bf16", "f16"))
      << "autocast leaves it as it is";
  data_types_ = {DataType::f64, DataType::f32, DataType::bf16};
  EXPECT_THAT(names("precision", "matmul:m=8,n=8,k=8"), ElementsAre("f32", "f64", "bf16", "autocast bf16"));
  data_types_ = {DataType::f32};
  EXPECT_THAT([&] { names("precision", "matmul:m=8,n=8,k=8"); },
              ThrowsMessage<UsageError>(HasSubstr("no other data type")));
}

// The first arm changes nothing: where PyTorch runs convolutions in TF32 and products in f32, it does so.
TEST_F(Studies, PrecisionOfANetworkBeginsWithItAsItIs) {
  const std::vector<Operation> network = {Operation::parse("conv2d:n=1,c=8,hw=8,k=8,rs=3,dtype=tf32"),
                                          Operation::parse("relu:count=8"),
                                          Operation::parse("linear:n=8,in=8,out=8")};
  const std::vector<Arm> found = arms_of("precision", network);
  std::vector<std::string> names;
  for (const Arm& arm : found) names.push_back(arm.name);
  EXPECT_THAT(names,
              ElementsAre("tf32+f32", "f64", "f32", "tf32", "bf16", "f16", "autocast bf16", "autocast f16"));
  for (const Operation& operation : network) {
    OperationTrial trial{operation, {}};
    found.front().apply(trial);
    EXPECT_EQ(trial.operation, operation);
  }
  // Of one that has no product in f32, TF32 is what it is already.
  const std::vector<Arm> of_layers = arms_of("precision", {network[0], network[1]});
  EXPECT_EQ(of_layers[0].name, "tf32");
  EXPECT_THAT(found[2].remedy.lines, testing::Contains("torch.backends.cudnn.allow_tf32 = False"));
}

TEST_F(Studies, AutocastConvertsWhatAProductReads) {
  const auto autocast = [&](const std::string& of) { return made("precision", "matmul:m=8,n=8,k=8", 6, of); };
  EXPECT_EQ(autocast("linear:n=2,in=8,out=4"),
            "chain:[convert:count=16,dtype=f32,to_dtype=f16][linear:n=2,in=8,out=4,dtype=f16]");
  EXPECT_THAT(autocast("conv2d:n=1,c=2,hw=4,k=3,rs=1,dtype=tf32"),
              testing::StartsWith("chain:[convert:count=32,dtype=f32,to_dtype=f16][conv2d:"));
  // Their gradients leave as they came.
  EXPECT_THAT(autocast("conv2d:n=1,c=2,hw=4,k=3,rs=1,direction=dgrad"),
              testing::EndsWith("direction=dgrad][convert:count=32,dtype=f16,to_dtype=f32]"));
  EXPECT_THAT(autocast("conv2d:n=1,c=2,hw=4,k=3,rs=1,direction=wgrad"),
              testing::EndsWith("direction=wgrad][convert:count=6,dtype=f16,to_dtype=f32]"));
  EXPECT_EQ(autocast("relu:count=8"), "relu:count=8,dtype=f16");
  EXPECT_EQ(autocast("softmax:rows=8,columns=8"), "softmax:rows=8,columns=8,dtype=f32");
  EXPECT_EQ(autocast("matmul:m=8,n=8,k=8,dtype=f64"), "matmul:m=8,n=8,k=8,dtype=f64");
}

TEST_F(Studies, PrecisionSaysWhatAutocastsConversionLeaves) {
  using enum statistics::EffectVerdict;
  ComparisonRecord record;
  record.alternatives = {"f32", "bf16", "f16", "autocast bf16", "autocast f16"};
  record.comparisons = {compared(1, 0.3, faster), compared(2, 0.25, faster), compared(3, 0.6, faster),
                        compared(4, 0.5, faster)};
  EXPECT_EQ(
      answers_to("precision", record).back(),
      "With the conversion that torch.autocast makes where its input is in float32 it is faster than f32: "
      "1/2.000 of the time (1/2.000 to 1/2.000).");
  record.comparisons[1].verdict = record.comparisons[0].verdict = same;
  record.comparisons[2] = compared(3, 1.2, slower);
  record.comparisons[3] = compared(4, 1.2, slower);
  EXPECT_THAT(answers_to("precision", record), ElementsAre(HasSubstr("leave it as it is")));
}

TEST_F(Studies, Tf32LeavesAloneWhatMultipliesNothing) {
  const std::string product = "matmul:m=8,n=8,k=8,dtype=f16";
  EXPECT_THAT(made("precision", product, 3, product), HasSubstr("dtype=tf32"));
  EXPECT_THAT(made("precision", product, 3, "relu:count=8,dtype=f16"), HasSubstr("dtype=f32"));
}

TEST_F(Studies, BatchGrowsUntilMemoryOrTheDeviceIsFull) {
  EXPECT_THAT(names("batch", "linear:n=1,in=1024,out=1024"),
              ElementsAre("×1", "×2", "×4", "×8", "×16", "×32", "×64", "×128", "×256", "×1024", "×4096",
                          "×16384", "×65536"));
  EXPECT_EQ(arms("batch", "linear:n=1,in=1024,out=1024").back().work, 65536.0);
  EXPECT_EQ(arms("batch", "linear:n=1,in=8192,out=8192").back().work, 4096.0)
      << "what the host can check bounds nothing";
  EXPECT_EQ(made("batch", "linear:n=1,in=64,out=64", 3, "attention:batch=2,heads=2,queries=8,keys=8,dim=8"),
            Operation(Attention{.batch = 16, .heads = 2, .queries = 8, .keys = 8, .dim = 8}).text());
  memory_free_ = Bytes(1 << 20);
  EXPECT_THAT(names("batch", "relu:count=4Ki"), ElementsAre("×1", "×2", "×4", "×8"));  // a quarter of it
  EXPECT_THAT([&] { names("batch", "relu:count=1Gi"); },
              ThrowsMessage<UsageError>(HasSubstr("smaller batch")));
}

// One row is read of a table that takes 1 GiB.
TEST_F(Studies, BatchGrowsWhileOperandsFitAndNotWhatMoves) {
  const std::string table = "embedding:count=1,rows=1Mi,columns=256";
  EXPECT_THAT(names("batch", table), SizeIs(testing::Gt(4u)));
  memory_free_ = Bytes(std::int64_t{3} << 30);
  EXPECT_THAT([&] { names("batch", table); }, ThrowsMessage<UsageError>(HasSubstr("smaller batch")))
      << "a quarter of the memory does not hold it";
}

TEST_F(Studies, AGradientOfWeightsGrowsWithItsSamplesAndAChainWithItsSteps) {
  EXPECT_EQ(made("batch", "linear:n=1,in=64,out=64", 1, "matmul:m=8,n=16,k=32,ta=1"),
            Operation::parse("matmul:m=8,n=16,k=64,ta=1").text());
  const std::string chain = "chain:[linear:n=4,in=8,out=8][relu:count=32]";
  EXPECT_EQ(made("batch", chain, 1, chain),
            Operation::parse("chain:[linear:n=8,in=8,out=8][relu:count=64]").text());
}

TEST_F(Studies, AProductOfWeightsHasNoBatch) {
  const Study& batch = find_study("batch");
  EXPECT_FALSE(batch.can_be_asked_of(Operation::parse("matmul:m=8,n=8,k=8,ta=1,tb=1")));
  EXPECT_FALSE(batch.can_be_asked_of(Operation::parse("adam:count=8")));
  EXPECT_TRUE(batch.can_be_asked_of(Operation::parse("softmax:rows=8,columns=8")));
}

TEST_F(Studies, PinnedIsAboutTheHostsSideOfACopy) {
  EXPECT_THAT(names("pinned", "copy:bytes=4Ki,kind=h2d"), ElementsAre("pageable", "pinned", "registered"));
  host_memories_ = DeviceCapabilities().host_memories;
  EXPECT_THAT(names("pinned", "copy:bytes=4Ki,kind=h2d"),
              ElementsAre("pageable", "pinned", "registered", "registered_anew", "mapped"));
  EXPECT_THAT(made("pinned", "copy:bytes=4Ki,kind=d2h", 0, "copy:bytes=4Ki,kind=d2h"),
              HasSubstr("memory=pageable"));
  EXPECT_FALSE(find_study("pinned").can_be_asked_of(Operation::parse("copy:bytes=4Ki,kind=d2d")));
  device_ = open_device("cpu");
  EXPECT_THAT([&] { names("pinned", "copy:bytes=4Ki,kind=h2d"); },
              ThrowsMessage<UsageError>(HasSubstr("no copy between host and device")));
}

TEST_F(Studies, PinnedAsksEachNodeOfAHostWithSeveral) {
  memory_nodes_ = {0, 1};
  EXPECT_THAT(names("pinned", "copy:bytes=4Ki,kind=h2d"),
              ElementsAre("pageable", "pinned", "registered", "pinned on node 0", "pinned on node 1"));
  EXPECT_EQ(made("pinned", "copy:bytes=4Ki,kind=d2h", 4, "copy:bytes=4Ki,kind=d2h"),
            "copy:bytes=4096,kind=d2h,node=1");
  EXPECT_THAT(arms("pinned", "copy:bytes=4Ki,kind=h2d").back().remedy.lines,
              ElementsAre(HasSubstr("--membind=1")));
}

Comparison copied(std::int64_t bytes, HostMemory memory, double ratio, statistics::EffectVerdict verdict) {
  Comparison comparison;
  comparison.second.subject = Operation(Copy{bytes, CopyKind::h2d, memory});
  comparison.time = {ratio, ratio, ratio};
  comparison.verdict = verdict;
  comparison.alternative = memory == HostMemory::pinned ? 1 : 2;
  return comparison;
}

TEST_F(Studies, PinnedSaysFromWhichSizeOnEachWayPays) {
  using enum statistics::EffectVerdict;
  ComparisonRecord record;
  record.alternatives = {"pageable", "pinned", "registered_anew"};
  record.comparisons = {copied(4096, HostMemory::pinned, 0.9, faster),
                        copied(4096, HostMemory::registered_anew, 40, slower),
                        copied(1 << 20, HostMemory::pinned, 0.5, faster),
                        copied(1 << 20, HostMemory::registered_anew, 0.8, faster)};
  EXPECT_THAT(answers_to("pinned", record),
              ElementsAre(HasSubstr("Copies of 1 MiB from pinned memory are faster than pageable: 1/2.000"),
                          HasSubstr("pin_memory=True"), HasSubstr("(registered_anew) pays from 1 MiB on")));
  record.comparisons[3].verdict = slower;
  EXPECT_THAT(answers_to("pinned", record).back(), HasSubstr("is not shown to pay"));
  record.comparisons[1].verdict = faster;
  EXPECT_THAT(answers_to("pinned", record).back(), HasSubstr("pays up to 4 KiB"));
  for (const std::int64_t node : {0, 1}) {
    Comparison& comparison =
        record.comparisons.emplace_back(copied(1 << 20, HostMemory::pinned, 0.6, slower));
    comparison.second.subject = Operation(Copy{1 << 20, CopyKind::h2d, HostMemory::pinned, node});
    comparison.second.time.median = microseconds(20.0 + 5.0 * static_cast<double>(node));
  }
  EXPECT_THAT(answers_to("pinned", record).front(), HasSubstr("1/2.000 of the time")) << "nodes are apart";
  EXPECT_EQ(
      answers_to("pinned", record).back(),
      "Copies of 1 MiB take 20.0 µs with host memory on NUMA node 0, 25.0 µs with host memory on NUMA node 1.");
}

TEST_F(Studies, AllocatorsAreThoseOfTheDevice) {
  const std::string blocks = "allocation:bytes=1Mi,count=2,touch=0";
  EXPECT_THAT([&] { names("allocator", blocks); },
              ThrowsMessage<UsageError>(HasSubstr("gives out no memory")));
  allocators_ = DeviceCapabilities().allocators;
  EXPECT_THAT(names("allocator", blocks),
              ElementsAre("malloc", "pool", "pool_kept", "cache", "preallocated"));
  EXPECT_EQ(made("allocator", blocks, 3, blocks), "allocation:bytes=1048576,count=2,by=cache,touch=0");
  EXPECT_THAT(names("fragmentation", "allocation:pattern=@sequences"),
              ElementsAre("malloc", "pool_kept", "cache", "expandable", "preallocated"));
  EXPECT_FALSE(find_study("allocator").can_be_asked_of(Operation::parse("allocation:pattern=@sequences")));
  EXPECT_FALSE(find_study("fragmentation").can_be_asked_of(Operation::parse(blocks)));
  device_ = open_device("cpu");
  allocators_ = device_->describe().capabilities.allocators;
  EXPECT_THAT(names("allocator", blocks), ElementsAre("malloc", "cache", "preallocated"));
}

// Allocating is the host's work: a queue's marks would leave it out.
TEST_F(Studies, AllocationsAreTimedByTheHostWhereLaunchesReturnEarly) {
  allocators_ = DeviceCapabilities().allocators;
  OperationTrial trial{Operation::parse("allocation:bytes=1Mi"), {}};
  arms("allocator", "allocation:bytes=1Mi").at(1).apply(trial);
  EXPECT_EQ(trial.options.instrument, Instrument::host);
  device_ = open_device("cpu");
  allocators_ = device_->describe().capabilities.allocators;
  OperationTrial on_cpu{Operation::parse("allocation:bytes=1Mi"), {}};
  arms("allocator", "allocation:bytes=1Mi").at(1).apply(on_cpu);
  EXPECT_FALSE(on_cpu.options.instrument.has_value());
}

TEST_F(Studies, FragmentationSaysWhatEachTookAndWhatAllocatingCost) {
  ComparisonRecord record;
  record.alternatives = {"malloc", "cache", "preallocated"};
  for (const std::size_t alternative : {1, 2}) {
    Comparison comparison;
    comparison.alternative = alternative;
    comparison.time = {0.5, 0.49, 0.51};
    comparison.verdict = statistics::EffectVerdict::faster;
    comparison.first.time.median = microseconds(100);
    comparison.second.time.median = microseconds(alternative == 1 ? 50 : 20);
    comparison.first.held_memory = HeldMemory{Bytes(1 << 20), Bytes(1 << 20), std::nullopt};
    comparison.second.held_memory = HeldMemory{Bytes(1 << 20), Bytes(4 << 20), Bytes(2 << 20)};
    record.comparisons.push_back(comparison);
  }
  // The last one is the yardstick, not a winner.
  record.comparisons[1].time = {0.2, 0.19, 0.21};
  EXPECT_THAT(
      answers_to("fragmentation", record),
      testing::AllOf(testing::Contains(HasSubstr("cache is faster than malloc: 1/2.0")),
                     testing::Contains(HasSubstr("At most 1 MiB are in use at once: malloc takes 1 MiB (0")),
                     testing::Contains(HasSubstr("cache takes 4 MiB (75 % unused, the largest block 2 MiB)")),
                     testing::Contains("Allocating costs malloc 80.0 µs, cache 30.0 µs in a replay.")));
}

TEST_F(Studies, CompilerHasTheOptionsThatTheKernelCanBeCompiledWith) {
  const std::string kernel = "cuda:@saxpy:saxpy,grid=4,block=256";
  EXPECT_THAT(names("compiler", kernel), ElementsAre("as typed", "fast_math=1", "optimize=0", "optimize=1",
                                                     "registers=32", "registers=64", "registers=128",
                                                     "min_blocks=1", "min_blocks=4", "architecture=80"));
  EXPECT_THAT(names("compiler", kernel + ",fast_math=1,registers=64,optimize=1,architecture=80"),
              ElementsAre("as typed", "fast_math=0", "optimize=0", "optimize=3", "registers=32",
                          "registers=128", "min_blocks=1", "min_blocks=4"));
  // 128 registers for each of 1024 threads are twice as many as there are.
  EXPECT_THAT(names("compiler", "cuda:@saxpy:saxpy,grid=4,block=1024"),
              ElementsAre("as typed", "fast_math=1", "optimize=0", "optimize=1", "registers=32",
                          "registers=64", "min_blocks=1", "architecture=80"));
  EXPECT_EQ(made("compiler", kernel, 0, kernel), kernel);
  EXPECT_EQ(made("compiler", kernel, 1, kernel), kernel + ",fast_math=1");
  EXPECT_EQ(made("compiler", kernel, 2, kernel), kernel + ",optimize=0");
  EXPECT_EQ(made("compiler", kernel, 5, kernel + ",min_blocks=4"), kernel + ",registers=64");
  EXPECT_EQ(made("compiler", kernel, 8, kernel + ",registers=64"), kernel + ",min_blocks=4");
  EXPECT_EQ(made("compiler", kernel, 9, kernel), kernel + ",architecture=80");
  EXPECT_FALSE(find_study("compiler").can_be_asked_of(Operation::parse("add:count=8")));
}

TEST_F(Studies, CompilerTriesCodeForAnOlderGpuThanTheOneAtHand) {
  const auto last_arm = [&](const char* capability) {
    DeviceDescription description = device_->describe();
    description.properties = {{"compute_capability", capability}};
    const Operation kernel = Operation::parse("cuda:@saxpy:saxpy,grid=4,block=256");
    return find_study("compiler").arms({*device_, description, {kernel}}).back().name;
  };
  EXPECT_EQ(last_arm("12.0"), "architecture=80");
  EXPECT_EQ(last_arm("8.6"), "architecture=80");
  EXPECT_EQ(last_arm("8.0"), "architecture=75");
  EXPECT_EQ(last_arm("7.5"), "min_blocks=4");
}

TEST_F(Studies, OccupancyKeepsTheNumberOfThreads) {
  const std::string kernel = "cuda:@saxpy:saxpy,grid=12x2,block=256,n=3072";
  EXPECT_THAT(names("occupancy", kernel),
              ElementsAre("block=256", "block=64", "block=128", "block=512", "block=1024", "shared=24Ki",
                          "shared=48Ki", "shared=64Ki"));
  EXPECT_EQ(made("occupancy", kernel, 0, kernel), kernel);
  EXPECT_EQ(made("occupancy", kernel, 1, kernel), "cuda:@saxpy:saxpy,grid=48x2,block=64,n=3072");
  EXPECT_EQ(made("occupancy", kernel, 4, kernel), "cuda:@saxpy:saxpy,grid=3x2,block=1024,n=3072");
  EXPECT_THAT(names("occupancy", "cuda:@saxpy:saxpy,grid=3,block=128,registers=255"),
              ElementsAre("block=128", "block=64", "shared=24Ki", "shared=48Ki", "shared=64Ki"));
  EXPECT_EQ(made("occupancy", kernel, 6, kernel),
            "cuda:@saxpy:saxpy,grid=12x2,block=256,shared=49152,n=3072");
  EXPECT_THAT(names("occupancy", "cuda:@saxpy:saxpy,grid=2,block=128,shared=48Ki"),
              ElementsAre("block=128", "block=64", "block=256", "shared=64Ki"));
  EXPECT_THAT([&] { names("occupancy", "cuda:@saxpy:saxpy,grid=7,block=32"); },
              ThrowsMessage<UsageError>(HasSubstr("multiple of 64")));
  const Study& occupancy = find_study("occupancy");
  EXPECT_FALSE(occupancy.can_be_asked_of(Operation::parse("cuda:@saxpy:saxpy,grid=1,block=8x8")));
  EXPECT_TRUE(occupancy.can_be_asked_of(Operation::parse("cuda:@saxpy:saxpy,grid=1x4,block=8")));
}

TEST_F(Studies, TilingKeepsTheProductAndChangesItsBlocks) {
  const std::string plain =
      "cuda:@tiling:plain,grid=2x8,block=32x8,n=64,a=f32[4096],b=f32[4096],c=out:f32[4096]";
  EXPECT_THAT(names("tiling", plain),
              ElementsAre("plain", "tile=8", "tile=16", "tile=32", "conflicts", "padded"));
  EXPECT_EQ(made("tiling", plain, 0, plain), plain);
  EXPECT_THAT(made("tiling", plain, 2, plain),
              HasSubstr("cuda:@tiling:tiled<16>,grid=4x4,block=16x16,n=64,"));
  EXPECT_THAT(made("tiling", plain, 5, plain), HasSubstr("transposed<1>,grid=2x2,block=32x32,n=64,"));
  EXPECT_THAT(
      [&] { names("tiling", "cuda:@tiling:plain,grid=1,block=1,n=40,a=f32[1],b=f32[1],c=out:f32[1]"); },
      ThrowsMessage<UsageError>(HasSubstr("multiple of 32")));
  EXPECT_FALSE(find_study("tiling").can_be_asked_of(Operation::parse("cuda:@saxpy:saxpy,grid=1,block=8")));
}

TEST_F(Studies, WavesPartTheSameWorkByMoreBlocks) {
  const std::string kernel = "cuda:@waves:waves,grid=132,block=1024,reference=waves_reference,n=1024";
  EXPECT_THAT(names("waves", kernel), ElementsAre("1 wave", "1.01 waves", "1.5 waves", "2 waves"));
  EXPECT_EQ(made("waves", kernel, 0, kernel), Operation::parse(kernel).text());
  EXPECT_THAT(made("waves", kernel, 1, kernel), HasSubstr("grid=134,"));
  EXPECT_THAT(made("waves", kernel, 2, kernel), HasSubstr("grid=198,"));
  EXPECT_THAT(made("waves", kernel, 3, kernel), HasSubstr("grid=264,"));
  EXPECT_FALSE(find_study("waves").can_be_asked_of(Operation::parse("cuda:@waves:waves,grid=1,block=8")))
      << "without a reference nothing shows that grids compute the same";
}

TEST_F(Studies, AccessCopiesTheSameByEachPattern) {
  const std::string kernel =
      "cuda:@access:coalesced<float>,grid=16,block=256,n=16Ki,step=0,x=f32[16Ki],y=out:f32[16Ki]";
  EXPECT_THAT(names("access", kernel),
              ElementsAre("coalesced", "8 bytes", "16 bytes", "misaligned", "stride 2", "stride 4",
                          "stride 8", "stride 32", "random"));
  EXPECT_EQ(made("access", kernel, 0, kernel), Operation::parse(kernel).text());
  EXPECT_THAT(made("access", kernel, 2, kernel), HasSubstr("coalesced<float4>,grid=4,"));
  EXPECT_THAT(made("access", kernel, 7, kernel), HasSubstr("strided,grid=16,block=256,n=16384,step=32,"));
  EXPECT_EQ(find_study("access").amount(Operation::parse(kernel))->count, 2.0 * 4 * 16384);
  EXPECT_THAT(
      [&] {
        names("access", "cuda:@access:coalesced<float>,grid=1,block=8,n=1000,step=0,x=f32[1],y=f32[1]");
      },
      ThrowsMessage<UsageError>(HasSubstr("power of two")));
}

TEST_F(Studies, TheHierarchyIsOfTheDevice) {
  const std::string of_cpu = subjects_of(find_study("hierarchy"), open_device("cpu")->describe()).front();
  EXPECT_THAT([&] { names("hierarchy", of_cpu); }, ThrowsMessage<UsageError>(HasSubstr("simulated")));
  DeviceDescription gpu = device_->describe();
  gpu.capabilities.is_simulated = false;
  const Study& hierarchy = find_study("hierarchy");
  const std::vector<Arm> arms =
      hierarchy.arms({*device_, gpu, {Operation::parse(subjects_of(hierarchy, gpu).front())}});
  std::vector<std::string> names;
  std::map<std::string, Amount> amounts;
  for (const Arm& arm : arms) {
    OperationTrial trial{Operation::parse(of_cpu), {}};
    arm.apply(trial);
    names.push_back(arm.name);
    amounts[arm.name] = hierarchy.amount(trial.operation).value();
  }
  EXPECT_THAT(names, testing::Contains("L2, far half: latency"));
  EXPECT_EQ(amounts.at("L1: latency").unit, Amount::Unit::loads);
  EXPECT_EQ(amounts.at("L1: latency").count, 32768);
  // 132 blocks read 128 KiB each, 501 times.
  EXPECT_EQ(amounts.at("L1: bandwidth").unit, Amount::Unit::bytes);
  EXPECT_EQ(amounts.at("L1: bandwidth").count, 132.0 * 131072 * 501);
  EXPECT_EQ(amounts.at("host copy: bandwidth").count, 64.0 * 1024 * 1024);
  EXPECT_EQ(amounts.at("atomics: one address").unit, Amount::Unit::additions);
  EXPECT_EQ(amounts.at("atomics: one address").count, 264.0 * 1024 * 4);
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
  const std::vector<Arm> found = arms("engine", "matmul:m=8,n=8,k=8");
  EXPECT_THAT(found[1].remedy.lines, ElementsAre("torch.backends.cudnn.benchmark = True"));
  EXPECT_THAT(found[2].remedy.lines, IsEmpty());
}

// What an arm is to a program: lines of Python, but for what PyTorch cannot do.
TEST_F(Studies, EachArmButTheFirstSaysWhatToWrite) {
  for (const Study& study : all_studies()) {
    const Operation operation = parse_sweep(subjects_of(study, device_->describe()).front()).front();
    if (study.id == "engine" || study.id == "hierarchy") continue;  // a simulated GPU has none
    allocators_ = DeviceCapabilities().allocators;
    host_memories_ = DeviceCapabilities().host_memories;
    const std::vector<Arm> all = arms(study.id, operation.text());
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_TRUE(all[i].is_bound || !all[i].remedy.lines.empty()) << study.id << ' ' << all[i].name;
    }
  }
}

// Python compiles what is to be pasted into a program, and says where it cannot.
TEST_F(Studies, LinesForPyTorchArePython) {
  allocators_ = DeviceCapabilities().allocators;
  host_memories_ = DeviceCapabilities().host_memories;
  std::string programs;
  std::int64_t count = 0;
  for (const Study& study : all_studies()) {
    if (study.id == "engine" || study.id == "hierarchy") continue;
    const Operation operation = parse_sweep(subjects_of(study, device_->describe()).front()).front();
    for (const Arm& arm : arms(study.id, operation.text())) {
      const Remedy& remedy = arm.remedy;
      if (remedy.place != "In PyTorch" || remedy.lines.empty()) continue;
      if (count++ > 0) programs += '\x1e';
      for (const std::string& line : remedy.lines) programs += line + '\n';
    }
  }
  EXPECT_GT(count, 20);
  SubprocessLimits limits;
  limits.input = programs;
  const SubprocessOutcome outcome =
      run_subprocess({"/usr/bin/env", "python3", "-c",
                      "import sys\nfor text in sys.stdin.read().split(chr(30)): compile(text, text, 'exec')"},
                     limits);
  if (outcome.exit_code == 127) GTEST_SKIP() << "there is no python3";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
}

TEST_F(Studies, KernelsOfAUsersOwnAreLaunchedInCuda) {
  const std::vector<Operation> kernel = {Operation::parse("cuda:@saxpy:saxpy,grid=1,block=64,y=out:f32[8]")};
  const std::vector<Operation> relu = {Operation::parse("relu:count=8")};
  for (const char* id : {"graph", "streams", "priorities"}) {
    const Arm arm = arms(id, "relu:count=8").at(1);
    EXPECT_EQ(remedy_of(arm, kernel).place, "In CUDA") << id;
    EXPECT_EQ(remedy_of(arm, relu).place, "In PyTorch") << id;
  }
  EXPECT_THAT(remedy_of(arms("graph", "relu:count=8").at(1), kernel).lines,
              testing::Contains(HasSubstr("cudaGraphLaunch")));
  ComparisonRecord record;
  record.alternatives = {"eager", "graph"};
  record.comparisons = {compared(1, 0.5, statistics::EffectVerdict::faster)};
  record.comparisons[0].first.subject = kernel[0];
  EXPECT_THAT(answers_to("graph", record).back(),
              testing::AllOf(HasSubstr("In CUDA:\n    cudaStreamBeginCapture(stream"),
                             testing::Not(HasSubstr("model("))));
}

TEST_F(Studies, AGraphIsAboutLaunchesThatReturnEarly) {
  EXPECT_THAT(names("graph", "relu:count=1Ki"), ElementsAre("eager", "graph"));
  OperationTrial trial{Operation::parse("relu:count=1Ki"), {}};
  arms("graph", "relu:count=1Ki").at(1).apply(trial);
  EXPECT_EQ(trial.options.queue, QueueMode::graph);
  EXPECT_FALSE(trial.options.instrument) << "as an operation of a network, in a graph of many launches";
  EXPECT_FALSE(
      find_study("graph").can_be_asked_of(Operation::parse("copy:bytes=4Ki,kind=h2d,memory=pageable")));
  DeviceDescription cpu = device_->describe();
  cpu.capabilities.launches_return_early = false;
  EXPECT_THROW(find_study("graph").arms({*device_, cpu, {Operation::parse("relu:count=1Ki")}}), UsageError);
}

TEST_F(Studies, LaunchesThatDoNotNeedEachOtherAreOneGraphOrOneLaunch) {
  const std::string lanes = "chain:[relu:count=1Ki],lanes=100";
  EXPECT_THAT(names("graph", lanes), ElementsAre("eager", "graph", "batched"));
  EXPECT_EQ(made("graph", lanes, 0, lanes), Operation::parse(lanes).text());
  EXPECT_EQ(made("graph", lanes, 2, lanes), Operation::parse("relu:count=102400").text());
  OperationTrial trial{Operation::parse(lanes), {}};
  arms("graph", lanes).at(1).apply(trial);
  EXPECT_EQ(trial.options.queue, QueueMode::graph);
  EXPECT_EQ(trial.options.instrument, Instrument::events) << "a replay for each launch of the chain";
  for (const char* other : {"chain:[relu:count=1Ki]*2", "chain:[adam:count=1Ki],lanes=2",
                            "chain:[relu:count=1Ki],lanes=2,streams=2"}) {
    EXPECT_THAT(names("graph", other), ElementsAre("eager", "graph")) << other;
  }
}

struct GraphOutcome {
  const char* subject;
  double ratio;
  statistics::EffectVerdict verdict;
  double eager;  // us
  std::size_t alternative = 1;
};

std::vector<std::string> graph_answers(const std::vector<GraphOutcome>& outcomes) {
  ComparisonRecord record;
  record.alternatives = {"eager", "graph", "batched"};
  for (const GraphOutcome& outcome : outcomes) {
    Comparison comparison;
    comparison.first.subject = Operation::parse(outcome.subject);
    comparison.alternative = outcome.alternative;
    comparison.time = {outcome.ratio, outcome.ratio * 0.99, outcome.ratio * 1.01};
    comparison.verdict = outcome.verdict;
    comparison.first.time.median = microseconds(outcome.eager);
    comparison.second.time.median = microseconds(outcome.eager * outcome.ratio);
    record.comparisons.push_back(comparison);
  }
  return answers_to("graph", record);
}

TEST_F(Studies, AGraphPaysFromANumberOfLaunchesOn) {
  using enum statistics::EffectVerdict;
  using testing::AllOf;
  const std::vector<std::string> answers =
      graph_answers({{"chain:[relu:count=1Ki],lanes=100", 0.25, faster, 200},
                     {"chain:[relu:count=1Ki],lanes=1", 1.1, slower, 2},
                     {"chain:[relu:count=1Ki],lanes=10", 0.4, faster, 20},
                     {"chain:[relu:count=4Mi],lanes=10", 1.0, same, 90}});
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_THAT(answers[0],
              AllOf(HasSubstr("pays from 10 launches on**: it is faster than eager: 1/2.50"),
                    HasSubstr("with 100 it is faster than eager: 1/4.0"), HasSubstr("The host is the limit"),
                    HasSubstr("each takes 2.00 µs one by one, 500 ns in a graph of 100")));
  EXPECT_THAT(answers[1], AllOf(HasSubstr("count=4194304"), HasSubstr("does not pay"), HasSubstr("9.00 µs"),
                                HasSubstr("the kernel is the limit, not the host")));
  EXPECT_THAT(answers[2], HasSubstr("torch.cuda.CUDAGraph()"));
  EXPECT_THAT(
      graph_answers({{"chain:[relu:count=1Mi],lanes=10", 0.9, faster, 30}}),
      testing::Contains(AllOf(
          HasSubstr("**A graph of 10 launches of relu:count=1048576,dtype=f32 is faster than eager: -10.0"),
          HasSubstr("The kernel is the limit, and not the host: each takes 3.00 µs"))));
  EXPECT_THAT(graph_answers({{"chain:[relu:count=1Ki],lanes=1", 1.0, same, 2}}),
              ElementsAre(HasSubstr("saves nothing")));
  EXPECT_THAT(graph_answers({{"chain:[relu:count=1Ki],lanes=8", 0.9, undecided, 2}}),
              ElementsAre(HasSubstr("not shown to pay")));
}

TEST_F(Studies, OneLargeLaunchIsNamedByWhatItGains) {
  using enum statistics::EffectVerdict;
  const std::vector<std::string> answers =
      graph_answers({{"chain:[relu:count=1Ki],lanes=100", 0.25, faster, 200},
                     {"chain:[relu:count=1Ki],lanes=100", 0.02, faster, 200, 2}});
  EXPECT_THAT(answers, testing::Contains(testing::AllOf(HasSubstr("as large as 100 of relu:count=1024"),
                                                        HasSubstr("4.00 µs: it is faster than eager: 1/50.0"),
                                                        HasSubstr("torch.stack"))));
}

}  // namespace
}  // namespace jitterscope::study
