#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include <sys/prctl.h>
#include <unistd.h>

#include "base/files.hpp"
#include "cli/invocation.hpp"
#include "jitterscope/error.hpp"
#include "output/output_file.hpp"
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

// Writes a line at once, because the other process waits for it.
void answer(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void run_load(const LoadPlan& plan, LineReader& orders) {
  end_with_parent(plan.parent);
  // A terminal's Ctrl-C reaches both processes; this one ignores it and waits for the other's order.
  std::signal(SIGINT, SIG_IGN);
  carry_out_load(plan, orders, answer, is_interrupted);
}

void work(Invocation& invocation) {
  LineReader input(STDIN_FILENO);
  try {
    std::string text;
    while (text.empty() && !input.is_over()) text = input.next(kInputPollMilliseconds).value_or("");
    if (const std::optional<LoadPlan> load = read_load_plan(text)) return run_load(*load, input);
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
    print_result(write_record(carry_out(plan, {stage, is_interrupted})));
  } catch (const OrdersLost& lost) {
    const FailedError error(lost.what());
    print_result(write_error(error));
    invocation.exit_code = error.exit_code();
  } catch (const Error& error) {
    print_result(write_error(error));
    invocation.exit_code = error.exit_code();
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
