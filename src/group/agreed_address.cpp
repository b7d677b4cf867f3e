// A rendezvous whose host, port and token all ranks know beforehand: from --rendezvous tcp://HOST:PORT, or
// from what Slurm and torchrun tell each rank.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "group/rendezvous.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

class AgreedAddress final : public Rendezvous {
 public:
  AgreedAddress(std::string host, int port, std::string token)
      : point_{.host = std::move(host), .addresses = {}, .port = port, .token = std::move(token)} {}
  void publish(const MeetingPoint&) override {}
  MeetingPoint look_up(Nanoseconds) override { return point_; }
  int port() const override { return point_.port; }
  std::string token() const override { return point_.token; }

 private:
  MeetingPoint point_;
};

std::string token_of_job(const Variables& variables) {
  constexpr std::size_t kLeastDigits = 32;
  const char* token = variables(kTokenVariable);
  if (token != nullptr && std::string_view(token).size() >= kLeastDigits) return token;
  throw UsageError(fmt::format(
      "ranks that meet at an address need {} with the same {} or more random digits for each, so that "
      "nobody else takes part; export {}=$(openssl rand -hex 16) before they start, or name a folder "
      "that all see: --rendezvous file:FOLDER",
      kTokenVariable, kLeastDigits, kTokenVariable));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_port(std::int64_t number) { return number > 0 && number < 65536; }

std::int64_t number_in(const Variables& variables, const char* name) {
  const char* text = variables(name);
  const std::optional<std::int64_t> number = whole_number(text == nullptr ? "" : text);
  if (number && *number >= 0) return *number;
  throw UsageError(fmt::format("{}={}: a whole number was expected; say where to meet by --rendezvous", name,
                               text == nullptr ? "" : text));
}

// The first of Slurm's node list, "rack[3-4]n[1,5],x": what comes first of each bracket. Empty if it is none.
std::string first_host_in(std::string_view list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] == ']') return {};
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const std::size_t close = list.find(']', at), first_end = list.find_first_of(",-[]", at + 1);
    if (close == std::string_view::npos || first_end == at + 1 || list[first_end] == '[') return {};
    host += list.substr(at + 1, first_end - at - 1);
    at = close;
  }
  return host;
}

}  // namespace

std::unique_ptr<Rendezvous> open_address(std::string_view place, const std::string& asked,
                                         const Variables& variables) {
  const std::size_t colon = place.rfind(':');
  const std::int64_t port =
      whole_number(colon == std::string_view::npos ? "" : place.substr(colon + 1)).value_or(0);
  const std::string host(place.substr(0, colon));
  if (host.empty() || host.find_first_of(":[]/") != std::string::npos || !is_port(port)) {
    throw UsageError(fmt::format(
        "{}: tcp://HOST:PORT was expected, the name or IPv4 address of rank 0's host and a free port there",
        asked));
  }
  return std::make_unique<AgreedAddress>(host, static_cast<int>(port), token_of_job(variables));
}

std::unique_ptr<Rendezvous> open_torchrun(const Variables& variables) {
  const char* host = variables("MASTER_ADDR");
  if (host == nullptr || *host == '\0') return nullptr;
  // torchrun listens on its port itself.
  const std::int64_t own = number_in(variables, "MASTER_PORT"), port = is_port(own + 1) ? own + 1 : own - 1;
  if (!is_port(own)) throw UsageError(fmt::format("MASTER_PORT={}: a port was expected", own));
  return std::make_unique<AgreedAddress>(host, static_cast<int>(port), token_of_job(variables));
}

std::unique_ptr<Rendezvous> open_slurm(const RankIdentity& identity, const Variables& variables) {
  const char* name = "SLURM_STEP_NODELIST";  // of this srun, which may have a part of the job's nodes
  if (variables(name) == nullptr) name = "SLURM_JOB_NODELIST";
  const char* list = variables(name);
  if (list == nullptr) return nullptr;
  const std::string host = first_host_in(list);
  if (host.empty()) {
    throw UsageError(
        fmt::format("{}={}: a list of nodes was expected; say where to meet by --rendezvous", name, list));
  }
  const char* own = variables("SLURMD_NODENAME");
  if (identity.rank == 0 && own != nullptr && host != own) {
    throw UsageError(fmt::format(
        "rank 0 runs on {}, but the others look for it on {}, the first of {}; name its place by --rendezvous "
        "tcp://{}:PORT, or file:FOLDER",
        own, host, name, own));
  }
  // Below the ports that Linux gives out itself (32768 and above), another for each step.
  constexpr std::int64_t kFirstPort = 20000, kPorts = 10000, kStepsOfJob = 31;
  const std::int64_t job = number_in(variables, "SLURM_JOB_ID"), step = number_in(variables, "SLURM_STEP_ID");
  const std::int64_t port = kFirstPort + (job % kPorts * kStepsOfJob + step) % kPorts;
  return std::make_unique<AgreedAddress>(host, static_cast<int>(port), token_of_job(variables));
}

}  // namespace jitterscope::group
