// Kernels and memory to run them on.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/run.h"
#include "source_tree.h"

namespace eidolon::interpret {

inline constexpr std::uint64_t kBuffer = 0x6b0100000000;

// One buffer of memory, all of it known.
class BufferMemory : public Memory {
 public:
  explicit BufferMemory(std::size_t pages) {
    for (std::size_t i = 0; i < pages; ++i) {
      auto page = std::make_unique<Page>();
      *page = {};
      page->known.fill(~std::uint64_t{0});
      pages_[kBuffer / kPageBytes + i] = std::move(page);
    }
  }

  Page* FindPage(std::uint64_t number) override {
    const auto found = pages_.find(number);
    return found == pages_.end() ? nullptr : found->second.get();
  }

  template <typename T>
  T& At(std::size_t index) {
    const std::size_t offset = index * sizeof(T);
    auto& page = *pages_.at(kBuffer / kPageBytes + offset / kPageBytes);
    return *reinterpret_cast<T*>(page.bytes.data() + offset % kPageBytes);
  }
  Page& page(std::size_t i) { return *pages_.at(kBuffer / kPageBytes + i); }

 private:
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

inline constexpr cubin::Capability kSampleDevices[] = {{9, 0}, {8, 0}, {10, 0}};

// A file of services/machine_code/cubin/testdata.
inline std::vector<std::byte> ReadCubin(const std::string& name) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

// The kernels of services/machine_code/cubin/testdata/sample.ptx, as ptxas compiled them.
inline std::vector<std::byte> SampleCubin(cubin::Capability device = {9, 0}) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/zstandard.fatbin",
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto binary = cubin::FatBinary::Parse(std::as_bytes(std::span(bytes)));
  return *cubin::Unpack(*binary->Choose(device));
}

// Reads a kernel as far as it can be run.
inline base::Result<void> ReadKernel(const std::string& name, const std::vector<std::byte>& bytes,
                                     Program& program) {
  const auto code = cubin::ParseCubin(bytes);
  const auto sections = cubin::ParseProgram(bytes);
  program.dialect = *sass::DialectOf(code->target.architecture);
  for (const cubin::Function& function : code->functions) {
    if (function.name != name) continue;
    program.parameter_base = function.parameter_base;
    program.static_shared_bytes = function.static_shared_bytes;
  }
  if (const auto constants = sections->FindSection(".nv.constant2." + name)) {
    const auto content = sections->sections[*constants].content;
    program.banks[2].assign(content.begin(), content.end());
  }
  const auto text = sections->sections[*sections->FindSection(".text." + name)];
  return Translate(text.content, program);
}

inline Program LoadKernel(const std::string& name,
                          const std::vector<std::byte>& bytes = SampleCubin()) {
  Program program;
  const auto done = ReadKernel(name, bytes, program);
  EXPECT_TRUE(done) << done.error().message;
  return program;
}

// Multiplies `count` numbers, a thread each; those beyond have nothing to do.
struct ScaleParameters {
  std::uint64_t out = kBuffer;
  float factor = 3;
  std::uint32_t count = 1000;
};

inline Launch ScaleLaunch(const ScaleParameters& parameters) {
  return {.grid = {8, 1, 1},
          .block = {128, 1, 1},
          .parameters = std::as_bytes(std::span(&parameters, 1))};
}

}  // namespace eidolon::interpret
