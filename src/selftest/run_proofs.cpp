#include "selftest/run_proofs.hpp"

#include <algorithm>

#include "jitterscope/error.hpp"
#include "selftest/proof_lines.hpp"

namespace jitterscope::selftest {
namespace {

Nanoseconds expected_time(const Proof& proof, bool quick) {
  return quick ? proof.quick_time : proof.full_time;
}

class ProofLoop {
 public:
  ProofLoop(Device& device, const SelftestRequest& request)
      : request_(request), context_(device, with_progress(request.options)) {}

  void run(SelftestRecord& record, const std::function<void(const SelftestRecord&)>& saved) {
    record.device = context_.description();
    record.seed = context_.seed();
    record.quick = context_.quick();
    const Nanoseconds start = request_.now();
    for (number_ = 1; number_ <= request_.proofs.size() && !context_.is_interrupted(); ++number_) {
      append(record, proof());
      record.duration = request_.now() - start;
      saved(record);
    }
    record.interrupted = context_.is_interrupted();
  }

 private:
  const Proof& proof() const { return *request_.proofs[number_ - 1]; }

  ProofOptions with_progress(ProofOptions options) {
    options.progress = [this](double share, const std::string& what) { report(share, what); };
    return options;
  }

  // By what this proof took so far, once that says something; by the table before.
  Nanoseconds time_left(double share) const {
    constexpr double kTelling = 0.1;
    const Nanoseconds spent = request_.now() - proof_started_;
    Nanoseconds left = expected_time(proof(), context_.quick()) - spent;
    if (share > kTelling) left = spent * ((1.0 - share) / share);
    left = std::max(left, Nanoseconds(0));
    for (std::size_t later = number_; later < request_.proofs.size(); ++later) {
      left += expected_time(*request_.proofs[later], context_.quick());
    }
    return left;
  }

  void report(double share, const std::string& what) const {
    if (!request_.progress) return;
    request_.progress({number_, request_.proofs.size(), proof().name, what, share, time_left(share)});
  }

  void append(SelftestRecord& record, const Proof& chosen) {
    proof_started_ = request_.now();
    report(0.0, "");
    std::vector<ProofLine> lines;
    try {
      lines = chosen.prove(context_);
    } catch (const InterruptedError&) {
      return;
    } catch (const Error& error) {
      lines = {skipped_line("whole proof", "", error.what())};
      if (error.kind() == ErrorKind::failed) lines.front().verdict = Verdict::missed;
    }
    for (ProofLine& line : lines) {
      line.group = chosen.name;
      record.lines.push_back(std::move(line));
    }
  }

  const SelftestRequest& request_;
  ProofContext context_;
  std::size_t number_ = 1;
  Nanoseconds proof_started_;
};

}  // namespace

void run_proofs(Device& device, const SelftestRequest& request, SelftestRecord& record,
                const std::function<void(const SelftestRecord&)>& saved) {
  ProofLoop(device, request).run(record, saved);
}

Nanoseconds expected_time(std::span<const Proof* const> proofs, bool quick) {
  Nanoseconds sum;
  for (const Proof* proof : proofs) sum += expected_time(*proof, quick);
  return sum;
}

ExitCode exit_code_of(const SelftestRecord& record) {
  if (record.interrupted) return ExitCode::interrupted;
  const auto count = [&](Verdict verdict) {
    return std::count_if(record.lines.begin(), record.lines.end(),
                         [&](const ProofLine& line) { return line.verdict == verdict; });
  };
  return count(Verdict::missed) > 0 || count(Verdict::passed) == 0 ? ExitCode::check_failed : ExitCode::done;
}

}  // namespace jitterscope::selftest
