// The operations and operands of cuDNN's plans. cuDNN gives neither a graph's operations nor the
// pointers of a variant pack back (CUDNN_STATUS_NOT_SUPPORTED), so that both are noted as the program sets
// them; a tensor it gives back with a dimension more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/library_api.hpp"
#include "recorder/library_calls.hpp"

namespace jitterscope::recorder {

/// Knows all the process's descriptors. An execution of a plan that was executed before takes no lock and no
/// memory, with the variant pack that is made for it.
class CudnnPlans {
 public:
  /// Called behind cuDNN's own functions, where these have succeeded, but for `destroyed`: before that.
  void created(cudnn::Descriptor descriptor, int kind);
  void destroyed(cudnn::Descriptor descriptor) noexcept;
  void attribute_set(cudnn::Descriptor descriptor, int name, int type, std::int64_t count,
                     const void* values);
  /// Heuristics have filled descriptors of engine configurations: they are of the heuristics' graph.
  void results_given(cudnn::Descriptor heuristics, std::int64_t count, const void* values);

  /// The index of a plan's description, which is made where this is its first execution.
  std::uint32_t description_of(LibraryCalls& calls, cudnn::Descriptor plan);
  /// Writes the addresses that a variant pack gives to the description's operands.
  void note_addresses(const CallDescription& description, cudnn::Descriptor pack, LibraryCall& call) noexcept;

 private:
  struct Engine {
    std::string tag;  ///< "38_k2=1"; empty: not known
    bool has_tensor_cores = false;
  };
  /// The attributes that the program has set. They outlive the descriptor where another was made of it.
  struct Shadow {
    int kind = 0;
    std::map<int, std::vector<std::int64_t>> numbers;
    std::map<int, double> factors;
    std::map<int, std::vector<std::shared_ptr<const Shadow>>> parts;
    std::shared_ptr<const Shadow> graph;  ///< of an engine configuration that heuristics gave
    Engine engine;                        ///< of a plan
    std::uint32_t description = LibraryCall::kNone;

    const std::vector<std::shared_ptr<const Shadow>>* parts_of(int name) const;
    const Shadow* part(int name) const;
    const std::vector<std::int64_t>& all(int name) const;
    std::int64_t number(int name, std::int64_t otherwise) const;
  };
  struct Plan {
    std::atomic<cudnn::Descriptor> key{nullptr};
    std::atomic<std::uint32_t> description{LibraryCall::kNone};
  };
  struct Pack {
    std::atomic<cudnn::Descriptor> key{nullptr};
    std::size_t ids = 0, pointers = 0;
    std::array<std::int64_t, CallDescription::kMostOperands> id{};
    std::array<std::uint64_t, CallDescription::kMostOperands> pointer{};
    std::uint64_t workspace = 0;
  };
  static constexpr std::size_t kPlans = 4096, kPacks = 1024, kWindow = 16;

  void set_pack(cudnn::Descriptor pack, int name, std::int64_t count, const void* values) noexcept;
  static Engine read_engine(cudnn::Descriptor configuration);
  static const Shadow* graph_of(const Shadow& plan);
  static CallDescription describe(const Shadow& plan);
  static std::string describe_convolution(const Shadow& operation);
  static void add_operand(CallDescription& description, const char* name, const Shadow* tensor,
                          capture::OperandUse use);

  std::mutex mutex_;
  std::unordered_map<cudnn::Descriptor, std::shared_ptr<Shadow>> shadows_;
  std::array<Plan, kPlans> plans_;
  std::array<Pack, kPacks> packs_;
};

}  // namespace jitterscope::recorder
