// Launches: a kernel's name and shape as one number, the audit of names, and how many there have been.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/format/tables.hpp"

namespace jitterscope::recorder {

/// A kernel's name and shape: launches that agree in all of it are one.
struct LaunchKey {
  std::uint32_t name = 0;
  std::uint32_t grid[3]{}, block[3]{}, cluster[3]{};
  std::uint32_t registers = 0, static_shared = 0, dynamic_shared = 0, local_memory = 0;
  bool operator==(const LaunchKey&) const = default;
};
static_assert(sizeof(LaunchKey) == 14 * sizeof(std::uint32_t));  // no padding, since it is hashed

/// The numbers of launches, for the writer's thread alone. Each new one is a row of a table; what is kept in
/// memory is bounded. Where memory runs out (std::bad_alloc) it is as before.
///
/// CUPTI 13.0 names some kernels of cuDNN and cuBLAS after others of the same library, consistently within a
/// process. So now and then, for a moment, the driver's name is compared with CUPTI's; a launch is renamed as
/// a whole, by a later row.
class LaunchIds {
 public:
  explicit LaunchIds(capture::Launches& rows);

  /// The number of a kernel's name and shape, whose record has a correlation id. `key` has all but the name.
  /// The nodes of graphs have no launch of their own, so that no audit finds their names.
  std::uint32_t find(const char* name, LaunchKey key, std::uint32_t correlation, bool is_node);

  /// Kernels that come from now on are remembered.
  void begin_audit();
  /// The driver's name of the kernel whose record has, or will have, that correlation id.
  void audit(std::uint32_t correlation, const char* name);
  /// No more names come, and kernels need no longer be remembered: those that come are looked for.
  void await_rest();
  /// Names that wait for their kernel are forgotten.
  void end_audit();
  /// True if more than one kernel in a hundred since the last audit has a name that no audit has found.
  bool wants_audit() const { return 100 * unaudited_ > kernels_; }
  /// How many launches the audit has found.
  std::size_t audited_anew() const { return audited_anew_; }
  bool awaits_kernels() const { return !awaited_names_.empty(); }
  /// Whether kernels have come since the audit began, and none with a correlation id.
  bool lack_correlations() const { return kernels_of_audit_ > 0 && !has_correlations_; }

 private:
  struct KeyHash {
    std::size_t operator()(const LaunchKey& key) const noexcept;
  };
  static constexpr std::uint32_t kNoName = ~std::uint32_t{0};
  struct Launch {
    LaunchKey key;
    std::uint32_t driver_name = kNoName;
    bool is_ambiguous = false;  ///< the driver has two names for it
  };
  std::uint32_t name_of(const char* name);
  std::uint32_t add(const LaunchKey& key);
  void write(std::uint32_t id);
  void rename(std::uint32_t id, std::uint32_t driver_name);
  void forget();

  capture::Launches& rows_;
  // Names, by their text and, since most records come with a pointer that has come before, by the pointer.
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<const std::string*> name_texts_;
  struct KnownPointer {
    const char* pointer = nullptr;
    std::uint32_t name = 0;
  };
  std::vector<KnownPointer> known_pointers_;
  std::unordered_map<LaunchKey, std::uint32_t, KeyHash> ids_;
  std::vector<Launch> launches_;
  std::uint32_t first_ = 0;  ///< the number of the first in `launches_`

  bool remembers_ = false, has_correlations_ = false;
  std::uint64_t kernels_of_audit_ = 0;
  std::uint64_t kernels_ = 0, unaudited_ = 0;  // since the last audit's end
  std::size_t audited_anew_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> audited_kernels_;  // launches by correlation id
  std::unordered_map<std::uint32_t, std::uint32_t> awaited_names_;    // driver's names by correlation id
};

/// The names that the driver tells of kernels, as the program's threads launch them.
class LaunchNames {
 public:
  static constexpr std::size_t kMost = 4096, kLength = 1024;
  struct Entry {
    std::uint32_t correlation;
    std::array<char, kLength> name;  ///< longer names are left out
  };

  /// For the program's threads: notes a launch's name, if names are asked for.
  void note(std::uint32_t correlation, void* function) noexcept;

  // For the writer.
  void begin();
  void end() { is_on_.store(false); }
  /// Whether no thread is writing an entry: they may be read, and overwritten, once names are off.
  bool is_quiet() const { return inside_.load() == 0; }
  std::size_t count() const { return std::min(count_.load(), kMost); }
  bool is_full() const { return count_.load() >= kMost; }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }

 private:
  std::atomic<bool> is_on_{false};
  std::atomic<unsigned> inside_{0};
  std::atomic<std::size_t> count_{0};
  std::array<Entry, kMost> entries_;
};

/// How many launches there were. Each thread has a counter of its own, as long as there are few threads: one
/// for all would go from core to core at each launch.
class LaunchCounter {
 public:
  void add() noexcept;
  std::uint64_t count() const;

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> count{0};
  };
  std::array<Slot, 16> slots_;
};

}  // namespace jitterscope::recorder
