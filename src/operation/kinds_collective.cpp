#include "operation/kinds_collective.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"

namespace jitterscope {

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::reduce;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce || kind == CollectiveKind::send;
}

bool waits_for_all(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
}

bool can_be_in_place(CollectiveKind kind) {
  return kind != CollectiveKind::all_to_all && kind != CollectiveKind::send_recv;
}

bool is_cut_by_ranks(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::all_to_all;
}

bool takes_part(const Collective& collective, std::int64_t rank) {
  return collective.kind != CollectiveKind::send || rank == collective.root || rank == collective.to;
}

std::int64_t part_of(const Collective& collective) {
  return collective.count / std::max<std::int64_t>(1, collective.ranks);
}

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce: return 2.0 * (n - 1.0) / n;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all: return (n - 1.0) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
    case CollectiveKind::send: return 1.0;
  }
  return 1.0;
}

Operation among_ranks(const Operation& operation, std::int64_t ranks) {
  Operation::Parameters parameters = operation.parameters();
  if (auto* chain = std::get_if<Chain>(&parameters)) {
    for (Operation& step : chain->steps) step = among_ranks(step, ranks);
  } else if (auto* collective = std::get_if<Collective>(&parameters)) {
    if (collective->ranks != 0 && collective->ranks != ranks) {
      throw UsageError(fmt::format("{}: ranks={}, and {} take part; leave ranks out, or start as many",
                                   operation.kind(), collective->ranks, ranks));
    }
    collective->ranks = ranks;
  }
  return {std::move(parameters)};
}

std::int64_t ranks_named(const Operation& operation) {
  if (const auto* collective = std::get_if<Collective>(&operation.parameters())) return collective->ranks;
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr) return 0;
  const auto first = std::ranges::find_if(chain->steps, has_collective);
  return first == chain->steps.end() ? 0 : ranks_named(*first);
}

bool has_collective(const Operation& operation) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain != nullptr) return std::ranges::any_of(chain->steps, has_collective);
  return std::holds_alternative<Collective>(operation.parameters());
}

namespace kinds {
namespace {

void describe(Collective& collective, Fields& fields) {
  const Collective usual;
  fields.required(
      "count",
      "elements of the larger of a rank's two buffers; as every number with k, M, G, T (powers of "
      "1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
      collective.count, {1, kLargestCount});
  fields.shown("dtype", kTypes, collective.dtype, DataType::f32);
  if (reduces(collective.kind)) {
    fields.optional("op", "how elements are combined: sum, prod, max, min or avg", collective.op, usual.op);
  }
  if (has_root(collective.kind)) {
    fields.optional("root", "the rank that gives or gets the data", collective.root, usual.root,
                    {0, kMostRanks - 1});
  }
  if (collective.kind == CollectiveKind::send)
    fields.optional("to", "the rank that gets the data", collective.to, usual.to, {0, kMostRanks - 1});
  if (can_be_in_place(collective.kind)) {
    fields.optional("in_place", "1: results replace the input, in one buffer", collective.in_place,
                    usual.in_place);
  }
  fields.optional("ranks", "how many take part; 0: all that there are", collective.ranks, usual.ranks,
                  {0, kMostRanks});
}

void normalize(Collective& collective) {
  if (!reduces(collective.kind)) collective.op = Reduction::sum;
  if (!has_root(collective.kind)) collective.root = 0;
  if (collective.kind != CollectiveKind::send) collective.to = Collective().to;
}

void check(const Collective& collective) {
  const std::string_view word = name(collective);
  if (collective.in_place && !can_be_in_place(collective.kind)) {
    throw UsageError(fmt::format("{}: in_place=1 is impossible: it has two buffers; leave it out", word));
  }
  const bool sends = collective.kind == CollectiveKind::send;
  if (sends && collective.to == collective.root)
    throw UsageError(
        fmt::format("{}: to={} is impossible: that rank sends; name another", word, collective.to));
  if (collective.ranks == 0) return;
  const auto require_rank = [&](std::string_view field, std::int64_t rank) {
    if (rank >= collective.ranks)
      throw UsageError(fmt::format("{}: {}={} is impossible: {} ranks have the numbers 0 to {}", word, field,
                                   rank, collective.ranks, collective.ranks - 1));
  };
  require_rank("root", collective.root);
  if (sends) require_rank("to", collective.to);
  if (is_cut_by_ranks(collective.kind) && collective.count % collective.ranks != 0) {
    throw UsageError(fmt::format(
        "{}: count={} is impossible: it has no equal part for each of {} ranks; {} has", word,
        collective.count, collective.ranks, (collective.count / collective.ranks + 1) * collective.ranks));
  }
}

// Each element of a result takes an operation for each rank but one, and an average a division more. The
// ranks share the work.
double flops(const Collective& collective) {
  if (!reduces(collective.kind) || collective.ranks == 0) return 0.0;
  const auto ranks = static_cast<double>(collective.ranks);
  const double divisions = collective.op == Reduction::avg ? 1.0 : 0.0;
  return static_cast<double>(collective.count) * (ranks - 1.0 + divisions) / ranks;
}

std::vector<Operand> operands(const Collective& collective) {
  const DataType dtype = collective.dtype;
  if (collective.in_place) return {{"x", OperandRole::input, dtype, collective.count}};
  const bool is_gathered = collective.kind == CollectiveKind::all_gather;
  const bool is_scattered = collective.kind == CollectiveKind::reduce_scatter;
  return {{"x", OperandRole::input, dtype, is_gathered ? part_of(collective) : collective.count},
          {"y", OperandRole::output, dtype, is_scattered ? part_of(collective) : collective.count}};
}

}  // namespace

const KindOf<Collective>& kind_of(const Collective&) {
  const auto named = [](CollectiveKind kind, std::string_view word, std::string_view summary,
                        std::string_view parameters) {
    return Named<Collective>{std::string(word),
                             std::string(summary),
                             fmt::format("{}:count=16Mi,dtype=bf16{}", word, parameters),
                             {.kind = kind}};
  };
  static const KindOf<Collective> kind = {
      // In the order of CollectiveKind.
      .words = {named(CollectiveKind::all_reduce, "all_reduce",
                      "each rank gets the elements of all ranks, combined", ",op=sum"),
                named(CollectiveKind::reduce_scatter, "reduce_scatter",
                      "each rank gets its part of the elements of all ranks, combined", ",op=sum"),
                named(CollectiveKind::all_gather, "all_gather", "each rank gets the parts of all ranks", ""),
                named(CollectiveKind::broadcast, "broadcast", "each rank gets the root's elements",
                      ",root=0"),
                named(CollectiveKind::reduce, "reduce", "the root gets the elements of all ranks, combined",
                      ",op=sum,root=0"),
                named(CollectiveKind::all_to_all, "all_to_all", "each rank sends a part to each rank", ""),
                named(CollectiveKind::send_recv, "send_recv",
                      "each rank sends to the next one and receives from the one before, in a ring", ""),
                named(CollectiveKind::send, "send", "one rank gets another's elements", ",root=0,to=1")},
      .place = [](const Collective& collective) { return static_cast<std::size_t>(collective.kind); },
      .describe = describe,
      .normalize = normalize,
      .check = check,
      .flops = flops,
      .operands = operands};
  return kind;
}

}  // namespace kinds
}  // namespace jitterscope
