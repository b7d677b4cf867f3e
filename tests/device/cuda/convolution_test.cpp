#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "provider_test.hpp"

namespace jitterscope {
namespace {

// Every product that a convolution has, once: x[n,c,h,w]·w[k,c',r,s] belongs to y[n,k,oh,ow]. Each direction
// sums the same products over another of the three.
class BruteForce {
 public:
  explicit BruteForce(const Conv2d& shape) : p_(shape) {}

  std::vector<double> result(const std::vector<std::vector<double>>& inputs, std::int64_t outputs) const {
    std::vector<double> sums(static_cast<std::size_t>(outputs));
    for (std::int64_t n = 0; n < p_.n; ++n) {
      for (std::int64_t k = 0; k < p_.k; ++k) {
        for (std::int64_t i = 0; i < p_.out_h(); ++i) {
          for (std::int64_t j = 0; j < p_.out_w(); ++j) add_window(n, k, i, j, inputs, sums);
        }
      }
    }
    return sums;
  }

 private:
  void add_window(std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j,
                  const std::vector<std::vector<double>>& inputs, std::vector<double>& sums) const {
    const std::int64_t group_c = p_.c / p_.groups;
    const std::int64_t first_c = k / (p_.k / p_.groups) * group_c;
    const std::size_t y = at(n, k, i, j, p_.k, p_.out_h(), p_.out_w());
    for (std::int64_t c = 0; c < group_c; ++c) {
      for (std::int64_t r = 0; r < p_.r; ++r) {
        for (std::int64_t s = 0; s < p_.s; ++s) {
          const std::int64_t h = i * p_.stride_h - p_.pad_h + r * p_.dilation_h;
          const std::int64_t w = j * p_.stride_w - p_.pad_w + s * p_.dilation_w;
          if (h < 0 || h >= p_.h || w < 0 || w >= p_.w) continue;
          const std::size_t x = at(n, first_c + c, h, w, p_.c, p_.h, p_.w);
          const std::size_t filter = at(k, c, r, s, group_c, p_.r, p_.s);
          switch (p_.direction) {
            case Direction::fprop: sums[y] += inputs[0][x] * inputs[1][filter]; break;
            case Direction::dgrad: sums[x] += inputs[0][y] * inputs[1][filter]; break;
            case Direction::wgrad: sums[filter] += inputs[0][x] * inputs[1][y]; break;
          }
        }
      }
    }
  }

  std::size_t at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c_count,
                 std::int64_t h_count, std::int64_t w_count) const {
    return static_cast<std::size_t>(p_.layout == Layout::nchw
                                        ? ((n * c_count + c) * h_count + h) * w_count + w
                                        : ((n * h_count + h) * w_count + w) * c_count + c);
  }

  Conv2d p_;
};

struct NamedShape {
  const char* name;
  Conv2d shape;
};
const NamedShape kShapes[] = {
    {"Plain", {.n = 2, .c = 16, .h = 12, .w = 12, .k = 24, .r = 3, .s = 3, .pad_h = 1, .pad_w = 1}},
    {"Pointwise", {.n = 4, .c = 32, .h = 7, .w = 7, .k = 16}},
    {"Strided",
     {.n = 2,
      .c = 16,
      .h = 15,
      .w = 13,
      .k = 8,
      .r = 3,
      .s = 3,
      .stride_h = 2,
      .stride_w = 2,
      .pad_h = 1,
      .pad_w = 1}},
    {"Oblong",  // every parameter differs between height and width
     {.n = 2,
      .c = 8,
      .h = 14,
      .w = 9,
      .k = 8,
      .r = 5,
      .s = 3,
      .stride_h = 2,
      .stride_w = 1,
      .pad_h = 0,
      .pad_w = 2}},
    {"Dilated",
     {.n = 2,
      .c = 8,
      .h = 13,
      .w = 13,
      .k = 16,
      .r = 3,
      .s = 3,
      .pad_h = 2,
      .pad_w = 2,
      .dilation_h = 2,
      .dilation_w = 2}},
    {"Grouped",
     {.n = 2, .c = 32, .h = 10, .w = 10, .k = 16, .r = 3, .s = 3, .pad_h = 1, .pad_w = 1, .groups = 4}},
    {"Depthwise",
     {.n = 2, .c = 16, .h = 10, .w = 10, .k = 16, .r = 3, .s = 3, .pad_h = 1, .pad_w = 1, .groups = 16}},
    {"Odd", {.n = 3, .c = 5, .h = 11, .w = 13, .k = 7, .r = 5, .s = 3, .pad_h = 2, .pad_w = 1}},
};

struct ConvolutionCase {
  NamedShape shape;
  Direction direction;
};
std::vector<ConvolutionCase> convolution_cases() {
  std::vector<ConvolutionCase> cases;
  for (const NamedShape& shape : kShapes) {
    for (const Direction direction : {Direction::fprop, Direction::dgrad, Direction::wgrad}) {
      cases.push_back({shape, direction});
    }
  }
  return cases;
}

class CudnnTest : public ProviderTest {
 protected:
  CudnnTest() : ProviderTest("cudnn") {}

  std::unique_ptr<PreparedOperation> prepare(const Conv2d& shape) {
    return device().prepare(Operation(shape), {.kind = DataKind::normal, .seed = 7});
  }
  static std::vector<double> reference(PreparedOperation& prepared) {
    const auto& shape = std::get<Conv2d>(prepared.operation().parameters());
    return BruteForce(shape).result(read_inputs(prepared), prepared.operation().operands().back().count);
  }
};

class ConvolutionTest : public CudnnTest, public testing::WithParamInterface<ConvolutionCase> {
 protected:
  void expect_right(const Conv2d& shape) {
    const Operation operation(shape);
    SCOPED_TRACE(operation.text());
    try {
      const auto prepared = prepare(shape);
      queue().launch(*prepared);
      queue().wait();
      EXPECT_LE(relative_error(read_output(*prepared), reference(*prepared)), tolerance(shape.dtype))
          << prepared->algorithm();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
};

TEST_P(ConvolutionTest, AgreesWithTheSumOfItsProducts) {
  Conv2d shape = GetParam().shape.shape;
  shape.direction = GetParam().direction;
  for (const DataType dtype : kProviderTypes) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      shape.dtype = dtype;
      shape.layout = layout;
      expect_right(shape);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionTest, testing::ValuesIn(convolution_cases()),
                         [](const auto& tested) {
                           return std::string(tested.param.shape.name) + "_" +
                                  std::string(to_string(tested.param.direction));
                         });

// As PyTorch 2.11 logged them for the same shape on an H200.
struct KnownPlan {
  Direction direction;
  const char* tag;
  Bytes workspace;
};
const KnownPlan kKnownPlans[] = {
    {Direction::fprop, "ConvFwd_eng38_k2=1_k13=0_k14=4_k18=0_k22=2_k23=0", Bytes(6717456)},
    {Direction::dgrad, "ConvBwdData_eng58_k2=4_k5=2_k14=3", Bytes(19562512)},
    {Direction::wgrad, "ConvBwdFilter_eng68_k2=1_k13=0_k18=1_k25=0_k27=1_k28=2", Bytes(23823071)},
};

TEST_F(CudnnTest, ChoosesTheEnginesThatPyTorchChose) {
  const DeviceDescription description = device().describe();
  if (description.name.find("H200") == std::string::npos || !library().version.starts_with("9.19.")) {
    GTEST_SKIP() << "the plans are known of cuDNN 9.19 on an H200, and this is cuDNN " << library().version
                 << " on " << description.name;
  }
  for (const KnownPlan& known : kKnownPlans) {
    const auto prepared = prepare({.n = 8,
                                   .c = 64,
                                   .h = 56,
                                   .w = 56,
                                   .k = 128,
                                   .r = 3,
                                   .s = 3,
                                   .pad_h = 1,
                                   .pad_w = 1,
                                   .dtype = DataType::tf32,
                                   .direction = known.direction});
    EXPECT_EQ(prepared->algorithm(), known.tag);
    EXPECT_EQ(prepared->workspace().value(), known.workspace.value());
    EXPECT_EQ(prepared->provider(), "cudnn");
  }
}

TEST_F(CudnnTest, LeavesOutputsPoisonedUntilTheFirstLaunch) {
  const auto prepared = prepare(kShapes[0].shape);
  for (const double value : read_output(*prepared)) ASSERT_TRUE(std::isnan(value));
}

TEST_F(CudnnTest, RunsFromARecording) {
  for (const Direction direction : {Direction::fprop, Direction::dgrad, Direction::wgrad}) {
    Conv2d shape = kShapes[0].shape;
    shape.dtype = DataType::f16;
    shape.layout = Layout::nhwc;
    shape.direction = direction;
    const auto prepared = prepare(shape);
    const auto recording = queue().record([&](Queue& recorder) {
      recorder.launch(*prepared);
      recorder.launch(*prepared);
    });
    prepared->poison_outputs();
    queue().replay(*recording);
    queue().wait();
    EXPECT_LE(relative_error(read_output(*prepared), reference(*prepared)), tolerance(shape.dtype))
        << prepared->algorithm();
  }
}

TEST(CudnnLibrary, SaysItsVersionOrWhatIsMissing) {
  const LibraryInfo library = cuda::cudnn_library();
  EXPECT_EQ(library.name, "cudnn");
  EXPECT_NE(library.version.empty(), library.problem.empty());
  if (!library.version.empty()) {
    EXPECT_TRUE(library.version.starts_with("9.")) << library.version;
    EXPECT_FALSE(library.path.empty());
  }
}

}  // namespace
}  // namespace jitterscope
