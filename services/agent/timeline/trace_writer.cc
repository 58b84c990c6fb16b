#include "services/agent/timeline/trace_writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>

#include "eidolon/perfetto/v1/trace.pb.h"
#include "services/base/text.h"

namespace eidolon::agent::timeline {

namespace v1 = perfetto::v1;

namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
// More costs time and saves little: packets repeat each other nearly word by word.
constexpr int kCompressionLevel = 4;
constexpr std::uint32_t kForgetInterned = 1;
constexpr std::uint32_t kNeedsInterned = 2;
// A packet of four numbers and nothing else; its length is one byte.
constexpr std::size_t kShortBytesMax = 64;
constexpr std::uint8_t kPacketTag = 0x0a;  // Trace.packet, length-delimited.

std::uint64_t Nanoseconds(base::SimTime time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.ps) / 1000);
}

void AppendPacket(const v1::TracePacket& packet, std::string* out) {
  const std::size_t bytes = packet.ByteSizeLong();
  std::uint8_t head[11] = {kPacketTag};
  const std::uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(
      bytes, static_cast<std::uint8_t*>(head) + 1);
  out->append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
  const std::size_t at = out->size();
  out->resize(at + bytes);
  packet.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out->data() + at));
}

// A field of a number below 16 that is a varint.
std::uint8_t* AddField(int number, std::uint64_t value, std::uint8_t* out) {
  *out++ = static_cast<std::uint8_t>(number << 3);
  return google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, out);
}

std::string Compress(const std::string& block) {
  std::string compressed;
  google::protobuf::io::StringOutputStream sink(&compressed);
  google::protobuf::io::GzipOutputStream::Options options;
  options.format = google::protobuf::io::GzipOutputStream::ZLIB;
  options.compression_level = kCompressionLevel;
  google::protobuf::io::GzipOutputStream zlib(&sink, options);
  {
    google::protobuf::io::CodedOutputStream out(&zlib);
    out.WriteString(block);
  }
  zlib.Close();
  return compressed;
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, std::uint32_t sequence)
    : path_(path),
      file_(path, std::ios::trunc | std::ios::binary),
      sequence_(sequence),
      packet_(std::make_unique<v1::TracePacket>()) {}

TraceWriter::~TraceWriter() = default;

void TraceWriter::AddProcess(const Process& process) {
  v1::TrackDescriptor* track = packet_->mutable_track_descriptor();
  track->set_uuid(process.uuid);
  track->set_child_ordering(v1::TrackDescriptor::EXPLICIT);
  track->mutable_process()->set_pid(process.pid);
  track->mutable_process()->set_process_name(process.name);
  track->mutable_process()->set_legacy_sort_index(process.pid);
  Put();
}

void TraceWriter::AddDescriptor(const Track& track) {
  v1::TrackDescriptor* made = packet_->mutable_track_descriptor();
  made->set_uuid(track.uuid);
  if (track.parent != 0) made->set_parent_uuid(track.parent);
  made->set_name(track.name);
  made->set_description(track.description);
  made->set_child_ordering(v1::TrackDescriptor::EXPLICIT);
  made->set_sibling_order_rank(track.order);
}

void TraceWriter::AddTrack(const Track& track) {
  AddDescriptor(track);
  Put();
}

void TraceWriter::AddCounter(const Track& track, CounterUnit unit) {
  AddDescriptor(track);
  v1::CounterDescriptor* counter = packet_->mutable_track_descriptor()->mutable_counter();
  counter->set_unit(unit == CounterUnit::kBytes ? v1::CounterDescriptor::UNIT_SIZE_BYTES
                                                : v1::CounterDescriptor::UNIT_COUNT);
  Put();
}

std::uint64_t TraceWriter::Intern(Table* table, std::string_view name,
                                  v1::InternedName* (*add)(v1::TracePacket*)) {
  if (const auto found = table->find(name); found != table->end()) return found->second;
  const std::uint64_t number = table->size() + 1;
  table->emplace(name, number);
  v1::InternedName* interned = add(packet_.get());
  interned->set_iid(number);
  interned->set_name(std::string(name));
  return number;
}

void TraceWriter::Begin(const SliceBegin& slice) {
  v1::TrackEvent* event = packet_->mutable_track_event();
  packet_->set_timestamp(Nanoseconds(slice.at));
  event->set_type(v1::TrackEvent::TYPE_SLICE_BEGIN);
  event->set_track_uuid(slice.track);
  event->set_name_iid(Intern(&names_, slice.name, [](v1::TracePacket* packet) {
    return packet->mutable_interned_data()->add_event_names();
  }));
  event->add_category_iids(Intern(&categories_, slice.category, [](v1::TracePacket* packet) {
    return packet->mutable_interned_data()->add_event_categories();
  }));
  for (const std::uint64_t flow : slice.flows) event->add_flow_ids(flow);
  for (const Argument& argument : slice.arguments) {
    v1::DebugAnnotation* made = event->add_debug_annotations();
    made->set_name_iid(Intern(&argument_names_, argument.name, [](v1::TracePacket* packet) {
      return packet->mutable_interned_data()->add_debug_annotation_names();
    }));
    if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
      made->set_int_value(*number);
    } else if (const auto* real = std::get_if<double>(&argument.value)) {
      made->set_double_value(*real);
    } else {
      made->set_string_value_iid(
          Intern(&texts_, std::get<std::string_view>(argument.value), [](v1::TracePacket* packet) {
            return packet->mutable_interned_data()->add_debug_annotation_string_values();
          }));
    }
  }
  Put();
}

void TraceWriter::End(std::uint64_t track, base::SimTime at) {
  // Half of all packets: written without a message, which would give the same bytes.
  std::array<std::uint8_t, kShortBytesMax> event;
  std::uint8_t* end =
      AddField(v1::TrackEvent::kTypeFieldNumber, v1::TrackEvent::TYPE_SLICE_END, event.data());
  end = AddField(v1::TrackEvent::kTrackUuidFieldNumber, track, end);
  std::array<std::uint8_t, kShortBytesMax> packet;
  std::uint8_t* at_end =
      AddField(v1::TracePacket::kTimestampFieldNumber, Nanoseconds(at), packet.data());
  at_end = AddField(v1::TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_, at_end);
  const auto bytes = static_cast<std::size_t>(end - event.data());
  *at_end++ = v1::TracePacket::kTrackEventFieldNumber << 3 | 2;  // Length-delimited.
  *at_end++ = static_cast<std::uint8_t>(bytes);
  at_end = std::copy_n(event.data(), bytes, at_end);
  at_end = AddField(v1::TracePacket::kSequenceFlagsFieldNumber, kNeedsInterned, at_end);
  block_ += static_cast<char>(kPacketTag);
  block_ += static_cast<char>(at_end - packet.data());
  block_.append(reinterpret_cast<const char*>(packet.data()),
                static_cast<std::size_t>(at_end - packet.data()));
  FlushWhenFull();
}

void TraceWriter::Count(std::uint64_t track, base::SimTime at, std::int64_t value) {
  packet_->set_timestamp(Nanoseconds(at));
  packet_->mutable_track_event()->set_type(v1::TrackEvent::TYPE_COUNTER);
  packet_->mutable_track_event()->set_track_uuid(track);
  packet_->mutable_track_event()->set_counter_value(value);
  Put();
}

void TraceWriter::Put() {
  packet_->set_trusted_packet_sequence_id(sequence_);
  packet_->set_sequence_flags(is_first_ ? kForgetInterned | kNeedsInterned : kNeedsInterned);
  is_first_ = false;
  AppendPacket(*packet_, &block_);
  packet_->Clear();
  FlushWhenFull();
}

void TraceWriter::FlushWhenFull() {
  if (block_.size() >= kBlockBytes) WriteBlock();
}

void TraceWriter::WriteBlock() {
  v1::TracePacket packet;
  packet.set_compressed_packets(Compress(block_));
  block_.clear();
  std::string bytes;
  AppendPacket(packet, &bytes);
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

base::Result<void> TraceWriter::Finish() {
  if (!block_.empty()) WriteBlock();
  file_.close();
  if (file_) return {};
  return base::Fail(base::ErrorCode::kResourceExhausted,
                    base::StrCat("the timeline was not written to ", path_));
}

}  // namespace eidolon::agent::timeline
