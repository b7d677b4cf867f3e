#include "device/cuda/nccl.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/host.hpp"
#include "device/collective.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace nccl {

/// Returns the name of a function that the library lacks, or null.
const char* look_up_functions(Functions& functions) {
#define JITTERSCOPE_FIND(name, parameters)                                 \
  functions.name = functions.library.find_function<int parameters>(#name); \
  if (functions.name == nullptr) return #name ", which NCCL has from 2.7 on";
  JITTERSCOPE_NCCL_FUNCTIONS(JITTERSCOPE_FIND)
#undef JITTERSCOPE_FIND
  functions.ncclGetErrorString = functions.library.find_function<const char*(int)>("ncclGetErrorString");
  functions.ncclGetLastError = functions.library.find_function<const char*(Handle)>("ncclGetLastError");
  return functions.ncclGetErrorString == nullptr ? "ncclGetErrorString" : nullptr;
}

}  // namespace nccl

namespace {

// Empty if NCCL does not tell.
std::string version_of(const nccl::Functions& library) {
  int code = 0;
  return library.ncclGetVersion(&code) == nccl::kSuccess ? nccl_version_text(code) : std::string();
}

constexpr std::string_view kNcclPackages = "nvidia-nccl-cu13, or nvidia-nccl-cu12 for CUDA 12";

const FunctionTable<nccl::Functions>& opened_nccl() {
  static const FunctionTable<nccl::Functions> opened =
      open_functions({"libnccl.so.2"}, nccl::look_up_functions);
  return opened;
}

// Returns NCCL's words for a result, and what it said last, which names the cause where the words do not.
std::string words_of(const nccl::Functions& library, int result, nccl::Handle communicator) {
  std::string words = library.ncclGetErrorString(result);
  if (library.ncclGetLastError == nullptr) return words;
  const char* last = library.ncclGetLastError(communicator);
  if (last == nullptr || *last == '\0') return words;
  words += fmt::format(" ({})", last);
  std::ranges::replace(words, '\n', ' ');
  return words;
}

}  // namespace

std::string nccl_version_text(int code) {
  const int divisor = code < 10'000 ? 1'000 : 10'000;
  return fmt::format("{}.{}.{}", code / divisor, code % divisor / 100, code % 100);
}

const nccl::Functions& require_nccl() {
  return opened_nccl().require("collectives on GPUs need NCCL", kNcclPackages);
}

void check_nccl(int result, std::string_view what) {
  if (result == nccl::kSuccess) return;
  throw FailedError(fmt::format("{}: NCCL says '{}'; NCCL_DEBUG=INFO shows more", what,
                                words_of(require_nccl(), result, nullptr)));
}

LibraryInfo nccl_library() {
  const auto& opened = opened_nccl();
  return {.name = "nccl",
          .version = opened.functions ? version_of(*opened.functions) : std::string(),
          .path = opened.path,
          .problem = opened.problem};
}

std::string nccl_environment() {
  std::vector<std::string> settings;
  for (const Property& setting : nccl_settings())
    settings.push_back(fmt::format("{}={}", setting.key, setting.value));
  return fmt::format("{}", fmt::join(settings, " "));
}

// Below: ranks exchange addresses before they have a communicator.

namespace {

struct Introduction {
  std::string version, id;  ///< the unique id as hexadecimal digits, by rank 0 alone
};

std::string written(const Introduction& own) { return fmt::format("{} {}", own.version, own.id); }

Introduction introduction_of(std::string_view text) {
  Introduction read;
  for (std::string* word : {&read.version, &read.id}) {
    const std::size_t end = std::min(text.find(' '), text.size());
    *word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return read;
}

std::string as_hexadecimal(const nccl::UniqueId& id) {
  std::string digits;
  for (const char byte : id.bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

nccl::UniqueId unique_id_of(std::string_view digits) {
  nccl::UniqueId id;
  bool is_whole = digits.size() == 2 * id.bytes.size();
  for (std::size_t i = 0; is_whole && i < id.bytes.size(); ++i) {
    const char* first = digits.data() + 2 * i;
    unsigned char byte = 0;
    const auto read = std::from_chars(first, first + 2, byte, 16);
    is_whole = read.ec == std::errc() && read.ptr == first + 2;
    id.bytes[i] = static_cast<char>(byte);
  }
  if (is_whole) return id;
  throw FailedError(fmt::format("rank 0 sent no unique id of NCCL, but '{}'", digits.substr(0, 40)));
}

void require_one_version(const std::vector<Introduction>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].version != ranks[0].version) {
      throw UsageError(
          fmt::format("rank 0 has NCCL {} and rank {} has {}: give all ranks one version "
                      "(JITTERSCOPE_LIBRARY_PATH names the folder of libnccl.so.2)",
                      ranks[0].version, i, ranks[i].version));
    }
  }
}

}  // namespace

Communicator::Communicator(Ranks& ranks, Nanoseconds wait_limit)
    : rank_(ranks.rank()), count_(ranks.count()), wait_limit_(wait_limit) {
  const nccl::Functions& library = require_nccl();
  Introduction own{.version = version_of(library), .id = {}};
  if (rank_ == 0) {
    nccl::UniqueId id;
    check_nccl(library.ncclGetUniqueId(&id), "making a unique id for the ranks");
    own.id = as_hexadecimal(id);
  }
  std::vector<Introduction> all;
  for (const std::string& text : ranks.exchange(written(own))) all.push_back(introduction_of(text));
  if (all.size() != static_cast<std::size_t>(count_)) {
    throw FailedError(fmt::format("{} of {} ranks introduced themselves", all.size(), count_));
  }
  require_one_version(all);
  check_nccl(library.ncclCommInitRank(&handle_, count_, unique_id_of(all[0].id), rank_),
             fmt::format("making a communicator as rank {} of {}", rank_, count_));
}

Communicator::~Communicator() {
  if (handle_ == nullptr) return;
  // Where an error ends this process, the others may not come to their end, for which destroying would wait.
  if (std::uncaught_exceptions() > 0) {
    require_nccl().ncclCommAbort(handle_);
  } else {
    require_nccl().ncclCommDestroy(handle_);
  }
}

nccl::Handle Communicator::handle() const {
  if (handle_ != nullptr) return handle_;
  throw FailedError(fmt::format("rank {}: its communicator was aborted after an error", rank_));
}

void Communicator::wait(const std::function<bool()>& is_done, const std::function<void()>& pause) {
  const Nanoseconds begin = host_time_now();
  while (!is_done()) {
    int error = nccl::kSuccess;
    const int asked = require_nccl().ncclCommGetAsyncError(handle(), &error);
    if (asked != nccl::kSuccess) error = asked;
    if (error != nccl::kSuccess && error != nccl::kInProgress) {
      fail(fmt::format("NCCL says '{}'; another rank may have ended",
                       words_of(require_nccl(), error, handle_)));
    }
    if (host_time_now() - begin > wait_limit_) {
      fail(fmt::format(
          "its GPU was not done after {:.3g} s, so another rank has ended, hangs or is at another "
          "collective",
          to_seconds(wait_limit_)));
    }
    if (pause) pause();
  }
}

void Communicator::fail(const std::string& why) {
  require_nccl().ncclCommAbort(std::exchange(handle_, nullptr));
  throw FailedError(fmt::format("rank {} of {} waited for the others: {}", rank_, count_, why));
}

}  // namespace jitterscope::cuda
