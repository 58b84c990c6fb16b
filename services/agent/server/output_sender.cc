// A controller in another pod cannot read the agent's folder, so files travel in the stream of
// reports, in parts below gRPC's limit. A file that is missing or too large is reported as such
// with the way out, because silence would look like a job without a timeline. One part is in memory
// at a time.
#include "services/agent/server/output_sender.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/base/text.h"

namespace eidolon::agent::server {
namespace {

namespace v1 = controller::v1;

// A quarter of what gRPC takes in one message.
constexpr std::uint64_t kPartBytes = 1 << 20;

class FileSender {
 public:
  // `way_out`: what makes the file smaller.
  FileSender(v1::OutputKind kind, std::string way_out, client::ControllerClient* controller)
      : kind_(kind), way_out_(std::move(way_out)), controller_(*controller) {}

  void Send(const std::string& path, std::uint64_t bytes_max) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error) return Refuse("it was not written");
    if (size > bytes_max) {
      return Refuse(base::StrCat("it has ", size, " bytes, more than the ", bytes_max,
                                 " that the controller keeps; ", way_out_));
    }
    std::ifstream file(path, std::ios::binary);
    std::uint64_t left = size;
    do {
      v1::OutputPart* part = Next();
      std::string* data = part->mutable_data();
      data->resize(std::min(left, kPartBytes));
      file.read(data->data(), static_cast<std::streamsize>(data->size()));
      if (!file) return Refuse("it cannot be read");
      left -= data->size();
      part->set_is_last(left == 0);
      controller_.Send(report_);
    } while (left > 0);
  }

  // There is no file.
  void Refuse(const std::string& why) {
    v1::OutputPart* part = Next();
    part->set_is_last(true);
    part->set_error(why);
    controller_.Send(report_);
  }

 private:
  v1::OutputPart* Next() {
    report_.mutable_output()->Clear();
    report_.mutable_output()->set_kind(kind_);
    return report_.mutable_output();
  }

  const v1::OutputKind kind_;
  const std::string way_out_;
  client::ControllerClient& controller_;
  v1::AgentReport report_;
};

}  // namespace

void SendOutputs(const v1::Assignment& assignment, const std::string& not_recorded,
                 client::ControllerClient* controller) {
  const std::uint64_t bytes_max = assignment.sent_output_bytes_max();
  if (bytes_max == 0) return;
  const std::string& folder = assignment.run_directory();
  if (assignment.has_timeline()) {
    constexpr char kWayOut[] = "show fewer ranks, iterations or operations by outputs.timeline";
    FileSender(v1::OUTPUT_KIND_TIMELINE, kWayOut, controller)
        .Send(folder + "/timeline.pftrace", bytes_max);
    FileSender(v1::OUTPUT_KIND_TRACES, kWayOut, controller)
        .Send(folder + "/critical_path", bytes_max);
  }
  if (!assignment.keep_recording()) return;
  FileSender recording(
      v1::OUTPUT_KIND_RECORDING,
      "let the program run fewer iterations (iterations.warmup and iterations.measure)",
      controller);
  if (not_recorded.empty()) {
    recording.Send(folder + "/recording", bytes_max);
  } else {
    recording.Refuse(not_recorded);
  }
}

}  // namespace eidolon::agent::server
