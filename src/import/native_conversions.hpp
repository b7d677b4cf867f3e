// The families of operators that native operations stand for. Each function takes an operator of its family
// and throws NotNative where no native operation does the same work.
#pragma once

#include "import/operator_conversion.hpp"

namespace jitterscope {

using Converted = std::vector<ConvertedOperation>;
using NativeConversion = Converted (*)(const RecordedOperator&, ConversionContext&);

// operator_convolution.cpp
Converted convert_convolution(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_transposed_convolution(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_convolution_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_matmul.cpp
Converted convert_linear(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_addmm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_mm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_bmm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_baddbmm(const RecordedOperator& recorded, ConversionContext& context);
// operator_normalization.cpp
Converted convert_batch_norm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_batch_norm_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_layer_norm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_layer_norm_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_softmax(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_softmax_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_pool.cpp
Converted convert_max_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_max_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_average_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_average_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_adaptive_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_adaptive_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_mean(const RecordedOperator& recorded, ConversionContext& context);
// operator_elementwise.cpp
Converted convert_sum_or_product(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_activation(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_activation_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_fill(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_copy(const RecordedOperator& recorded, ConversionContext& context);
// operator_attention.cpp
Converted convert_attention(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_attention_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_training.cpp
Converted convert_embedding(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_embedding_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_optimizer(const RecordedOperator& recorded, ConversionContext& context);

}  // namespace jitterscope
