// Prepares each kind of operation; throws UsageError for those that the CPU lacks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs);

/// Our own loops in double precision; also the reference.
std::unique_ptr<PreparedOperation> prepare_double(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs);
/// Activations, pooling, softmax and normalization; nullptr if oneDNN has no primitive for the type or the
/// layout.
std::unique_ptr<PreparedOperation> prepare_onednn_layer(const Operation& operation, const InputTable& inputs);

/// A fused chain of one lane, as a primitive with post-ops.
std::unique_ptr<PreparedOperation> prepare_onednn_fused(const Operation& operation, const InputTable& inputs);

/// Attention in f32 only.
std::unique_ptr<PreparedOperation> prepare_onednn_attention(const Operation&, const InputTable&);

/// Our own loops, for every type but tf32.
std::unique_ptr<PreparedOperation> prepare_elementwise(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_bias_add(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_convert(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_batch_norm_loops(const Operation&, const InputTable&);
std::unique_ptr<PreparedOperation> prepare_layer_norm_loops(const Operation&, const InputTable&);
std::unique_ptr<PreparedOperation> prepare_pool_loops(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_softmax_loops(const Operation& operation,
                                                         const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_embedding(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_optimizer_step(const Operation&, const InputTable&);
std::unique_ptr<PreparedOperation> prepare_attention_loops(const Operation&, const InputTable&);

std::unique_ptr<PreparedOperation> prepare_copy(const Operation& operation, const InputTable& inputs);
std::vector<Allocator> allocators();
std::unique_ptr<PreparedOperation> prepare_allocation(const Operation&, const InputTable&);
std::unique_ptr<PreparedOperation> prepare_spin(const Operation& operation, const InputTable& inputs);

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
