// Scaled dot product attention, whichever of PyTorch's kernels ran it.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"

namespace jitterscope {
namespace {

bool is_absent(const Arguments& arguments, std::string_view name) {
  const RecordedArgument* argument = arguments.find(name);
  return argument == nullptr || argument->value.kind == AtenArgument::Kind::none;
}

// A tensor of one head, or of one query, lies in two orders at once: the one that all have is looked for.
HeadLayout layout_of(std::initializer_list<const AtenArgument*> tensors) {
  constexpr std::pair<HeadLayout, std::array<int, 4>> kOrders[] = {
      {HeadLayout::bhsd, {0, 1, 2, 3}}, {HeadLayout::bshd, {0, 2, 1, 3}}, {HeadLayout::sbhd, {2, 0, 1, 3}}};
  for (const auto& known : kOrders) {
    const auto lies_so = [&](const AtenArgument* tensor) { return is_dense_in(*tensor, known.second); };
    if (std::all_of(tensors.begin(), tensors.end(), lies_so)) return known.first;
  }
  throw NotNative();
}

// FlashAttention 2 aligns the mask of a causal one at the last key, where queries and keys are not equally
// many; the operation, and PyTorch's other kernels, at the first.
bool sees_last_keys(const RecordedOperator& recorded, const Attention& attention) {
  const bool is_flash = recorded.name.find("_flash_attention") != std::string::npos &&
                        recorded.name.find("_for_cpu") == std::string::npos;
  return is_flash && attention.causal && attention.queries != attention.keys;
}

// query, key, value: batch · heads · length · dim, all in one order in memory. The last two may have fewer
// heads (enable_gqa).
Attention attention_of(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  const AtenArgument &query = arguments.tensor("query"), &key = arguments.tensor("key");
  const AtenArgument& value = arguments.tensor("value");
  require_native(query.shape.size() == 4 && key.shape.size() == 4 && value.shape == key.shape);
  require_native(query.text == key.text);
  Attention attention;
  attention.layout = layout_of({&query, &key, &value});
  attention.batch = query.shape[0], attention.heads = query.shape[1];
  attention.queries = query.shape[2], attention.keys = key.shape[2], attention.dim = query.shape[3];
  attention.kv_heads = key.shape[1];
  require_native(attention.kv_heads > 0 && attention.heads % attention.kv_heads == 0);
  require_native(key.shape[0] == attention.batch && key.shape[3] == attention.dim && attention.dim > 0);
  // A mask is one more tensor to read, and PyTorch may run another kernel for it.
  require_native(is_absent(arguments, "attn_bias") && is_absent(arguments, "attn_mask"));
  const double usual = 1.0 / std::sqrt(static_cast<double>(attention.dim));
  require_native(std::abs(arguments.number_or("scale", usual) - usual) < 1e-4 * usual);
  attention.causal = arguments.boolean("is_causal");
  require_native(!sees_last_keys(recorded, attention));
  attention.dtype = native_type(query);
  if (arguments.number("dropout_p") > 0.0) {
    context.note("The attention that was recorded drops out weights; the native operation does not.");
  }
  return attention;
}

}  // namespace

Converted convert_attention(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  return {as_operation(attention_of(recorded, context), {{"q", arguments.identity("query")},
                                                         {"k", arguments.identity("key")},
                                                         {"v", arguments.identity("value")},
                                                         {"y", arguments.output_identity(0)},
                                                         {"logsumexp", arguments.output_identity(1)}})};
}

Converted convert_attention_backward(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  Attention attention = attention_of(recorded, context);
  attention.pass = Pass::backward;
  const std::string_view dy = arguments.has_tensor("grad_out_") ? "grad_out_" : "grad_out";
  return {as_operation(attention, {{"dy", arguments.identity(dy)},
                                   {"q", arguments.identity("query")},
                                   {"k", arguments.identity("key")},
                                   {"v", arguments.identity("value")},
                                   {"y", arguments.identity("out")},
                                   {"logsumexp", arguments.identity("logsumexp")},
                                   {"dq", arguments.output_identity(0)},
                                   {"dk", arguments.output_identity(1)},
                                   {"dv", arguments.output_identity(2)}})};
}

}  // namespace jitterscope
