// The words of parameter values: those that are read, and the one that is printed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

/// The words of an enumeration. The first word of each value is the one that is printed.
template <class Value>
inline constexpr std::nullptr_t kWords = nullptr;
// The types that an operation can compute in. Further names are those of PyTorch and NumPy.
template <>
inline constexpr Word<DataType> kWords<DataType>[] = {
    {"f64", DataType::f64},     {"f32", DataType::f32},    {"tf32", DataType::tf32},
    {"f16", DataType::f16},     {"bf16", DataType::bf16},  {"fp64", DataType::f64},
    {"float64", DataType::f64}, {"double", DataType::f64}, {"fp32", DataType::f32},
    {"float32", DataType::f32}, {"float", DataType::f32},  {"fp16", DataType::f16},
    {"float16", DataType::f16}, {"half", DataType::f16},   {"bfloat16", DataType::bf16},
};
/// The index types. They are not offered to users, because no operation computes in them.
inline constexpr Word<DataType> kIndexWords[] = {{"i64", DataType::i64}, {"i32", DataType::i32}};
template <>
inline constexpr Word<Layout> kWords<Layout>[] = {{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
template <>
inline constexpr Word<HeadLayout> kWords<HeadLayout>[] = {
    {"bhsd", HeadLayout::bhsd}, {"bshd", HeadLayout::bshd}, {"sbhd", HeadLayout::sbhd}};
template <>
inline constexpr Word<Direction> kWords<Direction>[] = {
    {"fprop", Direction::fprop}, {"dgrad", Direction::dgrad}, {"wgrad", Direction::wgrad}};
template <>
inline constexpr Word<Pass> kWords<Pass>[] = {
    {"forward", Pass::forward}, {"backward", Pass::backward}, {"inference", Pass::inference}};
template <>
inline constexpr Word<CopyKind> kWords<CopyKind>[] = {
    {"d2d", CopyKind::d2d}, {"h2d", CopyKind::h2d}, {"d2h", CopyKind::d2h}};
template <>
inline constexpr Word<HostMemory> kWords<HostMemory>[] = {{"pinned", HostMemory::pinned},
                                                          {"pageable", HostMemory::pageable},
                                                          {"registered", HostMemory::registered},
                                                          {"registered_anew", HostMemory::registered_anew},
                                                          {"mapped", HostMemory::mapped}};
template <>
inline constexpr Word<ChainSpread> kWords<ChainSpread>[] = {{"lane", ChainSpread::lanes},
                                                            {"step", ChainSpread::steps}};
template <>
inline constexpr Word<ChainOrder> kWords<ChainOrder>[] = {
    {"events", ChainOrder::events}, {"joins", ChainOrder::joins}, {"none", ChainOrder::none}};
template <>
inline constexpr Word<HostWait> kWords<HostWait>[] = {
    {"none", HostWait::none},         {"stream", HostWait::stream},     {"event", HostWait::event},
    {"device", HostWait::device},     {"blocking", HostWait::blocking}, {"polling", HostWait::polling},
    {"yielding", HostWait::yielding}, {"value", HostWait::value}};
template <>
inline constexpr Word<WaitAfter> kWords<WaitAfter>[] = {{"lane", WaitAfter::lane}, {"step", WaitAfter::step}};
template <>
inline constexpr Word<Allocator> kWords<Allocator>[] = {
    {"malloc", Allocator::malloc},         {"pool", Allocator::pool},
    {"pool_kept", Allocator::pool_kept},   {"cache", Allocator::cache},
    {"expandable", Allocator::expandable}, {"preallocated", Allocator::preallocated}};
template <>
inline constexpr Word<Reduction> kWords<Reduction>[] = {{"sum", Reduction::sum},
                                                        {"prod", Reduction::prod},
                                                        {"max", Reduction::max},
                                                        {"min", Reduction::min},
                                                        {"avg", Reduction::avg}};
template <>
inline constexpr Word<bool> kWords<bool>[] = {{"0", false}, {"1", true}, {"false", false}, {"true", true}};

template <class Value>
std::string_view printed_word(Value value) {
  for (const Word<Value>& word : kWords<Value>) {
    if (word.value == value) return word.text;
  }
  return "?";
}

/// Returns at most `longest` bytes of the text, with all but printable ASCII replaced, so that a damaged file
/// gives a readable message.
std::string printable(std::string_view text, std::size_t longest);

/// Returns a word of the input, quoted for a message.
std::string in_quotes(std::string_view text);

/// True for a letter, digit or underscore of ASCII.
bool is_word_letter(char letter);
/// True for a name as programming languages have it: word letters that do not begin with a digit.
bool is_identifier(std::string_view text);
/// True if text can be an engine's tag: word letters, '=' and '-', at most 200 of them.
bool is_engine(std::string_view text);

/// Returns the text without leading and trailing spaces and tabs.
std::string_view trimmed(std::string_view text);

}  // namespace jitterscope
