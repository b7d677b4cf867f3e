// How the ranks of a job find rank 0: it publishes where it listens, and the token that proves membership.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "group/rank_identity.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::group {

/// Where rank 0 listens.
struct MeetingPoint {
  std::string host = {};                    ///< its name
  std::vector<std::string> addresses = {};  ///< of its interfaces but the loopback
  int port = 0;
  std::string token = {};  ///< 128 bits in hexadecimal digits
};

std::string write_meeting_point(const MeetingPoint& point);
/// Throws UsageError if the text is none.
MeetingPoint read_meeting_point(std::string_view text);
/// This host's name, addresses and a token of the system's random numbers. Throws FailedError without any.
MeetingPoint new_meeting_point(int port);

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Called by rank 0, once. Throws FailedError if it cannot be published.
  virtual void publish(const MeetingPoint& point) = 0;
  /// Called by every other rank. Throws FailedError if nothing was published in time.
  virtual MeetingPoint look_up(Nanoseconds time_limit) = 0;
  /// The port that rank 0 must listen on, because the others know it beforehand; 0: any.
  virtual int port() const { return 0; }
  /// The token that the others know beforehand; empty: a new one.
  virtual std::string token() const { return {}; }
};

/// `asked` is the value of --rendezvous; empty: that of JITTERSCOPE_RENDEZVOUS. `tcp://HOST:PORT` (token from
/// JITTERSCOPE_JOB_TOKEN) or `file:FOLDER`, which all ranks see. Without either what the launcher offers:
/// PMIx, PMI-1, torchrun's MASTER_ADDR or Slurm's first node, the last two with a port of our own and a token
/// as for tcp. Throws UsageError, which begins with the flag or the variable, for another word or if there is
/// nothing; MissingError if PMIx's library is missing.
std::unique_ptr<Rendezvous> open_rendezvous(const std::string& asked, const RankIdentity& identity,
                                            const Variables& variables);

// Those with a source of their own.
std::unique_ptr<Rendezvous> open_pmix();
/// PMI-1 over the descriptor that the launcher left open.
std::unique_ptr<Rendezvous> open_pmi(int descriptor);
/// `place` is HOST:PORT; `asked` is how it was given, for errors.
std::unique_ptr<Rendezvous> open_address(std::string_view place, const std::string& asked,
                                         const Variables& variables);
/// Null if torchrun has named no host.
std::unique_ptr<Rendezvous> open_torchrun(const Variables& variables);
/// Null if Slurm has named no nodes.
std::unique_ptr<Rendezvous> open_slurm(const RankIdentity& identity, const Variables& variables);

/// Variable in which the ranks of `--local` find the meeting point.
inline constexpr const char* kMeetingPointVariable = "JITTERSCOPE_MEETING_POINT";
/// Variable with the token of a job that meets over TCP.
inline constexpr const char* kTokenVariable = "JITTERSCOPE_JOB_TOKEN";
inline constexpr const char* kRendezvousVariable = "JITTERSCOPE_RENDEZVOUS";

}  // namespace jitterscope::group
