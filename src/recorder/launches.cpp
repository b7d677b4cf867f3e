#include "recorder/launches.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "recorder/cupti_library.hpp"

namespace jitterscope::recorder {

using capture::NameAudit;

namespace {

// Programs make new shapes as long as they run.
constexpr std::size_t kMostLaunches = std::size_t{1} << 17, kMostAudited = std::size_t{1} << 16;
constexpr unsigned kPointerBits = 12;

// Makes room for one more, so that it can be added without memory once the others have theirs.
template <class Value>
void make_room(std::vector<Value>& values) {
  if (values.size() == values.capacity()) values.reserve(std::max<std::size_t>(64, 2 * values.size()));
}

std::size_t slot_of(const char* pointer) {
  const auto bits = reinterpret_cast<std::uintptr_t>(pointer) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>(bits >> (64 - kPointerBits));
}

}  // namespace

std::size_t LaunchIds::KeyHash::operator()(const LaunchKey& key) const noexcept {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  std::array<std::uint32_t, sizeof(LaunchKey) / sizeof(std::uint32_t)> words;
  std::memcpy(words.data(), &key, sizeof key);
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0xFF51AFD7ED558CCDULL;
  return hash ^ (hash >> 32);
}

LaunchIds::LaunchIds(capture::Launches& rows)
    : rows_(rows), known_pointers_(std::size_t{1} << kPointerBits) {}

std::uint32_t LaunchIds::name_of(const char* name) {
  if (name == nullptr) name = "";
  // CUPTI's pointers stay as long as the module: the text tells whether another came to the same place.
  KnownPointer& known = known_pointers_[slot_of(name)];
  if (known.pointer == name && std::strcmp(name, name_texts_[known.name]->c_str()) == 0) return known.name;
  make_room(name_texts_);
  const auto [found, is_new] = names_.try_emplace(name, static_cast<std::uint32_t>(name_texts_.size()));
  if (is_new) name_texts_.push_back(&found->first);
  known = {name, found->second};
  return found->second;
}

void LaunchIds::write(std::uint32_t id) {
  const Launch& launch = launches_[id - first_];
  const LaunchKey& key = launch.key;
  const bool is_audited = launch.driver_name != kNoName && !launch.is_ambiguous;
  rows_.id.push_back(id);
  rows_.name.push_back(*name_texts_[is_audited ? launch.driver_name : key.name]);
  rows_.grid_x.push_back(key.grid[0]);
  rows_.grid_y.push_back(key.grid[1]);
  rows_.grid_z.push_back(key.grid[2]);
  rows_.block_x.push_back(key.block[0]);
  rows_.block_y.push_back(key.block[1]);
  rows_.block_z.push_back(key.block[2]);
  rows_.cluster_x.push_back(key.cluster[0]);
  rows_.cluster_y.push_back(key.cluster[1]);
  rows_.cluster_z.push_back(key.cluster[2]);
  rows_.registers.push_back(key.registers);
  rows_.static_shared.push_back(key.static_shared);
  rows_.dynamic_shared.push_back(key.dynamic_shared);
  rows_.local_memory.push_back(key.local_memory);
  rows_.audit.push_back(static_cast<std::uint8_t>(!is_audited                      ? NameAudit::none
                                                  : launch.driver_name == key.name ? NameAudit::same
                                                                                   : NameAudit::corrected));
}

std::uint32_t LaunchIds::add(const LaunchKey& key) {
  make_room(launches_);
  const auto [found, is_new] = ids_.try_emplace(key, first_ + static_cast<std::uint32_t>(launches_.size()));
  if (!is_new) return found->second;
  const std::uint32_t id = found->second;
  launches_.push_back({key});
  try {
    write(id);
  } catch (const std::bad_alloc&) {
    launches_.pop_back();
    ids_.erase(key);
    throw;
  }
  return id;
}

// Ids are not used again: a shape that comes again gets another.
void LaunchIds::forget() {
  first_ += static_cast<std::uint32_t>(launches_.size());
  launches_.clear();
  ids_.clear();
  audited_kernels_.clear();
  awaited_names_.clear();
  names_.clear();
  name_texts_.clear();
  std::fill(known_pointers_.begin(), known_pointers_.end(), KnownPointer{});
}

std::uint32_t LaunchIds::find(const char* name, LaunchKey key, std::uint32_t correlation, bool is_node) {
  if (launches_.size() >= kMostLaunches) forget();
  key.name = name_of(name);
  const std::uint32_t id = add(key);
  ++kernels_;
  if (!is_node && launches_[id - first_].driver_name == kNoName) ++unaudited_;
  if (!remembers_ && awaited_names_.empty()) return id;
  ++kernels_of_audit_;
  has_correlations_ = has_correlations_ || correlation != 0;
  if (remembers_ && audited_kernels_.size() < kMostAudited)
    audited_kernels_.insert_or_assign(correlation, id);
  if (const auto found = awaited_names_.find(correlation); found != awaited_names_.end()) {
    rename(id, found->second);
    awaited_names_.erase(found);
  }
  return id;
}

void LaunchIds::begin_audit() {
  end_audit();
  remembers_ = true;
  has_correlations_ = false;
  kernels_of_audit_ = 0;
  audited_anew_ = 0;
}

void LaunchIds::audit(std::uint32_t correlation, const char* name) {
  const std::uint32_t text = name_of(name);
  if (const auto found = audited_kernels_.find(correlation); found != audited_kernels_.end()) {
    rename(found->second, text);
  } else {
    awaited_names_.insert_or_assign(correlation, text);
  }
}

void LaunchIds::await_rest() {
  remembers_ = false;
  audited_kernels_.clear();
}

void LaunchIds::end_audit() {
  await_rest();
  awaited_names_.clear();
  kernels_ = unaudited_ = 0;
}

void LaunchIds::rename(std::uint32_t id, std::uint32_t driver_name) {
  Launch& launch = launches_[id - first_];
  if (launch.driver_name == driver_name || launch.is_ambiguous) return;
  if (launch.driver_name == kNoName) ++audited_anew_;
  // Two kernels of the same shape, and CUPTI has one name for both: which is which is not known.
  launch.is_ambiguous = launch.driver_name != kNoName;
  launch.driver_name = driver_name;
  write(id);
}

void LaunchNames::begin() {
  count_.store(0);
  is_on_.store(true);
}

void LaunchNames::note(std::uint32_t correlation, void* function) noexcept {
  if (!is_on_.load(std::memory_order_relaxed) || is_full()) return;
  inside_.fetch_add(1);
  const char* name = nullptr;
  // A launch takes a function or, under the same type, a library's kernel, which cuFuncGetName refuses.
  if (is_on_.load() && driver().cuFuncGetName != nullptr && driver().cuKernelGetName != nullptr &&
      (driver().cuFuncGetName(&name, function) == 0 || driver().cuKernelGetName(&name, function) == 0) &&
      name != nullptr) {
    const std::size_t length = ::strnlen(name, kLength);
    const std::size_t index = length == kLength ? kMost : count_.fetch_add(1);
    if (index < kMost) {
      entries_[index].correlation = correlation;
      std::memcpy(entries_[index].name.data(), name, length + 1);
    }
  }
  inside_.fetch_sub(1);
}

void LaunchCounter::add() noexcept {
  // Stacks of two threads are far apart.
  const char here = 0;
  const auto bits = (reinterpret_cast<std::uintptr_t>(&here) >> 16) * 0x9E3779B97F4A7C15ULL;
  slots_[bits >> 60].count.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t LaunchCounter::count() const {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.count.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace jitterscope::recorder
