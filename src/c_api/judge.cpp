#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "c_api/guarded.hpp"
#include "device/judged_chain.hpp"
#include "jitterscope/c.h"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "judge/keys.hpp"
#include "judge/worker_start.hpp"

// The judge's functions of jitterscope/c.h: a worker in Python calls them for its chain.

struct jitterscope_judged_chain {
  std::unique_ptr<jitterscope::JudgedChain> chain;
};
struct jitterscope_judged_kernel {
  std::unique_ptr<jitterscope::JudgedKernel> kernel;
};

namespace jitterscope::c_api {
namespace {

// An input of a judged call, with its number.
struct NamedInput {
  judging::InputDescription description;
  std::uint32_t index = 0;
};
NamedInput named_input(const jitterscope_judged_input& input) {
  NamedInput named{.description = {.dtype = judging::dtype_of(&require(input.dtype, "dtype")),
                                   .shape = {},
                                   .family = judging::family_of(&require(input.family, "family")),
                                   .below = input.below,
                                   .scale = input.scale},
                   .index = input.index};
  if (input.dimensions > 0) {
    named.description.shape.assign(&require(input.shape, "shape"), input.shape + input.dimensions);
  }
  return named;
}

template <class Secret>
Secret secret_of(const unsigned char* bytes, std::string_view name) {
  Secret secret;
  std::copy_n(&require(bytes, name), secret.bytes.size(), secret.bytes.begin());
  return secret;
}

}  // namespace
}  // namespace jitterscope::c_api

namespace c_api = jitterscope::c_api;

int jitterscope_judge_fill(const jitterscope_judged_input* input, const unsigned char* seed, void* memory,
                           size_t bytes) {
  return c_api::guarded([&] {
    const c_api::NamedInput named = c_api::named_input(c_api::require(input, "input"));
    const auto given = c_api::secret_of<jitterscope::judging::Seed>(seed, "seed");
    jitterscope::judging::fill(named.description, named.description.family, given, named.index,
                               {static_cast<std::uint8_t*>(memory), bytes});
  });
}

int jitterscope_judge_first_digest(const unsigned char* key, unsigned char* digest) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    const judging::Digest first = judging::first_digest_of(c_api::secret_of<judging::Key>(key, "key"));
    std::ranges::copy(first.bytes, &c_api::require(digest, "digest"));
  });
}

int jitterscope_judge_digest(const unsigned char* key, const unsigned char* before, const void* outputs,
                             size_t bytes, unsigned char* digest) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    const judging::Digest found = judging::digest_of(c_api::secret_of<judging::Key>(key, "key"),
                                                     c_api::secret_of<judging::Digest>(before, "before"),
                                                     {static_cast<const std::uint8_t*>(outputs), bytes});
    std::ranges::copy(found.bytes, &c_api::require(digest, "digest"));
  });
}

int jitterscope_judge_hold_back(const jitterscope_judged_place* place, int* has) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    using jitterscope::Bytes;
    const jitterscope_judged_place& given = c_api::require(place, "place");
    judging::ProcessLimits limits;
    limits.data = Bytes(given.data);
    limits.file = Bytes(given.file);
    limits.descriptors = given.descriptors;
    limits.core_seconds = given.core_seconds;
    const judging::OwnFiles files{&c_api::require(given.folder, "folder"),
                                  &c_api::require(given.user, "user"), &c_api::require(given.group, "group"),
                                  &c_api::require(given.options, "options")};
    c_api::require(has, "has") =
        judging::become_worker(given.socket, given.errors, given.memory, files, limits);
  });
}

int jitterscope_judge_open_chain(void* mailbox, size_t most_bytes, jitterscope_judged_chain** chain) {
  return c_api::guarded([&] {
    if (mailbox == nullptr) c_api::refuse_null("mailbox");
    auto opened =
        jitterscope::open_judged_chain(static_cast<jitterscope::judging::Mailbox*>(mailbox), most_bytes);
    c_api::require(chain, "chain") = new jitterscope_judged_chain{std::move(opened)};
  });
}

int jitterscope_judge_add_input(jitterscope_judged_chain* chain, const jitterscope_judged_input* input) {
  return c_api::guarded([&] {
    const c_api::NamedInput named = c_api::named_input(c_api::require(input, "input"));
    c_api::require(chain, "chain")
        .chain->add_input({.drawing = jitterscope::judging::drawing_of(named.description,
                                                                       named.description.family, named.index),
                           .dtype = named.description.dtype,
                           .elements = static_cast<std::uint64_t>(named.description.elements())});
  });
}

int jitterscope_judge_release(jitterscope_judged_chain* chain, void* stream, uint32_t ticket) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->release(stream, ticket); });
}

int jitterscope_judge_fill_all(jitterscope_judged_chain* chain, void* stream, void* const* memories) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->fill(stream, memories); });
}

int jitterscope_judge_evict(jitterscope_judged_chain* chain, void* stream, size_t bytes) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->evict(stream, bytes); });
}

int jitterscope_judge_keep(jitterscope_judged_chain* chain, void* stream, const void* const* outputs,
                           const size_t* sizes, size_t count, void* kept, uint32_t ticket) {
  return c_api::guarded([&] {
    std::vector<jitterscope::ChainOutput> all;
    for (size_t i = 0; i < count; ++i) all.push_back({outputs[i], sizes[i]});
    c_api::require(chain, "chain").chain->keep(stream, all, kept, ticket);
  });
}

int jitterscope_judge_open_kernel(const char* text, jitterscope_judged_kernel** kernel, char** buffers) {
  return c_api::guarded([&] {
    using jitterscope::CudaKernel, jitterscope::KernelArgument, jitterscope::UsageError;
    const auto operation = jitterscope::Operation::parse(&c_api::require(text, "text"));
    const auto* asked = std::get_if<CudaKernel>(&operation.parameters());
    if (asked == nullptr)
      throw UsageError(std::string(text) + " is no kernel, cuda:FILE.cu:KERNEL,grid=…,block=…");
    nlohmann::json described = nlohmann::json::array();
    for (const KernelArgument& each : asked->arguments) {
      using enum KernelArgument::Kind;
      if (each.kind == number) continue;
      described.push_back({{"name", each.name},
                           {"kind", each.kind == input    ? "input"
                                    : each.kind == output ? "output"
                                                          : "inout"},
                           {"dtype", to_string(each.dtype)},
                           {"count", each.count}});
    }
    c_api::require(kernel, "kernel") = new jitterscope_judged_kernel{jitterscope::open_judged_kernel(*asked)};
    c_api::require(buffers, "buffers") = c_api::copied(described.dump());
  });
}

int jitterscope_judge_launch(jitterscope_judged_kernel* kernel, void* stream, void* const* buffers) {
  return c_api::guarded([&] { c_api::require(kernel, "kernel").kernel->launch(stream, buffers); });
}
