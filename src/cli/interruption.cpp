#include "cli/interruption.hpp"

#include <csignal>

namespace jitterscope::cli {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

void remember(int number) {
  signals_seen = signals_seen + 1;
  if (signals_seen < 2) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

void listen_for_interruption() {
  struct sigaction action {};
  action.sa_handler = remember;  // no SA_RESTART: a sleep ends early, so that Ctrl-C is answered at once
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

bool is_interrupted() { return signals_seen > 0; }

}  // namespace jitterscope::cli
