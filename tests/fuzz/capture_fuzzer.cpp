// Any file is a table of a capture, of which whole batches are read, or it is refused with a sentence; and
// any text in one is a call of a library that can be run again, or it is said why not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/format/arrow_stream.hpp"
#include "import/library_log.hpp"
#include "jitterscope/error.hpp"

using namespace jitterscope::capture;

namespace {

void read_all(const std::string& path) {
  StreamReader reader(path);
  std::size_t rows = 0;
  while (reader.next()) {
    rows += reader.rows();
    for (std::size_t i = 0; i < reader.columns().size(); ++i) {
      if (reader.columns()[i].type == ColumnType::text) {
        if (reader.texts(i).size() != reader.rows()) std::abort();
      } else if (reader.values(i).size() % (reader.rows() == 0 ? 1 : reader.rows()) != 0) {
        std::abort();
      }
    }
  }
  if (reader.end().rows < rows || (reader.end().is_complete && !reader.end().problem.empty())) std::abort();
}

void read_words(const std::string& words) {
  for (const auto& read :
       {jitterscope::library_log::convolution_of_words, jitterscope::library_log::product_of_words}) {
    try {
      if (read(words, "ConvFwd_eng38_k2=1").operands().empty()) std::abort();
    } catch (const jitterscope::UsageError& error) {
      if (*error.what() == '\0') std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("stream", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  read_all(path);
  ::close(file);
  read_words(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
