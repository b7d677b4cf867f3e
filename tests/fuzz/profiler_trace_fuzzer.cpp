// Any file is a model with layers or a UsageError, and no time on the GPU is lost. Read in pieces, each piece
// is a list of events or no JSON, and the whole is a timeline that can be shown.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "import/import.hpp"
#include "import/trace_event.hpp"
#include "timeline_check.hpp"
#include "trace_fuzzer.hpp"

using namespace jitterscope;

void check(std::string_view text) {
  const Model model = import_profiler_trace(text, "fuzz.json");
  if (model.layers.empty() || model.calls.empty()) std::abort();
  double sum = 0.0;
  for (const Layer& layer : model.layers) sum += layer.recorded_time().value_or(Nanoseconds(0)).value();
  for (const UntimedOperator& untimed : model.untimed) {
    sum += untimed.recorded_time.value_or(Nanoseconds(0)).value();
  }
  const double total = model.recorded_gpu_time.value_or(Nanoseconds(0)).value();
  if (std::abs(sum - total) > 1e-6 * total) std::abort();
}

void read_pieces(const std::string& path) {
  TracePieces pieces(path);
  simdjson::ondemand::parser parser;
  while (const std::optional<simdjson::padded_string> piece = pieces.next()) {
    if (piece->size() < 2 || piece->data()[0] != '[') std::abort();
    try {
      simdjson::ondemand::document document = parser.iterate(*piece);
      for (simdjson::ondemand::value value : document.get_array()) {
        simdjson::ondemand::object object = value.get_object();
        read_trace_event(object);
      }
    } catch (const simdjson::simdjson_error&) {
      continue;  // what stands between the brackets need not be JSON
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("trace", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    read_pieces(path);
    check_timeline(timeline::read_profiler_trace(path));
  } catch (const UsageError&) {
  }
  ::close(file);
  return fuzz_trace(check, data, size);
}
