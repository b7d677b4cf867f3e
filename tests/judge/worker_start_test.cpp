// Workers in Python that the judge's server forks, beside those that it executes.
#include "judge/worker_start.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "judge/untrusted_process.hpp"

namespace jitterscope::judging {
namespace {

const WorkerProgram& python_worker() {
  static const WorkerProgram program = {
      .arguments = {JITTERSCOPE_PYTHON, "-B", "-m", "jitterscope", "judged-worker", "cpu"},
      .environment = {"PYTHONPATH=" JITTERSCOPE_MODULES ":" + std::filesystem::current_path().string(),
                      "JITTERSCOPE_LIBRARY=" JITTERSCOPE_C_LIBRARY}};
  return program;
}

// Returns the error of a worker whose reference raises `expression` when it is made.
std::string said_by(Worker& worker, const std::string& expression) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "reference.py";
  std::ofstream(file) << "import os, sys\n\n\ndef make():\n    raise ValueError(" << expression << ")\n";
  try {
    worker.make(file.string(), {}, std::nullopt, Key{});
  } catch (const WorkerFailure& failure) {
    return failure.what();
  }
  return "";
}

std::unique_ptr<Worker> forked_worker(const std::vector<std::string>& modules) {
  return ReadyWorkers(python_worker(), "", {}, 0, std::make_unique<ForkServer>(python_worker(), modules))
      .take();
}

TEST(ForkedWorker, HasWhatItsServerImported) {
  constexpr const char* kQuestion = "'colorsys' in sys.modules";
  EXPECT_EQ(said_by(*forked_worker({"colorsys", "no_such_module"}), kQuestion), "ValueError: True");
  EXPECT_EQ(said_by(*start_untrusted(python_worker()), kQuestion), "ValueError: False");
}

TEST(ForkedWorker, IsHeldBackAsAnExecutedOne) {
  // Rights, filters, user, threads; then its descriptors, its folder and where it may write.
  constexpr const char* kQuestion =
      "(''.join(line for line in open('/proc/self/status') if line[:3] in ('Cap', 'NoN', 'Sec', 'Uid', 'Thr', "
      "'NSp') and 'CapBnd' not in line), sorted(os.listdir('/proc/self/fd'))[:4], len(os.listdir('/proc/self/fd')), "
      "os.getcwd() == os.environ['HOME'] == os.environ['TMPDIR'], os.access('/tmp', os.W_OK), "
      "os.access('.', os.W_OK), sorted(set(os.environ) - {'LC_CTYPE'}), os.getppid() == 0, "
      "__import__('resource').getrlimit(__import__('resource').RLIMIT_NPROC))";
  const std::string of_forked = said_by(*forked_worker({}), kQuestion);
  EXPECT_EQ(of_forked, said_by(*start_untrusted(python_worker()), kQuestion));
  EXPECT_NE(of_forked.find("NoNewPrivs:\\t1"), std::string::npos) << of_forked;
}

// A worker that its server cannot start is executed.
TEST(ForkedWorker, IsExecutedWhereItsServerEnds) {
  WorkerProgram broken = python_worker();
  broken.arguments[3] = "no_such_module";
  ReadyWorkers workers(python_worker(), "", {}, 0,
                       std::make_unique<ForkServer>(broken, std::vector<std::string>{}));
  EXPECT_EQ(said_by(*workers.take(), "'here'"), "ValueError: here");
}

}  // namespace
}  // namespace jitterscope::judging
