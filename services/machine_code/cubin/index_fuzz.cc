#include <cstring>
#include <vector>

#include "services/machine_code/cubin/index.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::cubin;
  std::vector<std::byte> block(size);
  if (size != 0) std::memcpy(block.data(), data, size);
  if (size >= sizeof(IndexHeader)) {
    // Past the check value, which random changes never meet.
    auto* header = reinterpret_cast<IndexHeader*>(block.data());
    header->bytes = size;
    header->check = eidolon::base::Hash64(block.data() + sizeof(IndexHeader),
                                          size - sizeof(IndexHeader), header->magic);
  }
  const auto index = Index::Open(block);
  if (!index) return 0;
  for (const FunctionRow& row : index->functions()) {
    (void)index->FindFunction(index->NameOf(row));
    (void)index->ParametersOf(row);
  }
  return 0;
}
