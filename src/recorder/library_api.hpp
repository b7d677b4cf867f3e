// The parts of cuDNN, cuBLASLt and cuBLAS that the recorder wraps, and how it finds them. They are declared
// anew, since the recorder is built where their headers are not; a test compares the numbers with the headers
// where these are there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitterscope::recorder {

/// A library by the beginning of its file's name.
enum class Library : std::uint8_t { cudnn, cublaslt, cublas };
inline constexpr std::size_t kLibraries = 3;
const char* name_of(Library library);

/// The function of a library that the process has loaded, or null. Python opens libraries for themselves
/// (RTLD_LOCAL), so that the loader's search for the next one does not find them.
void* find_function(Library library, const char* name) noexcept;

/// A function that is looked for once, and as long as it is not there.
template <class Function>
class LibraryFunction {
 public:
  constexpr LibraryFunction(Library library, const char* name) : library_(library), name_(name) {}
  Function* get() noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = find_function(library_, name_);
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

/// "9.19.0"; empty if the library does not say.
const char* version_of(Library library) noexcept;

namespace cudnn {

using Descriptor = void*;
inline constexpr int kNotInitialized = 1001;
enum Kind : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfiguration = 3,
  kHeuristics = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kKinds = 64  ///< more than there are
};
enum Attribute : int {
  kComputeType = 100,
  kMode = 101,
  kDilations = 102,
  kStrides = 103,
  kPostPaddings = 104,
  kPrePaddings = 105,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigurationEngine = 300,
  kConfigurationKnobs = 302,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kKnobType = 600,
  kKnobValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kDataAlpha = 706,
  kDataBeta = 707,
  kDataConvolution = 708,
  kDataW = 709,
  kDataDx = 710,
  kDataDy = 711,
  kFilterAlpha = 712,
  kFilterBeta = 713,
  kFilterConvolution = 714,
  kFilterDw = 715,
  kFilterX = 716,
  kFilterDy = 717,
  kPointwiseY = 753,
  kPointwiseDx = 756,
  kGraphOperations = 801,
  kTensorType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineNumericalNote = 1303
};
enum Type : int {
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypePointer = 6,
  kTypeMode = 7,
  kTypeKnob = 9,
  kTypeNumericalNote = 11,
  kTypeDescriptor = 15
};
inline constexpr int kTensorCoreNote = 0, kNumericalNotes = 16;

using Create = int(int kind, Descriptor*);
using Destroy = int(Descriptor);
using SetAttribute = int(Descriptor, int name, int type, std::int64_t count, const void* values);
using GetAttribute = int(Descriptor, int name, int type, std::int64_t most, std::int64_t* count,
                         void* values);
using Execute = int(void* handle, Descriptor plan, Descriptor pack);

}  // namespace cudnn

namespace cublas {

inline constexpr int kNotInitialized = 1;
enum DataType : int { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };
enum Compute : int { kCompute16F = 64, kCompute32F = 68, kCompute64F = 70, kCompute32FFastTf32 = 77 };
enum MathMode : int { kTf32Math = 3, kMathModes = 15 };  ///< above the modes there are flags
enum DescriptionAttribute : int {
  kComputeType = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBiasPointer = 8
};
enum LayoutAttribute : int {
  kType = 0,
  kOrder = 1,
  kRows = 2,
  kColumns = 3,
  kLeading = 4,
  kBatchCount = 5,
  kBatchOffset = 6
};
enum AlgorithmAttribute : int {
  kId = 0,
  kTile = 1,
  kSplitK = 2,
  kReduction = 3,
  kSwizzle = 4,
  kCustom = 5,
  kStages = 6,
  kInnerShape = 7,
  kCluster = 8
};
enum Epilogue : int { kDefaultEpilogue = 1, kBiasEpilogue = 4 };

using GetHandleNumber = int(void* handle, int*);
using GetAttribute = int(const void*, int name, void* value, std::size_t size, std::size_t* written);
using Matmul = int(void* handle, void* description, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                   void* d_layout, const void* algorithm, void* workspace, std::size_t workspace_bytes,
                   void* stream);

}  // namespace cublas

}  // namespace jitterscope::recorder
