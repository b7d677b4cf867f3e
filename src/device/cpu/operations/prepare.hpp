// Builds each kind of operation; throws UsageError for what the CPU does not have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs);

/// Own loops in double precision, for checking.
std::unique_ptr<PreparedOperation> prepare_double(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs);
/// Activations, pooling, softmax and normalization; nothing where oneDNN has no primitive for the type or
/// for the operands as they lie.
std::unique_ptr<PreparedOperation> prepare_onednn_layer(const Operation& operation, const InputTable& inputs);

/// A fused chain of one lane, by a primitive with post-ops.
std::unique_ptr<PreparedOperation> prepare_onednn_fused(const Operation& operation, const InputTable& inputs);

/// In f32 only.
std::unique_ptr<PreparedOperation> prepare_onednn_attention(const Operation&, const InputTable&);

/// Own loops, for every type but tf32.
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

// What the loaded oneDNN is and can do.

LibraryInfo onednn_library();
/// The instruction set that it uses here: avx2, avx512_core_bf16, …
std::string onednn_instruction_set();
/// What conv2d, matmul and linear are computed in; the other kinds, in own loops, also in further_types().
std::vector<DataType> product_types();
std::vector<DataType> further_types();
/// Threads that a parallel loop or a layer runs on.
int thread_count();

}  // namespace jitterscope::cpu
