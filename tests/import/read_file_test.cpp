#include "import/import.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <string>

#include "import/recognise.hpp"
#include "import/written_file.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using testing::usage_message;
namespace fs = std::filesystem;

std::string packed(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

class ReadFile : public testing::WrittenFile {
 protected:
  std::string problem(const fs::path& file) const {
    return usage_message([&] { read_file(file); });
  }
};

TEST_F(ReadFile, UnpacksGzipByContentInSeveralMembers) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  EXPECT_EQ(read_file(write(text)).text, text);
  EXPECT_EQ(read_file(write(packed(text))).text, text);
  EXPECT_EQ(read_file(write(packed("one ") + packed("two"))).text, "one two");
}

TEST_F(ReadFile, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(problem(folder_ / "absent"), HasSubstr("does not exist"));
  EXPECT_THAT(problem(folder_), HasSubstr("folder"));
  EXPECT_THAT(problem(write("")), HasSubstr("empty"));
  const std::string whole = packed("some text that is long enough to be cut in its middle");
  EXPECT_THAT(problem(write(whole.substr(0, 12))), HasSubstr("ends before anything can be read"));
  std::string damaged = whole;
  damaged[12] = static_cast<char>(~damaged[12]);
  EXPECT_THAT(problem(write(damaged)), HasSubstr("file"));
}

TEST_F(ReadFile, GivesWhatAnArchiveHoldsThatEndsEarly) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  const std::string whole = packed(text);
  EXPECT_FALSE(read_file(write(whole)).ends_early);
  for (const std::size_t missing : {whole.size() / 2, std::size_t{9}, std::size_t{1}}) {
    const FileContents contents = read_file(write(whole.substr(0, whole.size() - missing)));
    EXPECT_TRUE(contents.ends_early) << missing;
    EXPECT_TRUE(!contents.text.empty() && text.starts_with(contents.text)) << missing;
  }
}

TEST_F(ReadFile, RefusesArchivesThatGrowTooLarge) {
  const std::string bomb = packed(std::string(10'000'000, 'x'));
  EXPECT_EQ(unpack_gzip(bomb, "b", 10'000'000).text.size(), 10'000'000u);
  EXPECT_THAT(usage_message([&] { unpack_gzip(bomb, "b", 1'000'000); }), HasSubstr("larger than 1 MB"));
}

TEST(Recognise, GoesByContent) {
  using enum FileKind;
  EXPECT_EQ(recognise(R"(  {"format": "jitterscope-model"})"), model);
  EXPECT_EQ(recognise(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "ctrl_deps": 0}]})"),
            execution_trace);
  EXPECT_EQ(recognise(R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})"), profiler_trace);
  EXPECT_EQ(recognise(R"([{"ph": "X"}])"), profiler_trace);
  EXPECT_EQ(recognise("warning\n[cudnn_frontend] CUDNN_BACKEND"), cudnn_frontend_log);
  EXPECT_EQ(recognise("[2026-01-01 10:00:00][cublasLt][8291][Trace][cublasLtMatmul] A=0X"), cublaslt_log);
  EXPECT_EQ(recognise("\nI! CuDNN (v91900 46) function cudnnCreate() called:"), cudnn_log);
  EXPECT_EQ(recognise("I! cuBLAS (v13.0) function cublasCreate_v2 called"), cublas_log);
  EXPECT_EQ(recognise(std::string("\x08\x08\x12\x07pytorch:\x02\x0a\x00", 15)), onnx);
  EXPECT_EQ(recognise(std::string("\x7f"
                                  "ELF\x02\x01\x01\0\0\0",
                                  10)),
            unknown);
  EXPECT_EQ(recognise("hello"), unknown);
  EXPECT_EQ(recognise(R"({"about": "another program's", "layers": []})"), unknown);
  EXPECT_EQ(recognise(""), unknown);
  // A record of `run` has a list of layers in it, and a format, as a model has.
  EXPECT_EQ(recognise(R"({"format": "jitterscope-record", "command": "run", "results": [{"layers": []}]})"),
            own);
  EXPECT_EQ(recognise(R"({"command": "run", "entries": [{"layers": []}], "format" :"jitterscope-record"})"),
            own);
  EXPECT_EQ(recognise(R"({"format": "jitterscope-journal"})"), own);
  EXPECT_EQ(recognise(R"({"format": "jitterscope-plan"})"), own);
  EXPECT_EQ(recognise("\n<!DOCTYPE html>\n<html>"), page);
}

TEST(Recognise, WhatIsGivenToTheWrongCommandIsNamedWithWhatTakesIt) {
  const auto said = [](const char* text) { return misplaced_file(text, "x", "not a trace"); };
  EXPECT_THAT(
      said(R"({"format": "jitterscope-record", "version": 2, "command": "run"})"),
      HasSubstr(
          "x: this is a record that `jitterscope run` wrote, not a trace: `jitterscope show x` prints it"));
  EXPECT_THAT(
      said(R"({"format": "jitterscope-record", "version": 2, "command": "doctor"})"),
      ::testing::AllOf(HasSubstr("that `jitterscope doctor` wrote"), ::testing::Not(HasSubstr("compare"))));
  EXPECT_THAT(said(R"({"format": "jitterscope-engines", "version": 1})"),
              HasSubstr("`jitterscope engines` wrote"));
  EXPECT_THAT(said(R"({"format": "jitterscope-journal"})"),
              HasSubstr("`jitterscope run TARGETS --continue x`"));
  EXPECT_THAT(said(R"({"format": "jitterscope-list"})"),
              HasSubstr("an internal file of jitterscope (format list), not a trace"));
  EXPECT_EQ(said(R"({"format": "jitterscope-record", "command": "\u001b[31m"})"),
            "x: this is a damaged record, not a trace");
  EXPECT_THAT(said(R"({"format": "jitterscope-model"})"),
              HasSubstr("x: this is a model, not a trace: `jitterscope run x`"));
  EXPECT_THAT(said("<!DOCTYPE html>"), HasSubstr("x: this is a page for a browser"));
  EXPECT_EQ(said("hello"), "");
}

}  // namespace
}  // namespace jitterscope
