// Collectives: which ranks read and write what, and the bandwidth of links that a time means.
#pragma once

#include <cstdint>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Most ranks that an operation names.
inline constexpr std::int64_t kMostRanks = 1 << 16;

/// True if it combines the elements of all ranks.
bool reduces(CollectiveKind kind);
bool has_root(CollectiveKind kind);
/// True if no rank is done before the last one has come.
bool waits_for_all(CollectiveKind kind);
bool can_be_in_place(CollectiveKind kind);
/// True if one of the two buffers of a rank, or both, is cut into a part for each rank.
bool is_cut_by_ranks(CollectiveKind kind);

/// False for a send between two others.
bool takes_part(const Collective&, std::int64_t rank);

/// Elements of a rank's part: count / ranks.
std::int64_t part_of(const Collective&);

/// nccl-tests' factor from bytes / time of the larger buffer to the rate of each link that such a time needs
/// at least ("busbw"): 2(n-1)/n for all_reduce; (n-1)/n for reduce_scatter, all_gather and all_to_all;
/// else 1.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

/// Returns the operation for this many ranks: a collective, and those among a chain's steps, that names none.
/// Throws UsageError if it names another number, its count has no part for each, or its root is none of them.
Operation among_ranks(const Operation& operation, std::int64_t ranks);
/// The ranks that the collective, or the first of a chain's steps that is one, names; 0 if there is none or
/// it names none.
std::int64_t ranks_named(const Operation& operation);
/// True for a collective, and for a chain with one.
bool has_collective(const Operation& operation);

}  // namespace jitterscope
