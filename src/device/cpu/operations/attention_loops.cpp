// Attention by own loops: a query, or in the gradients of keys and values a key, at a time. Scores of one row
// are kept, never the whole matrix.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
namespace {

/// Where rows, of dim elements each, lie in a tensor of queries or keys. They are counted through batch,
/// heads and sequence, whatever the layout.
struct AttentionRows {
  std::int64_t batch, heads, length;
  HeadLayout layout;

  /// How many rows lie before this one.
  std::int64_t place(std::int64_t row) const {
    const std::int64_t position = row % length, head = row / length % heads, item = row / length / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (item * length + position) * heads + head;
      case HeadLayout::sbhd: return (position * batch + item) * heads + head;
    }
    return row;
  }
  /// The row with so many before it.
  std::int64_t row(std::int64_t place) const {
    const std::int64_t head = place % heads, outer = place / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (outer / length * heads + head) * length + outer % length;
      case HeadLayout::sbhd: return (outer % batch * heads + head) * length + outer / batch;
    }
    return place;
  }
};

AttentionRows query_rows(const Attention& attention) {
  return {attention.batch, attention.heads, attention.queries, attention.layout};
}
AttentionRows key_rows(const Attention& attention) {
  return {attention.batch, attention.kv_heads, attention.keys, attention.layout};
}

template <class Format>
class AttentionLoops final : public CpuOperation {
 public:
  AttentionLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        attention_(std::get<Attention>(operation.parameters())),
        queries_(query_rows(attention_)),
        keys_(key_rows(attention_)),
        scale_(Value(1.0 / std::sqrt(static_cast<double>(attention_.dim)))) {}

  void run(NativeQueue) override {
    const std::int64_t queries = attention_.batch * attention_.heads * attention_.queries;
    const std::int64_t keys = attention_.batch * attention_.kv_heads * attention_.keys;
    const bool backward = attention_.pass == Pass::backward;
#pragma omp parallel
    {
      Buffers buffers(attention_);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t query = 0; query < queries; ++query) of_query(query, buffers);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t key = 0; key < (backward ? keys : 0); ++key) {
        key_gradients(key, buffers.sums, buffers.more);
      }
    }
  }

  bool compute_element(std::size_t operand, std::int64_t index) override {
    Buffers buffers(attention_);
    const bool is_of_key = operand == 7 || operand == 8, is_logsumexp = operand == 4;
    const std::int64_t place = is_logsumexp ? index : index / attention_.dim;
    if (is_of_key) {
      key_gradients(keys_.row(place), buffers.sums, buffers.more);
    } else {
      of_query(is_logsumexp ? place : queries_.row(place), buffers);
    }
    return true;
  }

 private:
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  // Of one thread: the scores of a row, and sums along the rows of one or two tensors.
  struct Buffers {
    explicit Buffers(const Attention& attention)
        : weights(static_cast<std::size_t>(attention.keys)),
          sums(static_cast<std::size_t>(attention.dim)),
          more(sums.size()) {}
    std::vector<Value> weights, sums, more;
  };

  void of_query(std::int64_t query, Buffers& buffers) const {
    attention_.pass == Pass::backward ? query_gradient(query, buffers.sums)
                                      : forward(query, buffers.weights, buffers.sums);
  }

  const Stored* query_row(std::size_t operand, std::int64_t query) const {
    return data<const Stored>(operand) + queries_.place(query) * attention_.dim;
  }
  const Stored* key_row(std::size_t operand, std::int64_t key) const {
    return data<const Stored>(operand) + keys_.place(key) * attention_.dim;
  }
  // Keys that the query sees: the first ones.
  std::int64_t seen(std::int64_t query) const {
    const std::int64_t position = query % attention_.queries;
    return attention_.causal ? std::min(position + 1, attention_.keys) : attention_.keys;
  }
  // Heads of queries that share a head of keys follow each other.
  std::int64_t first_key(std::int64_t query) const {
    return query / attention_.queries / attention_.group() * attention_.keys;
  }

  Value dot(const Stored* a, const Stored* b) const {
    Value sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < attention_.dim; ++i) sum += Format::read(a[i]) * Format::read(b[i]);
    return sum;
  }
  void add(std::vector<Value>& sums, Value weight, const Stored* values) const {
    Value* sum = sums.data();
#pragma omp simd
    for (std::int64_t i = 0; i < attention_.dim; ++i) sum[i] += weight * Format::read(values[i]);
  }
  void write(std::size_t operand, std::int64_t place, const std::vector<Value>& sums) const {
    auto* out = data<Stored>(operand) + place * attention_.dim;
    for (std::size_t i = 0; i < sums.size(); ++i) out[i] = Format::write(sums[i]);
  }

  void forward(std::int64_t query, std::vector<Value>& weights, std::vector<Value>& sums) const {
    const std::int64_t keys = seen(query), first = first_key(query);
    for (std::int64_t j = 0; j < keys; ++j) {
      weights[static_cast<std::size_t>(j)] = scale_ * dot(query_row(0, query), key_row(1, first + j));
    }
    const Value largest = *std::max_element(weights.begin(), weights.begin() + keys);
    double total = 0.0;
    for (std::int64_t j = 0; j < keys; ++j) {
      Value& weight = weights[static_cast<std::size_t>(j)];
      weight = std::exp(weight - largest);
      total += static_cast<double>(weight);
    }
    std::fill(sums.begin(), sums.end(), Value(0));
    for (std::int64_t j = 0; j < keys; ++j) {
      add(sums, weights[static_cast<std::size_t>(j)] / Value(total), key_row(2, first + j));
    }
    write(3, queries_.place(query), sums);
    data<float>(4)[query] = static_cast<float>(static_cast<double>(largest) + std::log(total));
  }

  // Backward's operands: dy, q, k, v, y, logsumexp.
  Value weight(std::int64_t query, std::int64_t key) const {
    return std::exp(scale_ * dot(query_row(1, query), key_row(2, key)) - Value(data<const float>(5)[query]));
  }
  Value score_gradient(std::int64_t query, std::int64_t key, Value weight, Value along) const {
    return weight * (dot(query_row(0, query), key_row(3, key)) - along) * scale_;
  }

  void query_gradient(std::int64_t query, std::vector<Value>& sums) const {
    const std::int64_t first = first_key(query);
    const Value along = dot(query_row(0, query), query_row(4, query));
    std::fill(sums.begin(), sums.end(), Value(0));
    for (std::int64_t key = first; key < first + seen(query); ++key) {
      add(sums, score_gradient(query, key, weight(query, key), along), key_row(2, key));
    }
    write(6, queries_.place(query), sums);
  }

  void key_gradients(std::int64_t key, std::vector<Value>& dk, std::vector<Value>& dv) const {
    std::fill(dk.begin(), dk.end(), Value(0));
    std::fill(dv.begin(), dv.end(), Value(0));
    const std::int64_t queries = attention_.group() * attention_.queries;
    const std::int64_t first = key / attention_.keys * queries;
    for (std::int64_t query = first; query < first + queries; ++query) {
      if (key % attention_.keys >= seen(query)) continue;
      const Value share = weight(query, key);
      const Value along = dot(query_row(0, query), query_row(4, query));
      add(dk, score_gradient(query, key, share, along), query_row(1, query));
      add(dv, share, query_row(0, query));
    }
    write(7, keys_.place(key), dk);
    write(8, keys_.place(key), dv);
  }

  Attention attention_;
  AttentionRows queries_, keys_;
  Value scale_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_attention_loops(const Operation& operation,
                                                           const InputTable& inputs) {
  return prepare_loops<AttentionLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
