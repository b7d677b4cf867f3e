// Matrix products of cuBLASLt and cuBLAS. Their descriptors lie on a stack, at the same address for each, so
// that a product is known by what they hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "recorder/library_calls.hpp"

namespace jitterscope::recorder {

/// All that two calls of the same kind have in common. It has no padding, since it is compared as bytes.
struct Product {
  struct Matrix {
    std::int64_t columns = 0, rows = 0, leading = 0, stride = 0;
    std::int32_t type = 0, order = 0, batch = 1, unused = 0;
  };
  enum class Factor : std::int32_t { zero, one, other, on_device };

  const char* function = nullptr;  ///< its name, one pointer for each
  Matrix a, b, c, d;
  std::int32_t transpose_a = 0, transpose_b = 0;
  std::int32_t compute = 0, scale = 0;
  std::int32_t epilogue = cublas::kDefaultEpilogue;
  Factor alpha = Factor::one, beta = Factor::zero;
  std::int32_t has_algorithm = 0;  ///< cuBLASLt's, in `algorithm`
  std::int32_t library = 0;        ///< Library
  std::int32_t has_pointers = 0;   ///< a batch by a list of pointers
  std::array<std::uint64_t, 8> algorithm{};
};

/// The operands of one call, in the order of its description's: A, B, C where it is read, D, bias.
struct ProductAddresses {
  const void *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr, *bias = nullptr;
};

/// Products by their contents. One that was seen before takes no lock and no memory.
class Products {
 public:
  std::uint32_t description_of(LibraryCalls& calls, const Product& product);
  static void note_addresses(const Product& product, const ProductAddresses& addresses, LibraryCall& call);
  /// Reads what cuBLASLt's descriptors hold. False where they cannot be read.
  static bool read(void* description, const void* alpha, void* a, void* b, const void* beta, void* c, void* d,
                   const void* algorithm, Product& product, ProductAddresses& addresses);
  /// A factor in the type of the scale; in the host's memory.
  static Product::Factor factor_of(const void* value, int scale);

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 14, kWindow = 32;
  struct Known {
    Product product;
    std::uint32_t description;
  };
  static CallDescription describe(const Product& product);

  std::mutex mutex_;
  std::array<std::atomic<const Known*>, kSlots> slots_{};
};

}  // namespace jitterscope::recorder
