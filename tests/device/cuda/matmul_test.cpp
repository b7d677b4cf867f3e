#include <algorithm>

#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "provider_test.hpp"

namespace jitterscope {
namespace {

struct Product {
  Matmul shape;
  const std::vector<std::vector<double>>& inputs;

  double a(std::int64_t batch, std::int64_t i, std::int64_t l) const {
    const std::int64_t inner = shape.transpose_a ? l * shape.m + i : i * shape.k + l;
    return inputs[0][static_cast<std::size_t>(batch * shape.m * shape.k + inner)];
  }
  double b(std::int64_t batch, std::int64_t l, std::int64_t j) const {
    const std::int64_t inner = shape.transpose_b ? j * shape.k + l : l * shape.n + j;
    return inputs[1][static_cast<std::size_t>(batch * shape.k * shape.n + inner)];
  }
  std::vector<double> result() const {
    std::vector<double> c;
    for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
      for (std::int64_t i = 0; i < shape.m; ++i) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          double sum = shape.bias ? inputs[2][static_cast<std::size_t>(j)] : 0.0;
          for (std::int64_t l = 0; l < shape.k; ++l) sum += a(batch, i, l) * b(batch, l, j);
          c.push_back(sum);
        }
      }
    }
    return c;
  }
};

class CublasLtTest : public ProviderTest {
 protected:
  CublasLtTest() : ProviderTest("cublaslt") {}

  std::unique_ptr<PreparedOperation> prepare(const Operation& operation) {
    return device().prepare(operation, {.kind = DataKind::normal, .seed = 7});
  }
  void expect_right(const Operation& operation, const Matmul& shape) {
    SCOPED_TRACE(operation.text());
    try {
      const auto prepared = prepare(operation);
      queue().launch(*prepared);
      queue().wait();
      const auto inputs = read_inputs(*prepared);
      EXPECT_LE(relative_error(read_output(*prepared), Product{shape, inputs}.result()),
                tolerance(shape.dtype))
          << prepared->algorithm();
      EXPECT_TRUE(prepared->algorithm().starts_with("algo")) << prepared->algorithm();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
};

// Where no epilogue adds the bias it is copied first: a plain copy of one row is PyTorch's own way.
TEST_F(CublasLtTest, AddsABiasWhereBHasASizeOfOne) {
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::f16}) {
    for (const Matmul& shape : {Matmul{.m = 40, .n = 1, .k = 24}, Matmul{.m = 8, .n = 40, .k = 1},
                                Matmul{.m = 1, .n = 1, .k = 1}}) {
      for (const bool transpose_b : {false, true}) {
        Matmul product = shape;
        product.transpose_b = transpose_b, product.bias = true, product.dtype = dtype;
        expect_right(Operation(product), product);
        const auto prepared = prepare(Operation(product));
        EXPECT_EQ(prepared->provider(), "cublas");
        EXPECT_EQ(prepared->is_stand_in(), product.m > 1);
      }
    }
  }
}

class MatmulTest : public CublasLtTest, public testing::WithParamInterface<DataType> {};

TEST_P(MatmulTest, AgreesWithTheSumOfItsProducts) {
  for (const bool odd : {false, true}) {
    for (const std::int64_t batch : {1, 3}) {
      for (int flags = 0; flags < 8; ++flags) {
        Matmul shape{.m = odd ? 33 : 64, .n = odd ? 17 : 48, .k = odd ? 29 : 32, .batch = batch};
        shape.transpose_a = (flags & 1) != 0;
        shape.transpose_b = (flags & 2) != 0;
        shape.bias = (flags & 4) != 0;
        shape.dtype = GetParam();
        expect_right(Operation(shape), shape);
      }
    }
  }
}

TEST_P(MatmulTest, LinearAgreesWithTheSumOfItsProducts) {
  for (const bool bias : {false, true}) {
    const Linear linear{.n = 24, .in = 40, .out = 56, .bias = bias, .dtype = GetParam()};
    expect_right(Operation(linear), {.m = linear.n,
                                     .n = linear.out,
                                     .k = linear.in,
                                     .batch = 1,
                                     .transpose_a = false,
                                     .transpose_b = true,
                                     .bias = bias,
                                     .dtype = linear.dtype});
  }
}

// By cuBLAS, by cuBLASLt with its epilogue, and by an algorithm of cuBLASLt's that is named.
TEST_P(MatmulTest, FindsRowsThatLieApart) {
  for (const std::int64_t batch : {1, 3}) {
    for (int flags = 0; flags < 8; ++flags) {
      const Matmul shape{.m = 64,
                         .n = 48,
                         .k = 32,
                         .batch = batch,
                         .transpose_a = (flags & 1) != 0,
                         .transpose_b = (flags & 2) != 0,
                         .bias = (flags & 4) != 0,
                         .dtype = GetParam()};
      const auto packed = prepare(Operation(shape));
      for (const RowStride& rows :
           {RowStride{.padding = 8}, RowStride{.padding = 64}, RowStride{.power_of_two = true}}) {
        SCOPED_TRACE(Operation(shape).text());
        const auto apart = device().prepare(Operation(shape), {.seed = 7, .rows = rows});
        EXPECT_TRUE(apart->has_row_strides());
        EXPECT_EQ(apart->provider(), packed->provider());
        queue().launch(*apart);
        queue().wait();
        const auto inputs = read_inputs(*apart);
        EXPECT_EQ(inputs, read_inputs(*packed));
        EXPECT_LE(relative_error(read_output(*apart), Product{shape, inputs}.result()),
                  tolerance(shape.dtype));
      }
    }
  }
}

TEST_F(CublasLtTest, RefusesRowsApartWhereItsOwnKernelCopiesTheBias) {
  const Operation operation(Matmul{.m = 40, .n = 1, .k = 24, .bias = true});
  EXPECT_FALSE(prepare(operation)->has_row_strides());
  EXPECT_THROW(device().prepare(operation, {.rows = {.padding = 8}}), UsageError);
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulTest, testing::ValuesIn(kProviderTypes),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_F(CublasLtTest, MultipliesInDoublePrecision) {
  const std::vector<DataType> types = device().describe().data_types;
  if (std::find(types.begin(), types.end(), DataType::f64) == types.end()) GTEST_SKIP() << "no f64 here";
  const Matmul shape{.m = 33, .n = 17, .k = 29, .batch = 2, .transpose_b = true, .dtype = DataType::f64};
  expect_right(Operation(shape), shape);
}

TEST_F(CublasLtTest, RunsFromARecording) {
  const Matmul shape{.m = 64, .n = 48, .k = 32, .batch = 1, .bias = true, .dtype = DataType::bf16};
  const auto prepared = prepare(Operation(shape));
  const auto recording = queue().record([&](Queue& recorder) {
    recorder.launch(*prepared);
    recorder.launch(*prepared);
  });
  prepared->poison_outputs();
  queue().replay(*recording);
  queue().wait();
  const auto inputs = read_inputs(*prepared);
  EXPECT_LE(relative_error(read_output(*prepared), Product{shape, inputs}.result()), tolerance(shape.dtype));
}

TEST(CublasLtLibrary, SaysItsVersionOrWhatIsMissing) {
  const LibraryInfo library = cuda::cublaslt_library();
  EXPECT_EQ(library.name, "cublaslt");
  EXPECT_NE(library.version.empty(), library.problem.empty());
  if (!library.version.empty()) {
    EXPECT_TRUE(library.version.starts_with("12.") || library.version.starts_with("13.")) << library.version;
    EXPECT_FALSE(library.path.empty());
  }
}

}  // namespace
}  // namespace jitterscope
