// Collects all that a judgement needs beside its candidates: from flags, from an earlier record, from this
// machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "commands/judge/record.hpp"
#include "judge/judge.hpp"
#include "judge/untrusted_process.hpp"

namespace jitterscope::cli {

struct JudgeFlags {
  RecordFlags record;
  std::string reference, device = "auto", cache = "produced", margin = "1%", precision, fail_if, replay,
                         serve;
  std::vector<std::string> candidates, cases;
  std::int64_t processes = 8, deadline = 60, time_limit = 0;
  bool quick = false, dry_run = false;
  bool has_processes = false, has_margin = false;  ///< whether they were typed
};

/// A candidate as it is named in the record, and where its function is.
struct NamedCandidate {
  std::string name, target;
};

/// Returns FILE.py, FILE.py:NAME or cuda:FILE.cu:KERNEL,… with the file's full path: a worker is in a folder
/// of its own. Throws UsageError if there is no such file.
std::string full_target(const std::string& target);

class JudgeSetup {
 public:
  /// Reads the flags, the record of --replay if there is one, and asks what form the reference has. Throws
  /// UsageError and MissingError.
  JudgeSetup(const JudgeFlags& flags, const Invocation& invocation);

  const std::vector<NamedCandidate>& candidates() const { return candidates_; }
  const judging::WorkerProgram& program() const { return program_; }
  const std::string& reference() const { return request_.reference; }
  const judging::JudgeRequest& request() const { return request_; }
  /// Returns "2 candidates in 1 case against reference.py (kernelbench) on cpu, 8 pairs of processes, margin
  /// 1 %."
  std::string sentence() const;

  /// Returns what forks the processes of --quick; nothing without it: each pair then has a memory layout of
  /// its own.
  std::unique_ptr<judging::ForkServer> fork_server() const;
  /// Throws FailedError if the reference gives nothing to judge by in the first case.
  void try_reference(const judging::StartWorker& start) const;
  /// Judges these candidates with keys of their own, unless a record is judged again.
  JudgeRecord judge(const std::vector<NamedCandidate>& candidates, const judging::StartWorker& start,
                    const std::function<void(const std::string&)>& progress);

 private:
  void take_record(const std::string& file, const JudgeFlags& flags);
  void choose_device(const std::string& device, bool imports_torch);
  void measure_ceilings_of(JudgeRecord& record);

  judging::WorkerProgram program_;
  judging::JudgeRequest request_;
  std::vector<NamedCandidate> candidates_;
  bool imports_torch_ = false;
  JudgeRecord record_;  ///< with all but the candidates
  std::vector<DataType> measured_;
  bool is_replay_ = false;
};

}  // namespace jitterscope::cli
