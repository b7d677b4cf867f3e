// Hardware counters on a GPU. Where the machine lets nobody read them, that its refusal says what to ask for.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "provider_test.hpp"

namespace jitterscope {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class CountersOnGpu : public ProviderTest {
 protected:
  CountersOnGpu() : ProviderTest("cupti") {}

  std::unique_ptr<PreparedOperation> prepare(const std::string& operation) {
    return device().prepare(Operation::parse(operation), {});
  }

  /// Nothing where it is refused.
  std::optional<CounterReading> count(PreparedOperation& operation, CacheState cache,
                                      const std::vector<std::string>& names = {}) {
    const auto launch = [&] {
      queue().launch(operation);
      queue().wait();
    };
    try {
      const auto reader = device().count(names);
      return reader->read(
          [&] {
            launch();
            queue().set_cache(cache, operation);
            queue().wait();
          },
          launch);
    } catch (const MissingError& error) {
      EXPECT_THAT(error.what(), AnyOf(HasSubstr("ask the administrator"), HasSubstr("install"),
                                      HasSubstr("take another GPU")));
    } catch (const FailedError& error) {
      EXPECT_THAT(error.what(), HasSubstr("another tool holds")) << "else it is a mistake of ours";
    }
    return std::nullopt;
  }

  static double value_of(const CounterReading& reading, CounterQuantity quantity) {
    for (const CounterValue& value : reading.values) {
      if (value.quantity == quantity) return value.value.value_or(-1);
    }
    ADD_FAILURE() << "not read: " << to_string(quantity);
    return -1;
  }
};

// 32 MiB are read and 16 MiB written: less than half of them if the eviction or the range were wrong.
TEST_F(CountersOnGpu, AColdLaunchReadsItsInputsFromDram) {
  const auto add = prepare("add:count=4Mi");
  const auto cold = count(*add, CacheState::cold);
  if (!cold) return;
  EXPECT_GT(cold->passes, 1);
  EXPECT_GT(value_of(*cold, CounterQuantity::dram_bytes_read), 0.9 * (32 << 20));
  EXPECT_LT(value_of(*cold, CounterQuantity::dram_bytes_read), 1.5 * (32 << 20));
}

TEST_F(CountersOnGpu, AWarmLaunchThatFitsTheCacheHits) {
  const auto add = prepare("add:count=256Ki");
  const auto warm = count(*add, CacheState::warm), cold = count(*add, CacheState::cold);
  if (!warm || !cold) return;
  EXPECT_LT(value_of(*warm, CounterQuantity::dram_bytes_read),
            0.5 * value_of(*cold, CounterQuantity::dram_bytes_read));
  EXPECT_GT(value_of(*warm, CounterQuantity::l2_hit_rate), value_of(*cold, CounterQuantity::l2_hit_rate));
}

TEST_F(CountersOnGpu, ProcessorsWithoutABlockAreNotActive) {
  const auto one = prepare("spin:ns=100000,blocks=1"), all = prepare("spin:ns=100000,blocks=1056");
  const auto few = count(*one, CacheState::warm), many = count(*all, CacheState::warm);
  if (!few || !many) return;
  EXPECT_LT(value_of(*few, CounterQuantity::processors_active), 10.0);
  EXPECT_GT(value_of(*many, CounterQuantity::processors_active), 50.0);
}

TEST_F(CountersOnGpu, TensorUnitsWorkForProductsInF16) {
  const auto half = prepare("matmul:m=4096,n=4096,k=4096,dtype=f16"), add = prepare("add:count=4Mi");
  const auto product = count(*half, CacheState::warm), sum = count(*add, CacheState::warm);
  if (!product || !sum) return;
  EXPECT_GT(value_of(*product, CounterQuantity::tensor_active), 30.0);
  EXPECT_LT(value_of(*sum, CounterQuantity::tensor_active), 1.0);
}

TEST_F(CountersOnGpu, KernelsAreTracedBeforeAndAfter) {
  const auto spin = prepare("spin:ns=1000");
  const auto traced = [&] {
    const auto tracer = device().trace_kernels();
    queue().launch(*spin);
    queue().wait();
    return tracer->stop().size();
  };
  EXPECT_EQ(traced(), 1u);
  count(*spin, CacheState::warm);
  EXPECT_EQ(traced(), 1u);
  count(*spin, CacheState::warm);
}

TEST_F(CountersOnGpu, NamesAreKnownBeforeAnythingIsCounted) {
  EXPECT_THROW(device().check_counters({"nonsense__of_mine.sum"}), UsageError);
  device().check_counters({"dram__bytes_read.sum"});
  EXPECT_GT(device().list_counters().size(), 1000u);
}

}  // namespace
}  // namespace jitterscope
