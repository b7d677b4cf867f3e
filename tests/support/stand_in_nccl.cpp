// NCCL without a GPU, libnccl.so.2: ranks are processes of one machine, and buffers lie in the host's memory.
// A thread of each rank carries its collectives out in order, as a stream would. Rank 0 has the hub, a socket
// to which each rank gives what it has for a collective and from which it gets what all gave. It can be told
// to fail (stand_in_nccl.hpp); with TOO_OLD it lacks what came with 2.7.
#include "support/stand_in_nccl.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/cpu/number_formats.hpp"
#include "device/cuda/nccl_functions.hpp"

using namespace jitterscope;
using namespace jitterscope::cuda::nccl;

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Messages over a socket: their length, then their bytes. False if the other side has ended.

bool send_all(int socket, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  return size == 0 || ::recv(socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

bool send_message(int socket, const std::string& text) {
  const std::size_t size = text.size();
  return send_all(socket, &size, sizeof(size)) && send_all(socket, text.data(), size);
}

bool receive_message(int socket, std::string& text) {
  std::size_t size = 0;
  if (!receive_all(socket, &size, sizeof(size))) return false;
  text.resize(size);
  return receive_all(socket, text.data(), size);
}

// In the abstract namespace, so that no file is left.
sockaddr_un address_of(const UniqueId& id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, id.bytes.data(), 32);
  return address;
}

// Numbers of each type as double.

std::size_t size_of(Type type) {
  switch (type) {
    case kInt8: return 1;
    case kFloat16:
    case kBfloat16: return 2;
    case kInt64:
    case kFloat64: return 8;
    default: return 4;
  }
}

template <class Number>
double read_as(const char* bytes) {
  Number number{};
  std::memcpy(&number, bytes, sizeof(number));
  return static_cast<double>(number);
}
template <class Number>
void write_as(char* bytes, Number number) {
  std::memcpy(bytes, &number, sizeof(number));
}
std::uint16_t word_at(const char* bytes) {
  std::uint16_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

double number_at(const char* bytes, Type type) {
  switch (type) {
    case kInt8: return read_as<std::int8_t>(bytes);
    case kInt32: return read_as<std::int32_t>(bytes);
    case kInt64: return read_as<std::int64_t>(bytes);
    case kFloat64: return read_as<double>(bytes);
    case kFloat16: return cpu::Half::read(word_at(bytes));
    case kBfloat16: return cpu::BFloat16::read(word_at(bytes));
    default: return read_as<float>(bytes);
  }
}

void set_number(char* bytes, Type type, double number) {
  switch (type) {
    case kInt8: return write_as(bytes, static_cast<std::int8_t>(number));
    case kInt32: return write_as(bytes, static_cast<std::int32_t>(number));
    case kInt64: return write_as(bytes, static_cast<std::int64_t>(number));
    case kFloat64: return write_as(bytes, number);
    case kFloat16: return write_as(bytes, cpu::Half::write(static_cast<float>(number)));
    case kBfloat16: return write_as(bytes, cpu::BFloat16::write(static_cast<float>(number)));
    default: return write_as(bytes, static_cast<float>(number));
  }
}

double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case kProduct: return a * b;
    case kMaximum: return std::max(a, b);
    case kMinimum: return std::min(a, b);
    default: return a + b;
  }
}

enum class Kind : int { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, receive };

/// One call as others must see it.
struct Call {
  Kind kind = Kind::all_reduce;
  Type type = kFloat32;
  Reduction reduction = kSum;
  int peer = 0;  ///< the other rank, or the root
  std::size_t count = 0;
  bool operator==(const Call&) const = default;
};

std::size_t elements_sent(const Call& call, int rank, int count) {
  if (call.kind == Kind::receive) return 0;
  if (call.kind == Kind::broadcast && rank != call.peer) return 0;
  return call.kind == Kind::reduce_scatter ? call.count * static_cast<std::size_t>(count) : call.count;
}

struct Work {
  Call call;
  const char* from = nullptr;
  char* to = nullptr;
};

}  // namespace

namespace jitterscope::cuda::nccl {

struct NcclComm {
  int rank = 0, count = 0, socket = -1;
  std::string fault;
  std::thread hub, worker;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::vector<Work>> rounds;  ///< guarded by the mutex
  bool ends = false;                     ///< guarded by the mutex
  std::atomic<int> error = kSuccess;

  std::string given(const std::vector<Work>& round) const;
  bool finish(const std::vector<Work>& round, const std::vector<std::string>& gifts) const;
  void carry_out();
  bool carry_out(const std::vector<Work>& round);
};

}  // namespace jitterscope::cuda::nccl

namespace {

std::atomic<int> pending = 0;

// The rank that a rank's only call, a send or a receive, is with; -1 if it has others.
int only_peer_in(const std::string& gift, int giver, int count) {
  Call call;
  if (gift.size() < sizeof(call)) return -1;
  std::memcpy(&call, gift.data(), sizeof(call));
  const bool is_between_two = call.kind == Kind::send || call.kind == Kind::receive;
  const std::size_t sent = elements_sent(call, giver, count) * size_of(call.type);
  return is_between_two && gift.size() == sizeof(call) + sent ? call.peer : -1;
}

// Gives each rank what all gave, round by round, until one waits for a rank that has left, or all have. Two
// ranks with nothing but a send between them need no others.
void serve(int listener, int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count), -1);
  for (int i = 0; i < count; ++i) {
    const int socket = ::accept(listener, nullptr, nullptr);
    int rank = 0;
    if (socket < 0 || !receive_all(socket, &rank, sizeof(rank))) return;
    ranks[static_cast<std::size_t>(rank)] = socket;
  }
  ::close(listener);
  std::vector<std::string> gifts(ranks.size());
  std::vector<bool> has_given(ranks.size()), has_left(ranks.size());
  bool all_live = true;
  const auto answer = [&](const std::vector<std::size_t>& takers) {
    for (const std::size_t to : takers) {
      for (const std::string& gift : gifts) all_live = all_live && send_message(ranks[to], gift);
    }
    for (const std::size_t to : takers) has_given[to] = false;
  };
  while (all_live && !std::ranges::all_of(has_left, std::identity())) {
    std::vector<pollfd> waiting;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      waiting.push_back({has_given[i] || has_left[i] ? -1 : ranks[i], POLLIN, 0});
    all_live = ::poll(waiting.data(), waiting.size(), -1) > 0;
    std::vector<std::size_t> all;
    std::vector<int> peers(ranks.size(), -1);
    for (std::size_t i = 0; all_live && i < ranks.size(); ++i) {
      if (waiting[i].revents != 0) {
        has_given[i] = receive_message(ranks[i], gifts[i]);
        has_left[i] = !has_given[i];
      }
      if (!has_given[i]) continue;
      all.push_back(i);
      peers[i] = only_peer_in(gifts[i], static_cast<int>(i), count);
    }
    bool served_two = false;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto peer = static_cast<std::size_t>(peers[i]);
      if (peers[i] < 0 || !has_given[i] || peers[peer] != static_cast<int>(i)) continue;
      answer({i, peer});
      served_two = true;
    }
    if (!served_two && all.size() == ranks.size()) answer(all);
    for (const std::size_t i : all) {
      const bool waits_in_vain = peers[i] >= 0 ? has_left[static_cast<std::size_t>(peers[i])]
                                               : std::ranges::any_of(has_left, std::identity());
      if (has_given[i] && waits_in_vain) all_live = false;
    }
  }
  for (const int socket : ranks) {
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
  }
}

}  // namespace

// Each call, and the elements that it sends.
std::string NcclComm::given(const std::vector<Work>& round) const {
  std::string text;
  for (const Work& work : round) {
    text.append(reinterpret_cast<const char*>(&work.call), sizeof(work.call));
    text.append(work.from, elements_sent(work.call, rank, count) * size_of(work.call.type));
  }
  return text;
}

// Writes the results; false if the ranks' calls do not fit each other, in which case NCCL would hang.
bool NcclComm::finish(const std::vector<Work>& round, const std::vector<std::string>& gifts) const {
  struct Gift {
    Call call;
    const char* data = nullptr;
  };
  std::vector<std::vector<Gift>> all(gifts.size());
  for (std::size_t giver = 0; giver < gifts.size(); ++giver) {
    for (std::size_t at = 0; at + sizeof(Call) <= gifts[giver].size();) {
      Gift gift;
      std::memcpy(&gift.call, gifts[giver].data() + at, sizeof(Call));
      gift.data = gifts[giver].data() + at + sizeof(Call);
      at += sizeof(Call) + elements_sent(gift.call, static_cast<int>(giver), count) * size_of(gift.call.type);
      all[giver].push_back(gift);
    }
  }
  std::vector<std::size_t> received(gifts.size());  // messages so far, by sender
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& [call, from, to] = round[i];
    const std::size_t bytes = call.count * size_of(call.type);
    if (call.kind == Kind::send) continue;
    if (call.kind == Kind::receive) {
      const auto sender = static_cast<std::size_t>(call.peer);
      std::size_t wanted = received[sender]++;
      const auto is_it = [&](const Gift& gift) {
        return gift.call.kind == Kind::send && gift.call.peer == rank && wanted-- == 0;
      };
      const auto gift = std::ranges::find_if(all[sender], is_it);
      if (gift == all[sender].end() || gift->call.count != call.count || gift->call.type != call.type)
        return false;
      std::memcpy(to, gift->data, bytes);
      continue;
    }
    for (const auto& gifts_of_rank : all) {
      if (i >= gifts_of_rank.size() || gifts_of_rank[i].call != call) return false;
    }
    if (call.kind == Kind::broadcast)
      std::memcpy(to, all[static_cast<std::size_t>(call.peer)][i].data, bytes);
    if (call.kind == Kind::all_gather) {
      for (std::size_t giver = 0; giver < all.size(); ++giver)
        std::memcpy(to + giver * bytes, all[giver][i].data, bytes);
    }
    const bool reduces = call.kind == Kind::all_reduce || call.kind == Kind::reduce_scatter ||
                         (call.kind == Kind::reduce && rank == call.peer);
    const std::size_t first = call.kind == Kind::reduce_scatter ? static_cast<std::size_t>(rank) * bytes : 0;
    for (std::size_t at = 0; reduces && at < bytes; at += size_of(call.type)) {
      double value = number_at(all[0][i].data + first + at, call.type);
      for (std::size_t giver = 1; giver < all.size(); ++giver)
        value = combined(call.reduction, value, number_at(all[giver][i].data + first + at, call.type));
      if (call.reduction == kAverage) value /= count;
      set_number(to + at, call.type, value);
    }
  }
  for (const Work& work : round) {
    if (fault == stand_in::kNcclLies && work.to != nullptr)
      set_number(work.to, work.call.type, number_at(work.to, work.call.type) + 1);
  }
  return true;
}

bool NcclComm::carry_out(const std::vector<Work>& round) {
  if (fault == stand_in::kNcclDies) ::_exit(9);
  if (fault == stand_in::kNcclReports) error = kSystemError;
  if (fault == stand_in::kNcclStalls || fault == stand_in::kNcclReports) return false;
  std::vector<std::string> gifts(static_cast<std::size_t>(count));
  bool is_whole = send_message(socket, given(round));
  for (std::string& gift : gifts) is_whole = is_whole && receive_message(socket, gift);
  if (!is_whole) error = kRemoteError;
  return is_whole && finish(round, gifts);
}

// A round that fails stays at the head, as a kernel that waits for another GPU.
void NcclComm::carry_out() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !rounds.empty(); });
    if (ends) return;
    const std::vector<Work> round = rounds.front();
    lock.unlock();
    const bool is_done = carry_out(round);
    lock.lock();
    if (!is_done) return changed.wait(lock, [&] { return ends; });
    rounds.pop_front();
    --pending;
  }
}

namespace {

thread_local int group_depth = 0;
thread_local std::vector<std::pair<Handle, Work>> group;

int submit(Handle communicator, std::vector<Work> round) {
  if (communicator->fault == stand_in::kNcclRefuses) return kInternalError;
  const std::lock_guard lock(communicator->mutex);
  communicator->rounds.push_back(std::move(round));
  ++pending;
  communicator->changed.notify_all();
  return kSuccess;
}

int enqueue(Handle communicator, const Call& call, const void* from, void* to) {
  if (communicator == nullptr || call.peer < 0 || call.peer >= communicator->count) return kInvalidArgument;
  const Work work{call, static_cast<const char*>(from), static_cast<char*>(to)};
  if (group_depth == 0) return submit(communicator, {work});
  group.emplace_back(communicator, work);
  return kSuccess;
}

int end(Handle communicator, const char* how) {
  {
    const std::lock_guard lock(communicator->mutex);
    communicator->ends = true;
    pending -= static_cast<int>(communicator->rounds.size());
    communicator->changed.notify_all();
  }
  ::shutdown(communicator->socket, SHUT_RDWR);  // wakes the worker, and the hub
  communicator->worker.join();
  if (communicator->hub.joinable()) communicator->hub.join();
  ::close(communicator->socket);
  const std::string line = std::to_string(communicator->rank) + " " + how + "\n";
  const int file = ::open(setting(stand_in::kNcclState).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const bool is_written = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(file);
  delete communicator;
  return is_written || setting(stand_in::kNcclState).empty() ? kSuccess : kSystemError;
}

}  // namespace

extern "C" {

int stand_in_nccl_pending() { return pending; }

int ncclGetVersion(int* code) {
  const std::string told = setting(stand_in::kNcclVersionCode);
  *code = told.empty() ? stand_in::kNcclVersion : std::atoi(told.c_str());
  return kSuccess;
}
const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess: return "no error";
    case kSystemError: return "unhandled system error";
    case kInternalError: return "internal error";
    case kInvalidArgument: return "invalid argument";
    case kRemoteError: return "remote process exited or there was a network error";
    default: return "unknown result code";
  }
}
const char* ncclGetLastError(Handle) { return "what the stand-in\nsaid last"; }

int ncclGetUniqueId(UniqueId* id) {
  static int number = 0;
  std::snprintf(id->bytes.data(), id->bytes.size(), "stand-in-%d-%d", ::getpid(), ++number);
  return kSuccess;
}

int ncclCommInitRank(Handle* communicator, int count, UniqueId id, int rank) {
  if (count < 1 || rank < 0 || rank >= count) return kInvalidArgument;
  auto made = std::make_unique<NcclComm>();
  made->rank = rank;
  made->count = count;
  if (setting(stand_in::kNcclFaultyRank) == std::to_string(rank)) made->fault = setting(stand_in::kNcclFault);
  const sockaddr_un address = address_of(id);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (rank == 0) {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener, name, sizeof(address)) != 0 || ::listen(listener, count) != 0) return kSystemError;
    made->hub = std::thread(serve, listener, count);
  }
  made->socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  while (::connect(made->socket, name, sizeof(address)) != 0) ::usleep(1000);  // rank 0 may not listen yet
  if (!send_all(made->socket, &rank, sizeof(rank))) return kSystemError;
  made->worker = std::thread([comm = made.get()] { comm->carry_out(); });
  *communicator = made.release();
  return kSuccess;
}

int ncclCommDestroy(Handle communicator) { return end(communicator, "destroyed"); }
int ncclCommAbort(Handle communicator) { return end(communicator, "aborted"); }
int ncclCommGetAsyncError(Handle communicator, int* error) {
  *error = communicator->error;
  return kSuccess;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, Type type, Reduction reduction, Handle comm,
                  StreamHandle) {
  return enqueue(comm, {Kind::all_reduce, type, reduction, 0, count}, from, to);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, Type type, Reduction reduction,
                      Handle comm, StreamHandle) {
  return enqueue(comm, {Kind::reduce_scatter, type, reduction, 0, count}, from, to);
}
int ncclAllGather(const void* from, void* to, std::size_t count, Type type, Handle comm, StreamHandle) {
  return enqueue(comm, {Kind::all_gather, type, kSum, 0, count}, from, to);
}
int ncclBroadcast(const void* from, void* to, std::size_t count, Type type, int root, Handle comm,
                  StreamHandle) {
  return enqueue(comm, {Kind::broadcast, type, kSum, root, count}, from, to);
}
int ncclReduce(const void* from, void* to, std::size_t count, Type type, Reduction reduction, int root,
               Handle comm, StreamHandle) {
  return enqueue(comm, {Kind::reduce, type, reduction, root, count}, from, to);
}

#ifndef TOO_OLD
int ncclSend(const void* from, std::size_t count, Type type, int peer, Handle comm, StreamHandle) {
  return enqueue(comm, {Kind::send, type, kSum, peer, count}, from, nullptr);
}
int ncclRecv(void* to, std::size_t count, Type type, int peer, Handle comm, StreamHandle) {
  return enqueue(comm, {Kind::receive, type, kSum, peer, count}, nullptr, to);
}
#endif

int ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (--group_depth > 0 || group.empty()) return kSuccess;
  const Handle communicator = group.front().first;
  std::vector<Work> round;
  for (const auto& [ignored, work] : std::exchange(group, {})) round.push_back(work);
  return submit(communicator, std::move(round));
}

}  // extern "C"
