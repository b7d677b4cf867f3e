#include "device/allocation/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file_text.hpp"
#include "base/names.hpp"
#include "base/number_text.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "operation/limits.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kSequences = "@sequences";
constexpr std::size_t kMostEvents = 1'000'000;

class PatternBuilder {
 public:
  std::size_t allocate(Bytes size) {
    const std::size_t block = pattern_.blocks.size();
    pattern_.blocks.push_back(size);
    pattern_.events.push_back({false, block, size});
    return block;
  }
  void release(std::size_t block) { pattern_.events.push_back({true, block, pattern_.blocks[block]}); }
  const AllocationPattern& pattern() const { return pattern_; }

 private:
  AllocationPattern pattern_;
};

AllocationPattern uniform(const Allocation& allocation) {
  PatternBuilder builder;
  const auto count = static_cast<std::size_t>(allocation.count);
  for (std::size_t i = 0; i < count; ++i) builder.allocate(Bytes(allocation.bytes));
  for (std::size_t block = 0; block < count; ++block) builder.release(block);
  return builder.pattern();
}

// Training of a small transformer on batches of 8 sequences, each batch of another length, in f16: what
// forward keeps is freed layer by layer in backward. Unlike lengths make blocks that fit no later request
// exactly.
AllocationPattern sequences() {
  constexpr int kSteps = 4, kLayers = 6;
  constexpr std::int64_t kShortest = 128, kLengths = 896, kBytesOfToken = std::int64_t{8} * 1024 * 2;
  PatternBuilder builder;
  Random random(1);
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t length = kShortest + static_cast<std::int64_t>(random.below(kLengths));
    const Bytes hidden(length * kBytesOfToken), wide(4 * length * kBytesOfToken);
    std::vector<std::vector<std::size_t>> kept;
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::size_t queries_keys_values = builder.allocate(Bytes(3 * hidden.value()));
      const std::size_t attended = builder.allocate(hidden);
      const std::size_t projected = builder.allocate(hidden);
      const std::size_t widened = builder.allocate(wide);
      const std::size_t output = builder.allocate(hidden);
      builder.release(projected);
      kept.push_back({queries_keys_values, attended, widened, output});
    }
    for (auto layer = kept.rbegin(); layer != kept.rend(); ++layer) {
      const std::size_t wide_gradient = builder.allocate(wide);
      const std::size_t gradient = builder.allocate(hidden);
      for (const std::size_t block : *layer) builder.release(block);
      builder.release(wide_gradient);
      builder.release(gradient);
    }
  }
  return builder.pattern();
}

class PatternReader {
 public:
  explicit PatternReader(const std::string& file) : file_(file) {}

  void read(std::string_view line) {
    ++line_;
    const std::vector<std::string> words = split(line.substr(0, line.find('#')));
    if (words.empty()) return;
    if (words[0] == "alloc" && words.size() == 3) return allocate(words[1], words[2]);
    if (words[0] == "free" && words.size() == 2) return release(words[1]);
    fail(fmt::format("{} is neither 'alloc NAME BYTES' nor 'free NAME'", in_quotes(line)));
  }

  AllocationPattern finish() {
    if (builder_.pattern().events.empty()) {
      throw UsageError(printable(file_, 200) +
                       " holds no events: write lines such as 'alloc a 1Mi' and 'free a'");
    }
    if (!live_.empty()) {
      const auto first =
          std::ranges::min_element(live_, {}, [](const auto& entry) { return entry.second.line; });
      line_ = first->second.line;
      fail(fmt::format(
          "{} is never freed ({} of {} blocks are not): a pattern is replayed, so end it with 'free {}'",
          in_quotes(first->first), live_.size(), builder_.pattern().blocks.size(),
          printable(first->first, 60)));
    }
    return builder_.pattern();
  }

 private:
  struct Live {
    std::size_t block = 0, line = 0;
  };

  static std::vector<std::string> split(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r";
    std::vector<std::string> words;
    for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
      words.emplace_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBlanks, end);
    }
    return words;
  }

  void allocate(const std::string& name, const std::string& size) {
    const std::optional<std::int64_t> bytes = read_count(size, Counted::bytes);
    if (!bytes || *bytes < 1 || *bytes > kLargestCount) {
      fail(fmt::format("{} is no number of bytes from 1 to 1 TiB, such as 4096 or 1Mi", in_quotes(size)));
    }
    if (const auto live = live_.find(name); live != live_.end()) {
      fail(fmt::format("{} is allocated again and was not freed since line {}", in_quotes(name),
                       live->second.line));
    }
    if (builder_.pattern().events.size() >= kMostEvents)
      fail("these are more than a million events; take a part");
    live_[name] = {builder_.allocate(Bytes(*bytes)), line_};
  }

  void release(const std::string& name) {
    const auto live = live_.find(name);
    if (live == live_.end()) fail(fmt::format("{} is freed and was not allocated before", in_quotes(name)));
    builder_.release(live->second.block);
    live_.erase(live);
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw UsageError(fmt::format("{}, line {}: {}", printable(file_, 200), line_, problem));
  }

  const std::string& file_;
  std::size_t line_ = 0;
  PatternBuilder builder_;
  std::map<std::string, Live> live_;
};

}  // namespace

AllocationPattern read_pattern(std::string_view text, const std::string& file) {
  PatternReader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

AllocationPattern pattern_of(const Allocation& allocation) {
  if (allocation.pattern.empty()) return uniform(allocation);
  if (allocation.pattern == kSequences) return sequences();
  if (allocation.pattern.starts_with('@')) {
    const std::vector<std::string> known = {std::string(kSequences)};
    throw UsageError(fmt::format("no pattern {} is carried by the program{}; a file's name begins otherwise",
                                 in_quotes(allocation.pattern), suggestion(allocation.pattern, known)));
  }
  const auto [text, problem] = file_text(allocation.pattern);
  if (problem) {
    throw UsageError(fmt::format(
        "{} cannot be read: no pattern of allocations is there (the path is relative to the folder "
        "that jitterscope is called in)",
        printable(allocation.pattern, 200)));
  }
  return read_pattern(text, allocation.pattern);
}

Bytes most_at_once(const AllocationPattern& pattern) {
  std::int64_t now = 0, most = 0;
  for (const AllocationEvent& event : pattern.events) {
    now += event.is_release ? -event.size.value() : event.size.value();
    most = std::max(most, now);
  }
  return Bytes(most);
}

}  // namespace jitterscope
