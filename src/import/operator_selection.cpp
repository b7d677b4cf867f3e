#include "import/operator_selection.hpp"

#include <algorithm>
#include <array>

namespace jitterscope {
namespace {

// The timed operators beneath a node.
struct Beneath {
  bool anything = false;
  bool computing = false;  ///< some do more than fills and copies
};

OperatorRole role_of(const OperatorNode& node, Work work, const Beneath& beneath) {
  switch (work) {
    case Work::none:
    case Work::passes:
    case Work::framework: return OperatorRole::nothing;
    case Work::calls: return beneath.anything ? OperatorRole::nothing : OperatorRole::timed;
    case Work::whole:
    case Work::beside: return OperatorRole::timed;
    // Operators beneath it that only fill and copy serve its own work.
    case Work::unknown:
      return node.launches || !beneath.computing ? OperatorRole::timed : OperatorRole::nothing;
    case Work::foreign:
      return node.launches || !beneath.anything ? OperatorRole::foreign : OperatorRole::nothing;
  }
  return OperatorRole::nothing;
}

}  // namespace

std::vector<OperatorRole> select_operators(const std::vector<OperatorNode>& nodes) {
  std::vector<OperatorRole> roles(nodes.size());
  std::vector<Work> works(nodes.size());
  std::vector<Beneath> beneath(nodes.size());
  // Parents come before their children, so going from the end each node's children are known.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const OperatorNode& node = nodes[i];
    works[i] = work_of(node.name);
    roles[i] = role_of(node, works[i], beneath[i]);
    if (node.parent == kNoParent) continue;
    const bool selected = roles[i] != OperatorRole::nothing;
    Beneath& above = beneath[node.parent];
    above.anything |= beneath[i].anything || selected;
    above.computing |= beneath[i].computing || (selected && !only_moves_memory(node.name));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t parent = nodes[i].parent;
    if (parent == kNoParent) continue;
    const bool taken = roles[parent] == OperatorRole::part || roles[parent] == OperatorRole::foreign ||
                       (roles[parent] == OperatorRole::timed && works[parent] != Work::beside);
    if (taken) roles[i] = OperatorRole::part;
  }
  return roles;
}

std::vector<bool> with_timed_sums(const std::vector<OperatorNode>& nodes,
                                  const std::vector<OperatorRole>& roles) {
  std::vector<bool> result(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (roles[i] != OperatorRole::timed || nodes[i].name != "aten::sum") continue;
    std::size_t above = nodes[i].parent;
    while (above != kNoParent && nodes[above].name == "aten::sum") above = nodes[above].parent;
    if (above != kNoParent) result[above] = true;
  }
  return result;
}

std::vector<std::size_t> owners(const std::vector<OperatorNode>& nodes,
                                const std::vector<OperatorRole>& roles) {
  std::vector<std::size_t> result(nodes.size(), kNoParent);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (roles[i] == OperatorRole::timed || roles[i] == OperatorRole::foreign) {
      result[i] = i;
    } else if (nodes[i].parent != kNoParent) {
      result[i] = result[nodes[i].parent];
    }
  }
  return result;
}

namespace {

// Each list holds names without aten::, with a space on both sides of each.

// These allocate: work of the caching allocator, not of the GPU.
constexpr std::string_view kAllocate =
    " empty empty_like empty_strided empty_quantized new_empty new_empty_strided resize_ resize_as_ set_ "
    "_resize_output_ record_stream lift lift_fresh ";
// These give another shape, strides or offset over the same memory.
constexpr std::string_view kView =
    " view view_as _unsafe_view _reshape_alias alias as_strided as_strided_ t t_ transpose transpose_ "
    "permute movedim moveaxis swapaxes swapdims numpy_T mT mH adjoint expand expand_as broadcast_to squeeze "
    "squeeze_ unsqueeze unsqueeze_ select slice narrow split split_with_sizes tensor_split chunk unbind "
    "unfold unflatten diagonal detach detach_ real imag view_as_real view_as_complex _conj conj resolve_neg_ "
    "values indices broadcast_tensors atleast_1d atleast_2d atleast_3d hsplit vsplit dsplit unsafe_chunk "
    "unsafe_split unsafe_split_with_sizes ";
// These answer from the shape and type alone.
constexpr std::string_view kAsk =
    " result_type can_cast promote_types is_same_size is_pinned is_floating_point is_complex is_contiguous "
    "size stride numel dim sym_size sym_stride sym_numel requires_grad_ retain_grad output_nr _version data "
    "is_leaf _has_compatible_shallow_copy_type _use_cudnn_ctc_loss _debug_has_internal_overlap "
    "_fused_sdp_choice _cudnn_init_dropout_state cudnn_is_acceptable device ";
// These copy or fill by copy_ and fill_, or do nothing, as to() of a tensor that is already so.
constexpr std::string_view kPass =
    " to _to_copy type_as contiguous reshape reshape_as flatten ravel float half double bfloat16 cuda cpu "
    "resolve_conj resolve_neg zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full "
    "scalar_tensor dropout feature_dropout alpha_dropout identity pin_memory _pin_memory item is_nonzero "
    "expand_copy pad constant_pad_nd ";
constexpr std::string_view kCall = " zero_ clone linear matmul ";
// These do the work by their own kernels. They call others to fill or prepare memory, or for the same work
// under another name (embedding calls index_select, and _scaled_dot_product_* the kernel's own operator).
constexpr std::string_view kWhole =
    " cudnn_batch_norm cudnn_batch_norm_backward native_batch_norm native_batch_norm_backward "
    "_native_batch_norm_legit native_layer_norm native_layer_norm_backward native_group_norm "
    "native_group_norm_backward native_dropout native_dropout_backward nll_loss_forward nll_loss_backward "
    "nll_loss2d_forward nll_loss2d_backward embedding embedding_dense_backward hardtanh_backward "
    "max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d avg_pool2d_backward "
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _softmax _log_softmax _softmax_backward_data "
    "_log_softmax_backward_data addmm mm bmm baddbmm index_put_ _index_put_impl_ index_add_ gather "
    "scatter_add_ cumsum sort topk cat stack _foreach_norm "
    "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward "
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward "
    "_scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward "
    "_scaled_dot_product_fused_attention_overrideable _flash_attention_forward _flash_attention_backward "
    "_efficient_attention_forward _efficient_attention_backward _cudnn_attention_forward "
    "_cudnn_attention_backward "
    // They call a mean or sum of their result, or a search for where the mask holds.
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_backward index "
    "masked_select masked_scatter_ "
    // They call sorts, counts and random numbers before, or scale afterwards.
    "_unique2 unique_dim unique_consecutive bincount histc median kthvalue multinomial randperm "
    "repeat_interleave _embedding_bag _embedding_bag_dense_backward renorm std var _fft_r2c _fft_c2r "
    "_fft_c2c "
    // They call sums for bias gradients, and copies of weights.
    "_cudnn_rnn _cudnn_rnn_backward mkldnn_rnn_layer mkldnn_rnn_layer_backward "
    "_thnn_fused_lstm_cell_backward_impl _thnn_fused_gru_cell_backward ";
// They call copies into another memory format and the sum for a bias, which are operations of their own.
constexpr std::string_view kBeside =
    " cudnn_convolution cudnn_convolution_transpose convolution_backward mkldnn_convolution "
    "miopen_convolution _conv_depthwise2d conv_depthwise3d ";
constexpr std::string_view kProducts = " mm bmm addmm baddbmm addmm_ baddbmm_ addbmm _addmm_activation ";
constexpr std::string_view kMove = " fill_ zero_ copy_ clone ";

constexpr std::string_view kAten = "aten::";

bool is_in(std::string_view list, std::string_view word) {
  for (std::size_t found = list.find(word); found != std::string_view::npos;
       found = list.find(word, found + 1)) {
    if (found > 0 && list[found - 1] == ' ' && list[found + word.size()] == ' ') return true;
  }
  return false;
}

// True for autograd (MulBackward0, torch::autograd::AccumulateGrad), the profiler, and users' annotations.
bool belongs_to_framework(std::string_view name) {
  constexpr std::array kPrefixes = {"autograd::",   "torch::autograd::", "[pytorch|",  "Optimizer.",
                                    "ProfilerStep", "nn.Module: ",       "enumerate(", "## "};
  const auto begins = [&](const char* prefix) { return name.starts_with(prefix); };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins);
}

bool is_foreign(std::string_view name) {
  if (belongs_to_framework(name)) return false;
  return name.find("::") != std::string_view::npos || name.starts_with("nccl:") ||
         name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("triton_") ||
         name == "record_param_comms";
}

Work work_of_aten(std::string_view word) {
  for (const std::string_view list : {kAllocate, kView, kAsk}) {
    if (is_in(list, word)) return Work::none;
  }
  if (is_in(kPass, word)) return Work::passes;
  if (is_in(kCall, word)) return Work::calls;
  if (is_in(kWhole, word)) return Work::whole;
  return is_in(kBeside, word) ? Work::beside : Work::unknown;
}

}  // namespace

Work work_of(std::string_view name) {
  if (name.starts_with(kAten)) return work_of_aten(name.substr(kAten.size()));
  return is_foreign(name) ? Work::foreign : Work::framework;
}

bool runs_on_gpu_alone(std::string_view name) {
  return (name.starts_with("aten::cudnn_") || name.starts_with("aten::_cudnn_")) &&
         work_of(name) != Work::none;
}

bool is_matrix_product(std::string_view name) {
  return name.starts_with(kAten) && is_in(kProducts, name.substr(kAten.size()));
}

bool only_moves_memory(std::string_view name) {
  return name.starts_with(kAten) && is_in(kMove, name.substr(kAten.size()));
}

}  // namespace jitterscope
