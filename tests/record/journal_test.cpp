#include "record/run_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "commands/records.hpp"
#include "commands/run/files.hpp"
#include "output/output_file.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string journal_of(const RunRecord& record) {
  std::string text = journal_head(record);
  for (const RunEntry& entry : record.entries) text += journal_line(entry);
  return text;
}

TEST(Journal, ReadsBackAsTheRecordSoFar) {
  RunRecord record = test::sample_model();
  record.asked.emplace().targets = {"tiny"};
  const RunRecord read = read_journal(journal_of(record), "r.json.part");
  EXPECT_TRUE(read.interrupted);
  record.interrupted = true;
  EXPECT_TRUE(write_record(read) == write_record(record));
  EXPECT_TRUE(write_record(read_run_record(journal_of(record), "r.json.part")) == write_record(record));
}

TEST(Journal, TheLastLineMayBeCutOff) {
  const RunRecord record = test::sample_model();
  const std::string text = journal_of(record);
  const RunRecord read = read_journal(text.substr(0, text.size() - 10), "r.json.part");
  EXPECT_EQ(read.entries.size(), record.entries.size() - 1);
  EXPECT_EQ(read_journal(journal_head(record), "r.json.part").entries.size(), 0u);
}

TEST(Journal, OtherDamageIsSaidWithItsLine) {
  const RunRecord record = test::sample_model();
  const std::string text = journal_head(record) + "{\"operation\": \n" + journal_line(record.entries[0]);
  try {
    read_journal(text, "r.json.part");
    ADD_FAILURE() << "was read";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("r.json.part, line 2: this is not JSON"));
  }
}

TEST(Journal, DifferencesNameTheFlagAndBothValues) {
  RunAsked before;
  before.targets = {"resnet18"};
  RunAsked now = before;
  EXPECT_EQ(differences(before, now), "");
  now.options.seed = 4;
  now.options.caches = {CacheState::cold};
  now.options.reference_clock = megahertz(1410);
  EXPECT_EQ(
      differences(before, now),
      "caches was [\"warm\",\"cold\"] and is [\"cold\"]; seed was 1 and is 4; reference_clock_hertz was not "
      "given and is 1410000000.0");
}

// Bytes that this process has given to write().
std::uintmax_t bytes_written() {
  std::ifstream file("/proc/self/io");
  std::string key;
  std::uintmax_t value = 0;
  while (file >> key >> value) {
    if (key == "wchar:") return value;
  }
  return 0;
}

TEST(RunJournal, FiveHundredOperationsCostAtMostThreeTimesTheFile) {
  const std::string path = testing::TempDir() + "journal_" + std::to_string(::getpid()) + ".json";
  const RunRecord whole = test::model_of(500);
  RunRecord record = whole;
  record.entries.clear();
  const std::uintmax_t before = bytes_written();
  {
    OutputFile file(path);
    RunJournal journal(file.target());
    for (const RunEntry& entry : whole.entries) {
      record.entries.push_back(entry);
      journal.save(record);
    }
    std::ifstream part(journal_path(path));
    const std::string text(std::istreambuf_iterator<char>(part), {});
    EXPECT_EQ(read_journal(text, "r.json.part").entries.size(), 500u);
    file.commit(write_record(record));
    journal.remove();
  }
  const std::uintmax_t written = bytes_written() - before;
  EXPECT_GT(written, fs::file_size(path));
  EXPECT_LE(written, 3 * fs::file_size(path));
  EXPECT_FALSE(fs::exists(journal_path(path)));
  fs::remove(path);
}

}  // namespace
}  // namespace jitterscope
