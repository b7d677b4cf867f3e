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

// Has a worker call a function that does `work`, and returns worked_alone().
bool works_alone(const std::string& work) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "reference.py";
  std::ofstream(file) << "import subprocess, sys, threading\n\n\ndef function(x):\n    " << work
                      << "\n    return x\n\n\ndef make():\n    return function, [4]\n";
  const auto worker = start_untrusted(python_worker());
  worker->make(file.string(), {}, std::nullopt, Key{});
  worker->answer({.seeds = {Seed{}}, .families = {Family::normal}});
  worker->worked_alone();
  worker->chain({.key = {}, .calls = 5, .is_held = false});
  return worker->worked_alone();
}

TEST(ExecutedWorker, IsSaidToWorkAloneIfItDoes) {
  EXPECT_TRUE(works_alone("sum(range(4_000_000))"));
  EXPECT_FALSE(works_alone(
      "other = threading.Thread(target=sum, args=[range(4_000_000)]); other.start(); other.join()"));
  EXPECT_FALSE(works_alone("subprocess.run([sys.executable, '-S', '-c', 'sum(range(4_000_000))'])"));
  EXPECT_FALSE(works_alone("pass"));  // too little to tell
}

TEST(ExecutedWorker, StaysOnACore) {
  const auto worker = start_untrusted(python_worker());
  constexpr const char* kQuestion = "sorted(os.sched_getaffinity(0))";
  const std::string before = said_by(*start_untrusted(python_worker()), kQuestion);
  worker->stay_on(0);
  EXPECT_EQ(said_by(*worker, kQuestion), "ValueError: [0]");
  const auto again = start_untrusted(python_worker());
  again->stay_on(0);
  again->stay_on(std::nullopt);
  EXPECT_EQ(said_by(*again, kQuestion), before);
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
