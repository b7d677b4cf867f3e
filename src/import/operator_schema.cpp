#include "import/operator_schema.hpp"

#include <algorithm>
#include <utility>

#include "operation/words.hpp"

namespace jitterscope {
namespace {

void add_argument(OperatorSchema& schema, std::string_view piece) {
  const std::size_t equals = piece.find('=');
  const std::string_view declared = trimmed(piece.substr(0, equals));
  if (declared.empty() || declared == "*") return;
  const std::size_t space = declared.rfind(' ');
  schema.argument_names.emplace_back(space == std::string_view::npos ? declared : declared.substr(space + 1));
  schema.has_default.push_back(equals != std::string_view::npos);
}

// Defaults and types may hold commas in brackets: int[2] stride=[1, 1].
void add_arguments(OperatorSchema& schema, std::string_view inside) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '[' || inside[i] == '(') ++depth;
    if (inside[i] == ']' || inside[i] == ')') --depth;
    if (inside[i] != ',' || depth != 0) continue;
    add_argument(schema, inside.substr(begin, i - begin));
    begin = i + 1;
  }
  add_argument(schema, inside.substr(begin));
}

// Schemas of PyTorch 2.11's native_functions.yaml, names only, in their order.
constexpr std::pair<std::string_view, std::string_view> kSchemas[] = {
    {"aten::cudnn_convolution",
     "self,weight,padding,stride,dilation,groups,benchmark,deterministic,allow_tf32"},
    {"aten::mkldnn_convolution", "self,weight,bias,padding,stride,dilation,groups"},
    {"aten::cudnn_convolution_transpose",
     "self,weight,padding,output_padding,stride,dilation,groups,benchmark,deterministic,allow_tf32"},
    {"aten::convolution_backward",
     "grad_output,input,weight,bias_sizes,stride,padding,dilation,transposed,output_padding,groups,output_"
     "mask"},
    {"aten::linear", "input,weight,bias"},
    {"aten::addmm", "self,mat1,mat2,beta,alpha"},
    {"aten::mm", "self,mat2"},
    {"aten::bmm", "self,mat2"},
    {"aten::baddbmm", "self,batch1,batch2,beta,alpha"},
    {"aten::cudnn_batch_norm",
     "input,weight,bias,running_mean,running_var,training,exponential_average_factor,epsilon"},
    {"aten::cudnn_batch_norm_backward",
     "input,grad_output,weight,running_mean,running_var,save_mean,save_var,epsilon,reserveSpace"},
    {"aten::native_batch_norm", "input,weight,bias,running_mean,running_var,training,momentum,eps"},
    {"aten::_native_batch_norm_legit", "input,weight,bias,running_mean,running_var,training,momentum,eps"},
    {"aten::native_batch_norm_backward",
     "grad_out,input,weight,running_mean,running_var,save_mean,save_invstd,train,eps,output_mask"},
    {"aten::native_layer_norm", "input,normalized_shape,weight,bias,eps"},
    {"aten::native_layer_norm_backward", "grad_out,input,normalized_shape,mean,rstd,weight,bias,output_mask"},
    {"aten::_softmax", "self,dim,half_to_float"},
    {"aten::_log_softmax", "self,dim,half_to_float"},
    {"aten::_softmax_backward_data", "grad_output,output,dim,input_dtype"},
    {"aten::_log_softmax_backward_data", "grad_output,output,dim,input_dtype"},
    {"aten::max_pool2d_with_indices", "self,kernel_size,stride,padding,dilation,ceil_mode"},
    {"aten::max_pool2d_with_indices_backward",
     "grad_output,self,kernel_size,stride,padding,dilation,ceil_mode,indices"},
    {"aten::avg_pool2d", "self,kernel_size,stride,padding,ceil_mode,count_include_pad,divisor_override"},
    {"aten::avg_pool2d_backward",
     "grad_output,self,kernel_size,stride,padding,ceil_mode,count_include_pad,divisor_override"},
    {"aten::_adaptive_avg_pool2d", "self,output_size"},
    {"aten::_adaptive_avg_pool2d_backward", "grad_output,self"},
    {"aten::mean", "self,dim,keepdim,dtype"},
    {"aten::embedding", "weight,indices,padding_idx,scale_grad_by_freq,sparse"},
    {"aten::embedding_dense_backward", "grad_output,indices,num_weights,padding_idx,scale_grad_by_freq"},
    {"aten::add", "self,other,alpha"},
    {"aten::add_", "self,other,alpha"},
    {"aten::mul", "self,other"},
    {"aten::mul_", "self,other"},
    {"aten::fill_", "self,value"},
    {"aten::zero_", "self"},
    {"aten::copy_", "self,src,non_blocking"},
    {"aten::clamp_min", "self,min"},
    {"aten::clamp_min_", "self,min"},
    {"aten::clamp", "self,min,max"},
    {"aten::clamp_", "self,min,max"},
    {"aten::relu", "self"},
    {"aten::relu_", "self"},
    {"aten::hardtanh", "self,min_val,max_val"},
    {"aten::hardtanh_", "self,min_val,max_val"},
    {"aten::hardtanh_backward", "grad_output,self,min_val,max_val"},
    {"aten::threshold_backward", "grad_output,self,threshold"},
    {"aten::sigmoid", "self"},
    {"aten::sigmoid_", "self"},
    {"aten::sigmoid_backward", "grad_output,output"},
    {"aten::tanh", "self"},
    {"aten::tanh_", "self"},
    {"aten::tanh_backward", "grad_output,output"},
    {"aten::silu", "self"},
    {"aten::silu_", "self"},
    {"aten::silu_backward", "grad_output,self"},
    {"aten::gelu", "self,approximate"},
    {"aten::gelu_backward", "grad_output,self,approximate"},
    {"aten::_foreach_add_", "self,other,alpha"},
    {"aten::_fused_sgd_",
     "self,grads,momentum_buffer_list,weight_decay,momentum,lr,dampening,nesterov,maximize,is_first_step"},
    {"aten::_fused_adam_", "self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps"},
    {"aten::_fused_adamw_", "self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps"},
    {"aten::_scaled_dot_product_flash_attention",
     "query,key,value,dropout_p,is_causal,return_debug_mask,scale"},
    {"aten::_scaled_dot_product_flash_attention_backward",
     "grad_out,query,key,value,out,logsumexp,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,"
     "philox_seed,philox_offset,scale"},
    {"aten::_scaled_dot_product_efficient_attention",
     "query,key,value,attn_bias,compute_log_sumexp,dropout_p,is_causal,scale"},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     "grad_out_,query,key,value,attn_bias,out,logsumexp,philox_seed,philox_offset,dropout_p,"
     "grad_input_mask,is_causal,scale"},
    {"aten::_scaled_dot_product_cudnn_attention",
     "query,key,value,attn_bias,compute_log_sumexp,dropout_p,is_causal,return_debug_mask,scale"},
    {"aten::_scaled_dot_product_cudnn_attention_backward",
     "grad_out,query,key,value,out,logsumexp,philox_seed,philox_offset,attn_bias,cum_seq_q,cum_seq_k,"
     "max_q,max_k,dropout_p,is_causal,scale"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     "query,key,value,dropout_p,is_causal,attn_mask,scale"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     "grad_out,query,key,value,out,logsumexp,dropout_p,is_causal,attn_mask,scale"},
};

}  // namespace

OperatorSchema parse_schema(std::string_view text) {
  OperatorSchema schema;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return schema;
  const std::string_view name = text.substr(0, open);
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    schema.overload = name.substr(dot + 1);
  }
  const std::size_t close = text.find(") ->", open);
  if (close != std::string_view::npos) add_arguments(schema, text.substr(open + 1, close - open - 1));
  return schema;
}

std::vector<std::string> known_argument_names(std::string_view name) {
  std::vector<std::string> result;
  const auto* const known = std::find_if(std::begin(kSchemas), std::end(kSchemas),
                                         [&](const auto& schema) { return schema.first == name; });
  if (known == std::end(kSchemas)) return result;
  std::string_view rest = known->second;
  for (std::size_t comma; (comma = rest.find(',')) != std::string_view::npos;) {
    result.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  result.emplace_back(rest);
  return result;
}

}  // namespace jitterscope
