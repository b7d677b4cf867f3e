// Another process of ours that works on the same device when it is told to.
#pragma once

#include <functional>
#include <memory>

#include "explain/treatment.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::explain {

/// The other process cannot be started, has ended, or does not answer. Costs the rounds that need it, and no
/// others.
struct NeighbourLostError : FailedError {
  explicit NeighbourLostError(const std::string& message) : FailedError(message) {}
};

class Neighbour {
 public:
  /// Ends the process: none is left.
  virtual ~Neighbour() = default;
  /// Returns when the work runs. Throws NeighbourLostError; after that it always does.
  virtual void begin(const Companion& work) = 0;
  /// Returns when none of its work is on the device. Throws NeighbourLostError.
  virtual void rest() = 0;
};

/// Throws NeighbourLostError.
using StartNeighbour = std::function<std::unique_ptr<Neighbour>()>;

/// Works while this lives.
class NeighbourAtWork {
 public:
  NeighbourAtWork(Neighbour& neighbour, const Companion& work) : neighbour_(neighbour) {
    neighbour_.begin(work);
  }
  ~NeighbourAtWork() {
    try {
      neighbour_.rest();
    } catch (const NeighbourLostError&) {  // what is lost rests; the next beginning says so
    }
  }
  NeighbourAtWork(const NeighbourAtWork&) = delete;
  NeighbourAtWork& operator=(const NeighbourAtWork&) = delete;

 private:
  Neighbour& neighbour_;
};

}  // namespace jitterscope::explain
