#include "recorder/recorder.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace jitterscope::recorder {

using capture::Detail;
using capture::DetailChoice;
using capture::GraphChoice;
using capture::LossKind;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;
// Batches are written so often: what a kill can lose.
constexpr std::int64_t kWriteEvery = kSecond;
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;
constexpr std::int64_t kCountEvery = 100 * kMillisecond;
constexpr std::int64_t kAuditFor = 50 * kMillisecond;
constexpr std::int64_t kAuditAt[] = {1 * kSecond, 10 * kSecond};
constexpr std::int64_t kAuditEvery = 60 * kSecond;
constexpr std::int64_t kFinishFor = 5 * kSecond;

// Never freed: threads of the program may still call when its static objects are gone.
std::atomic<Recorder*> recorder{nullptr};

// What is on in each detail. Kinds of calls cost the program most, so that light has none: its records carry
// no correlation ids then.
constexpr std::array kLightKinds = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD,
                                    CUPTI_ACTIVITY_KIND_MARKER};
constexpr std::array kFullKinds = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MEMORY2};

// Calls that programs make by the thousand and that explain nothing.
constexpr std::array kQuietCalls = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,          CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,       CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
};

constexpr std::array kLaunchCalls = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      result += std::string("\\u00") + kDigits[static_cast<unsigned char>(c) >> 4] + kDigits[c & 15];
    } else {
      result += c;
    }
  }
  return '"' + result + '"';
}

// The rank that a launcher gave this process, or empty.
std::string rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text != '\0' && std::strspn(text, "0123456789") == std::strlen(text)) return text;
  }
  return "";
}

std::string command_line() {
  std::string items, item;
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  char c = 0;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; file >= 0 && (count = ::read(file, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < count; ++i) {
      c = buffer[static_cast<std::size_t>(i)];
      if (c != '\0') {
        item += c;
        continue;
      }
      items += (items.empty() ? "" : ", ") + escaped(item);
      item.clear();
    }
  }
  if (file >= 0) ::close(file);
  return "[" + items + "]";
}

}  // namespace

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void LaunchNames::note(std::uint32_t correlation, void* function) noexcept {
  const char* name = nullptr;
  // A launch takes a function or, under the same type, a library's kernel, which cuFuncGetName refuses.
  if (driver().cuFuncGetName == nullptr || driver().cuKernelGetName == nullptr) return;
  if (driver().cuFuncGetName(&name, function) != 0 && driver().cuKernelGetName(&name, function) != 0) return;
  if (name == nullptr) return;
  const std::size_t length = ::strnlen(name, kLength);
  if (length == kLength) return;
  const std::size_t index = count_.fetch_add(1);
  if (index >= kMost) return;
  entries_[index].correlation = correlation;
  std::memcpy(entries_[index].name, name, length + 1);
}

Recorder* Recorder::get() noexcept { return recorder.load(std::memory_order_acquire); }

Recorder::Recorder(std::string folder, capture::Settings settings)
    : folder_(std::move(folder)), settings_(settings), begin_(now()) {}

void Recorder::begin() {
  static std::atomic<bool> has_begun{false};
  const char* folder = std::getenv(capture::kFolderVariable);
  const char* settings = std::getenv(capture::kSettingsVariable);
  if (folder == nullptr || *folder == '\0' || has_begun.exchange(true)) return;
  const std::string number = rank();
  const std::string own = std::string(folder) + "/p" + std::to_string(::getpid()) + "-" +
                          std::to_string(now() / kMillisecond) + (number.empty() ? "" : "-r" + number);
  // Where nothing can be written the program runs on as if nobody watched: the watching process says so.
  if (::mkdir(own.c_str(), 0755) != 0) return;
  auto* made = new Recorder(own, capture::parse_settings(settings == nullptr ? "" : settings));
  if (!made->buffers_.begin()) {
    made->problem_ = "there is no memory for the recorder's buffers";
  } else {
    recorder.store(made, std::memory_order_release);
    if (!made->start_cupti()) recorder.store(nullptr);
  }
  made->write_process_file();
  if (!made->problem_.empty()) return;

  // A child that goes on without exec has no writer, and CUDA does not work there.
  ::pthread_atfork(nullptr, nullptr, [] { recorder.store(nullptr); });
  std::atexit([] {
    if (Recorder* ended = Recorder::get(); ended != nullptr) ended->finish();
  });
  // The program's signals are its own threads'.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  made->writer_ = std::thread([made] { made->run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Recorder::register_callbacks() {
  return cupti_.cuptiActivityRegisterCallbacks(request, complete) == CUPTI_SUCCESS;
}

bool Recorder::start_cupti() {
  cupti_ = open_cupti();
  if (!cupti_.is_open()) {
    problem_ = cupti_.problem;
    return false;
  }
  tables_ = std::make_unique<ProcessTables>(cupti_, folder_);
  cupti_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  cupti_.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  const CUptiResult subscribed = cupti_.cuptiSubscribe(&subscriber_, called, nullptr);
  if (subscribed != CUPTI_SUCCESS) {
    problem_ = subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                   ? "another profiler (nsys, ncu, a debugger) holds CUPTI in this process"
                   : std::string("CUPTI refuses to begin: ") + cupti_.text(subscribed);
    return false;
  }
  for (const auto call : kLaunchCalls)
    cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
  if (!register_callbacks()) {
    problem_ = "CUPTI takes no buffers: another profiler uses it in this process";
    return false;
  }
  started_ = now();
  set_detail(settings_.start_after_ms > 0             ? Detail::off
             : settings_.detail == DetailChoice::full ? Detail::full
                                                      : Detail::light,
             started_);
  return problem_.empty();
}

void Recorder::write_process_file() const {
  int version = 0;
  if (driver().cuDriverGetVersion != nullptr) driver().cuDriverGetVersion(&version);
  const std::string number = rank();
  std::string text =
      "{\n  \"pid\": " + std::to_string(::getpid()) + ",\n  \"begin\": " + std::to_string(begin_) +
      ",\n  \"command\": " + command_line() + (number.empty() ? "" : ",\n  \"rank\": " + number) +
      ",\n  \"driver_version\": " + std::to_string(version) +
      ",\n  \"cupti_version\": " + std::to_string(cupti_.version) +
      ",\n  \"cupti_path\": " + escaped(cupti_.path) + ",\n  \"problem\": " + escaped(problem_) + "\n}\n";
  const std::string path = folder_ + "/process.json";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  ::close(file);
}

void Recorder::request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  Recorder* self = Recorder::get();
  *size = BufferPool::kSize;
  *most_records = 0;
  *buffer = self == nullptr ? nullptr : self->buffers_.take();
}

void Recorder::complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (Recorder* self = Recorder::get(); self != nullptr) self->buffers_.complete(buffer, valid);
}

void Recorder::called(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  Recorder* self = Recorder::get();
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (self == nullptr || call.callbackSite != CUPTI_API_ENTER) return;
  self->launches_.fetch_add(1, std::memory_order_relaxed);
  if (!self->audits_now_.load(std::memory_order_relaxed)) return;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: return;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      self->names_.note(call.correlationId,
                        static_cast<const cuLaunchKernelEx_params*>(call.functionParams)->f);
      return;
    default:  // the function is the first member of the other launches' parameters
      self->names_.note(call.correlationId,
                        static_cast<const cuLaunchKernel_params*>(call.functionParams)->f);
  }
}

void Recorder::set_detail(Detail detail, std::int64_t time) {
  const auto turn = [&](CUpti_ActivityKind kind, bool on) {
    const CUptiResult result = on ? cupti_.cuptiActivityEnable(kind) : cupti_.cuptiActivityDisable(kind);
    return !on || result == CUPTI_SUCCESS;
  };
  const bool was_on = detail_ != Detail::off, is_on = detail != Detail::off;
  if (was_on != is_on) {
    if (!turn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, is_on))
      problem_ = "CUPTI refuses to record kernels: another profiler uses it in this process";
    if (settings_.graphs == GraphChoice::whole) turn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, is_on);
    for (const CUpti_ActivityKind kind : kLightKinds) turn(kind, is_on);
  }
  const bool was_full = detail_ == Detail::full, is_full = detail == Detail::full;
  if (was_full != is_full) {
    for (const CUpti_ActivityKind kind : kFullKinds) turn(kind, is_full);
    for (const auto call : kQuietCalls) cupti_.cuptiActivityEnableRuntimeApi(call, 0);
    for (const auto call : kLaunchCalls) cupti_.cuptiActivityEnableDriverApi(call, is_full ? 1 : 0);
  }
  detail_ = detail;
  tables_->add_window(time, detail);
}

void Recorder::follow_windows(std::int64_t time) {
  const auto after = [&](std::uint64_t ms) {
    return started_ + static_cast<std::int64_t>(ms) * kMillisecond;
  };
  Detail wanted = settings_.detail == DetailChoice::full ? Detail::full : Detail::light;
  if (settings_.detail == DetailChoice::mixed && time >= after(settings_.first_full_ms) &&
      settings_.full_every_ms > 0) {
    const std::uint64_t phase =
        static_cast<std::uint64_t>((time - after(settings_.first_full_ms)) / kMillisecond) %
        settings_.full_every_ms;
    const std::uint64_t off_from = settings_.full_every_ms / 2;
    if (phase < settings_.full_for_ms) wanted = Detail::full;
    if (phase >= off_from && phase < off_from + settings_.off_for_ms) wanted = Detail::off;
  }
  if (time < after(settings_.start_after_ms)) wanted = Detail::off;
  if (settings_.duration_ms > 0 && time >= after(settings_.start_after_ms + settings_.duration_ms))
    wanted = Detail::off;
  if (wanted != detail_ && owner_.load() == Owner::recorder) set_detail(wanted, time);
}

void Recorder::follow_audit(std::int64_t time) {
  if (audits_now_.load()) {
    if (time < audit_from_ + kAuditFor) return;
    audits_now_.store(false);
    flush(false);
    for (std::size_t i = 0; i < names_.count(); ++i) tables_->audit(names_[i].correlation, names_[i].name);
    tables_->end_audit();
    return;
  }
  constexpr std::size_t kEarly = std::size(kAuditAt);
  const std::int64_t next = audits_ < kEarly ? started_ + kAuditAt[audits_] : audit_from_ + kAuditEvery;
  if (time < next || detail_ == Detail::off) return;
  ++audits_;
  audit_from_ = time;
  tables_->begin_audit();
  names_.begin();
  audits_now_.store(true);
}

void Recorder::give_way() noexcept {
  if (owner_.exchange(Owner::profiler) == Owner::profiler) return;
  owner_since_.store(now());
  // What is under way comes to us yet; afterwards CUPTI calls the other.
  cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void Recorder::take_back() noexcept {
  Owner expected = Owner::profiler;
  if (owner_.compare_exchange_strong(expected, Owner::profiler_has_ended)) buffers_.wake();
}

// The profiler has had its records: CUPTI is ours again, with all kinds, since it has turned its own off.
void Recorder::follow_profiler(std::int64_t time) {
  if (owner_.load() != Owner::profiler_has_ended) return;
  tables_->add_loss(LossKind::taken_over, owner_since_.load(), time, 0,
                    "the program's own profiler (torch.profiler, for one) had CUPTI's records");
  register_callbacks();
  const Detail detail = detail_;
  if (detail != Detail::off) {
    detail_ = Detail::off;
    set_detail(detail, time);
  }
  owner_.store(Owner::recorder);
}

void Recorder::drain() {
  buffers_.drain([&](std::uint8_t* bytes, std::size_t size) { tables_->consume(bytes, size); });
  buffers_.grow();
  if (tables_->waiting() >= kMostWaiting) tables_->write(now());
}

void Recorder::flush(bool is_last) {
  if (owner_.load() != Owner::recorder) return;
  cupti_.cuptiActivityFlushAll(is_last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  drain();
  std::size_t dropped = 0;
  if (cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0) {
    tables_->add_loss(LossKind::dropped, now() - kWriteEvery, now(), dropped,
                      "CUPTI dropped them: its buffers were full");
  }
  if (const std::uint64_t bytes = buffers_.take_lost_bytes(); bytes > 0) {
    tables_->add_loss(LossKind::no_buffer, now() - kWriteEvery, now(), bytes / sizeof(CUpti_ActivityKernel9),
                      "all buffers were full: the program launches faster than the records can be written");
  }
}

void Recorder::run() {
  std::int64_t next_write = now() + kWriteEvery, next_count = 0;
  bool has_devices = false;
  try {
    while (!stop_.load()) {
      buffers_.wait(audits_now_.load() ? kAuditFor / 5 : kCountEvery);
      const std::int64_t time = now();
      drain();
      follow_profiler(time);
      follow_windows(time);
      follow_audit(time);
      if (time >= next_count) {
        tables_->add_launch_count(time, launches_.load(std::memory_order_relaxed));
        next_count = time + kCountEvery;
      }
      if (time < next_write) continue;
      flush(false);
      if (!has_devices && tables_->has_kernels()) {
        tables_->add_devices();
        has_devices = true;
      }
      tables_->write(time);
      next_write = time + kWriteEvery;
    }
    flush(true);
    tables_->add_launch_count(now(), launches_.load());
    if (!has_devices) tables_->add_devices();
    tables_->finish(now());
  } catch (const std::bad_alloc&) {
    // The program has taken all memory. It goes on; the stream ends as one whose process was ended.
  }
  has_stopped_.store(true);
}

void Recorder::finish() {
  const std::int64_t until = now() + kFinishFor;
  stop_.store(true);
  buffers_.wake();
  while (!has_stopped_.load() && now() < until) {
    timespec pause{0, kMillisecond};
    ::nanosleep(&pause, nullptr);
  }
  if (has_stopped_.load() && writer_.joinable()) {
    writer_.join();
  }
}

}  // namespace jitterscope::recorder
