#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "device/collective.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/nccl.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

// A rank's part in a collective, by NCCL. What NCCL has no function for is grouped sends, as ncclAlltoAll is
// newer than most copies.

namespace jitterscope::cuda {
namespace {

nccl::Type type_of(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return nccl::kFloat64;
    case DataType::f32:
    case DataType::tf32: return nccl::kFloat32;
    case DataType::f16: return nccl::kFloat16;
    case DataType::bf16: return nccl::kBfloat16;
    case DataType::i64: return nccl::kInt64;
    case DataType::i32: return nccl::kInt32;
  }
  throw std::logic_error("a data type has no number in NCCL");
}

nccl::Reduction reduction_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return nccl::kSum;
    case Reduction::prod: return nccl::kProduct;
    case Reduction::max: return nccl::kMaximum;
    case Reduction::min: return nccl::kMinimum;
    case Reduction::avg: return nccl::kAverage;
  }
  throw std::logic_error("a reduction has no number in NCCL");
}

std::string_view function_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "ncclAllReduce";
    case CollectiveKind::reduce_scatter: return "ncclReduceScatter";
    case CollectiveKind::all_gather: return "ncclAllGather";
    case CollectiveKind::broadcast: return "ncclBroadcast";
    case CollectiveKind::reduce: return "ncclReduce";
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv:
    case CollectiveKind::send: return "ncclSend and ncclRecv";
  }
  throw std::logic_error("a collective has no function in NCCL");
}

template <class Format>
std::vector<std::byte> stored_as(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(typename Format::Stored));
  std::byte* to = bytes.data();
  for (const double value : values) {
    const auto stored = Format::write(static_cast<typename Format::Value>(value));
    std::memcpy(to, &stored, sizeof(stored));
    to += sizeof(stored);
  }
  return bytes;
}

std::vector<std::byte> stored_as(DataType dtype, const std::vector<double>& values) {
  switch (dtype) {
    case DataType::f64: return stored_as<cpu::Native<double>>(values);
    case DataType::f16: return stored_as<cpu::Half>(values);
    case DataType::bf16: return stored_as<cpu::BFloat16>(values);
    case DataType::i64: return stored_as<cpu::Native<std::int64_t>>(values);
    case DataType::i32: return stored_as<cpu::Native<std::int32_t>>(values);
    case DataType::f32:
    case DataType::tf32: break;
  }
  return stored_as<cpu::Native<float>>(values);
}

// Its operands stay where they are: NCCL tells other ranks their addresses when it is recorded, and their
// GPUs would go on to read the memory that lay there before.
InputData at_fixed_place(InputData data) {
  data.placement.reset();
  return data;
}

class NcclOperation final : public CudaOperation {
 public:
  NcclOperation(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, at_fixed_place(data)),
        communicator_(*shared.communicator()),
        collective_(std::get<Collective>(this->operation().parameters())),
        data_{.rank = communicator_.rank(), .kind = data.kind, .seed = data.seed},
        has_own_input_(find_shared(data, 0, this->operation().operands().front().bytes()) == nullptr) {
    fill_input();
  }

  std::string provider() const override { return "nccl"; }
  std::string algorithm() const override { return std::string(function_of(collective_.kind)); }
  std::optional<RankData> rank_data() const override {
    return has_own_input_ ? std::optional(data_) : std::nullopt;
  }
  bool place_anew() override { return false; }
  bool lies_in_pages() const override { return false; }
  void poison_outputs() override {
    CudaOperation::poison_outputs();
    if (collective_.in_place) fill_input();
  }
  void run(NativeQueue queue) override {
    check_nccl(enqueue(queue), fmt::format("{} of rank {}", operation().text(), communicator_.rank()));
  }

 private:
  std::size_t element() const { return static_cast<std::size_t>(element_size(collective_.dtype).value()); }
  std::size_t all() const { return static_cast<std::size_t>(collective_.count); }
  std::size_t part() const { return static_cast<std::size_t>(part_of(collective_)); }
  /// Bytes from the beginning of a buffer to the part of a rank.
  std::size_t offset_of(int rank) const { return static_cast<std::size_t>(rank) * part() * element(); }
  std::byte* buffer(std::size_t index) const { return static_cast<std::byte*>(operand_pointer(index)); }
  std::byte* input() const { return buffer(0) + static_cast<std::size_t>(first_of_input()) * element(); }
  std::byte* output() const {
    if (!collective_.in_place) return buffer(1);
    const bool is_within = collective_.kind == CollectiveKind::reduce_scatter;
    return buffer(0) + (is_within ? offset_of(communicator_.rank()) : 0);
  }
  /// The element of x with which its own input begins.
  std::int64_t first_of_input() const {
    const bool is_within = collective_.in_place && collective_.kind == CollectiveKind::all_gather;
    return is_within ? data_.rank * part_of(collective_) : 0;
  }
  void fill_input();
  int enqueue(NativeQueue queue) const;
  int enqueue_sends(NativeQueue queue) const;

  Communicator& communicator_;
  Collective collective_;
  RankData data_;
  bool has_own_input_;  ///< else another operation writes it
};

// One period comes from the host; the rest is copied from what is there already, twice as much each time.
void NcclOperation::fill_input() {
  if (!has_own_input_) return;
  context().make_current();
  CUstream stream = context().stream();
  if (collective_.in_place)  // a part of it others fill, or all
    poison_device_memory(context(), operand(0),
                         Bytes(collective_.count) * static_cast<std::int64_t>(element()));
  if (!collective_content(collective_, data_, first_of_input())) {
    return check(driver().cuStreamSynchronize(stream), "poisoning a rank's buffer");
  }
  const bool is_gathered = collective_.kind == CollectiveKind::all_gather;
  const std::int64_t count = is_gathered ? part_of(collective_) : collective_.count;
  const std::size_t size = static_cast<std::size_t>(count) * element();
  std::vector<double> values(static_cast<std::size_t>(std::min(count, kInputPeriod)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = collective_input(collective_, data_, data_.rank, static_cast<std::int64_t>(i));
  const std::vector<std::byte> period = stored_as(collective_.dtype, values);
  const auto to = reinterpret_cast<CUdeviceptr>(input());
  std::size_t filled = std::min(size, period.size());
  check(driver().cuMemcpyHtoDAsync(to, period.data(), filled, stream), "filling a rank's input");
  while (filled < size) {
    const std::size_t more = std::min(size - filled, filled);
    check(driver().cuMemcpyDtoDAsync(to + filled, to, more, stream), "filling a rank's input");
    filled += more;
  }
  check(driver().cuStreamSynchronize(stream), "filling a rank's input");
}

int NcclOperation::enqueue(NativeQueue queue) const {
  const nccl::Functions& nccl = require_nccl();
  const nccl::Handle handle = communicator_.handle();
  const nccl::Type type = type_of(collective_.dtype);
  const nccl::Reduction reduction = reduction_of(collective_.op);
  const int root = static_cast<int>(collective_.root);
  switch (collective_.kind) {
    case CollectiveKind::all_reduce:
      return nccl.ncclAllReduce(input(), output(), all(), type, reduction, handle, queue);
    case CollectiveKind::reduce_scatter:
      return nccl.ncclReduceScatter(input(), output(), part(), type, reduction, handle, queue);
    case CollectiveKind::all_gather:
      return nccl.ncclAllGather(input(), output(), part(), type, handle, queue);
    case CollectiveKind::broadcast:
      return nccl.ncclBroadcast(input(), output(), all(), type, root, handle, queue);
    case CollectiveKind::reduce:
      return nccl.ncclReduce(input(), output(), all(), type, reduction, root, handle, queue);
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv: return enqueue_sends(queue);
    case CollectiveKind::send:
      if (data_.rank == collective_.root)
        return nccl.ncclSend(input(), all(), type, static_cast<int>(collective_.to), handle, queue);
      if (data_.rank == collective_.to) return nccl.ncclRecv(output(), all(), type, root, handle, queue);
      return nccl::kSuccess;
  }
  throw std::logic_error("a collective has no call of NCCL");
}

// A group is ended whatever its calls answer, or all later ones would wait for its end.
int NcclOperation::enqueue_sends(NativeQueue queue) const {
  const nccl::Functions& nccl = require_nccl();
  const nccl::Handle handle = communicator_.handle();
  const nccl::Type type = type_of(collective_.dtype);
  const int ranks = communicator_.count();
  int result = nccl.ncclGroupStart();
  if (result != nccl::kSuccess) return result;
  const auto call = [&](int answer) { result = result == nccl::kSuccess ? answer : result; };
  if (collective_.kind == CollectiveKind::all_to_all) {
    for (int peer = 0; peer < ranks; ++peer) {
      call(nccl.ncclSend(input() + offset_of(peer), part(), type, peer, handle, queue));
      call(nccl.ncclRecv(output() + offset_of(peer), part(), type, peer, handle, queue));
    }
  } else {
    const int next = (communicator_.rank() + 1) % ranks;
    const int before = (communicator_.rank() + ranks - 1) % ranks;
    call(nccl.ncclSend(input(), all(), type, next, handle, queue));
    call(nccl.ncclRecv(output(), all(), type, before, handle, queue));
  }
  call(nccl.ncclGroupEnd());
  return result;
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_collective(const Context& context, const Operation& operation,
                                                      const InputData& data) {
  const Communicator* communicator = context.communicator();
  if (communicator == nullptr) throw std::logic_error("refuse_collective let a collective through");
  return std::make_unique<NcclOperation>(context, among_ranks(operation, communicator->count()), data);
}

}  // namespace jitterscope::cuda
