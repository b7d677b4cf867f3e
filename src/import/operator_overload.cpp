#include <algorithm>

#include "import/operator_schema.hpp"

namespace jitterscope {
namespace {

using Kind = AtenArgument::Kind;

struct Overload {
  std::string_view names;  ///< operators without aten::, with spaces around each
  std::string_view kinds;  ///< t tensor, s number, l list, n none, ? anything; `*` the rest is anything
  std::string_view overload;
};

// From native_functions.yaml of PyTorch 2.11, first match first. In-place forms have the same overloads.
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
