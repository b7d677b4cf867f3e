#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "device/cpu/brute_force_layers.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/reference.hpp"
#include "operation/chain.hpp"
#include "operation/random_operation.hpp"

namespace jitterscope {
namespace {

using testing::Tensors;

Tensors outputs_of(const Operation& operation, const Tensors& inputs) {
  Reference reference(operation, inputs);
  Tensors outputs;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::input) continue;
    std::vector<double>& output = outputs.emplace_back();
    for (std::int64_t i = 0; i < operand.count; ++i) {
      output.push_back(reference.element(outputs.size() - 1, i));
    }
  }
  return outputs;
}

std::vector<double> random_values(const Operand& operand, testing::RandomOperation& random) {
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  for (double& value : values) {
    value = operand.dtype == DataType::i64 ? static_cast<double>(random.number(operand.index_limit) - 1)
                                           : random.normal();
    if (operand.non_negative) value = std::abs(value);
    // Kept in f32 beside tensors of any type.
    if (operand.name == "logsumexp") value = static_cast<float>(value);
  }
  return values;
}

Tensors random_inputs(const Operation& operation, testing::RandomOperation& random) {
  Tensors inputs;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::input) inputs.push_back(random_values(operand, random));
  }
  return inputs;
}

void expect_near(const Tensors& actual, const Tensors& expected, const Operation& operation) {
  const std::string what = operation.text();
  const std::vector<Operand> operands = operation.operands();
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t output = 0; output < actual.size(); ++output) {
    ASSERT_EQ(actual[output].size(), expected[output].size()) << what << " output " << output;
    for (std::size_t i = 0; i < actual[output].size(); ++i) {
      const bool is_f32 = operands[operands.size() - actual.size() + output].name == "logsumexp";
      const double room = (is_f32 ? 0x1p-24 : 1e-9) * std::max(1.0, std::abs(expected[output][i]));
      ASSERT_NEAR(actual[output][i], expected[output][i], room)
          << what << " output " << output << " at " << i;
    }
  }
}

template <class Make>
void expect_brute_force(std::uint64_t seed, const Make& make) {
  testing::RandomOperation random(seed);
  for (int i = 0; i < 200; ++i) {
    const auto shape = make(random);
    const Operation operation(shape);
    const Tensors inputs = random_inputs(operation, random);
    expect_near(outputs_of(operation, inputs), testing::brute_force(shape, inputs), operation);
  }
}

TEST(LayerReference, BatchNormalizationAgreesWithItsJacobian) {
  expect_brute_force(3, [](auto& random) {
    BatchNorm norm = random.batch_norm(4);
    norm.h += 1;  // one element alone has no variance, and its square less its square is noise
    return norm;
  });
}
TEST(LayerReference, LayerNormalizationAgreesWithItsJacobian) {
  expect_brute_force(5, [](auto& random) {
    return LayerNorm{random.number(6), 1 + random.number(6), DataType::f64, random.training_pass()};
  });
}
TEST(LayerReference, SoftmaxAgreesWithItsJacobian) {
  expect_brute_force(7, [](auto& random) {
    return Softmax{random.flag(), random.number(6), random.number(6), DataType::f64, random.training_pass()};
  });
}
TEST(LayerReference, PoolingAgreesWithTheScatterForm) {
  expect_brute_force(11, [](auto& random) { return random.pool2d(4); });
}
TEST(LayerReference, BiasesAgreeWithTheirStrides) {
  expect_brute_force(13, [](auto& random) { return random.bias_add(4); });
}
TEST(LayerReference, ConversionsAgreeWithTheirStrides) {
  expect_brute_force(43, [](auto& random) { return random.convert(6); });
}
TEST(LayerReference, EmbeddingsAgreeWithTheScatterForm) {
  expect_brute_force(17, [](auto& random) {
    return Embedding{random.number(9), random.number(9), random.number(4), DataType::f64,
                     random.training_pass()};
  });
}
TEST(LayerReference, OptimizersAgreeWithTheirPapers) {
  expect_brute_force(19, [](auto& random) {
    return OptimizerStep{random.optimizer_kind(), random.number(20), DataType::f64};
  });
}
TEST(LayerReference, AttentionAgreesWithWholeMatrices) {
  expect_brute_force(23, [](auto& random) { return random.attention(6); });
}

// All keys have the same weight. In f32 each of the small values would be lost beside the sum.
TEST(LayerReference, AttentionSumsManyKeysInDouble) {
  const Operation attention =
      Operation::parse("attention:batch=1,heads=1,queries=1,keys=4097,dim=1,layout=bshd,dtype=f32");
  const cpu::InputTable zeros(InputData{.kind = DataKind::zeros});
  const auto prepared = cpu::prepare(attention, zeros);
  std::vector<double> values(4097, 0x1p-24);
  values.front() = 1.0;
  dynamic_cast<cpu::CpuOperation&>(*prepared).write_operand(2, values);
  prepared->run(nullptr);
  EXPECT_NEAR(prepared->read_operand(3).front() * 4097.0, 1.0 + 0x1p-12, 1e-5);
}

// A layer, forward and backward: what a backward operand is called says where it comes from.
struct DifferentiatedLayer {
  Operation forward, backward;
};

// dL/d(input) of L = sum of dy times y, by central differences.
std::vector<double> differences(const Operation& forward, Tensors inputs, std::size_t input,
                                const std::vector<double>& dy) {
  constexpr double kStep = 1e-5;
  const auto loss = [&] {
    const Tensors outputs = outputs_of(forward, inputs);
    double sum = 0.0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += dy[i] * outputs[0][i];
    return sum;
  };
  std::vector<double> result;
  for (double& value : inputs[input]) {
    const double before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    result.push_back((above - loss()) / (2.0 * kStep));
    value = before;
  }
  return result;
}

void expect_gradients(const DifferentiatedLayer& layer, testing::RandomOperation& random) {
  const Tensors inputs = random_inputs(layer.forward, random);
  const Tensors outputs = outputs_of(layer.forward, inputs);
  std::map<std::string, std::vector<double>> known;
  std::map<std::string, std::size_t> places;
  std::size_t input = 0, output = 0;
  for (const Operand& operand : layer.forward.operands()) {
    if (operand.role == OperandRole::input) places[operand.name] = input;
    known[operand.name] = operand.role == OperandRole::input ? inputs[input++] : outputs[output++];
  }
  Tensors backward_inputs;
  for (const Operand& operand : layer.backward.operands()) {
    if (operand.name == "dy") known["dy"] = random_values(operand, random);
    if (operand.role == OperandRole::input) backward_inputs.push_back(known.at(operand.name));
  }
  const Tensors gradients = outputs_of(layer.backward, backward_inputs);
  output = 0;
  for (const Operand& operand : layer.backward.operands()) {
    if (operand.role == OperandRole::input) continue;
    const std::vector<double> expected =
        differences(layer.forward, inputs, places.at(operand.name.substr(1)), known["dy"]);
    const std::vector<double>& actual = gradients[output++];
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      // Rounding of the loss over the step 1e-11, curvature 1e-10 times third derivatives.
      EXPECT_NEAR(actual[i], expected[i], 1e-6)
          << layer.backward.text() << " " << operand.name << " at " << i;
    }
  }
}

class Gradients : public ::testing::TestWithParam<const char*> {};

TEST_P(Gradients, AreThoseOfFiniteDifferences) {
  const std::string text = GetParam();
  testing::RandomOperation random(29);
  for (int i = 0; i < 5; ++i) {
    expect_gradients({Operation::parse(text), Operation::parse(text + ",pass=backward")}, random);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, Gradients,
    ::testing::Values("batch_norm:n=2,c=3,h=4,w=3,dtype=f64", "batch_norm:n=2,c=3,hw=3,layout=nhwc,dtype=f64",
                      "layer_norm:rows=3,columns=7,dtype=f64", "softmax:rows=3,columns=5,dtype=f64",
                      "log_softmax:rows=3,columns=5,dtype=f64",
                      "max_pool:n=2,c=2,h=6,w=7,window=3,stride=2,pad=1,dtype=f64",
                      "max_pool:n=1,c=2,hw=6,window=2x3,stride=1,layout=nhwc,dtype=f64",
                      "avg_pool:n=2,c=2,h=6,w=7,window=3x2,stride=2,pad=1,dtype=f64",
                      "embedding:count=6,rows=4,columns=3,dtype=f64",
                      "attention:batch=2,heads=2,queries=4,keys=5,dim=3,dtype=f64",
                      "attention:batch=1,heads=2,queries=5,keys=4,dim=3,causal=1,dtype=f64",
                      "attention:batch=2,heads=4,kv_heads=2,queries=4,keys=5,dim=3,dtype=f64",
                      "attention:batch=1,heads=3,kv_heads=1,queries=5,keys=4,dim=3,causal=1,dtype=f64"));

TEST(ActivationGradients, AreThoseOfFiniteDifferences) {
  testing::RandomOperation random(31);
  for (const char* kind : {"relu", "relu6", "sigmoid", "tanh", "silu", "gelu"}) {
    expect_gradients({Operation::parse(std::string(kind) + ":count=40,dtype=f64"),
                      Operation::parse(std::string(kind) + "_backward:count=40,dtype=f64")},
                     random);
  }
}

TEST(ActivationReference, ByHand) {
  const auto value = [](const char* text, const Tensors& inputs) {
    return outputs_of(Operation::parse(text), inputs)[0][0];
  };
  EXPECT_EQ(value("mul:count=1", {{3}, {-2}}), -6.0);
  EXPECT_EQ(value("relu6:count=1", {{7}}), 6.0);
  EXPECT_EQ(value("relu6:count=1", {{-7}}), 0.0);
  EXPECT_EQ(value("relu6_backward:count=1", {{5}, {6}}), 0.0);
  EXPECT_EQ(value("relu6_backward:count=1", {{5}, {5.9}}), 5.0);
  EXPECT_EQ(value("relu_backward:count=1", {{5}, {0}}), 0.0);
  EXPECT_EQ(value("sigmoid:count=1", {{0}}), 0.5);
  EXPECT_DOUBLE_EQ(value("tanh:count=1", {{1}}), 0.76159415595576488812);
  EXPECT_DOUBLE_EQ(value("silu:count=1", {{1}}), 0.73105857863000487925);
  EXPECT_DOUBLE_EQ(value("gelu:count=1", {{1}}), 0.84134474606854294859);
  EXPECT_TRUE(std::isnan(value("relu6:count=1", {{std::nan("")}})));
}

TEST(LayerReference, TheFirstOfEqualElementsIsTheLargest) {
  const Tensors outputs =
      outputs_of(Operation::parse("max_pool:n=1,c=1,hw=3,window=3"), {{1, 2, 2, 2, 1, 2, 0, 0, 0}});
  EXPECT_EQ(outputs, (Tensors{{2}, {1}}));
}

TEST(LayerReference, PaddingCountsInTheAverage) {
  const Tensors outputs =
      outputs_of(Operation::parse("avg_pool:n=1,c=1,hw=2,window=2,pad=1"), {{4, 8, 12, 16}});
  EXPECT_EQ(outputs, (Tensors{{1, 2, 3, 4}}));
}

TEST(LayerReference, LargeLayersAreSampledSmallOnesCheckedWhole) {
  const Operation small = Operation::parse("batch_norm:n=32,c=64,hw=56");
  EXPECT_EQ(std::ssize(reference_sample(small)), 32 * 64 * 56 * 56);
  EXPECT_EQ(std::ssize(reference_sample(small, 1)), 64);
  const Operation large = Operation::parse("attention:batch=8,heads=16,queries=2048,dim=64");
  EXPECT_LT(std::ssize(reference_sample(large)), 4000);
  EXPECT_GE(std::ssize(reference_sample(large)), 256);
  for (const std::int64_t index : reference_sample(large, 1)) ASSERT_LT(index, 8 * 16 * 2048);
}

// A convolution's output in nchw; a region of it is what a faulty tile, channel or edge leaves wrong.
struct Region {
  std::int64_t n = 0, n_end = 1, k = 0, k_end = 1, p = 0, p_end = 1, q = 0, q_end = 1;
};

class LookedAt : public ::testing::Test {
 protected:
  bool is_found(const Region& region) const {
    const auto [n, k, p, q] = kShape;
    return std::ranges::any_of(sample_, [&](std::int64_t index) {
      const std::int64_t column = index % q, row = index / q % p, channel = index / q / p % k,
                         image = index / q / p / k;
      return image >= region.n && image < region.n_end && channel >= region.k && channel < region.k_end &&
             row >= region.p && row < region.p_end && column >= region.q && column < region.q_end;
    });
  }
  static constexpr std::array<std::int64_t, 4> kShape = {64, 512, 28, 28};

  const Operation conv_ = Operation::parse("conv2d:n=64,c=256,hw=28,k=512,rs=3,pad=1");
  const std::vector<std::int64_t> sample_ = reference_sample(conv_);
};

TEST_F(LookedAt, AreTheCornersAndTheLastElementAlways) {
  const std::int64_t total = conv_.operands().back().count;
  ASSERT_LT(std::ssize(sample_), total / 1000);
  EXPECT_THAT(sample_, ::testing::AllOf(::testing::Contains(0), ::testing::Contains(total - 1)));
  for (const std::int64_t n : {0, 63}) {
    for (const std::int64_t k : {0, 511}) {
      for (const std::int64_t p : {0, 27}) {
        for (const std::int64_t q : {0, 27}) {
          EXPECT_TRUE(is_found({n, n + 1, k, k + 1, p, p + 1, q, q + 1}))
              << n << ' ' << k << ' ' << p << ' ' << q;
        }
      }
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(sample_));
  for (const char* text : {"matmul:m=3000,n=4000,k=500,batch=3", "linear:n=3000,in=5000,out=4001",
                           "conv2d:n=64,c=64,hw=56,k=65,rs=3,direction=wgrad",
                           "attention:batch=8,heads=16,queries=2048,dim=64"}) {
    const Operation operation = Operation::parse(text);
    const std::vector<std::int64_t> sample = reference_sample(operation);
    EXPECT_EQ(sample.front(), 0) << text;
    EXPECT_EQ(sample.back(), operation.operands()[first_output(operation)].count - 1) << text;
  }
}

// Of 400 regions of each size, placed at random, at least as many are found as 1 - (1 - f)^m says, but for
// what chance takes from 400 (three standard deviations).
TEST_F(LookedAt, RegionsAreFoundWithTheProbabilityThatIsStated) {
  const auto [n, k, p, q] = kShape;
  testing::RandomOperation random(11);
  const auto place = [&](std::int64_t extent, std::int64_t length) {
    return random.number(extent - length + 1) - 1;
  };
  struct Size {
    std::int64_t n, k, p, q;
  };
  for (const Size& size : {Size{1, 8, 7, 7}, Size{1, 16, 14, 14}, Size{1, 1, p, q}, Size{2, 64, 4, 4},
                           Size{n, 1, 1, 1}, Size{n, k, 1, 1}, Size{1, k, p, 1}}) {
    constexpr int kRegions = 400;
    int found = 0;
    for (int i = 0; i < kRegions; ++i) {
      const std::int64_t image = place(n, size.n), channel = place(k, size.k), row = place(p, size.p),
                         column = place(q, size.q);
      found += is_found(
          {image, image + size.n, channel, channel + size.k, row, row + size.p, column, column + size.q});
    }
    const double share =
        static_cast<double>(size.n * size.k * size.p * size.q) / static_cast<double>(n * k * p * q);
    const double stated = 1.0 - std::pow(1.0 - share, static_cast<double>(sample_.size()));
    const double chance = 3.0 * std::sqrt(stated * (1.0 - stated) / kRegions);
    EXPECT_GE(static_cast<double>(found) / kRegions, stated - chance)
        << size.n << ' ' << size.k << ' ' << size.p << ' ' << size.q;
  }
  EXPECT_TRUE(is_found({0, n, 77, 78, 0, p, 0, q})) << "a whole channel";
  EXPECT_TRUE(is_found({17, 18, 0, k, 0, p, 0, q})) << "a whole sample";
  EXPECT_TRUE(is_found({0, n, 0, k, 0, p, 27, 28})) << "the last column of each image";
}

// The whole of the small one is computed at once, of the large one single elements. With equal rows, and
// operands that repeat along n, both have the same elements.
struct Sizes {
  const char *small, *large;
  double factor = 1;  // from the small one's elements to those of the large
};
class SampledReference : public ::testing::TestWithParam<Sizes> {};

TEST_P(SampledReference, HasTheElementsOfTheWhole) {
  const Operation small = Operation::parse(GetParam().small), large = Operation::parse(GetParam().large);
  testing::RandomOperation random(37);
  const Tensors inputs = random_inputs(small, random);
  Tensors repeated;
  std::size_t input = 0;
  for (const Operand& operand : large.operands()) {
    if (operand.role == OperandRole::output) continue;
    std::vector<double>& values = repeated.emplace_back();
    while (std::ssize(values) < operand.count) {
      values.insert(values.end(), inputs[input].begin(), inputs[input].end());
    }
    ASSERT_EQ(std::ssize(values), operand.count);
    ++input;
  }
  const Tensors whole = outputs_of(small, inputs);
  Reference reference(large, repeated);
  for (std::size_t output = 0; output < whole.size(); ++output) {
    const std::vector<std::int64_t> sample = reference_sample(large, output);
    ASSERT_LT(std::ssize(sample), large.operands()[input + output].count)
        << "else all would be computed at once";
    for (std::size_t i = 0; i < 300; ++i) {
      const double expected =
          GetParam().factor * whole[output][static_cast<std::size_t>(sample[i]) % whole[output].size()];
      ASSERT_NEAR(reference.element(output, sample[i]), expected, 1e-9) << output << " at " << sample[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, SampledReference,
    ::testing::Values(
        Sizes{"conv2d:n=1,c=32,hw=16,k=32,rs=5,pad=2,dtype=f64", "conv2d:n=32,c=32,hw=16,k=32,rs=5,pad=2"},
        Sizes{"conv2d:n=1,c=32,h=16,w=14,k=36,rs=5,pad=2,groups=2,layout=nhwc,direction=dgrad,dtype=f64",
              "conv2d:n=64,c=32,h=16,w=14,k=36,rs=5,pad=2,groups=2,layout=nhwc,direction=dgrad"},
        Sizes{"conv2d:n=1,c=16,hw=64,k=64,rs=3,pad=1,groups=2,direction=wgrad,dtype=f64",
              "conv2d:n=32,c=16,hw=64,k=64,rs=3,pad=1,groups=2,direction=wgrad", 32},
        Sizes{"matmul:m=16,n=50,k=600,dtype=f64", "matmul:m=8192,n=50,k=600"},
        Sizes{"attention:batch=1,heads=2,queries=33,keys=64,dim=40,causal=1,dtype=f64",
              "attention:batch=700,heads=2,queries=33,keys=64,dim=40,causal=1"},
        Sizes{"attention:batch=1,heads=2,queries=33,keys=64,dim=40,layout=bshd,pass=backward,dtype=f64",
              "attention:batch=300,heads=2,queries=33,keys=64,dim=40,layout=bshd,pass=backward"},
        Sizes{"attention:batch=1,heads=6,kv_heads=2,queries=33,keys=64,dim=40,pass=backward,dtype=f64",
              "attention:batch=200,heads=6,kv_heads=2,queries=33,keys=64,dim=40,pass=backward"}));

}  // namespace
}  // namespace jitterscope
