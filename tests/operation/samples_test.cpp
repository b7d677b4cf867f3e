// Which parameter counts the samples, and operations on more or fewer of them.
#include "operation/samples.hpp"

#include <gmock/gmock.h>

#include <map>

#include "model/named_models.hpp"

namespace jitterscope {
namespace {

Operation of(const char* text) { return Operation::parse(text); }
std::string doubled(const char* text) { return with_larger_batch(of(text), 2).text(); }

TEST(Samples, AreTheRowsOfDataAndNeverThoseOfAWeight) {
  EXPECT_EQ(doubled("matmul:m=8,n=16,k=32"), of("matmul:m=16,n=16,k=32").text());
  EXPECT_EQ(doubled("matmul:m=8,n=16,k=32,tb=1"), of("matmul:m=16,n=16,k=32,tb=1").text());
  EXPECT_EQ(doubled("matmul:m=8,n=16,k=32,ta=1"), of("matmul:m=8,n=16,k=64,ta=1").text())
      << "the gradient of a weight sums over the samples";
  EXPECT_EQ(doubled("matmul:m=8,n=16,k=32,batch=4"), of("matmul:m=8,n=16,k=32,batch=8").text());
  EXPECT_FALSE(has_batch(of("matmul:m=8,n=16,k=32,ta=1,tb=1")));
  EXPECT_FALSE(has_batch(of("adam:count=8")));
  EXPECT_FALSE(has_batch(of("copy:bytes=8")));
}

TEST(Samples, OfAChainAreThoseOfItsSteps) {
  const char* chain =
      "chain:[conv2d:n=1,c=2,hw=4,k=3,rs=1][convert:count=48,to_dtype=f16][relu:count=48,dtype=f16]";
  EXPECT_EQ(doubled(chain),
            of("chain:[conv2d:n=2,c=2,hw=4,k=3,rs=1][convert:count=96,to_dtype=f16][relu:count=96,dtype=f16]")
                .text());
  EXPECT_FALSE(has_batch(of("chain:[linear:n=1,in=2,out=2][adam:count=8]")));
  EXPECT_FALSE(parts_evenly(of("chain:[relu:count=8][relu:count=9]"), 2));
  // A gradient of weights is as large for half of the samples.
  const Operation gradient = of(
      "chain:[conv2d:n=2,c=4,hw=4,k=4,rs=1,dtype=f16,direction=wgrad][convert:count=16,dtype=f16,to_dtype=f32]");
  ASSERT_EQ(gradient.operands().size(), 3u) << "the conversion reads what the convolution writes";
  EXPECT_FALSE(parts_evenly(gradient, 2));
  EXPECT_FALSE(has_batch(gradient));
  EXPECT_EQ(piece_of(of("chain:[relu:count=8]*2"), 4), of("chain:[relu:count=2]*2"));
}

// The networks are the truth: each is built anew with three times the batch. A network does some work once
// for all samples, which no shape shows.
TEST(Samples, OfANetworksLayersGrowWithItsBatch) {
  for (const ModelDescription& known : named_models()) {
    ModelOptions options;
    options.batch = 2;
    const Model small = *named_model(known.name, options);
    options.batch = 6;
    const Model large = *named_model(known.name, options);
    std::map<std::string, const Operation*> operations;
    for (const Layer& layer : large.layers) {
      for (const std::string& name : layer.names) operations[name] = &layer.operation;
    }
    for (const Layer& layer : small.layers) {
      if (!has_batch(layer.operation)) continue;
      for (const std::string& name : layer.names) {
        const bool is_done_once = name.find("position_embeddings") != std::string::npos ||
                                  name.find("wpe") != std::string::npos ||
                                  name == "transformer.wte.accumulate.backward";
        if (is_done_once) continue;
        EXPECT_EQ(with_larger_batch(layer.operation, 3).text(), operations.at(name)->text())
            << known.name << ": " << name;
      }
    }
  }
}

TEST(Samples, AreAllThatDiffersOrNothingIsSaid) {
  const auto times = [](const char* first, const char* second) {
    return times_the_samples(of(first), of(second));
  };
  const char* conv = "conv2d:n=32,c=8,hw=9,k=8,rs=3,pad=1";
  EXPECT_EQ(times(conv, "conv2d:n=48,c=8,hw=9,k=8,rs=3,pad=1,dtype=f16,layout=nhwc"), 1.5);
  EXPECT_EQ(times(conv, conv), 1.0);
  EXPECT_EQ(times(conv, "conv2d:n=64,c=8,hw=9,k=9,rs=3,pad=1"), std::nullopt);
  EXPECT_EQ(times(conv, "linear:n=64,in=8,out=8"), std::nullopt);
  EXPECT_EQ(times("relu:count=8", "relu:count=16"), 2.0);
  EXPECT_EQ(times("relu:count=8", "gelu:count=16"), std::nullopt);
  EXPECT_EQ(times("copy:bytes=8", "copy:bytes=16"), std::nullopt);
  EXPECT_FALSE(counts_samples(of("relu:count=8"))) << "of elements nobody speaks as samples";
  EXPECT_TRUE(counts_samples(of(conv)));
}

TEST(Samples, AreTheParameterThatATypedOperationLacks) {
  for (const OperationHelp& help : operation_help()) {
    const std::string parameter(batch_parameter(help.kind));
    if (parameter.empty()) continue;
    Operation::Parameters parameters = Operation::parse(help.example).parameters();
    const std::int64_t before = *batch_of(parameters);
    EXPECT_NE(help.example.find(parameter + '=' + std::to_string(before)), std::string::npos) << help.example;
  }
  EXPECT_EQ(batch_parameter("matmul"), "m");
  EXPECT_EQ(batch_parameter("relu"), "");
}

}  // namespace
}  // namespace jitterscope
