#include "recorder/products.hpp"

#include <cstring>
#include <string>
#include <string_view>

#ifdef JITTERSCOPE_CUBLASLT_NAMES
#include <cublasLt.h>
#endif

namespace jitterscope::recorder {
namespace {

struct NamedValue {
  std::string_view name;
  std::uint32_t value;
};
#ifdef JITTERSCOPE_CUBLASLT_NAMES
#include "cublaslt_names.inc"
#else
constexpr NamedValue kTiles[] = {{"", 0}}, kStages[] = {{"", 0}}, kInnerShapes[] = {{"", 0}},
                     kClusters[] = {{"", 0}};
#endif

LibraryFunction<cublas::GetAttribute>& description_attribute() {
  static LibraryFunction<cublas::GetAttribute> function(Library::cublaslt, "cublasLtMatmulDescGetAttribute");
  return function;
}
LibraryFunction<cublas::GetAttribute>& layout_attribute() {
  static LibraryFunction<cublas::GetAttribute> function(Library::cublaslt,
                                                        "cublasLtMatrixLayoutGetAttribute");
  return function;
}
LibraryFunction<cublas::GetAttribute>& algorithm_attribute() {
  static LibraryFunction<cublas::GetAttribute> function(Library::cublaslt,
                                                        "cublasLtMatmulAlgoConfigGetAttribute");
  return function;
}

// An attribute that the library does not know keeps the usual value.
template <class Value>
bool read_one(LibraryFunction<cublas::GetAttribute>& function, const void* from, int name, Value& value) {
  std::size_t written = 0;
  return function.get()(from, name, &value, sizeof value, &written) == 0;
}

bool read_matrix(const void* layout, Product::Matrix& matrix) {
  if (layout == nullptr) return false;
  std::uint64_t rows = 0, columns = 0;
  const bool has_shape = read_one(layout_attribute(), layout, cublas::kType, matrix.type) &&
                         read_one(layout_attribute(), layout, cublas::kRows, rows) &&
                         read_one(layout_attribute(), layout, cublas::kColumns, columns) &&
                         read_one(layout_attribute(), layout, cublas::kLeading, matrix.leading);
  read_one(layout_attribute(), layout, cublas::kOrder, matrix.order);
  read_one(layout_attribute(), layout, cublas::kBatchCount, matrix.batch);
  read_one(layout_attribute(), layout, cublas::kBatchOffset, matrix.stride);
  matrix.rows = static_cast<std::int64_t>(rows);
  matrix.columns = static_cast<std::int64_t>(columns);
  return has_shape;
}

std::uint64_t element_bytes(int type) {
  switch (type) {
    case cublas::kR16F:
    case cublas::kR16BF: return 2;
    case cublas::kR32F:
    case 10:  // CUDA_R_32I
    case 12: return 4;
    case cublas::kR64F:
    case 4: return 8;  // CUDA_C_32F
    case 5: return 16;
    case 3:
    case 8:
    case 28:
    case 29: return 1;
    default: return 0;
  }
}

std::string type_name(int type) {
  switch (type) {
    case cublas::kR32F: return "R_32F";
    case cublas::kR64F: return "R_64F";
    case cublas::kR16F: return "R_16F";
    case cublas::kR16BF: return "R_16BF";
    case 3: return "R_8I";
    case 4: return "C_32F";
    case 5: return "C_64F";
    case 10: return "R_32I";
    case 28: return "R_8F_E4M3";
    case 29: return "R_8F_E5M2";
    default: return "TYPE_" + std::to_string(type);
  }
}

std::string compute_name(int compute) {
  switch (compute) {
    case cublas::kCompute16F: return "COMPUTE_16F";
    case cublas::kCompute32F: return "COMPUTE_32F";
    case cublas::kCompute64F: return "COMPUTE_64F";
    case 72: return "COMPUTE_32I";
    case 74: return "COMPUTE_32F_FAST_16F";
    case 75: return "COMPUTE_32F_FAST_16BF";
    case cublas::kCompute32FFastTf32: return "COMPUTE_32F_FAST_TF32";
    default: return "COMPUTE_" + std::to_string(compute);
  }
}

std::string epilogue_name(int epilogue) {
  switch (epilogue) {
    case cublas::kDefaultEpilogue: return "EPILOGUE_DEFAULT";
    case 2: return "EPILOGUE_RELU";
    case cublas::kBiasEpilogue: return "EPILOGUE_BIAS";
    case 6: return "EPILOGUE_RELU_BIAS";
    case 32: return "EPILOGUE_GELU";
    case 36: return "EPILOGUE_GELU_BIAS";
    case 160: return "EPILOGUE_GELU_AUX";
    case 164: return "EPILOGUE_GELU_AUX_BIAS";
    case 256: return "EPILOGUE_BGRADA";
    case 512: return "EPILOGUE_BGRADB";
    default: return "EPILOGUE_" + std::to_string(epilogue);
  }
}

bool has_bias(const Product& product) { return (product.epilogue & cublas::kBiasEpilogue) != 0; }
bool reads_c(const Product& product) { return product.beta != Product::Factor::zero; }

std::uint64_t bytes_of(const Product::Matrix& matrix) {
  // The vectors of a row-major one lie as far apart as those of its transpose.
  const bool is_row_major = matrix.order == 1;
  const std::int64_t along = is_row_major ? matrix.columns : matrix.rows,
                     across = is_row_major ? matrix.rows : matrix.columns;
  if (along <= 0 || across <= 0 || matrix.batch <= 0) return 0;
  const std::int64_t elements = (matrix.batch - 1) * matrix.stride + (across - 1) * matrix.leading + along;
  return elements <= 0 ? 0 : static_cast<std::uint64_t>(elements) * element_bytes(matrix.type);
}

// As cuBLASLt's log says it, so that one reader reads both.
std::string matrix_words(const char* name, const Product::Matrix& matrix) {
  std::string words = std::string(" ") + name + "desc=[type=" + type_name(matrix.type) +
                      " rows=" + std::to_string(matrix.rows) + " cols=" + std::to_string(matrix.columns) +
                      " ld=" + std::to_string(matrix.leading);
  if (matrix.order != 0) words += matrix.order == 1 ? " order=ORDER_ROW" : " order=ORDER_OTHER";
  if (matrix.batch != 1) {
    words += " batchCount=" + std::to_string(matrix.batch) +
             " stridedBatchOffset=" + std::to_string(matrix.stride);
  }
  return words + "]";
}

const char* transposition(std::int32_t transpose) {
  constexpr const char* kNames[] = {"OP_N", "OP_T", "OP_C"};
  return transpose >= 0 && transpose <= 2 ? kNames[transpose] : "OP_UNKNOWN";
}

const char* factor_words(Product::Factor factor) {
  switch (factor) {
    case Product::Factor::zero: return "0";
    case Product::Factor::one: return "1";
    case Product::Factor::other: return "another";
    case Product::Factor::on_device: return "on_device";
  }
  return "";
}

struct Part {
  const char* word;
  int attribute;
  std::size_t size;
  const NamedValue* names;
  std::size_t count;
};
template <std::size_t kCount>
constexpr Part named(const char* word, int attribute, std::size_t size, const NamedValue (&names)[kCount]) {
  return {word, attribute, size, names, kCount};
}
constexpr Part numbered(const char* word, int attribute) { return {word, attribute, 4, nullptr, 0}; }

// "algo21_tile=128x128_stages=16x4_splitk=2", as engines of products are named.
std::string algorithm_tag(const Product& product) {
  static constexpr Part kParts[] = {named("tile", cublas::kTile, 4, kTiles),
                                    named("stages", cublas::kStages, 4, kStages),
                                    numbered("splitk", cublas::kSplitK),
                                    numbered("reduction", cublas::kReduction),
                                    numbered("swizzle", cublas::kSwizzle),
                                    numbered("custom", cublas::kCustom),
                                    named("inner", cublas::kInnerShape, 2, kInnerShapes),
                                    named("cluster", cublas::kCluster, 2, kClusters)};
  if (product.has_algorithm == 0 || algorithm_attribute().get() == nullptr) return {};
  const auto read = [&](int name, std::size_t size) {
    std::uint32_t value = 0;  // little-endian: two bytes read as four
    std::size_t written = 0;
    algorithm_attribute().get()(product.algorithm.data(), name, &value, size, &written);
    return value;
  };
  std::string tag = "algo" + std::to_string(read(cublas::kId, 4));
  for (const Part& part : kParts) {
    const std::uint32_t value = read(part.attribute, part.size);
    if (value == 0 || (part.attribute == cublas::kSplitK && value == 1)) continue;
    std::string text = part.names == nullptr ? std::to_string(static_cast<std::int32_t>(value))
                                             : "id" + std::to_string(value);
    for (std::size_t i = 0; i < part.count; ++i) {
      if (part.names[i].value == value && !part.names[i].name.empty()) text = part.names[i].name;
    }
    tag += std::string("_") + part.word + "=" + text;
  }
  return tag;
}

std::uint64_t hash_of(const Product& product) {
  static_assert(sizeof(Product) % sizeof(std::uint64_t) == 0);
  std::array<std::uint64_t, sizeof(Product) / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &product, sizeof product);
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (const std::uint64_t word : words) hash = (hash ^ word ^ (hash >> 29)) * 0xFF51AFD7ED558CCDULL;
  return hash ^ (hash >> 32);
}

}  // namespace

Product::Factor Products::factor_of(const void* value, int scale) {
  if (value == nullptr) return Product::Factor::on_device;
  double number = 0.5;
  if (scale == cublas::kR32F) {
    float narrow = 0.0f;
    std::memcpy(&narrow, value, sizeof narrow);
    number = static_cast<double>(narrow);
  } else if (scale == cublas::kR64F) {
    std::memcpy(&number, value, sizeof number);
  } else if (scale == cublas::kR16F) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, value, sizeof bits);
    number = (bits & 0x7FFF) == 0 ? 0.0 : bits == 0x3C00 ? 1.0 : 0.5;
  }
  return number == 0.0   ? Product::Factor::zero
         : number == 1.0 ? Product::Factor::one
                         : Product::Factor::other;
}

bool Products::read(void* description, const void* alpha, void* a, void* b, const void* beta, void* c,
                    void* d, const void* algorithm, Product& product, ProductAddresses& addresses) {
  if (description == nullptr || description_attribute().get() == nullptr ||
      layout_attribute().get() == nullptr) {
    return false;
  }
  product.library = static_cast<std::int32_t>(Library::cublaslt);
  std::int32_t pointer_mode = 0;
  if (!read_one(description_attribute(), description, cublas::kComputeType, product.compute) ||
      !read_one(description_attribute(), description, cublas::kScaleType, product.scale) ||
      !read_matrix(a, product.a) || !read_matrix(b, product.b) || !read_matrix(d, product.d)) {
    return false;
  }
  read_matrix(c, product.c);
  read_one(description_attribute(), description, cublas::kPointerMode, pointer_mode);
  read_one(description_attribute(), description, cublas::kTransposeA, product.transpose_a);
  read_one(description_attribute(), description, cublas::kTransposeB, product.transpose_b);
  read_one(description_attribute(), description, cublas::kEpilogue, product.epilogue);
  if (has_bias(product)) read_one(description_attribute(), description, cublas::kBiasPointer, addresses.bias);
  const bool is_host = pointer_mode == 0;
  product.alpha = factor_of(is_host ? alpha : nullptr, product.scale);
  product.beta = factor_of(is_host ? beta : nullptr, product.scale);
  if (!reads_c(product)) product.c = {};
  if (algorithm != nullptr) {
    product.has_algorithm = 1;
    std::memcpy(product.algorithm.data(), algorithm, sizeof product.algorithm);
  }
  return true;
}

CallDescription Products::describe(const Product& product) {
  CallDescription description;
  description.library = static_cast<Library>(product.library);
  description.words = product.function;
  if (product.has_pointers != 0) description.words += " by_pointers=1";
  description.words +=
      matrix_words("A", product.a) + matrix_words("B", product.b) + matrix_words("D", product.d) +
      " computeDesc=[computeType=" + compute_name(product.compute) +
      " transa=" + transposition(product.transpose_a) + " transb=" + transposition(product.transpose_b) +
      " epilogue=" + epilogue_name(product.epilogue) + "] alpha=" + factor_words(product.alpha) +
      " beta=" + factor_words(product.beta);
  description.engine = algorithm_tag(product);
  using capture::OperandUse;
  description.operands.push_back({"a", bytes_of(product.a), OperandUse::input, 0});
  description.operands.push_back({"b", bytes_of(product.b), OperandUse::input, 0});
  if (reads_c(product)) description.operands.push_back({"c", bytes_of(product.c), OperandUse::input, 0});
  description.operands.push_back({"d", bytes_of(product.d), OperandUse::output, 0});
  if (has_bias(product)) {
    description.operands.push_back(
        {"bias", static_cast<std::uint64_t>(product.d.rows) * element_bytes(product.d.type),
         OperandUse::input, 0});
  }
  return description;
}

std::uint32_t Products::description_of(LibraryCalls& calls, const Product& product) {
  const std::size_t first = hash_of(product) % kSlots;
  const auto find = [&]() -> const Known* {
    for (std::size_t i = 0; i < kWindow; ++i) {
      const Known* known = slots_[(first + i) % kSlots].load(std::memory_order_acquire);
      if (known == nullptr) return nullptr;
      if (std::memcmp(&known->product, &product, sizeof product) == 0) return known;
    }
    return nullptr;
  };
  if (const Known* known = find(); known != nullptr) return known->description;
  const std::lock_guard lock(mutex_);
  if (const Known* known = find(); known != nullptr) return known->description;
  for (std::size_t i = 0; i < kWindow; ++i) {
    std::atomic<const Known*>& slot = slots_[(first + i) % kSlots];
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    const std::uint32_t index = calls.add(describe(product));
    if (index != LibraryCall::kNone) slot.store(new Known{product, index}, std::memory_order_release);
    return index;
  }
  return LibraryCall::kNone;
}

void Products::note_addresses(const Product& product, const ProductAddresses& addresses, LibraryCall& call) {
  std::size_t next = 0;
  const auto add = [&](const void* address) {
    // A list of pointers lies elsewhere than the matrices.
    call.addresses[next++] = product.has_pointers != 0 ? 0 : reinterpret_cast<std::uintptr_t>(address);
  };
  add(addresses.a);
  add(addresses.b);
  if (reads_c(product)) add(addresses.c);
  add(addresses.d);
  if (has_bias(product)) add(addresses.bias);
}

}  // namespace jitterscope::recorder
