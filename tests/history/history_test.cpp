#include "history/history.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

RunRecord record_of(const std::string& time, const std::string& title = "add:count=8") {
  RunRecord record;
  record.environment.time = time;
  record.title = title;
  return record;
}

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "done";
}

class HistoryFolder : public testing::Test {
 protected:
  ~HistoryFolder() override { fs::remove_all(root_); }

  fs::path folder(const std::string& name = "h") const { return root_ / name; }
  History history() const { return History(folder()); }
  static std::vector<std::string> ids(const std::vector<HistoryEntry>& entries) {
    std::vector<std::string> all;
    for (const HistoryEntry& entry : entries) all.push_back(entry.id.substr(0, entry.id.find('-')));
    return all;
  }

 private:
  const fs::path root_ = fs::temp_directory_path() / ("jitterscope-history-" + std::to_string(::getpid()));
};

TEST_F(HistoryFolder, TheNewestIsTheBaselineInWhateverOrderTheyCame) {
  history().add("main", record_of("2026-11-23T20:11:05Z", "second"));
  history().add("main", record_of("2026-11-24T00:00:00Z", "third"));
  history().add("main", record_of("2026-11-22T23:59:59Z", "first"));
  EXPECT_THAT(ids(history().entries("main")),
              ElementsAre("20261122T235959Z", "20261123T201105Z", "20261124T000000Z"));
  EXPECT_EQ(read_entry(history().find("main")).title, "third");
  EXPECT_EQ(read_entry(history().find("main/20261122")).title, "first");
  EXPECT_THAT(refusal([&] { history().find("main/2026112"); }), HasSubstr("3 records of 'main' begin with"));
  EXPECT_THAT(refusal([&] { history().find("main/1999"); }), HasSubstr("no records of 'main' begin with"));
}

TEST_F(HistoryFolder, OfOneSecondTheLaterIsTheNewer) {
  for (int i = 0; i < 4; ++i) history().add("main", record_of("2026-11-23T20:11:05Z", std::to_string(i)));
  const auto entries = history().entries("main");
  ASSERT_THAT(entries, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read_entry(entries[i]).title, std::to_string(i));
}

TEST_F(HistoryFolder, TheSameRecordTwiceIsOne) {
  const HistoryEntry first = history().add("main", record_of("2026-11-23T20:11:05Z"));
  EXPECT_EQ(history().add("main", record_of("2026-11-23T20:11:05Z")).file, first.file);
  EXPECT_THAT(history().entries("main"), SizeIs(1));
}

TEST_F(HistoryFolder, AreMergedByCopying) {
  history().add("main", record_of("2026-11-23T20:11:05Z", "ours"));
  const History other(folder("other"));
  other.add("main", record_of("2026-11-23T20:11:05Z", "theirs"));
  other.add("branch", record_of("2026-11-20T00:00:00Z"));
  fs::copy(other.folder(), folder(), fs::copy_options::recursive);
  EXPECT_THAT(history().entries("main"), SizeIs(2));
  EXPECT_THAT(history().names(), ElementsAre("branch", "main"));
}

TEST_F(HistoryFolder, WhatIsHalfWrittenIsNoRecord) {
  const HistoryEntry entry = history().add("main", record_of("2026-11-23T20:11:05Z"));
  std::ofstream(folder() / "main" / "20261124T000000Z-00000000.json.partial") << "{";
  EXPECT_EQ(history().find("main").id, entry.id);
  std::ofstream(folder() / "main" / "20261124T000000Z-00000000.json") << "{\"format\": ";
  EXPECT_THAT(refusal([&] { read_entry(history().find("main")); }),
              AllOf(HasSubstr("20261124T000000Z-00000000.json"),
                    HasSubstr("jitterscope history rm main/20261124T000000Z-00000000")));
}

TEST_F(HistoryFolder, WhatIsNotThereIsSaidWithWhatIs) {
  EXPECT_THAT(history().names(), IsEmpty());
  EXPECT_THAT(refusal([&] { history().find("main"); }), HasSubstr("--save main` makes one"));
  history().add("release", record_of("2026-11-23T20:11:05Z"));
  EXPECT_THAT(refusal([&] { history().find("relaese"); }), HasSubstr("did you mean 'release'?"));
}

TEST_F(HistoryFolder, ANameIsAFoldersOnEverySystem) {
  EXPECT_THAT(refusal([&] { history().add("feature/x", record_of("")); }), HasSubstr("as 'feature-x'"));
  for (const char* name : {"", "..", ".hidden", "-x", "a b", "ü", "a\nb"}) {
    EXPECT_THAT(refusal([&] { history().add(name, record_of("")); }), HasSubstr("is not a valid name"))
        << name;
  }
  EXPECT_THAT(refusal([&] { history().add(std::string(101, 'a'), record_of("")); }), HasSubstr("up to 100"));
}

TEST_F(HistoryFolder, RemovingTheLastRemovesTheName) {
  const HistoryEntry one = history().add("main", record_of("2026-11-23T20:11:05Z")),
                     two = history().add("main", record_of("2026-11-24T20:11:05Z"));
  history().remove(two);
  EXPECT_EQ(history().find("main").id, one.id);
  history().remove(one);
  EXPECT_THAT(history().names(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder() / "main"));
  EXPECT_THROW(history().remove(HistoryEntry{"main", "x", folder().parent_path()}), FailedError);
}

TEST_F(HistoryFolder, CannotBeAFile) {
  fs::create_directories(folder().parent_path());
  std::ofstream(folder()) << "x";
  EXPECT_THAT(refusal([&] { history().check_can_add("main"); }),
              HasSubstr("name another folder by --history"));
}

TEST_F(HistoryFolder, WhatIsOnlyCheckedLeavesNoFolder) {
  fs::create_directories(folder().parent_path());
  history().check_can_add("main");
  EXPECT_FALSE(fs::exists(folder()));
  fs::create_directories(folder());
  history().check_can_add("main");
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(HistoryFolder, ARecordThatCannotBeWrittenLeavesNoFolder) {
  fs::create_directories(folder().parent_path());
  // The file's name becomes longer than any file system takes.
  EXPECT_THROW(history().add("main", record_of(std::string(300, '1'))), Error);
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(HistoryFolder, IsTheNearestUpwards) {
  fs::create_directories(folder() / "deep" / "deeper");
  fs::create_directories(folder() / ".jitterscope");
  EXPECT_EQ(history_folder(folder() / "deep" / "deeper"), folder() / ".jitterscope");
  fs::create_directories(folder() / "deep" / ".jitterscope");
  EXPECT_EQ(history_folder(folder() / "deep" / "deeper"), folder() / "deep" / ".jitterscope");
}

}  // namespace
}  // namespace jitterscope
