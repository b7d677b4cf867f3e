#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include <sys/prctl.h>
#include <unistd.h>

#include "base/files.hpp"
#include "cli/invocation.hpp"
#include "jitterscope/error.hpp"
#include "record/run_file.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/in_step.hpp"
#include "worker/neighbour_process.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kWorkerHelp =
    R"(Reads a plan from standard input, carries it out, and writes its record to standard output. `compare` and
`run --processes` start fresh processes this way. For `explain` it runs work beside another process: orders
follow on standard input, and a line answers each. In a plan that is in step with others it writes each
decision as a line, and follows the line that answers it. It ends with the process that started it.

Exit codes: 0 the record is written, otherwise as for `run`, with the error in place of the record.)";

constexpr int kInputPollMilliseconds = 1000;

// Ends this process with its parent, which alone waits for the record.
void end_with_parent(std::int64_t parent) {
  if (parent == 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) throw FailedError("the process that made the plan has ended");
}

// Takes standard output for answers alone. What libraries print there (NCCL_DEBUG=VERSION, cuDNN's log) goes
// to standard error.
class Answers {
 public:
  Answers() : file_(::fdopen(::dup(STDOUT_FILENO), "w")) {
    if (file_ == nullptr || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
      throw FailedError("a worker's standard output could not be set apart");
  }
  ~Answers() { std::fclose(file_); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // Writes a line at once, because the other process waits for it.
  void write(const std::string& line) const {
    std::fwrite(line.data(), 1, line.size(), file_);
    if (!line.ends_with('\n')) std::fputc('\n', file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
};

void run_load(const LoadPlan& plan, LineReader& orders,
              const std::function<void(const std::string&)>& answer) {
  end_with_parent(plan.parent);
  // A terminal's Ctrl-C reaches both processes; this one ignores it and waits for the other's order.
  std::signal(SIGINT, SIG_IGN);
  carry_out_load(plan, orders, answer, is_interrupted);
}

void work(Invocation& invocation) {
  LineReader input(STDIN_FILENO);
  const Answers answers;
  const auto answer = [&](const std::string& line) { answers.write(line); };
  const auto end_with = [&](const Error& error) {
    answer(write_error(error));
    invocation.exit_code = error.exit_code();
  };
  try {
    std::string text;
    while (text.empty() && !input.is_over()) text = input.next(kInputPollMilliseconds).value_or("");
    if (const std::optional<LoadPlan> load = read_load_plan(text)) return run_load(*load, input, answer);
    const WorkerPlan plan = read_plan(is_in_step(text) ? text : text + "\n" + input.rest());
    end_with_parent(plan.parent);
    const StageListener stage = [](const std::string& what, std::size_t number, std::size_t total) {
      std::fprintf(stderr, "[%zu/%zu] %s\n", number, total, what.c_str());
    };
    if (plan.is_in_step) {
      OrderedAgreement others(plan.rank, plan.ranks, input, answer);
      answer(one_line_of(write_record(carry_out(plan, {stage, is_interrupted, &others, &others}))));
      return;
    }
    answer(write_record(carry_out(plan, {stage, is_interrupted})));
  } catch (const OrdersLost& lost) {
    end_with(FailedError(lost.what()));
  } catch (const Error& error) {
    end_with(error);
  }
}

}  // namespace

void add_worker_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("worker", "carry out a plan from another process (used by other commands)");
  command->footer(kWorkerHelp);
  command->callback([&invocation] { work(invocation); });
}

}  // namespace jitterscope::cli
