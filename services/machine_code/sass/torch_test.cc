// The machine code of the stock PyTorch library against NVIDIA's disassembler, where both are
// installed. EIDOLON_SASS_ALL=1 in the environment checks every container (minutes).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/sass/form.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::sass {
namespace {

constexpr std::uint64_t kMeaning = (std::uint64_t{1} << 41) - 1;  // Without the scheduling bits.

struct ByMeaning {
  bool operator()(const Word& a, const Word& b) const {
    return std::tuple(a.low, a.high & kMeaning) < std::tuple(b.low, b.high & kMeaning);
  }
};
using Words = std::set<Word, ByMeaning>;

constexpr std::size_t kStride = 60;  // Of containers, when not all are checked.

// Calls body(cubin) for every `stride`th container's code for the capability.
template <typename Body>
void ForEachCubin(cubin::Capability capability, std::size_t stride, Body&& body) {
  const int file = open(EIDOLON_TORCH_LIBRARY, O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  fstat(file, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  const auto* at = static_cast<const std::byte*>(base);
  const auto* const end = at + size;
  std::size_t number = 0;
  const std::uint32_t magic = cubin::kFatBinaryMagic;
  while (at + 16 < end) {
    at = static_cast<const std::byte*>(
        memmem(at, static_cast<std::size_t>(end - at), &magic, sizeof(magic)));
    if (at == nullptr) break;
    const auto bytes = cubin::FatBinaryBytes(at);
    if (reinterpret_cast<std::uintptr_t>(at) % 8 != 0 || !bytes || at + *bytes > end) {
      at += sizeof(magic);
      continue;
    }
    const auto binary = cubin::FatBinary::Parse({at, *bytes});
    const cubin::FatEntry* entry = binary ? binary->Choose(capability) : nullptr;
    if (entry != nullptr && !entry->is_ptx && number++ % stride == 0) {
      if (const auto code = cubin::Unpack(*entry)) body(*code);
    }
    at += binary ? *bytes : sizeof(magic);
  }
  munmap(base, size);
}

Words CollectWords(cubin::Capability capability, std::size_t stride, std::size_t& kernels) {
  Words words;
  ForEachCubin(capability, stride, [&](const std::vector<std::byte>& code) {
    const auto program = cubin::ParseProgram(code);
    if (!program) return;
    for (const cubin::ProgramSection& section : program->sections) {
      if (!section.executable) continue;
      ++kernels;
      for (std::size_t at = 0; at + kWordBytes <= section.content.size(); at += kWordBytes) {
        Word word;
        std::memcpy(&word, section.content.data() + at, sizeof(word));
        words.insert(word);
      }
    }
  });
  return words;
}

std::string Normalised(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 6, ".reuse") == 0) {
      i += 5;
    } else if (text.compare(i, 3, "] [") == 0) {  // Of constants, before the choice of a half.
      result += ']';
      ++i;
    } else if (text[i] != ' ' || (i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != ',' &&
                                  text[i + 1] != ';')) {
      result += text[i];
    }
  }
  return result.substr(0, result.find(';'));
}

// The name of the operation in the disassembler's text.
std::string OperationIn(const std::string& text) {
  const std::string name = text[0] == '@' ? text.substr(text.find(' ') + 1) : text;
  return name.substr(0, name.find_first_of(" ."));
}

// The disassembler's text of the words, as if they lay one behind another from address 0.
std::vector<std::string> Disassemble(const std::string& target, const std::vector<Word>& words) {
  const std::string path = testing::TempDir() + "/eidolon-sass-words-" + target + ".bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof(Word)));
  const std::string command = std::string(EIDOLON_NVDISASM) + " -b " + target + " -ndf " + path;
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  char line[1024];
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
    const char* const mark = std::strstr(line, "*/");
    if (mark == nullptr || std::strstr(line, "/*") == nullptr) continue;
    std::string text = mark + 2;
    text.erase(0, text.find_first_not_of(" \t"));
    lines.push_back(Normalised(text));
  }
  if (pipe != nullptr) pclose(pipe);
  std::remove(path.c_str());
  return lines;
}

// Checks every `stride`th container; prints what was compared and what is not known.
void CompareWithTheVendor(cubin::Capability capability, const std::string& target) {
  const bool all = std::getenv("EIDOLON_SASS_ALL") != nullptr;
  const Dialect dialect = *DialectOf(capability.number());
  std::size_t kernels = 0;
  const Words unique = CollectWords(capability, all ? 1 : kStride, kernels);
  const std::vector<Word> words(unique.begin(), unique.end());
  ASSERT_GT(words.size(), 10'000u);
  constexpr std::size_t kBatch = 100'000;
  std::map<std::string, std::size_t> unknown;
  std::size_t different = 0;
  for (std::size_t first = 0; first < words.size(); first += kBatch) {
    const std::vector<Word> batch(
        words.begin() + static_cast<std::ptrdiff_t>(first),
        words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), first + kBatch)));
    const std::vector<std::string> expected = Disassemble(target, batch);
    ASSERT_EQ(expected.size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (FindForm(batch[i], dialect) == nullptr) {
        ++unknown[OperationIn(expected[i])];
        continue;
      }
      const std::string text = Print(batch[i], i * kWordBytes, dialect);
      if (text != expected[i] && ++different <= 20) ADD_FAILURE() << text << " != " << expected[i];
    }
  }
  std::size_t unknown_words = 0;
  for (const auto& [name, count] : unknown) unknown_words += count;
  std::printf("%s: %zu kernels, %zu different instructions, %zu unknown, %zu printed differently\n",
              target.c_str(), kernels, words.size(), unknown_words, different);
  for (const auto& [name, count] : unknown) std::printf("  unknown %s: %zu\n", name.c_str(), count);

  EXPECT_EQ(different, 0u);
  EXPECT_LT(static_cast<double>(unknown_words), 0.005 * static_cast<double>(words.size()));
}

TEST(SassTorchTest, EveryKnownInstructionPrintsAsTheVendorPrintsIt) {
  CompareWithTheVendor({9, 0}, "SM90");
}

TEST(SassTorchTest, EveryKnownInstructionFor80PrintsAsTheVendorPrintsIt) {
  CompareWithTheVendor({8, 0}, "SM80");
}

TEST(SassTorchTest, EveryKnownInstructionFor100PrintsAsTheVendorPrintsIt) {
  CompareWithTheVendor({10, 0}, "SM100");
}

}  // namespace
}  // namespace eidolon::sass
