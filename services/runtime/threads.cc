#include "services/runtime/threads.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::runtime {
namespace {

constexpr char kLimits[] =
    "raise the limit of the user's processes (ulimit -u) or of the container's (pids), or end some";

[[noreturn]] void Terminate() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      base::Log(base::Level::kError, "no_threads",
                {{"reason", base::StrCat("a thread could not be started (", error.code().message(),
                                         "): ", kLimits)}});
      _exit(1);
    }
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void ExitWhenThreadsRunOut() { std::set_terminate(Terminate); }

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
  return base::Fail(base::ErrorCode::kResourceExhausted,
                    base::StrCat("only ", started.size(), " of ", count,
                                 " threads could be started (", failure, "): ", kLimits));
}

}  // namespace eidolon::runtime
