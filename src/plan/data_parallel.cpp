#include "plan/data_parallel.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {

std::vector<Bucket> gradient_buckets(const NetworkCosts& network, Bytes size, Bytes first) {
  std::vector<Bucket> buckets;
  Bucket open;
  for (std::size_t l = network.layers.size(); l-- > 0;) {
    const Bytes weights = network.layers[l].weights;
    if (weights.value() == 0) continue;
    open.bytes += weights;
    open.last_layer = l;
    if (open.bytes < (buckets.empty() ? std::min(first, size) : size)) continue;
    buckets.push_back(open);
    open = {};
  }
  if (open.bytes.value() > 0) buckets.push_back(open);
  return buckets;
}

std::vector<Transfer> reduction_of(Bytes bytes, bool in_halves) {
  if (!in_halves) return {{Exchange::all_reduce, bytes}};
  return {{Exchange::reduce_scatter, bytes}, {Exchange::all_gather, bytes}};
}

namespace {

class WholeStep {
 public:
  WholeStep(const NetworkCosts& network, const RankGrid& grid, const DataParallel& way, bool by_sequence,
            const Surroundings& around, std::span<const SlowRank> slow)
      : network_(network),
        way_(way),
        by_sequence_(by_sequence),
        transfers_(around.transfers),
        grid_(classes_of(grid, slow)),
        replicas_(place_of_group(grid.data, grid.tensor, around.gpus_per_host)),
        parts_(place_of_group(grid.tensor, 1, around.gpus_per_host)),
        all_(grid_.classes.size()),
        last_(grid_.classes.size(), kNone) {
    plan_.classes = grid_.classes;
    plan_.tax = around.tax;
    plan_.steps = way.every;
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  StepPlan built(std::int64_t micro_batches) && {
    const std::int64_t all = micro_batches * way_.every;
    for (micro_batch_ = 0; micro_batch_ < all; ++micro_batch_) {
      forward();
      backward(micro_batch_ + 1 == all);
    }
    return std::move(plan_);
  }

 private:
  bool shards_weights() const { return way_.sharding == Sharding::parameters; }

  void compute(Phase phase, Nanoseconds cost, Nanoseconds launch, const std::string& name,
               const std::vector<NodeId>& also, LayerRange layers) {
    for (const std::size_t c : all_) {
      Node node{.work = Work::compute,
                .phase = phase,
                .rank_class = c,
                .cost = cost,
                .launch = launch,
                .name = name,
                .layers = layers,
                .micro_batch = micro_batch_};
      if (last_[c] != kNone) node.after.push_back(last_[c]);
      if (!also.empty() && also[c] != kNone) node.after.push_back(also[c]);
      last_[c] = plan_.add(std::move(node));
    }
  }

  // Between the parts of layers, on the stream of the computing, which needs the result.
  void exchange_parts(Exchange exchange, Bytes bytes, const std::string& name) {
    if (bytes.value() == 0) return;
    last_ = add_collectives(plan_, grid_.tensor_groups, all_, kComputeStream,
                            transfers_.time(exchange, bytes, parts_), {{exchange, bytes}}, last_, name);
  }
  // By the sequence a pair of products is gathered for, as is what lies behind all blocks.
  void gather_parts(const LayerCosts& layer, bool is_forward, const std::string& name) {
    if (!by_sequence_) return;
    exchange_parts(Exchange::all_gather, is_forward ? layer.reduced_backward : layer.reduced_forward, name);
    exchange_parts(Exchange::all_gather, is_forward ? layer.gathered_forward : layer.gathered_backward, name);
  }
  void reduce_parts(const LayerCosts& layer, bool is_forward, const std::string& name) {
    exchange_parts(by_sequence_ ? Exchange::reduce_scatter : Exchange::all_reduce,
                   is_forward ? layer.reduced_forward : layer.reduced_backward, name);
  }

  std::vector<NodeId> exchange(Exchange exchange, Bytes bytes, const std::vector<NodeId>& after,
                               const std::string& name) {
    constexpr std::int64_t kBytesOfBf16 = 2;
    if (way_.compressed && network_.element_bytes > kBytesOfBf16) {
      const std::int64_t count = bytes.value() / network_.element_bytes;
      // One way each is read in one size and written in the other.
      const Bytes converted(count * (network_.element_bytes + kBytesOfBf16));
      return convert(converted, exchange_plainly(exchange, Bytes(count * kBytesOfBf16),
                                                 compress(converted, after), name));
    }
    return exchange_plainly(exchange, bytes, after, name);
  }

  Nanoseconds convert_time(Bytes bytes) const {
    return network_.copy_rate > 0 ? seconds(static_cast<double>(bytes.value()) / network_.copy_rate)
                                  : Nanoseconds(0);
  }
  // The computing stream has the gradients, so it converts them.
  std::vector<NodeId> compress(Bytes bytes, const std::vector<NodeId>& after) {
    if (network_.copy_rate <= 0) return after;
    compute(Phase::exchange, convert_time(bytes), {}, "compress", after, {});
    return last_;
  }
  // The stream of the exchange converts the sums as soon as they are there.
  std::vector<NodeId> convert(Bytes bytes, const std::vector<NodeId>& after) {
    if (network_.copy_rate <= 0) return after;
    std::vector<NodeId> converted;
    for (const std::size_t c : all_) {
      Node node{.work = Work::copy,
                .rank_class = c,
                .stream = kExchangeStream,
                .cost = convert_time(bytes),
                .name = "expand"};
      if (after[c] != kNone) node.after.push_back(after[c]);
      converted.push_back(plan_.add(std::move(node)));
    }
    return converted;
  }

  std::vector<NodeId> exchange_plainly(Exchange exchange, Bytes bytes, const std::vector<NodeId>& after,
                                       const std::string& name) {
    // Weights that are gathered ahead pass gradients that wait for their computing.
    const std::size_t stream =
        shards_weights() && exchange == Exchange::all_gather ? kReceiveStream : kExchangeStream;
    return add_collectives(plan_, grid_.data_groups, all_, stream,
                           transfers_.time(exchange, bytes, replicas_), {{exchange, bytes}}, after, name);
  }

  // The weights of a block, gathered once the block before the last one has begun: two blocks are held at
  // most.
  std::vector<NodeId> gather(std::size_t block) {
    std::vector<NodeId> gathered =
        exchange(Exchange::all_gather, weights_of_block(block), before_last_block_, "gather weights");
    return gathered == before_last_block_ ? std::vector<NodeId>() : gathered;
  }
  Bytes weights_of_block(std::size_t block) const {
    Bytes sum;
    for (const LayerCosts& layer : network_.layers)
      if (layer.block == block) sum += layer.weights;
    return sum;
  }

  // Computes a layer in one direction. The first of a block waits for its weights, if they are sharded; these
  // may be gathered once the block before has begun.
  void compute_layer(std::size_t number, Phase phase, const std::string& name, std::size_t& block) {
    const LayerCosts& layer = network_.layers[number];
    const bool is_forward = phase == Phase::forward, enters = layer.block != block;
    std::vector<NodeId> gathered;
    if (enters && shards_weights()) {
      gathered = gather(layer.block);
      before_last_block_ = entered_;
    }
    gather_parts(layer, is_forward, "gather for " + name);
    compute(phase, is_forward ? layer.forward.time : layer.backward.time,
            is_forward ? layer.forward_launch : layer.backward_launch, name, gathered, {number, number + 1});
    if (enters) entered_ = last_;
    block = layer.block;
    reduce_parts(layer, is_forward, "reduce " + name);
  }

  void forward() {
    const std::string name = fmt::format("forward {}", micro_batch_);
    std::size_t block = kNone;
    start_blocks();
    for (std::size_t l = 0; l < network_.layers.size(); ++l) compute_layer(l, Phase::forward, name, block);
  }

  void backward(bool is_last) {
    const std::string name = fmt::format("backward {}", micro_batch_);
    std::size_t block = kNone;
    start_blocks();
    const bool in_buckets = way_.sharding != Sharding::none || way_.exchange == GradientExchange::buckets;
    const std::vector<Bucket> buckets = is_last && in_buckets && !shards_weights()
                                            ? gradient_buckets(network_, way_.bucket, way_.first_bucket)
                                            : std::vector<Bucket>();
    auto bucket = buckets.begin();
    std::vector<NodeId> exchanged;
    for (std::size_t l = network_.layers.size(); l-- > 0;) {
      const LayerCosts& layer = network_.layers[l];
      compute_layer(l, Phase::backward, name, block);
      if (bucket != buckets.end() && bucket->last_layer == l) {
        const bool shards = way_.sharding != Sharding::none;
        exchanged = exchange(shards ? Exchange::reduce_scatter : Exchange::all_reduce, bucket->bytes, last_,
                             "exchange gradients");
        ++bucket;
      }
      // Sharded weights have sharded gradients in each micro-batch.
      if (shards_weights() && (l == 0 || network_.layers[l - 1].block != layer.block))
        exchange(Exchange::reduce_scatter, weights_of_block(layer.block), last_, "exchange gradients");
    }
    if (!is_last) return;
    if (by_sequence_)
      exchange_parts(Exchange::all_reduce, weights_by_sequence(network_), "sum over the sequence");
    finish(exchanged);
  }

  void finish(const std::vector<NodeId>& exchanged) {
    const Bytes weights = weights_of(network_);
    if (way_.sharding == Sharding::optimizer || way_.sharding == Sharding::gradients) {
      exchange(Exchange::all_gather, weights, exchanged.empty() ? last_ : exchanged, "gather weights");
      return;
    }
    if (shards_weights()) return;
    if (way_.exchange == GradientExchange::after_backward)
      exchange(Exchange::all_reduce, weights, last_, "exchange gradients");
    if (way_.exchange == GradientExchange::scatter_gather)
      exchange(Exchange::all_gather, weights,
               exchange(Exchange::reduce_scatter, weights, last_, "exchange gradients"), "gather gradients");
  }

  void start_blocks() {
    entered_ = last_;
    before_last_block_ = last_;
  }

  const NetworkCosts& network_;
  const DataParallel& way_;
  bool by_sequence_;
  const TransferCosts& transfers_;
  GridClasses grid_;
  GroupPlace replicas_, parts_;
  std::vector<std::size_t> all_;
  std::int64_t micro_batch_ = 0;
  std::vector<NodeId> last_;  // on the computing stream, of each class
  std::vector<NodeId> entered_, before_last_block_;
  StepPlan plan_;
};

}  // namespace

void check_way(const DataParallel& way) {
  if (way.compressed && way.sharding != Sharding::none)
    throw UsageError(
        "gradients that are sharded are exchanged as they are; leave out their compression, or the sharding");
  if (way.every > 1 && way.sharding != Sharding::none)
    throw UsageError("sharded state is exchanged in every step; leave every k-th step out, or the sharding");
}

StepPlan data_parallel_step(const NetworkCosts& network, const RankGrid& grid, std::int64_t micro_batches,
                            const DataParallel& way, bool by_sequence, const Surroundings& around,
                            std::span<const SlowRank> slow) {
  if (grid.pipeline != 1) throw UsageError("a pipeline has stages of its own; plan it as a pipeline");
  check_way(way);
  return WholeStep(network, grid, way, by_sequence, around, slow).built(micro_batches);
}

std::vector<std::int64_t> samples_by_speed(std::int64_t samples, std::span<const double> factors) {
  std::vector<std::int64_t> dealt(factors.size(), 0);
  // One after the other to the rank that would be done with it first: so the last to end is as early as can
  // be.
  using Next = std::pair<double, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (std::size_t r = 0; r < factors.size(); ++r) next.emplace(factors[r], r);
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::size_t rank = next.top().second;
    next.pop();
    ++dealt[rank];
    next.emplace(factors[rank] * static_cast<double>(dealt[rank] + 1), rank);
  }
  return dealt;
}

std::vector<SlowRank> slow_ranks(std::span<const std::int64_t> samples, double even,
                                 std::span<const double> factors) {
  std::vector<SlowRank> slow;
  for (std::size_t r = 0; r < factors.size(); ++r)
    slow.push_back({static_cast<std::int64_t>(r), factors[r] * static_cast<double>(samples[r]) / even});
  return slow;
}

}  // namespace jitterscope::plan
