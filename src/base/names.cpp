#include "base/names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace jitterscope {
namespace {

// A word of PyTorch, NumPy, BLAS or other tools and the word used here. If a word has several meanings, the
// first that is known in its context counts. Without case, dashes, underscores.
struct Synonym {
  std::string_view typed, here;
};
constexpr Synonym kSynonyms[] = {
    // operations
    {"gemm", "matmul"},
    {"sgemm", "matmul"},
    {"hgemm", "matmul"},
    {"mm", "matmul"},
    {"bmm", "matmul"},
    {"addmm", "matmul"},
    {"baddbmm", "matmul"},
    {"dot", "matmul"},
    {"product", "matmul"},
    {"conv", "conv2d"},
    {"convolution", "conv2d"},
    {"dense", "linear"},
    {"fc", "linear"},
    {"fullyconnected", "linear"},
    {"mlp", "linear"},
    {"bn", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"ln", "layer_norm"},
    {"pool", "max_pool"},
    {"maxpool2d", "max_pool"},
    {"avgpool2d", "avg_pool"},
    {"averagepool", "avg_pool"},
    {"sdpa", "attention"},
    {"attn", "attention"},
    {"mha", "attention"},
    {"flashattention", "attention"},
    {"scaleddotproductattention", "attention"},
    {"gqa", "attention"},
    {"groupqueryattention", "attention"},
    {"memcpy", "copy"},
    {"cudamemcpy", "copy"},
    {"memset", "fill"},
    {"zeros", "fill"},
    {"ones", "fill"},
    {"axpy", "add"},
    {"plus", "add"},
    {"multiply", "mul"},
    {"swish", "silu"},
    {"lookup", "embedding"},
    {"sleep", "spin"},
    {"wait", "spin"},
    {"nop", "spin"},
    // their parameters
    {"b", "batch"},
    {"bs", "batch"},
    {"batch", "n"},
    {"batchsize", "batch"},
    {"batchsize", "n"},
    {"images", "n"},
    {"inchannels", "c"},
    {"channels", "c"},
    {"outchannels", "k"},
    {"filters", "k"},
    {"kernel", "rs"},
    {"kernel", "window"},
    {"kernelsize", "rs"},
    {"kernelsize", "window"},
    {"filter", "rs"},
    {"ks", "rs"},
    {"k", "window"},
    {"size", "hw"},
    {"size", "count"},
    {"size", "bytes"},
    {"height", "h"},
    {"height", "hw"},
    {"height", "size"},
    {"width", "w"},
    {"width", "hw"},
    {"width", "size"},
    {"image", "size"},
    {"imagesize", "size"},
    {"hw", "size"},
    {"padding", "pad"},
    {"p", "pad"},
    {"infeatures", "in"},
    {"outfeatures", "out"},
    {"transa", "ta"},
    {"transposea", "ta"},
    {"transb", "tb"},
    {"transposeb", "tb"},
    {"count", "bytes"},
    {"n", "count"},
    {"n", "batch"},
    {"numel", "count"},
    {"elements", "count"},
    {"length", "count"},
    {"cols", "columns"},
    {"h", "heads"},
    {"nheads", "heads"},
    {"numheads", "heads"},
    {"numkvheads", "kv_heads"},
    {"numkeyvalueheads", "kv_heads"},
    {"kvnumheads", "kv_heads"},
    {"d", "dim"},
    {"headdim", "dim"},
    {"q", "queries"},
    {"seq", "queries"},
    {"seqlen", "seq"},
    {"seqlen", "queries"},
    {"sequence", "seq"},
    {"sequence", "queries"},
    {"tokens", "seq"},
    {"tokens", "queries"},
    {"length", "seq"},
    {"iscausal", "causal"},
    {"vocab", "rows"},
    {"time", "ns"},
    {"us", "ns"},
    {"duration", "ns"},
    {"type", "dtype"},
    {"dt", "dtype"},
    {"datatype", "dtype"},
    {"precision", "dtype"},
    {"format", "layout"},
    {"memoryformat", "layout"},
    {"dir", "direction"},
    {"mode", "pass"},
    {"mode", "direction"},
    {"pass", "direction"},
    {"direction", "pass"},
    {"plan", "engine"},
    {"algo", "engine"},
    // their values
    {"channelslast", "nhwc"},
    {"channelsfirst", "nchw"},
    {"contiguous", "nchw"},
    {"forward", "fprop"},
    {"fwd", "fprop"},
    {"fwd", "forward"},
    {"fprop", "forward"},
    {"inference", "fprop"},
    {"train", "training"},
    {"bwd", "backward"},
    {"backward", "dgrad"},
    {"eval", "inference"},
    {"yes", "1"},
    {"y", "1"},
    {"on", "1"},
    {"t", "1"},
    {"no", "0"},
    {"n", "0"},
    {"off", "0"},
    {"f", "0"},
    {"hot", "warm"},
    {"flush", "cold"},
    {"flushed", "cold"},
    {"random", "normal"},
    {"randn", "normal"},
    {"rand", "uniform"},
    {"zero", "zeros"},
    {"cudagraph", "graph"},
    {"stream", "eager"},
    // networks
    {"bertbaseuncased", "bert-base"},
    {"gpt", "gpt2"},
    {"mobilenet", "mobilenet_v2"},
    {"vit", "vit-b16"},
    {"vitb", "vit-b16"},
    // commands
    {"bench", "run"},
    {"benchmark", "run"},
    {"measure", "run"},
    {"time", "run"},
    {"profile", "run"},
    {"test", "selftest"},
    {"ls", "list"},
    {"show", "list"},
    {"models", "list"},
    {"operations", "list"},
    {"info", "doctor"},
    {"env", "doctor"},
    {"check", "doctor"},
    {"plans", "engines"},
    {"verify", "verify-pytorch"},
    // flags
    {"gpu", "device"},
    {"backend", "device"},
    {"cuda", "device"},
    {"cpu", "device"},
    {"o", "json"},
    {"out", "json"},
    {"output", "json"},
    {"iters", "iterations"},
    {"repeat", "iterations"},
    {"repeats", "iterations"},
    {"reps", "repetitions"},
    {"rounds", "min-rounds"},
    {"timeout", "time-limit"},
    {"duration", "time-limit"},
    {"time", "time-limit"},
    {"warmup", "conditioning"},
    {"warmup", "no-warm-up"},
    {"filter", "only"},
    {"layers", "only"},
    {"layer", "only"},
    {"config", "settings"},
    {"trace", "kernels"},
    {"check", "verify"},
    {"tolerance", "precision"},
    {"clocks", "lock-clocks"},
    {"plan", "dry-run"},
    {"sequence", "in-sequence"},
    {"flush", "cache"},
};

// Removes what is mistyped first: case, dashes and underscores.
std::string folded(std::string_view word) {
  std::string result;
  for (const char letter : word) {
    if (letter == '-' || letter == '_') continue;
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kLongestWord = 64;  // longer input is no typing error, and costs quadratic time
  constexpr std::size_t kShortestBeginning = 3;
  if (word.size() > kLongestWord) return {};
  const std::string typed = folded(word);
  for (const std::string& name : known) {
    if (folded(name) == typed) return name;
  }
  for (const Synonym& synonym : kSynonyms) {
    const bool is_known = std::find(known.begin(), known.end(), synonym.here) != known.end();
    if (is_known && synonym.typed == typed) return std::string(synonym.here);
  }
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, typed.size() / 2) + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(typed, folded(name));
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  if (best_distance <= 1 || typed.size() < kShortestBeginning) return best;
  for (const std::string& name : known) {
    if (folded(name).starts_with(typed)) return name;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string nearest = nearest_name(word, known);
  if (!nearest.empty()) return " (did you mean '" + nearest + "'?)";
  return " (known: " + joined(known) + ")";
}

std::vector<std::string> split_at_commas(std::string_view list) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    pieces.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string capitalised(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string in_shell(const std::string& word) {
  const bool is_plain = word.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-+=:,./@%") == std::string::npos;
  if (is_plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

void add_once(std::vector<std::string>& sentences, std::string_view sentence) {
  if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.emplace_back(sentence);
}

std::string kernel_identity(std::string_view name) {
  for (const std::string_view word : {"memset", "memcpy"}) {
    // Tools write "Memset (Device)", "Memcpy DtoD (Device -> Device)".
    const bool begins = name.size() >= word.size() && (name[0] == 'm' || name[0] == 'M') &&
                        name.substr(1, word.size() - 1) == word.substr(1);
    if (begins) return std::string(word);
  }
  std::string text(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  if (text.starts_with("_Z") && status == 0 && plain != nullptr) text = plain.get();
  std::erase(text, ' ');
  return text;
}

}  // namespace jitterscope
