#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

class EmbeddingReference final : public Reference {
 public:
  EmbeddingReference(const Embedding& embedding, const Inputs& inputs)
      : embedding_(embedding), inputs_(inputs) {
    if (embedding.pass == Pass::backward) collect();
  }

  double element(std::size_t, std::int64_t index) override {
    const std::int64_t row = index / embedding_.columns, column = index % embedding_.columns;
    if (embedding_.pass != Pass::backward) {
      const auto named = static_cast<std::int64_t>(at(inputs_[0], row));
      return at(inputs_[1], named * embedding_.columns + column);
    }
    double total = 0.0;
    for (const std::int64_t i : named_by_[static_cast<std::size_t>(row)]) {
      total += at(inputs_[0], i * embedding_.columns + column);
    }
    return total;
  }

 private:
  void collect() {
    named_by_.resize(static_cast<std::size_t>(embedding_.rows));
    for (std::int64_t i = 0; i < embedding_.count; ++i) {
      named_by_.at(static_cast<std::size_t>(at(inputs_[1], i))).push_back(i);
    }
  }

  Embedding embedding_;
  const Inputs& inputs_;
  std::vector<std::vector<std::int64_t>> named_by_;  // the indices that name a row of the table
};

}  // namespace

std::unique_ptr<Reference> make(const Embedding& embedding, const Inputs& inputs) {
  return std::make_unique<EmbeddingReference>(embedding, inputs);
}

Terms terms(const Embedding& embedding, std::size_t) {
  if (embedding.pass != Pass::backward) return {};
  const double repeats = static_cast<double>(embedding.count) / static_cast<double>(embedding.rows);
  return {1.0 + repeats, 1.0 + repeats};
}

}  // namespace jitterscope::reference
