#include "import/operator_conversion.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "import/recorded_operator.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

struct NativeOperator {
  std::string_view name, argument_names;
  NativeConversion convert;
};

// Argument names are those of PyTorch 2.11's native_functions.yaml, in their order.
constexpr NativeOperator kOperators[] = {
    {"aten::cudnn_convolution",
     "self,weight,padding,stride,dilation,groups,benchmark,deterministic,allow_tf32", convert_convolution},
    {"aten::mkldnn_convolution", "self,weight,bias,padding,stride,dilation,groups", convert_convolution},
    {"aten::cudnn_convolution_transpose",
     "self,weight,padding,output_padding,stride,dilation,groups,benchmark,deterministic,allow_tf32",
     convert_transposed_convolution},
    {"aten::convolution_backward",
     "grad_output,input,weight,bias_sizes,stride,padding,dilation,transposed,output_padding,groups,output_mask",
     convert_convolution_backward},
    {"aten::linear", "input,weight,bias", convert_linear},
    {"aten::addmm", "self,mat1,mat2,beta,alpha", convert_addmm},
    {"aten::mm", "self,mat2", convert_mm},
    {"aten::bmm", "self,mat2", convert_bmm},
    {"aten::baddbmm", "self,batch1,batch2,beta,alpha", convert_baddbmm},
    {"aten::cudnn_batch_norm",
     "input,weight,bias,running_mean,running_var,training,exponential_average_factor,epsilon",
     convert_batch_norm},
    {"aten::cudnn_batch_norm_backward",
     "input,grad_output,weight,running_mean,running_var,save_mean,save_var,epsilon,reserveSpace",
     convert_batch_norm_backward},
    {"aten::native_batch_norm", "input,weight,bias,running_mean,running_var,training,momentum,eps",
     convert_batch_norm},
    {"aten::_native_batch_norm_legit", "input,weight,bias,running_mean,running_var,training,momentum,eps",
     convert_batch_norm},
    {"aten::native_batch_norm_backward",
     "grad_out,input,weight,running_mean,running_var,save_mean,save_invstd,train,eps,output_mask",
     convert_batch_norm_backward},
    {"aten::native_layer_norm", "input,normalized_shape,weight,bias,eps", convert_layer_norm},
    {"aten::native_layer_norm_backward", "grad_out,input,normalized_shape,mean,rstd,weight,bias,output_mask",
     convert_layer_norm_backward},
    {"aten::_softmax", "self,dim,half_to_float", convert_softmax},
    {"aten::_log_softmax", "self,dim,half_to_float", convert_softmax},
    {"aten::_softmax_backward_data", "grad_output,output,dim,input_dtype", convert_softmax_backward},
    {"aten::_log_softmax_backward_data", "grad_output,output,dim,input_dtype", convert_softmax_backward},
    {"aten::max_pool2d_with_indices", "self,kernel_size,stride,padding,dilation,ceil_mode", convert_max_pool},
    {"aten::max_pool2d_with_indices_backward",
     "grad_output,self,kernel_size,stride,padding,dilation,ceil_mode,indices", convert_max_pool_backward},
    {"aten::avg_pool2d", "self,kernel_size,stride,padding,ceil_mode,count_include_pad,divisor_override",
     convert_average_pool},
    {"aten::avg_pool2d_backward",
     "grad_output,self,kernel_size,stride,padding,ceil_mode,count_include_pad,divisor_override",
     convert_average_pool_backward},
    {"aten::_adaptive_avg_pool2d", "self,output_size", convert_adaptive_pool},
    {"aten::_adaptive_avg_pool2d_backward", "grad_output,self", convert_adaptive_pool_backward},
    {"aten::mean", "self,dim,keepdim,dtype", convert_mean},
    {"aten::add", "self,other,alpha", convert_sum_or_product},
    {"aten::add_", "self,other,alpha", convert_sum_or_product},
    {"aten::mul", "self,other", convert_sum_or_product},
    {"aten::mul_", "self,other", convert_sum_or_product},
    {"aten::relu", "self", convert_activation},
    {"aten::relu_", "self", convert_activation},
    {"aten::clamp_min", "self,min", convert_activation},
    {"aten::clamp_min_", "self,min", convert_activation},
    {"aten::clamp", "self,min,max", convert_activation},
    {"aten::clamp_", "self,min,max", convert_activation},
    {"aten::hardtanh", "self,min_val,max_val", convert_activation},
    {"aten::hardtanh_", "self,min_val,max_val", convert_activation},
    {"aten::sigmoid", "self", convert_activation},
    {"aten::sigmoid_", "self", convert_activation},
    {"aten::tanh", "self", convert_activation},
    {"aten::tanh_", "self", convert_activation},
    {"aten::silu", "self", convert_activation},
    {"aten::silu_", "self", convert_activation},
    {"aten::gelu", "self,approximate", convert_activation},
    {"aten::threshold_backward", "grad_output,self,threshold", convert_activation_backward},
    {"aten::hardtanh_backward", "grad_output,self,min_val,max_val", convert_activation_backward},
    {"aten::sigmoid_backward", "grad_output,output", convert_activation_backward},
    {"aten::tanh_backward", "grad_output,output", convert_activation_backward},
    {"aten::silu_backward", "grad_output,self", convert_activation_backward},
    {"aten::gelu_backward", "grad_output,self,approximate", convert_activation_backward},
    {"aten::fill_", "self,value", convert_fill},
    {"aten::zero_", "self", convert_fill},
    {"aten::copy_", "self,src,non_blocking", convert_copy},
    {"aten::embedding", "weight,indices,padding_idx,scale_grad_by_freq,sparse", convert_embedding},
    {"aten::embedding_dense_backward", "grad_output,indices,num_weights,padding_idx,scale_grad_by_freq",
     convert_embedding_backward},
    {"aten::_foreach_add_", "self,other,alpha", convert_optimizer},
    {"aten::_fused_sgd_",
     "self,grads,momentum_buffer_list,weight_decay,momentum,lr,dampening,nesterov,maximize,is_first_step",
     convert_optimizer},
    {"aten::_fused_adam_", "self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps", convert_optimizer},
    {"aten::_fused_adamw_", "self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps", convert_optimizer},
    {"aten::_scaled_dot_product_flash_attention",
     "query,key,value,dropout_p,is_causal,return_debug_mask,scale", convert_attention},
    {"aten::_scaled_dot_product_efficient_attention",
     "query,key,value,attn_bias,compute_log_sumexp,dropout_p,is_causal,scale", convert_attention},
    {"aten::_scaled_dot_product_cudnn_attention",
     "query,key,value,attn_bias,compute_log_sumexp,dropout_p,is_causal,return_debug_mask,scale",
     convert_attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     "query,key,value,dropout_p,is_causal,attn_mask,scale", convert_attention},
    {"aten::_scaled_dot_product_flash_attention_backward",
     "grad_out,query,key,value,out,logsumexp,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,philox_seed,philox_offset,scale",
     convert_attention_backward},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     "grad_out_,query,key,value,attn_bias,out,logsumexp,philox_seed,philox_offset,dropout_p,grad_input_mask,is_causal,scale",
     convert_attention_backward},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     "grad_out,query,key,value,out,logsumexp,philox_seed,philox_offset,attn_bias,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,scale",
     convert_attention_backward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     "grad_out,query,key,value,out,logsumexp,dropout_p,is_causal,attn_mask,scale",
     convert_attention_backward},
};

const NativeOperator* find_operator(std::string_view name) {
  const auto* const found = std::ranges::find(kOperators, name, &NativeOperator::name);
  return found == std::end(kOperators) ? nullptr : found;
}

// Returns an empty list if no native operation does the work. An error about an impossible shape is passed
// on: the shape is impossible for the operator itself, too.
Converted convert_natively(const RecordedOperator& recorded, ConversionContext& context) {
  const NativeOperator* known = find_operator(recorded.name);
  if (known == nullptr) return {};
  try {
    return known->convert(Arguments(recorded), context);
  } catch (const NotNative&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> known_argument_names(std::string_view name) {
  const NativeOperator* known = find_operator(name);
  std::vector<std::string> names;
  std::string_view rest = known == nullptr ? std::string_view() : known->argument_names;
  while (!rest.empty()) {
    names.emplace_back(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
  }
  return names;
}

ConvertedOperation as_operation(Operation::Parameters parameters, const Arguments& arguments,
                                std::initializer_list<std::pair<std::string_view, TensorPlace>> places) {
  ConvertedOperation result{Operation(std::move(parameters))};
  for (const auto& [operand, place] : places) result.tensors.emplace_back(operand, arguments.identity(place));
  return result;
}

void ConversionContext::note(std::string_view sentence) { add_once(notes, sentence); }

Aten aten_of(const RecordedOperator& recorded) {
  Aten aten;
  const std::string overload = recorded.overload ? *recorded.overload : known_overload(recorded);
  aten.name = overload.empty() ? recorded.name : recorded.name + "." + overload;
  for (const RecordedArgument& argument : recorded.arguments) {
    if (!argument.problem.empty()) throw IncompleteRecord(argument);
    aten.arguments.push_back(argument.value);
  }
  aten.argument_names.resize(aten.arguments.size());
  return aten;
}

std::vector<ConvertedOperation> convert(const RecordedOperator& recorded, ConversionContext& context) {
  Converted native = convert_natively(recorded, context);
  if (native.empty()) return {{Operation(aten_of(recorded))}};
  for (ConvertedOperation& converted : native) {
    if (converted.aten) continue;
    try {
      converted.aten = Operation(aten_of(recorded));
    } catch (const UsageError&) {
      // The native operation does not need the arguments that the record lacks.
    }
  }
  return native;
}

namespace {

std::vector<std::int64_t> strides_of(const AtenArgument& tensor) {
  return tensor.strides.size() == tensor.shape.size() ? tensor.strides : dense_strides(tensor.shape);
}

}  // namespace

bool is_dense_in(const AtenArgument& tensor, std::span<const int> order) {
  require_native(order.size() == tensor.shape.size());
  const std::vector<std::int64_t> strides = strides_of(tensor);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto dimension = static_cast<std::size_t>(order[i]);
    const std::int64_t size = tensor.shape[dimension];
    if (size != 1 && strides[dimension] != step) return false;
    step = limited_product({step, size});
  }
  return true;
}

bool is_dense_row_major(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  return is_dense_in(tensor, order);
}

bool is_dense(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> strides = strides_of(tensor);
  const auto outer = [&](int a, int b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  };
  std::stable_sort(order.begin(), order.end(), outer);
  return is_dense_in(tensor, order);
}

bool have_equal_strides(const AtenArgument& a, const AtenArgument& b) {
  const std::vector<std::int64_t> left = strides_of(a), right = strides_of(b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (a.shape[i] != 1 && left[i] != right[i]) return false;
  }
  return a.shape == b.shape;
}

std::optional<Layout> dense_layout(const AtenArgument& tensor) {
  constexpr int kRowMajor[] = {0, 1, 2, 3}, kChannelsLast[] = {0, 2, 3, 1};
  require_native(tensor.shape.size() == 4);
  const bool nhwc = is_dense_in(tensor, kChannelsLast);
  if (is_dense_in(tensor, kRowMajor) && !(nhwc && suggested_layout(tensor) == Layout::nhwc)) {
    return Layout::nchw;
  }
  return nhwc ? std::optional(Layout::nhwc) : std::nullopt;
}

Layout suggested_layout(const AtenArgument& tensor) {
  const std::vector<std::int64_t> strides = strides_of(tensor);
  if (tensor.shape.size() != 4 || strides[1] == 0) return Layout::nchw;
  std::int64_t smallest = 0;
  for (const std::size_t dimension : {1u, 3u, 2u, 0u}) {
    if (tensor.shape[dimension] == 0 || strides[dimension] < smallest) return Layout::nchw;
    // Equal strides do not tell the layouts apart: n·1·1·1 is taken as nchw.
    if (dimension == 0 && smallest == strides[1]) return Layout::nchw;
    smallest = limited_product({strides[dimension], std::max<std::int64_t>(tensor.shape[dimension], 1)});
  }
  return Layout::nhwc;
}

std::int64_t element_count(const AtenArgument& tensor) { return limited_product(tensor.shape); }

DataType native_type(const AtenArgument& tensor) {
  for (const DataType type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    if (tensor.text == to_string(type)) return type;
  }
  throw NotNative();
}

}  // namespace jitterscope
