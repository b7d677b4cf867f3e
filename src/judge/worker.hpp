// A process that runs a reference or a candidate for the judge. What it says is never believed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"
#include "judge/correctness.hpp"
#include "judge/keys.hpp"
#include "judge/verdict.hpp"

namespace jitterscope::judging {

/// The reference's description of its function.
struct CaseShape {
  std::vector<InputDescription> inputs = {};
  bool is_on_gpu = false;  ///< whether the arrays are in a GPU's memory
  /// How both sides are called, in the reference's words, which the judge passes on unread.
  std::string call = {};
  std::optional<double> flops = {}, bytes = {};  ///< of one call, if the reference tells
  /// A sentence if a candidate's weights are not the reference's. It explains, and decides nothing.
  std::string weights_differ = {};
};

/// A chain: `calls` times fill (inputs from the seed that follows from the last digest), call, digest (of all
/// outputs), keep (a copy of them). Without calls it does all else, over outputs that are there.
struct ChainRequest {
  Key key;
  std::int64_t calls = 1;
  bool is_null = false;
  /// Its calls' outputs are kept behind those of this many earlier calls, in room for so many in all.
  std::int64_t kept_before = 0, kept_in_all = 0;
  std::int64_t place = 0;  ///< number of the place where inputs and outputs lie, on a GPU
  /// Holds the key back until all calls are queued on a GPU, so that its host takes no time. Otherwise the
  /// key is there as the chain is asked for.
  bool is_held = true;
  /// Bytes that are read between a call's inputs and the call, so that these are in no cache; 0: none.
  Bytes evicted = Bytes(0);
};
/// A GPU's clock, and what holds it down ("power_cap").
struct GpuClock {
  Hertz value;
  std::vector<std::string> reasons;
};
struct ChainReply {
  Nanoseconds time;                    ///< on the judge's clock, from the key's release to the last digest
  Digest last;                         ///< as the worker says
  std::optional<GpuClock> clock = {};  ///< as the judge read it when the chain ended
  bool is_held = true;  ///< false if the calls could not be queued without the key: something waited for them
};
/// The outputs that a worker has kept of its last chains.
struct Shown {
  Digest inputs;                          ///< of all inputs behind the last call
  std::span<const std::uint8_t> outputs;  ///< of all calls, one after the other, until more is shown
};

/// One call outside of every time.
struct AnswerRequest {
  std::vector<Seed> seeds;       ///< one for each input
  std::vector<Family> families;  ///< one for each input
  bool with_float64 = false;     ///< also a call with the same values in arrays of float64
  bool is_strided = false;  ///< views whose elements do not follow each other, where the arrays have such
};
struct Outputs {
  std::vector<OutputDescription> descriptions;
  std::vector<std::uint8_t> bytes;  ///< of all, one after the other
};
struct Answer {
  Outputs outputs;
  Outputs of_float64 = {};
};

/// Why a worker gave nothing.
struct WorkerFailure : std::runtime_error {
  enum class Kind {
    raised,     ///< the function, or the file that has it, raised an error
    late,       ///< no answer within the deadline
    ended,      ///< its process has ended
    malformed,  ///< it answered with something that the protocol does not have
  };
  WorkerFailure(Kind what_happened, const std::string& message)
      : std::runtime_error(message), kind(what_happened) {}
  Kind kind;
};

/// Each function throws WorkerFailure. On a GPU a chain is made of kernels that wait for the key; nothing
/// above this interface knows what a chain is made of.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;

  /// Loads a file's function (FILE.py:NAME) for a case. The reference's comes first and returns its shape;
  /// that of a candidate, which is given the shape, takes its place.
  virtual CaseShape make(const std::string& target, const CaseValues& values,
                         const std::optional<CaseShape>& shape, const Key& of_persistent) = 0;
  virtual ChainReply chain(const ChainRequest& request) = 0;
  /// Returns what so many calls gave, those of its last chains.
  virtual Shown show(std::int64_t calls) = 0;
  virtual Answer answer(const AnswerRequest& request) = 0;
  /// Returns the number of bytes that are kept of all calls of a chain at most.
  virtual std::size_t room() const = 0;
  /// Stops all threads until thaw(), so that an idle side takes nothing from the other.
  virtual void freeze() = 0;
  virtual void thaw() = 0;
  /// Has it end, and does not wait: nothing else may be asked of it.
  virtual void end() = 0;

  // Below: of a worker on the processor, as the kernel tells.

  /// Binds its threads to one core, or to none.
  virtual void stay_on(std::optional<int> core) = 0;
  /// Returns whether all that it has worked since this was asked last was in one thread; false if not known.
  virtual bool worked_alone() = 0;
  /// Returns how long its main thread could have run and another had the core, since this was asked last.
  virtual Nanoseconds kept_waiting() = 0;
};

using StartWorker = std::function<std::unique_ptr<Worker>()>;

}  // namespace jitterscope::judging
