#include <algorithm>
#include <cmath>

#include "operation/attention_rows.hpp"
#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

double dot(const double* a, const double* b, std::int64_t length) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

// The gradients follow from y and logsumexp as they are given, whether or not they are those of q, k and v:
// p = exp(q.k/sqrt(dim) - logsumexp), ds = p * (dy.v - dy.y).
class AttentionReference final : public Reference {
 public:
  AttentionReference(const Attention& attention, const Inputs& inputs)
      : attention_(attention),
        inputs_(inputs),
        queries_(query_rows(attention)),
        keys_(key_rows(attention)),
        scale_(1.0 / std::sqrt(static_cast<double>(attention.dim))) {}

  double element(std::size_t output, std::int64_t index) override {
    const bool backward = attention_.pass == Pass::backward;
    if (!backward && output == 1) return logsumexp(index);
    const std::int64_t place = index / attention_.dim, column = index % attention_.dim;
    if (!backward) return forward(queries_.row(place), column);
    return output == 0 ? query_gradient(queries_.row(place), column)
                       : key_gradient(output, keys_.row(place), column);
  }

 private:
  const double* query_row(std::size_t input, std::int64_t row) const {
    return inputs_[input].data() + queries_.place(row) * attention_.dim;
  }
  const double* key_row(std::size_t input, std::int64_t row) const {
    return inputs_[input].data() + keys_.place(row) * attention_.dim;
  }

  // Keys that the query sees: the first ones.
  std::int64_t seen(std::int64_t query) const {
    const std::int64_t position = query % attention_.queries;
    return attention_.causal ? std::min(position + 1, attention_.keys) : attention_.keys;
  }
  bool sees(std::int64_t query, std::int64_t key) const { return key % attention_.keys < seen(query); }
  std::int64_t first_key(std::int64_t query) const { return query / attention_.queries * attention_.keys; }

  double logsumexp(std::int64_t query) {
    if (query != kept_) weigh(query);
    return logsumexp_;
  }
  double forward(std::int64_t query, std::int64_t column) {
    if (query != kept_) weigh(query);
    double sum = 0.0;
    for (std::int64_t j = 0; j < seen(query); ++j) {
      sum += at(weights_, j) * key_row(2, first_key(query) + j)[column];
    }
    return sum;
  }

  // The softmax of a query's scores.
  void weigh(std::int64_t query) {
    kept_ = query;
    weights_.clear();
    for (std::int64_t j = 0; j < seen(query); ++j) {
      weights_.push_back(scale_ * dot(query_row(0, query), key_row(1, first_key(query) + j), attention_.dim));
    }
    const double largest = *std::max_element(weights_.begin(), weights_.end());
    double total = 0.0;
    for (const double score : weights_) total += std::exp(score - largest);
    logsumexp_ = largest + std::log(total);
    for (double& score : weights_) score = std::exp(score - logsumexp_);
  }

  double probability(std::int64_t query, std::int64_t key) const {
    const double score = scale_ * dot(query_row(1, query), key_row(2, key), attention_.dim);
    return std::exp(score - at(inputs_[5], query));
  }
  // Of a score before its scaling.
  double score_gradient(std::int64_t query, std::int64_t key, double probability, double dy_y) const {
    return probability * (dot(query_row(0, query), key_row(3, key), attention_.dim) - dy_y);
  }
  double dy_y(std::int64_t query) const {
    return dot(query_row(0, query), query_row(4, query), attention_.dim);
  }

  double query_gradient(std::int64_t query, std::int64_t column) {
    const std::int64_t first = first_key(query);
    if (query != kept_ || kept_output_ != 0) {
      kept_ = query, kept_output_ = 0;
      weights_.clear();
      const double of_row = dy_y(query);
      for (std::int64_t key = first; key < first + seen(query); ++key) {
        weights_.push_back(score_gradient(query, key, probability(query, key), of_row));
      }
    }
    double sum = 0.0;
    for (std::int64_t j = 0; j < seen(query); ++j) {
      sum += at(weights_, j) * key_row(2, first + j)[column];
    }
    return scale_ * sum;
  }

  // dk (output 1) or dv: a sum over the queries that see the key.
  double key_gradient(std::size_t output, std::int64_t key, std::int64_t column) {
    const std::int64_t first = key / attention_.keys * attention_.queries;
    if (key != kept_ || kept_output_ != output) {
      kept_ = key, kept_output_ = output;
      weights_.clear();
      for (std::int64_t query = first; query < first + attention_.queries; ++query) {
        weights_.push_back(sees(query, key) ? key_weight(output, query, key) : 0.0);
      }
    }
    double sum = 0.0;
    for (std::int64_t i = 0; i < attention_.queries; ++i) {
      sum += at(weights_, i) * query_row(output == 1 ? 1 : 0, first + i)[column];
    }
    return sum;
  }
  double key_weight(std::size_t output, std::int64_t query, std::int64_t key) const {
    const double weight = probability(query, key);
    return output == 1 ? scale_ * score_gradient(query, key, weight, dy_y(query)) : weight;
  }

  Attention attention_;
  const Inputs& inputs_;
  AttentionRows queries_, keys_;
  double scale_;
  // Of the row or the column of scores that was asked for last.
  std::int64_t kept_ = -1;
  std::size_t kept_output_ = 0;
  std::vector<double> weights_;
  double logsumexp_ = 0;
};

}  // namespace

std::unique_ptr<Reference> make(const Attention& attention, const Inputs& inputs) {
  return std::make_unique<AttentionReference>(attention, inputs);
}

Terms terms(const Attention& attention, std::size_t output) {
  const auto dim = static_cast<double>(attention.dim), keys = static_cast<double>(attention.keys),
             queries = static_cast<double>(attention.queries);
  if (attention.pass != Pass::backward) return {keys * (dim + 1), output == 0 ? 2 * keys : keys * dim};
  const double others = output == 0 ? keys : queries;
  return {3 * others * dim, 4 * others};
}

}  // namespace jitterscope::reference
