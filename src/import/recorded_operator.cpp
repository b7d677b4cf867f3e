#include "import/recorded_operator.hpp"

#include <algorithm>
#include <utility>

#include "operation/words.hpp"

namespace jitterscope {

using Kind = AtenArgument::Kind;

const RecordedArgument* Arguments::find(std::string_view name) const {
  const std::vector<std::string>& names = recorded_.argument_names;
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::size_t>(found - names.begin());
  return index < std::min(names.size(), recorded_.arguments.size()) ? &recorded_.arguments[index] : nullptr;
}

const AtenArgument& Arguments::value(std::string_view name, Kind kind) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty() && argument->value.kind == kind);
  return argument->value;
}

bool Arguments::has_tensor(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  return argument != nullptr && argument->value.kind == Kind::tensor;
}

const AtenArgument& Arguments::tensor(std::string_view name) const { return value(name, Kind::tensor); }
std::int64_t Arguments::integer(std::string_view name) const { return value(name, Kind::integer).integer; }
bool Arguments::boolean(std::string_view name) const { return value(name, Kind::boolean).boolean; }

double Arguments::number(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty());
  if (argument->value.kind == Kind::real) return argument->value.real;
  return static_cast<double>(integer(name));
}

double Arguments::number_or(std::string_view name, double absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == Kind::none ? absent : number(name);
}

bool Arguments::boolean_or(std::string_view name, bool absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == Kind::none ? absent : boolean(name);
}

std::vector<std::int64_t> Arguments::integers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const AtenArgument& element : value(name, Kind::list).elements) {
    require_native(element.kind == Kind::integer);
    result.push_back(element.integer);
  }
  return result;
}

std::pair<std::int64_t, std::int64_t> Arguments::pair(std::string_view name) const {
  const std::vector<std::int64_t> sides = integers(name);
  require_native(sides.size() == 1 || sides.size() == 2);
  return {sides.front(), sides.back()};
}

std::vector<bool> Arguments::booleans(std::string_view name) const {
  std::vector<bool> result;
  for (const AtenArgument& element : value(name, Kind::list).elements) {
    require_native(element.kind == Kind::boolean);
    result.push_back(element.boolean);
  }
  return result;
}

std::optional<TensorIdentity> Arguments::identity(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr ? std::nullopt : argument->identity;
}

std::optional<TensorIdentity> Arguments::output_identity(std::size_t index) const {
  return index < recorded_.outputs.size() ? recorded_.outputs[index].identity : std::nullopt;
}

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

// Argument names of PyTorch 2.11's native_functions.yaml, in their order.
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

namespace {

using Kind = AtenArgument::Kind;

struct Overload {
  std::string_view names;  ///< operators without aten::, with spaces around each
  std::string_view kinds;  ///< t tensor, s number, l list, n none, ? anything; `*` the rest is anything
  std::string_view overload;
};

// From native_functions.yaml of PyTorch 2.11; the first match counts. In-place forms have the same overloads.
constexpr Overload kOverloads[] = {
    {" add sub mul div eq ne lt le gt ge remainder bitwise_and bitwise_or bitwise_xor floor_divide ", "tt",
     "Tensor"},
    {" add sub ", "tt?", "Tensor"},
    {" add sub ", "ts?", "Scalar"},
    {" div ", "tt?", "Tensor_mode"},
    {" add sub mul div eq ne lt le gt ge remainder floor_divide ", "ts", "Scalar"},
    {" bitwise_and bitwise_or bitwise_xor ", "ts", "Scalar"},
    {" rsub ", "ts*", "Scalar"},
    {" rsub ", "tt*", "Tensor"},
    {" pow ", "ts", "Tensor_Scalar"},
    {" pow ", "tt", "Tensor_Tensor"},
    {" pow ", "st", "Scalar"},
    {" sum ", "tl*", "dim_IntList"},
    {" sum ", "tn?*", "dim_IntList"},
    {" mean ", "tl*", "dim"},
    {" mean ", "tn?*", "dim"},
    {" prod ", "ts*", "dim_int"},
    {" max min ", "tt", "other"},
    {" max min ", "ts?", "dim"},
    {" any all ", "ts*", "dim"},
    {" any all ", "tl*", "dims"},
    {" std var ", "tl?*", "correction"},
    {" fill masked_fill ", "ts", "Scalar"},
    {" fill ", "tt", "Tensor"},
    {" masked_fill ", "tts", "Scalar"},
    {" masked_fill ", "ttt", "Tensor"},
    {" clamp ", "tt*", "Tensor"},
    {" clamp_min clamp_max ", "tt", "Tensor"},
    {" where ", "ttt", "self"},
    {" where ", "tts", "ScalarOther"},
    {" where ", "tst", "ScalarSelf"},
    {" index ", "tl", "Tensor"},
    {" mm bmm ", "tts", "dtype"},
    {" addmm baddbmm ", "tttsss", "dtype"},
    {" norm ", "tslb", "ScalarOpt_dim"},
    {" norm ", "tsl*", "ScalarOpt_dim"},
    {" gather ", "tst?t", "out"},
    {" scatter ", "tstt", "src"},
    {" scatter ", "tsts", "value"},
    {" bernoulli ", "ts*", "float"},
    {" sort ", "t?s*", "stable"},
    {" bitwise_not logical_not ", "t", ""},
    {" _foreach_add _foreach_sub _foreach_mul _foreach_div ", "ll*", "List"},
    {" _foreach_add _foreach_sub _foreach_mul _foreach_div ", "ls", "Scalar"},
    {" _foreach_mul _foreach_div ", "lt", "Tensor"},
    {" _foreach_addcmul _foreach_addcdiv ", "llls", "Scalar"},
    {" _foreach_addcmul _foreach_addcdiv ", "llll", "ScalarList"},
    {" _foreach_lerp ", "lls", "Scalar"},
    {" _foreach_norm ", "ls*", "Scalar"},
};

char letter(const RecordedArgument& argument) {
  switch (argument.value.kind) {
    case Kind::tensor: return 't';
    case Kind::list: return 'l';
    case Kind::none: return 'n';
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
    case Kind::text: break;
  }
  return 's';
}

bool matches(std::string_view kinds, const std::vector<RecordedArgument>& arguments) {
  for (const RecordedArgument& argument : arguments) {
    if (kinds.empty()) return false;
    if (kinds.front() == '*') return true;
    if (kinds.front() != '?' && kinds.front() != letter(argument)) return false;
    kinds.remove_prefix(1);
  }
  return kinds.empty() || kinds.front() == '*';
}

}  // namespace

std::string known_overload(const RecordedOperator& recorded) {
  constexpr std::string_view kNamespace = "aten::";
  if (!recorded.name.starts_with(kNamespace)) return "";
  std::string word = recorded.name.substr(kNamespace.size());
  if (word.ends_with('_') && !word.ends_with("__")) word.pop_back();
  word = " " + word + " ";
  const auto takes = [&](const Overload& overload) {
    return overload.names.find(word) != std::string_view::npos && matches(overload.kinds, recorded.arguments);
  };
  const auto* const found = std::find_if(std::begin(kOverloads), std::end(kOverloads), takes);
  return found == std::end(kOverloads) ? "" : std::string(found->overload);
}

}  // namespace jitterscope
