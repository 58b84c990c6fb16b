// The algorithms are the naive ones: live members send each other their inputs directly, and every
// receiver computes the result by itself. Rings and trees would add partial results on the way,
// while here the receiver must hold the inputs of its live peers to derive those of mirrored ranks,
// which have no process. Reductions run over the members in the order of their ranks at every
// receiver, so all of them get the same bits. Layouts of the options are PyTorch's private ones, so
// every function first checks that sizes fit each other, and ends the job when they do not
// (Expect). A root must be live where its bytes are the result; nothing can be derived for it.
#include "shim/pytorch/gloo/collectives.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "shim/pytorch/gloo/call_line.h"
#include "shim/pytorch/gloo/exchange.h"
#include "shim/pytorch/gloo/inputs.h"

namespace eidolon::shim::gloo {
namespace {

using base::StrCat;

template <typename Options>
Call CallOf(const GroupPointer& group, const Options& options) {
  return {.context = options.context.get(),
          .group = group,
          .tag = options.tag,
          .timeout_ms = options.timeout_ms};
}

// What Gloo itself would have refused, or another layout of its options than is known here.
void Expect(bool fits, std::string_view collective) {
  if (fits) return;
  EndJob(StrCat("the sizes of a Gloo ", collective,
                " do not fit each other; the Gloo of this PyTorch may be one that is not known, so "
                "run this job without folding"));
}

// A root has what nobody else knows.
void ExpectLiveRoot(const Group& group, std::int32_t root, std::string_view collective) {
  if (!group.twins().IsMirrored(root)) return;
  const std::uint32_t rank = group.GlobalOf(root);
  EndJob(StrCat("rank ", rank, " ", collective,
                "s over Gloo and is mirrored, so that nobody knows "
                "what; make it live (--live ",
                rank, ")"));
}

char* BytesOf(const BufferPointer& buffer) { return static_cast<char*>(buffer->data); }

std::vector<std::int32_t> OtherLive(const Call& call) {
  std::vector<std::int32_t> others;
  for (const std::int32_t rank : call.group->twins().live()) {
    if (rank != call.context->rank) others.push_back(rank);
  }
  return others;
}

// Counted once for each collective, by the first live member that has its result.
void Report(const Call& call, const Inputs& inputs, std::string_view collective,
            std::int32_t root = -1) {
  const std::int32_t first = root >= 0 ? root : call.group->twins().live().front();
  if (!inputs.has_guessed() || call.context->rank != first) return;
  using NoteFunction = void (*)(const char*);
  static const auto note =
      reinterpret_cast<NoteFunction>(dlsym(RTLD_DEFAULT, "eidolon_note_guessed_values"));
  if (note == nullptr) return;
  std::string where = CallLineOf(call.context, call.tag).text;
  if (where.empty()) where = StrCat("a Gloo ", collective, " of ", call.context->size, " ranks");
  note(where.c_str());
}

// Returns what all members give, reduced in the order of their ranks.
std::string Total(Inputs* inputs, std::int32_t size, std::size_t elements,
                  const Reduction& reduce) {
  std::string total = inputs->Of(0);
  for (std::int32_t rank = 1; rank < size; ++rank) {
    reduce(total.data(), total.data(), inputs->Of(rank).data(), elements);
  }
  return total;
}

// The bytes of `root`: to all other live members, or from it.
std::string FromRoot(const Call& call, std::int32_t root, const void* data, std::size_t bytes) {
  std::vector<Part> given;
  if (call.context->rank != root) {
    const Expected expected[] = {{.rank = root, .bytes = bytes}};
    return std::move(Exchange(call, given, expected)[root]);
  }
  for (const std::int32_t rank : OtherLive(call)) {
    given.push_back({.rank = rank, .data = data, .bytes = bytes});
  }
  Exchange(call, given, {});
  return std::string(static_cast<const char*>(data), bytes);
}

// Returns the bytes of all live members at the root, nothing elsewhere.
ByRank AtRoot(const Call& call, std::int32_t root, const void* data, std::size_t bytes) {
  if (call.context->rank != root) {
    if (call.group->twins().IsMirrored(root)) return {};
    const Part given[] = {{.rank = root, .data = data, .bytes = bytes}};
    return Exchange(call, given, {});
  }
  std::vector<Expected> expected;
  for (const std::int32_t rank : OtherLive(call))
    expected.push_back({.rank = rank, .bytes = bytes});
  ByRank all = Exchange(call, {}, expected);
  all[root].assign(static_cast<const char*>(data), bytes);
  return all;
}

}  // namespace

void AllGather(const GroupPointer& group, const AllGatherOptions& options) {
  const Call call = CallOf(group, options);
  const auto size = static_cast<std::size_t>(call.context->size);
  const std::size_t bytes = options.out->bytes / size;
  Expect(options.out->bytes == bytes * size && (!options.in || options.in->bytes == bytes),
         "all_gather");
  char* const out = BytesOf(options.out);
  const char* const mine =
      options.in ? BytesOf(options.in) : out + static_cast<std::size_t>(call.context->rank) * bytes;
  Inputs inputs(group->twins(), options.element_bytes, ExchangeWithAll(call, mine, bytes));
  if (CallLineOf(call.context, call.tag).gathers_objects) inputs.AreSizesOfObjects();
  for (std::size_t rank = 0; rank < size; ++rank) {
    std::memcpy(out + rank * bytes, inputs.Of(static_cast<std::int32_t>(rank)).data(), bytes);
  }
  Report(call, inputs, "all_gather");
}

void AllGatherv(const GroupPointer& group, const AllGathervOptions& options) {
  const Call call = CallOf(group, options);
  const auto size = static_cast<std::size_t>(call.context->size);
  Expect(options.elements.size() == size, "all_gather");
  std::vector<std::size_t> at(size + 1, 0);
  for (std::size_t rank = 0; rank < size; ++rank) {
    at[rank + 1] = at[rank] + options.elements[rank] * options.element_bytes;
  }
  const auto me = static_cast<std::size_t>(call.context->rank);
  const std::size_t bytes = at[me + 1] - at[me];
  Expect(options.out->bytes == at[size] && (!options.in || options.in->bytes == bytes),
         "all_gather");
  char* const out = BytesOf(options.out);
  const char* const mine = options.in ? BytesOf(options.in) : out + at[me];
  std::vector<Part> given;
  std::vector<Expected> expected;
  for (const std::int32_t rank : OtherLive(call)) {
    const auto place = static_cast<std::size_t>(rank);
    given.push_back({.rank = rank, .data = mine, .bytes = bytes});
    expected.push_back({.rank = rank, .bytes = at[place + 1] - at[place]});
  }
  ByRank live = Exchange(call, given, expected);
  live[call.context->rank].assign(mine, bytes);
  Inputs inputs(group->twins(), options.element_bytes, std::move(live));
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::size_t part = at[rank + 1] - at[rank];
    std::memcpy(out + at[rank], inputs.Of(static_cast<std::int32_t>(rank), part).data(), part);
  }
  Report(call, inputs, "all_gather");
}

void AllReduce(const GroupPointer& group, const AllReduceOptions& options) {
  const Call call = CallOf(group, options);
  const std::size_t bytes = options.elements * options.element_bytes;
  const std::vector<BufferPointer>& given = options.in.empty() ? options.out : options.in;
  bool fits = !options.out.empty();
  for (const BufferPointer& buffer : given) fits = fits && buffer->bytes == bytes;
  for (const BufferPointer& buffer : options.out) fits = fits && buffer->bytes == bytes;
  Expect(fits, "all_reduce");
  if (bytes == 0) return;
  std::string mine(BytesOf(given[0]), bytes);
  for (std::size_t i = 1; i < given.size(); ++i) {
    options.reduce(mine.data(), mine.data(), given[i]->data, options.elements);
  }
  Inputs inputs(group->twins(), options.element_bytes, ExchangeWithAll(call, mine.data(), bytes));
  const std::string total = Total(&inputs, call.context->size, options.elements, options.reduce);
  for (const BufferPointer& buffer : options.out) {
    std::memcpy(buffer->data, total.data(), bytes);
  }
  Report(call, inputs, "all_reduce");
}

void AllToAll(const GroupPointer& group, const AllToAllOptions& options) {
  const auto size = static_cast<std::size_t>(options.context->size);
  const std::size_t bytes = options.out->bytes / size;
  Expect(options.in && options.in->bytes == bytes * size && options.out->bytes == bytes * size,
         "all_to_all");
  const Call call = CallOf(group, options);
  const auto at = [&](const BufferPointer& buffer, std::int32_t rank) {
    return BytesOf(buffer) + static_cast<std::size_t>(rank) * bytes;
  };
  std::vector<Part> given;
  std::vector<Expected> expected;
  for (const std::int32_t rank : OtherLive(call)) {
    given.push_back({.rank = rank, .data = at(options.in, rank), .bytes = bytes});
    expected.push_back({.rank = rank, .bytes = bytes});
  }
  ByRank live = Exchange(call, given, expected);
  live[call.context->rank].assign(at(options.in, call.context->rank), bytes);
  Inputs inputs(group->twins(), options.element_bytes, std::move(live));
  for (std::int32_t rank = 0; rank < call.context->size; ++rank) {
    std::memcpy(at(options.out, rank), inputs.Of(rank).data(), bytes);
  }
  Report(call, inputs, "all_to_all");
}

void AllToAllv(const GroupPointer& group, const AllToAllvOptions& options) {
  const auto size = static_cast<std::size_t>(options.context->size);
  bool fits = options.in && options.in_offset.size() == size && options.in_length.size() == size &&
              options.out_offset.size() == size && options.out_length.size() == size;
  for (std::size_t rank = 0; fits && rank < size; ++rank) {
    fits = options.in_offset[rank] + options.in_length[rank] <= options.in->bytes &&
           options.out_offset[rank] + options.out_length[rank] <= options.out->bytes;
  }
  Expect(fits, "all_to_all");
  const Call call = CallOf(group, options);
  const char* const in = BytesOf(options.in);
  std::vector<Part> given;
  std::vector<Expected> expected;
  for (const std::int32_t rank : OtherLive(call)) {
    const auto place = static_cast<std::size_t>(rank);
    given.push_back(
        {.rank = rank, .data = in + options.in_offset[place], .bytes = options.in_length[place]});
    expected.push_back({.rank = rank, .bytes = options.out_length[place]});
  }
  ByRank live = Exchange(call, given, expected);
  const auto me = static_cast<std::size_t>(call.context->rank);
  live[call.context->rank].assign(in + options.in_offset[me], options.in_length[me]);
  Inputs inputs(group->twins(), options.element_bytes, std::move(live));
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::size_t bytes = options.out_length[rank];
    std::memcpy(BytesOf(options.out) + options.out_offset[rank],
                inputs.Of(static_cast<std::int32_t>(rank), bytes).data(), bytes);
  }
  Report(call, inputs, "all_to_all");
}

void Barrier(const GroupPointer& group, const BarrierOptions& options) {
  char nothing = 0;
  ExchangeWithAll(CallOf(group, options), &nothing, 0);
}

void Broadcast(const GroupPointer& group, const BroadcastOptions& options) {
  const std::size_t bytes = options.elements * options.element_bytes;
  Expect(options.out->bytes == bytes && (!options.in || options.in->bytes == bytes), "broadcast");
  ExpectLiveRoot(*group, options.root, "broadcast");
  if (bytes == 0) return;
  const BufferPointer& given = options.in ? options.in : options.out;
  const std::string value = FromRoot(CallOf(group, options), options.root, given->data, bytes);
  std::memcpy(options.out->data, value.data(), bytes);
}

void Gather(const GroupPointer& group, const GatherOptions& options) {
  const Call call = CallOf(group, options);
  const std::size_t bytes = options.in->bytes;
  const bool is_root = call.context->rank == options.root;
  Expect(!is_root || options.out->bytes == bytes * static_cast<std::size_t>(call.context->size),
         "gather");
  ByRank live = AtRoot(call, options.root, options.in->data, bytes);
  if (!is_root) return;
  Inputs inputs(group->twins(), options.element_bytes, std::move(live));
  for (std::int32_t rank = 0; rank < call.context->size; ++rank) {
    std::memcpy(BytesOf(options.out) + static_cast<std::size_t>(rank) * bytes,
                inputs.Of(rank).data(), bytes);
  }
  Report(call, inputs, "gather", options.root);
}

void Reduce(const GroupPointer& group, const ReduceOptions& options) {
  const Call call = CallOf(group, options);
  const std::size_t bytes = options.elements * options.element_bytes;
  const BufferPointer& given = options.in ? options.in : options.out;
  Expect(given->bytes == bytes && options.out->bytes == bytes, "reduce");
  if (bytes == 0) return;
  ByRank live = AtRoot(call, options.root, given->data, bytes);
  if (call.context->rank != options.root) return;
  Inputs inputs(group->twins(), options.element_bytes, std::move(live));
  const std::string total = Total(&inputs, call.context->size, options.elements, options.reduce);
  std::memcpy(options.out->data, total.data(), bytes);
  Report(call, inputs, "reduce", options.root);
}

void Scatter(const GroupPointer& group, const ScatterOptions& options) {
  ExpectLiveRoot(*group, options.root, "scatter");
  const Call call = CallOf(group, options);
  const std::size_t bytes = options.out->bytes;
  if (call.context->rank != options.root) {
    const std::string mine = FromRoot(call, options.root, nullptr, bytes);
    std::memcpy(options.out->data, mine.data(), bytes);
    return;
  }
  Expect(options.in.size() == static_cast<std::size_t>(call.context->size), "scatter");
  std::vector<Part> given;
  for (const std::int32_t rank : OtherLive(call)) {
    const BufferPointer& part = options.in[static_cast<std::size_t>(rank)];
    Expect(part->bytes == bytes, "scatter");
    given.push_back({.rank = rank, .data = part->data, .bytes = bytes});
  }
  Exchange(call, given, {});
  std::memcpy(options.out->data, options.in[static_cast<std::size_t>(options.root)]->data, bytes);
}

}  // namespace eidolon::shim::gloo
