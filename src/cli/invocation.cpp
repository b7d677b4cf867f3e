#include "cli/invocation.hpp"

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace jitterscope::cli {
namespace {

// `timeout` signals a process and then its whole group: signals within 1 s are one request.
constexpr std::time_t kOneRequestSeconds = 1;
volatile std::sig_atomic_t signals_seen = 0;
volatile std::time_t first_signal = 0;
std::vector<int> ignored_before;

std::time_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

void remember(int number) {
  if (signals_seen == 0) first_signal = now();
  signals_seen = 1;
  if (now() - first_signal <= kOneRequestSeconds) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

void listen_for_interruption() {
  ignored_before.clear();
  struct sigaction action {};
  action.sa_handler = remember;  // no SA_RESTART: a signal ends a sleep, so Ctrl-C is answered at once
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, &action, &before);
    if (before.sa_handler == SIG_IGN) ignored_before.push_back(number);
  }
}

std::vector<int> signals_ignored_before() { return ignored_before; }

bool is_interrupted() { return signals_seen > 0; }

}  // namespace jitterscope::cli
