// Any text as an expression: refused with a sentence, or a value or an error for any values.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/search/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::controller::search;
  const auto expression = Expression::Parse({reinterpret_cast<const char*>(data), size});
  if (!expression) {
    CHECK(!expression.error().message.empty());
    return 0;
  }
  Bindings bindings;
  const Value values[] = {std::int64_t{8}, 0.5, true, std::string("full"), std::int64_t{-1}};
  for (std::size_t i = 0; i < expression->names().size(); ++i) {
    bindings[expression->names()[i]] = values[i % std::size(values)];
  }
  const auto value = expression->Evaluate(bindings);
  CHECK(value || !value.error().message.empty());
  const auto unbound = expression->Holds({});
  CHECK(unbound || !unbound.error().message.empty());
  return 0;
}
