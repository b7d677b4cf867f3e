// Softmax and its logarithm over rows that fit into the shared memory of a block, not into registers: each is
// read once, and while its results are written the next one takes its place.
#include <type_traits>

#include "device/cuda/kernels/async_copy.cuh"
#include "device/cuda/kernels/long_row.cuh"
#include "device/cuda/kernels/running_exponentials.cuh"

namespace {

/// Rows of a matrix in shared memory, from a multiple of 256 bytes on; from one of 128 on, forward takes 1 %
/// longer (H200). A thread takes every Threads-th vector, in each batch `Each` of them, and an element beside
/// them. It waits for its batches one after the other.
template <class T, int Threads, int Each, int Batches>
struct SharedRow {
  using Row = LongRow<T, Threads, 256 / sizeof(uint4)>;
  uint4* memory;
  const T* matrix;
  T edge = T();  ///< as it was read: to convert it at once would be to wait for it

  __device__ Compute<T> edge_value() const { return Number<T>::load(edge); }
  __device__ static std::uint32_t slot(int batch, int k) {
    return threadIdx.x + (batch * Each + k) * Threads;
  }

  __device__ __forceinline__ void start(const Row& row, int batch) const {
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      if (slot(batch, k) < row.vectors) start_copy(memory + slot(batch, k), matrix + row.at(slot(batch, k)));
    }
  }
  __device__ __forceinline__ void start_edge(const Row& row) {
    if (row.has_edge) edge = matrix[row.edge];
  }
  __device__ __forceinline__ void start_all(const Row& row) {
    start_edge(row);
#pragma unroll
    for (int batch = 0; batch < Batches; ++batch) {
      start(row, batch);
      end_copies();
    }
  }
  __device__ __forceinline__ static int present(const Row& row, int batch) {
    const std::uint32_t first = slot(batch, 0);
    return first < row.vectors ? row.template present<Each>(first) : 0;
  }
  /// How many vectors of the batch there are.
  __device__ __forceinline__ int load(const Row& row, int batch, Vector<T> (&to)[Each]) const {
    int count = 0;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      if (slot(batch, k) >= row.vectors) break;
      to[k] = vector_at<T>(memory + slot(batch, k));
      ++count;
    }
    return count;
  }
};

/// Calls visit for each batch once it has arrived, with its number as a type. The visits of the first
/// `Starting` batches start another one each.
template <int Batches, int Starting, int Number = 0, class Visit>
__device__ __forceinline__ void for_each_arriving(Visit visit) {
  if constexpr (Number < Batches) {
    wait_for_copies<Batches - 1 - Number + (Number < Starting ? Number : Starting)>();
    visit(std::integral_constant<int, Number>());
    for_each_arriving<Batches, Starting, Number + 1>(visit);
  }
}

enum class Way { shared, ahead };

// Once its last batch has arrived, a row needs the sum over all before the first result makes room for the
// next row, and nothing would be on its way meanwhile. So registers keep the first `Kept` batches, whose
// places are the next row's as soon as they have been read; and `ahead` the L2 has the others of that
// row before there is room for them. What few threads do for the elements beside the vectors comes where no
// other thread waits for them: before the first batch has arrived, and after the last result.
template <class T, int Threads, int Vectors, int Each, int Kept, Way way>
__device__ __forceinline__ void forward_shared(uint4* memory, T* __restrict__ y, const T* __restrict__ x,
                                               std::uint64_t rows, std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  constexpr int kBatches = Vectors / Each;
  using Shared = SharedRow<T, Threads, Each, kBatches>;
  Shared shared{memory, x};
  typename Shared::Row row(blockIdx.x, columns);
  shared.start_all(row);
  for (std::uint64_t number = blockIdx.x; number < rows; number += gridDim.x) {
    const typename Shared::Row next(number + gridDim.x, columns);
    const bool more = number + gridDim.x < rows;
    const auto start_next = [&](int batch) {
      if (more) shared.start(next, batch);
      end_copies();
    };
    if (way == Way::ahead && more && threadIdx.x == 0) fetch_ahead(x + next.begin, next.vectors);
    Vector<T> kept[Kept][Each], values[Each];
    RunningExponentials<T, Each> running;
    if (row.has_edge) running.add(shared.edge_value());
    for_each_arriving<kBatches, Kept>([&](auto arrived) {
      constexpr int batch = decltype(arrived)::value;
      if constexpr (batch < Kept) {
        const int count = shared.load(row, batch, kept[batch]);
        start_next(batch);
        running.add(kept[batch], count);
      } else {
        running.add(values, shared.load(row, batch, values));
      }
    });
    __syncthreads();  // the last row's have been read
    const Normalizer<C> normalizer(running.template join<Threads>(), logarithm);
    const C edge = shared.edge_value();
    if (more) shared.start_edge(next);
    const auto write = [&](int batch, int count, const Vector<T>(&from)[Each]) {
#pragma unroll
      for (int k = 0; k < Each; ++k) {
        if (k >= count) break;
        normalized(from[k], normalizer, logarithm).store(y + row.at(Shared::slot(batch, k)));
      }
    };
#pragma unroll
    for (int batch = 0; batch < Kept; ++batch) write(batch, Shared::present(row, batch), kept[batch]);
#pragma unroll
    for (int batch = Kept; batch < kBatches; ++batch) {
      const int count = shared.load(row, batch, values);
      start_next(batch);
      write(batch, count, values);
    }
    if (row.has_edge) y[row.edge] = Number<T>::store(normalizer.apply(edge, logarithm));
    row = next;
  }
}

template <class T, int Threads, int Vectors>
__device__ __forceinline__ void backward_shared(uint4* memory, T* __restrict__ dx, const T* __restrict__ dy,
                                                const T* __restrict__ y, std::uint64_t rows,
                                                std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  constexpr int kBatches = 4, Each = Vectors / kBatches;
  using Shared = SharedRow<T, Threads, Each, kBatches>;
  Shared outer{memory, dy}, result{memory + columns / kPerVector<T>, y};
  typename Shared::Row row(blockIdx.x, columns);
  const auto start = [&](const typename Shared::Row& from, int batch, bool exists) {
    if (exists) {
      outer.start(from, batch);
      result.start(from, batch);
    }
    end_copies();
  };
  outer.start_edge(row);
  result.start_edge(row);
#pragma unroll
  for (int batch = 0; batch < kBatches; ++batch) start(row, batch, true);
  for (std::uint64_t number = blockIdx.x; number < rows; number += gridDim.x) {
    Vector<T> outers[Each], results[Each];
    C sum = row.has_edge ? term(outer.edge_value(), result.edge_value(), logarithm) : C(0);
    for_each_arriving<kBatches, 0>([&](auto arrived) {
      constexpr int batch = decltype(arrived)::value;
      const int count = outer.load(row, batch, outers);
      result.load(row, batch, results);
#pragma unroll
      for (int k = 0; k < Each; ++k) {
        if (k >= count) break;
        sum += terms(outers[k], results[k], logarithm);
      }
    });
    sum = reduce_group<Threads, Sum>(sum);
    if (row.has_edge)
      dx[row.edge] = Number<T>::store(gradient(outer.edge_value(), result.edge_value(), sum, logarithm));
    const typename Shared::Row next(number + gridDim.x, columns);
    const bool more = number + gridDim.x < rows;
    if (more) {
      outer.start_edge(next);
      result.start_edge(next);
    }
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      const int count = outer.load(row, batch, outers);
      result.load(row, batch, results);
      start(next, batch, more);
#pragma unroll
      for (int k = 0; k < Each; ++k) {
        if (k >= count) break;
        gradients(outers[k], results[k], sum, logarithm).store(dx + row.at(outer.slot(batch, k)));
      }
    }
    row = next;
  }
}

}  // namespace

#define JITTERSCOPE_FORWARD(T, suffix, way, Threads, Vectors, Each, Kept, together)                        \
  JITTERSCOPE_ROOM_ENTRY(Threads, together, softmax_forward_##way##_##Threads##x##Vectors##_##suffix,      \
                         (T * y, const T* x, std::uint64_t rows, std::uint64_t columns, bool logarithm), { \
                           JITTERSCOPE_SHARED_MEMORY(memory);                                              \
                           forward_shared<T, Threads, Vectors, Each, Kept, Way::way>(memory, y, x, rows,   \
                                                                                     columns, logarithm);  \
                         })
#define JITTERSCOPE_BACKWARD(T, suffix, Threads, Vectors, together)                                   \
  JITTERSCOPE_ROOM_ENTRY(                                                                             \
      Threads, together, softmax_backward_shared_##Threads##x##Vectors##_##suffix,                    \
      (T * dx, const T* dy, const T* y, std::uint64_t rows, std::uint64_t columns, bool logarithm), { \
        JITTERSCOPE_SHARED_MEMORY(memory);                                                            \
        backward_shared<T, Threads, Vectors>(memory, dx, dy, y, rows, columns, logarithm);            \
      })
// 8192 rows of 50257 columns, forward: clusters of blocks take 926 us in f32 and 529 us in f16 for 846 and
// 423; backward in f16 685 us for 606 (H200). Fetching ahead, of one block on an SM: 423 us for 430 in f16,
// and 250 for 268 with 30522 columns. With two blocks, whose rows are 26 MB, it made 484 of 427; so it does
// where a row has 200 KB (f32, 867 us for 846, and 869 where the last tenth alone is fetched); and below 40
// KB two blocks are faster. Nothing was gained by clusters of two to eight blocks, by a second row in shared
// memory, and by keeping exponentials. The last 8 rows are a round of their own; clusters that take them
// before the others did not make it shorter. The elements beside whole vectors have loads and stores of their
// own: in those of the vectors they made the code so long that forward took 508 us in f16.
#define JITTERSCOPE_KERNELS(T, suffix)                     \
  JITTERSCOPE_FORWARD(T, suffix, ahead, 512, 7, 1, 4, 1)   \
  JITTERSCOPE_FORWARD(T, suffix, ahead, 1024, 4, 1, 3, 1)  \
  JITTERSCOPE_FORWARD(T, suffix, ahead, 1024, 7, 1, 5, 1)  \
  JITTERSCOPE_FORWARD(T, suffix, shared, 512, 8, 1, 4, 2)  \
  JITTERSCOPE_FORWARD(T, suffix, shared, 512, 13, 1, 4, 2) \
  JITTERSCOPE_FORWARD(T, suffix, shared, 512, 28, 2, 8, 1) \
  JITTERSCOPE_BACKWARD(T, suffix, 512, 8, 2)               \
  JITTERSCOPE_BACKWARD(T, suffix, 1024, 8, 1)
JITTERSCOPE_FOR_EACH_SHORT_TYPE(JITTERSCOPE_KERNELS)
