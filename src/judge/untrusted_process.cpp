#include "judge/untrusted_process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "device/judged_arithmetic.hpp"
#include "jitterscope/error.hpp"
#include "judge/in_parts.hpp"

namespace jitterscope::judging {
namespace {

constexpr std::size_t kRoom = std::size_t{320} << 20;
constexpr int kPollMilliseconds = 100;

// Memory that both sides map. It cannot be made shorter, which would end a judge that reads it.
Descriptor shared_memory(std::size_t bytes) {
  Descriptor memory = out_of_the_way(::memfd_create("outputs", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                                     "memory for a worker's outputs");
  if (::ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw FailedError(std::string("memory for a worker's outputs could not be sealed: ") +
                      std::strerror(errno));
  }
  return memory;
}

using Message = nlohmann::json;

std::uint32_t word_of(std::uint32_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }

Message message_of(const CaseValues& values) {
  Message message = Message::object();
  for (const Property& value : values) message[value.key] = value.value;
  return message;
}

class ProcessWorker : public UntrustedWorker {
 public:
  explicit ProcessWorker(const WorkerProgram& program, ForkServer* server = nullptr)
      : program_(program), memory_(shared_memory(kRoom + kMailboxBytes)) {
    void* mapped =
        ::mmap(nullptr, kRoom + kMailboxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.number(), 0);
    if (mapped == MAP_FAILED) throw FailedError("memory for a worker's outputs could not be mapped");
    outputs_ = {static_cast<const std::uint8_t*>(mapped), kRoom};
    mailbox_ = reinterpret_cast<Mailbox*>(static_cast<std::uint8_t*>(mapped) + kRoom);
    const WorkerPlace place{memory_.number(), folder_.path().string()};
    process_ = server != nullptr ? server->start_worker(place) : execute_worker(program_, place);
  }
  ~ProcessWorker() override {
    end();
    wait_for_end();
    ::munmap(const_cast<std::uint8_t*>(outputs_.data()), outputs_.size() + kMailboxBytes);
  }

  CaseShape make(const std::string& target, const CaseValues& values, const std::optional<CaseShape>& shape,
                 const Key& of_persistent) override;
  ChainReply chain(const ChainRequest& request) override;
  Shown show(std::int64_t calls) override;
  Answer answer(const AnswerRequest& request) override;
  std::size_t room() const override { return kRoom; }
  void prepare(const std::string& reference, const CaseValues& values) override {
    tell({{"do", "prepare"}, {"target", reference}, {"case", message_of(values)}});
    is_preparing_ = true;
  }
  bool is_prepared() override {
    try {
      if (std::exchange(is_preparing_, false)) hear();
    } catch (const WorkerFailure&) {
      return false;
    }
    pollfd waited{process_.socket.number(), POLLIN, 0};  // it says nothing unasked: then it has ended
    return ::poll(&waited, 1, 0) == 0;
  }
  ReferenceDescription describe(const std::string& target);
  void freeze() override {
    ::kill(-process_.pid, SIGSTOP);
    int status = 0;
    if (::waitpid(process_.pid, &status, WUNTRACED) == process_.pid && !WIFSTOPPED(status)) note_end(status);
  }
  void thaw() override {
    if (process_.pid > 0) ::kill(-process_.pid, SIGCONT);
  }
  void stay_on(std::optional<int> core) override;
  bool worked_alone() override;
  Nanoseconds kept_waiting() override;
  void end() override {
    if (process_.pid > 0) kill_worker(process_.pid);
  }

 private:
  void wait_for_end() {
    int status = 0;
    if (process_.pid > 0 && ::waitpid(process_.pid, &status, 0) == process_.pid) note_end(status);
  }
  void note_end(int status) {
    process_.pid = -1;
    ended_by_ = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                    : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  void tell(const Message& message);
  Message hear();
  bool has_message(int milliseconds);
  void refuse_late(Nanoseconds end) const;
  Message receive();
  Nanoseconds release(const Key& key);
  bool has_ended_chain() { return word_of(mailbox_->done) == ticket_; }
  Message ask(const Message& message) {
    if (std::exchange(is_preparing_, false)) hear();
    tell(message);
    return hear();
  }
  [[noreturn]] void fail_ended();

  WorkerProgram program_;
  TemporaryFolder folder_;
  Descriptor memory_;
  WorkerProcess process_;
  std::span<const std::uint8_t> outputs_;
  std::unique_ptr<std::uint8_t[]> of_chain_;  ///< of kRoom
  Mailbox* mailbox_ = nullptr;
  std::uint32_t ticket_ = 0;  ///< of the chain that was asked for last
  bool is_on_gpu_ = false;
  std::size_t bytes_of_call_ = 0;
  std::string ended_by_;
  bool is_preparing_ = false;
  std::int64_t worked_ = 0, by_others_ = 0;  ///< ticks of the process, and of those of other threads
  Nanoseconds waited_;
};

// Ticks that a process or a thread has worked (proc(5), stat), with those of the process's children that it
// waited for or without; 0 if it has ended.
std::int64_t ticks_of(const std::filesystem::path& folder, bool with_children) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  constexpr int kBeforeTimes = 11;
  for (int i = 0; i < kBeforeTimes; ++i) fields >> skipped;
  std::int64_t sum = 0;
  const int times = with_children ? 4 : 2;  // utime, stime, cutime, cstime
  for (int i = 0; i < times; ++i) {
    std::int64_t ticks = 0;
    fields >> ticks;
    sum += ticks;
  }
  return sum;
}

std::filesystem::path proc_folder(pid_t pid) { return "/proc/" + std::to_string(pid); }

void ProcessWorker::stay_on(std::optional<int> core) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int each : core ? std::vector{*core} : allowed_cores()) {
    CPU_SET(static_cast<std::size_t>(each), &wanted);
  }
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator(proc_folder(process_.pid) / "task", ignored))
    ::sched_setaffinity(std::atoi(thread.path().filename().c_str()), sizeof(wanted), &wanted);
}

// A process's ticks are those of all its threads, with those that have ended.
bool ProcessWorker::worked_alone() {
  constexpr std::int64_t kFewest = 3;  // below, it has worked too little to tell
  constexpr double kByOthers = 0.1;
  const std::filesystem::path folder = proc_folder(process_.pid);
  const std::int64_t worked = ticks_of(folder, true);
  const std::int64_t by_others =
      std::max<std::int64_t>(0, worked - ticks_of(folder / "task" / std::to_string(process_.pid), false));
  const std::int64_t since = worked - std::exchange(worked_, worked);
  const std::int64_t others_since = by_others - std::exchange(by_others_, by_others);
  return since >= kFewest && static_cast<double>(others_since) <= kByOthers * static_cast<double>(since);
}

Nanoseconds ProcessWorker::kept_waiting() {
  std::ifstream file(proc_folder(process_.pid) / "schedstat");  // of the main thread: worked, waited, turns
  double worked = 0.0, waited = 0.0;
  if (!(file >> worked >> waited)) return Nanoseconds(0);
  return Nanoseconds(waited) - std::exchange(waited_, Nanoseconds(waited));
}

void ProcessWorker::fail_ended() {
  wait_for_end();
  std::string words(4096, '\0');
  const off_t size = ::lseek(process_.errors.number(), 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(words.size()));
  const ssize_t count = ::pread(process_.errors.number(), words.data(), words.size(), from);
  words.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string said = last_line(words);
  throw WorkerFailure(WorkerFailure::Kind::ended,
                      fmt::format("its process ended with {}{}", ended_by_, said.empty() ? "" : ": " + said));
}

void ProcessWorker::tell(const Message& message) {
  const std::string text = message.dump();
  if (text.size() > kLongestMessage) throw UsageError("a case has too many inputs to tell a worker of");
  while (::send(process_.socket.number(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) fail_ended();
  }
}

Message ProcessWorker::hear() {
  const Nanoseconds end = host_time_now() + program_.deadline;
  while (!has_message(kPollMilliseconds)) refuse_late(end);
  return receive();
}

bool ProcessWorker::has_message(int milliseconds) {
  pollfd waited{process_.socket.number(), POLLIN, 0};
  return ::poll(&waited, 1, milliseconds) > 0;
}

void ProcessWorker::refuse_late(Nanoseconds end) const {
  if (program_.interrupted && program_.interrupted()) throw InterruptedError();
  if (host_time_now() <= end) return;
  throw WorkerFailure(WorkerFailure::Kind::late,
                      fmt::format("it has not answered for {}", duration_text(program_.deadline)));
}

Message ProcessWorker::receive() {
  const std::string text = read_packet(process_.socket);
  if (text.empty()) fail_ended();
  Message message = Message::parse(text, nullptr, false);
  if (!message.is_object()) {
    throw WorkerFailure(WorkerFailure::Kind::malformed,
                        "it answered with something else than an object of JSON");
  }
  if (message.contains("error") && message["error"].is_string()) {
    throw WorkerFailure(WorkerFailure::Kind::raised, message["error"].get<std::string>());
  }
  return message;
}

// Below: messages, of which nothing is taken as given.

[[noreturn]] void refuse_message(const std::string& what) {
  throw WorkerFailure(WorkerFailure::Kind::malformed, "it answered without " + what);
}

template <class Secret>
Secret secret_in(const Message& message, const char* name) {
  Secret secret;
  const auto found = message.find(name);
  if (found == message.end() || !found->is_string() ||
      !read_hexadecimal(found->get<std::string>(), secret.bytes)) {
    refuse_message(fmt::format("'{}' of 64 hexadecimal digits", name));
  }
  return secret;
}

std::vector<std::int64_t> shape_in(const Message& message) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  const auto found = message.find("shape");
  if (found == message.end() || !found->is_array() || found->size() > 8) refuse_message("a shape");
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (const Message& extent : *found) {
    if (!extent.is_number_integer() || extent.get<std::int64_t>() < 0 || extent.get<std::int64_t>() > kMost) {
      refuse_message("a shape of whole numbers");
    }
    shape.push_back(extent.get<std::int64_t>());
    if (shape.back() > 0 && count > kMost / shape.back()) refuse_message("a shape below 2^32 elements");
    count *= shape.back();
  }
  return shape;
}

std::string word_in(const Message& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end() || !found->is_string()) refuse_message(fmt::format("the word '{}'", name));
  return found->get<std::string>();
}

const Message& list_in(const Message& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end() || !found->is_array()) refuse_message(fmt::format("the list '{}'", name));
  return *found;
}

CaseShape shape_of(const Message& message) {
  CaseShape shape;
  shape.is_on_gpu = message.value("gpu", false);
  for (const Message& each : list_in(message, "inputs")) {
    shape.inputs.push_back({.dtype = dtype_of(word_in(each, "dtype")),
                            .shape = shape_in(each),
                            .family = family_of(each.value("family", "normal")),
                            .persistent = each.value("persistent", false),
                            .below = each.value("below", std::int64_t{256}),
                            .scale = each.value("scale", 1.0)});
    if (!std::isfinite(shape.inputs.back().scale)) refuse_message("a scale that is a number");
  }
  shape.call = word_in(message, "call");
  const Message work = message.value("work", Message::object());
  for (const auto& [name, told] : {std::pair("flops", &shape.flops), std::pair("bytes", &shape.bytes)}) {
    if (work.contains(name)) *told = work.at(name).get<double>();
  }
  return shape;
}

ReferenceDescription ProcessWorker::describe(const std::string& target) {
  const Message reply = ask({{"do", "describe"}, {"target", target}});
  ReferenceDescription described;
  described.imports_torch = reply.value("torch", false);
  const std::string word = word_in(reply, "form");
  for (const Form form : {Form::make, Form::function, Form::kernelbench, Form::kernelbot}) {
    if (to_string(form) == word) described.form = form;
  }
  for (const Message& each : list_in(reply, "cases")) {
    described.cases.emplace_back();
    for (const auto& [name, value] : each.items())
      described.cases.back().push_back({name, value.get<std::string>()});
  }
  return described;
}

CaseShape ProcessWorker::make(const std::string& target, const CaseValues& values,
                              const std::optional<CaseShape>& shape, const Key& of_persistent) {
  Message request{{"do", "make"},
                  {"target", target},
                  {"case", message_of(values)},
                  {"persistent", hexadecimal(of_persistent.bytes)}};
  if (shape) request["call"] = shape->call;
  const Message reply = ask(request);
  if (shape) {  // a candidate has no say in it
    CaseShape same = *shape;
    constexpr std::size_t kMost = 200;
    same.weights_differ = word_in(reply, "weights_differ").substr(0, kMost);
    return same;
  }
  try {
    CaseShape told = shape_of(reply);
    is_on_gpu_ = told.is_on_gpu;
    return told;
  } catch (const Message::exception&) {
    refuse_message("a description of inputs");
  }
}

// Returns when the clock began.
Nanoseconds ProcessWorker::release(const Key& key) {
  std::memcpy(mailbox_->key, key.bytes.data(), key.bytes.size());
  const Nanoseconds begin = host_time_now();
  std::atomic_ref(mailbox_->released).store(ticket_, std::memory_order_release);
  return begin;
}

// A worker says that what is asked is queued (if the key is held back), and that it is done. A GPU says by
// itself that it is done, in the mailbox, which is looked at without a pause.
ChainReply ProcessWorker::chain(const ChainRequest& request) {
  constexpr Nanoseconds kLongestCall = milliseconds(300);  // to queue it, once it has been called before
  ++ticket_;
  std::vector<const char*> expected = {"done"};
  if (request.is_held) expected.insert(expected.begin(), "queued");
  auto next = expected.begin();
  ChainReply given;
  std::optional<Nanoseconds> begin;
  if (!request.is_held) begin = release(request.key);
  if (std::exchange(is_preparing_, false)) hear();
  tell({{"do", "chain"},
        {"ticket", ticket_},
        {"calls", request.calls},
        {"null", request.is_null},
        {"kept_before", request.kept_before},
        {"kept_in_all", request.kept_in_all},
        {"place", request.place},
        {"held", request.is_held},
        {"evicted", request.evicted.value()}});
  const auto take = [&](const Message& message) {
    if (next == expected.end() || !message.contains(*next)) refuse_message("what ends a chain");
    if (std::string_view(*next) == "queued") {
      if (!begin) begin = release(request.key);
      tell({{"do", "go"}});
    }
    return std::string_view(*next++);
  };
  const Nanoseconds deadline = host_time_now() + program_.deadline;
  Nanoseconds moved = host_time_now();
  std::uint32_t queued = word_of(mailbox_->queued);
  for (bool is_done = false; !is_done;) {
    constexpr int kLooks = 64;  // a system call takes as long
    for (int look = 0; is_on_gpu_ && !is_done && look < kLooks; ++look) is_done = has_ended_chain();
    if (is_done) break;
    if (has_message(is_on_gpu_ ? 0 : kPollMilliseconds)) {
      // A process may say so while its GPU still works, so a GPU's end is read in the mailbox alone.
      is_done = take(receive()) == "done" && !is_on_gpu_;
      continue;
    }
    refuse_late(deadline);
    if (begin) continue;
    if (const std::uint32_t now = word_of(mailbox_->queued); now != queued) {
      queued = now;
      moved = host_time_now();
    } else if (host_time_now() - moved > kLongestCall) {
      given.is_held = false;
      begin = release(request.key);
    }
  }
  given.time = host_time_now() - begin.value_or(host_time_now());
  if (program_.read_clock) given.clock = program_.read_clock();
  if (!has_ended_chain()) refuse_message("the end of its chain");
  std::memcpy(given.last.bytes.data(), mailbox_->digest, given.last.bytes.size());
  while (next != expected.end()) take(hear());
  return given;
}

Shown ProcessWorker::show(std::int64_t calls) {
  Shown shown{.inputs = secret_in<Digest>(ask({{"do", "show"}, {"calls", calls}}), "inputs"), .outputs = {}};
  // A copy: the worker could put right outputs in the place of those that were digested, between two looks.
  const std::size_t bytes = bytes_of_call_ * static_cast<std::size_t>(calls);
  const auto kept = outputs_.first(std::min(bytes, outputs_.size()));
  if (!of_chain_) of_chain_ = std::make_unique_for_overwrite<std::uint8_t[]>(kRoom);
  in_parts(kept.size(), std::size_t{8} << 20, [&](std::size_t from, std::size_t to) {
    std::memcpy(of_chain_.get() + from, kept.data() + from, to - from);
  });
  shown.outputs = {of_chain_.get(), kept.size()};
  return shown;
}

std::vector<OutputDescription> descriptions_in(const Message& message, const char* name) {
  std::vector<OutputDescription> descriptions;
  for (const Message& each : list_in(message, name)) {
    try {
      descriptions.push_back({.dtype = dtype_of(word_in(each, "dtype")), .shape = shape_in(each)});
    } catch (const UsageError&) {
      refuse_message("a type of outputs that the judge knows");
    }
  }
  return descriptions;
}

Answer ProcessWorker::answer(const AnswerRequest& request) {
  Message order{{"do", "answer"}, {"float64", request.with_float64}, {"strided", request.is_strided}};
  for (const Seed& seed : request.seeds) order["seeds"].push_back(hexadecimal(seed.bytes));
  for (const Family family : request.families) order["families"].push_back(to_string(family));
  const Message reply = ask(order);
  std::size_t place = 0;
  const auto outputs_in = [&](const char* name) {
    Outputs outputs{.descriptions = descriptions_in(reply, name), .bytes = {}};
    const std::size_t bytes = bytes_of(outputs.descriptions);
    if (bytes > kRoom - place) {
      throw WorkerFailure(WorkerFailure::Kind::malformed,
                          fmt::format("its outputs are longer than {}", bytes_text(Bytes(kRoom))));
    }
    const auto kept = outputs_.subspan(place, bytes);
    outputs.bytes.assign(kept.begin(), kept.end());
    place += bytes;
    return outputs;
  };
  Answer answer{.outputs = outputs_in("outputs")};
  bytes_of_call_ = answer.outputs.bytes.size();
  if (request.with_float64) answer.of_float64 = outputs_in("of_float64");
  return answer;
}

}  // namespace

std::unique_ptr<UntrustedWorker> start_untrusted(const WorkerProgram& program) {
  return std::make_unique<ProcessWorker>(program);
}

std::unique_ptr<UntrustedWorker> ReadyWorkers::start() {
  try {
    if (server_) return std::make_unique<ProcessWorker>(program_, server_.get());
  } catch (const NotForked&) {
    server_.reset();
  }
  return start_untrusted(program_);
}

void ReadyWorkers::refill() {
  while (workers_.size() < wanted_) {
    workers_.push_back(start());
    workers_.back()->prepare(reference_, values_);
  }
}

void ReadyWorkers::settle() {
  std::erase_if(workers_, [](const auto& worker) { return !worker->is_prepared(); });
}

std::unique_ptr<Worker> ReadyWorkers::take() {
  while (!workers_.empty()) {
    std::unique_ptr<UntrustedWorker> worker = std::move(workers_.back());
    workers_.pop_back();
    if (worker->is_prepared()) return worker;
  }
  return start();
}

ReferenceDescription describe_reference(const WorkerProgram& program, const std::string& target) {
  try {
    return ProcessWorker(program).describe(target);
  } catch (const WorkerFailure& failure) {
    throw UsageError(fmt::format("{}: {}", target, failure.what()));
  }
}

}  // namespace jitterscope::judging
