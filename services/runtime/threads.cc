#include "services/runtime/threads.h"

#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "services/base/text.h"

namespace eidolon::runtime {

base::Result<void> CheckThreads(int count) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> started;
  started.reserve(static_cast<std::size_t>(count));
  std::string failure;
  try {
    while (static_cast<int>(started.size()) < count) {
      started.emplace_back([ended] { ended.wait(); });
    }
  } catch (const std::system_error& error) {
    failure = error.code().message();
  }
  end.set_value();
  for (std::thread& thread : started) thread.join();
  if (failure.empty()) return {};
  return base::Fail(
      base::ErrorCode::kResourceExhausted,
      base::StrCat("only ", started.size(), " of ", count, " threads could be started (", failure,
                   "): raise the limit of the user's processes (ulimit -u) or of the container's "
                   "(pids), or end some"));
}

}  // namespace eidolon::runtime
