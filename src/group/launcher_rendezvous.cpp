// The launcher's own ways to exchange a text between ranks: PMIx and PMI-1. No MPI function is called.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

#include <unistd.h>

#include "base/files.hpp"
#include "base/shared_library.hpp"
#include "group/rendezvous.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

constexpr const char* kElsewhere =
    "say where the ranks meet: --rendezvous file:FOLDER, a folder that all see";

// PMIx, as version 2 and later declare it (pmix_common.h): a stable interface between programs and launchers.
struct PmixProcess {
  std::array<char, 256> name_space;
  std::uint32_t rank;
};
struct PmixValue {
  std::uint16_t type;
  union {
    char* text;
    std::array<std::uint64_t, 4> largest;  ///< as large as the union of all types
  } data;
};
constexpr std::uint16_t kPmixString = 3;
constexpr std::uint8_t kPmixGlobal = 3;

struct Pmix {
  SharedLibrary library;
  int (*init)(PmixProcess*, void*, std::size_t) = nullptr;
  int (*put)(std::uint8_t scope, const char* key, PmixValue*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(const PmixProcess*, std::size_t, const void*, std::size_t) = nullptr;
  int (*get)(const PmixProcess*, const char* key, const void*, std::size_t, PmixValue**) = nullptr;
  int (*finalize)(const void*, std::size_t) = nullptr;
};

Pmix open_pmix_library() {
  std::string problem;
  std::optional<SharedLibrary> library =
      SharedLibrary::open({"libpmix.so.2"}, {"/usr/lib/x86_64-linux-gnu/pmix2/lib"}, &problem);
  if (!library) {
    throw MissingError(fmt::format(
        "the launcher speaks PMIx, but libpmix.so.2 was not found ({}); name its folder in LD_LIBRARY_PATH, "
        "or {}",
        problem, kElsewhere));
  }
  Pmix pmix{.library = *std::move(library)};
  const auto look_up = [&]<class Function>(Function*& function, const char* name) {
    function = pmix.library.find_function<Function>(name);
    if (function == nullptr) throw MissingError(fmt::format("{} lacks {}", pmix.library.path(), name));
  };
  look_up(pmix.init, "PMIx_Init");
  look_up(pmix.put, "PMIx_Put");
  look_up(pmix.commit, "PMIx_Commit");
  look_up(pmix.fence, "PMIx_Fence");
  look_up(pmix.get, "PMIx_Get");
  look_up(pmix.finalize, "PMIx_Finalize");
  return pmix;
}

void check_pmix(int status, const char* call) {
  if (status != 0) {
    throw FailedError(fmt::format("{} of the launcher failed with {}; {}", call, status, kElsewhere));
  }
}

class OverPmix final : public Rendezvous {
 public:
  OverPmix() : pmix_(open_pmix_library()) { check_pmix(pmix_.init(&self_, nullptr, 0), "PMIx_Init"); }
  // A rank that has finalized may end with any status, or be killed, without a word by PMIx.
  ~OverPmix() override { pmix_.finalize(nullptr, 0); }

  void publish(const MeetingPoint& point) override {
    std::string text = write_meeting_point(point);
    PmixValue value{.type = kPmixString, .data = {.text = text.data()}};
    check_pmix(pmix_.put(kPmixGlobal, kKey, &value), "PMIx_Put");
    check_pmix(pmix_.commit(), "PMIx_Commit");
    fence();
  }

  MeetingPoint look_up(Nanoseconds) override {
    fence();
    PmixProcess first = self_;
    first.rank = 0;
    PmixValue* value = nullptr;
    check_pmix(pmix_.get(&first, kKey, nullptr, 0, &value), "PMIx_Get");
    // The value is the library's; it is some hundred bytes, once.
    if (value == nullptr || value->type != kPmixString || value->data.text == nullptr) {
      throw FailedError(fmt::format("PMIx_Get gave no text; {}", kElsewhere));
    }
    return read_meeting_point(value->data.text);
  }

 private:
  static constexpr const char* kKey = "jitterscope.meeting_point";
  void fence() {
    PmixProcess all = self_;
    all.rank = UINT32_MAX - 1;  // PMIX_RANK_WILDCARD
    check_pmix(pmix_.fence(&all, 1, nullptr, 0), "PMIx_Fence");
  }

  Pmix pmix_;
  PmixProcess self_{};
};

// PMI-1: a line for each request and one for each answer, words of the form key=value.
class OverPmi final : public Rendezvous {
 public:
  explicit OverPmi(int descriptor) : descriptor_(descriptor), answers_(descriptor) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init");
    const std::string name = ask("cmd=get_my_kvsname", "cmd=my_kvsname");
    name_ = word_behind(name, "kvsname=");
  }
  // MPICH's proxy ends the whole job with an error of its own if it can no longer answer.
  ~OverPmi() override {
    try {
      ask("cmd=finalize", "cmd=finalize_ack", kFarewellMilliseconds);
    } catch (const FailedError&) {  // whoever does not answer does not wait either
    }
  }

  void publish(const MeetingPoint& point) override {
    // A value has no blanks and at most some hundred bytes; digits of our own make it safe.
    const std::string text = write_meeting_point(point);
    std::size_t part = 0;
    for (std::size_t at = 0; at < text.size(); at += kPartBytes, ++part) {
      put(fmt::format("jitterscope-{}", part), hexadecimal(text.substr(at, kPartBytes)));
    }
    put("jitterscope-parts", std::to_string(part));
    barrier();
  }

  MeetingPoint look_up(Nanoseconds) override {
    barrier();
    std::string text;
    const int parts = std::atoi(get("jitterscope-parts").c_str());
    for (int part = 0; part < parts; ++part)
      text += from_hexadecimal(get(fmt::format("jitterscope-{}", part)));
    return read_meeting_point(text);
  }

 private:
  static constexpr std::size_t kPartBytes = 100;
  static constexpr int kAnswerMilliseconds = 60'000, kFarewellMilliseconds = 5'000;

  static std::string hexadecimal(std::string_view text) {
    std::string digits;
    for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return digits;
  }
  static std::string from_hexadecimal(const std::string& digits) {
    std::string text;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
      text += static_cast<char>(std::strtoul(digits.substr(at, 2).c_str(), nullptr, 16));
    }
    return text;
  }
  static std::string word_behind(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(key);
    if (at == std::string::npos)
      throw FailedError("the launcher's answer over PMI lacks " + key + ": " + line);
    const std::size_t begin = at + key.size();
    return line.substr(begin, line.find(' ', begin) - begin);
  }

  bool write(const std::string& line) {
    const std::string text = line + '\n';
    return ::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  std::string ask(const std::string& line, const std::string& expected,
                  int patience_milliseconds = kAnswerMilliseconds) {
    const std::optional<std::string> answer =
        write(line) ? answers_.next(patience_milliseconds) : std::nullopt;
    if (!answer || !answer->starts_with(expected)) {
      throw FailedError(fmt::format("the launcher answered '{}' over PMI to '{}'; {}", answer.value_or(""),
                                    line, kElsewhere));
    }
    return *answer;
  }
  void put(const std::string& key, const std::string& value) {
    ask(fmt::format("cmd=put kvsname={} key={} value={}", name_, key, value), "cmd=put_result");
  }
  std::string get(const std::string& key) {
    return word_behind(ask(fmt::format("cmd=get kvsname={} key={}", name_, key), "cmd=get_result"), "value=");
  }
  void barrier() { ask("cmd=barrier_in", "cmd=barrier_out"); }

  int descriptor_;
  LineReader answers_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Rendezvous> open_pmix() { return std::make_unique<OverPmix>(); }
std::unique_ptr<Rendezvous> open_pmi(int descriptor) { return std::make_unique<OverPmi>(descriptor); }

}  // namespace jitterscope::group
