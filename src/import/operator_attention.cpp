// Scaled dot product attention, whichever of PyTorch's kernels ran it.
#include <array>
#include <cmath>
#include <optional>

#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"

namespace jitterscope {
namespace {

bool is_absent(const Arguments& arguments, std::string_view name) {
  const RecordedArgument* argument = arguments.find(name);
  return argument == nullptr || argument->value.kind == AtenArgument::Kind::none;
}

std::optional<HeadLayout> layout_of(const AtenArgument& tensor) {
  constexpr std::array<int, 4> kBhsd = {0, 1, 2, 3}, kBshd = {0, 2, 1, 3}, kSbhd = {2, 0, 1, 3};
  if (is_dense_in(tensor, kBhsd)) return HeadLayout::bhsd;
  if (is_dense_in(tensor, kBshd)) return HeadLayout::bshd;
  if (is_dense_in(tensor, kSbhd)) return HeadLayout::sbhd;
  return std::nullopt;
}

// query, key, value: batch · heads · length · dim, all in one order in memory.
Attention attention_of(const Arguments& arguments, ConversionContext& context) {
  const AtenArgument &query = arguments.tensor("query"), &key = arguments.tensor("key");
  const AtenArgument& value = arguments.tensor("value");
  require_native(query.shape.size() == 4 && key.shape.size() == 4 && value.shape == key.shape);
  require_native(query.text == key.text);
  const std::optional<HeadLayout> layout = layout_of(query);
  require_native(layout && layout_of(key) == layout && layout_of(value) == layout);
  Attention attention;
  attention.batch = query.shape[0], attention.heads = query.shape[1];
  attention.queries = query.shape[2], attention.keys = key.shape[2], attention.dim = query.shape[3];
  require_native(key.shape[0] == attention.batch && key.shape[1] == attention.heads &&
                 key.shape[3] == attention.dim && attention.dim > 0);
  // A mask is one more tensor to read, and PyTorch may run another kernel for it.
  require_native(is_absent(arguments, "attn_bias") && is_absent(arguments, "attn_mask"));
  const double usual = 1.0 / std::sqrt(static_cast<double>(attention.dim));
  require_native(std::abs(arguments.number_or("scale", usual) - usual) < 1e-4 * usual);
  attention.causal = arguments.boolean("is_causal");
  attention.layout = *layout;
  attention.dtype = native_type(query);
  if (arguments.number("dropout_p") > 0.0) {
    context.note("The attention that was recorded drops out weights; the native operation does not.");
  }
  return attention;
}

}  // namespace

Converted convert_attention(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  return {as_operation(attention_of(arguments, context), {{"q", arguments.identity("query")},
                                                          {"k", arguments.identity("key")},
                                                          {"v", arguments.identity("value")},
                                                          {"y", arguments.output_identity(0)},
                                                          {"logsumexp", arguments.output_identity(1)}})};
}

Converted convert_attention_backward(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  Attention attention = attention_of(arguments, context);
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
