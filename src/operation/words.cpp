#include "operation/words.hpp"

#include <algorithm>

namespace jitterscope {
namespace {

// The types that an operation can compute in. Further names are those of PyTorch and NumPy.
constexpr Word<DataType> kDataTypes[] = {
    {"f64", DataType::f64},     {"f32", DataType::f32},    {"tf32", DataType::tf32},
    {"f16", DataType::f16},     {"bf16", DataType::bf16},  {"fp64", DataType::f64},
    {"float64", DataType::f64}, {"double", DataType::f64}, {"fp32", DataType::f32},
    {"float32", DataType::f32}, {"float", DataType::f32},  {"fp16", DataType::f16},
    {"float16", DataType::f16}, {"half", DataType::f16},   {"bfloat16", DataType::bf16},
};
constexpr Word<DataType> kIndexTypes[] = {{"i64", DataType::i64}, {"i32", DataType::i32}};
constexpr Word<Layout> kLayouts[] = {{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
constexpr Word<HeadLayout> kHeadLayouts[] = {
    {"bhsd", HeadLayout::bhsd}, {"bshd", HeadLayout::bshd}, {"sbhd", HeadLayout::sbhd}};
constexpr Word<Direction> kDirections[] = {
    {"fprop", Direction::fprop}, {"dgrad", Direction::dgrad}, {"wgrad", Direction::wgrad}};
constexpr Word<Pass> kPasses[] = {
    {"forward", Pass::forward}, {"backward", Pass::backward}, {"inference", Pass::inference}};
constexpr Word<CopyKind> kCopyKinds[] = {
    {"d2d", CopyKind::d2d}, {"h2d", CopyKind::h2d}, {"d2h", CopyKind::d2h}};
constexpr Word<HostMemory> kHostMemories[] = {{"pinned", HostMemory::pinned},
                                              {"pageable", HostMemory::pageable},
                                              {"registered", HostMemory::registered},
                                              {"registered_anew", HostMemory::registered_anew},
                                              {"mapped", HostMemory::mapped}};
constexpr Word<ChainSpread> kChainSpreads[] = {{"lane", ChainSpread::lanes}, {"step", ChainSpread::steps}};
constexpr Word<ChainOrder> kChainOrders[] = {
    {"events", ChainOrder::events}, {"joins", ChainOrder::joins}, {"none", ChainOrder::none}};
constexpr Word<HostWait> kHostWaits[] = {{"none", HostWait::none},         {"stream", HostWait::stream},
                                         {"event", HostWait::event},       {"device", HostWait::device},
                                         {"blocking", HostWait::blocking}, {"polling", HostWait::polling},
                                         {"yielding", HostWait::yielding}, {"value", HostWait::value}};
constexpr Word<WaitAfter> kWaitAfters[] = {{"lane", WaitAfter::lane}, {"step", WaitAfter::step}};
constexpr Word<Allocator> kAllocators[] = {
    {"malloc", Allocator::malloc},         {"pool", Allocator::pool},
    {"pool_kept", Allocator::pool_kept},   {"cache", Allocator::cache},
    {"expandable", Allocator::expandable}, {"preallocated", Allocator::preallocated}};
constexpr Word<bool> kFlags[] = {{"0", false}, {"1", true}, {"false", false}, {"true", true}};

}  // namespace

std::span<const Word<DataType>> index_words() { return kIndexTypes; }

template <>
std::span<const Word<DataType>> words_of<DataType>() {
  return kDataTypes;
}
template <>
std::span<const Word<Layout>> words_of<Layout>() {
  return kLayouts;
}
template <>
std::span<const Word<HeadLayout>> words_of<HeadLayout>() {
  return kHeadLayouts;
}
template <>
std::span<const Word<Direction>> words_of<Direction>() {
  return kDirections;
}
template <>
std::span<const Word<Pass>> words_of<Pass>() {
  return kPasses;
}
template <>
std::span<const Word<CopyKind>> words_of<CopyKind>() {
  return kCopyKinds;
}
template <>
std::span<const Word<HostMemory>> words_of<HostMemory>() {
  return kHostMemories;
}
template <>
std::span<const Word<ChainSpread>> words_of<ChainSpread>() {
  return kChainSpreads;
}
template <>
std::span<const Word<ChainOrder>> words_of<ChainOrder>() {
  return kChainOrders;
}
template <>
std::span<const Word<HostWait>> words_of<HostWait>() {
  return kHostWaits;
}
template <>
std::span<const Word<WaitAfter>> words_of<WaitAfter>() {
  return kWaitAfters;
}
template <>
std::span<const Word<Allocator>> words_of<Allocator>() {
  return kAllocators;
}
template <>
std::span<const Word<bool>> words_of<bool>() {
  return kFlags;
}

std::string_view to_string(DataType value) {
  for (const Word<DataType>& word : kIndexTypes) {
    if (word.value == value) return word.text;
  }
  return printed_word(value);
}
std::string_view to_string(Layout value) { return printed_word(value); }
std::string_view to_string(HeadLayout value) { return printed_word(value); }
std::string_view to_string(Direction value) { return printed_word(value); }
std::string_view to_string(Pass value) { return printed_word(value); }
std::string_view to_string(CopyKind value) { return printed_word(value); }
std::string_view to_string(HostMemory value) { return printed_word(value); }
std::string_view to_string(Allocator value) { return printed_word(value); }

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64: return Bytes(8);
    case DataType::f32:
    case DataType::i32:
    case DataType::tf32: return Bytes(4);
    case DataType::f16:
    case DataType::bf16: return Bytes(2);
  }
  return Bytes(0);
}

bool holds_indices(DataType type) { return type == DataType::i64 || type == DataType::i32; }

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char character : text.substr(0, longest)) {
    const bool is_printable = character >= ' ' && character <= '~';
    result += is_printable ? character : '?';
  }
  return text.size() > longest ? result + "…" : result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongestWord = 60;
  return "'" + printable(text, kLongestWord) + "'";
}

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::ranges::all_of(text, is_word_letter);
}

bool is_engine(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char letter) {
    return is_word_letter(letter) || letter == '=' || letter == '-';
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace jitterscope
