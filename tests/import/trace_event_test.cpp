// A trace is cut into pieces of whole events, whatever its strings hold and however large it is.
#include "import/trace_event.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

class Pieces : public ::testing::Test {
 protected:
  ~Pieces() override { std::filesystem::remove(path_); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  struct Read {
    std::vector<std::string> names;
    std::size_t pieces = 0;
    std::string head, problem;
  };
  Read read() const {
    Read result;
    TracePieces pieces(path_);
    simdjson::ondemand::parser parser;
    while (std::optional<simdjson::padded_string> piece = pieces.next()) {
      ++result.pieces;
      simdjson::ondemand::document document = parser.iterate(*piece);
      for (simdjson::ondemand::value value : document.get_array()) {
        simdjson::ondemand::object object = value.get_object();
        result.names.emplace_back(read_trace_event(object).name);
      }
    }
    result.head = pieces.head();
    result.problem = pieces.problem();
    return result;
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("jitterscope-pieces-" + std::to_string(::getpid()));
};

TEST_F(Pieces, HoldWholeEventsWhateverTheirStringsHold) {
  write(R"({"schemaVersion": 1, "traceEvents": [
    {"name": "a]}{[\"", "args": {"grid": [1, 2, 3], "text": "\\"}}, {"name": "b\\"} ,
    {"name": "c"}], "traceName": "x"})");
  const Read read = this->read();
  EXPECT_THAT(read.names, ::testing::ElementsAre("a]}{[\"", "b\\", "c"));
  EXPECT_THAT(read.head, ::testing::HasSubstr("schemaVersion"));
  EXPECT_EQ(read.problem, "");
}

TEST_F(Pieces, OfAnArrayWithoutAnythingAround) {
  write(R"( [{"name": "a"},{"name": "b"}])");
  EXPECT_THAT(read().names, ::testing::ElementsAre("a", "b"));
}

TEST_F(Pieces, OfATraceWithoutEventsAreNone) {
  write(R"({"traceEvents": []})");
  const Read read = this->read();
  EXPECT_TRUE(read.names.empty());
  EXPECT_EQ(read.problem, "");
}

TEST_F(Pieces, OfACutFileAreThoseBefore) {
  write(R"({"traceEvents": [{"name": "a"}, {"name": "b"}, {"name": "c)");
  const Read read = this->read();
  EXPECT_THAT(read.names, ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(read.problem, ::testing::HasSubstr("the file ends early, after 58 B"));
}

// Wherever it is cut, also behind its last event: nothing is read as whole that is not.
TEST_F(Pieces, OfAFileCutAnywhereHaveAProblem) {
  const std::string whole =
      R"({"schemaVersion": 1, "traceEvents": [{"name": "a"}, {"name": "b\"", "args": {"grid": [1]}}], "traceName": "x"})";
  const gzFile file = ::gzopen(path_.c_str(), "wb1");
  ASSERT_GT(::gzwrite(file, whole.data(), static_cast<unsigned>(whole.size())), 0);
  ::gzclose(file);
  std::ifstream stream(path_, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(stream), {}};
  for (const std::string& text : {whole, packed}) {
    write(text);
    EXPECT_EQ(read().problem, "");
    EXPECT_EQ(read().names.size(), 2u);
    for (std::size_t size = 0; size < text.size(); ++size) {
      write(text.substr(0, size));
      std::string problem;
      try {
        problem = read().problem;
      } catch (const UsageError& error) {
        problem = error.what();
      }
      EXPECT_NE(problem, "") << size << " of " << text.size();
    }
  }
}

TEST_F(Pieces, OfOtherFilesAreRefused) {
  for (const char* text : {"", "{}", "[2026-11-28] a log", "hello", R"({"format": "jitterscope-record"})"}) {
    write(text);
    EXPECT_THROW(read(), UsageError) << text;
  }
  std::filesystem::remove(path_);
  EXPECT_THROW(TracePieces{path_}, UsageError);
}

// Several pieces, with an escape and a bracket in a string at each place where one may be cut.
TEST_F(Pieces, OfALargeFileAreSeveralAndLoseNothing) {
  constexpr std::size_t kEvents = 300'000;
  std::string text = R"({"traceEvents": [)";
  for (std::size_t i = 0; i < kEvents; ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"ph": "X", "name": "kernel \"{)") + std::to_string(i) +
            R"(}\\", "args": {"External id": )" + std::to_string(i) +
            R"(, "grid": [1, 1, 1]}, "ts": 1.5, "dur": 2})";
  }
  text += "]}";
  ASSERT_GT(text.size(), 25'000'000u);
  const gzFile file = ::gzopen(path_.c_str(), "wb1");
  ASSERT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ::gzclose(file);
  const Read read = this->read();
  EXPECT_GT(read.pieces, 1u);
  ASSERT_EQ(read.names.size(), kEvents);
  for (std::size_t i = 0; i < kEvents; ++i)
    ASSERT_EQ(read.names[i], "kernel \"{" + std::to_string(i) + "}\\");
}

}  // namespace
}  // namespace jitterscope
