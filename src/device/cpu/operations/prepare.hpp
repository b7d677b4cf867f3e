// Prepares each kind of operation; throws UsageError for those that the CPU lacks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

using Prepare = std::unique_ptr<PreparedOperation>(const Operation&, const InputTable&);

Prepare prepare;

/// Our own loops in double precision; also the reference.
Prepare prepare_double;
Prepare prepare_onednn;
/// Activations, pooling, softmax and normalization; nullptr if oneDNN has no primitive for the type or the
/// layout.
Prepare prepare_onednn_layer;

/// A fused chain of one lane, as a primitive with post-ops.
Prepare prepare_onednn_fused;

/// Attention in f32 only.
Prepare prepare_onednn_attention;

/// Our own loops, for every type but tf32.
Prepare prepare_elementwise, prepare_bias_add, prepare_convert, prepare_batch_norm_loops,
    prepare_layer_norm_loops, prepare_pool_loops, prepare_softmax_loops, prepare_embedding,
    prepare_optimizer_step, prepare_attention_loops;

Prepare prepare_copy, prepare_allocation, prepare_spin;
std::vector<Allocator> allocators();

// The loaded oneDNN.

LibraryInfo onednn_library();
/// The instruction set that it uses here: avx2, avx512_core_bf16, …
std::string onednn_instruction_set();
/// The types of conv2d, matmul and linear. The other kinds, in our own loops, have further_types() too.
std::vector<DataType> product_types();
std::vector<DataType> further_types();
/// Threads that a parallel loop or a layer runs on.
int thread_count();

}  // namespace jitterscope::cpu
