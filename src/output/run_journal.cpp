#include "output/run_journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "jitterscope/error.hpp"
#include "output/output_file.hpp"
#include "record/journal.hpp"

namespace jitterscope {

std::string journal_path(const std::string& file) { return file + ".part"; }

RunJournal::RunJournal(const std::string& file) : path_(journal_path(file)) {}

RunJournal::~RunJournal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunJournal::begin(const std::string& text) {
  OutputFile(path_).commit(text);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw FailedError("'" + path_ + "' was removed while it was written; run it again");
}

void RunJournal::save(const RunRecord& record) {
  const bool is_first = descriptor_ < 0;
  std::string text = is_first ? journal_head(record) : std::string();
  for (; saved_ < record.entries.size(); ++saved_) text += journal_line(record.entries[saved_]);
  if (is_first) {
    begin(text);
  } else {
    write_whole(descriptor_, text, path_);
  }
}

void RunJournal::remove() { ::unlink(path_.c_str()); }

}  // namespace jitterscope
