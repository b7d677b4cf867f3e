#include "group/rendezvous.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"

namespace jitterscope::group {

template <class Fields>
void describe(Fields& fields, Described<Fields, MeetingPoint>& point) {
  for (const char* key : {"host", "port", "token"}) fields.require(key);
  fields("host", point.host);
  fields("addresses", point.addresses);
  fields("port", point.port);
  fields("token", point.token);
  fields.check(point.port > 0 && point.port < 65536, "port", "a number of a port");
}

std::string write_meeting_point(const MeetingPoint& point) { return write_value(point).dump(); }
MeetingPoint read_meeting_point(std::string_view text) {
  return read_value<MeetingPoint>(parse_document(text, "meeting point"), "meeting point");
}

namespace {

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return addresses;
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
        (each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(), text.size());
    addresses.emplace_back(text.data());
  }
  ::freeifaddrs(found);
  return addresses;
}

[[noreturn]] void fail_unpublished(Nanoseconds time_limit, const std::string& place) {
  throw FailedError(fmt::format("rank 0 has not said where it listens ({}) within {}; see whether it runs",
                                place, duration_text(time_limit)));
}

// Ranks of --local are told when they are started.
class ToldBeforehand final : public Rendezvous {
 public:
  explicit ToldBeforehand(std::string text) : text_(std::move(text)) {}
  void publish(const MeetingPoint&) override {}
  MeetingPoint look_up(Nanoseconds) override { return read_meeting_point(text_); }

 private:
  std::string text_;
};

class OverFolder final : public Rendezvous {
 public:
  OverFolder(const std::string& folder, const std::string& asked)
      : asked_(asked), file_(std::filesystem::path(folder) / "rendezvous") {
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) {
      throw UsageError(fmt::format("{}: {} is no folder here; name one that all ranks see and may write",
                                   asked, folder.empty() ? "''" : folder));
    }
  }
  ~OverFolder() override {
    if (!has_published_) return;
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  void publish(const MeetingPoint& point) override {
    const std::string text = write_meeting_point(point), part = file_.string() + ".part";
    ::unlink(part.c_str());
    const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    // The name appears once the file is whole; a full disk leaves nothing behind.
    if (file.number() < 0 ||
        ::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::rename(part.c_str(), file_.c_str()) != 0) {
      const int problem = errno;
      ::unlink(part.c_str());
      throw FailedError(
          fmt::format("{}: {} cannot be written ({}); name a folder that all ranks see and may write", asked_,
                      file_.string(), std::strerror(problem)));
    }
    has_published_ = true;
  }

  MeetingPoint look_up(Nanoseconds time_limit) override {
    constexpr useconds_t kLookMicroseconds = 50'000;
    const Nanoseconds end = host_time_now() + time_limit;
    while (true) {
      struct stat status {};
      if (::stat(file_.c_str(), &status) == 0) {
        if (status.st_uid != ::geteuid() || (status.st_mode & 077u) != 0) {
          throw FailedError(
              fmt::format("{}: {} is another user's, or others may read it; name a folder of your own",
                          asked_, file_.string()));
        }
        if (const FileText found = file_text(file_); !found.error) return read_meeting_point(found.text);
      }
      if (host_time_now() > end) fail_unpublished(time_limit, file_.string());
      ::usleep(kLookMicroseconds);
    }
  }

 private:
  std::string asked_;  ///< as it was given, for errors
  std::filesystem::path file_;
  bool has_published_ = false;
};

}  // namespace

MeetingPoint new_meeting_point(int port) {
  std::array<unsigned char, 16> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw FailedError("the system gives no random numbers for the token of the ranks");
  }
  MeetingPoint point{.host = host_name(), .addresses = own_addresses(), .port = port, .token = {}};
  for (const unsigned char byte : random) point.token += fmt::format("{:02x}", byte);
  return point;
}

std::unique_ptr<Rendezvous> open_rendezvous(const std::string& asked, const RankIdentity& identity,
                                            const Variables& variables) {
  constexpr std::string_view kTcp = "tcp://", kFile = "file:";
  if (const char* told = variables(kMeetingPointVariable)) return std::make_unique<ToldBeforehand>(told);
  const char* variable = variables(kRendezvousVariable);
  const std::string place = asked.empty() && variable != nullptr ? variable : asked;
  const std::string as_given =
      asked.empty() ? fmt::format("{}={}", kRendezvousVariable, place) : "--rendezvous " + place;
  if (place.starts_with(kTcp))
    return open_address(std::string_view(place).substr(kTcp.size()), as_given, variables);
  if (place.starts_with(kFile)) return std::make_unique<OverFolder>(place.substr(kFile.size()), as_given);
  if (!place.empty()) {
    throw UsageError(fmt::format("{}: file:FOLDER or tcp://HOST:PORT was expected", as_given));
  }
  if (variables("PMIX_NAMESPACE") != nullptr) return open_pmix();
  if (const char* descriptor = variables("PMI_FD")) return open_pmi(std::atoi(descriptor));
  std::unique_ptr<Rendezvous> agreed;
  if (identity.launcher == kTorchrun) agreed = open_torchrun(variables);
  if (identity.launcher == kSlurm) agreed = open_slurm(identity, variables);
  if (agreed) return agreed;
  throw UsageError(fmt::format(
      "{} started {} ranks, but offers no way to find each other (PMIx, PMI); say where they meet: --rendezvous "
      "file:FOLDER, a folder that all ranks see, or tcp://HOST:PORT, rank 0's host and a free port there",
      identity.launcher, identity.size));
}

}  // namespace jitterscope::group
