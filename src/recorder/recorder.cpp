#include "recorder/recorder.hpp"

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "recorder/process_file.hpp"

namespace jitterscope::recorder {

using capture::Detail;
using capture::DetailChoice;
using capture::GraphChoice;
using capture::LossKind;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;
constexpr int kCountsPerWrite = 10;
constexpr unsigned kAuditEvery = 60;  // times the first, at most
constexpr int kAuditWrites = 5, kSilentWrites = 5;
// More launches than streams can hold: that many without a record are no queue.
constexpr std::uint64_t kSilentLaunches = 16'384;

// Never freed: threads of the program may still call when its static objects are gone.
std::atomic<Recorder*> recorder{nullptr};
// One that is not asked any more, because it could not start or because this is a fork.
std::atomic<Recorder*> left_alone{nullptr};

std::int64_t milliseconds(std::uint64_t count) { return static_cast<std::int64_t>(count) * kMillisecond; }

std::int64_t steady() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000 * kMillisecond + time.tv_nsec;
}

// The kinds that each detail records. Kinds of calls cost the program most, so that light has none.
constexpr std::array kLightKinds = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD};
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
// They end a context, and with it what CUPTI holds of it (cudaDeviceReset is one of them).
constexpr std::array kEndCalls = {
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
    CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy,
    CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
};

}  // namespace

Recorder* Recorder::get() noexcept { return recorder.load(std::memory_order_acquire); }

Recorder::Recorder(std::string folder, capture::Settings settings, std::int64_t begin)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      begin_(begin),
      started_(steady()),
      tables_(std::make_unique<ProcessTables>(cupti_, folder_)),
      library_calls_(LibraryCalls::get()),
      range_name_(settings_.ranges),
      next_audit_(milliseconds(settings_.audit_after_ms)),
      graphs_are_whole_(settings_.graphs == GraphChoice::whole),
      is_between_ranges_(!range_name_.is_empty()),
      ranges_before_(settings_.start_after_steps) {
  tables_->count_ranges(range_name_.text());
}

void Recorder::begin() {
  static std::atomic<bool> has_begun{false};
  const char* capture = std::getenv(capture::kFolderVariable);
  const char* settings = std::getenv(capture::kSettingsVariable);
  if (capture == nullptr || *capture == '\0' || has_begun.exchange(true)) return;
  const std::int64_t begin = now();
  const std::string folder = make_folder(capture, begin);
  // Where nothing can be written the program runs on as if nobody watched: the watching process says so.
  if (folder.empty()) return;
  auto* made = new Recorder(folder, capture::parse_settings(settings == nullptr ? "" : settings), begin);
  recorder.store(made, std::memory_order_release);
  const bool starts = made->start_cupti() && made->start_writer();
  write_process_file(folder, begin, made->cupti_, made->problem_);
  if (starts) {
    // A child that goes on without exec has no writer, and CUDA does not work there.
    ::pthread_atfork(nullptr, nullptr, [] { left_alone.store(recorder.exchange(nullptr)); });
    std::atexit([] {
      if (Recorder* ended = Recorder::get(); ended != nullptr) ended->finish();
    });
    return;
  }
  left_alone.store(recorder.exchange(nullptr));
  made->apply({});
  if (made->subscriber_ != nullptr) made->cupti_.cuptiUnsubscribe(made->subscriber_);
  made->tables_->add_loss(LossKind::not_recorded, begin, now(), 0, made->problem_.c_str());
  made->tables_->finish(now());
}

bool Recorder::register_callbacks() {
  // The clock that a profiler has set cannot be taken back, only set again.
  if (!has_own_clock_) {
    cupti_.cuptiActivityRegisterTimestampCallback([] { return static_cast<std::uint64_t>(now()); });
    has_own_clock_ = true;
  }
  return cupti_.cuptiActivityRegisterCallbacks(request, complete) == CUPTI_SUCCESS;
}

void Recorder::enable_callbacks() {
  for (const auto call : kLaunchCalls)
    cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
  for (const auto call : kEndCalls)
    cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call);
  if (!range_name_.is_empty()) range_name_.subscribe(cupti_, subscriber_);
}

void Recorder::give_up_callbacks() noexcept {
  const std::lock_guard lock(mutex_);
  if (subscriber_ != nullptr) cupti_.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void Recorder::take_callbacks() noexcept {
  const std::lock_guard lock(mutex_);
  if (subscriber_ != nullptr || has_stopped_.load()) return;
  if (cupti_.cuptiSubscribe(&subscriber_, called, nullptr) == CUPTI_SUCCESS) {
    enable_callbacks();
  } else {
    subscriber_ = nullptr;
  }
}

void Recorder::note_finalized() noexcept {
  {
    const std::lock_guard lock(mutex_);
    subscriber_ = nullptr;
    graphs_are_whole_ = false;
    kinds_ = {};
    if (owner_.load() == Owner::recorder) owner_since_ = now();
    owner_.store(Owner::profiler_has_ended);
  }
  take_callbacks();
  buffers_.wake();
}

bool Recorder::start_cupti() {
  if (!buffers_.begin()) {
    problem_ = "there is no memory for the recorder's buffers";
    return false;
  }
  cupti_ = open_cupti();
  if (!cupti_.is_open()) {
    problem_ = cupti_.problem;
    return false;
  }
  cupti_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  CUptiResult subscribed = cupti_.cuptiSubscribe(&subscriber_, called, nullptr);
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> holder{};
  if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && cupti_.cuptiSubscribe_v2 != nullptr) {
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "jitterscope";
    parameters.oldSubscriberName = holder.data();
    parameters.oldSubscriberSize = holder.size();
    subscribed = cupti_.cuptiSubscribe_v2(&subscriber_, called, nullptr, &parameters);
    holder.back() = '\0';
  }
  if (subscribed != CUPTI_SUCCESS) {
    subscriber_ = nullptr;
    problem_ = subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                   ? std::string("another profiler holds CUPTI in this process: ") +
                         (holder.front() == '\0' ? "nsys, ncu or a debugger, for one" : holder.data())
                   : std::string("CUPTI refuses to begin: ") + cupti_.text(subscribed);
    return false;
  }
  if (!register_callbacks()) {
    problem_ = "CUPTI takes no buffers: another profiler uses it in this process";
    return false;
  }
  detail_ = wanted_detail();
  if (!apply(wanted_kinds())) {
    problem_ = "CUPTI refuses to record kernels: another profiler uses it in this process";
    return false;
  }
  note_window(now());
  // The last step: a range that is noticed as it begins is then recorded, too.
  enable_callbacks();
  return true;
}

bool Recorder::start_writer() {
  // The program's signals are its own threads'.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // Nobody waits for it with a join: it may hang in CUPTI.
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const auto body = [](void* self) -> void* {
    ::pthread_setname_np(::pthread_self(), "jitterscope");
    static_cast<Recorder*>(self)->run();
    return nullptr;
  };
  const int result = ::pthread_create(&thread, &attributes, body, this);
  ::pthread_attr_destroy(&attributes);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result != 0) problem_ = std::string("the recorder's thread does not start: ") + std::strerror(result);
  return result == 0;
}

// Below: functions that CUPTI calls, on whatever thread.

void Recorder::request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) noexcept {
  Recorder* self = Recorder::get();
  *most_records = 0;
  *buffer = self == nullptr ? BufferPool::take_sink(*size) : self->buffers_.take(*size);
}

void Recorder::complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                        std::size_t valid) noexcept {
  if (Recorder* self = Recorder::get(); self != nullptr) self->buffers_.complete(buffer, valid);
}

void Recorder::called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  Recorder* self = Recorder::get();
  if (domain == CUPTI_CB_DOMAIN_NVTX) {
    if (self != nullptr && self->range_name_.begins(id, *static_cast<const CUpti_NvtxData*>(data)))
      self->begin_range();
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (self == nullptr || call.callbackSite != CUPTI_API_ENTER) return;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
      if (self->owner_.load() == Owner::recorder)
        self->cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      return;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      self->names_.note(call.correlationId,
                        static_cast<const cuLaunchKernelEx_params*>(call.functionParams)->f);
      break;
    default:  // the function is the first member of the other launches' parameters
      self->names_.note(call.correlationId,
                        static_cast<const cuLaunchKernel_params*>(call.functionParams)->f);
  }
  self->launches_.add();
  if (self->library_calls_ != nullptr) note_launch(call.correlationId);
}

// Recording begins on the thread that begins a range, so that the range is recorded from its first launch on.
// It ends on the writer's thread, when no range of the name has gone on for a while: to turn kinds on and off
// at each of many short ranges would cost more than to record what lies between them.
void Recorder::begin_range() noexcept {
  const std::uint64_t begun = ranges_begun_.fetch_add(1) + 1;
  if (elapsed() < milliseconds(settings_.start_after_ms)) {
    ranges_before_.store(begun);
  } else if (settings_.duration_steps > 0 && begun > ranges_before_.load() + settings_.duration_steps) {
    buffers_.wake();  // all that was asked for is recorded
  } else if (begun > ranges_before_.load() && is_between_ranges_.load()) {
    // CUPTI may hold a lock during this call that the writer's thread needs as it holds ours: whoever has to
    // wait for it leaves the work to that thread.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && owner_.load() == Owner::recorder && !stop_.load()) {
      Kinds kinds = kinds_;
      kinds.kernels = kinds.light = true;
      kinds.library_calls = wants_library_calls(Detail::light);
      kinds.launch_calls = kinds.launch_calls || kinds.library_calls;
      if (apply(kinds)) {
        window_began_at_.store(now());
        is_between_ranges_.store(false);
      }
    }
    buffers_.wake();
  }
}

// Below: kinds of records are turned on and off.

// They cost the program more, so that in mixed detail they are recorded where its calls of CUDA are.
bool Recorder::wants_library_calls(Detail detail) const {
  return library_calls_ != nullptr && detail != Detail::off &&
         (detail == Detail::full || settings_.detail == DetailChoice::light);
}

Recorder::Kinds Recorder::wanted_kinds() const {
  Kinds kinds;
  kinds.kernels = kinds.light = detail_ != Detail::off;
  // From the first to the last: CUPTI 13.0 crashes at the launch of a graph that was instantiated without.
  kinds.graphs = graphs_are_whole_;
  // Ranges go on in windows without recording: they cost what the program's own calls cost, and one whose end
  // is not recorded would be lost.
  kinds.ranges = !range_name_.is_empty() || elapsed() >= milliseconds(settings_.start_after_ms);
  kinds.full = detail_ == Detail::full;
  kinds.library_calls = wants_library_calls(detail_);
  // Kernels name the launch that they are of only while launches are recorded.
  kinds.launch_calls =
      kinds.full || kinds.library_calls || (kinds.kernels && audit_ == Audit::asks && needs_launch_calls_);
  return kinds;
}

bool Recorder::apply(const Kinds& wanted) {
  const auto turn = [&](CUpti_ActivityKind kind, bool on) {
    return (on ? cupti_.cuptiActivityEnable(kind) : cupti_.cuptiActivityDisable(kind)) == CUPTI_SUCCESS;
  };
  bool works = true;
  if (kinds_.kernels != wanted.kernels)
    works = turn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, wanted.kernels) || !wanted.kernels;
  if (kinds_.graphs != wanted.graphs) turn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, wanted.graphs);
  if (kinds_.ranges != wanted.ranges) turn(CUPTI_ACTIVITY_KIND_MARKER, wanted.ranges);
  if (kinds_.light != wanted.light) {
    for (const CUpti_ActivityKind kind : kLightKinds) turn(kind, wanted.light);
  }
  if (kinds_.full != wanted.full) {
    for (const CUpti_ActivityKind kind : kFullKinds) turn(kind, wanted.full);
    // A kind sets all its calls: the exceptions come after it.
    for (const auto call : kQuietCalls) {
      if (wanted.full) cupti_.cuptiActivityEnableRuntimeApi(call, 0);
    }
  }
  if (kinds_.launch_calls != wanted.launch_calls) {
    for (const auto call : kLaunchCalls)
      cupti_.cuptiActivityEnableDriverApi(call, wanted.launch_calls ? 1 : 0);
  }
  kinds_ = wanted;
  kinds_.kernels = wanted.kernels && works;
  if (library_calls_ != nullptr) library_calls_->turn(wanted.library_calls && works);
  return works;
}

// Turns on and off what is wanted now.
void Recorder::follow_wanted() {
  // A window holds all that happened in it: it begins when its kinds are on, and ends before they go off.
  std::int64_t time = 0;
  Detail wanted{};
  bool is_less = false;
  {
    const std::lock_guard lock(mutex_);
    if (owner_.load() != Owner::recorder) return;
    note_range_window();
    time = now();
    wanted = wanted_detail();
    is_less = wanted < detail_;
    const Detail before = std::exchange(detail_, wanted);
    if (wanted == before && wanted_kinds() == kinds_) return;
    if (!apply(wanted_kinds())) detail_ = Detail::off;
  }
  if (!is_less) time = now();
  if (detail_ != wanted) {
    tables_->add_loss(LossKind::not_recorded, time, time, 0,
                      "CUPTI refused to record kernels again: another profiler may use it in this process");
  }
  note_window(time);
}

// The writer's thread.

std::int64_t Recorder::elapsed() const { return steady() - started_; }

bool Recorder::is_over() const {
  if (settings_.duration_steps > 0)
    return std::max(ranges_begun_.load(), tables_->named_ranges().begun) >
           ranges_before_.load() + settings_.duration_steps;
  if (settings_.duration_ms == 0) return false;
  const std::int64_t since =
      range_name_.is_empty() ? milliseconds(settings_.start_after_ms) : recording_since_;
  return (range_name_.is_empty() || since > 0) && elapsed() >= since + milliseconds(settings_.duration_ms);
}

Detail Recorder::wanted_detail() const {
  const std::int64_t time = elapsed();
  if (time < milliseconds(settings_.start_after_ms) || is_between_ranges_.load()) return Detail::off;
  if (settings_.detail != DetailChoice::mixed)
    return settings_.detail == DetailChoice::full ? Detail::full : Detail::light;
  const std::int64_t since = time - milliseconds(settings_.first_full_ms);
  if (since < 0 || settings_.full_every_ms == 0) return Detail::light;
  const std::uint64_t phase = static_cast<std::uint64_t>(since / kMillisecond) % settings_.full_every_ms;
  const std::uint64_t off_from = settings_.full_every_ms / 2;
  if (phase < settings_.full_for_ms) return Detail::full;
  return phase >= off_from && phase < off_from + settings_.off_for_ms ? Detail::off : Detail::light;
}

void Recorder::note_window(std::int64_t time) {
  if (detail_ != Detail::off && recording_since_ == 0) recording_since_ = elapsed();
  tables_->add_window(time, detail_, is_between_ranges_.load(), wants_library_calls(detail_));
}

void Recorder::follow_windows() {
  if (owner_.load() != Owner::recorder) return;
  if (!range_name_.is_empty()) follow_ranges();
  if (wanted_detail() != detail_) follow_wanted();
}

// A range's own thread has begun a window. Before anything is turned on or off: what is on follows `detail_`.
void Recorder::note_range_window() {
  const std::int64_t from = window_began_at_.exchange(0);
  if (from == 0 || detail_ != Detail::off) return;
  detail_ = Detail::light;
  note_window(from);
}

void Recorder::follow_ranges() {
  note_range_window();
  const NamedRanges& records = tables_->named_ranges();
  const std::uint64_t noticed = ranges_begun_.load(), begun = std::max(noticed, records.begun);
  const std::int64_t time = elapsed();
  // Their ends come with the records.
  if (begun != ranges_seen_ || records.begun + ranges_missed_ < noticed || records.open > 0)
    last_range_ = time;
  ranges_seen_ = begun;
  const bool may_record =
      begun > settings_.start_after_steps && time >= milliseconds(settings_.start_after_ms);
  const bool goes_on = may_record && time - last_range_ < milliseconds(settings_.ranges_apart_ms);
  // A range that began just now took itself for recorded: the pause ends at once.
  if (goes_on || (!is_between_ranges_.exchange(true) && ranges_begun_.load() != noticed))
    is_between_ranges_.store(false);
}

void Recorder::read_names() {
  for (std::size_t i = 0; i < names_.count(); ++i)
    tables_->launches().audit(names_[i].correlation, names_[i].name.data());
  tables_->launches().await_rest();
}

void Recorder::follow_audit() {
  LaunchIds& launches = tables_->launches();
  const std::int64_t time = elapsed();
  const auto follow_calls = [&] {
    const std::lock_guard lock(mutex_);
    if (owner_.load() != Owner::recorder) return;
    note_range_window();
    apply(wanted_kinds());
  };
  switch (audit_) {
    case Audit::none:
      if (time < next_audit_ || detail_ == Detail::off || owner_.load() != Owner::recorder ||
          (audits_ > 0 && !launches.wants_audit())) {
        return;
      }
      launches.begin_audit();
      audit_ = Audit::asks;
      follow_calls();
      names_.begin();
      audit_until_ = time + milliseconds(settings_.audit_for_ms);
      return;
    case Audit::asks:
      // A program that launches nothing now, as in its first seconds, is asked until it does.
      if (names_.count() == 0) audit_until_ = time + milliseconds(settings_.audit_for_ms);
      if (time < audit_until_ && !names_.is_full()) return;
      names_.end();
      audit_ = Audit::awaits_quiet;
      follow_calls();
      return;
    case Audit::awaits_quiet:
      if (!names_.is_quiet()) return;
      read_names();
      audit_ = Audit::awaits_kernels;
      audit_until_ = time + kAuditWrites * milliseconds(settings_.write_every_ms);
      return;
    case Audit::awaits_kernels:
      if (time < audit_until_ && launches.awaits_kernels()) return;
      audit_ = Audit::none;
      if (launches.lack_correlations() && !needs_launch_calls_) {
        needs_launch_calls_ = true;  // once more, at once
      } else {
        // Names that no audit finds, as those of a launch that has no callback, are asked for less and less
        // often.
        ++audits_;
        audit_pause_ = launches.audited_anew() > 0 ? 1 : std::min(2 * audit_pause_, kAuditEvery);
        next_audit_ = time + audit_pause_ * milliseconds(settings_.audit_after_ms);
      }
      launches.end_audit();
      return;
  }
}

CUptiResult Recorder::give_way(decltype(&::cuptiActivityRegisterCallbacks) registers,
                               CUpti_BuffersCallbackRequestFunc their_request,
                               CUpti_BuffersCallbackCompleteFunc their_complete) noexcept {
  const std::lock_guard lock(mutex_);
  step_aside_locked();
  return registers(their_request, their_complete);
}

void Recorder::step_aside() noexcept {
  const std::lock_guard lock(mutex_);
  step_aside_locked();
  has_own_clock_ = false;
}

void Recorder::step_aside_locked() noexcept {
  if (!has_stopped_.load() && owner_.load() == Owner::recorder) {
    // The other gets no kinds that it has not asked for, and no buffer that is not its own.
    owner_since_ = now();
    graphs_are_whole_ = false;
    apply({});
    cupti_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  owner_.store(Owner::profiler);
  kernels_turned_off_.store(false);
}

void Recorder::note_kernels_off() noexcept { kernels_turned_off_.store(true); }

void Recorder::note_flush() noexcept {
  if (!kernels_turned_off_.load()) return;
  const std::lock_guard lock(mutex_);
  if (owner_.load() != Owner::profiler || !kernels_turned_off_.exchange(false)) return;
  owner_.store(Owner::profiler_has_ended);
  buffers_.wake();
}

void Recorder::follow_profiler() {
  if (owner_.load() == Owner::recorder) return;
  std::int64_t since = 0;
  bool is_back = false;
  {
    const std::lock_guard lock(mutex_);
    note_range_window();  // from before the other began
    since = owner_since_;
    is_back = owner_.load() == Owner::profiler_has_ended;
    if (is_back) {
      register_callbacks();
      detail_ = wanted_detail();
      if (!apply(wanted_kinds())) detail_ = Detail::off;
      owner_.store(Owner::recorder);
    }
  }
  if (since != gap_noted_) {
    gap_noted_ = since;
    tables_->add_window(since, Detail::off, false, false);
    if (settings_.graphs == GraphChoice::whole) {
      tables_->add_loss(
          LossKind::not_recorded, since, since, 0,
          "graphs are recorded node by node from the program's own profiler on: CUPTI crashes where it is "
          "asked again for graphs as a whole");
    }
    drain();  // what CUPTI gave before the other began
    tables_->forget_open_ranges(since);
  }
  if (!is_back) return;
  tables_->add_loss(LossKind::taken_over, since, now(), 0,
                    "the program's own profiler (torch.profiler, for one) had CUPTI's records");
  ranges_missed_ = ranges_begun_.load() - std::min(ranges_begun_.load(), tables_->named_ranges().begun);
  note_window(now());
}

// Where a profiler takes the records in a way that is not seen (injection.cpp), launches go on without any.
void Recorder::follow_silence() {
  const std::uint64_t launches = launches_.count(), kernels = tables_->kernels_seen();
  const std::int64_t time = now();
  const bool is_recording = detail_ != Detail::off && owner_.load() == Owner::recorder;
  if (!is_recording || kernels != silence_.kernels || stop_.load()) {
    if (silence_.noted != 0) {
      tables_->add_loss(LossKind::taken_over, silence_.noted, time, 0,
                        "kernels were launched, but CUPTI gave no records of them");
    }
    silence_ = {time, 0, kernels, launches};
  } else if (silence_.noted == 0 && launches - silence_.launches > kSilentLaunches &&
             time - silence_.since > kSilentWrites * milliseconds(settings_.write_every_ms)) {
    silence_.noted = time;
    tables_->add_loss(
        LossKind::taken_over, silence_.since, time, 0,
        "kernels are launched, but CUPTI gives no records of them: another profiler in this process "
        "may have them");
  }
}

void Recorder::drain_calls() {
  if (library_calls_ == nullptr) return;
  for (LibraryCall call; library_calls_->pop(call);) {
    tables_->add_operation(call, library_calls_->description(call.description),
                           library_calls_->description(call.inner));
    if (tables_->waiting() >= kMostWaiting) tables_->write(now());
  }
  if (const std::uint64_t lost = library_calls_->take_lost(); lost > 0) {
    tables_->add_loss(LossKind::no_buffer, last_flush_ == 0 ? begin_ : last_flush_, now(), lost,
                      "calls of libraries: the program makes them faster than they can be written");
  }
}

void Recorder::drain() {
  buffers_.drain([&](std::uint8_t* bytes, std::size_t size) {
    tables_->consume(bytes, size);
    if (tables_->waiting() >= kMostWaiting) tables_->write(now());
  });
  buffers_.grow();
  drain_calls();
}

void Recorder::flush(bool is_last) {
  const std::int64_t before = last_flush_ == 0 ? begin_ : last_flush_;
  last_flush_ = now();
  if (owner_.load() == Owner::recorder)
    cupti_.cuptiActivityFlushAll(is_last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  drain();
  std::size_t dropped = 0;
  if (owner_.load() == Owner::recorder &&
      cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0) {
    tables_->add_loss(LossKind::dropped, before, last_flush_, dropped,
                      "CUPTI dropped them: its buffers were full");
  }
  if (const std::uint64_t bytes = buffers_.take_lost_bytes(); bytes > 0)
    tables_->add_lost_bytes(before, last_flush_, bytes);
}

void Recorder::write() {
  flush(false);
  // They are asked for when CUDA is there, which it is not yet when the recorder begins.
  if (!has_devices_ && launches_.count() > 0) {
    tables_->add_devices();
    has_devices_ = true;
  }
  follow_silence();
  tables_->write(now());
}

void Recorder::step() {
  drain();
  follow_profiler();
  follow_windows();
  follow_audit();
  const std::int64_t time = elapsed(), write_every = milliseconds(settings_.write_every_ms);
  if (time >= next_count_) {
    tables_->add_launch_count(now(), launches_.count());
    next_count_ = time + write_every / kCountsPerWrite;
  }
  if (time < next_write_) return;
  next_write_ = time + write_every;
  write();
}

template <class Work>
void Recorder::guarded(Work&& work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    tables_->recover();  // the program has taken all memory; perhaps it gives some back
  }
}

void Recorder::end() {
  const bool goes_on = !stop_.load();
  {
    const std::lock_guard lock(mutex_);
    if (owner_.load() == Owner::recorder) note_range_window();
    if (goes_on && owner_.load() == Owner::recorder) {
      detail_ = Detail::off;
      note_window(now());
      is_between_ranges_.store(false);  // that the next range does not begin a window
      apply({});
    }
  }
  if (audit_ == Audit::asks) {  // the last kernels are about to come
    names_.end();
    if (names_.is_quiet()) read_names();
  }
  flush(true);
  if (owner_.load() != Owner::recorder) {
    tables_->add_loss(LossKind::taken_over, owner_since_, now(), 0,
                      "the program's own profiler (torch.profiler, for one) had CUPTI's records, to the end");
  }
  follow_silence();
  guarded([&] { tables_->add_launch_count(now(), launches_.count()); });
  guarded([&] {
    if (!has_devices_ && launches_.count() > 0) tables_->add_devices();
  });
  tables_->finish(now());
  if (!goes_on) return;
  // The program goes on as if nobody had watched.
  give_up_callbacks();
}

void Recorder::run() noexcept {
  while (!stop_.load() && !is_over()) {
    const std::int64_t pause = milliseconds(settings_.write_every_ms) / kCountsPerWrite;
    buffers_.wait(audit_ == Audit::asks ? std::min(pause, milliseconds(settings_.audit_for_ms) / 5) : pause);
    guarded([&] { step(); });
  }
  end();
  has_stopped_.store(true);
}

void Recorder::finish() noexcept {
  const std::int64_t until = steady() + milliseconds(settings_.finish_within_ms);
  stop_.store(true);
  buffers_.wake();
  while (!has_stopped_.load() && steady() < until) {
    timespec pause{0, kMillisecond};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace jitterscope::recorder
